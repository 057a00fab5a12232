//! Run queues: one per pcpu, ordered by priority and, inside a priority, first in first out
//! (xen-spec 3.1, "Queue insert" and "sort").

use super::Credit;
use super::state::{Interest, NIL, NOWHERE, Pcpu, Priority, Vcpu, flag};
use domio_core::{PcpuId, VcpuId};

impl Pcpu {
    /// Priority of the head of its queue; of idling when nobody queues.
    #[inline]
    pub(super) fn head_priority(&self, vcpus: &[Vcpu]) -> Priority {
        match vcpus.get(self.head as usize) {
            Some(v) => v.priority,
            None => Priority::Idle,
        }
    }

    /// Where `v` belongs in its queue: before which entry, [`NIL`] for last. `is_sorted` says that
    /// no accounting has changed priorities since the last sort.
    #[inline(always)]
    fn place(&self, vcpus: &[Vcpu], v: &Vcpu, runq_sort: bool, is_sorted: bool) -> u32 {
        let yielded = v.has(flag::YIELD);
        // A vcpu that yielded stands back behind its class however much credit it has.
        let by_credit = runq_sort && !yielded;
        if v.priority == Priority::Over && !by_credit && !yielded {
            // Nobody queues whose priority is lower.
            return NIL;
        }
        if v.priority == Priority::Under && is_sorted && !by_credit && !yielded {
            return match vcpus.get(self.credit_end as usize) {
                Some(last) => last.next,
                None => self.head,
            };
        }
        let mut at = self.head;
        while let Some(other) = vcpus.get(at as usize) {
            if v.priority > other.priority
                || (v.priority == other.priority && by_credit && v.credit > other.credit)
            {
                break;
            }
            at = other.next;
        }
        match vcpus.get(at as usize) {
            Some(other) if yielded => other.next,
            _ => at,
        }
    }

    /// Puts `v` in front of `at` in its queue, or last when that is [`NIL`]. `here` is its id.
    #[inline(always)]
    fn link(&mut self, vcpus: &mut [Vcpu], here: PcpuId, v: u32, at: u32) {
        let next = match vcpus.get_mut(at as usize) {
            Some(next) => &mut next.prev,
            None => &mut self.tail,
        };
        let prev = core::mem::replace(next, v);
        match vcpus.get_mut(prev as usize) {
            Some(prev) => prev.next = v,
            None => self.head = v,
        }
        let own = &mut vcpus[v as usize];
        own.prev = prev;
        own.next = at;
        own.queue = here.0;
        if prev == self.credit_end && own.priority >= Priority::Under {
            self.credit_end = v;
        }
    }

    /// Takes `v` out of its queue.
    #[inline(always)]
    fn unlink(&mut self, vcpus: &mut [Vcpu], v: u32) {
        let own = &mut vcpus[v as usize];
        let (prev, next) = (own.prev, own.next);
        own.queue = NOWHERE;
        match vcpus.get_mut(prev as usize) {
            Some(prev) => prev.next = next,
            None => self.head = next,
        }
        match vcpus.get_mut(next as usize) {
            Some(next) => next.prev = prev,
            None => self.tail = prev,
        }
        if self.credit_end == v {
            self.credit_end = prev;
        } else if self.credit_end == prev {
            // It was the first one without credit. One with credit follows it that has yielded.
            let mut at = next;
            while let Some(other) = vcpus.get(at as usize)
                && other.priority >= Priority::Under
            {
                self.credit_end = at;
                at = other.next;
            }
        }
    }
}

impl Credit {
    /// Queues `vcpu` on `pcpu`: before the first entry of strictly lower priority. With a yield
    /// pending, one place further unless that entry is the idle vcpu.
    ///
    /// The queue may be out of order since accounting changed priorities and until the next sort,
    /// so the search must begin at the head then, as in Xen.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, pcpu: PcpuId, vcpu: VcpuId) {
        let vcpus = &mut *self.vcpus;
        let p = &mut self.pcpus[pcpu];
        let own = &vcpus[vcpu.index()];
        assert!(!own.queued(), "a vcpu is queued twice");
        let is_sorted = p.sorted == self.sort_epoch;
        let at = p.place(vcpus, own, self.settings.runq_sort, is_sorted);
        p.link(vcpus, pcpu, vcpu.0, at);
        if p.head == vcpu.0 {
            let priority = vcpus[vcpu.index()].priority;
            self.judge_head(pcpu, priority);
        }
    }

    /// As [`Credit::enqueue`] for a vcpu that has become runnable on `pcpu`.
    #[inline]
    pub(super) fn enqueue_runnable(&mut self, pcpu: PcpuId, vcpu: VcpuId) {
        self.enqueue(pcpu, vcpu);
        self.pcpus[pcpu].runnable += 1;
    }

    /// Takes `vcpu` out of its queue and out of the count of runnable vcpus there.
    pub(super) fn dequeue_runnable(&mut self, vcpu: VcpuId) {
        let pcpu = self.dequeue(vcpu);
        self.pcpus[pcpu].runnable -= 1;
    }

    /// Takes `vcpu` out of its queue, and says whose that was.
    #[inline(always)]
    pub(super) fn dequeue(&mut self, vcpu: VcpuId) -> PcpuId {
        let vcpus = &mut *self.vcpus;
        let own = &vcpus[vcpu.index()];
        assert!(own.queued(), "a vcpu is not queued");
        let (pcpu, headed) = (PcpuId(own.queue), own.prev == NIL);
        let p = &mut self.pcpus[pcpu];
        p.unlink(vcpus, vcpu.0);
        if headed {
            let priority = p.head_priority(vcpus);
            self.judge_head(pcpu, priority);
        }
        pcpu
    }

    /// Puts `v` in front of `at`, or last when that is [`NIL`].
    pub(super) fn link_before(&mut self, pcpu: PcpuId, v: u32, at: u32) {
        let p = &mut self.pcpus[pcpu];
        p.link(&mut self.vcpus, pcpu, v, at);
        let priority = p.head_priority(&self.vcpus);
        self.judge_head(pcpu, priority);
    }

    /// Follows the priority of the head of the queue of `pcpu`, that of idling when nobody queues.
    #[inline(always)]
    pub(super) fn judge_head(&mut self, pcpu: PcpuId, priority: Priority) {
        let interest = Interest::in_head(priority);
        let p = &mut self.pcpus[pcpu];
        if p.interest != interest {
            p.interest = interest;
            self.tell_interest(pcpu, interest);
        }
    }

    /// Follows the interest that the queue of `pcpu` is of to other pcpus.
    #[inline(never)]
    fn tell_interest(&mut self, pcpu: PcpuId, interest: Interest) {
        self.waiting.set(pcpu, interest != Interest::None);
        self.eager.set(pcpu, interest == Interest::All);
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
        self.pcpus[p].credit_end = last_under;
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
