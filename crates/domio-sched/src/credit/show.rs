//! The state as rows (Xen's debug key `r`): told, and taken over by a host that starts in the
//! middle of a run, where credits, priorities and timers have values that no empty start gives.
//!
//! A vcpu has a row for each list in which it is; the first one counts. Rows of vcpus that wait
//! come in the order of their queue. `earns` is a vcpu's place among those that earn credit, in the
//! order
//! in which accounting visits them, and `start` is what the policy keeps: a time while the vcpu
//! runs, and otherwise how far ahead of the time at which it runs next. Two values are taken and
//! not told, since their timers are the host's: `tick` of a pcpu, and `accounting` before 3.4.

use super::Credit;
use super::rows::{domain, vcpu};
use super::state::{ACCOUNTING, NIL, Priority, TICK, flag};
use super::tick::NS_PER_CREDIT;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;
use domio_contract::state::{About, StateRow};
use domio_contract::{Cx, StateRows, Wake};
use domio_core::{DomainId, Instant, PcpuId, VcpuId};

impl Credit {
    pub(super) fn describe(&self, out: &mut StateRows) {
        let places = self.earners();
        let policy = out.row("", About::Policy);
        policy
            .say("credit ")
            .tell("version", "", format!("{}", self.rules.version))
            .say(": ")
            .tell("pcpus", "", self.online)
            .say(" pcpus, weight ")
            .tell("weight", "", self.weight)
            .say(", balance ")
            .tell("balance", "credits", self.balance)
            .say(", slice ")
            .tell("slice", "", self.settings.tslice)
            .say(", tick ")
            .tell("tick", "", self.settings.tick)
            .say(", ratelimit ")
            .tell("ratelimit", "", self.settings.ratelimit)
            .hold("clock_phase", "", self.clock_phase);
        if self.rules.accounting_timer {
            policy.hold("accounting", "", self.accounting_at);
        }
        for (i, p) in self.pcpus.iter().enumerate() {
            let pcpu = PcpuId(i as u16);
            out.row("", About::Pcpu(pcpu))
                .say("p")
                .tell("pcpu", "", pcpu.0)
                .say(": ")
                .tell("runnable", "", p.runnable)
                .say(" runnable")
                .flag("idle", ", idle", self.idlers.contains(pcpu));
            for v in self.queue(pcpu) {
                self.describe_vcpu(out, "  queued ", v, &places);
            }
        }
        for id in self.active_domains() {
            let d = &self.domains[id.index()];
            domain(out, id, d.weight, d.cap);
            for v in self.active_vcpus(id) {
                self.describe_vcpu(out, "  active ", v, &places);
            }
        }
    }

    fn describe_vcpu(&self, out: &mut StateRows, list: &'static str, id: VcpuId, all: &[VcpuId]) {
        let v = &self.vcpus[id.index()];
        let row = vcpu(out, list, id, DomainId(v.domain));
        row.tell("priority", "", v.priority.word())
            .say(", credit ")
            .tell("credit", "credits", v.credit)
            .flag("parked", ", parked", v.has(flag::PARKED))
            .hold("residual", "ns/10", v.residual)
            .hold("start", "ns", v.start);
        if let Some(place) = all.iter().position(|earner| *earner == id) {
            row.hold("earns", "", place);
        }
    }

    /// The vcpus that earn credit, in the order in which accounting visits them.
    fn earners(&self) -> Vec<VcpuId> {
        let domains = self.active_domains();
        domains.flat_map(|id| self.active_vcpus(id)).collect()
    }

