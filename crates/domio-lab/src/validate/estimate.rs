//! Estimating what a trace does not show of its start: credits and priority classes.
//!
//! The credit scheduler never writes its credits into a trace, but its decisions depend on them:
//! whom it dispatches, who begins and ceases to earn credit, who is parked. The estimate is the
//! state from which the simulated twin makes the same decisions as the recording for the longest
//! time within an [estimation window](Settings::window), which is the
//! whole recording unless a caller says otherwise. Only the state at one instant is estimated; no
//! parameter of the model is.
//!
//! The search is a hill climb with neutral steps from a fixed seed: the same recording gives the
//! same estimate on every machine.

use super::search::searched;
use super::start::{FirstWake, activity};
use super::twin::{Hidden, HiddenVcpu, Twin, dispatches};
use core::cmp::Reverse;
use domio_core::{Duration, Instant, Record, Runstate, VcpuName};
use domio_sched::credit::Priority;
use domio_sim::RandomStream;

/// How hard to search.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How much of the recording may be looked at.
    pub window: Duration,
    /// Most simulations to make.
    pub tries: u32,
    /// Simulations without progress after which the search begins anew.
    pub patience: u32,
    /// How far apart two dispatches may be in time to count as the same.
    pub tolerance: Duration,
    /// Most states to keep of those that explain the recording equally well.
    pub states: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            window: Duration::MAX,
            tries: 100_000,
            patience: 5_000,
            tolerance: Duration::from_micros(500),
            states: 15,
        }
    }
}

/// An estimate, and how well it explains the window.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// The state whose decisions are nearest to the recorded ones.
    pub hidden: Hidden,
    /// States, that one among them or not, that explain as many decisions; chosen evenly from all
    /// that the search met, at least one. Nothing in the recording speaks for one of them.
    pub equals: Vec<Hidden>,
    /// Dispatches of the window that the twin made in the same order and time.
    pub matched: usize,
    /// Dispatches in the window.
    pub of: usize,
}

/// What a host decided, in lists of things that follow each other: when, and about whom.
struct Decisions {
    /// The dispatches of each pcpu, then what became of credit's active lists and of parked vcpus:
    /// who left, who joined, who was parked; on one pcpu, who was dispatched being OVER.
    lists: Vec<Vec<(Instant, VcpuName)>>,
}

impl Decisions {
    fn of(records: &[Record], twin: &Twin) -> Decisions {
        let pcpus = twin.start().pcpus.len();
        let mut lists = dispatches(records, pcpus);
        lists.extend(activity(records));
        if pcpus == 1 {
            lists.push(searched(records, twin.profile()));
        }
        Decisions { lists }
    }
}

/// How well a state explains the recording: the more decisions before the first that differs the
/// better, then the nearer they are in time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Height {
    decisions: usize,
    error: Reverse<Duration>,
}

/// Estimates the hidden state of the recording that `twin` and its `records` come from.
pub fn estimate(twin: &Twin, records: &[Record], settings: &Settings) -> Estimate {
    let pcpus = twin.start().pcpus.len();
    let recorded = Decisions::of(records, twin);
    let begin = twin.start().at;
    let inside = |d: &&(Instant, VcpuName)| d.0.since(begin) <= settings.window;
    let count = |lists: &[Vec<_>]| lists.iter().flatten().filter(inside).count();
    let of = count(&recorded.lists[..pcpus]);
    let all = count(&recorded.lists);
    let mut random = RandomStream::new(0, 0, "validate/estimate");
    let first = first_guess(twin);
    let (height, dispatched) = matching(twin, &first, &recorded, settings);
    let mut best = Best::new(first.clone(), height, dispatched, settings.states);
    let mut tries = 0;
    while tries < settings.tries && best.height.decisions < all {
        // A climb ends when it has not got higher for a while; the next begins elsewhere.
        let mut at = if tries == 0 {
            first.clone()
        } else {
            elsewhere(twin, &mut random)
        };
        let (mut height, _) = matching(twin, &at, &recorded, settings);
        let mut idle = 0;
        while idle < settings.patience && tries < settings.tries && height.decisions < all {
            let next = neighbour(twin, &at, &mut random);
            let (found, dispatched) = matching(twin, &next, &recorded, settings);
            tries += 1;
            idle = if found.decisions > height.decisions {
                0
            } else {
                idle + 1
            };
            best.offer(&next, found, dispatched);
            if found >= height {
                at = next;
                height = found;
            }
        }
    }
    Estimate {
        hidden: best.state,
        equals: best.equals,
        matched: best.dispatched,
        of,
    }
}

/// The best states that a search met.
struct Best {
    state: Hidden,
    height: Height,
    dispatched: usize,
    /// Some of those that explain as many decisions.
    equals: Vec<Hidden>,
    /// How many there were.
    met: u64,
    most: usize,
    random: RandomStream,
}

impl Best {
    fn new(state: Hidden, height: Height, dispatched: usize, most: usize) -> Best {
        Best {
            equals: vec![state.clone()],
            state,
            height,
            dispatched,
            met: 1,
            most,
            random: RandomStream::new(0, 0, "validate/equals"),
        }
    }

