//! Tests of credit2: the policy is driven directly, by the smallest host that can carry out what it
//! asks for.

mod balance;
mod caps;
mod credit;
mod invariants;
mod pass;
mod pcpus;
mod recorded;
mod releases;
mod tickle;
mod warm;

use super::event::CLASS;
use super::state::flag;
use super::{Credit2, DESCRIPTOR};
use crate::rig::noted;
use alloc::vec::Vec;
use domio_contract::{
    Affinity, Cx, Effect, Pause, Pick, Prev, Scheduler, Stop, Tables, VcpuView, Wake,
};
use domio_core::{
    CpuSet, DomainId, Duration, Instant, ParamValues, PcpuId, Topology, VcpuId, VcpuName,
};

const P0: PcpuId = PcpuId(0);
const P1: PcpuId = PcpuId(1);
const P2: PcpuId = PcpuId(2);
const P3: PcpuId = PcpuId(3);

const US: i64 = 1_000;
const MS: i64 = 1_000_000;

fn set(pcpus: &[u16]) -> CpuSet {
    pcpus.iter().map(|&p| PcpuId(p)).collect()
}

fn us(us: u64) -> Option<Duration> {
    Some(Duration::from_micros(us))
}

fn values(params: &[(&str, i64)]) -> ParamValues {
    let mut values = ParamValues::defaults(DESCRIPTOR.params);
    for (name, value) in params {
        values.set(name, *value).unwrap();
    }
    values
}

/// A host without costs: time moves only when a test says so, and passes are made by hand.
struct Rig {
    policy: Credit2,
    tables: Tables,
    now: Instant,
    /// When the timer of the budgets expires.
    refill: Option<Instant>,
    tickled: Vec<PcpuId>,
    /// Vcpus that were flagged to migrate.
    flagged: Vec<VcpuId>,
    /// Private records: event and words.
    notes: Vec<(u8, Vec<u32>)>,
    domains: u16,
}

impl Rig {
    fn new(pcpus: u16) -> Rig {
        Rig::with(Topology::flat(pcpus).unwrap(), &[])
    }

    fn with(topology: Topology, params: &[(&str, i64)]) -> Rig {
        let pcpus = topology.pcpus();
        let mut rig = Rig {
            policy: Credit2::new(&values(params), &topology),
            tables: Tables::new(topology),
            now: Instant::ZERO,
            refill: None,
            tickled: Vec::new(),
            flagged: Vec::new(),
            notes: Vec::new(),
            domains: 0,
        };
        for p in 0..pcpus {
            rig.plug(PcpuId(p as u16));
        }
        rig
    }

