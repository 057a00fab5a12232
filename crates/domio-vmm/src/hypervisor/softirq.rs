//! From a cause to the scheduler pass: raising the softirq, the time up to the pass, and what puts
//! the pass off.

use super::Hypervisor;
use crate::event::Queue;
use crate::hypervisor::pcpu::{Cause, Pcpus, Phase};
use crate::hypervisor::release::Release;
use crate::process::WokenBy;
use domio_contract::{Pause, Stop};
use domio_core::{Duration, Instant, PcpuId, Sink};

impl Pcpus {
    /// Lets the time from `cause` to the pass go by.
    #[inline(always)]
    fn enter(&mut self, queue: &mut Queue, release: &Release, pcpu: PcpuId, cause: Cause) {
        if release.free {
            self.due.push(pcpu);
        } else {
            self.enter_at_cost(queue, release, pcpu, cause);
        }
    }

    #[inline(never)]
    fn enter_at_cost(&mut self, queue: &mut Queue, release: &Release, pcpu: PcpuId, cause: Cause) {
        let lead = release.lead(cause);
        let handled = self.handled(queue, release, pcpu);
        let p = &mut self[pcpu];
        p.stage_at = (p.stage_at + lead).max(handled);
        if lead.is_zero() {
            self.due.push(pcpu);
        } else {
            queue.arm(p.stage, p.stage_at);
        }
    }

    /// When those handlers of `pcpu`'s timers are over that have begun: the timer softirq goes
    /// before the scheduler's (xen-spec 0.2).
    fn handled(&self, queue: &Queue, release: &Release, pcpu: PcpuId) -> Instant {
        let p = &self[pcpu];
        if p.handling == 0 {
            return Instant::ZERO;
        }
        let begun = (0..p.policy.len()).filter(|slot| p.handling & (1 << slot) != 0);
        let ends = begun.filter_map(|slot| queue.deadline(p.policy[slot]));
        let of_domains = self.domain_timers.last_handler(queue, pcpu);
        let last = ends.chain(of_domains).max();
        last.map_or(Instant::ZERO, |end| end + release.profile.handler)
    }

    /// The softirq of a wake-up that began at `now` continues for `time`: a pass on `pcpu` that is
    /// due before comes after it.
    #[inline]
    pub fn put_off(
        &mut self,
        queue: &mut Queue,
        release: &Release,
        pcpu: PcpuId,
        now: Instant,
        time: Duration,
    ) {
        if release.profile.wake_first.is_zero() {
            return;
        }
        let later = (now + time).saturating_since(self[pcpu].stage_at);
        if !later.is_zero() {
            self.delay_pass(queue, pcpu, later);
        }
    }

    /// Puts the pass that `pcpu` is working towards off by `cost`.
    pub fn delay_pass(&mut self, queue: &mut Queue, pcpu: PcpuId, cost: Duration) {
        let p = &mut self[pcpu];
        if p.phase == Phase::Entering {
            p.stage_at += cost;
            let (stage, at) = (p.stage, p.stage_at);
            queue.arm(stage, at);
        }
    }

    /// A pass that `pcpu`, which has left, was asked for does not come: nothing is left to decide.
    pub fn drop_pass(&mut self, queue: &mut Queue, pcpu: PcpuId) {
        let p = &mut self[pcpu];
        p.again = false;
        if p.phase == Phase::Entering {
            p.phase = Phase::Guest;
            queue.disarm(p.stage);
            let to_come = self.due.split_off(self.due_done);
            self.due.extend(to_come.into_iter().filter(|p| *p != pcpu));
        }
    }
}

impl<S: Sink> Hypervisor<S> {
    /// Raises the scheduler softirq on `pcpu`, from code that runs there.
    #[inline(always)]
    pub fn raise(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant, cause: Cause) {
        let cause = match self.pcpus[pcpu].polling {
            true => self.stop_polling(queue, pcpu, now),
            false => cause,
        };
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
                self.pcpus.enter(queue, &self.release, pcpu, cause);
            }
            Phase::Entering => {
                if cause == Cause::Wake {
                    let work = self.release.profile.wake_to_pass;
                    self.pcpus.put_off(queue, &self.release, pcpu, now, work);
                }
            }
            Phase::Switching | Phase::Interrupt => p.again = true,
        }
    }

    /// The hypervisor takes over on `pcpu`: the guest has executed up to `now`.
    #[inline(always)]
    pub fn halt(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        let p = &mut self.pcpus[pcpu];
        if p.exec_from == Instant::MAX {
            return;
        }
        let time = now.saturating_since(p.exec_from);
        p.exec_from = Instant::MAX;
        queue.disarm(p.done);
        if let Some(vcpu) = self.policy.current(pcpu)
            && !core::mem::take(&mut p.polling)
            && !time.is_zero()
        {
            let work = self.progress(pcpu, vcpu, time);
            self.vcpus[vcpu].guest.executed(work);
        }
    }

    /// When a wake-up is delivered whose interrupt was there before the pass that is due at
    /// `now`: the timer softirq goes before the scheduler's.
    #[inline]
    pub fn wake_first(&self, queue: &Queue, pcpu: PcpuId, now: Instant) -> Option<Instant> {
        let within = self.release.profile.wake_first;
        if within.is_zero() {
            return None;
        }
        let asleep = self.vcpus.iter().filter(|(id, v)| {
            let view = self.policy.view(*id);
            let blocked = view.pcpu == pcpu && view.pause.has(Pause::BLOCKED);
            blocked && v.guest.woken_by() == WokenBy::Interrupt
        });
        let wakes = asleep.filter_map(|(_, v)| queue.deadline(v.timer));
        wakes.filter(|at| *at > now && *at <= now + within).min()
    }

    /// The hypervisor of `pcpu` works for `cost` at `now`: the guest there, or the pass that is
    /// about to come, is that much later.
    #[inline]
    pub fn steal(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant, cost: Duration) {
        if cost.is_zero() {
            return;
        }
        match self.pcpus[pcpu].phase {
            Phase::Guest => {
                if self.policy.current(pcpu).is_some() {
                    self.halt(queue, pcpu, now);
                    self.pcpus.execute_later(queue, pcpu, now + cost);
                }
            }
            Phase::Entering => {
                if self.pcpus[pcpu].stage_at > now {
                    self.pcpus.delay_pass(queue, pcpu, cost);
                }
            }
            Phase::Switching => {}
            Phase::Interrupt => self.interrupts.owe(pcpu, cost),
        }
    }
}
