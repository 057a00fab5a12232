//! The timer at the end of a request: since 7.2, where the next tick is not waited for (linux-spec
//! 3.10).
//!
//! The timer is set where a thread becomes current and where one comes beside it, if the timer is
//! not set then. A pass that keeps its thread leaves the timer as it is. A pcpu that idles stops
//! the timer.

use super::state::NIL;
use super::weights::NICE_0;
use super::{HRTICK, Linux};
use domio_contract::Cx;
use domio_core::{Instant, PcpuId};

/// Shortest time after which the timer fires.
const LEAST: i64 = 10_000;

impl Linux {
    /// A thread came to `cpu`: the request of the running one may end by a timer from now on.
    #[inline]
    pub(super) fn update_hrtick(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        if !self.rules.hrtick {
            return;
        }
        let c = &self.cpus[usize::from(cpu)];
        let current = c.current;
        if !c.hrtick && current != NIL && !self.is_high(current) {
            self.start_hrtick(cx, cpu, current);
        }
    }

    /// Sets the timer for the end of the request of the thread `e`, which runs on `cpu`.
    pub(super) fn start_hrtick(&mut self, cx: &mut Cx<'_>, cpu: u16, e: u32) {
        if self.queues[usize::from(cpu)].threads <= 1 {
            return;
        }
        let entity = &self.entities[e as usize];
        let left = entity.deadline.wrapping_sub(entity.v);
        if left < 0 {
            return self.resched(cx, cpu);
        }
        let weight = i128::from(entity.effective.weight);
        let delay = (weight * i128::from(left) / i128::from(NICE_0)) as i64;
        let at = self.now(cx) + delay.max(LEAST);
        self.cpus[usize::from(cpu)].hrtick = true;
        cx.set_timer(PcpuId(cpu), HRTICK, Instant::from_nanos(at as u64));
    }

    /// `cpu` idles, or goes.
    pub(super) fn stop_hrtick(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        if core::mem::take(&mut self.cpus[usize::from(cpu)].hrtick) {
            cx.stop_timer(PcpuId(cpu), HRTICK);
        }
    }

    /// The timer of `cpu` fires.
    pub(super) fn hrtick(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        self.cpus[usize::from(cpu)].hrtick = false;
        self.read_clock(cx, cpu);
        let current = self.cpus[usize::from(cpu)].current;
        if current != NIL && !self.is_high(current) {
            self.tick_of(cx, current);
            self.resched(cx, cpu);
        }
    }
}
