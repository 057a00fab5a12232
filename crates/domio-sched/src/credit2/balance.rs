//! Moving vcpus between run queues, and choosing a pcpu (xen-spec 4.1 "balance_load",
//! "Placement").

use super::load::Change;
use super::state::{NOWHERE, flag};
use super::{Credit2, event};
use domio_contract::Cx;
use domio_core::{CpuSet, PcpuId, VcpuId};

/// What balancing found best so far.
struct Best {
    /// The difference in load that is left.
    delta: i64,
    push: Option<VcpuId>,
    pull: Option<VcpuId>,
}

impl Credit2 {
    /// Numbers of the run queues that exist, ascending.
    pub(super) fn existing(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.runqs.len()).filter(|r| self.runqs[*r].exists())
    }

    /// After a reset of `own`: evens out the load between that and the run queue from which it
    /// differs most. `next` is about to run.
    #[inline(never)]
    pub(super) fn balance(&mut self, cx: &mut Cx<'_>, own: usize, next: VcpuId) {
        self.update_runq_load(cx, own, Change::None);
        if self.runqs.len() == 1 {
            return;
        }
        let (mut delta, mut other, mut last) = (0, None, own);
        for i in 0..self.runqs.len() {
            if !self.runqs[i].exists() {
                continue;
            }
            last = i;
            if i == own {
                continue;
            }
            self.update_runq_load(cx, i, Change::None);
            let differs = (self.runqs[own].balanced - self.runqs[i].balanced).abs();
            if differs > delta {
                (delta, other) = (differs, Some(i));
            }
        }
        let Some(other) = other else {
            return;
        };
        event::load_check(cx, self.here, own, last, delta);
        if delta < self.tolerance(own, last) {
            return;
        }
        let (a, b) = (self.runqs[own].balanced, self.runqs[other].balanced);
        event::balance(cx, self.here, a, b);
        let best = self.best_move(cx, own, other, delta);
        if let Some(vcpu) = best.push {
            self.send(cx, vcpu, other, next);
        }
        if let Some(vcpu) = best.pull {
            self.send(cx, vcpu, own, next);
        }
    }

    /// The difference in load that is put up with. Xen means the two run queues that differ most
    /// and looks at its own and the last one of all.
    fn tolerance(&self, own: usize, last: usize) -> i64 {
        let (own, last) = (&self.runqs[own], &self.runqs[last]);
        let load = own.balanced.max(last.balanced);
        let pcpus = own.active.len().max(last.active.len()) as i64;
        match load < pcpus << self.settings.precision {
            true => self.settings.under,
            false => self.settings.over,
        }
    }

    /// Which vcpu of `own` to push to `other`, and which one of `other` to pull, so that the loads
    /// differ least: of all pairs, where one may be missing.
    fn best_move(&mut self, cx: &mut Cx<'_>, own: usize, other: usize, delta: i64) -> Best {
        let mut best = Best {
            delta,
            push: None,
            pull: None,
        };
        let mut pulls_updated = false;
        let mut push = self.first_member(own);
        while let Some(pushed) = push {
            push = self.next_member(pushed);
            self.update_vcpu_load(cx, pushed, Change::None);
            if !self.may_join(cx, pushed, other) {
                continue;
            }
            let mut pull = self.first_member(other);
            while let Some(pulled) = pull {
                pull = self.next_member(pulled);
                if !pulls_updated {
                    self.update_vcpu_load(cx, pulled, Change::None);
                }
                if self.may_join(cx, pulled, own) {
                    self.consider(&mut best, own, other, Some(pushed), Some(pulled));
                }
            }
            pulls_updated = true;
            self.consider(&mut best, own, other, Some(pushed), None);
        }
        let mut pull = self.first_member(other);
        while let Some(pulled) = pull {
            pull = self.next_member(pulled);
            if self.may_join(cx, pulled, own) {
                self.consider(&mut best, own, other, None, Some(pulled));
            }
        }
        best
    }

    fn consider(
        &self,
        best: &mut Best,
        own: usize,
        other: usize,
        push: Option<VcpuId>,
        pull: Option<VcpuId>,
    ) {
        let load = |vcpu: Option<VcpuId>| vcpu.map_or(0, |v| self.vcpus[v.index()].average);
        let moved = load(pull) - load(push);
        let here = self.runqs[own].balanced + moved;
        let there = self.runqs[other].balanced - moved;
        let delta = (here - there).abs();
        if delta < best.delta {
            *best = Best { delta, push, pull };
        }
    }

    /// Whether `vcpu` may run on some pcpu of `runq` and is not on its way elsewhere.
    fn may_join(&self, cx: &Cx<'_>, vcpu: VcpuId, runq: usize) -> bool {
        !self.vcpus[vcpu.index()].has(flag::REQUESTED)
            && cx.hard(vcpu).intersects(&self.runqs[runq].active)
    }

    /// Has `vcpu` go to `to`: immediately, or when the pcpu that has it lets it go. `next` is the
    /// one that a pcpu is about to take.
    fn send(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, to: usize, next: VcpuId) {
        let from = self.vcpus[vcpu.index()].runq as usize;
        event::migrate(cx, self.here, vcpu, from, to);
        let v = &mut self.vcpus[vcpu.index()];
        if v.has(flag::SCHEDULED) {
            v.target = to as u16;
            v.set(flag::REQUESTED);
            if vcpu == next {
                // Xen flags it and switches to it in any case.
                v.set(flag::MARKED);
            } else {
                cx.migrate(vcpu);
            }
            self.ask_for_pass(cx, cx.vcpu(vcpu).pcpu);
            return;
        }
        let waits = v.has(flag::QUEUED);
        if waits {
            self.dequeue(vcpu);
            self.update_load_of(cx, from, Change::Ceases);
        }
        let pcpu = self.change_runq(cx, vcpu, to);
        cx.move_to(vcpu, pcpu);
        if waits {
            self.update_load_of(cx, to, Change::Begins);
            self.enqueue(cx, vcpu);
            self.tickle(cx, vcpu);
        }
    }

    /// `vcpu`, which neither runs nor waits, goes to the run queue `to`. Returns its pcpu there:
    /// the one whose turn it is, whatever was chosen before.
    pub(super) fn change_runq(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, to: usize) -> PcpuId {
        self.leave(cx, vcpu);
        let among = cx.hard(vcpu) & self.runqs[to].active;
        let pcpu = self.take_turn(to, &among);
        self.join(cx, vcpu, to);
        pcpu
    }

    /// The pcpu of `among` whose turn it is by the bias of `runq`.
    fn take_turn(&mut self, runq: usize, among: &CpuSet) -> PcpuId {
        let bias = &mut self.runqs[runq].pick_bias;
        *bias = among
            .cycle(*bias)
            .expect("a run queue is chosen for a pcpu of it that the vcpu may have");
        *bias
    }

    /// Where `vcpu`, which neither runs nor waits, goes: to the run queue where balancing wants it,
    /// else to the one with the least load, with one of its liking before others.
    pub(super) fn place(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let pcpu = self.choose(cx, vcpu);
        let to = self.runq_of(pcpu);
        let v = &mut self.vcpus[vcpu.index()];
        if v.take(flag::UNPLACED) {
            self.join(cx, vcpu, to);
            pcpu
        } else if v.runq as usize != to {
            event::migrate(cx, self.here, vcpu, v.runq as usize, to);
            self.change_runq(cx, vcpu, to)
        } else {
            pcpu
        }
    }

    fn choose(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let hard = cx.hard(vcpu);
        let v = &mut self.vcpus[vcpu.index()];
        v.clear(flag::MARKED);
        let own = v.runq;
        if v.take(flag::REQUESTED) {
            let target = core::mem::replace(&mut v.target, NOWHERE) as usize;
            let among = hard & self.runqs[target].active;
            if !among.is_empty() {
                let pcpu = self.take_turn(target, &among);
                event::picked(cx, self.here, vcpu, i64::MAX);
                return pcpu;
            }
        }
        let soft = self.preferred(cx, vcpu);
        let (mut least, mut least_liked) = (None, None);
        for i in self.existing() {
            let r = &self.runqs[i];
            if !hard.intersects(&r.active) {
                continue;
            }
            let load = match own as usize == i {
                true => (r.balanced - self.vcpus[vcpu.index()].average).max(0),
                false => r.balanced,
            };
            let lighter = |than: Option<(i64, usize)>| than.is_none_or(|(l, _)| load < l);
            if soft.is_some_and(|s| s.intersects(&r.active)) && lighter(least_liked) {
                least_liked = Some((load, i));
            }
            if lighter(least) {
                least = Some((load, i));
            }
        }
        let (load, lightest) = least.expect("a vcpu has an online pcpu in its affinity");
        let among = match (soft, least_liked) {
            (Some(soft), Some((_, liked))) => soft & self.runqs[liked].active,
            _ => hard & self.runqs[lightest].active,
        };
        // Xen goes by the bias of the lightest of all, even for a pcpu of another one.
        let pcpu = self.take_turn(lightest, &among);
        event::picked(cx, self.here, vcpu, load);
        pcpu
    }
}
