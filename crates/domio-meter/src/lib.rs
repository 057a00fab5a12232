//! Per-domain accounts and latency statistics, computed from a trace alone.
//!
//! [`Meter`] takes records one by one, from a file or straight from a simulated host, and makes a
//! [`Summary`]: who ran, waited and was blocked for how long, how long a run lasted, how long a
//! woken vcpu waited for its pcpu, what a domain's network delivered and how long pings took, what
//! clients of its web servers saw, for whom driver domains worked. [`SummaryJson`] is what `domio
//! trace summary --json` prints. [`Explainer`] tells behind whom each vcpu waited and why, and what
//! packets and requests of guests waited for. [`Sampler`] gives the figures of each interval, as
//! XenMon shows them, and [`charges`] what guests owe their driver domain. [`Baked`] gives XenMon's
//! own figures, errors included. [`TraceChecker`] tells whether a trace can be true at all, and
//! [`Told`] whether it has what all of them need.
//!
//! All of them see records only, never a host: a trace of a real Xen host and a simulated one go
//! through the same code.
//!
//! # From a record of xentrace to a line of `explain`
//!
//! The calls for one private record of a policy, credit's "tickled", in order. Files of 1 to 5 are
//! those of `domio_trace`, which knows Xen's numbers; from there on numbers are asked for.
//!
//! ```text
//!  no. file                    call
//!   1  open.rs                 TraceReader::new       which format it is, by the first bytes
//!   2  xentrace/read.rs        next_record, take      a window of one cpu; its records
//!   3  xentrace/decode.rs      Decoder::decode        the event: of all schedulers, or one's own
//!   4  xentrace/policy.rs      Layouts::of            0x22006: class "credit", number 6, and which
//!                                                     extra words name a vcpu
//!   5  merge.rs                                       the cpus' records by time, with Names
//!   6  explain/mod.rs          Explainer::record      time passes for all who wait (advance)
//!   7  explain/mod.rs          class                  Names::declared: what the policy declares
//!   8  explain/waits/hear.rs   class, hear, tickled   Says::Tickled: the wait is for a pass now
//!   9  explain/waits/mod.rs    put, change, close     later records of runstates end the wait
//!  10  explain/waits/books.rs  flush                  its time, by who ran and why (why.rs)
//!  11  explain/mod.rs          finish                 an Explanation (result.rs)
//!      -- domio_report makes sections of it, for the terminal and for HTML --
//! ```
//!
//! A record of a device goes from 7 to `explain/paths.rs`: [`Says::Moved`](domio_core::Says::Moved)
//! takes an item to another place, and the [`Stage`](domio_core::Stage) of the place tells who has
//! to bring it further.

mod account;
mod charge;
mod check;
mod distribution;
mod explain;
mod figures;
mod json;
mod meter;
mod moves;
mod network;
mod sampler;
mod summary;
mod told;
mod web;
mod work;
mod xenbaked;

pub use charge::{DriverUse, PacketCharge, PacketWeight, charges, split};
pub use check::{CheckReport, TraceChecker, TraceFinding, TraceProblem};
pub use distribution::Quantiles;
pub use explain::{
    BEHIND_MAX, Cause, CauseJson, DomainWaits, DomainWaitsJson, Explainer, Explanation,
    ExplanationJson, ItemQueue, ItemWaitJson, ItemWaits, ItemsJson, LongWait, MAP_ROWS, Map,
    MapChange, MapRow, MapWindow, Side, TellsJson, VcpuWaits, VcpuWaitsJson, WORST_MAX, WaitTells,
    WaitedJson, WhomJson, Why,
};
pub use figures::{DomainFigure, FigureValue};
pub use json::{
    AccountJson, DomainJson, FigureJson, JobsJson, MicrosJson, NetworkJson, PcpuJson, SamplesJson,
    SummaryJson, VcpuJson,
};
pub use meter::{EXACT_SAMPLES_MAX, Meter};
pub use moves::at_backend;
pub use network::NetworkSummary;
pub use sampler::{
    DomainSample, Figures, GuestTraffic, IntervalSample, Part, QueueWait, Sampler, Tells, Totals,
};
pub use summary::{Account, DomainSummary, PcpuSummary, Summary, VcpuSummary, jain_index};
pub use told::Told;
pub use web::{WebJson, WebSummary};
pub use work::{DriverSumsJson, DriverWork, DriverWorkJson, InOrder};
pub use xenbaked::{Baked, Payload, Windows};

#[cfg(test)]
#[path = "../tests/all/cast.rs"]
mod cast;
#[cfg(test)]
#[path = "../tests/all/device.rs"]
mod device;
