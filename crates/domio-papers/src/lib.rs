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
//!
//! # From a claim to its line in the ledger
//!
//! The calls of `domio reproduce`, in order. Each file is visited once. A file in brackets is
//! called on the way, and the call returns.
//!
//! ```text
//!  no. file                 call
//!   1  folders.rs           PaperFolder::open    the paper: built in, or a folder of the user's
//!   2  claims.rs            Claims::of           claims.toml: what the paper states
//!   3  paper/mod.rs         Paper::read          machine.toml, cells.toml, figures (paper/file.rs)
//!   4  paper/mod.rs         register             an experiment for each cell, a decider for each
//!                                                claim (statement/read.rs: the checks as data)
//!   5  reproduce.rs         reproduce            the experiments that the claims need, each once
//!      -- the Replicator runs them, on all cores or out of what is kept: domio_lab --
//!   6  paper/cell.rs        PaperCell::scenario  the cell as the text of a scenario
//!   7  paper/run.rs         Prepared::run        one replication: a Sample (domio_run)
//!   8  samples.rs           Samples              the samples by experiment and value
//!   9  statement/decide.rs  Statement::decide    values of cells, ratios, gauges (gauge.rs,
//!                                                shapes.rs), each with an interval
//!  10  proof.rs             Proof::verdict       all checks together: holds, fails or undecided
//!  11  ledger.rs            ClaimResult          the line: verdict, what was measured, how to
//!                                                repeat it
//! ```
//!
//! A claim that is undecided goes back to 5 with more replications, as far as the effort allows.

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
