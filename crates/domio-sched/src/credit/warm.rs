//! Starting from a given state, and values of a state.
//!
//! In the middle of a run credits, priorities and timers have values that no empty start gives. A
//! [`WarmStart`] holds them, for a host that starts there.

use super::state::{NIL, Priority, flag};
use super::tick::NS_PER_CREDIT;
use super::{ACCOUNTING, Credit, TICK};
use alloc::boxed::Box;
use alloc::vec::Vec;
use domio_contract::{Cx, Wake};
use domio_core::{Duration, Instant, PcpuId, VcpuId};

/// The state that a host gives its policy at the start, in place of the empty one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WarmStart {
    /// Pcpus whose tick is set, and when it expires; on all others it is stopped.
    pub ticks: Vec<(PcpuId, Instant)>,
    /// When the next accounting comes: a timer of its own since 3.4, before that the master's first
    /// tick that is not earlier.
    pub accounting: Instant,
    /// Vcpus, each at most once; those that are not named keep their state. Those that are runnable
    /// but not current are queued where they belong, in this order.
    pub vcpus: Vec<WarmVcpu>,
}

/// State of one vcpu at a warm start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WarmVcpu {
    /// Which.
    pub vcpu: VcpuId,
    /// Its credit now.
    pub credit: i64,
    /// What it has burned beyond whole credits, in nanoseconds times 10: 0 to 999,999. Zero in
    /// releases before 4.3, which do not keep it.
    pub residual: u32,
    /// How far its `start_time` is ahead of now, or of the time at which it will run next; behind
    /// if negative. Up to a credit's time either way: a debit moves it by whole credits (xen-spec
    /// 3.4). Zero in releases before 3.4, which sample.
    pub ahead: i64,
    /// Its priority, not idle.
    pub priority: Priority,
    /// Its place among those that earn credit, the first that accounting visits the lowest; `None`
    /// when it earns none. Places are compared only, and need not follow each other.
    pub active: Option<u32>,
    /// Whether it is paused because of its domain's cap.
    pub parked: bool,
}

impl Credit {
    /// The same policy, which takes `start` for its state when the host
    /// [resumes](domio_contract::Scheduler::resume).
    pub fn resuming(mut self, start: WarmStart) -> Self {
        self.warm = Some(Box::new(start));
        self
    }

    /// Puts the state of a warm start into force, if there is one. Otherwise those that run count
    /// as if they had just been switched in, and those that wait wake.
    pub(super) fn resume_with(&mut self, cx: &mut Cx<'_>, runnable: &[VcpuId]) {
        if let Some(start) = self.warm.take() {
            return self.warm_start(cx, &start.ticks, start.accounting, &start.vcpus);
        }
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

    /// Sets the state as if the host had run before: see [`WarmStart`] for the arguments. For use
    /// once the pcpus are online, the domains known and the vcpus inserted and placed, when the
    /// host's tables already show who is current and who is runnable, and before the first pass.
    /// The lists of active domains, and of each one's active vcpus, are by
    /// [place](WarmVcpu::active).
    ///
    /// The balance of the last accounting is reckoned from the credits of the active vcpus and from
    /// what has been burned since, as if those pcpus that are busy now had been busy all the time;
    /// [`Credit::set_balance`] corrects that.
    ///
    /// # Panics
    /// When a vcpu is named twice or was never inserted.
    pub fn warm_start(
        &mut self,
        cx: &mut Cx<'_>,
        ticks: &[(PcpuId, Instant)],
        accounting: Instant,
        vcpus: &[WarmVcpu],
    ) {
        for warm in vcpus {
            self.warm_vcpu(cx, warm);
        }
        let mut earners: Vec<_> = vcpus.iter().filter_map(|w| Some((w.active?, w))).collect();
        earners.sort_by_key(|(place, _)| *place);
        // Lists grow at the head.
        for (_, warm) in earners.iter().rev() {
            self.activate(warm.vcpu);
        }
        let left: i64 = earners.iter().map(|(_, w)| w.credit).sum();
        self.balance = left + self.burned_in_period(cx, accounting);
        self.warm_pcpus(cx, ticks);
        self.warm_accounting(cx, ticks, accounting);
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

    fn warm_vcpu(&mut self, cx: &mut Cx<'_>, warm: &WarmVcpu) {
        let i = warm.vcpu.index();
        assert!(
            self.vcpus.get(i).is_some_and(|v| v.has(flag::PRESENT)),
            "a vcpu of the warm start was never inserted"
        );
        if self.vcpus[i].has(flag::ACTIVE) {
            self.deactivate(warm.vcpu);
        }
        if self.vcpus[i].queued() {
            self.dequeue_runnable(warm.vcpu);
        }
        if warm.parked && !self.vcpus[i].has(flag::PARKED) {
            cx.park(warm.vcpu);
        }
        let current = cx.is_current(warm.vcpu);
        let v = &mut self.vcpus[i];
        v.credit = warm.credit;
        v.residual = warm.residual;
        v.priority = warm.priority;
        v.clear(flag::YIELD | flag::MIGRATING | flag::PARKED);
        if warm.parked {
            v.set(flag::PARKED);
        }
        v.start = warm.ahead
            + match current {
                true => cx.now().as_nanos() as i64,
                false => 0,
            };
        if !current && cx.vcpu(warm.vcpu).runnable() {
            let pcpu = cx.vcpu(warm.vcpu).pcpu;
            self.link_before(pcpu, warm.vcpu.0, NIL);
        }
    }

    fn warm_pcpus(&mut self, cx: &mut Cx<'_>, ticks: &[(PcpuId, Instant)]) {
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

    fn warm_accounting(
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

    /// Sets the sum of credits that the last accounting left, by which the next one corrects what
    /// it grants if it is negative.
    pub fn set_balance(&mut self, balance: i64) {
        self.balance = balance;
    }

    /// Sets how far Xen's clock is ahead of the host's. A tick that stopped while its pcpu idled
    /// comes back at a multiple of its period by Xen's clock (3.4 and later), so that a run that
    /// continues another needs the difference modulo that period. Zero at first.
    pub fn set_clock_phase(&mut self, ahead: Duration) {
        self.clock_phase = ahead;
    }

    /// Credit of `vcpu`, as of its last debit. 10 credits are a millisecond.
    pub fn credit(&self, vcpu: VcpuId) -> i64 {
        self.vcpus[vcpu.index()].credit
    }

    /// Time burned by `vcpu` beyond its last whole credit, in nanoseconds times 10 (since 4.3).
    pub fn residual(&self, vcpu: VcpuId) -> u32 {
        self.vcpus[vcpu.index()].residual
    }

    /// Priority of `vcpu`.
    pub fn priority(&self, vcpu: VcpuId) -> Priority {
        self.vcpus[vcpu.index()].priority
    }

    /// Whether `vcpu` earns credit.
    pub fn is_active(&self, vcpu: VcpuId) -> bool {
        self.vcpus[vcpu.index()].has(flag::ACTIVE)
    }

    /// Whether `vcpu` is paused because of its domain's cap.
    pub fn is_parked(&self, vcpu: VcpuId) -> bool {
        self.vcpus[vcpu.index()].has(flag::PARKED)
    }

    /// Sum of credits that the last accounting left.
    pub fn balance(&self) -> i64 {
        self.balance
    }

    /// The vcpus that queue on `pcpu`, the next one first.
    pub fn run_queue(&self, pcpu: PcpuId) -> impl Iterator<Item = VcpuId> + '_ {
        self.queue(pcpu)
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
}
