//! The checkers: what is looked for in a controller's runs. Each has a stable name.

use super::history::{History, original};
use super::run::{Run, Taken, run};
use super::{Make, STAYS_SETTLED, TAIL};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use domio_contract::control::{Adjustment, Descriptor, Refusal, SETTLES_WITHIN, SettingKind};
use domio_core::Instant;
use domio_suite::{CheckerInfo, Found, info, tail};

/// Every checker, in the order in which reports list them.
pub const CHECKERS: &[CheckerInfo] = &[
    info(
        DECLARED,
        "an answer is of a kind that the descriptor does not name",
    ),
    info(
        PRESENT,
        "an answer is about a domain that was not in the observation",
    ),
    info(
        ABLE,
        "an answer sets what the host, the domain or the policy has no such setting for",
    ),
    info(IN_RANGE, "a value is out of its range"),
    info(
        NEWS,
        "an answer sets what the observation shows to be set already",
    ),
    info(
        ONE_ANSWER,
        "two answers to one observation set the same thing",
    ),
    info(
        SETTLES,
        "promised: figures stay the same and answers are carried out for 64 observations, and \
         there are still answers other than charges",
    ),
    info(
        FORGETS,
        "a domain that comes back with its old id is treated other than a new one with a new id",
    ),
    info(
        DETERMINISTIC,
        "the same history gets other answers the second time",
    ),
];

const DECLARED: &str = "declared-kinds";
const PRESENT: &str = "present-domains";
const ABLE: &str = "within-abilities";
const IN_RANGE: &str = "within-ranges";
const NEWS: &str = "changes-something";
const ONE_ANSWER: &str = "one-answer-each";
const SETTLES: &str = "settles";
const FORGETS: &str = "forgets-the-gone";
const DETERMINISTIC: &str = "deterministic";

/// What `checker` found in the observation number `round`.
fn found(checker: &'static str, log: &[Taken], round: usize, message: String) -> Found {
    let last = log.get(round).or(log.last());
    Found {
        checker,
        at: last.map_or(Instant::ZERO, |taken| taken.now),
        message,
        log_tail: tail(log, round + 1, TAIL),
    }
}

/// Everything that the checkers find under `history`, at most one thing each.
pub(super) fn look(make: Make<'_>, history: &History) -> Vec<Found> {
    let controller = make();
    let descriptor = controller.descriptor();
    let seen = run(history, controller);
    let mut all: Vec<Found> = Vec::new();
    for (round, taken) in seen.log.iter().enumerate() {
        for (checker, message) in faults(descriptor, taken) {
            if !all.iter().any(|f| f.checker == checker) {
                all.push(found(checker, &seen.log, round, message));
            }
        }
    }
    all.extend(settles(make, descriptor, history));
    // Who answers differently each time cannot be compared with himself under another name.
    all.extend(
        deterministic(&seen, &run(history, make())).or_else(|| forgets(make, &seen, history)),
    );
    all
}

/// What is wrong with the answers to one observation.
fn faults(descriptor: &Descriptor, taken: &Taken) -> Vec<(&'static str, String)> {
    let mut faults = Vec::new();
    for (i, answer) in taken.answers.iter().enumerate() {
        if !descriptor.answers.has(answer.kind()) {
            let kind = answer.kind().name();
            let message = format!("\"{answer}\" is a {kind}, which the descriptor does not name");
            faults.push((DECLARED, message));
        }
        if let Some(refusal) = taken.observation().refuses(answer) {
            let checker = match refusal {
                Refusal::NoDomain => PRESENT,
                Refusal::NoAbility => ABLE,
                Refusal::OutOfRange => IN_RANGE,
                Refusal::NoChange => NEWS,
            };
            faults.push((checker, format!("\"{answer}\": {refusal}")));
        }
        if let Some(first) = taken.answers[..i].iter().find(|a| a.sets_what(answer)) {
            faults.push((ONE_ANSWER, format!("both \"{first}\" and \"{answer}\"")));
        }
    }
    faults
}

fn settles(make: Make<'_>, descriptor: &Descriptor, history: &History) -> Option<Found> {
    if !descriptor.promises.settles {
        return None;
    }
    let from = history.rounds.len() + SETTLES_WITHIN;
    let held = history.held(SETTLES_WITHIN + STAYS_SETTLED)?;
    let seen = run(&held, make());
    let late = seen.log.iter().enumerate().skip(from);
    let (round, answer) = late
        .flat_map(|(round, taken)| taken.answers.iter().map(move |answer| (round, *answer)))
        .find(|(_, answer)| answer.kind() != SettingKind::Charge)?;
    let rounds = round - history.rounds.len();
    let message = format!("after {rounds} observations with the same figures still \"{answer}\"");
    Some(found(SETTLES, &seen.log, round, message))
}

fn forgets(make: Make<'_>, seen: &Run, history: &History) -> Option<Found> {
    let renamed = run(&history.renamed()?, make());
    let named_back = |answer: &Adjustment| match *answer {
        Adjustment::Domain { domain, change } => Adjustment::Domain {
            domain: original(domain),
            change,
        },
        policy @ Adjustment::Policy { .. } => policy,
    };
    let pairs = seen.log.iter().zip(&renamed.log);
    for (round, (taken, other)) in pairs.enumerate() {
        let other: Vec<Adjustment> = other.answers.iter().map(named_back).collect();
        if taken.answers != other {
            let message = format!(
                "who came back got {}, a new domain in its place {}",
                listed(&taken.answers),
                listed(&other)
            );
            return Some(found(FORGETS, &seen.log, round, message));
        }
    }
    None
}

fn deterministic(seen: &Run, again: &Run) -> Option<Found> {
    let mut pairs = seen.log.iter().zip(&again.log);
    if let Some(round) = pairs.position(|(one, two)| one.answers != two.answers) {
        let message = format!(
            "the answers were {} and are {} the second time",
            listed(&seen.log[round].answers),
            listed(&again.log[round].answers)
        );
        return Some(found(DETERMINISTIC, &seen.log, round, message));
    }
    (seen.dump != again.dump).then(|| {
        let message = format!(
            "at the end the state was\n{}and is the second time\n{}",
            seen.dump, again.dump
        );
        found(DETERMINISTIC, &seen.log, seen.log.len(), message)
    })
}

fn listed(answers: &[Adjustment]) -> String {
    if answers.is_empty() {
        return String::from("no answer");
    }
    let quoted: Vec<String> = answers.iter().map(|a| format!("\"{a}\"")).collect();
    quoted.join(", ")
}
