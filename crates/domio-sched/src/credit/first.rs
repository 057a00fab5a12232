//! The first credit scheduler, as Xen got it in 2006 (`version = "3.0.3"`).
//!
//! What it has in common with the later ones is the idea: credits, accounting every third tick, a
//! fair share by weight. The rest is different enough for a scheduler of its own:
//!
//! - a credit is a millisecond, so that a cap of 1 % is one of the 30 credits of an accounting;
//! - a capped vcpu in debt is not paused, but has a priority below that of idling. Nobody is told:
//!   who runs continues until the slice ends, and who may run again waits until the idle vcpu's
//!   slice ends;
//! - there is no boost, and no search for a better pcpu;
//! - vcpus earn from their creation on;
//! - a pcpu takes work from idle peers as well, and idle pcpus are woken whatever the affinity.
//!
//! Two later states of the development tree are there as well (`changeset`): the one of 30 October
//! 2006 counts ten credits a millisecond and boosts who wakes with credit; that of 1 November parks
//! a capped vcpu only when its debt is over its part of the cap.
//!
//! Nothing here is in a hurry: queues are vectors.

use super::params::{
    self, CREDITS_PER_TICK, Changeset, DESCRIPTOR, DomainParams, FIRST_CREDITS, Params, Settings,
    validate_change,
};
use super::{rows, state};
use crate::placement;
use alloc::format;
use alloc::vec::Vec;
use domio_contract::state::About;
use domio_contract::{Conflict, Cx, Descriptor, Pick, Prev, Promises, Scheduler, StateRows, Wake};
use domio_core::{CpuSet, DomainId, Duration, Instant, ParamValues, PcpuId, Topology, VcpuId};

const TICK: Duration = Duration::from_millis(10);
const SLICE: Duration = Duration::from_millis(30);
const TICKS_PER_ACCOUNTING: u32 = 3;

/// What this release is. It promises little: caps are rounded up to whole credits, pcpus idle for
/// them, and whoever has more credit than a slice takes loses all of it. A heavy domain often does.
pub static FIRST: Descriptor = Descriptor {
    promises: Promises {
        starvation_free: true,
        ..Promises::NOTHING
    },
    ..DESCRIPTOR
};

/// Priorities; the numbers are Xen's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(i8)]
enum Rank {
    /// In debt and capped: whoever idles goes first.
    Parked = -65,
    Idle = -64,
    Over = -2,
    Under = -1,
    /// Woke up with credit, and no tick has found the vcpu since; from 27 October 2006 on.
    Boost = 0,
}

#[derive(Clone, Copy, Debug)]
struct Vcpu {
    domain: DomainId,
    rank: Rank,
    credit: i64,
    placed: bool,
}

#[derive(Clone, Debug)]
struct Domain {
    weight: i64,
    cap: i64,
    /// Vcpus that earn.
    active: Vec<VcpuId>,
    /// The vcpu that was placed last.
    placed_last: Option<VcpuId>,
}

/// The vcpu that waits in a queue; `None` is the idle vcpu, which waits while another one runs.
type Waiter = Option<VcpuId>;

#[derive(Clone, Debug, Default)]
struct Pcpu {
    queue: Vec<Waiter>,
    ticks: u32,
    sorted: u32,
}

/// The policy's state.
pub struct FirstCredit {
    params: ParamValues,
    /// Whether a wake-up preempts (an experiment, as in the later ones).
    preempt: bool,
    /// Whether queues are by credit inside a priority (likewise).
    by_credit: bool,
    /// Whether who wakes with credit is boosted.
    boost: bool,
    changeset: Changeset,
    /// Credits of one pcpu for one accounting.
    period: i64,
    vcpus: Vec<Option<Vcpu>>,
    domains: Vec<Domain>,
    /// Domains with vcpus that earn, in the order of accounting.
    active: Vec<DomainId>,
    pcpus: Vec<Pcpu>,
    idlers: CpuSet,
    online: i64,
    master: Option<PcpuId>,
    balance: i64,
    epoch: u32,
}

/// `ceil(a / b)` of numbers that are not negative.
fn div_up(a: i64, b: i64) -> i64 {
    (a + b - 1) / b
}

