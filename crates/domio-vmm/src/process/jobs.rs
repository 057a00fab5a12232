//! Processes whose jobs somebody else plans.
//!
//! A [`JobPlan`] says when its process is woken and what each job takes, by the clock and of the
//! processor. Unlike a [`Program`](super::Program) it can have the process woken while a job is
//! under way.

use alloc::boxed::Box;
use core::fmt;
use domio_core::{Duration, Instant};

/// What the interrupt comes from that wakes a process in its sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WokenBy {
    /// A timer that the guest has set: it expires with the other timers of its pcpu.
    Timer,
    /// An interrupt that is delivered at its time. What may delay a timer, such as the slop, is
    /// over by then; only a hypervisor that is switching holds it back.
    Interrupt,
}

/// A job that begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewJob {
    /// When it was released, not after now.
    pub released: Instant,
    /// How long it executes by the clock before its `work`, counted from when it first executes: it
    /// polls or busy-waits until that time. While it is preempted the time advances, so that it
    /// takes less of the processor; if the time has passed when it executes again, `work` is all
    /// that is left. Never [`Duration::MAX`].
    pub spin: Duration,
    /// Processor time after `spin`; [`Duration::MAX`] for a job without end. Not both are zero.
    pub work: Duration,
}

/// When jobs of a process come and what each takes. Nobody waits for these jobs: the trace does not
/// say when they are done.
pub trait JobPlan: fmt::Debug + Send + Sync {
    /// The word for it.
    fn name(&self) -> &'static str;

    /// The same plan from its begin, for the process of another host.
    fn fresh(&self) -> Box<dyn JobPlan>;

    /// What wakes the process.
    fn woken_by(&self) -> WokenBy;

    /// When the process is to be woken next, whatever it does then; [`Instant::MAX`] for never.
    fn wakes_at(&self) -> Instant;

    /// The wake-up of [`wakes_at`](Self::wakes_at) has come by `now`. Plans the next one, and says
    /// which job begins; none does if a job is under way (`busy`).
    fn woken(&mut self, now: Instant, busy: bool) -> Option<NewJob>;

    /// The job under way is done at `now`: says which one follows immediately, and may plan another
    /// wake-up.
    fn done(&mut self, now: Instant) -> Option<NewJob>;

    /// The vcpu of the domain that the job wakes which was [done](Self::done) last, by its index:
    /// the plan there is [kicked](Self::kicked).
    fn kicks(&mut self) -> Option<u16> {
        None
    }

    /// A job on another vcpu of the domain, done at `now`, wakes this process. The plan puts the
    /// wake-up that follows into [`wakes_at`](Self::wakes_at): not after `now`, if the process
    /// sleeps.
    fn kicked(&mut self, now: Instant) {
        let _ = now;
    }
}
