//! Tests of BVT: the policy is driven directly, by the smallest host that can carry out what it
//! asks for.

mod pass;
mod place;
mod settings;
mod vectors;
mod wake;
mod warp;

use super::Bvt;
use super::state::{Domain, Vcpu};
use crate::rig;
use alloc::vec::Vec;
use domio_contract::{Pause, Scheduler};
use domio_core::{CpuSet, DomainId, Duration, Instant, ParamValues, PcpuId, Topology, VcpuId};

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

type Rig = rig::Rig<Bvt>;

impl Rig {
    fn new(version: &str, pcpus: u16) -> Rig {
        Rig::with(version, Topology::flat(pcpus).unwrap())
    }

    fn with(version: &str, topology: Topology) -> Rig {
        let mut values = ParamValues::defaults(super::DESCRIPTOR.params);
        values.choose("version", version).unwrap();
        Rig::of(Bvt::new(&values, &topology), topology, 1)
    }

    /// The blocked vcpu of another domain with this weight, which wakes now.
    fn hog(&mut self, mcu_advance: i64) -> VcpuId {
        let vcpu = self.guest(&[("mcu_advance", mcu_advance)]);
        self.wake(vcpu);
        vcpu
    }

    /// What the policy keeps for `vcpu`.
    fn state(&self, vcpu: VcpuId) -> &Vcpu {
        &self.policy.vcpus[vcpu.index()]
    }

    fn state_mut(&mut self, vcpu: VcpuId) -> &mut Vcpu {
        &mut self.policy.vcpus[vcpu.index()]
    }

    /// What the policy keeps for the domain of `vcpu`.
    fn domain_of(&self, vcpu: VcpuId) -> &Domain {
        self.policy.domain(vcpu)
    }

    fn svt(&self, pcpu: PcpuId) -> u32 {
        self.policy.pcpus[pcpu.index()].svt
    }

    /// Pins `vcpu` to `pcpu`.
    fn pin(&mut self, vcpu: VcpuId, pcpu: PcpuId) {
        self.tables.affinity[vcpu.index()].hard = CpuSet::of(pcpu);
        self.stop(vcpu, Pause::MIGRATING);
        match self.current(self.home(vcpu)) == Some(vcpu) {
            true => self.settle(),
            false => self.migrate(vcpu),
        }
    }

    fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        self.run_to(end);
    }

    /// Who ran on the first pcpu and for how many microseconds, in turn, without the last.
    fn turns(&self) -> Vec<(Option<VcpuId>, u64)> {
        let pairs = self.switches.windows(2);
        pairs.map(|w| (w[0].1, w[1].0 - w[0].0)).collect()
    }
}
