//! The conformance suite: does a policy keep the contract and its own promises?
//!
//! One call runs a policy on the [mini host](host) under hand-written and random [scripts](Script),
//! with [checkers](CHECKERS) watching the [boundary log](log). Whatever keeps a log of this form
//! can be watched by them.
//!
//! # For the author of a policy
//!
//! ```
//! use domio_core::ParamValues;
//! use domio_sched::conformance;
//! use domio_sched::round_robin::{DESCRIPTOR, RoundRobin};
//!
//! let params = ParamValues::defaults(DESCRIPTOR.params);
//! let make = |topology: &_| Box::new(RoundRobin::new(&params, topology)) as _;
//! let report = conformance::check(&make, 0..20);
//! assert!(report.is_clean(), "{report}");
//! ```
//!
//! A finding names the checker, the script and, if it was random, its seed. [`random::script_for`]
//! the policy with that seed gives the script again, and [`host::run`] its whole log; cut the
//! script down by hand from there.
//!
//! Which checkers watch follows from [`Promises`](domio_contract::Promises): a policy that promises
//! less is
//! asked less. `domio-broken` holds policies that must be caught, each by the checker that it
//! names, which shows that the checkers see what they claim to see.

pub mod checkers;
pub mod exhaustive;
pub mod host;
pub mod library;
pub mod log;
pub mod random;
pub mod script;
pub mod world;

pub use checkers::CHECKERS;
pub use domio_suite::{CheckerInfo, Finding, Report, Rng, rng};
pub use log::{Fault, LogEntry, Occurrence, PolicyCall, Run};
pub use script::{Intervention, Script, ScriptDomain, ScriptError, ScriptStep, ScriptVcpu};

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use domio_contract::{Dispatching, Scheduler};
use domio_core::{Duration, Topology};
use domio_suite::{Found, SuiteInfo, subjects, tail};

/// Makes a policy for a host of the given shape. Called anew for every run.
pub type Make<'a> = &'a dyn Fn(&Topology) -> Box<dyn Scheduler>;

/// Entries of the log that a finding shows.
const TAIL: usize = 30;

/// How long driver domains of the suite have packets at hand on end.
const PACKETS_FOR: Duration = Duration::from_millis(1);

/// Words and checkers of this suite.
static SUITE: SuiteInfo = SuiteInfo {
    subject: "script",
    subjects: "scripts",
    log: "the log",
    checkers: CHECKERS,
};

/// Runs the policy under every script of the [library] and the random ones of `seeds`, and if it
/// listens to driver domains, under the same with one.
///
/// A policy that panics takes the caller along: the message is its own.
pub fn check(make: Make<'_>, seeds: Range<u64>) -> Report {
    let mut report = Report::new(&SUITE);
    let policy = make(&Topology::flat(1).expect("one pcpu"));
    let listens = policy.needs().dispatching != Dispatching::Untold;
    let random = |seed| random::script_for(policy.descriptor(), seed);
    for (script, seed) in subjects(library::scripts(), seeds, random) {
        add(&mut report, make, &script, seed);
        if listens {
            add(
                &mut report,
                make,
                &script.with_driver_domain(PACKETS_FOR),
                seed,
            );
        }
    }
    report
}

/// Runs the policy under every order of a few events ([`exhaustive`]), where [`check`] trusts to
/// luck. What it finds is shown by a script of four events.
pub fn check_exhaustively(make: Make<'_>) -> Report {
    let mut report = Report::new(&SUITE);
    for script in exhaustive::scripts() {
        add(&mut report, make, &script, None);
    }
    report
}

/// Runs the policy under one script, with a trace and without. `seed` is only passed on to the
/// findings.
///
/// # Errors
/// When the script makes no sense ([`Script::check`]).
pub fn check_script(
    make: Make<'_>,
    script: &Script,
    seed: Option<u64>,
) -> Result<Vec<Finding>, ScriptError> {
    let policy = make(&script.topology);
    let promises = policy.descriptor().promises;
    let run = host::run(script, policy)?;
    let untraced = host::run_untraced(script, make(&script.topology))?;
    let mut found = checkers::observe(script, &promises, &run);
    if let Some(i) = run.first_difference(&untraced) {
        let again = host::run(script, make(&script.topology))?;
        found.push(match run.first_difference(&again) {
            Some(i) => difference(&run, &again, i, checkers::DETERMINISTIC),
            None => difference(&run, &untraced, i, checkers::SAME_UNTRACED),
        });
    }
    Ok(SUITE.findings(&script.name, seed, found))
}

fn difference(run: &Run, other: &Run, i: usize, checker: &'static str) -> Found {
    let line = |run: &Run| match run.log.get(i) {
        Some(entry) => alloc::format!("{entry}"),
        None => String::from("nothing"),
    };
    let when = match checker {
        checkers::DETERMINISTIC => "the second time",
        _ => "without a trace",
    };
    Found {
        checker,
        at: run.log.get(i).map_or(run.end, |entry| entry.at),
        message: alloc::format!(
            "entry {i} was \"{}\" and is \"{}\" {when}",
            line(run),
            line(other)
        ),
        log_tail: tail(&run.log, i + 1, TAIL),
    }
}

/// Checks one more script, one of the suite's own.
fn add(report: &mut Report, make: Make<'_>, script: &Script, seed: Option<u64>) {
    let findings = check_script(make, script, seed);
    report.add(findings.expect("scripts of the suite itself can be run"));
}
