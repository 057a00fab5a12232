//! The books of vcpus and pcpus while a trace is read.

use domio_core::{ActorId, PcpuId, Runstate, Says, VcpuName};
use domio_trace::{StayPassed, Track};

use super::super::parts::Parts;
use super::super::result::{Ended, VcpuWaits};
use super::why::Why;
use crate::account::{Window, is_parked};

/// An actor and its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Who {
    pub actor: ActorId,
    pub name: VcpuName,
}

/// The longest that an idle pcpu takes to run who was woken there, in nanoseconds: it leaves a deep
/// idle state, and handles the interrupt that tells.
const WAKING: u64 = 500_000;

/// A wait that lasts.
#[derive(Debug)]
pub(super) struct OpenWait {
    /// When it began; `None` when that was not seen.
    pub begin: Option<u64>,
    /// Whether it began with a wake-up.
    pub woken: bool,
    /// Its cause, as long as nothing else is told; `None` until it is known whether a pcpu is
    /// tickled for it.
    pub base: Option<Why>,
    /// The pcpu that was tickled for it.
    pub called: Option<PcpuId>,
    /// All before is in `parts` and `whole`.
    pub flushed: u64,
    /// The time for which other pcpus had idled then.
    pub idled: Idled,
    /// Whether who runs on its pcpu is of a rank that always runs first.
    pub outranked: bool,
    /// Whether its pcpu idles.
    pub is_free: bool,
    /// For how long its pcpu has idled, up to [`WAKING`].
    pub waking: u64,
    /// Who runs on its pcpu.
    pub behind: Option<VcpuName>,
    /// What who runs there tells of the cause.
    pub ahead: Option<Why>,
    /// Time since the last record of its vcpu.
    pub parts: Parts,
    /// Time before.
    pub whole: Parts,
    /// Part of `parts` with an idle pcpu elsewhere.
    pub idle_elsewhere: u64,
    /// Time since the last record of its vcpu for which its own budget held that back.
    pub held: u64,
}

impl OpenWait {
    /// Adds the last `part` of it by what idled meanwhile: on its own pcpu nobody ran, so that a
    /// limit held it back, or another pcpu idled. The rest is for `why`.
    fn split(&mut self, part: u64, why: Why, idled: Idled) {
        let Some(_) = self.behind else {
            let waking = match self.is_free {
                true => part.min(WAKING.saturating_sub(self.waking)),
                false => part,
            };
            self.waking += waking;
            for (why, time) in [(why, waking), (Why::Throttled, part - waking)] {
                if time > 0 {
                    self.parts.add((None, why), time);
                }
            }
            return;
        };
        let any = idled.any.saturating_sub(self.idled.any).min(part);
        let may = idled.may.saturating_sub(self.idled.may).min(any);
        let all = match why {
            // It would not run on another pcpu either.
            Why::Throttled => [(why, part), (why, 0), (why, 0)],
            _ => [
                (Why::IdleElsewhere, may),
                (Why::Affinity, any - may),
                (why, part - any),
            ],
        };
        for (why, time) in all.into_iter().filter(|(_, time)| *time > 0) {
            self.parts.add((self.behind, why), time);
        }
    }

    /// What is told of it when it is over, or the trace ends.
    pub fn ended(&self) -> Ended<'_> {
        Ended {
            woken: self.woken,
            parts: &self.whole,
            undecided: self.base.unwrap_or(Why::Woken),
        }
    }
}

/// What is known of a vcpu.
#[derive(Debug)]
pub(super) struct Vcpu {
    pub who: Who,
    pub track: Track,
    /// Where it ran last, or where it was first heard of.
    pub home: PcpuId,
    /// Whether the policy may have moved it to another queue since.
    pub strays: bool,
    /// When it became runnable last; `None` when that was not seen.
    pub queued: Option<u64>,
    /// When the slice under way began, and its length; no length for one without end.
    pub slice: Option<(u64, Option<u64>)>,
    /// The rate limit let it go on.
    pub limited: bool,
    pub yielded: bool,
    /// Whether it has a boost, where that is known.
    pub boosted: Option<bool>,
    /// When it got the boost that was told last.
    pub boosted_at: Option<u64>,
    /// Credit that was told last, and when.
    pub credit: Option<i64>,
    pub credit_at: u64,
    /// What its domain's cap leaves it, where there is a cap.
    pub budget: Option<i64>,
    /// Its own budget is used up, and not filled up yet.
    pub spent: bool,
    /// The limit of a group inside its domain's holds it back.
    pub held_inside: bool,
    /// See [`Says::Ranks`](domio_core::Says::Ranks).
    pub rank: u64,
    /// Place of the set of pcpus that it may use; `None` where that is not known.
    pub may_use: Option<usize>,
    /// It cannot be interrupted as long as it is blocked.
    pub uninterruptible: bool,
    pub wait: Option<OpenWait>,
    /// Memory for the parts of its next wait.
    pub spare: [Parts; 2],
    pub sums: VcpuWaits,
}

