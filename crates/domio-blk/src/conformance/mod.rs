//! The conformance suite: does an elevator keep the contract, and what it promises?
//!
//! One call runs an elevator behind its request layer under hand-written and random
//! [histories](history), and [checkers](CHECKERS) look at the log of what happened.
//!
//! ```
//! use domio_blk::conformance;
//! use domio_blk::elevator::find_elevator;
//!
//! let report = conformance::check(find_elevator("cfq").unwrap(), 0..3);
//! assert!(report.is_clean(), "{report}");
//! ```
//!
//! [`broken`] holds elevators with one mistake each, and the checker that catches it.

pub mod broken;
mod checkers;
pub mod history;
pub mod world;

pub use checkers::CHECKERS;
pub use domio_suite::{CheckerInfo, Finding, Report};
pub use history::{HistoryStep, IoHistory};
pub use world::{IoEntry, IoEvent, IoRun, run};

use crate::elevator::ElevatorInfo;
use alloc::format;
use alloc::string::String;
use core::fmt::Write;
use core::ops::Range;
use domio_core::Instant;
use domio_suite::SuiteInfo;

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
    let random = seeds.map(|seed| (history::random(seed), Some(seed)));
    let written = history::library().into_iter().map(|h| (h, None));
    for (history, seed) in written.chain(random) {
        let run = run(elevator, &history);
        let again = world::run(elevator, &history);
        let found = checkers::observe(elevator, &history, &run, &again);
        let findings = found.into_iter().map(|f| Finding {
            suite: &SUITE,
            checker: f.checker,
            subject: format!("{}, {}", elevator.name, history.name),
            seed,
            at: Instant::from_nanos(f.us * 1000),
            message: f.message,
            log_tail: tail(&run, f.entries),
        });
        report.add(findings.collect());
    }
    report
}

fn tail(run: &IoRun, entries: usize) -> String {
    let entries = entries.min(run.log.len());
    let mut text = String::new();
    for entry in &run.log[entries.saturating_sub(TAIL)..entries] {
        writeln!(text, "{} us {:?}", entry.us, entry.event).expect("a string takes any text");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elevator::elevators;

    #[test]
    fn names_of_checkers_are_unique_and_in_kebab_case() {
        assert_eq!(domio_suite::misnamed(CHECKERS), [""; 0]);
    }

    #[test]
    fn every_elevator_of_the_registry_passes() {
        for elevator in elevators() {
            let report = check(elevator, 0..80);
            assert!(report.is_clean(), "{report}");
            assert!(report.subjects > 85);
        }
    }

    #[test]
    fn every_broken_elevator_is_caught_by_its_checker() {
        for broken in broken::ALL {
            let report = check(&broken.info, 0..20);
            let mut caught = report.checkers();
            let name = broken.info.name;
            assert!(caught.any(|c| c == broken.caught_by), "{name}: {report}");
        }
    }

    #[test]
    fn what_the_broken_ones_are_made_from_passes() {
        let report = check(&broken::SOUND, 0..20);
        assert!(report.is_clean(), "{report}");
    }
}
