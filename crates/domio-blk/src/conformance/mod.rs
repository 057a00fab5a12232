//! The conformance suite: does an elevator keep the contract, and what it promises?
//!
//! One call runs an elevator behind its request layer under hand-written and random
//! [histories](history), and [checkers](CHECKERS) look at the log of what happened.
//!
//! ```
//! use domio_blk::conformance;
//! use domio_blk::elevator::{elevators, find_elevator};
//!
//! let report = conformance::check(find_elevator(elevators(), "cfq").unwrap(), 0..3);
//! assert!(report.is_clean(), "{report}");
//! ```
//!
//! `tests/all/conformance/broken.rs` holds elevators with one mistake each, and the checker that
//! catches it.

mod checkers;
pub mod history;
pub mod world;

pub use checkers::CHECKERS;
pub use domio_suite::{CheckerInfo, Finding, Report};
pub use history::{HistoryStep, IoHistory};
pub use world::{IoEntry, IoEvent, IoRun, run};

use crate::elevator::ElevatorInfo;
use alloc::format;
use core::ops::Range;
use domio_suite::{SuiteInfo, subjects};

/// Entries of the log that a finding shows.
const TAIL: usize = 20;

/// Words and checkers of this suite.
static SUITE: SuiteInfo = SuiteInfo {
    subject: "history",
    subjects: "histories",
    log: "the log",
    checkers: CHECKERS,
};

/// Runs an elevator under the hand-written histories and the random ones of `seeds`.
pub fn check(elevator: &ElevatorInfo, seeds: Range<u64>) -> Report {
    let mut report = Report::new(&SUITE);
    for (history, seed) in subjects(history::library(), seeds, history::random) {
        let run = run(elevator, &history);
        let again = world::run(elevator, &history);
        let found = checkers::observe(elevator, &history, &run, &again);
        let subject = format!("{}, {}", elevator.name, history.name);
        report.add(SUITE.findings(&subject, seed, found));
    }
    report
}
