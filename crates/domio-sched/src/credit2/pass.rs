//! The pass: who runs next, and for how long (xen-spec 4.1 "Candidate").

use super::load::Change;
use super::params::{IDLE_CREDIT, IDLE_CREDIT_WITHOUT_END};
use super::state::{NOWHERE, flag};
use super::{Credit2, event, ns};
use domio_contract::{Cx, Pick, Prev};
use domio_core::{PcpuId, VcpuId};

/// Whom a pass comes to.
#[derive(Clone, Copy)]
struct Candidate {
    /// Who is to run; `None` to idle.
    next: Option<VcpuId>,
    /// Somebody who waits before that one could not run here or had rather not.
    passed_over: bool,
}

impl Credit2 {
    /// Whether `vcpu` wants to execute and is not to move first.
    #[inline]
    pub(super) fn runnable(&self, cx: &Cx<'_>, vcpu: VcpuId) -> bool {
        cx.vcpu(vcpu).runnable() && !self.vcpus[vcpu.index()].has(flag::MARKED)
    }

    /// The scheduler pass on `pcpu`.
    pub(super) fn pass(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        let p = &self.pcpus[pcpu];
        let (runq, core) = (p.runq as usize, p.core);
        let r = &mut self.runqs[runq];
        let tickled = r.tickled.contains(pcpu);
        if tickled {
            r.tickled.remove(pcpu);
            r.core_may_idle(&core);
        }
        let smt_idle = r.smt_idle.contains(pcpu);
        event::schedule(cx, pcpu, runq, prev.vcpu.is_none(), smt_idle, tickled);
        if let Some(vcpu) = prev.vcpu {
            if self.vcpus[vcpu.index()].take(flag::MARKED) {
                cx.migrate(vcpu);
            }
            self.burn(cx, vcpu);
            if self.vcpus[vcpu.index()].budget <= 0 {
                self.grab_budget(cx, vcpu);
            }
        }
        let candidate = self.candidate(cx, pcpu, runq, prev);
        let next = candidate.next;
        if let Some(vcpu) = prev.vcpu
            && next != prev.vcpu
            && cx.vcpu(vcpu).runnable()
        {
            self.vcpus[vcpu.index()].set(flag::DELAYED_ADD);
        }
        let Some(next) = next else {
            let r = &mut self.runqs[runq];
            if !r.idle.contains(pcpu) {
                r.idle.insert(pcpu);
                r.core_may_idle(&core);
            }
            self.update_load_of(cx, runq, Change::None);
            return Pick::IDLE;
        };
        let goes_on = prev.vcpu == Some(next);
        if !goes_on {
            self.dequeue(next);
            self.vcpus[next.index()].set(flag::SCHEDULED);
        } else if self.settings.rules.load_of_who_goes_on {
            self.update_load(cx, next, Change::None);
        }
        if self.settings.rules.busy_first {
            self.stops_idling(pcpu);
        }
        if self.epoch_is_over(runq, next, candidate.passed_over) {
            self.reset(cx, runq, next);
            self.balance(cx, runq, next);
        }
        if !self.settings.rules.busy_first {
            self.stops_idling(pcpu);
        }
        self.switch_in(cx, pcpu, next, goes_on);
        Pick {
            next: Some(next),
            time_slice: Some(self.slice(cx, pcpu, next, goes_on)),
        }
    }

    /// `pcpu` has work from now on.
    #[inline]
    fn stops_idling(&mut self, pcpu: PcpuId) {
        let p = &self.pcpus[pcpu];
        let r = &mut self.runqs[p.runq as usize];
        if r.idle.contains(pcpu) {
            r.idle.remove(pcpu);
            r.core_is_busy(&p.core);
        }
    }

    /// Whether nobody in `runq` has credit left, as far as a pass that comes to `next` can say.
    #[inline]
    fn epoch_is_over(&self, runq: usize, next: VcpuId, passed_over: bool) -> bool {
        let own = self.vcpus[next.index()].credit;
        if !self.settings.rules.reset_by_queue {
            return !passed_over && own <= 0;
        }
        let waits = self.vcpus.get(self.runqs[runq].head as usize);
        waits.map_or(own, |w| w.credit.max(own)) <= 0
    }

