//! Balancing of boosted vcpus (Zeng 2015, IV.A): a boosted vcpu that wakes where another one runs
//! queues on the pcpu where it runs soonest. Run queues are priority queues meanwhile: accounting,
//! which changes priorities, puts them in order immediately, where Xen leaves that to the next
//! tick.

use super::super::state::{NIL, Priority};
use super::super::{Credit, event};
use domio_contract::{Cx, Work};
use domio_core::{CpuSet, PcpuId, VcpuId};

/// What a boosted vcpu would find on a pcpu, the best first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Finds {
    /// It idles, and nobody is on the way there.
    Idle,
    /// Nobody who is boosted runs there, nor is about to.
    NoBoost,
    /// Somebody runs there who is boosted, or who is not to be preempted.
    Taken,
}

/// The best pcpus that a search has come by so far.
struct Best {
    /// The first without a boosted vcpu.
    no_boost: Option<PcpuId>,
    /// That with the fewest boosted vcpus in its queue, and their number.
    shortest: (PcpuId, u32),
    /// Pcpus looked at, and vcpus queued there.
    looks: u32,
}

impl Credit {
    /// The boosted `vcpu` wakes, and belongs to `pcpu`. If another pcpu suits it better, queues it
    /// there and has it run; returns whether it did.
    pub(in super::super) fn send_boosted(
        &mut self,
        cx: &mut Cx<'_>,
        here: PcpuId,
        pcpu: PcpuId,
        vcpu: VcpuId,
    ) -> bool {
        // Whoever is still in a switch cannot move.
        if cx.vcpu(vcpu).on_pcpu || self.finds(cx, pcpu) != Finds::Taken {
            return false;
        }
        let (target, looks) = self.find_pcpu(cx, pcpu, vcpu);
        cx.did(Work::Balance, looks);
        event::balanced(cx, here, vcpu, (pcpu, target), looks);
        if target == pcpu {
            return false;
        }
        let found = self.finds(cx, target);
        cx.move_to(vcpu, target);
        self.enqueue_runnable(target, vcpu);
        let runs = match found {
            Finds::Idle => true,
            Finds::NoBoost => self.settings.preempt || cx.current(target).is_none(),
            Finds::Taken => false,
        };
        if runs {
            self.tickle_one(cx, here, target);
        }
        true
    }

    /// What a boosted vcpu would find on `pcpu`. The head of a queue that is boosted runs in a
    /// moment: it counts as running.
    fn finds(&self, cx: &Cx<'_>, pcpu: PcpuId) -> Finds {
        let p = &self.pcpus[pcpu];
        if p.head_priority(&self.vcpus) == Priority::Boost {
            return Finds::Taken;
        }
        match cx.current(pcpu) {
            None if p.head == NIL && self.idlers.contains(pcpu) => Finds::Idle,
            None => Finds::NoBoost,
            Some(current) => {
                let boosted = self.vcpus[current.index()].priority == Priority::Boost;
                match boosted || self.is_dispatching(cx, pcpu) {
                    true => Finds::Taken,
                    false => Finds::NoBoost,
                }
            }
        }
    }

    /// The pcpu for the boosted `vcpu`, which belongs to `own`, and how many looks it took: the
    /// nearest one that idles, else the nearest without a boosted vcpu, else that with the fewest
    /// boosted ones in its queue, of several the nearest. Near is the same core, then the same
    /// socket; of pcpus at one distance the next number after `own` goes first.
    fn find_pcpu(&self, cx: &Cx<'_>, own: PcpuId, vcpu: VcpuId) -> (PcpuId, u32) {
        let allowed = cx.hard(vcpu);
        let topology = cx.topology();
        let (core, socket) = (*topology.siblings(own), *topology.socket(own));
        let mut best = Best {
            no_boost: None,
            shortest: (own, u32::MAX),
            looks: 1,
        };
        if allowed.contains(own) {
            self.compare_queue(own, &mut best);
        }
        let (mut near, mut there) = (core, allowed & core);
        there.remove(own);
        for wider in [socket, CpuSet::ALL] {
            if let Some(idle) = self.search_among(cx, own, &there, &mut best) {
                return (idle, best.looks);
            }
            there = allowed & wider & !near;
            near = wider;
        }
        if let Some(idle) = self.search_among(cx, own, &there, &mut best) {
            return (idle, best.looks);
        }
        (best.no_boost.unwrap_or(best.shortest.0), best.looks)
    }

    /// Looks at each pcpu `there`, and returns the first that idles.
    fn search_among(
        &self,
        cx: &Cx<'_>,
        own: PcpuId,
        there: &CpuSet,
        best: &mut Best,
    ) -> Option<PcpuId> {
        let first = there.cycle(own)?;
        let mut pcpu = first;
        loop {
            best.looks += 1;
            match self.finds(cx, pcpu) {
                Finds::Idle => return Some(pcpu),
                Finds::NoBoost => best.no_boost = best.no_boost.or(Some(pcpu)),
                Finds::Taken if best.no_boost.is_none() => self.compare_queue(pcpu, best),
                Finds::Taken => {}
            }
            pcpu = there.cycle(pcpu)?;
            if pcpu == first {
                return None;
            }
        }
    }

    /// Counts the boosted vcpus in the queue of `pcpu`, as far as there are fewer than in the
    /// shortest so far.
    fn compare_queue(&self, pcpu: PcpuId, best: &mut Best) {
        let boosted = |v: &VcpuId| self.vcpus[v.index()].priority == Priority::Boost;
        let most = best.shortest.1 as usize;
        let count = self.queue(pcpu).take_while(boosted).take(most).count() as u32;
        best.looks += count;
        if count < best.shortest.1 {
            best.shortest = (pcpu, count);
        }
    }

    /// Accounting has changed priorities: brings every queue in order.
    pub(in super::super) fn reorder_all(&mut self, cx: &mut Cx<'_>) {
        for pcpu in cx.online().iter() {
            let moved = self.reorder(pcpu);
            cx.did(Work::Sorted, moved);
        }
    }

    /// Brings the queue of `pcpu` in order: by priority, and inside a priority as it was. Returns
    /// how many vcpus changed their places.
    fn reorder(&mut self, pcpu: PcpuId) -> u32 {
        let mut moved = 0;
        let mut last = NIL;
        let mut last_with_credit = NIL;
        let mut at = self.pcpus[pcpu].head;
        while let Some(v) = self.vcpus.get(at as usize) {
            let (next, priority) = (v.next, v.priority);
            let before = self.vcpus.get(last as usize).map(|v| v.priority);
            if before.is_some_and(|before| priority > before) {
                let lower = |v: &VcpuId| self.vcpus[v.index()].priority < priority;
                let place = self.queue(pcpu).find(lower);
                let place = place.expect("the one before has a lower priority");
                self.dequeue(VcpuId(at));
                self.link_before(pcpu, at, place.0);
                moved += 1;
            } else {
                last = at;
            }
            at = next;
        }
        for v in self.queue(pcpu) {
            if self.vcpus[v.index()].priority >= Priority::Under {
                last_with_credit = v.0;
            }
        }
        let p = &mut self.pcpus[pcpu];
        p.credit_end = last_with_credit;
        p.sorted = self.sort_epoch;
        moved
    }
}
