//! Budgets before they had a timer (4.5 and 4.6): whichever pass or wake-up comes next fills up
//! what is due.
//!
//! An idle pcpu of these releases makes passes without end, since it asks for the next one
//! immediately. Here it makes one when somebody queues up, and when the next budget of those that
//! wait is due, which decides the same.

use super::{Rtds, ns};
use domio_contract::Cx;
use domio_core::{Duration, Instant, VcpuId};

/// Longest time to the next pass (`MAX_SCHEDULE`), in nanoseconds.
const QUANTUM: i64 = 1_000_000;

impl Rtds {
    /// `vcpu`, which neither runs nor waits, wants to.
    pub(super) fn wake_early(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let v = &mut self.vcpus[vcpu.index()];
        if v.scheduled {
            v.delayed_add = true;
            return;
        }
        if v.deadline <= ns(cx.now()) {
            self.begin_period(cx, vcpu);
        }
        self.queue_up_early(cx, vcpu);
    }

    /// Queues `vcpu` and asks for a pass for the first of all that wait.
    pub(super) fn queue_up_early(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.enqueue(vcpu);
        self.fill_up(cx);
        if let Some(&first) = self.waiting.first() {
            self.tickle(cx, first);
        }
        self.rouse(cx);
    }

    /// Every pcpu that idles makes a pass.
    pub(super) fn rouse(&mut self, cx: &mut Cx<'_>) {
        for pcpu in cx.online().iter() {
            if cx.current(pcpu).is_none() {
                cx.tickle(pcpu);
            }
        }
    }

    /// Begins the period of everyone who waits and whose last one is over.
    pub(super) fn fill_up(&mut self, cx: &mut Cx<'_>) {
        let now = ns(cx.now());
        let mut due = core::mem::take(&mut self.refilled);
        let over = |v: &VcpuId| self.vcpus[v.index()].deadline <= now;
        due.extend(self.waiting.iter().copied().take_while(over));
        due.extend(self.depleted.iter().copied().filter(over));
        for vcpu in due.drain(..) {
            self.begin_period(cx, vcpu);
            self.dequeue(vcpu);
            self.enqueue(vcpu);
        }
        self.refilled = due;
        self.set_timer(cx);
    }

    /// `next` runs until the next pass.
    pub(super) fn quantum(&self, next: VcpuId) -> Duration {
        let budget = self.vcpus[next.index()].reserved.budget;
        Duration::from_nanos(budget.min(QUANTUM) as u64)
    }

    /// When the next budget of those that wait is due.
    pub(super) fn next_due(&self, now: Instant) -> Option<Instant> {
        let waiting = self.waiting.iter().chain(&self.depleted);
        let deadlines = waiting.map(|v| self.vcpus[v.index()].deadline);
        let next = deadlines.filter(|at| *at > ns(now)).min()?;
        Some(Instant::from_nanos(next as u64))
    }
}