    /// `next` runs on `pcpu` from now on.
    #[inline]
    fn switch_in(&mut self, cx: &Cx<'_>, pcpu: PcpuId, next: VcpuId, goes_on: bool) {
        let now = ns(cx.now());
        let v = &mut self.vcpus[next.index()];
        v.start = now;
        v.tickled = NOWHERE;
        if !goes_on {
            v.entered = now;
        }
        if cx.vcpu(next).pcpu != pcpu {
            v.credit += super::params::COMPENSATION;
        }
    }

    /// Who is to run on `pcpu`: who ran, unless somebody who waits has more credit.
    fn candidate(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, runq: usize, prev: Prev) -> Candidate {
        let mut yields = false;
        let mut next = None;
        if let Some(vcpu) = prev.vcpu {
            yields = self.vcpus[vcpu.index()].take(flag::YIELD);
            let runnable = cx.vcpu(vcpu).runnable();
            let ran = ns(cx.now()) - self.vcpus[vcpu.index()].entered;
            if !yields && runnable && ran < self.settings.ratelimit {
                event::ratelimit(cx, pcpu, vcpu, ran);
                return Candidate {
                    next: prev.vcpu,
                    passed_over: false,
                };
            }
            if runnable && !self.better_elsewhere(cx, pcpu, runq, vcpu) {
                next = prev.vcpu;
            }
        }
        let (found, passed_over) = self.search(cx, pcpu, runq, next, yields);
        let next = found.or(next);
        let v = next.map(|v| &self.vcpus[v.index()]);
        let tickled = v.map_or(u32::MAX, |v| i32::from(v.tickled as i16) as u32);
        let credit = v.map_or(self.idle_credit(), |v| v.credit);
        event::candidate(cx, pcpu, next, tickled, credit);
        Candidate { next, passed_over }
    }

    /// What counts as the credit of idling.
    #[inline]
    fn idle_credit(&self) -> i64 {
        match self.settings.rules.credit_ends {
            true => IDLE_CREDIT,
            false => IDLE_CREDIT_WITHOUT_END,
        }
    }

    /// Who of those that wait in `runq` is to run on `pcpu` in place of `default`, if anybody, and
    /// whether somebody was passed over. Whoever `yields` gives way to less credit than its own.
    #[inline(always)]
    fn search(
        &mut self,
        cx: &mut Cx<'_>,
        pcpu: PcpuId,
        runq: usize,
        default: Option<VcpuId>,
        yields: bool,
    ) -> (Option<VcpuId>, bool) {
        let looks_on = self.settings.rules.looks_on;
        let credit = default.map_or(self.idle_credit(), |v| self.vcpus[v.index()].credit);
        let mut passed_over = false;
        let mut at = self.runqs[runq].head;
        while let Some(v) = self.vcpus.get(at as usize) {
            let vcpu = VcpuId(at);
            at = v.next;
            let (its_credit, its_tickled, capped) = (v.credit, v.tickled, v.capped());
            event::looked_at(cx, pcpu, vcpu);
            let wins = yields || its_credit > credit;
            if looks_on && !wins {
                break;
            }
            let elsewhere = || {
                its_tickled != NOWHERE
                    && its_tickled != pcpu.0
                    && self.runqs[runq].tickled.contains(PcpuId(its_tickled))
            };
            let view = cx.vcpu(vcpu);
            let resists = view.pcpu != pcpu && credit + self.settings.resist > its_credit;
            if !view.runnable() || resists || !cx.may_run_on(vcpu, pcpu) || elsewhere() {
                passed_over = true;
                continue;
            }
            // What comes of this cannot be taken back, so that it is asked last.
            if wins && (!capped || self.grab_budget(cx, vcpu)) {
                return (Some(vcpu), passed_over);
            }
            if !looks_on {
                break;
            }
        }
        (None, passed_over)
    }

    /// Whether `vcpu` had rather run on another pcpu of `runq` than on `pcpu`, and one idles.
    #[inline]
    fn better_elsewhere(&self, cx: &Cx<'_>, pcpu: PcpuId, runq: usize, vcpu: VcpuId) -> bool {
        let Some(soft) = self.preferred(cx, vcpu) else {
            return false;
        };
        let r = &self.runqs[runq];
        !soft.contains(pcpu) && soft.intersects(&(r.idle & !r.tickled))
    }
}
