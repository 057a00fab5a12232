//! Tests of the credit scheduler: the policy is driven directly, by the smallest host that can
//! carry out what it asks for.

mod accounting;
mod balance;
mod caps;
mod host;
mod invariants;
mod params;
mod passes;
mod pick;
mod queue;
mod vectors;
mod wake;
mod warm;
mod xcollopts;

use super::rules::Rules;
use super::{Credit, Priority, flag};
use crate::rig::{blocked_vcpu, noted};
use alloc::vec::Vec;
use domio_contract::{Cx, Effect, Pause, Pick, Prev, Scheduler, Stop, Tables, Wake};
use domio_core::{
    CpuSet, DomainId, Duration, Instant, ParamValues, PcpuId, Topology, VcpuId, XenVersion,
};

/// What tests look at.
impl Credit {
    fn credit(&self, vcpu: VcpuId) -> i64 {
        self.vcpus[vcpu.index()].credit
    }

    fn residual(&self, vcpu: VcpuId) -> u32 {
        self.vcpus[vcpu.index()].residual
    }

    fn priority(&self, vcpu: VcpuId) -> Priority {
        self.vcpus[vcpu.index()].priority
    }

    fn is_active(&self, vcpu: VcpuId) -> bool {
        self.vcpus[vcpu.index()].has(flag::ACTIVE)
    }

    fn is_parked(&self, vcpu: VcpuId) -> bool {
        self.vcpus[vcpu.index()].has(flag::PARKED)
    }

    fn run_queue(&self, pcpu: PcpuId) -> impl Iterator<Item = VcpuId> + '_ {
        self.queue(pcpu)
    }
}

const P0: PcpuId = PcpuId(0);
const P1: PcpuId = PcpuId(1);
const P2: PcpuId = PcpuId(2);
const P3: PcpuId = PcpuId(3);

const OVER: Priority = Priority::Over;
const UNDER: Priority = Priority::Under;
const BOOST: Priority = Priority::Boost;

fn set(pcpus: &[u16]) -> CpuSet {
    pcpus.iter().map(|&p| PcpuId(p)).collect()
}

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at_ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// A host without costs: time moves only when a test says so.
struct Rig {
    credit: Credit,
    tables: Tables,
    now: Instant,
    /// By pcpu: when each timer slot expires.
    timers: Vec<[Option<Instant>; 2]>,
    /// By pcpu: when the slice ends.
    slices: Vec<Option<Instant>>,
    /// By pcpu: since when the current vcpu runs.
    since: Vec<Instant>,
    /// Pcpus that have a pass pending.
    pending: CpuSet,
    /// Pcpus tickled since [`Rig::tickled`] was last asked.
    tickled: CpuSet,
    /// Private records: event and words.
    notes: Vec<(u8, Vec<u32>)>,
    domains: u16,
}

impl Rig {
    fn new(version: &str, pcpus: u16) -> Rig {
        Rig::with(version, Topology::flat(pcpus).unwrap(), &[])
    }

    fn with(version: &str, topology: Topology, params: &[(&str, i64)]) -> Rig {
        let mut values = ParamValues::defaults(super::DESCRIPTOR.params);
        values.choose("version", version).unwrap();
        for (name, value) in params {
            values.set(name, *value).unwrap();
        }
        let pcpus = topology.pcpus();
        let mut rig = Rig {
            credit: Credit::new(&values, &topology),
            tables: Tables::new(topology),
            now: Instant::ZERO,
            timers: alloc::vec![[None; 2]; pcpus],
            slices: alloc::vec![None; pcpus],
            since: alloc::vec![Instant::ZERO; pcpus],
            pending: CpuSet::EMPTY,
            tickled: CpuSet::EMPTY,
            notes: Vec::new(),
            domains: 0,
        };
        for p in 0..pcpus {
            rig.plug(PcpuId(p as u16));
        }
        rig
    }

    fn plug(&mut self, pcpu: PcpuId) {
        self.tables.online.insert(pcpu);
        self.call(|c, cx| c.pcpu_online(cx, pcpu));
    }

    fn domain(&mut self, weight: i64, cap: i64) -> DomainId {
        let domain = DomainId(self.domains);
        self.domains += 1;
        self.adjust(domain, weight, cap);
        domain
    }

    fn adjust(&mut self, domain: DomainId, weight: i64, cap: i64) {
        let mut values = ParamValues::defaults(super::DESCRIPTOR.domain_params);
        values.set("weight", weight).unwrap();
        values.set("cap", cap).unwrap();
        self.call(|c, cx| c.set_domain(cx, domain, &values));
    }

    /// A blocked vcpu of `domain` where the policy wants it.
    fn vcpu(&mut self, domain: DomainId) -> VcpuId {
        self.vcpu_within(domain, CpuSet::ALL, CpuSet::ALL)
    }

