//! Virtual disks through both block layers.

mod bytes;
mod conserved;
mod gone;
mod owners;
mod site;
