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
