//! Credit: Xen's proportional share scheduler, from 3.0.3 (2006) to 4.17 (2022).
//!
//! A vcpu has credit. Running costs 10 credits a millisecond; every 30 ms the active vcpus get the
//! host's credit in proportion to the weights of their domains. Whoever has credit left is UNDER
//! and runs before those who are OVER; the vcpu that wakes while UNDER is BOOSTed, and preempts
//! both until a tick finds it running. Each pcpu has a run queue, and takes work from the others
//! when it has none with credit of its own.
//!
//! One implementation serves every release from 3.0.4 on: [`rules`] says what changed and when. The
//! first one has a page of its own, `first`. The pages follow xen-spec section 3; names are Xen's
//! where it has one.
//!
//! | page | holds |
//! |---|---|
//! | [`rules`] | the differences between releases |
//! | `first` | the scheduler of 3.0.3 |
//! | `params` | parameters, their check, what follows from them |
//! | `state`, `runq` | private tables; the run queues and their order |
//! | `tick` | debit at tick and pass, end of a boost, looking for a better pcpu |
//! | `accounting` | grant every period, caps |
//! | `active` | the lists of those that earn |
//! | `wake` | boost, tickling |
//! | `balance`, `pick` | stealing work; choosing a pcpu |
//! | `event` | private trace records |
//! | `xcollopts` | what Zeng 2015 adds, off by default |

mod accounting;
mod active;
mod balance;
mod event;
mod first;
mod params;
mod pick;
mod rows;
pub mod rules;
mod runq;
mod show;
mod state;
mod tick;
mod wake;
mod xcollopts;

#[cfg(test)]
mod tests;

pub use first::{FIRST, FirstCredit};
pub use params::{DESCRIPTOR, Invalid, credits, validate, validate_change};
pub use rules::RELEASES;
pub use state::{ACCOUNTING, Priority};

use accounting::Grants;
use alloc::boxed::Box;
use alloc::vec::Vec;
use domio_contract::{
    Conflict, Cx, Descriptor, Dispatching, Needs, Pick, Prev, Scheduler, StateRows, Wake, Work,
};
use domio_core::{
    Class, CpuSet, DomainId, Duration, Instant, ParamValues, PcpuId, PcpuTable, Topology, VcpuId,
    XenVersion,
};
use params::{DomainParams, Params, Settings};
use rules::{RateLimit, Rules};
use state::{Domain, NIL, Pcpu, TICK, Vcpu, flag};

/// A vcpu that ran for less than this and continues gets a slice of this length. Xen's
/// `CSCHED_MIN_TIMER` is the plain number 100, meant as microseconds but compared with nanoseconds:
/// recorded 4.17 traces have slices of 929.540 us after 70.460 us at a limit of 1 ms.
const MIN_SLICE: Duration = Duration::from_nanos(100);

/// A credit policy of the release that `params` name, for a host of this shape.
pub fn make(params: &ParamValues, topology: &Topology) -> Box<dyn Scheduler> {
    match Params::from(params).version {
        XenVersion::V3_0_3 => Box::new(FirstCredit::new(params, topology)),
        _ => Box::new(Credit::new(params, topology)),
    }
}

/// The policy's state.
pub struct Credit {
    rules: Rules,
    settings: Settings,
    params: ParamValues,
    /// By vcpu.
    vcpus: Vec<Vcpu>,
    /// By pcpu.
    pcpus: PcpuTable<Pcpu>,
    /// By domain.
    domains: Vec<Domain>,
    /// Pcpus whose last pass ended in idling and, since 4.9, that were not tickled after it.
    idlers: CpuSet,
    /// By node: where the last search for work to steal ended.
    balance_bias: Vec<PcpuId>,
    /// Pcpus in whose run queue somebody is.
    waiting: CpuSet,
    /// Those of them where the head of the queue has credit: its priority is over OVER.
    eager: CpuSet,
    /// What each active vcpu gets at an accounting.
    grants: Grants,
    /// First of the list of active domains.
    active_domains: u32,
    /// Sum of the weights of the active domains, or of their active vcpus (4.1).
    weight: i64,
    /// Sum of the credits of the active vcpus after the last accounting.
    balance: i64,
    /// Number of pcpus online.
    online: u32,
    /// The pcpu that does the accounting: the first one online.
    master: Option<PcpuId>,
    /// When the accounting timer expires.
    accounting_at: Instant,
    /// Number of accountings that changed priorities.
    sort_epoch: u32,
    /// Xen's clock minus the host's; ticks resume at multiples of their period in Xen's.
    clock_phase: Duration,
    /// Driver domains that have packets at hand.
    dispatch: xcollopts::Vector,
}

