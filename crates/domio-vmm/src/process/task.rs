//! A process and its progress, and the workloads that only compute.
//!
//! A task has something to execute (`left`), or sleeps until a time or a wake-up. When `left` is
//! used up, the workload says what comes next; `run.rs` carries out the steps of a
//! [`Program`](super::Program).

use super::Finished;
use super::jobs::{JobPlan, NewJob, WokenBy};
use super::running::{Doing, Running};
use crate::bus::locks::KernelLock;
use crate::bus::owner::Owner;
use crate::config::{Distribution, TaskConfig, Workload};
use alloc::boxed::Box;
use alloc::string::String;
use domio_core::{Duration, Instant};
use domio_sim::RandomStream;

/// What follows the end of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterJob {
    /// Somebody waited for the job, so the job is reported.
    Report(Finished),
    /// Nobody waited for the job.
    Quiet,
    /// The same, and the job wakes the process of another vcpu of the domain.
    Kicks(u16),
    /// The task continues, and gives the vcpu away first.
    Yield,
    /// The task runs a program, whose next step needs more than a clock ([`Task::advance`]).
    Program,
}

/// A task and its progress. What changes most often comes first and fills a cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Task {
    /// Time to execute left of the job; [`Duration::MAX`] for a job without end.
    left: Duration,
    /// When the task wants to be woken; [`Instant::MAX`] for never.
    wake_at: Instant,
    /// When the job was released.
    released: Instant,
    /// Processor time that the job needs altogether, in addition to spinning.
    work: Duration,
    ready: bool,
    priority: i8,
    /// Whether jobs of the task may `spin`.
    spins: bool,
    /// What wakes the task.
    woken_by: WokenBy,
    /// For whom the task executes.
    owner: Owner,
    plan: Plan,
    random: RandomStream,
    /// What the job does by the clock before its work.
    spin: Spin,
    name: String,
}

/// How long a job executes by the clock, whatever it gets of the processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Spin {
    /// Not, or no more.
    Not,
    /// For this long after it first executes.
    For(Duration),
    /// Until this time: the job has executed before.
    Until(Instant),
}

