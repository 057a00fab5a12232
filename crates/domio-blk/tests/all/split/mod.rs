//! Virtual disks through both block layers.

mod conserved;
mod site;
