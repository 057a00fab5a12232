//! How far a twin decides as its recording did.

use crate::exact::Settings;
use crate::exact::search::searched;
use crate::start::activity;
use crate::twin::{Hidden, Twin, dispatches};
use core::cmp::Reverse;
use domio_core::{Duration, Instant, Record, VcpuName};

/// A decision comes so much before what it leads to: the last ones of a recording are cut off in a
/// twin that is a little later.
const CUT_OFF: Duration = Duration::from_micros(20);

/// What a host decided, in lists of things that follow each other: when, and about whom.
pub struct Decisions {
    /// The dispatches of each pcpu, then what became of credit's active lists and of parked vcpus:
    /// who left, who joined, who was parked; on one pcpu, who was dispatched being OVER.
    lists: Vec<Vec<(Instant, VcpuName)>>,
}

impl Decisions {
    /// Those of `records`, which are of `twin` or its recording.
    pub fn of(records: &[Record], twin: &Twin) -> Decisions {
        let pcpus = twin.start().pcpus.len();
        let mut lists = dispatches(records, pcpus);
        lists.extend(activity(records));
        if pcpus == 1 {
            lists.push(searched(records, twin.profile()));
        }
        Decisions { lists }
    }

    /// How many dispatches of a recording there are within the window.
    pub fn dispatches(&self, twin: &Twin, settings: &Settings) -> usize {
        count(
            &self.lists[..twin.start().pcpus.len()],
            twin,
            settings.window,
        )
    }

    /// How many decisions of a recording a twin can make within the window at least, if it makes
    /// all.
    pub fn to_make(&self, twin: &Twin, settings: &Settings) -> usize {
        let end = twin.length().saturating_sub(CUT_OFF);
        count(&self.lists, twin, settings.window.min(end))
    }
}

fn count(lists: &[Vec<(Instant, VcpuName)>], twin: &Twin, window: Duration) -> usize {
    let begin = twin.start().at;
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
pub struct Match {
    /// How well the state explains the recording.
    pub height: Height,
    /// How many of its decisions are dispatches.
    pub dispatched: usize,
    /// Whom the first decisions that differ concern: indices into the twin's vcpus.
    pub suspects: Vec<usize>,
}

/// How far the twin decides as `recorded` when it starts from `hidden`.
pub fn matching(twin: &Twin, hidden: &Hidden, recorded: &Decisions, settings: &Settings) -> Match {
    const STEP: Duration = Duration::from_millis(200);
    let mut simulation = twin.simulation(hidden, Vec::new());
    let pcpus = twin.start().pcpus.len();
    let origin = twin.origin();
    let begin = twin.start().at;
    let end = origin + settings.window.min(twin.length());
    let mut next = vec![0; recorded.lists.len()];
    let mut until = origin;
    let mut error = Duration::ZERO;
    let mut differs = false;
    let mut suspects: Vec<VcpuName> = Vec::new();
    while until < end && !differs {
        until = (until + STEP).min(end);
        if !matches!(simulation.run(until), domio_sim::Outcome::Completed { .. }) {
            break;
        }
        let simulated = Decisions::of(simulation.host_mut().sink_mut(), twin);
        simulation.host_mut().sink_mut().clear();
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
    let vcpus = &twin.start().vcpus;
    let place = |name: &VcpuName| vcpus.iter().position(|v| v.name == *name);
    Match {
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
    use crate::exact::guess::Guesser;
    use crate::recording::Recording;
    use domio_vmm::Profile;
    use std::path::Path;

    #[test]
    fn those_of_the_first_decision_that_differs_are_suspects() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/xen-traces");
        let recording = Recording::load(&folder.join("c1-burn7")).unwrap();
        let twin = Twin::new(&recording, &Profile::XEN_4_17_EMULATED).unwrap();
        let settings = Settings::default();
        let recorded = Decisions::of(&recording.records, &twin);
        let guesser = Guesser::new(&twin, &recording.records);
        let found = matching(&twin, guesser.first(), &recorded, &settings);
        assert!(found.height.decisions < recorded.to_make(&twin, &settings));
        // Somebody was dispatched instead of somebody else.
        let next = recorded.lists[0][found.dispatched].1;
        let next = twin.start().vcpus.iter().position(|v| v.name == next);
        assert!(
            found.suspects.contains(&next.unwrap()),
            "{:?}",
            found.suspects
        );
        assert!(found.suspects.len() >= 2, "{:?}", found.suspects);
    }

    #[test]
    fn a_recording_explains_itself_but_for_its_last_moment() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/xen-traces");
        let recording = Recording::load(&folder.join("c1-burn7")).unwrap();
        let twin = Twin::new(&recording, &Profile::XEN_4_17_EMULATED).unwrap();
        let recorded = Decisions::of(&recording.records, &twin);
        let whole = Settings::default();
        let second = Settings {
            window: Duration::from_secs(1),
            ..whole
        };
        assert_eq!(recorded.dispatches(&twin, &whole), 1_274);
        let all: usize = recorded.lists.iter().map(Vec::len).sum();
        let to_make = recorded.to_make(&twin, &whole);
        assert!(to_make <= all && to_make + 3 > all, "{to_make} of {all}");
        assert!(recorded.to_make(&twin, &second) < to_make / 10);
    }
}