    fn offer(&mut self, state: &Hidden, height: Height, dispatched: usize) {
        if height.decisions < self.height.decisions {
            return;
        }
        if height.decisions > self.height.decisions {
            self.equals.clear();
            self.met = 0;
        }
        if height > self.height {
            self.height = height;
            self.dispatched = dispatched;
            self.state = state.clone();
        }
        // Each that was met is kept with the same probability.
        self.met += 1;
        if self.equals.len() < self.most.max(1) {
            self.equals.push(state.clone());
        } else {
            let slot = self.random.below(self.met) as usize;
            if let Some(kept) = self.equals.get_mut(slot) {
                *kept = state.clone();
            }
        }
    }
}

fn first_guess(twin: &Twin) -> Hidden {
    let vcpus: Vec<HiddenVcpu> = twin
        .start()
        .vcpus
        .iter()
        .map(|v| {
            let asleep = v.state >= Runstate::Blocked;
            let priority = match v.first_wake {
                Some(FirstWake::Preferred) if asleep => Priority::Boost,
                // Only accounting makes a vcpu OVER, and only an active one.
                Some(FirstWake::Queued) if asleep && v.active != Some(true) => Priority::Boost,
                _ => Priority::Under,
            };
            HiddenVcpu {
                credit: 0,
                residual: 500_000,
                priority,
            }
        })
        .collect();
    let start = twin.start();
    let accounting_in = start
        .accounting
        .map_or(Duration::ZERO, |at| at.since(start.at));
    Hidden {
        queue: (0..vcpus.len()).collect(),
        earners: (0..vcpus.len()).collect(),
        vcpus,
        accounting_in,
    }
}

/// A queue is first in, first out inside a class: the order of it by how long each has waited.
///
/// It holds for those whose class has not changed meanwhile. The order in which they are
/// dispatched, which is the other guess, holds for those whose class will not change before.
fn by_waiting(twin: &Twin, hidden: &mut Hidden) {
    let start = &twin.start().vcpus;
    let vcpus = &hidden.vcpus;
    hidden
        .queue
        .sort_by_key(|i| (Reverse(vcpus[*i].priority), start[*i].since));
}

/// A state far from any other: credits and classes drawn anew.
fn elsewhere(twin: &Twin, random: &mut RandomStream) -> Hidden {
    let mut next = first_guess(twin);
    let most = 10 * (twin.tslice().as_nanos() / 1_000_000) as i64;
    for v in &mut next.vcpus {
        v.credit = random.below(2 * most as u64) as i64 - most;
        if v.priority != Priority::Boost && random.below(2) == 0 {
            v.priority = Priority::Over;
        }
    }
    if random.below(2) == 0 {
        by_waiting(twin, &mut next);
    }
    if twin.has_cap() {
        for i in (1..next.earners.len()).rev() {
            next.earners.swap(i, random.below(i as u64 + 1) as usize);
        }
    }
    next
}

/// A state near `from`: one to three values differ.
fn neighbour(twin: &Twin, from: &Hidden, random: &mut RandomStream) -> Hidden {
    let mut next = from.clone();
    let most = 10 * (twin.tslice().as_nanos() / 1_000_000) as i64;
    for _ in 0..=random.below(3) {
        if random.below(8) == 0 {
            next.accounting_in = match twin.start().accounting {
                None => Duration::from_nanos(random.below(twin.tslice().as_nanos())),
                // The trace shows a later accounting; counting back is exact to the timer slop.
                Some(at) => {
                    let shown = at.since(twin.start().at);
                    let slack = Duration::from_micros(100);
                    shown.saturating_sub(slack) + Duration::from_nanos(random.below(200_000))
                }
            };
            continue;
        }
        let i = random.below(next.vcpus.len() as u64) as usize;
        if random.below(8) == 0 && i > 0 {
            next.queue.swap(i - 1, i);
            continue;
        }
        if twin.has_cap() && random.below(8) == 0 {
            next.earners.swap(0, i);
            continue;
        }
        let v = &mut next.vcpus[i];
        match random.below(8) {
            0 => {
                v.priority = match v.priority {
                    Priority::Under => Priority::Over,
                    Priority::Over if random.below(4) == 0 => Priority::Boost,
                    _ => Priority::Under,
                };
            }
            2 => v.residual = random.below(1_000_000) as u32,
            1 => v.credit = random.below(2 * most as u64) as i64 - most,
            _ => {
                let step = 1 << random.below(8);
                v.credit += random.below(2 * step + 1) as i64 - step as i64;
            }
        }
        v.credit = v.credit.clamp(-2 * most, most);
    }
    next
}

/// How far the twin decides as recorded, and how many dispatches those are.
fn matching(
    twin: &Twin,
    hidden: &Hidden,
    recorded: &Decisions,
    settings: &Settings,
) -> (Height, usize) {
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
                let apart = expected.get(*next).and_then(|(when, who)| {
                    let when = when.since(begin);
                    let apart = at.max(when) - at.min(when);
                    (who == vcpu && apart <= settings.tolerance).then_some(apart)
                });
                let Some(apart) = apart else {
                    differs = true;
                    break;
                };
                error += apart;
                *next += 1;
            }
            // What should have been decided by now and was not.
            differs |= expected
                .get(*next)
                .is_some_and(|(when, _)| origin + when.since(begin) + settings.tolerance < until);
        }
    }
    let height = Height {
        decisions: next.iter().sum(),
        error: Reverse(error),
    };
    (height, next[..pcpus].iter().sum())
}
