//! The rules of linux-spec, by its test vectors and by cases worked out by hand.

mod bandwidth;
mod cfs;
mod eevdf;
mod groups;
mod high;
mod inside;
mod kernel;
mod later;
mod mended;
mod pcpus;
mod ranks;

use super::state::NIL;
use super::{CFS, EEVDF, Linux};
use crate::rig::Rig;
use alloc::vec::Vec;
use domio_core::{Duration, Instant, ParamValues, PcpuId, Topology, VcpuId};

const P0: PcpuId = PcpuId(0);
const MS: i64 = 1_000_000;

fn at_us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

fn at(ms: u64) -> Instant {
    at_us(ms * 1_000)
}

/// A host of so many pcpus with CFS of 6.1 and these parameters.
fn cfs_with(pcpus: u16, params: &[(&str, &str)]) -> Rig<Linux> {
    let topology = Topology::flat(pcpus).unwrap();
    let values = values(CFS.params, params);
    Rig::of(Linux::cfs(&values, &topology), topology, 1)
}

/// The same with EEVDF of a release.
fn eevdf_with(pcpus: u16, release: &str, params: &[(&str, &str)]) -> Rig<Linux> {
    let topology = Topology::flat(pcpus).unwrap();
    let mut values = values(EEVDF.params, params);
    values.choose("release", release).unwrap();
    Rig::of(Linux::eevdf(&values, &topology), topology, 1)
}

fn values(specs: &'static [domio_core::ParamSpec], params: &[(&str, &str)]) -> ParamValues {
    let mut values = ParamValues::defaults(specs);
    for (name, value) in params {
        match value.parse::<i64>() {
            Ok(number) if *name != "hz" => values.set(name, number).unwrap(),
            _ => values.choose(name, value).unwrap(),
        }
    }
    values
}

/// A domain of one vcpu that burns from now on.
fn hog(rig: &mut Rig<Linux>, params: &[(&str, i64)]) -> VcpuId {
    let vcpu = rig.guest(params);
    rig.wake(vcpu);
    rig.settle();
    vcpu
}

/// Lengths of the turns of pcpu 0 in milliseconds, up to now, without the last: who, and how long.
fn turns(rig: &Rig<Linux>) -> Vec<(VcpuId, f64)> {
    let pairs = rig.switches.windows(2);
    pairs
        .filter_map(|w| Some((w[0].1?, (w[1].0 - w[0].0) as f64 / 1_000.0)))
        .collect()
}

fn lengths(rig: &Rig<Linux>) -> Vec<f64> {
    turns(rig).into_iter().map(|t| t.1).collect()
}

/// The entity of `vcpu`, or of the group around it.
fn entity(rig: &Rig<Linux>, vcpu: VcpuId, group: bool) -> u32 {
    let e = rig.policy.entity_of(vcpu);
    match group {
        true => rig.policy.entities[e as usize].parent,
        false => e,
    }
}

/// The first wake-up of `vcpu` is to be one like any other.
fn not_new(rig: &mut Rig<Linux>, vcpu: VcpuId) {
    rig.policy.threads[vcpu.index()].known = true;
}

/// The virtual time of the thread of `vcpu`.
fn v_of(rig: &Rig<Linux>, vcpu: VcpuId) -> i64 {
    rig.policy.entities[entity(rig, vcpu, false) as usize].v
}

#[test]
fn nobody_is_nothing() {
    let rig = cfs_with(1, &[]);
    assert_eq!(rig.policy.cpus[0].current, NIL);
}
