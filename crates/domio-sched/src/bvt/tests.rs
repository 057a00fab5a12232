//! Tests of BVT: the policy is driven directly, by the smallest host that can carry out what it
//! asks for.

mod host;
mod pass;
mod place;
mod settings;
mod vectors;
mod wake;
mod warp;

use super::Bvt;
use super::state::{Domain, Vcpu};
use crate::contract::Scheduler;
use crate::cx::{Affinity, Cx, Effect, Pause, Tables, VcpuView};
use alloc::vec::Vec;
use domio_core::{
    CpuSet, DomainId, Duration, Instant, ParamValues, PcpuId, Topology, VcpuId, VcpuName,
};

const P0: PcpuId = PcpuId(0);
const P1: PcpuId = PcpuId(1);

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at_ms(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

/// Parameters of a domain that warps by `value`.
fn warps(value: i64) -> [(&'static str, i64); 2] {
    [("warpback", 1), ("warp_value", value)]
}

/// A host without costs: time moves only when a test says so.
struct Rig {
    bvt: Bvt,
    tables: Tables,
    now: Instant,
    /// By pcpu: when the slice ends.
    slices: Vec<Option<Instant>>,
    /// By pcpu: the policy's timers.
    timers: Vec<[Option<Instant>; Cx::TIMER_SLOTS as usize]>,
    /// By pcpu: since when the current vcpu runs.
    since: Vec<Instant>,
    /// Pcpus that have a pass pending.
    pending: CpuSet,
    /// Switches of the first pcpu: microseconds, and who runs from then on.
    switches: Vec<(u64, Option<VcpuId>)>,
    /// Passes of the first pcpu, in microseconds.
    passes: Vec<u64>,
    /// By vcpu: time that it ran until it was last switched out.
    ran: Vec<Duration>,
    /// Private records: event and words.
    notes: Vec<(u8, Vec<u32>)>,
    /// The id of the next guest.
    guests: u16,
}

impl Rig {
    fn new(version: &str, pcpus: u16) -> Rig {
        Rig::with(version, Topology::flat(pcpus).unwrap())
    }

    fn with(version: &str, topology: Topology) -> Rig {
        let mut values = ParamValues::defaults(super::DESCRIPTOR.params);
        values.choose("version", version).unwrap();
        let pcpus = topology.pcpus();
        let mut rig = Rig {
            bvt: Bvt::new(&values, &topology),
            tables: Tables::new(topology),
            now: Instant::ZERO,
            slices: alloc::vec![None; pcpus],
            timers: alloc::vec![[None; Cx::TIMER_SLOTS as usize]; pcpus],
            since: alloc::vec![Instant::ZERO; pcpus],
            pending: CpuSet::EMPTY,
            switches: Vec::new(),
            passes: Vec::new(),
            ran: Vec::new(),
            notes: Vec::new(),
            guests: 0,
        };
        for p in 0..pcpus {
            let pcpu = PcpuId(p as u16);
            rig.tables.online.insert(pcpu);
            rig.call(|s, cx| s.pcpu_online(cx, pcpu));
        }
        rig
    }

    fn adjust(&mut self, domain: DomainId, params: &[(&str, i64)]) {
        let mut values = ParamValues::defaults(super::DESCRIPTOR.domain_params);
        for (name, value) in params {
            values.set(name, *value).unwrap();
        }
        self.call(|s, cx| s.set_domain(cx, domain, &values));
    }

    /// Another domain with these parameters.
    fn domain(&mut self, params: &[(&str, i64)]) -> DomainId {
        let domain = DomainId(self.guests);
        self.guests += 1;
        self.adjust(domain, params);
        domain
    }

    /// The blocked vcpu of another domain.
    fn guest(&mut self, params: &[(&str, i64)]) -> VcpuId {
        let domain = self.domain(params);
        self.vcpu(domain, CpuSet::ALL)
    }

    /// The blocked vcpu of another domain with this weight, which wakes now.
    fn hog(&mut self, mcu_advance: i64) -> VcpuId {
        let vcpu = self.guest(&[("mcu_advance", mcu_advance)]);
        self.wake(vcpu);
        vcpu
    }

    /// A blocked vcpu of `domain` where the policy wants it.
    fn vcpu(&mut self, domain: DomainId, hard: CpuSet) -> VcpuId {
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
        &self.bvt.vcpus[vcpu.index()]
    }

    fn state_mut(&mut self, vcpu: VcpuId) -> &mut Vcpu {
        &mut self.bvt.vcpus[vcpu.index()]
    }

    /// What the policy keeps for the domain of `vcpu`.
    fn domain_of(&self, vcpu: VcpuId) -> &Domain {
        self.bvt.domain(vcpu)
    }

    fn svt(&self, pcpu: PcpuId) -> u32 {
        self.bvt.pcpus[pcpu.index()].svt
    }

    fn current(&self, pcpu: PcpuId) -> Option<VcpuId> {
        self.tables.pcpus[pcpu].current
    }

    fn home(&self, vcpu: VcpuId) -> PcpuId {
        self.tables.vcpus[vcpu.index()].pcpu
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

    /// Who ran on the first pcpu and for how many microseconds, in turn, without the last.
    fn turns(&self) -> Vec<(Option<VcpuId>, u64)> {
        let pairs = self.switches.windows(2);
        pairs.map(|w| (w[0].1, w[1].0 - w[0].0)).collect()
    }
}
