//! The conformance suite: does a controller keep the contract and its own promises?
//!
//! One call shows a controller hand-written and random [histories](History) of hosts: domains come
//! and go, time stands still, figures are huge, zero or contradict each other, settings cannot be
//! set, answers are carried out late or not at all. [Checkers](CHECKERS) look at the answers.
//!
//! # For the author of a controller
//!
//! ```
//! use domio_control::cap_follows_demand::{CapFollowsDemand, DESCRIPTOR};
//! use domio_control::conformance;
//! use domio_core::ParamValues;
//!
//! let params = ParamValues::defaults(DESCRIPTOR.params);
//! let make = || Box::new(CapFollowsDemand::new(&params)) as _;
//! let report = conformance::check(&make, 0..20);
//! assert!(report.is_clean(), "{report}");
//! ```
//!
//! A finding names the checker, the history and, if it was random, its seed. [`random::history`]
//! with that seed gives the history again, and [`run::run`] everything that was seen and answered.
//!
//! `domio-broken` holds controllers that must be caught, each by the one checker that it names,
//! which shows that the checkers see what they claim to see.

pub mod checkers;
pub mod history;
pub mod library;
pub mod random;
pub mod run;

pub use checkers::CHECKERS;
pub use domio_suite::{CheckerInfo, Finding, Report, Rng, rng};
pub use history::{Fate, History, Round};
pub use run::{Run, Taken, run};

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;
use domio_contract::control::Controller;
use domio_suite::{SuiteInfo, subjects};

/// Makes a controller. Called anew for every run.
pub type Make<'a> = &'a dyn Fn() -> Box<dyn Controller>;

/// How many observations after [`SETTLES_WITHIN`](domio_contract::control::SETTLES_WITHIN) are to
/// get no answers.
pub const STAYS_SETTLED: usize = 8;

/// Observations that a finding shows.
const TAIL: usize = 4;

/// Words and checkers of this suite.
static SUITE: SuiteInfo = SuiteInfo {
    subject: "history",
    subjects: "histories",
    log: "the last observations",
    checkers: CHECKERS,
};

/// Shows the controller every history of the [library] and the random ones of `seeds`.
///
/// A controller that panics takes the caller along: the message is its own.
pub fn check(make: Make<'_>, seeds: Range<u64>) -> Report {
    let mut report = Report::new(&SUITE);
    for (history, seed) in subjects(library::histories(), seeds, random::history) {
        report.add(check_history(make, &history, seed));
    }
    report
}

/// Shows the controller one history. `seed` is only passed on to the findings.
pub fn check_history(make: Make<'_>, history: &History, seed: Option<u64>) -> Vec<Finding> {
    SUITE.findings(&history.name, seed, checkers::look(make, history))
}

#[cfg(test)]
mod tests;
