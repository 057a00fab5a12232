//! What vcpus get in the long run: reservations are kept, ceilings hold, extra time is used.

use super::*;
use crate::conformance::rng::Rng;

/// Random reservations of 90 % at most, on one pcpu.
fn feasible(rng: &mut Rng) -> Vec<[(&'static str, i64); 3]> {
    let mut all = Vec::new();
    let mut left = 900;
    while left > 20 && all.len() < 6 {
        let period = *rng.pick(&[3_000, 10_000, 20_000, 35_000, 100_000]);
        let per_mille = rng.between(10, left.min(400)) as i64;
        left -= per_mille as u64;
        let [p, s] = reserves(period, (period * per_mille / 1000).max(5));
        all.push([p, s, ("extratime", rng.below(2) as i64)]);
    }
    all
}

fn value(params: &[(&str, i64)], name: &str) -> u64 {
    params.iter().find(|(n, _)| *n == name).unwrap().1 as u64
}

#[test]
fn burning_vcpus_get_their_slice_in_each_period_and_no_more_without_extra_time() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let version = *rng.pick(&EPOCHS);
        let mut rig = Rig::new(version, 1);
        let all = feasible(&mut rng);
        let vcpus: Vec<_> = all.iter().map(|params| rig.guest(params)).collect();
        let hogs = [0; 2].map(|_| rig.guest(&[]));
        for v in vcpus.iter().chain(&hogs) {
            rig.wake(*v);
        }
        // Every first period begins within 100 ms.
        let mut before: Vec<Duration> = Vec::new();
        for step in 0..20 {
            let length = 700_000;
            rig.run_to(at_us(100_000 + step * length));
            let now: Vec<_> = vcpus.iter().map(|v| rig.ran(*v)).collect();
            for (i, params) in all.iter().enumerate().filter(|_| step > 0) {
                let got = (now[i] - before[i]).as_nanos() / 1_000;
                let (period, slice) = (value(params, "period_us"), value(params, "slice_us"));
                let whole = length / period;
                assert!(
                    got >= (whole - 1) * slice,
                    "seed {seed}, {params:?}: {got} us"
                );
                let capped = value(params, "extratime") == 0;
                let most = (whole + 2) * slice;
                assert!(!capped || got <= most, "seed {seed}, {params:?}: {got} us");
            }
            before = now;
        }
        // What is not reserved is used: the pcpu idles in gaps of under 500 us only.
        let hogs: Vec<_> = hogs.iter().map(|v| rig.ran(*v)).collect();
        assert!(
            hogs.iter().all(|ran| !ran.is_zero()),
            "seed {seed}: {hogs:?}"
        );
        let gaps: Vec<u64> = rig.notes_of(9).iter().map(|n| u64::from(n[0])).collect();
        assert!(gaps.iter().all(|gap| *gap < 500_000), "seed {seed}");
        let used: u64 = before.iter().chain(&hogs).map(|d| d.as_nanos()).sum();
        let idle = rig.now.as_nanos() - used;
        assert!(idle <= gaps.iter().sum(), "seed {seed}: idle for {idle} ns");
        for v in vcpus {
            assert!(
                !rig.notes_of(8).iter().any(|n| n[0] == name(&rig, v)),
                "seed {seed}"
            );
        }
    }
}

fn name(rig: &Rig, v: VcpuId) -> u32 {
    rig.tables.vcpus[v.index()].name.word()
}

/// Cherkasova and others 2007: a fifth of a pcpu, whether as 20 ms in 100 ms or 2 ms in 10 ms.
#[test]
fn a_ceiling_holds_for_any_period() {
    for (period, slice) in [(100_000, 20_000), (10_000, 2_000)] {
        let mut rig = Rig::new("3.1", 1);
        let v = rig.guest(&capped(period, slice));
        rig.wake(v);
        rig.run_to(at_us(slice as u64 + 10_000_000));
        assert_eq!(rig.ran(v), us(2_000_000));
    }
}

/// The same: without balancing, 80 %, 80 % and 30 % do not fit on two pcpus.
#[test]
fn what_fits_on_no_single_pcpu_is_not_served() {
    let mut rig = Rig::new("3.1", 2);
    let vcpus = [80_000, 80_000, 30_000].map(|slice| rig.guest(&capped(100_000, slice)));
    assert_eq!(vcpus.map(|v| rig.home(v)), [P1, P0, P1]);
    for v in vcpus {
        rig.wake(v);
    }
    rig.run_to(at_ms(10_000));
    let ran = vcpus.map(|v| rig.ran(v).as_nanos() / 100_000_000);
    assert!(ran[1] >= 78, "alone on its pcpu: {ran:?}");
    assert!(ran[0] + ran[2] <= 100 && ran[0] + ran[2] >= 97, "{ran:?}");
    assert!(
        ran[0] < 80 || ran[2] < 29,
        "they cannot both be served: {ran:?}"
    );
}

#[test]
fn equal_guests_share_equally_in_every_release() {
    for version in EPOCHS {
        let mut rig = Rig::new(version, 1);
        let vcpus = [0; 7].map(|_| rig.guest(&[]));
        for v in vcpus {
            rig.wake(v);
        }
        rig.run_to(at_ms(7000));
        for v in vcpus {
            let ran = rig.ran(v).as_nanos() / 1_000_000;
            assert!(ran.abs_diff(1000) <= 1, "{version}: {ran} ms");
        }
    }
}

#[test]
fn a_sleeper_beside_burning_guests_waits_for_one_turn_of_each_at_most() {
    let mut rig = Rig::new("3.1", 1);
    let hogs = [0; 7].map(|_| rig.guest(&[]));
    let sleeper = rig.guest(&[]);
    for v in hogs {
        rig.wake(v);
    }
    let mut waited_most = Duration::ZERO;
    for n in 1..60_u64 {
        // At odd times, before and after the end of the period in which it slept.
        let woken = at_us(70_000 * n + 77 * n % 500);
        rig.run_to(woken);
        rig.wake_now(sleeper);
        while rig.current(P0) != Some(sleeper) {
            rig.run_to(rig.now + us(10));
        }
        waited_most = waited_most.max(rig.now.since(woken));
        rig.run_to(rig.now + us(100));
        rig.block_now(sleeper);
    }
    assert!(waited_most <= us(500 * 7), "{waited_most}");
    assert!(
        waited_most >= us(500),
        "it is not put in front of them: {waited_most}"
    );
}