impl FirstCredit {
    /// The policy for a host of this shape. Parameters that this release lacks have no effect.
    pub fn new(params: &ParamValues, topology: &Topology) -> Self {
        let (_, settings) = Settings::new(params);
        let changeset = Params::from(&params::repaired(params)).changeset;
        let is_release = changeset == Changeset::Release;
        FirstCredit {
            params: params::repaired(params),
            preempt: settings.preempt,
            by_credit: settings.runq_sort,
            boost: settings.boost && !is_release,
            changeset,
            period: match is_release {
                true => FIRST_CREDITS,
                false => CREDITS_PER_TICK * i64::from(TICKS_PER_ACCOUNTING),
            },
            vcpus: Vec::new(),
            domains: Vec::new(),
            active: Vec::new(),
            pcpus: alloc::vec![Pcpu::default(); topology.pcpus()],
            idlers: CpuSet::EMPTY,
            online: 0,
            master: None,
            balance: 0,
            epoch: 0,
        }
    }

    fn vcpu(&self, vcpu: VcpuId) -> &Vcpu {
        let known = self.vcpus.get(vcpu.index()).and_then(Option::as_ref);
        known.expect("the vcpu is inserted")
    }

    fn vcpu_mut(&mut self, vcpu: VcpuId) -> &mut Vcpu {
        let known = self.vcpus.get_mut(vcpu.index()).and_then(Option::as_mut);
        known.expect("the vcpu is inserted")
    }

    fn rank(&self, waiter: Waiter) -> Rank {
        waiter.map_or(Rank::Idle, |v| self.vcpu(v).rank)
    }

    fn is_queued(&self, vcpu: VcpuId) -> bool {
        self.pcpus.iter().any(|p| p.queue.contains(&Some(vcpu)))
    }

    fn unqueue(&mut self, vcpu: VcpuId) {
        for p in &mut self.pcpus {
            p.queue.retain(|waiter| *waiter != Some(vcpu));
        }
    }

    /// Queues before the first waiter of lower priority.
    fn enqueue(&mut self, pcpu: PcpuId, waiter: Waiter) {
        let rank = self.rank(waiter);
        let richer = |other: Waiter| match (waiter, other) {
            (Some(own), Some(other)) if self.by_credit => {
                self.vcpu(own).credit > self.vcpu(other).credit
            }
            _ => false,
        };
        let queue = &self.pcpus[pcpu.index()].queue;
        let before = |other: &Waiter| {
            let theirs = self.rank(*other);
            rank > theirs || rank == theirs && richer(*other)
        };
        let at = queue.iter().position(before).unwrap_or(queue.len());
        self.pcpus[pcpu.index()].queue.insert(at, waiter);
    }

    /// The pcpu that `vcpu` woke on looks again if that is due; so do all that idle while the pcpu
    /// has other work, whether or not the vcpu may run there.
    fn tickle(&self, cx: &mut Cx<'_>, here: PcpuId, pcpu: PcpuId, vcpu: VcpuId) {
        let current = cx.current(pcpu);
        let mut mask = CpuSet::EMPTY;
        let higher = self.vcpu(vcpu).rank > self.rank(current);
        if higher && (self.preempt || current.is_none()) {
            mask.insert(pcpu);
        }
        if self.rank(current) > Rank::Idle {
            mask |= self.idlers;
        }
        for p in mask.iter() {
            super::event::tickle(cx, here, p);
            cx.tickle(p);
        }
    }

    fn wake_up(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if cx.is_current(vcpu) || self.is_queued(vcpu) {
            return;
        }
        let v = self.vcpu_mut(vcpu);
        let under = v.rank == Rank::Under;
        if self.boost && under {
            self.vcpu_mut(vcpu).rank = Rank::Boost;
            super::event::boost_start(cx, cx.here(), vcpu);
        }
        let pcpu = cx.vcpu(vcpu).pcpu;
        self.enqueue(pcpu, Some(vcpu));
        let here = cx.here();
        self.tickle(cx, here, pcpu, vcpu);
    }

    // ---- earning ------------------------------------------------------------------------------

    /// `vcpu` earns from now on, before the others of its domain.
    fn activate(&mut self, vcpu: VcpuId) {
        let id = self.vcpu(vcpu).domain;
        let domain = &mut self.domains[id.index()];
        domain.active.insert(0, vcpu);
        if domain.active.len() == 1 {
            self.active.insert(0, id);
        }
    }