impl Vcpu {
    pub fn new(who: Who, pcpu: PcpuId) -> Self {
        Vcpu {
            who,
            track: Track::new(),
            home: pcpu,
            strays: false,
            queued: None,
            slice: None,
            limited: false,
            yielded: false,
            boosted: None,
            boosted_at: None,
            credit: None,
            credit_at: 0,
            budget: None,
            spent: false,
            held_inside: false,
            rank: u64::from(Says::RANK),
            may_use: None,
            uninterruptible: false,
            wait: None,
            spare: Default::default(),
            sums: VcpuWaits {
                name: who.name,
                ..VcpuWaits::default()
            },
        }
    }

    /// Adds what `passed`, but for waits that are still to be closed.
    pub fn book(&mut self, passed: &StayPassed, window: Window) {
        let sums = &mut self.sums;
        sums.seen += window.part(passed.from, passed.to);
        sums.unknown += window.part(passed.from, passed.known);
        let part = window.part(passed.known, passed.to);
        self.uninterruptible &= passed.state == Runstate::Blocked;
        match passed.state {
            Runstate::Running => {
                sums.running += part;
                sums.residence.stay(self.track.pcpu(), part);
            }
            Runstate::Blocked => {
                sums.blocked += part;
                if self.uninterruptible {
                    sums.uninterruptible += part;
                }
            }
            Runstate::Offline if is_parked(passed) => {
                sums.parked += part;
                if self.held_inside {
                    sums.held_inside += part;
                }
            }
            Runstate::Offline => sums.paused += part,
            // Its parts are added when the wait is closed.
            Runstate::Runnable if passed.sure => {}
            // Nothing told that it waits, nor behind whom.
            Runstate::Runnable if part > 0 => {
                *sums.times.entry((None, Why::Before)).or_default() += part;
            }
            Runstate::Runnable => {}
        }
    }

    /// Why it waits now.
    fn why(&self, wait: &OpenWait) -> Why {
        if self.budget.is_some_and(|left| left <= 0) {
            return Why::Cap;
        }
        if self.spent {
            return Why::Budget;
        }
        if wait.outranked && wait.base != Some(Why::Throttled) {
            return Why::HigherClass;
        }
        match wait.base {
            None => Why::Woken,
            Some(sure @ (Why::Pass | Why::RateLimit | Why::Yielded)) => sure,
            Some(base) => {
                let over = self.credit.is_some_and(|credit| credit < 0);
                wait.ahead
                    .or(over.then_some(Why::OverCredit))
                    .unwrap_or(base)
            }
        }
    }

    /// Brings its wait, if it waits, up to `at`; what lies in `window` counts. Where the host
    /// `never_idles` ([`QueueRules`](domio_core::QueueRules)), time with an idle pcpu says more.
    pub fn flush(&mut self, at: u64, idled: Idled, window: Window, never_idles: bool) {
        // Of what was brought up to there before, nothing is left to add.
        let Some(wait) = self.wait.as_ref().filter(|wait| at != wait.flushed) else {
            return;
        };
        let why = self.why(wait);
        let Some(wait) = &mut self.wait else {
            return;
        };
        if at > wait.flushed {
            let part = window.part(wait.flushed, at);
            match why {
                Why::Budget => wait.held += part,
                _ if part > 0 && never_idles => wait.split(part, why, idled),
                _ if part > 0 => wait.parts.add((wait.behind, why), part),
                _ => {}
            }
            wait.flushed = at;
            if why == Why::Budget {
                if wait.whole.is_empty() && wait.parts.is_empty() {
                    // It waits for a pcpu from now on.
                    wait.begin = wait.begin.map(|_| at);
                }
            } else if wait.behind.is_some() {
                wait.idle_elsewhere += idled.any.saturating_sub(wait.idled.any);
            }
        }
        wait.idled = idled;
    }

    /// Whether it was woken with a credit that is told, and the policy has not even looked at that
    /// of `runner`: that one has not run for as long as the rate limit says.
    pub fn is_held_off_by(&self, runner: &Vcpu) -> bool {
        let woken = self.queued.filter(|queued| *queued <= self.credit_at);
        woken.is_some_and(|woken| runner.credit_at < woken)
    }