    fn call<R>(&mut self, body: impl FnOnce(&mut Credit2, &mut Cx<'_>) -> R) -> R {
        let mut effects = Vec::new();
        let mut cx = Cx::new(self.now, &mut self.tables, &mut effects, true);
        let answer = body(&mut self.policy, &mut cx);
        for effect in effects {
            match effect {
                Effect::Tickle(p) => self.tickled.push(p),
                Effect::DomainTimer { at, .. } => self.refill = at,
                Effect::Timer { .. } => unreachable!("the policy has none"),
                Effect::Migrate(v) => self.flagged.push(v),
                Effect::Note {
                    number,
                    about,
                    words,
                    ..
                } => {
                    let name = about.map(|v| self.tables.vcpus[v.index()].name);
                    self.notes
                        .push((number, noted(&CLASS, number, name, words)));
                }
                Effect::Park(_) | Effect::Unpark(_) | Effect::Move(..) => {}
            }
        }
        answer
    }

    fn plug(&mut self, pcpu: PcpuId) {
        self.tables.online.insert(pcpu);
        self.call(|c, cx| c.pcpu_online(cx, pcpu));
    }

    fn unplug(&mut self, pcpu: PcpuId) {
        self.tables.online.remove(pcpu);
        self.call(|c, cx| c.pcpu_offline(cx, pcpu));
    }

    fn adjust(&mut self, domain: DomainId, weight: i64, cap: i64) {
        let mut values = ParamValues::defaults(DESCRIPTOR.domain_params);
        values.set("weight", weight).unwrap();
        values.set("cap", cap).unwrap();
        self.call(|c, cx| c.set_domain(cx, domain, &values));
    }

    fn domain(&mut self, weight: i64, cap: i64) -> DomainId {
        let domain = DomainId(self.domains);
        self.domains += 1;
        self.adjust(domain, weight, cap);
        domain
    }

    /// A blocked vcpu of `domain` where the policy wants it.
    fn vcpu_within(&mut self, domain: DomainId, hard: CpuSet, soft: CpuSet) -> VcpuId {
        let vcpu = VcpuId(self.tables.vcpus.len() as u32);
        let mine = |v: &&VcpuView| v.name.domain == domain;
        let index = self.tables.vcpus.iter().filter(mine).count();
        let mut pause = Pause::NONE;
        pause.set(Pause::BLOCKED);
        self.tables.vcpus.push(VcpuView {
            name: VcpuName::new(domain, index as u16),
            pcpu: P0,
            pause,
            on_pcpu: false,
        });
        self.tables.affinity.push(Affinity { hard, soft });
        self.call(|c, cx| c.insert(cx, vcpu));
        self.place(vcpu);
        vcpu
    }

    fn place(&mut self, vcpu: VcpuId) -> PcpuId {
        let pcpu = self.call(|c, cx| c.pick_pcpu(cx, vcpu));
        self.tables.vcpus[vcpu.index()].pcpu = pcpu;
        pcpu
    }

    /// A blocked vcpu of a domain of its own, of this weight.
    fn guest(&mut self, weight: i64) -> VcpuId {
        let domain = self.domain(weight, 0);
        self.vcpu_within(domain, CpuSet::ALL, CpuSet::ALL)
    }

    /// As [`Rig::guest`], and it belongs to `pcpu` of its run queue.
    fn guest_on(&mut self, pcpu: PcpuId) -> VcpuId {
        let vcpu = self.guest(256);
        assert_eq!(
            self.policy.runq_of(self.home(vcpu)),
            self.policy.runq_of(pcpu)
        );
        self.tables.vcpus[vcpu.index()].pcpu = pcpu;
        vcpu
    }

    /// Makes the vcpu of a new domain current on `pcpu`, with this credit.
    fn running_on(&mut self, pcpu: PcpuId, credit: i64) -> VcpuId {
        let vcpu = self.guest_on(pcpu);
        self.wake(vcpu);
        self.pass(pcpu);
        assert_eq!(self.current(pcpu), Some(vcpu));
        self.set_credit(vcpu, credit);
        self.tickled.clear();
        vcpu
    }

    /// Wakes the vcpu of a new domain that belongs to `pcpu`, with this credit, where nobody can
    /// take it.
    fn waiting_on(&mut self, pcpu: PcpuId, credit: i64) -> VcpuId {
        let vcpu = self.guest_on(pcpu);
        self.set_credit(vcpu, credit);
        self.wake(vcpu);
        self.tickled.clear();
        self.policy.vcpus[vcpu.index()].tickled = super::state::NOWHERE;
        vcpu
    }

    fn set_credit(&mut self, vcpu: VcpuId, credit: i64) {
        self.policy.vcpus[vcpu.index()].credit = credit;
    }

    fn credit(&self, vcpu: VcpuId) -> i64 {
        self.policy.vcpus[vcpu.index()].credit
    }

    fn budget(&self, vcpu: VcpuId) -> i64 {
        self.policy.vcpus[vcpu.index()].budget
    }

    fn has(&self, vcpu: VcpuId, flag: u8) -> bool {
        self.policy.vcpus[vcpu.index()].has(flag)
    }

    fn current(&self, pcpu: PcpuId) -> Option<VcpuId> {
        self.tables.pcpus[pcpu].current
    }

    fn home(&self, vcpu: VcpuId) -> PcpuId {
        self.tables.vcpus[vcpu.index()].pcpu
    }

    fn queue(&self, runq: usize) -> Vec<VcpuId> {
        self.policy.waiting(runq).collect()
    }

    fn tickled(&mut self) -> Vec<PcpuId> {
        core::mem::take(&mut self.tickled)
    }

    /// Words of the records of `event` so far.
    fn notes_of(&self, event: u8) -> Vec<Vec<u32>> {
        let of = |n: &&(u8, Vec<u32>)| n.0 == event;
        self.notes.iter().filter(of).map(|n| n.1.clone()).collect()
    }

    fn wait_us(&mut self, us: u64) {
        self.now += Duration::from_micros(us);
    }

    fn wake(&mut self, vcpu: VcpuId) {
        self.tables.here = self.home(vcpu);
        self.tables.vcpus[vcpu.index()].pause.clear(Pause::BLOCKED);
        if self.tables.vcpus[vcpu.index()].runnable() {
            self.call(|c, cx| c.wake(cx, vcpu, Wake::Event));
        }
    }

    /// `vcpu`, which is current, waits for an event from now on.
    fn block(&mut self, vcpu: VcpuId) {
        self.tables.vcpus[vcpu.index()].pause.set(Pause::BLOCKED);
    }

    /// The timer of the budgets expires.
    fn refill(&mut self) {
        self.now = self.refill.expect("the timer is set");
        let again = self.call(|c, cx| c.domain_timer(cx, DomainId(0)));
        self.refill = again;
    }

    /// The scheduler softirq on `pcpu`.
    fn pass(&mut self, pcpu: PcpuId) -> Pick {
        let before = self.current(pcpu);
        let prev = Prev {
            vcpu: before,
            ran: Duration::ZERO,
            why: Stop::Tickled,
        };
        let pick = self.call(|c, cx| c.schedule(cx, pcpu, prev));
        if pick.next == before {
            return pick;
        }
        self.tables.pcpus[pcpu].current = pick.next;
        if let Some(v) = pick.next {
            let view = &mut self.tables.vcpus[v.index()];
            assert!(view.runnable() && !view.on_pcpu);
            (view.pcpu, view.on_pcpu) = (pcpu, true);
        }
        if let Some(v) = before {
            self.tables.vcpus[v.index()].on_pcpu = false;
            self.call(|c, cx| c.context_saved(cx, v));
            if self.tables.vcpus[v.index()].pause.has(Pause::MIGRATING) {
                self.tables.vcpus[v.index()].pause.clear(Pause::MIGRATING);
                self.place(v);
                self.wake(v);
            }
        }
        pick
    }
}

#[test]
fn only_the_rate_limit_changes_in_a_run() {
    let mut rig = Rig::new(1);
    let before = values(&[]);
    let refused = rig.call(|c, cx| c.set_params(cx, &values(&[("migrate_resist_us", 3)])));
    assert_eq!(refused.unwrap_err().param, "migrate_resist_us");
    assert_eq!(rig.policy.params(), Some(&before));
    let wanted = values(&[("ratelimit_us", 0)]);
    rig.call(|c, cx| c.set_params(cx, &wanted)).unwrap();
    assert_eq!(rig.policy.params(), Some(&wanted));
    let v = rig.guest(256);
    rig.wake(v);
    rig.set_credit(v, 100 * US);
    // Without a limit the shortest slice is half a millisecond.
    assert_eq!(rig.pass(P0).time_slice, us(500));
}

#[test]
fn the_defaults_are_xens() {
    let settings = super::Settings::new(&values(&[]));
    assert_eq!(settings.arrangement, super::params::Arrangement::Socket);
    assert_eq!(settings.max_cpus, 16);
    assert_eq!(settings.ratelimit, MS);
    assert_eq!(settings.resist, 500 * US);
    assert_eq!((settings.window, settings.precision), (20, 18));
    assert_eq!((settings.under, settings.over), (1 << 18, 1 << 15));
    assert_eq!(settings.cap_period, 10 * MS);
    assert!(!settings.power_savings);
    assert_eq!(DESCRIPTOR.class, Some(&CLASS));
}
