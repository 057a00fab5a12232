//! One simulation of a scenario: observed, measured, explained.
//!
//! ```text
//! text, overrides, seed, number ─▶ Scenario ─▶ Built ─▶ Replication ─records─▶ a sink
//!                                                           │
//!          run_one, simulate, explain: short uses of it ────┴──▶ Sample, Explanation
//! ```
//!
//! A [`Replication`] is a simulated host under way. Whoever observes the host gives a sink, which
//! gets its records: a meter, an explainer, a writer of traces, all of them together. [`run_one`]
//! is the short way from the text of a scenario to its figures.
//!
//! There is no thread here, no file, no clock and no database, so that the crate also runs in a
//! page of a browser. Who makes many replications implements [`Replicator`]; `domio-lab` does so
//! with all cores and with results that are kept.

pub mod allocation;
mod core_idle;
pub mod driver_work;
mod erased;
pub mod explain;
pub mod measure;
pub mod observe;
pub mod one;
pub mod overhead;
pub mod replication;
pub mod replicator;
pub mod residence;
pub mod sample;
pub mod simulate;
pub mod subject;

pub use one::{RunOneError, run_one, run_scenario};
pub use replication::Replication;
pub use replicator::{Heard, OneByOne, Replicator, SampleJob, WHOLE};
pub use sample::Sample;
pub use simulate::RunFault;
pub use subject::{SampleKey, Subject};
