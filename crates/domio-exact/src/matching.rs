//! How far a simulation decides as its recording did.

use crate::SearchSettings;
use crate::search::searched;
use core::cmp::Reverse;
use domio_core::{Duration, Instant, VcpuName};
use domio_replay::NamedRecord;
use domio_validate::Parting;
use domio_validate::policy::credit::CreditHost;
use domio_validate::policy::credit::Hidden;
use domio_validate::policy::credit::seen::activity;
use domio_validate::simulated::dispatches;

/// A decision comes so much before what it leads to: the last ones of a recording are cut off in a
/// simulation that is a little later.
const CUT_OFF: Duration = Duration::from_micros(20);

/// What a host decided, in lists of things that follow each other: when, and about whom.
pub struct Decisions {
    /// The dispatches of each pcpu, then what became of credit's active lists and of parked vcpus:
    /// who left, who joined, who was parked; on one pcpu, who was dispatched being OVER.
    lists: Vec<Vec<(Instant, VcpuName)>>,
}

impl Decisions {
    /// Those of `records`, which are of `simulation` or its recording.
    pub fn of(records: &[NamedRecord], host: &CreditHost) -> Decisions {
        let pcpus = host.start().pcpus.len();
        let mut lists = dispatches(records, pcpus);
        lists.extend(activity(records));
        if pcpus == 1 {
            lists.push(searched(records, host.profile()));
        }
        Decisions { lists }
    }

    /// How many dispatches of a recording there are within the window.
    pub fn dispatches(&self, host: &CreditHost, settings: &SearchSettings) -> usize {
        count(
            &self.lists[..host.start().pcpus.len()],
            host,
            settings.window,
        )
    }

    /// How many decisions of a recording a simulation can make within the window at least, if it
    /// makes all.
    pub fn to_make(&self, host: &CreditHost, settings: &SearchSettings) -> usize {
        let end = host.length().saturating_sub(CUT_OFF);
        count(&self.lists, host, settings.window.min(end))
    }
}

impl Decisions {
    /// The first of these decisions, which are recorded, that `simulated` ones of `simulation` are
    /// without, or the first of theirs that is not recorded.
    pub fn parting(
        &self,
        simulated: &Decisions,
        host: &CreditHost,
        settings: &SearchSettings,
    ) -> Option<Parting> {
        let (begin, origin) = (host.start().at, host.origin());
        let last = host.length().saturating_sub(CUT_OFF);
        let pcpus = host.start().pcpus.len();
        let mut first: Option<(Duration, Parting)> = None;
        for (i, (expected, made)) in self.lists.iter().zip(&simulated.lists).enumerate() {
            for n in 0..expected.len().max(made.len()) {
                let wanted = expected.get(n).map(|(at, who)| (at.since(begin), *who));
                let got = made.get(n).map(|(at, who)| (at.since(origin), *who));
                let at = match (wanted, got) {
                    (Some((a, who)), Some((b, other))) => {
                        if who == other && a.max(b) - a.min(b) <= settings.tolerance {
                            continue;
                        }
                        a.min(b)
                    }
                    (Some((at, _)), None) | (None, Some((at, _))) => at,
                    (None, None) => break,
                };
                if at <= last && first.as_ref().is_none_or(|(before, _)| at < *before) {
                    let name = |side: Option<(Duration, VcpuName)>| side.map(|s| s.1.to_string());
                    let parting = Parting {
                        at_s: at.as_nanos() as f64 / 1e9,
                        decision: decision(i, pcpus),
                        recorded: name(wanted),
                        simulated: name(got),
                    };
                    first = Some((at, parting));
                }
                break;
            }
        }
        first.map(|(_, parting)| parting)
    }
}

/// What list `i` of a host of so many pcpus is about.
fn decision(i: usize, pcpus: usize) -> String {
    match i.checked_sub(pcpus) {
        None if pcpus == 1 => "is dispatched".to_owned(),
        None => format!("is dispatched on pcpu {i}"),
        Some(0) => "ceases to earn credit".to_owned(),
        Some(1) => "begins to earn credit".to_owned(),
        Some(2) => "is parked".to_owned(),
        Some(_) => "is dispatched without credit".to_owned(),
    }
}

fn count(lists: &[Vec<(Instant, VcpuName)>], host: &CreditHost, window: Duration) -> usize {
    let begin = host.start().at;
    let inside = |d: &&(Instant, VcpuName)| d.0.since(begin) <= window;
    lists.iter().flatten().filter(inside).count()
}

/// How well a state explains the recording: the more decisions before the first that differs the
/// better, then the nearer they are in time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Height {
    /// Decisions before the first that differs.
    pub decisions: usize,
    error: Reverse<Duration>,
}

/// What a simulation from one state came to.
pub struct Matched {
    /// How well the state explains the recording.
    pub height: Height,
    /// How many of its decisions are dispatches.
    pub dispatched: usize,
    /// Whom the first decisions that differ concern: indices into the simulation's vcpus.
    pub suspects: Vec<usize>,
}