    fn active_vcpus(&self, domain: DomainId) -> impl Iterator<Item = VcpuId> + '_ {
        let mut at = self.domains[domain.index()].active_head;
        core::iter::from_fn(move || {
            let vcpu = (at != NIL).then_some(VcpuId(at))?;
            at = self.vcpus[vcpu.index()].active_next;
            Some(vcpu)
        })
    }

    /// Domains that earn credit, in the order in which accounting visits them.
    pub fn active_domains(&self) -> impl Iterator<Item = domio_core::DomainId> + '_ {
        let mut at = self.active_domains;
        core::iter::from_fn(move || {
            let domain = (at != NIL).then_some(domio_core::DomainId(at as u16))?;
            at = self.domains[domain.index()].next;
            Some(domain)
        })
    }

    /// Begins without a state: those that run count as if they had just been switched in, and those
    /// that wait wake.
    pub(super) fn begin_with(&mut self, cx: &mut Cx<'_>, runnable: &[VcpuId]) {
        for &vcpu in runnable {
            let pcpu = cx.vcpu(vcpu).pcpu;
            if cx.is_current(vcpu) {
                self.vcpus[vcpu.index()].start += cx.now().as_nanos() as i64;
                self.pcpus[pcpu].runnable += 1;
                self.idlers.remove(pcpu);
            } else {
                self.wake_up(cx, pcpu, vcpu, Wake::Event);
            }
        }
    }

    /// Takes over `state`, once the pcpus are online, the domains known and the vcpus inserted and
    /// placed, when the host's tables already show who is current and the vcpu that is runnable,
    /// and before the first pass. On pcpus without a `tick` the tick is stopped. Nobody is woken.
    ///
    /// A balance that `state` does not have is reckoned from the credits of those that earn and
    /// from
    /// what has been burned since, as if the pcpus that are busy now had been busy all the time.
    ///
    /// # Panics
    /// When a vcpu was never inserted.
    pub(super) fn take(&mut self, cx: &mut Cx<'_>, state: &StateRows) {
        let mut known = BTreeSet::new();
        let mut earners: Vec<(u32, VcpuId)> = Vec::new();
        let mut ticks = Vec::new();
        let (mut accounting, mut balance) = (cx.now(), None);
        for row in state.rows() {
            match row.about {
                About::Policy => {
                    row.put("accounting", &mut accounting);
                    row.put("clock_phase", &mut self.clock_phase);
                    balance = row.get("balance").or(balance);
                }
                About::Pcpu(pcpu) => ticks.extend(row.get("tick").map(|at| (pcpu, at))),
                About::Vcpu(vcpu) if known.insert(vcpu) => {
                    self.take_vcpu(cx, vcpu, row);
                    earners.extend(row.get("earns").map(|place| (place, vcpu)));
                }
                About::Vcpu(_) | About::Domain(_) | About::Runq(_) => {}
            }
        }
        earners.sort_by_key(|(place, _)| *place);
        // Lists grow at the head.
        for (_, vcpu) in earners.iter().rev() {
            self.activate(*vcpu);
        }
        let credit = |vcpu: &VcpuId| self.vcpus[vcpu.index()].credit;
        let left: i64 = earners.iter().map(|(_, vcpu)| credit(vcpu)).sum();
        self.balance = balance.unwrap_or_else(|| left + self.burned_in_period(cx, accounting));
        self.take_ticks(cx, &ticks);
        self.take_accounting(cx, &ticks, accounting);
    }

    /// What the pcpus that are busy now burn from the last accounting until now, if they were busy
    /// all the time.
    fn burned_in_period(&self, cx: &Cx<'_>, accounting: Instant) -> i64 {
        let online = cx.online();
        let busy = online.iter().filter(|p| cx.current(*p).is_some()).count();
        let to_go = accounting.saturating_since(cx.now());
        let gone = self.settings.tslice.saturating_sub(to_go);
        busy as i64 * gone.as_nanos() as i64 / NS_PER_CREDIT
    }

    fn take_vcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, row: &StateRow) {
        let i = vcpu.index();
        assert!(
            self.vcpus.get(i).is_some_and(|v| v.has(flag::PRESENT)),
            "a vcpu of the state was never inserted"
        );
        if self.vcpus[i].has(flag::ACTIVE) {
            self.deactivate(vcpu);
        }
        if self.vcpus[i].queued() {
            self.dequeue_runnable(vcpu);
        }
        let parked = row.get("parked").unwrap_or(false);
        if parked && !self.vcpus[i].has(flag::PARKED) {
            cx.park(vcpu);
        }
        let v = &mut self.vcpus[i];
        row.put("credit", &mut v.credit);
        row.put("residual", &mut v.residual);
        row.put("start", &mut v.start);
        if let Some(priority) = row.get("priority").and_then(Priority::from_word) {
            v.priority = priority;
        }
        v.clear(flag::YIELD | flag::MIGRATING | flag::PARKED);
        if parked {
            v.set(flag::PARKED);
        }
        if !cx.is_current(vcpu) && cx.vcpu(vcpu).runnable() {
            let pcpu = cx.vcpu(vcpu).pcpu;
            self.link_before(pcpu, vcpu.0, NIL);
        }
    }

    fn take_ticks(&mut self, cx: &mut Cx<'_>, ticks: &[(PcpuId, Instant)]) {
        for pcpu in cx.online().iter() {
            let busy = cx.current(pcpu).is_some();
            let waiting = self.queue(pcpu).count() as u32;
            if busy {
                self.idlers.remove(pcpu);
            } else {
                self.idlers.insert(pcpu);
            }
            let tick = ticks.iter().find(|(p, _)| *p == pcpu);
            let p = &mut self.pcpus[pcpu];
            p.runnable = waiting + u32::from(busy);
            p.sorted = self.sort_epoch;
            p.ticking = tick.is_some();
            match tick {
                Some((_, at)) => cx.set_timer(pcpu, TICK, *at),
                None => cx.stop_timer(pcpu, TICK),
            }
        }
    }

    fn take_accounting(
        &mut self,
        cx: &mut Cx<'_>,
        ticks: &[(PcpuId, Instant)],
        accounting: Instant,
    ) {
        let Some(master) = self.master else {
            return;
        };
        if self.rules.accounting_timer {
            self.accounting_at = accounting;
            cx.set_timer(master, ACCOUNTING, accounting);
            // A queue that has not seen a tick since the last accounting is still to be sorted.
            for (pcpu, tick) in ticks {
                if accounting + self.settings.tick > *tick + self.settings.tslice {
                    self.pcpus[*pcpu].sorted = self.sort_epoch.wrapping_sub(1);
                }
            }
        } else if let Some((_, tick)) = ticks.iter().find(|(p, _)| *p == master) {
            // The tick after `before` others is to be one that accounts.
            let wait = accounting.saturating_since(*tick).as_nanos();
            let before = wait.div_ceil(self.settings.tick.as_nanos());
            let period = u64::from(self.settings.ticks_per_tslice);
            let count = period - (before + 1) % period;
            self.pcpus[master].ticks = count as u32;
        }
    }
}
