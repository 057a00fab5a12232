//! Random lives under every release: the queues stay true whatever happens.

use super::super::state::NIL;
use super::super::{DESCRIPTOR, Unblock};
use super::*;
use crate::conformance::rng::Rng;
use domio_core::params::ByWord;

/// Everything that must hold between two events, once no pass is pending.
fn check(rig: &Rig, context: &str) {
    for p in 0..rig.tables.pcpus.len() {
        let pcpu = PcpuId(p as u16);
        for queue in Queue::ALL {
            let members: Vec<_> = rig.policy.queue(pcpu, queue).collect();
            let mut before = NIL;
            for v in &members {
                let state = rig.state(*v);
                assert!(
                    state.is_in(queue) && state.pcpu == pcpu.0,
                    "{context}: {v:?}"
                );
                assert_eq!(state.links[queue.link()].prev, before, "{context}: {v:?}");
                before = v.0;
            }
            assert_eq!(
                rig.policy.pcpus[p].tails[queue as usize], before,
                "{context}"
            );
        }
        // Whoever runs by reservation is the head of the run queue, or was when it was picked.
        if let Some(current) = rig.current(pcpu) {
            let state = rig.state(current);
            let expected = state.extra_turn().unwrap_or(Queue::Run);
            assert!(
                state.is_in(expected),
                "{context}: {current:?} runs out of no queue"
            );
        }
    }
    for (i, v) in rig.policy.vcpus.iter().enumerate() {
        let view = &rig.tables.vcpus[i];
        assert_eq!(v.linked(), view.runnable(), "{context}: vcpu {i} queued");
        assert_eq!(v.pcpu, view.pcpu.0, "{context}: home of vcpu {i}");
        assert!(
            v.linked() || !v.is_in(Queue::Penalty),
            "{context}: vcpu {i}"
        );
        assert!(
            v.linked() || !v.is_in(Queue::Utilisation),
            "{context}: vcpu {i}"
        );
        let [aware, sharing] = [v.has(flag::AWARE), v.is_in(Queue::Utilisation)];
        assert!(
            !(aware && v.linked()) || sharing,
            "{context}: vcpu {i} shares nothing"
        );
        let owed = v.has(flag::WANT_PENALTY);
        assert!(
            owed || !v.is_in(Queue::Penalty),
            "{context}: vcpu {i} is owed nothing"
        );
        let current = rig.current(view.pcpu) == Some(VcpuId(i as u32));
        assert!(
            current || v.extra_turn().is_none(),
            "{context}: vcpu {i} in a turn"
        );
        assert!(v.cputime >= 0 && v.period > 0, "{context}: vcpu {i}");
        assert!(v.debt >= 0 && v.due >= 0, "{context}: vcpu {i}");
    }
}

/// Parameters that Xen may accept or refuse.
fn some_params(rng: &mut Rng) -> Vec<(&'static str, i64)> {
    let period = *rng.pick(&[0, 0, 10, 500, 5_000, 20_000, 100_000, 1_000_000]);
    let slice = *rng.pick(&[0, 5, 200, 1_000, 5_000, 20_000, 110_000]);
    let mut params = alloc::vec![("period_us", period)];
    for (name, value) in [
        ("slice_us", slice),
        ("extratime", rng.below(2) as i64),
        ("latency_us", *rng.pick(&[0, 0, 900, 7_000, 50_000])),
        ("weight", *rng.pick(&[0, 0, 0, 1, 2, 500])),
    ] {
        if rng.one_in(2) {
            params.push((name, value));
        }
    }
    params
}

/// One random life; every step is followed by a check.
fn live(version: &str, unblock: &str, seed: u64) {
    let mut rng = Rng::new(seed);
    let topology = Topology::flat(rng.between(1, 3) as u16).unwrap();
    let rig = Rig::with(version, unblock, topology);
    let context = alloc::format!("{version} {unblock}, seed {seed}");
    live_in(rig, rng, &context);
}

/// The same under SEDF-DC, whose domains are charged now and then.
pub fn live_with_debts(seed: u64) {
    let mut rng = Rng::new(seed);
    let topology = Topology::flat(rng.between(1, 3) as u16).unwrap();
    let mut rig = Rig::with("3.0", "extra-support", topology.clone());
    let mut values = ParamValues::defaults(super::super::dc::DESCRIPTOR.params);
    let spread = ("spread_debt", rng.below(2) as i64);
    let feedback = ("feedback_ms", *rng.pick(&[1, 10, 100, 500]));
    for (name, value) in [spread, feedback] {
        values.set(name, value).unwrap();
    }
    rig.policy = Sedf::collecting(&values, &topology);
    live_in(rig, rng, &alloc::format!("sedf-dc, seed {seed}"));
}

fn live_in(mut rig: Rig, mut rng: Rng, context: &str) {
    let pcpus = rig.tables.pcpus.len() as u64;
    rig.dom0();
    for _ in 0..rng.between(1, 6) {
        let params = some_params(&mut rng);
        let domain = rig.domain(&params);
        for _ in 0..rng.between(1, 2) {
            let hard = match rng.one_in(3) {
                true => CpuSet::of(PcpuId(rng.below(pcpus) as u16)),
                false => CpuSet::ALL,
            };
            rig.vcpu_within(domain, hard);
        }
    }
    for step in 0..300 {
        let v = VcpuId(rng.below(rig.tables.vcpus.len() as u64) as u32);
        let context = alloc::format!("{context}, step {step}");
        if rig.policy.collector.is_some() && rng.one_in(4) {
            let domain = rig.tables.vcpus[v.index()].name.domain;
            let done = us(*rng.pick(&[1, 300, 2_000, 50_000]));
            rig.call(|s, cx| s.charge(cx, domain, done));
        }
        act(&mut rig, &mut rng, v);
        rig.settle();
        check(&rig, &context);
        let length = *rng.pick(&[0, 100, 500, 1_000, 7_000]);
        rig.run_to(rig.now + us(length));
        check(&rig, &context);
    }
}

/// Something happens to `v`.
fn act(rig: &mut Rig, rng: &mut Rng, v: VcpuId) {
    let view = rig.tables.vcpus[v.index()];
    let current = rig.current(view.pcpu) == Some(v);
    match rng.below(9) {
        0..=2 if current => rig.block(v),
        0..=4 => rig.wake(v),
        5 if !view.pause.has(Pause::PAUSED) => rig.stop(v, Pause::PAUSED),
        5 | 6 => {
            rig.tables.vcpus[v.index()].pause.clear(Pause::PAUSED);
            if rig.tables.vcpus[v.index()].runnable() {
                rig.call(|s, cx| s.wake(cx, v, Wake::Unpause));
            }
        }
        7 => {
            let params = some_params(rng);
            rig.adjust(view.name.domain, &params);
        }
        _ => {
            rig.stop(v, Pause::MIGRATING);
            if !current {
                rig.migrate(v);
            }
        }
    }
}

#[test]
fn the_queues_stay_true_in_every_release() {
    for version in crate::rig::versions(&DESCRIPTOR) {
        for seed in 0..25 {
            live(version, "extra-support", seed);
        }
    }
}

#[test]
fn the_queues_stay_true_under_every_way_to_wake() {
    for unblock in Unblock::WORDS {
        for seed in 100..125 {
            live("3.0", unblock, seed);
        }
    }
}