/// How far the simulation decides as `recorded` when it starts from `hidden`.
pub fn matching(
    host: &CreditHost,
    hidden: &Hidden,
    recorded: &Decisions,
    settings: &SearchSettings,
) -> Matched {
    const STEP: Duration = Duration::from_millis(200);
    let mut simulation = host.simulation(hidden);
    let pcpus = host.start().pcpus.len();
    let origin = host.origin();
    let begin = host.start().at;
    let end = origin + settings.window.min(host.length());
    let mut next = vec![0; recorded.lists.len()];
    let mut until = origin;
    let mut error = Duration::ZERO;
    let mut differs = false;
    let mut suspects: Vec<VcpuName> = Vec::new();
    while until < end && !differs {
        until = (until + STEP).min(end);
        if simulation.until(until).is_err() {
            break;
        }
        let records = core::mem::take(&mut simulation.sink_mut().0);
        let simulated = Decisions::of(&records, host);
        for ((list, expected), next) in simulated.lists.iter().zip(&recorded.lists).zip(&mut next) {
            for (at, vcpu) in list {
                let at = at.since(origin);
                let wanted = expected.get(*next);
                let apart = wanted.and_then(|(when, who)| {
                    let when = when.since(begin);
                    let apart = at.max(when) - at.min(when);
                    (who == vcpu && apart <= settings.tolerance).then_some(apart)
                });
                let Some(apart) = apart else {
                    differs = true;
                    suspects.push(*vcpu);
                    suspects.extend(wanted.map(|(_, who)| *who));
                    break;
                };
                error += apart;
                *next += 1;
            }
            // What should have been decided by now and was not.
            let missed = expected
                .get(*next)
                .filter(|(when, _)| origin + when.since(begin) + settings.tolerance < until);
            differs |= missed.is_some();
            suspects.extend(missed.map(|(_, who)| *who));
        }
    }
    let vcpus = &host.start().vcpus;
    let place = |name: &VcpuName| vcpus.iter().position(|v| v.name == *name);
    Matched {
        height: Height {
            decisions: next.iter().sum(),
            error: Reverse(error),
        },
        dispatched: next[..pcpus].iter().sum(),
        suspects: suspects.iter().filter_map(place).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guess::Guesser;
    use domio_validate::shipped;
    use domio_vmm::Profile;

    #[test]
    fn those_of_the_first_decision_that_differs_are_suspects() {
        let recording = shipped::recording("c1-burn7").unwrap();
        let host = crate::host(&recording, &Profile::XEN_4_17_EMULATED).unwrap();
        let settings = SearchSettings::default();
        let recorded = Decisions::of(&recording.records, &host);
        let guesser = Guesser::new(&host, &recording.records);
        let found = matching(&host, guesser.first(), &recorded, &settings);
        assert!(found.height.decisions < recorded.to_make(&host, &settings));
        // Somebody was dispatched instead of somebody else.
        let next = recorded.lists[0][found.dispatched].1;
        let next = host.start().vcpus.iter().position(|v| v.name == next);
        assert!(
            found.suspects.contains(&next.unwrap()),
            "{:?}",
            found.suspects
        );
        assert!(found.suspects.len() >= 2, "{:?}", found.suspects);
        let simulated = Decisions::of(&host.run(guesser.first()), &host);
        let parting = recorded.parting(&simulated, &host, &settings).unwrap();
        assert!(parting.recorded != parting.simulated, "{parting:?}");
        let until = recorded.lists[0][found.dispatched].0;
        let until = until.since(host.start().at).as_nanos() as f64 / 1e9;
        assert!(parting.at_s <= until, "{parting:?} is after {until}");
        assert_eq!(
            recorded.parting(&recorded_again(&recording, &host), &host, &settings),
            None
        );
    }

    /// The decisions of the recording as if a simulation had made them.
    fn recorded_again(recording: &domio_validate::Recording, host: &CreditHost) -> Decisions {
        let mut decisions = Decisions::of(&recording.records, host);
        for (at, _) in decisions.lists.iter_mut().flatten() {
            *at = host.origin() + at.since(host.start().at);
        }
        decisions
    }

    #[test]
    fn a_recording_explains_itself_but_for_its_last_moment() {
        let recording = shipped::recording("c1-burn7").unwrap();
        let host = crate::host(&recording, &Profile::XEN_4_17_EMULATED).unwrap();
        let recorded = Decisions::of(&recording.records, &host);
        let whole = SearchSettings::default();
        let second = SearchSettings {
            window: Duration::from_secs(1),
            ..whole
        };
        assert_eq!(recorded.dispatches(&host, &whole), 1_274);
        let all: usize = recorded.lists.iter().map(Vec::len).sum();
        let to_make = recorded.to_make(&host, &whole);
        assert!(to_make <= all && to_make + 3 > all, "{to_make} of {all}");
        assert!(recorded.to_make(&host, &second) < to_make / 10);
    }
}
