//! A task inside a guest: how a workload turns into demand for the processor.

use crate::config::{Arrival, Demand, Distribution, TaskConfig, Workload};
use alloc::string::String;
use alloc::sync::Arc;
use domio_core::{Duration, Instant};
use domio_sim::RandomStream;

/// A job that a task has finished.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Finished {
    /// From its release to its completion.
    pub turnaround: Duration,
    /// Processor time that it took.
    pub work: Duration,
}

/// What follows the end of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterJob {
    /// Somebody waited for it: it is reported.
    Report(Finished),
    /// Nobody did.
    Quiet,
    /// The task goes on, and gives the vcpu away first.
    Yield,
}

/// A task and its progress.
#[derive(Clone, Debug)]
pub struct Task {
    name: String,
    priority: i8,
    plan: Plan,
    random: RandomStream,
    ready: bool,
    /// Processor time left of the job; [`Duration::MAX`] for a job without end.
    left: Duration,
    /// Processor time that the job needs in all.
    work: Duration,
    /// When the job was released.
    released: Instant,
    /// When the task wants to be woken; [`Instant::MAX`] for never.
    wake_at: Instant,
}

#[derive(Clone, Debug)]
enum Plan {
    Burn,
    Idle,
    Periodic {
        period: Duration,
        burst: Distribution,
        /// Releases that came while a job was under way.
        backlog: u64,
    },
    OnOff {
        on: Distribution,
        off: Distribution,
    },
    Yielding {
        burst: Distribution,
    },
    Compute,
    Replay {
        demands: Arc<[Demand]>,
        next: usize,
    },
}

impl Task {
    /// The task of `config` in a guest that starts at `start`.
    pub fn new(config: &TaskConfig, start: Instant, mut random: RandomStream) -> Self {
        let asleep = |plan, wake_at| (plan, false, Duration::ZERO, wake_at);
        let at_work = |plan, work| (plan, true, work, Instant::MAX);
        let (plan, ready, left, wake_at) = match &config.workload {
            Workload::Burn => at_work(Plan::Burn, Duration::MAX),
            Workload::Idle => asleep(Plan::Idle, Instant::MAX),
            Workload::Periodic {
                period,
                phase,
                burst,
            } => asleep(
                Plan::Periodic {
                    period: *period,
                    burst: *burst,
                    backlog: 0,
                },
                start + *phase,
            ),
            Workload::OnOff { on, off } => {
                let first = draw(on, &mut random);
                at_work(Plan::OnOff { on: *on, off: *off }, first)
            }
            Workload::Yielding { burst } => {
                let first = draw(burst, &mut random);
                at_work(Plan::Yielding { burst: *burst }, first)
            }
            Workload::Compute { work } => at_work(Plan::Compute, *work),
            Workload::Replay(demands) => asleep(
                Plan::Replay {
                    demands: demands.clone(),
                    next: 0,
                },
                demands.first().map_or(Instant::MAX, |d| d.at),
            ),
        };
        Task {
            name: config.name.clone(),
            priority: config.priority,
            plan,
            random,
            ready,
            left,
            work: left,
            released: start,
            wake_at,
        }
    }

    /// Name for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Priority among the tasks of the vcpu; higher runs first.
    #[inline]
    pub fn priority(&self) -> i8 {
        self.priority
    }

    /// Whether it wants to execute.
    #[inline]
    pub fn ready(&self) -> bool {
        self.ready
    }

    /// Processor time left of the job; [`Duration::MAX`] for a job without end.
    #[inline]
    pub fn left(&self) -> Duration {
        self.left
    }

    /// Whether it replays a recording.
    pub fn replays(&self) -> bool {
        matches!(self.plan, Plan::Replay { .. })
    }

    /// When it wants to be woken; [`Instant::MAX`] for never.
    #[inline]
    pub fn wakes_at(&self) -> Instant {
        self.wake_at
    }

    /// It executed for `time`, at most [`Task::left`].
    #[inline]
    pub fn execute(&mut self, time: Duration) {
        if self.left != Duration::MAX {
            self.left -= time;
        }
    }

