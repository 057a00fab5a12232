//! Tests of SEDF: the policy is driven directly, by the smallest host that can carry out what it
//! asks for.

mod adjust;
mod aware;
mod dc;
mod extra;
mod host;
mod invariants;
mod params;
mod pass;
mod place;
mod shares;
mod trace;
mod vectors;
mod wake;

use super::Sedf;
use super::state::{Queue, Vcpu, flag};
use crate::contract::{Pick, Prev, Scheduler, Stop, Wake};
use crate::cx::{Affinity, Cx, Effect, Pause, Tables, VcpuView};
use alloc::vec::Vec;
use domio_core::{
    CpuSet, DomainId, Duration, Instant, ParamValues, PcpuId, Topology, VcpuId, VcpuName,
};

const P0: PcpuId = PcpuId(0);
const P1: PcpuId = PcpuId(1);

const US: i64 = 1_000;
const MS: i64 = 1_000_000;

/// Releases between which rules differ.
const EPOCHS: [&str; 4] = ["3.0", "3.1", "4.2", "4.5"];

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

fn at_us(us: u64) -> Instant {
    Instant::from_nanos(us * 1_000)
}

fn at_ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// Parameters of a domain with a reservation.
fn reserves(period_us: i64, slice_us: i64) -> [(&'static str, i64); 2] {
    [("period_us", period_us), ("slice_us", slice_us)]
}

/// As [`reserves`], without extra time.
fn capped(period_us: i64, slice_us: i64) -> [(&'static str, i64); 3] {
    let [period, slice] = reserves(period_us, slice_us);
    [period, slice, ("extratime", 0)]
}

/// A host without costs: time moves only when a test says so.
struct Rig {
    sedf: Sedf,
    tables: Tables,
    now: Instant,
    /// By pcpu: when the slice ends.
    slices: Vec<Option<Instant>>,
    /// By pcpu: since when the current vcpu runs.
    since: Vec<Instant>,
    /// Pcpus that have a pass pending.
    pending: CpuSet,
    /// Pcpus tickled since [`Rig::tickled`] was last asked.
    tickled: CpuSet,
    /// Switches of the first pcpu: microseconds, and who runs from then on.
    switches: Vec<(u64, Option<VcpuId>)>,
    /// By vcpu: time that it ran until it was last switched out.
    ran: Vec<Duration>,
    /// Private records: event and words.
    notes: Vec<(u8, Vec<u32>)>,
    /// The id of the next guest.
    guests: u16,
}

impl Rig {
    fn new(version: &str, pcpus: u16) -> Rig {
        Rig::with(version, "extra-support", Topology::flat(pcpus).unwrap())
    }

    fn unblocking(unblock: &str) -> Rig {
        Rig::with("3.0", unblock, Topology::flat(1).unwrap())
    }

    fn with(version: &str, unblock: &str, topology: Topology) -> Rig {
        let mut values = ParamValues::defaults(super::DESCRIPTOR.params);
        values.choose("version", version).unwrap();
        values.choose("unblock", unblock).unwrap();
        let pcpus = topology.pcpus();
        let mut rig = Rig {
            sedf: Sedf::new(&values, &topology),
            tables: Tables::new(topology),
            now: Instant::ZERO,
            slices: alloc::vec![None; pcpus],
            since: alloc::vec![Instant::ZERO; pcpus],
            pending: CpuSet::EMPTY,
            tickled: CpuSet::EMPTY,
            switches: Vec::new(),
            ran: Vec::new(),
            notes: Vec::new(),
            guests: 1,
        };
        for p in 0..pcpus {
            rig.plug(PcpuId(p as u16));
        }
        rig
    }

    fn plug(&mut self, pcpu: PcpuId) {
        self.tables.online.insert(pcpu);
        self.call(|s, cx| s.pcpu_online(cx, pcpu));
    }

    fn adjust(&mut self, domain: DomainId, params: &[(&str, i64)]) {
        let mut values = ParamValues::defaults(super::DESCRIPTOR.domain_params);
        for (name, value) in params {
            values.set(name, *value).unwrap();
        }
        self.call(|s, cx| s.set_domain(cx, domain, &values));
    }

    /// Another domain with these parameters, which is not dom0.
    fn domain(&mut self, params: &[(&str, i64)]) -> DomainId {
        let domain = DomainId(self.guests);
        self.guests += 1;
        self.adjust(domain, params);
        domain
    }

    /// The blocked vcpu of another domain.
    fn guest(&mut self, params: &[(&str, i64)]) -> VcpuId {
        let domain = self.domain(params);
        self.vcpu(domain)
    }

    /// The blocked vcpu of dom0, which nobody adjusts.
    fn dom0(&mut self) -> VcpuId {
        self.adjust(DomainId(0), &[]);
        self.vcpu(DomainId(0))
    }

    /// A blocked vcpu of `domain` where the policy wants it.
    fn vcpu(&mut self, domain: DomainId) -> VcpuId {
        self.vcpu_within(domain, CpuSet::ALL)
    }

    fn vcpu_within(&mut self, domain: DomainId, hard: CpuSet) -> VcpuId {
        let known = self.tables.vcpus.iter();
        let index = known.filter(|v| v.name.domain == domain).count() as u16;
        let vcpu = VcpuId(self.tables.vcpus.len() as u32);
        let mut pause = Pause::NONE;
        pause.set(Pause::BLOCKED);
        self.tables.vcpus.push(VcpuView {
            name: VcpuName::new(domain, index),
            pcpu: P0,
            pause,
            on_pcpu: false,
        });
        let soft = CpuSet::ALL;
        self.tables.affinity.push(Affinity { hard, soft });
        self.ran.push(Duration::ZERO);
        self.call(|s, cx| s.insert(cx, vcpu));
        self.ask_for_pcpu(vcpu);
        vcpu
    }

    /// What the policy keeps for `vcpu`.
    fn state(&self, vcpu: VcpuId) -> &Vcpu {
        &self.sedf.vcpus[vcpu.index()]
    }

    fn state_mut(&mut self, vcpu: VcpuId) -> &mut Vcpu {
        &mut self.sedf.vcpus[vcpu.index()]
    }

    fn current(&self, pcpu: PcpuId) -> Option<VcpuId> {
        self.tables.pcpus[pcpu].current
    }

    fn home(&self, vcpu: VcpuId) -> PcpuId {
        self.tables.vcpus[vcpu.index()].pcpu
    }

    /// Who is in `queue` of the first pcpu.
    fn queue(&self, queue: Queue) -> Vec<VcpuId> {
        self.sedf.queue(P0, queue).collect()
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

    /// Time that `vcpu` ran so far.
    fn ran(&self, vcpu: VcpuId) -> Duration {
        let home = self.home(vcpu);
        let running = match self.current(home) == Some(vcpu) {
            true => self.now.since(self.since[home.index()]),
            false => Duration::ZERO,
        };
        self.ran[vcpu.index()] + running
    }

    fn wake(&mut self, vcpu: VcpuId) {
        self.tables.vcpus[vcpu.index()].pause.clear(Pause::BLOCKED);
        if self.tables.vcpus[vcpu.index()].runnable() {
            self.call(|s, cx| s.wake(cx, vcpu, Wake::Event));
        }
    }

    /// `vcpu`, which is current, waits for an event from now on.
    fn block(&mut self, vcpu: VcpuId) {
        self.tables.vcpus[vcpu.index()].pause.set(Pause::BLOCKED);
        self.pending.insert(self.home(vcpu));
    }

    /// Blocks `vcpu` and has the pass that takes it off.
    fn block_now(&mut self, vcpu: VcpuId) {
        self.block(vcpu);
        self.settle();
    }

    /// Wakes `vcpu` and has the pass that follows, if any.
    fn wake_now(&mut self, vcpu: VcpuId) {
        self.wake(vcpu);
        self.settle();
    }
}