impl Credit {
    /// A credit policy for a host of this shape.
    ///
    /// What [`validate`] refuses is repaired as Xen does at boot: a parameter that the release
    /// lacks has the fixed value of that release, a rate limit over the time slice is cut to it.
    pub fn new(params: &ParamValues, topology: &Topology) -> Self {
        let (rules, settings) = Settings::new(params);
        Credit {
            rules,
            settings,
            params: params::repaired(params),
            vcpus: Vec::new(),
            pcpus: PcpuTable::new(topology.pcpus(), Pcpu::OFFLINE),
            domains: Vec::new(),
            idlers: CpuSet::EMPTY,
            balance_bias: alloc::vec![PcpuId(0); topology.sockets()],
            waiting: CpuSet::EMPTY,
            eager: CpuSet::EMPTY,
            grants: Grants::default(),
            active_domains: NIL,
            weight: 0,
            balance: 0,
            online: 0,
            master: None,
            accounting_at: Instant::ZERO,
            sort_epoch: 0,
            clock_phase: Duration::ZERO,
            dispatch: xcollopts::Vector::new(topology.pcpus()),
        }
    }

    /// The rules in force.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Records that it writes.
    fn class(&self) -> &'static Class {
        let listens = self.settings.dispatching != Dispatching::Untold;
        match listens || self.settings.boost_balance {
            true => &event::CLASS_WITH_XCOLLOPTS,
            false => &event::CLASS,
        }
    }

    /// The first multiple of the tick period, by Xen's clock, after `now`.
    fn next_tick(&self, now: Instant) -> Instant {
        let period = self.settings.tick;
        let xen_now = Duration::from_nanos(now.as_nanos()) + self.clock_phase;
        now + (period - xen_now % period)
    }

    /// Whether `vcpu`, which is current and ran for `ran`, which is under the rate limit, continues
    /// because of that, and for how long.
    fn protected(&self, vcpu: VcpuId, ran: Duration) -> Option<Duration> {
        let limit = self.settings.ratelimit;
        if self.rules.yield_beats_ratelimit && self.vcpus[vcpu.index()].has(flag::YIELD) {
            return None;
        }
        match self.rules.ratelimit {
            RateLimit::None => None,
            RateLimit::Whole => Some(limit),
            // Xen looks at the time that it ran, not at the time that is left.
            RateLimit::Remaining if ran < MIN_SLICE => Some(MIN_SLICE),
            RateLimit::Remaining => Some(limit - ran),
        }
    }

    /// The vcpu that runs next on `pcpu`, out of every queue; `None` to idle. `own` is the one that
    /// ran and is to queue up, if it wants to continue.
    #[inline]
    fn next(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, own: Option<VcpuId>) -> Option<VcpuId> {
        if let Some(own) = own {
            if self.pcpus[pcpu].head == NIL {
                // It would queue up to be taken out again.
                return Some(self.next_if_alone(cx, pcpu, own));
            }
            self.enqueue(pcpu, own);
            self.vcpus[own.index()].clear(flag::YIELD);
        }
        let p = &self.pcpus[pcpu];
        let head = p.head;
        let priority = p.head_priority(&self.vcpus);
        if priority <= Priority::Over
            && let Some(stolen) = self.search(cx, pcpu, priority)
        {
            return Some(stolen);
        }
        if head == NIL {
            return None;
        }
        self.dequeue(VcpuId(head));
        Some(VcpuId(head))
    }

    /// As [`Credit::next`] when nobody queues on `pcpu` but `own`.
    #[inline]
    fn next_if_alone(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, own: VcpuId) -> VcpuId {
        let v = &mut self.vcpus[own.index()];
        v.clear(flag::YIELD);
        let priority = v.priority;
        if priority <= Priority::Over
            && let Some(stolen) = self.search(cx, pcpu, priority)
        {
            self.enqueue(pcpu, own);
            return stolen;
        }
        own
    }

    /// Looks on other pcpus for a vcpu of higher priority than `priority`, the best on `pcpu`.
    fn search(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, priority: Priority) -> Option<VcpuId> {
        cx.did(Work::Search, 1);
        if self.online > 1 {
            self.steal(cx, pcpu, priority)
        } else {
            None
        }
    }

    /// Stops the tick of `pcpu` when it begins to idle, and restarts it when that ends.
    #[inline]
    fn follow_idleness(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, idled: bool, idles: bool) {
        if !self.rules.idle_stops_tick {
            return;
        }
        if idles {
            if self.pcpus[pcpu].ticking {
                self.pcpus[pcpu].ticking = false;
                cx.stop_timer(pcpu, TICK);
            }
        } else if idled {
            self.pcpus[pcpu].ticking = true;
            let at = self.next_tick(cx.now());
            cx.set_timer(pcpu, TICK, at);
        }
    }
}

