//! Run queues: one per pcpu, ordered by priority and, inside a priority, first in first out
//! (xen-spec 3.1, "Queue insert" and "sort").

use super::Credit;
use super::state::{NIL, NOWHERE, Priority, flag};
use domio_core::{PcpuId, VcpuId};

impl Credit {
    /// Priority of the head of the queue of `pcpu`; of idling when nobody queues.
    #[inline]
    pub(super) fn head_priority(&self, pcpu: PcpuId) -> Priority {
        match self.pcpus[pcpu].head {
            NIL => Priority::Idle,
            v => self.vcpus[v as usize].priority,
        }
    }

    /// Queues `vcpu` on `pcpu`: before the first entry of strictly lower priority. With a yield
    /// pending, one place further unless that entry is the idle vcpu.
    ///
    /// The queue may be out of order since accounting changed priorities and until the next sort,
    /// so the search must begin at the head, as in Xen.
    #[inline]
    pub(super) fn enqueue(&mut self, pcpu: PcpuId, vcpu: VcpuId) {
        let v = vcpu.0;
        let (priority, credit, yielded) = {
            let own = &self.vcpus[v as usize];
            assert!(!own.queued(), "a vcpu is queued twice");
            (own.priority, own.credit, own.has(flag::YIELD))
        };
        // A vcpu that yielded stands back behind its class however much credit it has.
        let by_credit = self.settings.runq_sort && !yielded;
        if priority == Priority::Over && !by_credit && !yielded {
            // Nobody queues whose priority is lower.
            return self.link_before(pcpu, v, NIL);
        }
        let mut at = self.pcpus[pcpu].head;
        while let Some(other) = self.vcpus.get(at as usize) {
            if priority > other.priority
                || (priority == other.priority && by_credit && credit > other.credit)
            {
                break;
            }
            at = other.next;
        }
        if yielded && at != NIL {
            at = self.vcpus[at as usize].next;
        }
        self.link_before(pcpu, v, at);
    }

    /// As [`Credit::enqueue`] for a vcpu that has become runnable on `pcpu`.
    #[inline]
    pub(super) fn enqueue_runnable(&mut self, pcpu: PcpuId, vcpu: VcpuId) {
        self.enqueue(pcpu, vcpu);
        self.pcpus[pcpu].runnable += 1;
    }

    /// Takes `vcpu` out of its queue and out of the count of runnable vcpus there.
    #[inline]
    pub(super) fn dequeue_runnable(&mut self, vcpu: VcpuId) {
        let pcpu = self.dequeue(vcpu);
        self.pcpus[pcpu].runnable -= 1;
    }

    /// Takes `vcpu` out of its queue, and tells whose that was.
    #[inline]
    pub(super) fn dequeue(&mut self, vcpu: VcpuId) -> PcpuId {
        let v = &mut self.vcpus[vcpu.index()];
        assert!(v.queued(), "a vcpu is not queued");
        let (prev, next, pcpu) = (v.prev, v.next, PcpuId(v.queue));
        v.queue = NOWHERE;
        match prev {
            NIL => self.set_head(pcpu, next),
            p => self.vcpus[p as usize].next = next,
        }
        match next {
            NIL => self.pcpus[pcpu].tail = prev,
            n => self.vcpus[n as usize].prev = prev,
        }
        self.queued -= 1;
        pcpu
    }

    #[inline]
    fn set_head(&mut self, pcpu: PcpuId, head: u32) {
        self.pcpus[pcpu].head = head;
        if head == NIL {
            self.waiting.remove(pcpu);
            self.eager.remove(pcpu);
        } else {
            self.waiting.insert(pcpu);
            self.judge_head(pcpu, self.vcpus[head as usize].priority);
        }
    }

    /// Follows the priority of the head of the queue of `pcpu`.
    #[inline]
    pub(super) fn judge_head(&mut self, pcpu: PcpuId, priority: Priority) {
        if priority > Priority::Over {
            self.eager.insert(pcpu);
        } else {
            self.eager.remove(pcpu);
        }
    }

    /// Puts `v` in front of `at`, or last when that is [`NIL`].
    #[inline]
    pub(super) fn link_before(&mut self, pcpu: PcpuId, v: u32, at: u32) {
        let prev = match at {
            NIL => core::mem::replace(&mut self.pcpus[pcpu].tail, v),
            n => core::mem::replace(&mut self.vcpus[n as usize].prev, v),
        };
        match prev {
            NIL => self.set_head(pcpu, v),
            p => self.vcpus[p as usize].next = v,
        }
        let own = &mut self.vcpus[v as usize];
        own.prev = prev;
        own.next = at;
        own.queue = pcpu.0;
        self.queued += 1;
    }

    /// Brings the queue of `pcpu` in order if accounting has changed priorities since the last
    /// time: one pass that moves every vcpu with credit in front of those without, keeping both
    /// orders. Boosted vcpus and others with credit count as one class.
    pub(super) fn sort(&mut self, pcpu: PcpuId) {
        let p = pcpu;
        if self.pcpus[p].sorted == self.sort_epoch {
            return;
        }
        self.pcpus[p].sorted = self.sort_epoch;
        if self.settings.runq_sort {
            self.sort_by_credit(pcpu);
            return;
        }
        // Vcpus with credit seen so far end here; `NIL` while there is none.
        let mut last_under = NIL;
        let mut at = self.pcpus[p].head;
        while at != NIL {
            let v = &self.vcpus[at as usize];
            let next = v.next;
            if v.priority >= Priority::Under {
                if v.prev != last_under {
                    self.dequeue(VcpuId(at));
                    let place = match last_under {
                        NIL => self.pcpus[p].head,
                        u => self.vcpus[u as usize].next,
                    };
                    self.link_before(pcpu, at, place);
                }
                last_under = at;
            }
            at = next;
        }
    }

    /// The sort of the experiment switch `runq_sort`: by priority and, inside a priority, by
    /// remaining credit; stable. Queues are short and nearly in order, so insertion sort.
    fn sort_by_credit(&mut self, pcpu: PcpuId) {
        let mut at = self.pcpus[pcpu].head;
        while at != NIL {
            let v = &self.vcpus[at as usize];
            let (next, key) = (v.next, (v.priority, v.credit));
            let mut place = at;
            while self.vcpus[place as usize].prev != NIL {
                let before = self.vcpus[place as usize].prev;
                let other = &self.vcpus[before as usize];
                if (other.priority, other.credit) >= key {
                    break;
                }
                place = before;
            }
            if place != at {
                self.dequeue(VcpuId(at));
                self.link_before(pcpu, at, place);
            }
            at = next;
        }
    }

    /// The vcpus queued on `pcpu`, first one first.
    pub(super) fn queue(&self, pcpu: PcpuId) -> impl Iterator<Item = VcpuId> + '_ {
        let mut at = self.pcpus[pcpu].head;
        core::iter::from_fn(move || {
            let v = (at != NIL).then_some(VcpuId(at))?;
            at = self.vcpus[v.index()].next;
            Some(v)
        })
    }
}