    fn earns(&self, vcpu: VcpuId) -> bool {
        let domain = self.vcpu(vcpu).domain;
        self.domains[domain.index()].active.contains(&vcpu)
    }

    fn deactivate(&mut self, vcpu: VcpuId) {
        let id = self.vcpu(vcpu).domain;
        let domain = &mut self.domains[id.index()];
        domain.active.retain(|other| *other != vcpu);
        if domain.active.is_empty() {
            self.active.retain(|other| *other != id);
        }
    }

    /// The tick found `vcpu` running on `pcpu`.
    fn debit(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, vcpu: VcpuId) {
        self.vcpu_mut(vcpu).credit -= self.period / i64::from(TICKS_PER_ACCOUNTING);
        if !self.earns(vcpu) {
            self.activate(vcpu);
            let count = self.count(vcpu);
            super::event::account_start(cx, pcpu, vcpu, count);
        }
        // Who is found here uses too much time for a boost.
        if self.vcpu(vcpu).rank == Rank::Boost {
            self.vcpu_mut(vcpu).rank = Rank::Under;
            super::event::boost_end(cx, pcpu, vcpu);
        }
    }

    /// How many vcpus of its domain earn.
    fn count(&self, vcpu: VcpuId) -> u32 {
        let domain = self.vcpu(vcpu).domain;
        self.domains[domain.index()].active.len() as u32
    }

    /// Accounting on the master.
    fn account(&mut self, cx: &mut Cx<'_>, here: PcpuId) {
        let weight = |d: &DomainId| self.domains[d.index()].weight;
        let total: i64 = self.active.iter().map(weight).sum();
        if total == 0 {
            self.balance = 0;
            return;
        }
        let owed = (-self.balance).max(0);
        let mut credit = self.period * self.online + owed;
        let mut left = total;
        let mut someone_short = false;
        self.balance = 0;
        for id in self.active.clone() {
            let domain = &self.domains[id.index()];
            let count = domain.active.len() as i64;
            left -= domain.weight;
            let mut peak = count * self.period + div_up(owed * domain.weight, total);
            if domain.cap != 0 {
                peak = peak.min(div_up(domain.cap * self.period, 100));
            }
            let mut fair = div_up(credit * domain.weight, total);
            // How far in debt a vcpu of a capped domain is before it is parked.
            let unparked = match domain.cap {
                0 => i64::MAX,
                _ if self.changeset < Changeset::November1 => 0,
                cap => div_up(div_up(cap * self.period, 100), count),
            };
            if fair < peak {
                someone_short = true;
            } else {
                if left != 0 {
                    credit += div_up((fair - peak) * total, left);
                }
                if someone_short {
                    self.active.retain(|other| *other != id);
                    self.active.insert(0, id);
                }
                fair = peak;
            }
            let grant = div_up(fair, count);
            for vcpu in self.domains[id.index()].active.clone() {
                self.grant(cx, here, vcpu, grant, unparked);
            }
        }
        self.epoch = self.epoch.wrapping_add(1);
    }

    fn grant(&mut self, cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId, grant: i64, unparked: i64) {
        let period = self.period;
        let v = self.vcpu_mut(vcpu);
        let earned = v.credit + grant;
        v.credit = earned.max(-period);
        v.rank = match earned < 0 {
            true if earned < -unparked => Rank::Parked,
            true => Rank::Over,
            false => Rank::Under,
        };
        let is_rich = earned > period;
        // In 3.0.3 credits that are taken away still count.
        if !is_rich || self.changeset == Changeset::Release {
            self.balance += earned.max(-period);
        }
        if is_rich {
            self.vcpu_mut(vcpu).credit = 0;
            self.deactivate(vcpu);
            let count = self.count(vcpu);
            super::event::account_stop(cx, here, vcpu, count);
        }
    }

    /// Brings those with credit to the front, if accounting has changed anything.
    fn sort(&mut self, pcpu: PcpuId) {
        let p = pcpu.index();
        if self.pcpus[p].sorted == self.epoch {
            return;
        }
        self.pcpus[p].sorted = self.epoch;
        let queue = core::mem::take(&mut self.pcpus[p].queue);
        let (mut first, rest): (Vec<Waiter>, Vec<Waiter>) = queue
            .into_iter()
            .partition(|waiter| self.rank(*waiter) >= Rank::Under);
        first.extend(rest);
        self.pcpus[p].queue = first;
    }

