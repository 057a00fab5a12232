//! The four queues of a pcpu: sorted lists, linked by index through the vcpus themselves, so that
//! no decision allocates.

use super::Sedf;
use super::state::{Link, NIL, Queue, Vcpu};
use domio_core::{PcpuId, VcpuId};

/// What `queue` is sorted by, smallest first; equal ones in order of arrival.
#[inline]
fn key(vcpu: &Vcpu, queue: Queue) -> i64 {
    match queue {
        Queue::Run => vcpu.deadline,
        Queue::Wait => vcpu.begin(),
        Queue::Penalty => vcpu.score[0],
        Queue::Utilisation => vcpu.score[1],
    }
}

impl Sedf {
    /// Puts `vcpu` in its place in `queue` of its pcpu.
    ///
    /// The queue may be out of order, because an operator may change what it is sorted by; the
    /// place is in front of the first entry with a larger key, as in Xen.
    pub(super) fn enqueue(&mut self, queue: Queue, vcpu: VcpuId) {
        self.enqueue_charging(queue, vcpu, 0);
    }

    /// As [`Sedf::enqueue`] into one of the queues for extra time, and takes `charge` off the score
    /// of all others there: relative to them, `vcpu` pays it.
    pub(super) fn enqueue_charging(&mut self, queue: Queue, vcpu: VcpuId, charge: i64) {
        let own = key(&self.vcpus[vcpu.index()], queue);
        let pcpu = usize::from(self.vcpus[vcpu.index()].pcpu);
        let mut place = NIL;
        let mut at = self.pcpus[pcpu].head(queue);
        while at != NIL {
            let other = &mut self.vcpus[at as usize];
            match queue {
                Queue::Penalty => other.score[0] -= charge,
                Queue::Utilisation => other.score[1] -= charge,
                Queue::Run | Queue::Wait => {}
            }
            if place == NIL && own < key(other, queue) {
                place = at;
                if charge == 0 {
                    break;
                }
            }
            at = other.links[queue.link()].next;
        }
        self.link_before(queue, vcpu, place);
    }

    /// Puts `vcpu` in front of `place`, or last when that is [`NIL`].
    fn link_before(&mut self, queue: Queue, vcpu: VcpuId, place: u32) {
        let link = queue.link();
        let own = &self.vcpus[vcpu.index()];
        assert!(own.links[link].queue.is_none(), "a vcpu is queued twice");
        let pcpu = &mut self.pcpus[usize::from(own.pcpu)];
        let prev = match place {
            NIL => core::mem::replace(&mut pcpu.tails[queue as usize], vcpu.0),
            n => core::mem::replace(&mut self.vcpus[n as usize].links[link].prev, vcpu.0),
        };
        match prev {
            NIL => pcpu.heads[queue as usize] = vcpu.0,
            p => self.vcpus[p as usize].links[link].next = vcpu.0,
        }
        self.vcpus[vcpu.index()].links[link] = Link {
            next: place,
            prev,
            queue: Some(queue),
        };
    }

    /// Takes `vcpu` out of the queue that it is in by way of `link`, if it is in one.
    fn unlink(&mut self, link: usize, vcpu: VcpuId) {
        let own = &mut self.vcpus[vcpu.index()];
        let pcpu = &mut self.pcpus[usize::from(own.pcpu)];
        let Link { next, prev, queue } = core::mem::replace(&mut own.links[link], Link::NOWHERE);
        let Some(queue) = queue else {
            return;
        };
        match prev {
            NIL => pcpu.heads[queue as usize] = next,
            p => self.vcpus[p as usize].links[link].next = next,
        }
        match next {
            NIL => pcpu.tails[queue as usize] = prev,
            n => self.vcpus[n as usize].links[link].prev = prev,
        }
    }

    /// Takes `vcpu` out of `queue`, if it is in it.
    pub(super) fn dequeue(&mut self, queue: Queue, vcpu: VcpuId) {
        if self.vcpus[vcpu.index()].is_in(queue) {
            self.unlink(queue.link(), vcpu);
        }
    }

    /// Takes `vcpu` out of the run or the wait queue, whichever it is in.
    pub(super) fn dequeue_main(&mut self, vcpu: VcpuId) {
        self.unlink(Queue::Run.link(), vcpu);
    }

    /// Takes `vcpu` out of every queue.
    pub(super) fn dequeue_all(&mut self, vcpu: VcpuId) {
        for link in 0..3 {
            self.unlink(link, vcpu);
        }
    }

    /// The vcpus in `queue` of `pcpu`, first one first.
    pub(super) fn queue(&self, pcpu: PcpuId, queue: Queue) -> impl Iterator<Item = VcpuId> + '_ {
        let mut at = self.pcpus[pcpu.index()].head(queue);
        core::iter::from_fn(move || {
            let vcpu = (at != NIL).then_some(VcpuId(at))?;
            at = self.vcpus[vcpu.index()].links[queue.link()].next;
            Some(vcpu)
        })
    }
}