    /// Its run ends at `at` and it stays runnable: why.
    pub fn leaves(&mut self, at: u64) -> Why {
        if core::mem::take(&mut self.yielded) {
            return Why::Yielded;
        }
        match self.slice {
            None => Why::Displaced,
            Some((_, None)) => Why::Preempted,
            Some((begin, Some(length))) => {
                // The pass comes a little after the timer, and records a little after it.
                let ran = at.saturating_sub(begin);
                match ran.saturating_add(length / 64) >= length {
                    true => Why::SliceOver,
                    false => Why::Preempted,
                }
            }
        }
    }
}

/// What is known of a pcpu.
#[derive(Debug, Default)]
pub(super) struct Pcpu {
    /// Whether any record came from it.
    pub seen: bool,
    /// Who runs there; none when nobody is known to.
    pub current: Option<Who>,
    /// The slice of who is put there next.
    pub slice: Option<Option<u64>>,
    /// Vcpus that wait there.
    pub waiters: Vec<usize>,
    /// Vcpus that it was tickled for.
    pub called: Vec<usize>,
    /// The vcpu that was woken last there, until it is known whether a pcpu is tickled for it.
    pub pending: Option<usize>,
    /// Who left it last, and what for, until somebody comes.
    pub left: Option<(VcpuName, Runstate)>,
}

/// For how long pcpus had idled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Idled {
    /// Any pcpu.
    pub any: u64,
    /// Any that the vcpu may use.
    pub may: u64,
}

/// Most sets of pcpus that are told apart. A host has a few.
const SETS_MAX: usize = 64;

/// For how long pcpus have idled, of the time that counts: any, and any of each set.
#[derive(Debug)]
pub(super) struct IdleBooks {
    any: Idling,
    sets: Vec<(Vec<u64>, Idling)>,
}

impl IdleBooks {
    pub fn new(window: Window) -> Self {
        IdleBooks {
            any: Idling::new(window),
            sets: Vec::new(),
        }
    }

    /// The time up to `at`, for a vcpu that may use the set at this place.
    #[inline]
    pub fn until(&self, at: u64, may_use: Option<usize>) -> Idled {
        let any = self.any.until(at);
        let set = may_use.and_then(|place| self.sets.get(place));
        Idled {
            any,
            may: set.map_or(any, |(_, idling)| idling.until(at)),
        }
    }

    /// `pcpu` goes from one vcpu to another.
    #[inline]
    pub fn change(&mut self, at: u64, pcpu: PcpuId, from: Option<Who>, to: Option<Who>) {
        self.any.change(at, from, to);
        for (_, idling) in self.sets.iter_mut().filter(|(set, _)| holds(set, pcpu)) {
            idling.change(at, from, to);
        }
    }

    /// The pcpus of the set at this place.
    pub fn set(&self, place: usize) -> &[u64] {
        self.sets.get(place).map_or(&[], |(set, _)| set)
    }

    /// The place of a set of pcpus, of which `idle` idle now; `None` where there is no room.
    pub fn place(&mut self, at: u64, set: Vec<u64>, idle: &[PcpuId]) -> Option<usize> {
        let known = self.sets.iter().position(|(other, _)| *other == set);
        if known.is_some() || self.sets.len() >= SETS_MAX {
            return known;
        }
        let idling = Idling {
            window: self.any.window,
            count: idle.iter().filter(|pcpu| holds(&set, **pcpu)).count(),
            since: at,
            total: 0,
        };
        self.sets.push((set, idling));
        Some(self.sets.len() - 1)
    }
}

/// Whether a set of bits holds `pcpu`.
fn holds(set: &[u64], pcpu: PcpuId) -> bool {
    let word = set.get(pcpu.index() / 64).copied().unwrap_or(0);
    word >> (pcpu.index() % 64) & 1 == 1
}

/// For how long any pcpu has idled, of the time that counts.
#[derive(Debug)]
struct Idling {
    window: Window,
    count: usize,
    since: u64,
    total: u64,
}

impl Idling {
    fn new(window: Window) -> Self {
        Idling {
            window,
            count: 0,
            since: 0,
            total: 0,
        }
    }

    /// The time up to `at`.
    fn until(&self, at: u64) -> u64 {
        match self.count {
            0 => self.total,
            _ => self.total + self.window.part(self.since, at),
        }
    }

    /// A pcpu goes from one vcpu to another.
    fn change(&mut self, at: u64, from: Option<Who>, to: Option<Who>) {
        let is_idle = |who: Option<Who>| who.is_some_and(|who| who.name.is_idle());
        self.total = self.until(at);
        self.since = self.since.max(at);
        self.count += usize::from(is_idle(to));
        self.count -= usize::from(is_idle(from)).min(self.count);
    }
}
