//! Trace files: read, written and exported.
//!
//! | format | reads | writes |
//! |---|---|---|
//! | own (`.domio`), see `docs/trace-format.md` | [`OwnReader`] | [`TraceWriter`] |
//! | xentrace of Xen 3.2 and later | [`XentraceReader`] | [`XentraceWriter`] |
//! | xentrace of Xen 3.0 and 3.1 | [`TraceReader`] | |
//! | `perf.data`, `trace.dat`, Perfetto and texts of Linux | [`TraceReader`] | |
//! | Perfetto protobuf | | [`PerfettoWriter`] |
//! | CSV | | [`CsvRecords`], [`CsvIntervals`] |
//!
//! Start with [`TraceReader`]: it recognises the format and streams [`Record`](domio_core::Record)s
//! in the order of time, with the [`Names`](domio_core::Names) that say what their numbers stand
//! for. Every reader works in bounded memory, never panics on bad input, and says in its
//! [`TraceError`] where the file went wrong and how much was read before. Every writer is a
//! [`Sink`](domio_core::Sink), so that a simulated host can write to it directly.

pub mod block;
mod bytes;
mod clock;
mod csv_export;
mod describe;
mod error;
mod frequency;
mod going_on;
mod header;
mod intervals;
mod linux;
mod losses;
mod merge;
mod old;
mod open;
mod options;
pub mod order;
mod own;
mod perfetto;
mod stays;
mod xentrace;

pub use clock::{DEFAULT_TSC_HZ, TSC_HZ_MAX, TscClock};
pub use csv_export::{CsvIntervals, CsvRecords, RecordRow};
pub use describe::{Undeclared, record_name};
pub use error::{TraceError, TraceErrorKind};
pub use frequency::{Frequency, frequency};
pub use going_on::{Going, GoingOn, Over};
pub use header::{DomainInfo, ThreadName, TraceHeader, scenario_sha256};
pub use intervals::{Interval, Intervals, VCPUS_MAX};
pub use linux::{HostGroup, HostThread, LINUX, LinuxHost, LinuxOptions, LinuxRecords, LinuxThread};
pub use losses::Losses;
pub use merge::MergeStats;
pub use open::TraceReader;
pub use options::{Format, ReadOptions};
pub use own::{OwnReader, TraceWriter, trace_head};
pub use perfetto::PerfettoWriter;
pub use stays::{Ground, StayPassed, TakenFor, Track};
pub use xentrace::{Skipped, XentraceReader, XentraceWriter, policy_of};