    fn vcpu_within(&mut self, domain: DomainId, hard: CpuSet, soft: CpuSet) -> VcpuId {
        let vcpu = blocked_vcpu(&mut self.tables, domain, hard, soft);
        self.call(|c, cx| c.insert(cx, vcpu));
        let pcpu = self.call(|c, cx| c.pick_pcpu(cx, vcpu));
        self.tables.vcpus[vcpu.index()].pcpu = pcpu;
        vcpu
    }

    /// A blocked vcpu that ran long ago on `pcpu`: it has nothing of a newcomer any more.
    fn vcpu_on(&mut self, domain: DomainId, pcpu: PcpuId) -> VcpuId {
        let vcpu = self.vcpu(domain);
        self.tables.vcpus[vcpu.index()].pcpu = pcpu;
        self.credit.vcpus[vcpu.index()].clear(flag::MIGRATING);
        let last = PcpuId(self.tables.pcpus.len() as u16 - 1);
        for p in self.credit.pcpus.iter_mut() {
            p.idle_bias = last;
        }
        vcpu
    }

    /// As [`Rig::vcpu_on`] in a domain of its own.
    fn guest_on(&mut self, pcpu: PcpuId) -> VcpuId {
        let domain = self.domain(256, 0);
        self.vcpu_on(domain, pcpu)
    }

    /// Makes the one vcpu of a new domain current on `pcpu`, with this priority.
    fn running_on(&mut self, pcpu: PcpuId, priority: Priority) -> VcpuId {
        let vcpu = self.guest_on(pcpu);
        self.wake(vcpu);
        self.pass(pcpu);
        assert_eq!(self.current(pcpu), Some(vcpu));
        self.force(vcpu, priority);
        self.tickled();
        vcpu
    }

    /// Queues the one vcpu of a new domain on `pcpu`, with this priority, and tickles nobody.
    fn queued_on(&mut self, pcpu: PcpuId, priority: Priority) -> VcpuId {
        let vcpu = self.guest_on(pcpu);
        self.force(vcpu, priority);
        self.enqueue(vcpu);
        vcpu
    }

    fn enqueue(&mut self, vcpu: VcpuId) {
        self.tables.vcpus[vcpu.index()].pause = Pause::NONE;
        let pcpu = self.tables.vcpus[vcpu.index()].pcpu;
        self.credit.enqueue_runnable(pcpu, vcpu);
    }

    fn force(&mut self, vcpu: VcpuId, priority: Priority) {
        let v = &mut self.credit.vcpus[vcpu.index()];
        v.priority = priority;
        if v.queued() {
            // Only accounting does this, and it leaves a queue unsorted.
            let queue = PcpuId(v.queue);
            self.credit.pcpus[queue].sorted = self.credit.sort_epoch.wrapping_sub(1);
        }
    }

    fn set_credit(&mut self, vcpu: VcpuId, credit: i64) {
        self.credit.vcpus[vcpu.index()].credit = credit;
    }

    fn set_hard(&mut self, vcpu: VcpuId, pcpus: &[u16]) {
        self.tables.affinity[vcpu.index()].hard = set(pcpus);
    }

    fn set_soft(&mut self, vcpu: VcpuId, pcpus: &[u16]) {
        self.tables.affinity[vcpu.index()].soft = set(pcpus);
    }

    fn current(&self, pcpu: PcpuId) -> Option<VcpuId> {
        self.tables.pcpus[pcpu].current
    }

    fn home(&self, vcpu: VcpuId) -> PcpuId {
        self.tables.vcpus[vcpu.index()].pcpu
    }

    fn queue(&self, pcpu: PcpuId) -> Vec<VcpuId> {
        self.credit.run_queue(pcpu).collect()
    }

    /// Whom the policy tickled since this was last asked.
    fn tickled(&mut self) -> CpuSet {
        core::mem::take(&mut self.tickled)
    }

    /// Words of the records of `event` so far.
    fn notes_of(&self, event: u8) -> Vec<Vec<u32>> {
        let of = |n: &&(u8, Vec<u32>)| n.0 == event;
        self.notes.iter().filter(of).map(|n| n.1.clone()).collect()
    }

    fn wake(&mut self, vcpu: VcpuId) {
        self.wake_for(vcpu, Wake::Event);
    }

    fn wake_for(&mut self, vcpu: VcpuId, why: Wake) {
        // As by a timer of its guest.
        self.tables.here = self.home(vcpu);
        self.tables.vcpus[vcpu.index()].pause.clear(Pause::BLOCKED);
        self.call(|c, cx| c.wake(cx, vcpu, why));
    }

    /// `vcpu`, which is current, waits for an event from now on.
    fn block(&mut self, vcpu: VcpuId) {
        self.tables.vcpus[vcpu.index()].pause.set(Pause::BLOCKED);
        self.pending.insert(self.home(vcpu));
    }

    fn yielded(&mut self, vcpu: VcpuId) {
        self.call(|c, cx| c.yielded(cx, vcpu));
        self.pending.insert(self.home(vcpu));
    }
}
