//! A recorded vcpu's demand, as a process of a simulated one.

use domio_core::{Duration, Instant};
use domio_vmm::process::{JobPlan, NewJob, WokenBy};
use std::sync::Arc;

/// One step of a demand that is known: at `at` the vcpu is woken, spins for `spin` by the clock and
/// then has `work` to do.
///
/// Wake times are absolute, so that a slower host does not slow the world outside it down. What
/// happens when the earlier work is not done by then is up to `arrival`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demand {
    /// Time of the wake-up since the start of the run: that at which its interrupt is
    /// [delivered](WokenBy::Interrupt) to a vcpu that sleeps.
    pub at: Instant,
    /// How long it executes by the clock before its `work` ([`NewJob::spin`]). Zero for demand
    /// that is processor time alone; never [`Duration::MAX`].
    pub spin: Duration,
    /// Processor time, after `spin`, until it blocks; [`Duration::MAX`] when it does
    /// not.
    pub work: Duration,
    /// Where the wake-up comes from.
    pub arrival: Arrival,
}

/// Where the wake-up of a [`Demand`] comes from.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Arrival {
    /// From outside, at its time whatever the vcpu does: when the earlier work is not done by
    /// then, the new work is added to it and the vcpu does not block in between.
    #[default]
    Outside,
    /// From a job on another vcpu of the domain, whenever that is done
    /// ([`ReplayProcess::kicking`]).
    Kicked,
    /// From a timer that the guest sets when the earlier work is done, no nearer than `least`
    /// after that. When more than the next demand is due by then, all that are due, of this kind
    /// or ticks, are one; but a job that [spins](Demand::spin) sets its timer when it is done,
    /// and nothing is one with it.
    Timer {
        /// Shortest time from the block to the wake-up.
        least: Duration,
    },
    /// From a timer that a loop sets at the end of each turn, no nearer than `least` after that: as
    /// [`Timer`](Self::Timer), but nothing is one with it, however late it is.
    Loop {
        /// Shortest time from the block to the wake-up.
        least: Duration,
    },
    /// From the first tick of the guest's kernel after the earlier work is done: at its time, or
    /// any number of `period`s before or after it. A tick leaves the timers of sleeping tasks as
    /// they are: a job [in turn](Demand::in_turn) whose timer expires before the tick's work is
    /// done follows it without a block, and one whose timer comes no later than the tick does
    /// takes its place.
    Tick {
        /// Period of the ticks, over zero.
        period: Duration,
        /// Shortest time from the block to the wake-up: a tick that is nearer comes then.
        least: Duration,
        /// How much less its work and that of a job in turn take together, when the job's timer has
        /// expired before the tick is handled: the guest wakes and idles once for both. A job that
        /// spins ends by the clock, whatever was before it.
        saved: Duration,
    },
}

impl Demand {
    /// Whether the job before sets its timer when it is done, so that no other demand is one with
    /// it: it is of a loop, or works by the clock.
    pub fn in_turn(&self) -> bool {
        !self.spin.is_zero() || matches!(self.arrival, Arrival::Loop { .. })
    }

    /// Whether a timer of its own wakes it, and no tick.
    pub fn has_timer(&self) -> bool {
        matches!(self.arrival, Arrival::Timer { .. } | Arrival::Loop { .. })
    }

    /// When the wake-up comes if the work of the demand before was done at `done`; `None` when
    /// it comes whether that is done or not.
    pub fn after(&self, done: Instant) -> Option<Instant> {
        match self.arrival {
            Arrival::Outside | Arrival::Kicked => None,
            Arrival::Timer { least } | Arrival::Loop { least } => Some(self.at.max(done + least)),
            Arrival::Tick { period, least, .. } => {
                let period = period.as_nanos();
                let phase = self.at.as_nanos() % period;
                let into = (done.as_nanos() + period - phase) % period;
                Some(done + Duration::from_nanos(period - into).max(least))
            }
        }
    }
}

/// A process that asks for what a recorded vcpu asked for.
#[derive(Clone, Debug)]
pub struct ReplayProcess {
    demands: Arc<[Demand]>,
    /// The next to begin.
    next: usize,
    /// The first whose wake-up has not come.
    asleep: usize,
    /// When that comes; [`Instant::MAX`] if its timer is not set.
    wake_at: Instant,
    /// Places of the demands after which another vcpu is woken, and the index of that vcpu.
    kicks: Option<(Arc<[usize]>, u16)>,
    /// The place of the demand that was done last.
    last: usize,
    /// Kicks that came while nothing waited for one.
    kicked: u64,
}

impl ReplayProcess {
    /// One that asks for `demands`, which are in order.
    pub fn new(demands: Arc<[Demand]>) -> ReplayProcess {
        ReplayProcess {
            next: 0,
            asleep: 0,
            wake_at: known_wake(&demands, 0),
            kicks: None,
            last: 0,
            kicked: 0,
            demands,
        }
    }

    /// The same, which wakes the vcpu with index `vcpu` after each demand at one of `places`.
    #[must_use]
    pub fn kicking(self, places: Arc<[usize]>, vcpu: u16) -> ReplayProcess {
        ReplayProcess {
            kicks: Some((places, vcpu)),
            ..self
        }
    }

