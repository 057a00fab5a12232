//! Traces of Linux hosts, whatever program recorded them, as one stream of [`LinuxEvent`]s.
//!
//! [`LinuxReader`] recognises the format by content. Field layouts come from the descriptions
//! within the file, never from a version of the kernel. Times are nanoseconds of the file's own
//! clock, and events come in the order of their times.
//!
//! | format | code |
//! |---|---|
//! | `perf.data`: file, pipe, compressed | `perf/` |
//! | `trace.dat`, versions 6 and 7 | `tracedat/` |
//! | Perfetto traces | `perfetto/` |
//! | `perf script`, `trace-cmd report`, `/sys/kernel/tracing/trace`, systrace | `text/` |
//!
//! `tracefs/` has the parts that perf.data and trace.dat share: descriptions of events, and raw
//! events of the kernel's ring buffer.

mod bytes;
mod error;
mod event;
pub mod groups;
mod input;
mod known;
mod live;
mod open;
mod order;
mod perf;
mod perfetto;
mod platform;
mod reader;
mod report;
mod source;
mod tasks;
mod text;
mod tracedat;
mod tracefs;

pub use error::{LinuxError, LinuxErrorKind};
pub use event::{DiskId, DiskRequest, DiskStep, Left, LinuxEvent, LinuxWhat, Tid};
pub use live::LivePages;
pub use open::{is_gzip, is_zstd, recognise};
pub use order::InOrder;
pub use reader::LinuxReader;
pub use report::{FileDamage, LinuxFormat, LinuxLosses, LinuxRecording, SkippedParts};
pub use tasks::{LinuxTask, Tasks};
