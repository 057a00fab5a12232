//! The three queues of the host, and the timer of the budgets.
//!
//! Places are found by priority when somebody is queued; who is queued keeps its place when its
//! priority changes, as in Xen.

use super::Rtds;
use alloc::vec::Vec;
use core::cmp::Ordering;
use domio_contract::Cx;
use domio_core::{Instant, PcpuId, VcpuId};

/// Timer slot of the budgets, on the lowest pcpu.
pub const REFILL: u8 = 0;

/// A queue of vcpus.
pub(super) type Queue = Vec<VcpuId>;

impl Rtds {
    /// How `a` compares with `b`: greater is better. First by priority level, 0 being the best,
    /// then by deadline.
    #[inline]
    pub(super) fn compare(&self, a: VcpuId, b: VcpuId) -> Ordering {
        let (a, b) = (&self.vcpus[a.index()], &self.vcpus[b.index()]);
        (b.level, b.deadline).cmp(&(a.level, a.deadline))
    }

    /// Whether `a` has its turn before `b`; the release decides that among equals.
    #[inline]
    pub(super) fn goes_before(&self, a: VcpuId, b: VcpuId) -> bool {
        match self.compare(a, b) {
            Ordering::Greater => true,
            Ordering::Equal => !self.rules.extratime,
            Ordering::Less => false,
        }
    }

    /// The place of `vcpu` in `queue`: before the first that it goes before.
    fn place(&self, queue: &Queue, vcpu: VcpuId) -> usize {
        let worse = |other: &VcpuId| self.goes_before(vcpu, *other);
        queue.iter().position(worse).unwrap_or(queue.len())
    }

    /// Queues `vcpu` with those that have a budget, or with those that have none.
    pub(super) fn enqueue(&mut self, vcpu: VcpuId) {
        let v = &mut self.vcpus[vcpu.index()];
        assert!(!v.queued, "a vcpu is queued twice");
        v.queued = true;
        if v.left > 0 || v.reserved.extratime {
            let at = self.place(&self.waiting, vcpu);
            self.waiting.insert(at, vcpu);
        } else {
            self.depleted.push(vcpu);
        }
    }

    /// Takes `vcpu` out of the queue in which it is.
    pub(super) fn dequeue(&mut self, vcpu: VcpuId) {
        let v = &mut self.vcpus[vcpu.index()];
        assert!(v.queued, "a vcpu is not queued");
        v.queued = false;
        self.waiting.retain(|v| *v != vcpu);
        self.depleted.retain(|v| *v != vcpu);
    }

    /// Puts `vcpu` among those whose budget is to be filled up.
    pub(super) fn insert_refill(&mut self, vcpu: VcpuId) -> usize {
        let at = self.place(&self.refills, vcpu);
        self.refills.insert(at, vcpu);
        at
    }

    /// `vcpu` has a budget that is to be filled up from now on.
    pub(super) fn begin_refills(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if !self.rules.timer {
            return;
        }
        if self.insert_refill(vcpu) == 0 {
            self.set_timer(cx);
        }
    }

    /// The budget of `vcpu` is not filled up any more.
    pub(super) fn end_refills(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let was_first = self.refills.first() == Some(&vcpu);
        self.refills.retain(|v| *v != vcpu);
        if was_first {
            self.set_timer(cx);
        }
    }

    /// The deadline of `vcpu` has changed.
    pub(super) fn move_refill(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let was_first = self.refills.first() == Some(&vcpu);
        self.refills.retain(|v| *v != vcpu);
        if self.insert_refill(vcpu) == 0 || was_first {
            self.set_timer(cx);
        }
    }

    /// When the first of the budgets is to be filled up.
    pub(super) fn next_refill(&self, cx: &Cx<'_>) -> Option<Instant> {
        if !self.rules.timer {
            return self.next_due(cx.now());
        }
        let first = self.refills.first()?;
        let deadline = self.vcpus[first.index()].deadline;
        Some(Instant::from_nanos(deadline as u64))
    }

    pub(super) fn set_timer(&mut self, cx: &mut Cx<'_>) {
        let Some(keeper) = self.keeper else {
            return;
        };
        match self.next_refill(cx) {
            Some(at) => cx.set_timer(keeper, REFILL, at),
            None => cx.stop_timer(keeper, REFILL),
        }
    }

    /// The timer is on the lowest pcpu that is online, but for `leaving`, unless where it is will
    /// do.
    pub(super) fn choose_keeper(&mut self, cx: &mut Cx<'_>, leaving: Option<PcpuId>) {
        let mut online = cx.online();
        if let Some(pcpu) = leaving {
            online.remove(pcpu);
        }
        if self.keeper.is_some_and(|k| online.contains(k)) {
            return;
        }
        if let Some(old) = self.keeper.filter(|_| leaving == self.keeper) {
            cx.stop_timer(old, REFILL);
        }
        self.keeper = online.first();
        if !self.refills.is_empty() || !self.rules.timer {
            self.set_timer(cx);
        }
    }
}
