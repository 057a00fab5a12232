//! The search for the start state from which a simulation makes the recorded decisions: what a
//! trace does not show of its start, credits and priority classes.
//!
//! The credit scheduler never writes its credits into a trace, but its decisions depend on them:
//! whom it dispatches, who begins and ceases to earn credit, who is parked. The estimate is the
//! state from which the simulated simulation makes the same decisions as the recording for the
//! longest time within an [estimation window](SearchSettings::window), which is the whole recording
//! unless a caller says otherwise. Only the state at one instant is estimated; no parameter of the
//! model is.
//!
//! The search is a crowd of hill climbs from fixed seeds: the same recording gives the same
//! estimate on every machine. Those that got highest continue, and the others begin anew, elsewhere
//! or near them. What a decision tells about a credit is an interval that gets narrower the longer
//! the simulation follows, so steps go down to a millionth of a credit and most lead nowhere.
//!
//! Such a simulation takes more from its recording than the demand of the guests: where their
//! wake-ups come from ([`domio_replay::arrival`]), and interrupts that leave no record
//! (`interrupts`).

mod guess;
mod hold;
mod interrupts;
mod job_timer;
mod kernel_tick;
mod late;
mod matching;
mod search;

use self::guess::Guesser;
use self::interrupts::interrupts;
use self::matching::{Decisions, Height, Matched, matching};
use core::cmp::Reverse;
use domio_answer::Maybe;
use domio_core::Duration;
use domio_replay::NamedRecord;
use domio_replay::arrival::attributed;
use domio_sim::RandomStream;
use domio_validate::agreement::{compare, usable};
use domio_validate::judge::judge;
use domio_validate::policy::PolicyState;
use domio_validate::policy::credit::CreditHost;
use domio_validate::policy::credit::{CreditState, Hidden};
use domio_validate::{Agreement, AgreementLimits, Followed, Parting, Recording, RecordingError};
use domio_vmm::Profile;
use rayon::prelude::*;

/// How hard to search.
#[derive(Clone, Copy, Debug)]
pub struct SearchSettings {
    /// How much of the recording may be looked at.
    pub window: Duration,
    /// Simulations after which no further stretch begins, those that begin climbs not counted.
    pub tries: u32,
    /// Most dispatches to simulate in all of them: those that follow for long take longer.
    pub dispatches: u64,
    /// Climbs at a time.
    pub crowd: u32,
    /// Simulations of a climb after which it is compared with the others.
    pub stretch: u32,
    /// Stretches without progress after which all climbs begin anew elsewhere.
    pub patience: u32,
    /// How far apart two dispatches may be in time to count as the same.
    pub tolerance: Duration,
}

impl Default for SearchSettings {
    fn default() -> Self {
        SearchSettings {
            window: Duration::MAX,
            tries: 300_000,
            dispatches: 120_000_000,
            crowd: 16,
            stretch: 100,
            patience: 25,
            tolerance: Duration::from_micros(500),
        }
    }
}

/// Whether start states of `recording` can be looked for.
pub fn is_searched(recording: &Recording) -> bool {
    recording.description.scheduler == CreditState::DESCRIPTOR.name
}

/// Looks for the start state from which a simulation makes the recorded decisions for longest, and
/// compares the figures of that one.
///
/// # Errors
/// [`RecordingError::Unusable`] when the description cannot be simulated, or the policy has no such
/// search.
pub fn agreement(
    recording: &Recording,
    settings: &SearchSettings,
) -> Result<Agreement, RecordingError> {
    let judge = usable(recording, judge(&recording.description))?;
    if !is_searched(recording) {
        let name = judge.descriptor.name;
        let why = format!(
            "recorded under {name}, whose start states no search looks for; leave --exact out to \
             compare figures"
        );
        return usable(recording, Err(why));
    }
    let host = usable(recording, host(recording, &Profile::XEN_4_17_EMULATED))?;
    let estimate = estimate(&host, &recording.records, settings);
    let followed = Followed {
        dispatches: estimate.matched,
        of: estimate.of,
        parts: Maybe(estimate.parting(&host, &recording.records, settings)),
    };
    Ok(compare(
        recording,
        &host,
        std::slice::from_ref(&estimate.hidden),
        &AgreementLimits::EXACT,
        Some(followed),
    ))
}

/// The simulation of a recording under credit with whatever else the trace shows of its guests:
/// where wake-ups come from, and interrupts that leave no record. It can make the recorded
/// decisions one by one.
///
/// # Errors
/// As [`CreditHost::new`].
fn host(recording: &Recording, profile: &Profile) -> Result<CreditHost, String> {
    let interrupts = |policy: &CreditState| interrupts(&recording.records, profile, policy.tslice);
    CreditHost::with(recording, profile, interrupts, attributed)
}

/// An estimate, and how well it explains the window.
#[derive(Clone, Debug)]
struct BestFit {
    /// The state whose decisions are nearest to the recorded ones.
    pub hidden: Hidden,
    /// Dispatches of the window that the simulation made in the same order and time.
    pub matched: usize,
    /// Dispatches in the window.
    pub of: usize,
}

