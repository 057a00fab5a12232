//! Traces of Linux hosts, as records.
//!
//! [`domio_linux`] reads the files and hands out events. Here they become records: threads are
//! actors, groups of threads are domains, and the idle task of a cpu is its idle vcpu. A guest's
//! threads that execute its vcpus are one domain, whose vcpus have the guest's numbers, and its
//! other threads a second one (`web:host`), which works for the first as a driver domain does.
//!
//! | file | what it holds |
//! |---|---|
//! | `class.rs` | what Linux reports beyond the common class, and the figures of it |
//! | `read.rs` | a file as a stream of records |
//! | `records.rs` | events become records |
//! | `records/disks.rs` | requests of disks become records, and who waits for them |
//! | `requests.rs` | requests of disks that are under way |
//! | `threads.rs` | threads and their groups |
//! | `label.rs`, `threads/labels.rs` | what threads are called |
//! | `tids.rs` | threads by id |
//! | `limits.rs` | when a limit of a group is used up |
//! | `host.rs` | the file beside a trace |

mod class;
mod host;
mod label;
mod limits;
mod read;
mod records;
mod requests;
#[cfg(test)]
mod tests;
mod threads;
mod tids;

pub use class::LINUX;
pub use host::{HostGroup, HostThread, LinuxHost};
pub use label::LinuxThread;
pub use read::LinuxOptions;
pub(crate) use read::LinuxTrace;
pub use records::LinuxRecords;
