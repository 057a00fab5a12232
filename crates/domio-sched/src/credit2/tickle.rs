//! Whom to ask for a pass when a vcpu has come to wait (xen-spec 4.1 "Tickle").

use super::burn::in_32_bits;
use super::params::{CREDIT_INIT, TICKLE_TOLERANCE};
use super::state::Runq;
use super::{Credit2, event, ns};
use domio_contract::Cx;
use domio_core::{CpuSet, PcpuId, VcpuId};

impl Runq {
    /// `pcpu`, whose core has the threads `core`, has work or soon will.
    #[inline]
    pub(super) fn core_is_busy(&mut self, core: &CpuSet) {
        if core.is_subset(&self.smt_idle) {
            self.smt_idle &= !*core;
        }
    }

    /// Some thread of `core` has nothing to do any more; perhaps all.
    #[inline]
    pub(super) fn core_may_idle(&mut self, core: &CpuSet) {
        if core.is_subset(&(self.idle & !self.tickled)) {
            self.smt_idle |= *core;
        }
    }
}

impl Credit2 {
    /// Asks for a pass on `pcpu`, which counts as busy from now on.
    #[inline]
    pub(super) fn ask_for_pass(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        let p = &self.pcpus[pcpu];
        let runq = &mut self.runqs[p.runq as usize];
        runq.tickled.insert(pcpu);
        runq.core_is_busy(&p.core);
        cx.tickle(pcpu);
    }

    /// Finds a pcpu for `vcpu`, which waits from now on: one that idles, else one where somebody
    /// with less credit runs.
    #[inline]
    pub(super) fn tickle(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let v = &self.vcpus[vcpu.index()];
        event::tickle_for(cx, self.here, vcpu, v.credit);
        let runq = v.runq as usize;
        let home = cx.vcpu(vcpu).pcpu;
        let mut chosen = None;
        let r = &self.runqs[runq];
        // A thread that came online beside a busy one stays in the second set while it works.
        if !r.idle.is_empty() || !r.smt_idle.is_empty() {
            chosen = self.idler_for(cx, runq, vcpu, home);
        }
        if chosen.is_none() {
            chosen = self.victim_for(cx, runq, vcpu, home);
        }
        if let Some(pcpu) = chosen {
            event::tickle(cx, self.here, pcpu);
            self.ask_for_pass(cx, pcpu);
            self.vcpus[vcpu.index()].tickled = pcpu.0;
        }
    }

    /// An idle pcpu of `runq` that `vcpu` can have: one it prefers before others, in an idle core
    /// before others, its `home` before others.
    fn idler_for(&self, cx: &Cx<'_>, runq: usize, vcpu: VcpuId, home: PcpuId) -> Option<PcpuId> {
        let r = &self.runqs[runq];
        let idle = r.idle & !r.tickled;
        if idle.contains(home) && cx.is_pinned(vcpu) {
            return Some(home);
        }
        let first = match self.settings.power_savings {
            // Those that were tickled count, too.
            true => r.idle & !r.smt_idle,
            false => r.smt_idle,
        };
        let hard = cx.hard(vcpu);
        let soft = self.preferred(cx, vcpu);
        for affinity in soft.iter().chain([&hard]) {
            let found = (first & *affinity).test_or_cycle(home);
            let found = found.or_else(|| (idle & *affinity).test_or_cycle(home));
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// The busy pcpu of `runq` whose vcpu `vcpu` had best preempt, if any: its `home` if that is to
    /// its liking, else the one with the best score.
    fn victim_for(
        &mut self,
        cx: &mut Cx<'_>,
        runq: usize,
        vcpu: VcpuId,
        home: PcpuId,
    ) -> Option<PcpuId> {
        let r = &self.runqs[runq];
        let mut busy = r.active & !r.idle & !r.tickled & cx.hard(vcpu);
        let (mut best, mut chosen) = (0, None);
        if busy.contains(home) {
            busy.remove(home);
            let score = self.score(cx, vcpu, home, home);
            if score > best {
                if self.likes(cx, vcpu, home) {
                    return Some(home);
                }
                (best, chosen) = (score, Some(home));
            }
        }
        for pcpu in busy.iter() {
            let score = self.score(cx, vcpu, pcpu, home);
            if score > best {
                (best, chosen) = (score, Some(pcpu));
            }
        }
        chosen
    }

    /// What is to be said for `vcpu` preempting who runs on `pcpu`: nothing unless positive.
    fn score(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, pcpu: PcpuId, home: PcpuId) -> i64 {
        let Some(current) = cx.current(pcpu) else {
            return -1;
        };
        let ran = ns(cx.now()) - self.vcpus[current.index()].entered;
        let limit = self.settings.ratelimit;
        if limit > TICKLE_TOLERANCE && ran <= limit - TICKLE_TOLERANCE {
            return -1;
        }
        self.burn(cx, current);
        let credit = self.vcpus[current.index()].credit;
        let mut score = in_32_bits(self.vcpus[vcpu.index()].credit - credit);
        if pcpu != home {
            score -= self.settings.resist;
        }
        if score > 0 {
            if self.likes(cx, vcpu, pcpu) {
                score += CREDIT_INIT;
            }
            if !self.likes(cx, current, pcpu) {
                score += CREDIT_INIT;
            }
        }
        event::score(cx, self.here, current, credit, score);
        score
    }

    #[inline]
    fn soft_affinity_matters(&self, cx: &Cx<'_>) -> bool {
        cx.soft_affinity_matters() && self.settings.rules.soft_affinity
    }

    /// Whether `pcpu` is in the soft affinity of `vcpu`, be that of effect or not.
    #[inline]
    fn likes(&self, cx: &Cx<'_>, vcpu: VcpuId, pcpu: PcpuId) -> bool {
        !self.soft_affinity_matters(cx) || cx.soft(vcpu).contains(pcpu)
    }

    /// The pcpus that `vcpu` prefers among those it may have, if that says anything.
    #[inline]
    pub(super) fn preferred(&self, cx: &Cx<'_>, vcpu: VcpuId) -> Option<CpuSet> {
        if !self.soft_affinity_matters(cx) {
            return None;
        }
        let (hard, soft) = (cx.hard(vcpu), cx.soft(vcpu));
        let both = hard & soft;
        let narrows = !hard.is_subset(&soft) && !cx.online().is_subset(&soft);
        (narrows && !both.is_empty()).then_some(both)
    }
}
