//! xentrace files of Xen 3.2 and later (xen-spec 7.2).
//!
//! Here alone is what only Xen's files have: event ids, vcpus as `domain << 16 | index`, ids of
//! schedulers in 3 bits, and the events that those write from 0x22000 on.

mod decode;
mod encode;
mod event;
mod foreign;
mod policy;
mod read;
mod write;

pub(crate) use decode::Decoder;
pub(crate) use event::CPU_CHANGE_HEADER;
pub(crate) use foreign::foreign_name;
pub use policy::policy_of;
pub(crate) use read::XentraceRecords;
pub use read::{Skipped, XentraceReader};
pub use write::XentraceWriter;
