//! Random lives under every release: the tables stay true whatever happens.

use super::*;

/// A small generator, so that a failure names a seed that repeats it.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

/// Everything that must hold between two events, once no pass is pending.
fn check(rig: &Rig, context: &str) {
    let credit = &rig.credit;
    for pcpu in rig.tables.pcpus.ids() {
        let queue = rig.queue(pcpu);
        let current = rig.current(pcpu);
        let runnable = queue.len() as u32 + u32::from(current.is_some());
        assert_eq!(
            credit.pcpus[pcpu].runnable, runnable,
            "{context}: count of {pcpu}"
        );
        assert_eq!(
            credit.idlers.contains(pcpu),
            current.is_none(),
            "{context}: {pcpu} idle"
        );
        assert!(
            current.is_some() || queue.is_empty(),
            "{context}: {pcpu} idles with {queue:?} queued"
        );
        let p = &credit.pcpus[pcpu];
        if p.sorted == credit.sort_epoch && !credit.settings.runq_sort {
            let has_credit = |v: &&VcpuId| credit.priority(**v) >= Priority::Under;
            let last = queue.iter().take_while(has_credit).last();
            let known = credit.vcpus.get(p.credit_end as usize);
            let known = known.map(|_| VcpuId(p.credit_end));
            assert_eq!(known.as_ref(), last, "{context}: end of credit on {pcpu}");
        }
        for v in queue {
            let view = &rig.tables.vcpus[v.index()];
            assert!(
                view.runnable() && view.pcpu == pcpu,
                "{context}: {v:?} in a wrong queue"
            );
        }
    }
    let mut active = 0;
    let mut weight = 0;
    for domain in credit.active_domains() {
        let d = &credit.domains[domain.index()];
        let mut at = d.active_head;
        let mut count = 0;
        while let Some(v) = credit.vcpus.get(at as usize) {
            assert!(
                v.has(flag::ACTIVE) && v.domain == domain.0,
                "{context}: active list"
            );
            count += 1;
            at = v.active_next;
        }
        assert!(
            count > 0 && count == d.active_count,
            "{context}: active count of {domain}"
        );
        active += count;
        weight += credit.weight_in_sum(domain.index(), count);
    }
    assert_eq!(credit.weight, weight, "{context}: sum of weights");
    for (i, v) in credit.vcpus.iter().enumerate() {
        active -= u32::from(v.has(flag::ACTIVE));
        let view = &rig.tables.vcpus[i];
        let parked = view.pause.has(Pause::PARKED);
        assert_eq!(v.has(flag::PARKED), parked, "{context}: vcpu {i} parked");
        let current = rig.current(view.pcpu) == Some(VcpuId(i as u32));
        let known = v.has(flag::PRESENT) && view.runnable();
        assert_eq!(v.queued(), known && !current, "{context}: vcpu {i} queued");
    }
    assert_eq!(active, 0, "{context}: active vcpus outside the lists");
}

/// One random life; every step is followed by a check.
fn live(version: &str, seed: u64) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let topologies = [(1, 1, 1), (1, 4, 1), (1, 2, 2), (2, 2, 2), (3, 2, 1)];
    let (s, c, t) = topologies[dice.below(5) as usize];
    let topology = Topology::new(s, c, t).unwrap();
    let pcpus = topology.pcpus() as u64;
    let params = [
        ("boost", dice.below(4).min(1) as i64),
        ("tickle", dice.below(4).min(1) as i64),
        ("runq_sort", i64::from(dice.below(4) == 0)),
        ("smt_power_savings", i64::from(dice.below(4) == 0)),
        ("migration_delay_us", [0, 0, 500][dice.below(3) as usize]),
    ];
    let mut rig = Rig::with(version, topology, &params);
    for _ in 0..1 + dice.below(5) {
        let cap = [0, 0, 20, 75, 150][dice.below(5) as usize];
        let domain = rig.domain(1 + dice.below(1000) as i64, cap);
        for _ in 0..1 + dice.below(4) {
            let some = |dice: &mut Dice| match dice.below(3) {
                0 => [dice.below(pcpus), dice.below(pcpus)].map(|p| PcpuId(p as u16)),
                _ => [P0; 2],
            };
            let pick = some(&mut dice);
            let hard = if pick == [P0; 2] {
                CpuSet::ALL
            } else {
                pick.into_iter().collect()
            };
            let soft = some(&mut dice).into_iter().collect();
            rig.vcpu_within(domain, hard, soft);
        }
    }
    for step in 0..300 {
        let v = VcpuId(dice.below(rig.tables.vcpus.len() as u64) as u32);
        let context = alloc::format!("{version}, seed {seed}, step {step}");
        act(&mut rig, &mut dice, v);
        let next = rig.now + us(dice.below(9_000));
        rig.settle();
        check(&rig, &context);
        rig.run_to(next);
        check(&rig, &context);
    }
}

/// Something happens to `v`.
fn act(rig: &mut Rig, dice: &mut Dice, v: VcpuId) {
    let view = rig.tables.vcpus[v.index()];
    let current = rig.current(view.pcpu) == Some(v);
    match dice.below(8) {
        0..=2 if current => rig.block(v),
        0..=4 if view.pause.bits() & Pause::BLOCKED != 0 => {
            let mut alone = view.pause;
            alone.clear(Pause::BLOCKED);
            rig.tables.vcpus[v.index()].pause = alone;
            if rig.tables.vcpus[v.index()].runnable() {
                rig.wake(v);
            }
        }
        5 if current => rig.yielded(v),
        6 => {
            let domain = view.name.domain;
            let cap = [0, 10, 60][dice.below(3) as usize];
            rig.adjust(domain, 1 + dice.below(500) as i64, cap);
        }
        7 if !current && view.runnable() => {
            // Paused by the operator, and moved because of a new affinity.
            rig.tables.vcpus[v.index()].pause.set(Pause::MIGRATING);
            rig.call(|c, cx| c.sleep(cx, v));
            rig.migrate(v);
        }
        _ => {}
    }
}

#[test]
fn the_tables_stay_true_in_every_release() {
    for version in crate::rig::versions(&super::super::DESCRIPTOR) {
        for seed in 1..=12 {
            live(version, seed);
        }
    }
}
