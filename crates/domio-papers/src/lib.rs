//! Papers as data: what they simulate, what they state, and what comes of both.
//!
//! ```text
//! papers/NAME/claims.toml ─▶ Claims ─select─▶ ┐
//! papers/NAME/cells.toml  ─▶ Experiment ─┐    ├─▶ reproduce ─▶ ClaimLedger
//!                            Decider ────┴▶ Registry ─▶ ┘
//! ```
//!
//! A [`Claim`] is one testable statement of a paper. An [`Experiment`] is a simulation that is
//! repeated with another replication number each time and hands back one
//! [`Sample`](domio_run::Sample). A [`Decider`] reads the samples of one or several experiments
//! and decides one claim. Each experiment runs once, however many claims read from it. Who makes
//! the samples, and whether they are kept, is the business of a
//! [`Replicator`](domio_run::Replicator).
//!
//! Start with [`reproduce`](mod@reproduce).

pub mod against;
pub mod claim_page;
pub mod claims;
pub mod effort;
pub mod experiments;
pub mod folders;
pub mod ledger;
pub mod paper;
pub mod proof;
pub mod recorded;
pub mod registry;
pub mod reproduce;
pub mod samples;
pub mod series;
pub mod statement;
mod strict;
pub mod tolerance;
pub mod tour;

pub use claims::{Claim, ClaimKind, Claims};
pub use effort::Effort;
pub use ledger::{ClaimLedger, ClaimResult, Measured, Verdict};
pub use registry::{Decider, Experiment, LabContext, Registry};
pub use samples::Samples;
pub use tolerance::Tolerance;
