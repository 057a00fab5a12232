//! Virtual disks through both block layers.

mod bytes;
mod conserved;
mod files;
mod gone;
mod loops;
mod owners;
mod places;
mod qemu;
mod site;
mod slow;
