//! Wake-ups: boost, queue, and whom to tickle (xen-spec 3.1 "wake" and "tickle", 3.3, 3.4).

use super::rules::KickAway;
use super::state::{Priority, flag};
use super::{Credit, event};
use domio_contract::{Cx, Wake};
use domio_core::{CpuSet, PcpuId, VcpuId};

/// Which affinity a step of a search goes by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Soft and hard affinity together; only for a vcpu whose soft affinity says something.
    Soft,
    /// Hard affinity alone.
    Hard,
}

impl Credit {
    /// The affinity of `vcpu` for `step`, `None` to leave the step out: in [`Step::Soft`] unless
    /// soft affinity leaves some of the pcpus in hard affinity, but is not all that Xen can have;
    /// later not all of those in hard affinity, nor every pcpu.
    #[inline]
    pub(super) fn affinity(&self, cx: &Cx<'_>, vcpu: VcpuId, step: Step) -> Option<CpuSet> {
        match step {
            Step::Hard => Some(cx.hard(vcpu)),
            Step::Soft if !self.rules.soft_affinity || !cx.soft_affinity_matters() => None,
            Step::Soft => {
                let (hard, soft) = (cx.hard(vcpu), cx.soft(vcpu));
                let says_nothing = match self.rules.soft_must_narrow {
                    true => hard.is_subset(&soft) || cx.online().is_subset(&soft),
                    false => soft == CpuSet::ALL,
                };
                let both = hard & soft;
                (!says_nothing && !both.is_empty()).then_some(both)
            }
        }
    }

    /// `vcpu` became runnable; `here` is the pcpu on which that was found out, as far as known.
    #[inline(always)]
    pub(super) fn wake_up(&mut self, cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId, why: Wake) {
        let pcpu = cx.vcpu(vcpu).pcpu;
        let current = cx.current(pcpu);
        let v = &mut self.vcpus[vcpu.index()];
        if v.queued() || current == Some(vcpu) {
            return;
        }
        let migrating = why == Wake::Migrate || v.has(flag::MIGRATING);
        v.clear(flag::MIGRATING);
        if v.priority == Priority::Under
            && !v.has(flag::PARKED)
            && self.settings.boost
            && (self.rules.boost_migrated || !migrating)
        {
            v.priority = Priority::Boost;
            event::boost_start(cx, here, vcpu);
        }
        let priority = v.priority;
        if self.settings.boost_balance
            && priority == Priority::Boost
            && self.send_boosted(cx, here, pcpu, vcpu)
        {
            return;
        }
        self.enqueue_runnable(pcpu, vcpu);
        if !self.rules.tickle_prefers_idlers {
            return self.tickle_all(cx, here, pcpu, vcpu);
        }
        // Most wake-ups on a busy host find nobody idle.
        match current {
            Some(current) if self.idlers.is_empty() => {
                if self.settings.preempt && priority > self.vcpus[current.index()].priority {
                    event::tickle(cx, here, pcpu);
                    cx.tickle(pcpu);
                }
            }
            _ => self.tickle_idler_first(cx, here, pcpu, vcpu),
        }
    }

    /// Xen's `sleep`: `vcpu` is not runnable any more.
    pub(super) fn take_off(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if self.vcpus[vcpu.index()].queued() {
            self.dequeue_runnable(vcpu);
        } else if cx.is_current(vcpu) {
            let pcpu = cx.vcpu(vcpu).pcpu;
            cx.tickle(pcpu);
        }
    }

    /// Until 4.2: preempt `pcpu` if that is due, and let idle pcpus know that there is work.
    #[inline(never)]
    fn tickle_all(&mut self, cx: &mut Cx<'_>, here: PcpuId, pcpu: PcpuId, vcpu: VcpuId) {
        let priority = self.vcpus[vcpu.index()].priority;
        let current = cx.current(pcpu);
        let mut mask = CpuSet::EMPTY;
        match current {
            None => mask.insert(pcpu),
            Some(c) => {
                if self.settings.preempt && priority > self.vcpus[c.index()].priority {
                    mask.insert(pcpu);
                }
                let idlers = self.idlers & cx.hard(vcpu);
                if self.rules.tickle_one {
                    if let Some(one) = self.next_idler(here, &idlers) {
                        mask.insert(one);
                    }
                } else {
                    mask |= idlers;
                }
            }
        }
        if cx.tracing() {
            for p in mask.iter() {
                event::tickle(cx, here, p);
            }
        }
        for p in mask.iter() {
            cx.tickle(p);
        }
    }

    /// Since 4.3: at most one pcpu, and rather one that idles than the one that runs something.
    #[inline(never)]
    fn tickle_idler_first(&mut self, cx: &mut Cx<'_>, here: PcpuId, pcpu: PcpuId, vcpu: VcpuId) {
        let Some(current) = cx.current(pcpu) else {
            return self.tickle_one(cx, here, pcpu);
        };
        let preempts = self.settings.preempt
            && self.vcpus[vcpu.index()].priority > self.vcpus[current.index()].priority;
        let idlers = self.idlers & cx.online();
        if idlers.is_empty() {
            if preempts {
                self.tickle_one(cx, here, pcpu);
            }
            return;
        }
        if self.rules.pinned_fast_path && idlers.contains(pcpu) && cx.hard(vcpu) == CpuSet::of(pcpu)
        {
            return self.tickle_one(cx, here, pcpu);
        }
        for step in [Step::Soft, Step::Hard] {
            let Some(affinity) = self.affinity(cx, vcpu, step) else {
                continue;
            };
            let suitable = affinity & idlers;
            if suitable.is_empty() {
                continue;
            }
            let among = match self.rules.tickles_any_idler {
                true => idlers,
                false => suitable,
            };
            if let Some(one) = self.next_idler(here, &among) {
                return self.tickle_one(cx, here, one);
            }
        }
        // Pcpus idle, but none that suits.
        if preempts {
            let leaves = match self.rules.kick_away {
                KickAway::Always => true,
                KickAway::IfItFits => cx.hard(current).intersects(&idlers),
                KickAway::Never | KickAway::DeadTest => false,
            };
            if leaves {
                cx.migrate(current);
            }
            self.tickle_one(cx, here, pcpu);
        }
    }

    /// The idle pcpu of `idlers` whose turn it is, after the last one that `here` tickled.
    #[inline]
    fn next_idler(&mut self, here: PcpuId, idlers: &CpuSet) -> Option<PcpuId> {
        let last = &mut self.pcpus[here].last_tickled;
        let next = idlers.cycle(*last)?;
        *last = next;
        Some(next)
    }

    #[inline]
    pub(super) fn tickle_one(&mut self, cx: &mut Cx<'_>, here: PcpuId, pcpu: PcpuId) {
        event::tickle(cx, here, pcpu);
        if self.rules.tickled_leave_idlers {
            self.idlers.remove(pcpu);
        }
        cx.tickle(pcpu);
    }
}