    // ---- the pass -----------------------------------------------------------------------------

    /// A vcpu of higher priority than `than` and than idling, from another queue: the next pcpu's
    /// first, and so on round. It is taken out there.
    fn steal(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, than: Rank) -> Option<VcpuId> {
        // A pcpu that leaves takes nothing along.
        if !cx.online().contains(pcpu) {
            return None;
        }
        let mut peer = cx.online().cycle(pcpu)?;
        while peer != pcpu {
            super::event::steal_check(cx, pcpu, peer, true);
            let wanted = |waiter: &Waiter| {
                let rank = self.rank(*waiter);
                rank > Rank::Idle && rank > than
            };
            let queue = self.pcpus[peer.index()].queue.iter().copied();
            let free = |v: &VcpuId| !cx.vcpu(*v).on_pcpu && cx.may_run_on(*v, pcpu);
            let found = queue.take_while(wanted).flatten().find(free);
            if let Some(found) = found {
                super::event::stolen(cx, pcpu, peer, found);
                self.unqueue(found);
                return Some(found);
            }
            peer = cx.online().cycle(peer)?;
        }
        None
    }

    /// Where `vcpu` begins: the first of a domain on the emptiest pcpu (dom0's on the lowest one),
    /// others next to the one before.
    fn first_pcpu(&self, cx: &Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let before = self.domains[self.vcpu(vcpu).domain.index()].placed_last;
        let start = match before {
            Some(before) if cx.vcpu(vcpu).name.index != 0 => {
                cx.online().cycle(cx.vcpu(before).pcpu)
            }
            _ => {
                let numbered = self.vcpus.iter().enumerate();
                let placed = numbered.filter(|(_, v)| v.is_some_and(|v| v.placed));
                let placed = placed.map(|(i, _)| VcpuId(i as u32));
                placement::start_of_domain(cx, vcpu, placed)
            }
        };
        placement::allowed_from(cx, vcpu, start)
    }
}

impl FirstCredit {
    fn state_of(&self, out: &mut StateRows, list: &'static str, id: VcpuId) {
        let v = self.vcpu(id);
        let row = rows::vcpu(out, list, id, v.domain);
        row.tell("priority", "", format!("{:?}", v.rank))
            .say(", credit ")
            .tell("credit", "credits", v.credit);
    }
}