impl BestFit {
    /// The first decision of `simulation` that is not as in `records`, when it begins in the
    /// estimated state; `None` if it makes all.
    fn parting(
        &self,
        host: &CreditHost,
        records: &[NamedRecord],
        settings: &SearchSettings,
    ) -> Option<Parting> {
        let recorded = Decisions::of(records, host);
        let simulated = Decisions::of(&host.run(&self.hidden), host);
        recorded.parting(&simulated, host, settings)
    }
}

/// Estimates the hidden state of the recording that `simulation` and its `records` come from.
fn estimate(host: &CreditHost, records: &[NamedRecord], settings: &SearchSettings) -> BestFit {
    let search = Search {
        host,
        recorded: Decisions::of(records, host),
        guesser: Guesser::new(host, records),
        settings,
    };
    let all = search.recorded.to_make(host, settings);
    let mut random = RandomStream::new(0, 0, "validate/estimate");
    let highest = |crowd: &[Climb]| crowd.iter().map(|c| c.found.height.decisions).max();
    let climbs = settings.crowd.max(1);
    let mut crowd = vec![Climb::new(&search, search.guesser.first().clone())];
    let mut best = Best::new(&crowd[0]);
    let (mut tries, mut dispatched, mut idle) = (0, 0, 0);
    while tries < settings.tries && dispatched < settings.dispatches && best.height.decisions < all
    {
        let before = highest(&crowd);
        search.refill(&mut crowd, climbs, &mut random);
        let left = settings.tries - tries;
        let stretch = settings.stretch.min(left.div_ceil(climbs));
        let numbered = crowd.par_iter_mut().zip(0..climbs);
        let met: Vec<ClimbStretch> = numbered
            .map(|(climb, i)| climb.go_on(&search, tries + i + 1, stretch, all))
            .collect();
        for stretch in met {
            tries += stretch.tries;
            dispatched += stretch.dispatched;
            best.join(stretch.best);
        }
        idle = match highest(&crowd) > before {
            true => 0,
            false => idle + 1,
        };
        crowd.sort_by_key(|climb| Reverse(climb.found.height));
        crowd.truncate(climbs.div_ceil(2) as usize);
        if idle == settings.patience {
            crowd.clear();
            idle = 0;
        }
    }
    BestFit {
        hidden: best.state,
        matched: best.dispatched,
        of: search.recorded.dispatches(host, settings),
    }
}

/// What all climbs share.
struct Search<'a> {
    host: &'a CreditHost,
    recorded: Decisions,
    guesser: Guesser<'a>,
    settings: &'a SearchSettings,
}

impl Search<'_> {
    fn matching(&self, state: &Hidden) -> Matched {
        matching(self.host, state, &self.recorded, self.settings)
    }

    /// Begins climbs until `crowd` has so many: half of them near those that are there, if there
    /// are several, the others far from any.
    fn refill(&self, crowd: &mut Vec<Climb>, climbs: u32, random: &mut RandomStream) {
        let kept = crowd.len() as u64;
        while crowd.len() < climbs as usize {
            let from = if kept > 1 && random.below(2) == 0 {
                let mut near = crowd[random.below(kept) as usize].at.clone();
                for _ in 0..3 {
                    near = self.guesser.neighbour(&near, &[], random);
                }
                near
            } else {
                self.guesser.elsewhere(random)
            };
            crowd.push(Climb::new(self, from));
        }
    }
}

/// A climb: where it is, and what that came to.
struct Climb {
    at: Hidden,
    found: Matched,
}

/// What a climb met on a stretch of its way.
struct ClimbStretch {
    best: Best,
    tries: u32,
    dispatched: u64,
}

impl Climb {
    fn new(search: &Search<'_>, at: Hidden) -> Climb {
        let found = search.matching(&at);
        Climb { at, found }
    }

    /// Makes `most` steps, fewer if it explains `all` decisions before. `number` is another one
    /// each time. It roams wherever as many decisions are explained: what explains the next one may
    /// be anywhere there.
    fn go_on(&mut self, search: &Search<'_>, number: u32, most: u32, all: usize) -> ClimbStretch {
        let mut random = RandomStream::new(0, number, "validate/climb");
        let mut best = Best::new(self);
        let (mut tries, mut dispatched) = (0, 0);
        while tries < most && self.found.height.decisions < all {
            let guesser = &search.guesser;
            let next = guesser.neighbour(&self.at, &self.found.suspects, &mut random);
            let found = search.matching(&next);
            tries += 1;
            dispatched += found.dispatched as u64;
            best.offer(&next, &found);
            if found.height.decisions >= self.found.height.decisions {
                self.at = next;
                self.found = found;
            }
        }
        // A climb that has arrived counts too, so that every stretch brings the search on.
        ClimbStretch {
            best,
            tries: tries.max(1),
            dispatched,
        }
    }
}

/// The best state that a search met.
struct Best {
    state: Hidden,
    height: Height,
    dispatched: usize,
}

impl Best {
    /// Where `climb` is.
    fn new(climb: &Climb) -> Best {
        Best {
            state: climb.at.clone(),
            height: climb.found.height,
            dispatched: climb.found.dispatched,
        }
    }

    fn offer(&mut self, state: &Hidden, found: &Matched) {
        if found.height > self.height {
            self.height = found.height;
            self.dispatched = found.dispatched;
            self.state = state.clone();
        }
    }

    /// Takes over what another climb met.
    fn join(&mut self, other: Best) {
        if other.height > self.height {
            *self = other;
        }
    }
}