    /// The next wake-up is now, if it waits for a kick and there was one.
    fn take_kick(&mut self, now: Instant) {
        let next = self.demands.get(self.asleep);
        let waits = next.is_some_and(|d| d.arrival == Arrival::Kicked);
        if waits && self.kicked > 0 && self.wake_at == Instant::MAX {
            self.kicked -= 1;
            self.wake_at = now;
        }
    }

    /// Begins the next demand, whose wake-up has come.
    fn begin(&mut self, released: Instant) -> NewJob {
        let demand = self.demands[self.next];
        self.next += 1;
        NewJob {
            released,
            spin: demand.spin,
            work: demand.work,
        }
    }
}

impl JobPlan for ReplayProcess {
    fn name(&self) -> &'static str {
        "replay"
    }

    fn fresh(&self) -> Box<dyn JobPlan> {
        Box::new(ReplayProcess {
            kicks: self.kicks.clone(),
            ..ReplayProcess::new(self.demands.clone())
        })
    }

    fn woken_by(&self) -> WokenBy {
        WokenBy::Interrupt
    }

    fn wakes_at(&self) -> Instant {
        self.wake_at
    }

    fn woken(&mut self, now: Instant, busy: bool) -> Option<NewJob> {
        let (demands, at) = (&self.demands, self.wake_at);
        let woken = demands[self.asleep];
        self.asleep += 1;
        // Kept from running for long, it finds its timers expired and handles them together. The
        // one after the next is proof: the next may come from this.
        let due = |i: usize| {
            demands
                .get(i)
                .is_some_and(|d| d.at <= now && d.after(now).is_some() && !d.in_turn())
        };
        if !woken.in_turn() && due(self.asleep + 1) {
            while due(self.asleep) {
                self.asleep += 1;
            }
        }
        self.wake_at = known_wake(demands, self.asleep);
        self.take_kick(now);
        (!busy).then(|| self.begin(at))
    }

    fn done(&mut self, now: Instant) -> Option<NewJob> {
        let demands = &self.demands;
        let mut done = Duration::ZERO;
        self.last = self.next.saturating_sub(1);
        if self.next == self.asleep {
            if expired(demands, self.next, now) {
                done = saved(&demands[self.next - 1], &demands[self.next], now);
                self.asleep += 1;
                self.wake_at = known_wake(demands, self.asleep);
            } else if absorbed(demands, self.next, now) {
                self.next += 1;
                self.asleep += 1;
            }
            if self.next == self.asleep
                && let Some(at) = demands.get(self.next).and_then(|d| d.after(now))
            {
                self.wake_at = at;
            }
        }
        if self.next == self.asleep {
            return None;
        }
        let job = self.begin(now);
        // Something is left to do in any case.
        let least = match job.spin {
            Duration::ZERO => Duration::from_nanos(1),
            _ => Duration::ZERO,
        };
        let work = job.work.saturating_sub(done).max(least);
        Some(NewJob { work, ..job })
    }

    fn kicks(&mut self) -> Option<u16> {
        let (places, vcpu) = self.kicks.as_ref()?;
        places.binary_search(&self.last).is_ok().then_some(*vcpu)
    }

    fn kicked(&mut self, now: Instant) {
        self.kicked += 1;
        self.take_kick(now);
    }
}

/// When demand `i` wakes its vcpu whatever that does; a timer that it sets later is not set yet.
fn known_wake(demands: &[Demand], i: usize) -> Instant {
    match demands.get(i) {
        Some(d) if d.arrival == Arrival::Outside => d.at,
        _ => Instant::MAX,
    }
}

/// Whether demand `next`, with all before it done at `now`, is a tick that would come no sooner
/// than the timer of a job after it: the kernel handles both when the timer comes.
fn absorbed(demands: &[Demand], next: usize, now: Instant) -> bool {
    tick_before_job(demands, next).is_some_and(|(tick, timer)| timer.after(now) <= tick.after(now))
}

/// Whether demand `next` is of a timer that expired while the tick before it was handled, which
/// was done at `now`: it was set before the tick came.
fn expired(demands: &[Demand], next: usize, now: Instant) -> bool {
    let before = next.checked_sub(1);
    before
        .and_then(|i| tick_before_job(demands, i))
        .is_some_and(|(_, timer)| timer.at <= now)
}

/// What of a `job` the `tick` before it, whose work was done at `now`, has done for it.
fn saved(tick: &Demand, job: &Demand, now: Instant) -> Duration {
    match tick.arrival {
        Arrival::Tick { saved, .. } if job.spin.is_zero() && job.at + tick.work <= now => saved,
        _ => Duration::ZERO,
    }
}

/// Demand `i` and the next one, if the first is a mere tick and the second a job in turn that was
/// woken by its timer.
fn tick_before_job(demands: &[Demand], i: usize) -> Option<(&Demand, &Demand)> {
    let [tick, job] = demands.get(i..i + 2)? else {
        return None;
    };
    let mere_tick = matches!(tick.arrival, Arrival::Tick { .. }) && !tick.in_turn();
    (mere_tick && job.has_timer() && job.in_turn()).then_some((tick, job))
}