impl Scheduler for FirstCredit {
    fn descriptor(&self) -> &'static Descriptor {
        &FIRST
    }

    fn pcpu_online(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        self.online += 1;
        self.master.get_or_insert(pcpu);
        self.idlers.insert(pcpu);
        self.pcpus[pcpu.index()] = Pcpu {
            sorted: self.epoch,
            ..Pcpu::default()
        };
        cx.set_timer_in(pcpu, state::TICK, TICK);
    }

    fn pcpu_offline(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        let waits = self.pcpus[pcpu.index()].queue.iter().any(Option::is_some);
        assert!(!waits, "{pcpu} left with vcpus queued");
        let mut rest = cx.online();
        rest.remove(pcpu);
        self.online -= 1;
        self.idlers.remove(pcpu);
        if self.master == Some(pcpu) {
            self.master = rest.first();
        }
        cx.stop_timer(pcpu, state::TICK);
    }

    fn set_domain(&mut self, _: &mut Cx<'_>, domain: DomainId, params: &ParamValues) {
        while self.domains.len() <= domain.index() {
            self.domains.push(Domain {
                weight: 256,
                cap: 0,
                active: Vec::new(),
                placed_last: None,
            });
        }
        let d = &mut self.domains[domain.index()];
        DomainParams {
            weight: d.weight,
            cap: d.cap,
        } = params.into();
    }

    fn params(&self) -> Option<&ParamValues> {
        Some(&self.params)
    }

    fn set_params(&mut self, _: &mut Cx<'_>, params: &ParamValues) -> Result<(), Conflict> {
        validate_change(&self.params, params)?;
        self.params = *params;
        Ok(())
    }

    fn insert(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if self.vcpus.len() <= vcpu.index() {
            self.vcpus.resize(vcpu.index() + 1, None);
        }
        self.vcpus[vcpu.index()] = Some(Vcpu {
            domain: cx.vcpu(vcpu).name.domain,
            rank: Rank::Under,
            credit: 0,
            placed: false,
        });
        self.activate(vcpu);
    }

    fn remove(&mut self, _: &mut Cx<'_>, vcpu: VcpuId) {
        assert!(!self.is_queued(vcpu), "a vcpu leaves while it is queued");
        if self.earns(vcpu) {
            self.deactivate(vcpu);
        }
        self.vcpus[vcpu.index()] = None;
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        if self.vcpu(vcpu).placed {
            let allowed = cx.hard(vcpu) & cx.online();
            let own = cx.vcpu(vcpu).pcpu;
            let first = allowed.first().expect("an allowed pcpu is online");
            return if allowed.contains(own) { own } else { first };
        }
        let first = self.first_pcpu(cx, vcpu);
        self.vcpu_mut(vcpu).placed = true;
        let domain = self.vcpu(vcpu).domain;
        self.domains[domain.index()].placed_last = Some(vcpu);
        first
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, _: Wake) {
        self.wake_up(cx, vcpu);
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if cx.is_current(vcpu) {
            let pcpu = cx.vcpu(vcpu).pcpu;
            cx.tickle(pcpu);
        } else {
            self.unqueue(vcpu);
        }
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        super::event::schedule(cx, pcpu, prev.vcpu.is_none());
        // The idle vcpu can always run.
        if prev.vcpu.is_none_or(|v| cx.vcpu(v).runnable()) {
            self.enqueue(pcpu, prev.vcpu);
        }
        let queue = &self.pcpus[pcpu.index()].queue;
        let head = queue.first().copied().expect("the idle vcpu waits");
        let rank = self.rank(head);
        let stolen = match rank > Rank::Over {
            true => None,
            false => self.steal(cx, pcpu, rank),
        };
        let next = stolen.map_or(head, Some);
        if stolen.is_none() {
            self.pcpus[pcpu.index()].queue.remove(0);
        }
        self.idlers.set(pcpu, next.is_none());
        Pick {
            next,
            time_slice: Some(SLICE),
        }
    }

    fn timer(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, _: u8) -> Option<Instant> {
        let p = &mut self.pcpus[pcpu.index()];
        p.ticks = p.ticks.wrapping_add(1);
        let is_third = p.ticks.is_multiple_of(TICKS_PER_ACCOUNTING);
        if let Some(vcpu) = cx.current(pcpu) {
            self.debit(cx, pcpu, vcpu);
        }
        if self.master == Some(pcpu) && is_third {
            self.account(cx, pcpu);
        }
        self.sort(pcpu);
        Some(cx.now() + TICK)
    }

    fn resume(&mut self, cx: &mut Cx<'_>, runnable: &[VcpuId], _: &StateRows) {
        for &vcpu in runnable {
            if cx.is_current(vcpu) {
                let pcpu = cx.vcpu(vcpu).pcpu;
                self.idlers.remove(pcpu);
                self.enqueue(pcpu, None);
            }
        }
        for &vcpu in runnable {
            self.wake_up(cx, vcpu);
        }
    }

    fn state(&self, out: &mut StateRows) {
        out.row("", About::Policy)
            .say("credit 3.0.3: ")
            .tell("pcpus", "", self.online)
            .say(" pcpus, balance ")
            .tell("balance", "credits", self.balance);
        for (pcpu, p) in (0..).map(PcpuId).zip(&self.pcpus) {
            out.row("", About::Pcpu(pcpu))
                .say("p")
                .tell("pcpu", "", pcpu.0)
                .say(": ")
                .tell("waiting", "", p.queue.len())
                .say(" waiting");
            for waiter in &p.queue {
                match waiter {
                    Some(vcpu) => self.state_of(out, "  queued ", *vcpu),
                    None => {
                        out.row("  queued ", About::Pcpu(pcpu)).say("idle");
                    }
                }
            }
        }
        for id in &self.active {
            let d = &self.domains[id.index()];
            rows::domain(out, *id, d.weight, d.cap);
            for vcpu in &d.active {
                self.state_of(out, "  active ", *vcpu);
            }
        }
    }
}
