//! Records what the scheduler of this machine's Linux does: which thread runs where, who wakes
//! whom, and what interrupts take, as [`domio_linux`]'s events in the order of time.
//!
//! [`Live::start`] switches recording on, by BPF where the kernel and the rights of the process
//! allow it, otherwise by tracefs. [`Live::round`] hands out the events since the last round.
//! Nothing stays switched on after the process has ended, however that was: BPF programs belong to
//! the process, and what tracefs needs is removed by a watching child ([`Guardian`]).
//!
//! | file | what it holds |
//! |---|---|
//! | `live.rs` | both ways behind one interface |
//! | `options.rs` | what a recording is asked for |
//! | `bpf.rs`, `bpf/record.bpf.c` | the way by BPF (feature `bpf`): loading, and the program |
//! | `lots.rs`, `raw.rs` | lots of events of the program, and the events |
//! | `window.rs` | the order of time across cpus |
//! | `points.rs` | the trace points that are recorded |
//! | `tracefs.rs` | the way by tracefs: an instance of its own |
//! | `guardian.rs` | what removes things when this process has ended |
//! | `processes.rs`, `host.rs` | what `/proc` and `/sys` say of threads, groups and the machine |
//! | `mounts.rs` | what is mounted where |
//! | `file.rs` | events become records of a trace |
//! | `rights.rs` | capabilities: which are missing, and how to give the others up |
//! | `xen.rs` | `xentrace`, on the dom0 of Xen |

#![cfg(target_os = "linux")]

#[cfg(feature = "bpf")]
mod bpf;
mod cost;
mod error;
mod file;
mod guardian;
mod host;
mod live;
#[cfg(feature = "bpf")]
mod lots;
mod mounts;
mod options;
mod points;
mod processes;
#[cfg(any(feature = "bpf", test))]
mod raw;
pub mod rights;
mod tracefs;
mod window;
pub mod xen;

use domio_linux::{LinuxEvent as Event, LinuxWhat as What, Tasks, Tid};

pub use cost::Cost;
pub use error::RecordError;
pub use file::{LiveRecords, RecordedHost, TraceFile, Written};
pub use guardian::Guardian;
pub use host::host;
pub use live::{Ended, Live};
pub use options::{LiveOptions, Way};
