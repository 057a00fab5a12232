//! What the threads of the rig do, as plans of jobs.

use super::described::DescribedWork;
use domio_core::{Duration, Instant};
use domio_vmm::process::{JobPlan, NewJob, WokenBy};

/// From the time at which a timer is due to the `sched_wakeup` of the thread.
const TIMER: Duration = Duration::from_nanos(3_900);

/// Around the work of a thread: the first and the last reading of its clock.
const AROUND: Duration = Duration::from_nanos(2_000);

/// From the end of its work to the `sched_wakeup` of the thread that it wakes: a system call.
const KICK: Duration = Duration::from_nanos(4_600);

/// From there to its next system call, which blocks.
const TAIL: Duration = Duration::from_nanos(1_500);

/// What a thread executes that finds no new message, or its answer, before it sleeps.
const LOOK: Duration = Duration::from_nanos(3_000);

/// When a thread begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Begin {
    /// Before the common start it executes once: when, and for how long.
    pub before: Instant,
    /// For how long.
    pub executes: Duration,
    /// The common start, from which periods count.
    pub start: Instant,
    /// When it is woken for the start.
    pub woken: Instant,
}

/// Where a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Asleep until it executes the first time.
    Before,
    /// It has executed, and awaits the start.
    AwaitsStart,
    /// Asleep until a time, or until a kick.
    Asleep,
    /// At work, at the end of which it may kick.
    Work,
    /// After the kick.
    Tail,
    /// It has an answer, and will sleep for the period.
    Answered,
}

/// The plan of a thread.
#[derive(Clone, Debug)]
pub struct RigWork {
    work: DescribedWork,
    begin: Begin,
    /// The vcpu of the thread at the other end.
    other: Option<u16>,
    stage: Stage,
    wake_at: Instant,
    /// The time of the period under way.
    due: Instant,
    /// Kicks that were not served.
    kicks: u64,
    kicking: bool,
    /// Its timer has expired on the way to sleep.
    expired: bool,
    seed: u64,
}

impl RigWork {
    /// A thread that does `work`; `other` is the vcpu of the thread that it shares a channel with.
    pub fn new(work: DescribedWork, begin: Begin, other: Option<u16>) -> RigWork {
        let seed = match work {
            DescribedWork::Random { seed, .. } => seed,
            _ => 1,
        };
        RigWork {
            work,
            begin,
            other,
            stage: Stage::Before,
            wake_at: begin.before,
            due: begin.start,
            kicks: 0,
            kicking: false,
            expired: false,
            seed,
        }
    }

    /// The next random number of the rig's generator.
    fn draw(&mut self) -> u64 {
        self.seed = self
            .seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        u64::from((self.seed >> 33) as u32)
    }

    /// Evenly between half of `mean` and one and a half times, in us.
    fn around(&mut self, mean: u64) -> Duration {
        Duration::from_micros(mean / 2 + self.draw() % (mean + 1))
    }

    /// A job of `work` of the thread's own time.
    fn works(&mut self, work: Duration) -> Option<NewJob> {
        self.stage = Stage::Work;
        let kick = match self.work {
            DescribedWork::Kick { .. }
            | DescribedWork::Ping { .. }
            | DescribedWork::Pong { .. } => KICK,
            _ => Duration::ZERO,
        };
        job(AROUND + work + kick)
    }

    /// Sleeps until `at`; if that has passed, it goes on at once.
    fn sleeps(&mut self, at: Instant, now: Instant) -> Option<NewJob> {
        self.stage = Stage::Asleep;
        if at > now {
            self.wake_at = at + TIMER;
            return None;
        }
        self.resumes()
    }

    /// The sleep is over.
    fn resumes(&mut self) -> Option<NewJob> {
        let us = Duration::from_micros;
        match self.work {
            DescribedWork::Burn => job(Duration::MAX),
            DescribedWork::Periodic { work_us, .. }
            | DescribedWork::Kick { work_us, .. }
            | DescribedWork::Ping { work_us, .. } => self.works(us(work_us)),
            DescribedWork::Random { work_us, .. } => {
                let work = self.around(work_us);
                self.works(work)
            }
            DescribedWork::Serve { work_us, .. } => {
                let kicks = core::mem::take(&mut self.kicks);
                self.works(us(work_us * kicks.max(1)))
            }
            DescribedWork::Pong { work_us, .. } => {
                self.kicks = self.kicks.saturating_sub(1);
                self.works(us(work_us))
            }
        }
    }