impl Scheduler for Credit {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn classes(&self) -> Vec<Option<&'static Class>> {
        Vec::from([Some(self.class())])
    }

    fn needs(&self) -> Needs {
        Needs {
            dispatching: self.settings.dispatching,
            ..DESCRIPTOR.needs
        }
    }

    fn pcpu_online(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        let node = cx.topology().socket_of(pcpu);
        let mut others = *cx.topology().node(node) & cx.online();
        others.remove(pcpu);
        if others.is_empty() {
            self.balance_bias[node] = pcpu;
        }
        self.online += 1;
        self.grants.expire();
        if self.master.is_none() {
            self.master = Some(pcpu);
            if self.rules.accounting_timer {
                self.accounting_at = cx.now() + self.settings.tslice;
                cx.set_timer(pcpu, ACCOUNTING, self.accounting_at);
            }
        }
        cx.set_timer_in(pcpu, TICK, self.settings.tick);
        self.idlers.insert(pcpu);
        self.pcpus[pcpu] = Pcpu {
            sorted: self.sort_epoch,
            idle_bias: PcpuId(cx.pcpus() as u16 - 1),
            last_tickled: match self.rules.parked_pcpus {
                true => self.pcpus[pcpu].last_tickled,
                false => PcpuId(0),
            },
            ticking: true,
            ..Pcpu::OFFLINE
        };
    }

    fn pcpu_offline(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        assert!(
            self.pcpus[pcpu].runnable == 0 && self.pcpus[pcpu].head == NIL,
            "{pcpu} left with vcpus runnable there"
        );
        let mut rest = cx.online();
        rest.remove(pcpu);
        self.online -= 1;
        self.grants.expire();
        self.idlers.remove(pcpu);
        if self.master == Some(pcpu) {
            self.master = rest.first();
            if self.rules.accounting_timer {
                cx.stop_timer(pcpu, ACCOUNTING);
                if let Some(master) = self.master {
                    cx.set_timer(master, ACCOUNTING, self.accounting_at);
                }
            }
        }
        let node = cx.topology().socket_of(pcpu);
        if self.balance_bias[node] == pcpu
            && let Some(other) = (rest & *cx.topology().node(node)).first()
        {
            self.balance_bias[node] = other;
        }
        self.pcpus[pcpu].ticking = false;
        cx.stop_timer(pcpu, TICK);
        self.end_hold(cx, pcpu);
    }

    fn set_domain(&mut self, _: &mut Cx<'_>, domain: DomainId, params: &ParamValues) {
        if self.domains.len() <= domain.index() {
            self.domains.resize(domain.index() + 1, Domain::UNKNOWN);
        }
        let DomainParams { weight, cap } = params.into();
        self.adjust(domain, weight, cap);
    }

    fn params(&self) -> Option<&ParamValues> {
        Some(&self.params)
    }

    /// Xen's `csched_sys_cntl`. Slices, ticks and the accounting that are under way end when they
    /// would have; what follows them has the new lengths, and the next accounting the new credits.
    fn set_params(&mut self, _: &mut Cx<'_>, params: &ParamValues) -> Result<(), Conflict> {
        validate_change(&self.params, params)?;
        self.params = *params;
        self.settings = Settings::new(params).1;
        self.grants.expire();
        Ok(())
    }

    fn dispatching(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, packets: u32) {
        self.told_of_packets(cx, vcpu, packets);
    }

    fn insert(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if self.vcpus.len() <= vcpu.index() {
            self.vcpus.resize(vcpu.index() + 1, Vcpu::ABSENT);
        }
        self.vcpus[vcpu.index()] = Vcpu {
            domain: cx.vcpu(vcpu).name.domain.0,
            flags: flag::PRESENT | flag::UNPLACED,
            ..Vcpu::ABSENT
        };
    }

    fn remove(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        assert!(
            !self.vcpus[vcpu.index()].queued(),
            "a vcpu leaves while it is queued"
        );
        if self.vcpus[vcpu.index()].has(flag::PARKED) {
            // Whether it could run now is of no interest any more.
            let _ = cx.unpark(vcpu);
        }
        if self.vcpus[vcpu.index()].has(flag::ACTIVE) {
            self.deactivate(vcpu);
            let v = &self.vcpus[vcpu.index()];
            let count = self.domains[v.domain as usize].active_count;
            let here = cx.vcpu(vcpu).pcpu;
            event::account_stop(cx, here, vcpu, count);
        }
        self.vcpus[vcpu.index()] = Vcpu::ABSENT;
        self.dispatch.forget(vcpu);
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let placed = !self.vcpus[vcpu.index()].has(flag::UNPLACED);
        let from = if placed {
            cx.vcpu(vcpu).pcpu
        } else {
            self.first_pcpu(cx, vcpu)
        };
        let v = &mut self.vcpus[vcpu.index()];
        if !placed {
            v.clear(flag::UNPLACED);
            self.domains[v.domain as usize].placed_last = Some(vcpu);
            if !self.rules.own_placement {
                return from;
            }
        }
        v.set(flag::MIGRATING);
        let here = cx.here();
        self.choose_pcpu(cx, here, vcpu, from, true)
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, why: Wake) {
        let here = cx.here();
        self.wake_up(cx, here, vcpu, why);
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.take_off(cx, vcpu);
    }

    fn yielded(&mut self, _: &mut Cx<'_>, vcpu: VcpuId) {
        if self.rules.yield_flag {
            self.vcpus[vcpu.index()].set(flag::YIELD);
        }
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        event::schedule(cx, pcpu, prev.vcpu.is_none());
        let now = cx.now();
        let ns = now.as_nanos();
        if self.settings.ratelimit > Duration::ZERO {
            cx.did(Work::RateLimit, 1);
        }
        let mut own = None;
        if let Some(vcpu) = prev.vcpu {
            let runnable = cx.vcpu(vcpu).runnable();
            let v = &mut self.vcpus[vcpu.index()];
            v.burn(self.rules.debit, now);
            if runnable
                && prev.ran < self.settings.ratelimit
                && let Some(time_slice) = self.protected(vcpu, prev.ran)
            {
                event::ratelimit(cx, pcpu, vcpu, prev.ran);
                return Pick {
                    next: Some(vcpu),
                    time_slice: Some(time_slice),
                };
            }
            if self.settings.dispatching != Dispatching::Untold {
                if runnable && let Some(pick) = self.put_off(cx, pcpu, vcpu, prev) {
                    return pick;
                }
                self.end_hold(cx, pcpu);
            }
            let v = &mut self.vcpus[vcpu.index()];
            v.start -= ns as i64;
            v.last_ran = ns;
            if runnable {
                own = Some(vcpu);
            } else {
                v.clear(flag::YIELD);
                self.pcpus[pcpu].runnable -= 1;
            }
        }
        let next = self.next(cx, pcpu, own);
        match next {
            Some(vcpu) => {
                if prev.vcpu.is_none() {
                    self.idlers.remove(pcpu);
                }
                self.vcpus[vcpu.index()].start += ns as i64;
            }
            None => self.idlers.insert(pcpu),
        }
        self.follow_idleness(cx, pcpu, prev.vcpu.is_none(), next.is_none());
        let no_slice = next.is_none() && self.rules.idle_has_no_slice;
        Pick {
            next,
            time_slice: (!no_slice).then_some(self.settings.tslice),
        }
    }

    fn timer(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, slot: u8) -> Option<Instant> {
        if slot == TICK {
            self.tick(cx, pcpu)
        } else {
            self.accounting_timer(cx, pcpu)
        }
    }

    fn resume(&mut self, cx: &mut Cx<'_>, runnable: &[VcpuId], state: &StateRows) {
        match state.rows().is_empty() {
            true => self.begin_with(cx, runnable),
            false => self.take(cx, state),
        }
    }

    fn state(&self, out: &mut StateRows) {
        self.describe(out);
    }
}
