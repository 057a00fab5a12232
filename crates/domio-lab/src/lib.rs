//! Experiments, replications and the claims ledger.
//!
//! ```text
//! papers/*/claims.toml ─▶ Claims ─select─▶ ┐
//!                                 ├─▶ reproduce ─▶ Ledger ─▶ tables, JSON, report
//! Registry: Experiment, Check ──▶ ┘
//! ```
//!
//! A [`Claim`] is one testable statement of a paper. An
//! [`Experiment`] is a simulation that is repeated with another replication
//! number each time and hands back one [`Sample`]. A [`Decider`] reads the samples
//! of one or several experiments and decides one claim. Each experiment runs once, however many
//! claims read from it.
//!
//! Start with [`reproduce`](mod@reproduce).

pub mod against;
pub mod alert;
pub mod calibrate;
pub mod claim_page;
pub mod claims;
pub mod compare;
pub mod dom0_share;
pub mod driver_work;
pub mod effort;
pub mod experiments;
pub mod explain;
pub mod gains;
pub mod ledger;
pub mod measure;
pub mod observe;
pub mod paper;
pub mod papers;
pub mod pooled;
pub mod proof;
pub mod recorded;
pub mod registry;
pub mod replicate;
pub mod reproduce;
pub mod sample;
pub mod series;
pub mod simulate;
pub mod statement;
pub mod stats;
pub mod store;
mod strict;
pub mod tolerance;

pub use claims::{Claim, ClaimKind, Claims};
pub use effort::Effort;
pub use ledger::{ClaimLedger, ClaimResult, Measured, Verdict};
pub use registry::{Decider, Experiment, LabContext, Registry};
pub use replicate::{ProgressListener, Silent};
pub use sample::{Sample, Samples};
pub use stats::Estimate;
pub use tolerance::Tolerance;
