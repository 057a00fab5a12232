//! From a cause to the scheduler pass: raising the softirq, the time up to the pass, and what puts
//! the pass off.

use super::{Cause, Host, Phase, Queue};
use crate::bus::Device;
use crate::process::WokenBy;
use domio_core::{Duration, Instant, PcpuId, Sink};
use domio_sched::{Pause, Stop};

impl<S: Sink, D: Device> Host<S, D> {
    /// Time from `cause` to the pass.
    #[inline]
    fn lead(&self, cause: Cause) -> Duration {
        let profile = &self.profile;
        match cause {
            Cause::Slice => profile.timer_to_pass,
            Cause::Wake | Cause::Operator => profile.wake_to_pass,
            Cause::Block | Cause::Yield => profile.block_to_pass,
            Cause::Ipi => profile.ipi_to_pass,
            Cause::PolicyTimer => profile.handler,
        }
    }

    /// Raises the scheduler softirq on `pcpu`, from code that runs there.
    #[inline(always)]
    pub(super) fn raise(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant, cause: Cause) {
        let p = &mut self.pcpus[pcpu];
        match p.phase {
            Phase::Guest => {
                p.phase = Phase::Entering;
                p.why = match cause {
                    Cause::Slice => Stop::Slice,
                    Cause::Block => Stop::NotRunnable,
                    Cause::Yield => Stop::Yielded,
                    _ => Stop::Tickled,
                };
                p.stage_at = now;
                self.halt(queue, pcpu, now);
                self.enter(queue, pcpu, cause);
            }
            Phase::Entering => {
                if cause == Cause::Wake {
                    self.put_off(queue, pcpu, now, self.profile.wake_to_pass);
                }
            }
            Phase::Switching => p.again = true,
        }
    }

    /// The hypervisor takes over on `pcpu`: the guest has executed up to `now`.
    #[inline(always)]
    pub(super) fn halt(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        let p = &mut self.pcpus[pcpu];
        if p.exec_from == Instant::MAX {
            return;
        }
        let time = now.saturating_since(p.exec_from);
        p.exec_from = Instant::MAX;
        queue.disarm(p.done);
        if let Some(vcpu) = self.tables.pcpus[pcpu].current
            && !time.is_zero()
        {
            self.vcpus[vcpu.index()].guest.executed(time);
        }
    }

    /// Lets the time from `cause` to the pass go by.
    #[inline(always)]
    fn enter(&mut self, queue: &mut Queue, pcpu: PcpuId, cause: Cause) {
        if self.free {
            self.due.push(pcpu);
        } else {
            self.enter_at_cost(queue, pcpu, cause);
        }
    }

    #[inline(never)]
    fn enter_at_cost(&mut self, queue: &mut Queue, pcpu: PcpuId, cause: Cause) {
        let lead = self.lead(cause);
        let handled = self.handled(queue, pcpu);
        let p = &mut self.pcpus[pcpu];
        p.stage_at = (p.stage_at + lead).max(handled);
        if lead.is_zero() {
            self.due.push(pcpu);
        } else {
            queue.arm(p.stage, p.stage_at);
        }
    }

    /// When those handlers of `pcpu`'s timers are over that have begun: the timer softirq goes
    /// before the scheduler's (xen-spec 0.2).
    fn handled(&self, queue: &Queue, pcpu: PcpuId) -> Instant {
        let p = &self.pcpus[pcpu];
        if p.handling == 0 {
            return Instant::ZERO;
        }
        let begun = (0..p.policy.len()).filter(|slot| p.handling & (1 << slot) != 0);
        let ends = begun.filter_map(|slot| queue.deadline(p.policy[slot]));
        let of_domains = self.last_domain_handler(queue, pcpu);
        ends.chain(of_domains)
            .max()
            .map_or(Instant::ZERO, |end| end + self.profile.handler)
    }

    /// Makes the passes that are due at `now`, unless other events of this instant come first:
    /// timers that are due run before the scheduler. It is called again after those.
    #[inline]
    pub(super) fn run_due(&mut self, queue: &mut Queue, now: Instant) {
        while let Some(&pcpu) = self.due.get(self.due_done) {
            if queue.is_due_now() {
                return;
            }
            self.due_done += 1;
            self.pass(queue, pcpu, now);
        }
        self.due.clear();
        self.due_done = 0;
    }

    pub(super) fn stage_over(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        match self.pcpus[pcpu].phase {
            Phase::Entering => match self.wake_first(queue, pcpu, now) {
                // The wake-up's own work puts the pass off further.
                Some(at) => self.put_off(queue, pcpu, at, Duration::ZERO),
                None => self.pass(queue, pcpu, now),
            },
            Phase::Switching => self.switch_over(queue, pcpu, now),
            Phase::Guest => unreachable!("{pcpu} has no stage to end"),
        }
    }

    /// When a wake-up is delivered whose interrupt was there before the pass that is due at
    /// `now`: the timer softirq goes before the scheduler's.
    #[inline]
    fn wake_first(&self, queue: &Queue, pcpu: PcpuId, now: Instant) -> Option<Instant> {
        let within = self.profile.wake_first;
        if within.is_zero() {
            return None;
        }
        let asleep = |i: &usize| {
            let view = &self.tables.vcpus[*i];
            let by = self.vcpus[*i].guest.woken_by();
            view.pcpu == pcpu && view.pause.has(Pause::BLOCKED) && by == WokenBy::Interrupt
        };
        let due = |i: usize| queue.deadline(self.vcpus[i].timer);
        let wakes = (0..self.vcpus.len()).filter(asleep).filter_map(due);
        wakes.filter(|at| *at > now && *at <= now + within).min()
    }

    /// The softirq of a wake-up that began at `now` goes on for `time`: a pass on `pcpu` that is
    /// due before comes after it.
    #[inline]
    pub(super) fn put_off(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        now: Instant,
        time: Duration,
    ) {
        if self.profile.wake_first.is_zero() {
            return;
        }
        let later = (now + time).saturating_since(self.pcpus[pcpu].stage_at);
        if !later.is_zero() {
            self.delay_pass(queue, pcpu, later);
        }
    }

    /// The hypervisor of `pcpu` works for `cost` at `now`: the guest there, or the pass that is
    /// about to come, is that much later.
    #[inline]
    pub(super) fn steal(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant, cost: Duration) {
        if cost.is_zero() {
            return;
        }
        match self.pcpus[pcpu].phase {
            Phase::Guest => {
                if self.tables.pcpus[pcpu].current.is_some() {
                    self.halt(queue, pcpu, now);
                    self.go(queue, pcpu, now + cost);
                }
            }
            Phase::Entering => {
                if self.pcpus[pcpu].stage_at > now {
                    self.delay_pass(queue, pcpu, cost);
                }
            }
            Phase::Switching => {}
        }
    }

    /// Puts the pass that `pcpu` is working towards off by `cost`.
    pub(super) fn delay_pass(&mut self, queue: &mut Queue, pcpu: PcpuId, cost: Duration) {
        let p = &mut self.pcpus[pcpu];
        if p.phase == Phase::Entering {
            p.stage_at += cost;
            let (stage, at) = (p.stage, p.stage_at);
            queue.arm(stage, at);
        }
    }
}