    /// What it does next, having done a round or begun.
    fn next(&mut self, now: Instant) -> Option<NewJob> {
        match self.work {
            DescribedWork::Burn => job(Duration::MAX),
            DescribedWork::Periodic { period_us, .. } | DescribedWork::Kick { period_us, .. } => {
                let period = Duration::from_micros(period_us);
                if self.stage != Stage::AwaitsStart && now > self.due + period {
                    // Periods that were missed as a whole are dropped.
                    let missed = now.since(self.due).as_nanos() / period.as_nanos().max(1);
                    self.due += period * missed;
                }
                self.due += period;
                self.sleeps(self.due, now)
            }
            DescribedWork::Random { period_us, .. } => {
                let sleep = self.around(period_us);
                self.sleeps(now + sleep, now)
            }
            DescribedWork::Serve { .. } | DescribedWork::Pong { .. } => match self.kicks {
                0 => {
                    self.stage = Stage::Asleep;
                    None
                }
                _ => self.resumes(),
            },
            DescribedWork::Ping { .. } => self.resumes(),
        }
    }
}

fn job(work: Duration) -> Option<NewJob> {
    Some(NewJob {
        released: Instant::ZERO,
        spin: Duration::ZERO,
        work,
    })
}

impl JobPlan for RigWork {
    fn name(&self) -> &'static str {
        "rig"
    }

    fn fresh(&self) -> Box<dyn JobPlan> {
        Box::new(RigWork::new(self.work.clone(), self.begin, self.other))
    }

    fn woken_by(&self) -> WokenBy {
        WokenBy::Timer
    }

    fn wakes_at(&self) -> Instant {
        self.wake_at
    }

    fn woken(&mut self, now: Instant, busy: bool) -> Option<NewJob> {
        self.wake_at = Instant::MAX;
        if busy {
            self.expired = true;
            return None;
        }
        let found = match self.stage {
            Stage::Before => job(self.begin.executes),
            Stage::AwaitsStart => self.next(now).or_else(|| {
                // It makes a system call that sleeps.
                self.stage = Stage::Tail;
                job(LOOK)
            }),
            Stage::Asleep => match (&self.work, self.kicks) {
                (DescribedWork::Ping { period_us, .. }, 1..) => {
                    let period_us = *period_us;
                    self.kicks = 0;
                    match period_us {
                        0 => self.resumes(),
                        _ => {
                            self.stage = Stage::Answered;
                            job(LOOK)
                        }
                    }
                }
                _ => self.resumes(),
            },
            Stage::Work | Stage::Tail | Stage::Answered => None,
        };
        found.map(|job| NewJob {
            released: now,
            ..job
        })
    }

    fn done(&mut self, now: Instant) -> Option<NewJob> {
        let found = match self.stage {
            Stage::Before => {
                self.stage = Stage::AwaitsStart;
                self.wake_at = self.begin.woken;
                None
            }
            Stage::Work => {
                self.kicking = matches!(
                    self.work,
                    DescribedWork::Kick { .. }
                        | DescribedWork::Ping { .. }
                        | DescribedWork::Pong { .. }
                );
                self.stage = Stage::Tail;
                job(TAIL)
            }
            Stage::Tail if core::mem::take(&mut self.expired) => self.resumes(),
            Stage::Tail if self.wake_at != Instant::MAX => {
                self.stage = Stage::Asleep;
                None
            }
            Stage::Tail => match (&self.work, self.kicks) {
                (DescribedWork::Ping { .. }, 0) => {
                    self.stage = Stage::Asleep;
                    None
                }
                (DescribedWork::Ping { period_us, .. }, _) => {
                    let period = Duration::from_micros(*period_us);
                    self.kicks = 0;
                    self.sleeps(now + period, now)
                }
                _ => self.next(now),
            },
            Stage::Answered => match self.work {
                DescribedWork::Ping { period_us, .. } => {
                    self.sleeps(now + Duration::from_micros(period_us), now)
                }
                _ => None,
            },
            Stage::AwaitsStart | Stage::Asleep => None,
        };
        found.map(|job| NewJob {
            released: now,
            ..job
        })
    }

    fn kicks(&mut self) -> Option<u16> {
        core::mem::take(&mut self.kicking).then_some(self.other)?
    }

    fn kicked(&mut self, now: Instant) {
        self.kicks += 1;
        let awaits = matches!(
            self.work,
            DescribedWork::Serve { .. } | DescribedWork::Pong { .. } | DescribedWork::Ping { .. }
        );
        if awaits && self.stage == Stage::Asleep && self.wake_at == Instant::MAX {
            self.wake_at = now;
        }
    }
}
