//! The tick: debit of the vcpu that runs, and what else becomes of it (xen-spec 3.1 "Tick", 3.4).

use super::params::{CREDITS_PER_MS, CREDITS_PER_TICK};
use super::rules::Debit;
use super::state::{Priority, Vcpu, flag};
use super::{Credit, event};
use domio_contract::{Cx, Work};
use domio_core::{Instant, PcpuId, VcpuId};

const NS_PER_MS: i64 = 1_000_000;
pub(super) const NS_PER_CREDIT: i64 = NS_PER_MS / CREDITS_PER_MS;

impl Vcpu {
    /// Debits it, which is current, for its time since the last debit.
    #[inline]
    pub(super) fn burn(&mut self, rule: Debit, now: Instant) {
        let delta = now.as_nanos() as i64 - self.start;
        if delta <= 0 {
            return;
        }
        let credits = match rule {
            Debit::Residual => {
                // The start moves by whole credits only, so that the remainder counts again next
                // time; the start then gets ahead of time, and the loop evens out (test vector 6).
                // Unsigned division by a constant is the cheaper one.
                let value = (delta * CREDITS_PER_MS) as u64 + u64::from(self.residual);
                let credits = value / NS_PER_MS as u64;
                self.residual = (value - credits * NS_PER_MS as u64) as u32;
                credits as i64
            }
            Debit::Rounded => (delta * CREDITS_PER_MS + NS_PER_MS / 2) / NS_PER_MS,
            Debit::Sampled => return,
        };
        self.credit -= credits;
        self.start += credits * NS_PER_CREDIT;
    }
}

impl Credit {
    /// The tick of `pcpu`. Returns the time of the next one.
    #[inline]
    pub(super) fn tick(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) -> Option<Instant> {
        let Some(vcpu) = cx.current(pcpu) else {
            return self.end_tick(cx, pcpu);
        };
        let v = &mut self.vcpus[vcpu.index()];
        match self.rules.debit {
            Debit::Sampled => v.credit -= CREDITS_PER_TICK,
            rule => v.burn(rule, cx.now()),
        }
        // The usual case on a busy host: it earns already, and there is nowhere to go.
        let quiet = v.priority != Priority::Boost && v.has(flag::ACTIVE);
        if !quiet || !self.nowhere_else(cx, vcpu, pcpu) {
            return self.tick_current(cx, pcpu, vcpu);
        }
        cx.did(Work::Look, 1);
        event::picked(cx, pcpu, vcpu, pcpu);
        let p = &mut self.pcpus[pcpu];
        if p.sorted != self.sort_epoch || !self.rules.accounting_timer {
            return self.end_tick(cx, pcpu);
        }
        p.ticking = true;
        Some(cx.now() + self.settings.tick)
    }

    /// What a tick of `pcpu` does in addition to what its vcpu is subject to.
    #[inline(never)]
    fn end_tick(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) -> Option<Instant> {
        if !self.rules.accounting_timer {
            self.count_tick(cx, pcpu);
        }
        // An idle pcpu of 3.4 and later goes back to its idle loop, which stops the tick.
        let on = cx.current(pcpu).is_some() || !self.rules.idle_stops_tick;
        let p = &mut self.pcpus[pcpu];
        p.ticking = on;
        if p.sorted != self.sort_epoch {
            cx.did(Work::Sort, 1);
            cx.did(Work::Sorted, p.runnable);
            self.sort(pcpu);
        }
        on.then(|| cx.now() + self.settings.tick)
    }

    /// Until 3.3 the master accounts at every so many ticks.
    #[inline(never)]
    fn count_tick(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        let p = &mut self.pcpus[pcpu];
        p.ticks = p.ticks.wrapping_add(1);
        if self.master == Some(pcpu) && p.ticks.is_multiple_of(self.settings.ticks_per_tslice) {
            self.account(cx, pcpu);
        }
    }

    /// Xen's `csched_vcpu_acct` after the debit, and the end of the tick: `vcpu` was found running
    /// at the tick of `pcpu`.
    #[inline(never)]
    fn tick_current(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, vcpu: VcpuId) -> Option<Instant> {
        self.look_at_current(cx, pcpu, vcpu);
        self.end_tick(cx, pcpu)
    }

    fn look_at_current(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, vcpu: VcpuId) {
        let v = &mut self.vcpus[vcpu.index()];
        if v.priority == Priority::Boost {
            v.priority = Priority::Under;
            cx.did(Work::Unboost, 1);
            event::boost_end(cx, pcpu, vcpu);
        }
        if !v.has(flag::ACTIVE) {
            self.activate(vcpu);
            let count = self.domain_of(vcpu).active_count;
            event::account_start(cx, pcpu, vcpu, count);
            return;
        }
        cx.did(Work::Look, 1);
        if self.choose_pcpu(cx, pcpu, vcpu, pcpu, false) != pcpu && !self.is_dispatching(cx, pcpu) {
            cx.migrate(vcpu);
            cx.tickle(pcpu);
        }
    }
}
