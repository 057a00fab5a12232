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
//!   1  folders.rs           PaperFolder::open      the folder of a user's; shipped: those built in
//!   2  experiments.rs       of                     a registry of experiments and deciders:
//!   3  paper/mod.rs         Paper::read, register  machine.toml and cells.toml (paper/file.rs); an
//!                                                  experiment for each cell
//!   4  claims.rs            Claims::of_paper       claims.toml: what the paper states
//!                                                  (statement/read.rs: the checks as data)
//!   5  registry.rs          Registry::claims       a decider for each claim that has checks
//!   6  reproduce.rs         reproduce              the experiments that the claims need, each once
//!      -- the Replicator runs them, on all cores or out of what is kept: domio_lab --
//!   7  paper/run.rs         Prepared::new          the cell as a scenario, once (paper/cell.rs
//!                                                  PaperCell::scenario)
//!   8  paper/run.rs         Prepared::run          one replication: a Sample (domio_run)
//!      -- back in reproduce, which decides each claim --
//!   9  samples.rs           Samples::new           the samples, by experiment and value
//!  10  statement/decide.rs  Statement::decide      each check: figures of cells, ratios
//!                                                  (statement/gauge.rs, shapes.rs)
//!  11  proof.rs             greater, near, ...     the check holds, fails or is undecided, by the
//!                                                  interval of its figure
//!  12  ledger.rs            ClaimResult::of        the line: the verdict of all checks together,
//!                                                  and what was measured
//! ```
//!
//! A claim that is undecided goes back to 6 with more replications, as far as the effort allows.

#[macro_use]
mod declare;

pub mod against;
pub mod answer;
pub mod claim;
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
pub mod survival_list;
pub mod tolerance;

pub use claim::{Claim, ClaimKind};
pub use claims::Claims;
pub use effort::Effort;
pub use ledger::{ClaimLedger, ClaimResult, Measured, Verdict};
pub use registry::{Decider, Experiment, LabContext, Registry};
pub use samples::Samples;
pub use tolerance::Tolerance;
