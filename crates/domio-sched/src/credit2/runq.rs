//! Run queues: who waits, by credit; who belongs; and their lists (xen-spec 4.1).

use super::state::{NIL, NOWHERE, flag};
use super::{Credit2, event};
use domio_contract::Cx;
use domio_core::{PcpuId, VcpuId};

impl Credit2 {
    /// The run queue of `pcpu`.
    #[inline]
    pub(super) fn runq_of(&self, pcpu: PcpuId) -> usize {
        self.pcpus[pcpu].runq as usize
    }

    /// Queues `vcpu` in its run queue: before the first with less credit.
    pub(super) fn enqueue(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let own = &self.vcpus[vcpu.index()];
        assert!(
            !own.has(flag::QUEUED | flag::SCHEDULED),
            "a vcpu is queued twice or while it runs"
        );
        let (credit, runq) = (own.credit, own.runq as usize);
        let mut at = self.runqs[runq].head;
        let mut position = 0;
        while let Some(other) = self.vcpus.get(at as usize) {
            if credit > other.credit {
                break;
            }
            at = other.next;
            position += 1;
        }
        let prev = match self.vcpus.get_mut(at as usize) {
            Some(next) => core::mem::replace(&mut next.prev, vcpu.0),
            None => core::mem::replace(&mut self.runqs[runq].tail, vcpu.0),
        };
        match self.vcpus.get_mut(prev as usize) {
            Some(prev) => prev.next = vcpu.0,
            None => self.runqs[runq].head = vcpu.0,
        }
        let own = &mut self.vcpus[vcpu.index()];
        (own.prev, own.next) = (prev, at);
        own.set(flag::QUEUED);
        event::queued(cx, self.here, vcpu, position);
    }

    /// Takes `vcpu` out of its run queue's list of those that wait.
    pub(super) fn dequeue(&mut self, vcpu: VcpuId) {
        let own = &mut self.vcpus[vcpu.index()];
        assert!(own.take(flag::QUEUED), "a vcpu is not queued");
        let (prev, next, runq) = (own.prev, own.next, own.runq as usize);
        match self.vcpus.get_mut(prev as usize) {
            Some(prev) => prev.next = next,
            None => self.runqs[runq].head = next,
        }
        match self.vcpus.get_mut(next as usize) {
            Some(next) => next.prev = prev,
            None => self.runqs[runq].tail = prev,
        }
    }

    /// `vcpu` belongs to `runq` from now on, as its last member, and brings its load.
    pub(super) fn join(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, runq: usize) {
        let r = &mut self.runqs[runq];
        let prev = core::mem::replace(&mut r.member_tail, vcpu.0);
        match self.vcpus.get_mut(prev as usize) {
            Some(prev) => prev.member_next = vcpu.0,
            None => r.member_head = vcpu.0,
        }
        let v = &mut self.vcpus[vcpu.index()];
        (v.member_prev, v.member_next) = (prev, NIL);
        v.runq = runq as u16;
        let (weight, average) = (v.weight, v.average);
        self.follow_weight(cx, runq, weight, 0);
        self.runqs[runq].balanced += average;
        event::assigned(cx, self.here, vcpu, runq);
    }

    /// `vcpu`, which neither runs nor waits, leaves its run queue and takes its load along.
    pub(super) fn leave(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let v = &mut self.vcpus[vcpu.index()];
        assert!(
            !v.has(flag::QUEUED | flag::SCHEDULED),
            "a vcpu leaves its run queue while it runs or waits"
        );
        let (prev, next) = (v.member_prev, v.member_next);
        let (weight, average) = (v.weight, v.average);
        let runq = core::mem::replace(&mut v.runq, NOWHERE) as usize;
        match self.vcpus.get_mut(prev as usize) {
            Some(prev) => prev.member_next = next,
            None => self.runqs[runq].member_head = next,
        }
        match self.vcpus.get_mut(next as usize) {
            Some(next) => next.member_prev = prev,
            None => self.runqs[runq].member_tail = prev,
        }
        self.follow_weight(cx, runq, 0, weight);
        let r = &mut self.runqs[runq];
        r.balanced = (r.balanced - average).max(0);
    }

    /// Keeps the highest weight of `runq` true when a vcpu of weight `old` gets weight `new`, 0 for
    /// none of them.
    pub(super) fn follow_weight(&mut self, cx: &mut Cx<'_>, runq: usize, new: u32, old: u32) {
        let highest = self.runqs[runq].max_weight;
        if new > highest {
            self.runqs[runq].max_weight = new;
        } else if old == highest {
            let weights = self.members(runq).map(|v| self.vcpus[v.index()].weight);
            self.runqs[runq].max_weight = weights.fold(1, u32::max);
        }
        event::max_weight(cx, self.here, runq, self.runqs[runq].max_weight);
    }

    /// The first member of `runq`.
    #[inline]
    pub(super) fn first_member(&self, runq: usize) -> Option<VcpuId> {
        some(self.runqs[runq].member_head)
    }

    /// The member of the same run queue after `vcpu`.
    #[inline]
    pub(super) fn next_member(&self, vcpu: VcpuId) -> Option<VcpuId> {
        some(self.vcpus[vcpu.index()].member_next)
    }

    /// All vcpus that belong to `runq`, in order of arrival.
    pub(super) fn members(&self, runq: usize) -> impl Iterator<Item = VcpuId> + '_ {
        core::iter::successors(self.first_member(runq), |v| self.next_member(*v))
    }

    /// The vcpus that wait in `runq`, most credit first.
    pub(super) fn waiting(&self, runq: usize) -> impl Iterator<Item = VcpuId> + '_ {
        let next = |v: &VcpuId| some(self.vcpus[v.index()].next);
        core::iter::successors(some(self.runqs[runq].head), next)
    }
}

#[inline]
fn some(link: u32) -> Option<VcpuId> {
    (link != NIL).then_some(VcpuId(link))
}
