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
//! # From a claim to its line in the ledger
//!
//! 1. [`PaperFolder::open`](folders::PaperFolder::open), or the embedded folder, has the paper's
//!    files as texts.
//! 2. [`Claims::of`] reads `claims.toml`. Each claim has a [`Statement`](statement::Statement):
//!    what has to hold of which figures of which cells.
//! 3. [`Paper::read`](paper::Paper::read) reads machine and cells, and
//!    [`register`](paper::register) makes an [`Experiment`] of each cell, whose samples are kept by
//!    what the files say.
//! 4. [`Registry::claims`] makes a [`Decider`] of each statement, and refuses cells that are not
//!    there.
//! 5. [`reproduce`](reproduce::reproduce) asks its replicator for samples of the experiments that
//!    the deciders read: as many as the [`Effort`] has before a look.
//! 6. For a sample, [`Prepared::run`](paper::Prepared::run) puts the cell's scenario together,
//!    simulates it ([`Replication`](domio_run::Replication)) and takes its figures from the
//!    records.
//! 7. The statement gathers the figures of all replications into [`Series`](series::Series). A
//!    [`Proof`](proof::Proof) holds or fails beyond the risk of the look, or is undecided.
//! 8. What is undecided gets more replications and another look. The [`ClaimResult`] of the last
//!    look is the claim's line in the [`ClaimLedger`].

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
