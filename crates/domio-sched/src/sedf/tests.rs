//! Tests of SEDF: the policy is driven directly, by the smallest host that can carry out what it
//! asks for.

mod adjust;
mod aware;
mod dc;
mod extra;
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
use crate::rig;
use alloc::vec::Vec;
use domio_contract::{Cx, Effect, Pause, Scheduler, Wake};
use domio_core::{CpuSet, DomainId, Duration, Instant, ParamValues, PcpuId, Topology, VcpuId};

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

type Rig = rig::Rig<Sedf>;

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
        Rig::of(Sedf::new(&values, &topology), topology, 1)
    }

    /// The blocked vcpu of dom0, which nobody adjusts.
    fn dom0(&mut self) -> VcpuId {
        self.adjust(DomainId(0), &[]);
        self.vcpu(DomainId(0))
    }

    /// What the policy keeps for `vcpu`.
    fn state(&self, vcpu: VcpuId) -> &Vcpu {
        &self.policy.vcpus[vcpu.index()]
    }

    fn state_mut(&mut self, vcpu: VcpuId) -> &mut Vcpu {
        &mut self.policy.vcpus[vcpu.index()]
    }

    /// Who is in `queue` of the first pcpu.
    fn queue(&self, queue: Queue) -> Vec<VcpuId> {
        self.policy.queue(P0, queue).collect()
    }

    /// Moves time without letting anything happen.
    fn skip(&mut self, by: Duration) {
        self.now += by;
    }

    /// Wakes `vcpu` and has the pass that follows, if any.
    fn wake_now(&mut self, vcpu: VcpuId) {
        self.wake(vcpu);
        self.settle();
    }
}