    /// Wakes it for everything that was due by `now`.
    #[inline(always)]
    pub fn wake_due(&mut self, now: Instant) {
        while self.wake_at <= now {
            let at = self.wake_at;
            match &mut self.plan {
                Plan::Periodic {
                    period,
                    burst,
                    backlog,
                } => {
                    self.wake_at = at + *period;
                    if self.ready {
                        *backlog += 1;
                    } else {
                        let work = draw(burst, &mut self.random);
                        self.begin(at, work);
                    }
                }
                Plan::OnOff { on, .. } => {
                    let work = draw(on, &mut self.random);
                    self.wake_at = Instant::MAX;
                    self.begin(at, work);
                }
                Plan::Replay { demands, next } => {
                    let mut work = demands[*next].work;
                    *next += 1;
                    // Kept from running for long, it finds its timers expired and handles them
                    // together. The one after the next is proof: the next may come from this.
                    let due = |i: usize| {
                        demands
                            .get(i)
                            .is_some_and(|d| d.at <= now && d.arrival != Arrival::Outside)
                    };
                    if due(*next + 1) {
                        while due(*next) {
                            work = add(work, demands[*next].work);
                            *next += 1;
                        }
                    }
                    // A timer that the guest sets later is not set yet.
                    self.wake_at = match demands.get(*next) {
                        Some(d) if d.arrival == Arrival::Outside => d.at,
                        _ => Instant::MAX,
                    };
                    if self.ready {
                        self.left = add(self.left, work);
                        self.work = add(self.work, work);
                    } else {
                        self.begin(at, work);
                    }
                }
                Plan::Burn | Plan::Idle | Plan::Yielding { .. } | Plan::Compute => {
                    self.wake_at = Instant::MAX;
                }
            }
        }
    }

    #[inline]
    fn begin(&mut self, released: Instant, work: Duration) {
        self.released = released;
        self.work = work;
        self.left = work;
        self.ready = true;
    }

    /// Its job is done (nothing is left) at `now`: plans what comes next.
    ///
    /// # Panics
    /// When something is left.
    #[inline]
    pub fn finish(&mut self, now: Instant) -> AfterJob {
        assert!(
            self.ready && self.left.is_zero(),
            "task {} has {} left",
            self.name,
            self.left
        );
        let done = Finished {
            turnaround: now.saturating_since(self.released),
            work: self.work,
        };
        self.ready = false;
        match &mut self.plan {
            Plan::Periodic {
                period,
                burst,
                backlog,
            } => {
                if *backlog > 0 {
                    // Releases are a period apart, so the oldest that waits follows this one.
                    *backlog -= 1;
                    let released = self.released + *period;
                    let work = draw(burst, &mut self.random);
                    self.begin(released, work);
                }
            }
            Plan::OnOff { off, .. } => {
                let pause = draw(off, &mut self.random);
                self.wake_at = now + pause;
            }
            Plan::Yielding { burst } => {
                let burst = *burst;
                let work = draw(&burst, &mut self.random);
                self.begin(now, work);
                return AfterJob::Yield;
            }
            Plan::Compute => {}
            Plan::Replay { demands, next } => {
                if let Some(at) = demands.get(*next).and_then(|d| d.after(now)) {
                    self.wake_at = at;
                }
                return AfterJob::Quiet;
            }
            Plan::Burn | Plan::Idle => return AfterJob::Quiet,
        }
        AfterJob::Report(done)
    }
}

/// Sum in which "for ever" stays for ever.
fn add(a: Duration, b: Duration) -> Duration {
    if a == Duration::MAX || b == Duration::MAX {
        Duration::MAX
    } else {
        a + b
    }
}

/// A length of time drawn from `distribution`.
#[inline]
fn draw(distribution: &Distribution, random: &mut RandomStream) -> Duration {
    match *distribution {
        Distribution::Constant(d) => d,
        _ => draw_random(distribution, random),
    }
}

#[inline(never)]
fn draw_random(distribution: &Distribution, random: &mut RandomStream) -> Duration {
    match *distribution {
        Distribution::Constant(d) => d,
        Distribution::Uniform(low, high) => random.duration_uniform(low, high),
        Distribution::Exponential(mean) => random.duration_exponential(mean),
        Distribution::Normal(mean, deviation) => random.duration_normal(mean, deviation),
    }
}
