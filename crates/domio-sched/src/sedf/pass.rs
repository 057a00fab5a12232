//! The scheduler pass: reservations, and what the queues look like when time has continued
//! (xen-spec 2, "Pass", "leave-EDF", "update queues").

use super::state::{EXTRA_QUANTUM, NIL, Queue, flag};
use super::{Sedf, event, ns};
use domio_contract::{Cx, Pick};
use domio_core::{Duration, PcpuId, VcpuId};

/// How long a pcpu without any runnable vcpu idles at most.
const IDLE_SLICE: i64 = 1_000_000_000;

/// `a / b`, rounded up; `a` is not negative.
pub(super) fn ceil_div(a: i64, b: i64) -> i64 {
    (a + b - 1) / b
}

impl Sedf {
    /// `vcpu` ran until now on its pcpu.
    pub(super) fn leave(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let now = ns(cx.now());
        if !cx.vcpu(vcpu).runnable() {
            self.vcpus[vcpu.index()].slept = now;
        }
        match self.vcpus[vcpu.index()].extra_turn() {
            Some(queue) => self.leave_extra(cx, vcpu, queue),
            None => self.leave_reservation(cx, vcpu),
        }
    }

    /// `vcpu` ran by its reservation. It keeps its place while some of the slice is left; what it
    /// used too much counts against the next slice.
    fn leave_reservation(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let now = ns(cx.now());
        let runnable = cx.vcpu(vcpu).runnable();
        let v = &mut self.vcpus[vcpu.index()];
        v.cputime += now - v.started;
        self.collect(cx, vcpu);
        let v = &mut self.vcpus[vcpu.index()];
        if v.cputime < v.slice && runnable {
            return;
        }
        self.dequeue_main(vcpu);
        let v = &mut self.vcpus[vcpu.index()];
        if v.cputime >= v.slice {
            v.cputime -= v.slice;
            if v.period < v.period_orig {
                v.period *= 2;
                v.slice *= 2;
                if v.period > v.period_orig || v.slice > v.slice_orig {
                    v.period = v.period_orig;
                    v.slice = v.slice_orig;
                }
            }
            v.deadline += v.period;
            event::deadline(cx, vcpu, v);
        }
        if runnable {
            self.enqueue(Queue::Wait, vcpu);
        } else {
            self.dequeue_all(vcpu);
        }
    }

    /// Brings the run and the wait queue of `pcpu` up to date. Every entry of the wait queue begins
    /// later than now afterwards, and the head of the run queue may run.
    pub(super) fn update_queues(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        let now = ns(cx.now());
        loop {
            let head = self.pcpus[pcpu.index()].head(Queue::Wait);
            if head == NIL || self.vcpus[head as usize].begin() > now {
                break;
            }
            self.dequeue_main(VcpuId(head));
            let queue = self.begin_period(cx, VcpuId(head));
            self.enqueue(queue, VcpuId(head));
            self.tell_held(cx, VcpuId(head));
        }
        let mut at = self.pcpus[pcpu.index()].head(Queue::Run);
        while at != NIL {
            // Whoever is put back in front of this one is in order, and need not be seen again.
            let next = self.vcpus[at as usize].links[Queue::Run.link()].next;
            if !self.put_right(cx, VcpuId(at)) {
                break;
            }
            at = next;
        }
    }

    /// Moves `vcpu`, which is in the run queue, to a later period if it has no business there.
    /// Returns whether it did.
    fn put_right(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> bool {
        let now = ns(cx.now());
        let v = &mut self.vcpus[vcpu.index()];
        let queue = if v.slice == 0 {
            self.dequeue_main(vcpu);
            let v = &mut self.vcpus[vcpu.index()];
            v.deadline += v.period;
            if v.begin() < now {
                v.deadline += ceil_div(now - v.begin(), v.period) * v.period;
            }
            Queue::Wait
        } else if v.deadline < now || v.cputime > v.slice {
            event::missed(cx, vcpu, v, now);
            self.dequeue_main(vcpu);
            let v = &mut self.vcpus[vcpu.index()];
            v.deadline += v.period;
            if v.deadline < now {
                v.deadline += ceil_div(now - v.deadline, v.period) * v.period;
            }
            v.cputime = 0;
            self.begin_period(cx, vcpu)
        } else {
            return false;
        };
        event::deadline(cx, vcpu, &self.vcpus[vcpu.index()]);
        self.enqueue(queue, vcpu);
        self.tell_held(cx, vcpu);
        true
    }

    /// Records whether the slice of `vcpu`, which is queued, is used up, where that has changed
    /// since it was recorded last.
    pub(super) fn tell_held(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let now = ns(cx.now());
        let v = &mut self.vcpus[vcpu.index()];
        let held = v.is_held();
        if held == v.has(flag::HELD) {
            return;
        }
        if held {
            v.set(flag::HELD);
            event::used_up(cx, vcpu, v, now);
        } else {
            v.clear(flag::HELD);
            event::filled(cx, vcpu, v, now);
        }
    }

    /// The vcpu that runs on `pcpu`, whose queues are up to date, and for how long.
    pub(super) fn choose(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) -> Pick {
        let now = ns(cx.now());
        let [mut head, waits] = [Queue::Run, Queue::Wait].map(|q| self.pcpus[pcpu.index()].head(q));
        if self.listener.is_some() && head != NIL {
            head = self.busiest(cx, pcpu, VcpuId(head)).0;
        }
        let until_next = match waits {
            NIL => None,
            v => Some(self.vcpus[v as usize].begin() - now),
        };
        let (next, length) = if head != NIL {
            let v = &self.vcpus[head as usize];
            event::slice(cx, VcpuId(head), v, now);
            let left = v.slice - v.cputime;
            (
                Some(VcpuId(head)),
                until_next.map_or(left, |until| until.min(left)),
            )
        } else if let Some(until) = until_next {
            self.choose_extra(cx, pcpu, until)
        } else {
            (None, IDLE_SLICE)
        };
        let length = match length {
            // The vcpu that comes with a negative slice gets a turn of this length, as in Xen.
            ..0 => EXTRA_QUANTUM,
            // Nothing is left when an operator has just cut the slice, or when a vcpu that reserves
            // nothing is behind by whole periods. Xen sets a timer that has expired already then.
            0 => 1,
            left => left,
        };
        if let Some(vcpu) = next {
            self.vcpus[vcpu.index()].started = now;
        }
        self.pcpus[pcpu.index()].expires = now + length;
        Pick {
            next,
            time_slice: Some(Duration::from_nanos(length as u64)),
        }
    }

    /// Whether `vcpu`, which has just become runnable, is to interrupt what its pcpu does: if its
    /// period begins before the current slice ends, or if its turn of extra time is the better one.
    pub(super) fn preempts(&self, cx: &Cx<'_>, vcpu: VcpuId) -> bool {
        let v = &self.vcpus[vcpu.index()];
        let pcpu = PcpuId(v.pcpu);
        if v.begin() < self.pcpus[pcpu.index()].expires {
            return true;
        }
        let Some(current) = cx.current(pcpu) else {
            return true;
        };
        let current = &self.vcpus[current.index()];
        match current.extra_turn() {
            Some(Queue::Penalty) => v.has(flag::WANT_PENALTY) && v.score[0] < current.score[0],
            Some(_) => v.has(flag::WANT_PENALTY),
            None => false,
        }
    }
}
