//! Per-domain accounts and latency statistics, computed from a trace alone.
//!
//! [`Meter`] takes records one by one, from a file or straight from a simulated host, and makes a
//! [`Summary`]: who ran, waited and was blocked for how long, how long a run lasted, how long a
//! woken vcpu waited for its pcpu, what a domain's network delivered and how long pings took, what
//! clients of its web servers saw, for whom driver domains worked. [`Summary::answer`] is what
//! `domio trace summary --json` prints. [`Explainer`] says behind whom each vcpu waited and why,
//! and what packets and requests of guests waited for. [`Sampler`] gives the figures of each
//! interval, as XenMon shows them, and [`charges`] what guests owe their driver domain. [`Baked`]
//! gives XenMon's own figures, errors included. [`TraceChecker`] says whether a trace can be true
//! at all, and [`Told`] whether it has what all of them need.
//!
//! Traces of block devices have a folder of their own ([`block`]).
//!
//! All of them see records only, never a host: a trace of a real Xen host and a simulated one go
//! through the same code.
//!
//! # From a record of xentrace to a line of `explain`
//!
//! The calls for one private record of a policy, credit's "tickled", in order. Files of 1 to 5 are
//! those of `domio_trace`, where alone Xen's numbers are known; from 7 on the declaration is asked.
//!
//! ```text
//!  no. file                     call
//!   1  open.rs                  TraceReader::new         which format it is, by the first bytes
//!   2  xentrace/read.rs         next_record, step, take  a window of one cpu; its records
//!   3  xentrace/decode.rs       Decoder::decode, policy  0x22006: the policy with Xen's id 0
//!   4  xentrace/policy.rs       Layouts::decode          number 6 of the class "credit"; which of
//!                                                        the extra words name a vcpu: none here
//!   5  merge.rs                 push, pop                the records of all cpus by time
//!   6  explain/mod.rs           Explainer::record        time passes for all who wait (advance)
//!   7  explain/mod.rs           class                    Names::declared: what number 6 means
//!   8  explain/waits/hear.rs    class, hear, tickled     Says::Tickled: who was woken last on this
//!                                                        pcpu waits for a pass of the other one
//!   9  explain/waits/common.rs  common, changes          later: a record of a runstate
//!  10  explain/waits/mod.rs     change, close            the wait is over
//!  11  explain/waits/books.rs   flush                    its time, by who ran and why (why.rs)
//!  12  explain/mod.rs           finish                   an Explanation (result.rs)
//!      -- domio_report: sections for the terminal and for HTML --
//!  13  explained/vcpus.rs       causes, behind           shares in percent, a row for each vcpu
//!  14  text/explained.rs        render                   the tables of the terminal
//! ```
//!
//! A record of a device goes from 7 to `explain/paths.rs`: [`Says::Moved`](domio_core::Says::Moved)
//! takes an item to another place, and the [`Place`](domio_core::Place) says who has to act there
//! and what holds the item.

mod account;
mod answer;
pub mod block;
mod boosts;
mod budget;
mod charge;
mod check;
mod disks;
mod distribution;
mod explain;
mod figures;
mod meter;
mod moves;
mod residence;
mod sampler;
mod summary;
mod tallies;
mod told;
mod work;
mod xenbaked;

pub use boosts::{BoostCounts, BoostPlaces, BoostSeen, balance_factor};
pub use charge::{DriverUse, PacketCharge, PacketWeight, charges, split};
pub use check::{CheckReport, TraceChecker, TraceFinding, TraceProblem};
pub use disks::{DiskSummary, DiskUser};
pub use distribution::Quantiles;
pub use explain::{
    BEHIND_MAX, Cause, DomainWaits, Explainer, Explanation, ItemQueue, ItemWaits, LongWait,
    MAP_ROWS, Map, MapChange, MapRow, MapWindow, Side, VcpuWaits, WORST_MAX, WaitTells, Why,
    capitalised,
};
pub use meter::{EXACT_SAMPLES_MAX, Meter};
pub use moves::at_backend;
pub use residence::{HostPlaces, Level, MovedOver, RanOn, RanWhere, Residence};
pub use sampler::{
    DomainSample, Figures, GuestTraffic, IntervalSample, Mending, Part, QueueWait, Sampler, Tells,
    Totals,
};
pub use summary::{Account, DomainSummary, PcpuSummary, Summary, VcpuSummary, jain_index};
pub use tallies::{DomainTally, TallyValue};
pub use told::Told;
pub use work::DriverWork;
pub use xenbaked::{Baked, Payload, Windows};

#[cfg(test)]
#[path = "../tests/all/cast.rs"]
mod cast;
#[cfg(test)]
#[path = "../tests/all/device.rs"]
mod device;