/// What its jobs are. In C's order, so that what is read at the end of each job is in the cache
/// line of the task that changes with it.
#[derive(Debug)]
#[repr(C)]
enum Plan {
    Burn,
    Idle,
    /// The process is on another vcpu.
    Elsewhere,
    Periodic {
        period: Duration,
        /// Releases that came while a job was under way.
        backlog: u64,
        burst: Distribution,
    },
    OnOff {
        on: Distribution,
        off: Distribution,
    },
    Yielding {
        burst: Distribution,
    },
    Compute,
    Jobs(Box<dyn JobPlan>),
    Program(Box<Running>),
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
            Workload::Program(program) => {
                let mut program = program.fresh();
                program.seed(random.clone());
                at_work(
                    Plan::Program(Box::new(Running::new(program))),
                    Duration::ZERO,
                )
            }
            Workload::Jobs(jobs) => asleep(Plan::Jobs(jobs.fresh()), jobs.wakes_at()),
        };
        Task {
            name: config.name.clone(),
            priority: config.priority,
            owner: Owner::Nobody,
            spins: matches!(plan, Plan::Jobs(_)),
            woken_by: match &plan {
                Plan::Jobs(jobs) => jobs.woken_by(),
                _ => WokenBy::Timer,
            },
            plan,
            random,
            ready,
            left,
            spin: Spin::Not,
            work: left,
            released: start,
            wake_at,
        }
    }

    /// In the place of a process that is on another vcpu.
    pub fn elsewhere() -> Self {
        Task {
            name: String::new(),
            priority: 0,
            owner: Owner::Nobody,
            spins: false,
            woken_by: WokenBy::Timer,
            plan: Plan::Elsewhere,
            random: RandomStream::new(0, 0, ""),
            ready: false,
            left: Duration::ZERO,
            spin: Spin::Not,
            work: Duration::ZERO,
            released: Instant::ZERO,
            wake_at: Instant::MAX,
        }
    }

    /// Whether the process is on this vcpu, and not on another one.
    pub fn is_here(&self) -> bool {
        !matches!(self.plan, Plan::Elsewhere)
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

    /// Whether the task wants to execute.
    #[inline]
    pub fn ready(&self) -> bool {
        self.ready
    }

    /// Time to execute that is left of the job, which executes from `now` on; [`Duration::MAX`] for
    /// a job without end.
    #[inline]
    pub fn left(&mut self, now: Instant) -> Duration {
        if self.spins && self.spin != Spin::Not {
            self.look_at_clock(now);
        }
        self.left
    }

    /// What is left of a job that spins, and executes from `now` on.
    #[cold]
    fn look_at_clock(&mut self, now: Instant) {
        let until = match self.spin {
            Spin::Not => return,
            Spin::For(length) => now + length,
            Spin::Until(until) => until,
        };
        if now < until {
            self.spin = Spin::Until(until);
            self.left = add(until.since(now), self.work);
        } else {
            self.spin = Spin::Not;
            // Some of the work may have been done before it was preempted.
            self.left = self.left.min(self.work);
        }
    }

    /// What wakes the task.
    pub fn woken_by(&self) -> WokenBy {
        self.woken_by
    }

    /// When the task wants to be woken; [`Instant::MAX`] for never.
    #[inline]
    pub fn wakes_at(&self) -> Instant {
        self.wake_at
    }

    /// The task executed for `time`, at most what [`Task::left`] said.
    #[inline]
    pub fn execute(&mut self, time: Duration) {
        if self.left != Duration::MAX {
            self.left -= time;
        }
    }

    /// Wakes the task for everything that was due by `now`.
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
                Plan::Jobs(jobs) => {
                    let begins = jobs.woken(now, self.ready);
                    self.wake_at = jobs.wakes_at();
                    if let Some(job) = begins {
                        self.begin_planned(job);
                    }
                }
                Plan::Program(running) => {
                    running.wake();
                    self.wake_at = Instant::MAX;
                    self.ready = true;
                }
                Plan::Burn
                | Plan::Idle
                | Plan::Elsewhere
                | Plan::Yielding { .. }
                | Plan::Compute => {
                    self.wake_at = Instant::MAX;
                }
            }
        }
    }

    /// A job on another vcpu wakes the process.
    pub fn kicked(&mut self, now: Instant) {
        if let Plan::Jobs(jobs) = &mut self.plan {
            jobs.kicked(now);
            self.wake_at = jobs.wakes_at();
        }
    }

    #[inline]
    fn begin(&mut self, released: Instant, work: Duration) {
        self.released = released;
        self.work = work;
        self.left = work;
        self.ready = true;
    }

    /// Begins a job that a plan asks for.
    fn begin_planned(&mut self, job: NewJob) {
        self.spin = match job.spin {
            Duration::ZERO => Spin::Not,
            length => Spin::For(length),
        };
        self.begin(job.released, job.work);
        self.left = add(job.spin, job.work);
    }

    /// Whether the task runs a program.
    #[inline]
    pub fn runs_program(&self) -> bool {
        matches!(self.plan, Plan::Program(_))
    }

    /// The job is done (nothing is left) at `now`: plans what comes next.
    ///
    /// # Panics
    /// When something is left.
    #[inline(always)]
    pub fn finish(&mut self, now: Instant) -> AfterJob {
        if !self.ready || !self.left.is_zero() {
            self.complain_of_end();
        }
        let done = Finished {
            turnaround: now.saturating_since(self.released),
            work: self.work,
        };
        if let Plan::Program(_) = &self.plan {
            return AfterJob::Program;
        }
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
            Plan::Jobs(jobs) => {
                let follows = jobs.done(now);
                self.wake_at = jobs.wakes_at();
                let kicks = jobs.kicks();
                if let Some(job) = follows {
                    self.begin_planned(job);
                }
                return kicks.map_or(AfterJob::Quiet, AfterJob::Kicks);
            }
            Plan::Burn | Plan::Idle | Plan::Elsewhere | Plan::Program(_) => {
                return AfterJob::Quiet;
            }
        }
        AfterJob::Report(done)
    }

    /// The program that the task runs, if there is one.
    pub(super) fn running(&mut self) -> Option<&mut Running> {
        match &mut self.plan {
            Plan::Program(running) => Some(running),
            _ => None,
        }
    }

    /// Whether it has something left to execute.
    pub(super) fn has_work(&self) -> bool {
        !self.left.is_zero()
    }

    /// The program executes for `time` before it continues.
    pub(super) fn compute(&mut self, time: Duration) {
        self.left = time;
        self.owner = Owner::Nobody;
    }

    /// What the task executes is for `owner`.
    pub(super) fn set_owner(&mut self, owner: Owner) {
        self.owner = owner;
    }

    /// Whether a call of the program spins for `lock`.
    pub(crate) fn spins_for(&self, lock: KernelLock) -> bool {
        match &self.plan {
            Plan::Program(running) => {
                matches!(running.doing, Doing::Spins(_, section, _) if section.lock == lock)
            }
            _ => false,
        }
    }

    /// Whether a call of the program is in a section that one vcpu at a time may be in, or spins
    /// until it may enter.
    pub(crate) fn is_within(&self) -> bool {
        match &self.plan {
            Plan::Program(running) => matches!(running.doing, Doing::Within(..) | Doing::Spins(..)),
            _ => false,
        }
    }

    /// What it spins for is free: it tries again when it executes next.
    pub(crate) fn look_again(&mut self) {
        self.left = Duration::ZERO;
    }

    /// For whom the task executes.
    pub(crate) fn owner(&self) -> Owner {
        self.owner
    }

    /// The program sleeps until `at`, or until something wakes the process.
    pub(super) fn sleep(&mut self, at: Instant) {
        self.ready = false;
        self.wake_at = at;
    }

    /// The program has ended.
    pub(super) fn exit(&mut self) {
        self.sleep(Instant::MAX);
    }

    /// Something has come that the program blocked on or waited for.
    pub(crate) fn wake(&mut self) {
        if let Plan::Program(running) = &mut self.plan
            && !self.ready
        {
            running.wake();
            self.ready = true;
            self.wake_at = Instant::MAX;
        }
    }

    /// The hypercall that the program made returns `value`.
    pub(crate) fn returned(&mut self, value: u64) {
        if let Some(running) = self.running() {
            running.set_returned(value);
        }
    }

    /// Name of the program, for a complaint.
    pub(crate) fn program(&mut self) -> &'static str {
        self.running().map_or("", |running| running.name())
    }

    #[cold]
    #[inline(never)]
    fn complain_of_end(&self) -> ! {
        panic!("task {} has {} left", self.name, self.left);
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
