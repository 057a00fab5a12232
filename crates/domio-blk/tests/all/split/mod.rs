//! Virtual disks through both block layers.

mod bytes;
mod conserved;
mod files;
mod gone;
mod owners;
mod site;
