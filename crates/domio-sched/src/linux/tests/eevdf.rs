//! EEVDF of 6.12 to 7.0 (linux-spec 3; 12, vectors 15 to 20).

use super::*;
use domio_contract::Scheduler as _;

const RELEASES: [&str; 3] = ["6.12", "6.18", "7.0"];

/// Two vcpus of one group, so that only their own level decides.
fn pair(rig: &mut Rig<Linux>) -> [VcpuId; 2] {
    let domain = rig.domain(&[]);
    [(); 2].map(|()| rig.vcpu(domain))
}

fn set(rig: &mut Rig<Linux>, vcpu: VcpuId, name: &str, value: i64) {
    let mut values = ParamValues::defaults(EEVDF.vcpu_params);
    values.set(name, value).unwrap();
    rig.call(|s, cx| s.set_vcpu(cx, vcpu, &values));
}

/// Vector 15.
#[test]
fn equal_hogs_change_at_every_tick() {
    for release in RELEASES {
        for (hz, turn) in [("250", 4.0), ("1000", 1.0)] {
            let mut rig = eevdf_with(1, release, &[("hz", hz)]);
            hog(&mut rig, &[]);
            hog(&mut rig, &[]);
            rig.run_to(at(41));
            let lengths = lengths(&rig);
            assert!(lengths.len() > 8, "{release} {lengths:?}");
            assert!(lengths.iter().all(|l| *l == turn), "{release} {lengths:?}");
        }
    }
}

/// Vector 16.
#[test]
fn nice_5_has_a_tick_of_four() {
    for release in RELEASES {
        let mut rig = eevdf_with(1, release, &[]);
        let [a, b] = pair(&mut rig);
        set(&mut rig, b, "nice", 5);
        rig.wake(a);
        rig.settle();
        rig.wake(b);
        // Both begin at the same virtual time.
        let ea = entity(&rig, a, false);
        let eb = entity(&rig, b, false);
        assert_eq!(v_of(&rig, a), v_of(&rig, b));
        assert_ne!(ea, eb);
        rig.run_to(at(200));
        let turns = turns(&rig);
        assert_eq!(turns[0], (a, 4.0), "{release}");
        for pair in turns[1..turns.len() - 1].chunks_exact(2).take(6) {
            assert_eq!(pair, [(b, 4.0), (a, 12.0)], "{release}");
        }
    }
}

/// Vector 17: a sleeper with no lag wakes `us` after a hog began, which is alone. Whether it runs
/// then, and virtual times and deadlines of the hog and the sleeper, from the hog's start, in
/// microseconds.
fn wakes_beside_a_hog(release: &str, us: u64) -> (bool, [i64; 4]) {
    let mut rig = eevdf_with(1, release, &[]);
    let [h, s] = pair(&mut rig);
    // Both have run before, so that nobody is new.
    for v in [s, h] {
        rig.wake(v);
        rig.settle();
        rig.block_now(v);
    }
    rig.wake(h);
    rig.settle();
    let e = entity(&rig, h, false) as usize;
    let (start, deadline) = (rig.policy.entities[e].v, rig.policy.entities[e].deadline);
    assert_eq!(deadline - start, 700_000);
    rig.run_to(at_us(us));
    rig.wake(s);
    let of = |v| {
        let e = &rig.policy.entities[entity(&rig, v, false) as usize];
        [e.v - start, e.deadline - start].map(|ns| ns / 1_000)
    };
    let [[a, b], [c, d]] = [h, s].map(of);
    rig.settle();
    let preempts = rig.current(P0) == Some(s);
    if us < 700 {
        rig.run_to(at(4));
        assert_eq!(rig.current(P0), Some(s), "the tick has it run");
    }
    (preempts, [a, b, c, d])
}

#[test]
fn a_hog_is_protected_within_its_first_request() {
    let at = |us| wakes_beside_a_hog("6.12", us);
    assert_eq!(at(300), (false, [300, 700, 300, 1_000]));
    assert_eq!(at(2_000), (true, [2_000, 2_700, 2_000, 2_700]));
    assert_eq!(at(4_300), (false, [4_300, 4_700, 4_300, 5_000]));
}

/// Vector 18: placing with lag, in the group of a hog.
#[test]
fn lag_is_kept_over_sleep() {
    for release in RELEASES {
        for lag in [500_000, -500_000] {
            let mut rig = eevdf_with(1, release, &[]);
            let [h, s] = pair(&mut rig);
            rig.wake(h);
            rig.settle();
            let q = rig.policy.queue_of(entity(&rig, h, false));
            let e = entity(&rig, s, false);
            let hog = entity(&rig, h, false) as usize;
            rig.policy.entities[e as usize].lag = lag;
            not_new(&mut rig, s);
            let start = rig.policy.entities[hog].v;
            rig.wake(s);
            let (v, d) = {
                let s = &rig.policy.entities[e as usize];
                (s.v - start, s.deadline - start)
            };
            assert_eq!((v, d), (-2 * lag, -2 * lag + 700_000), "{release}");
            assert_eq!(rig.policy.mean(q).0 - start, -lag, "{release}");
            let eligible = rig.policy.is_eligible(q, start);
            assert_eq!(eligible, lag < 0, "{release}");
        }
    }
}

/// Vector 19: who blocks while ahead stays on the queue.
struct Delayed {
    rig: Rig<Linux>,
    h: VcpuId,
    s: VcpuId,
    start: i64,
}

fn delayed(release: &str) -> Delayed {
    let mut rig = eevdf_with(1, release, &[]);
    let [s, h] = pair(&mut rig);
    for v in [s, h] {
        not_new(&mut rig, v);
    }
    rig.wake(s);
    rig.settle();
    rig.wake(h);
    rig.settle();
    assert_eq!(rig.current(P0), Some(s));
    let start = v_of(&rig, h);
    assert_eq!(v_of(&rig, s), start);
    rig.run_to(at(1));
    rig.block_now(s);
    assert_eq!(rig.current(P0), Some(h));
    assert!(rig.policy.entities[entity(&rig, s, false) as usize].delayed);
    assert_eq!(v_of(&rig, s) - start, MS);
    Delayed { rig, h, s, start }
}

#[test]
fn who_blocks_ahead_stays_until_it_is_picked() {
    for release in RELEASES {
        let Delayed { mut rig, s, h, .. } = delayed(release);
        // The grid of ticks is that of the host: the next one is at 4 ms.
        rig.run_to(at(5));
        let e = &rig.policy.entities[entity(&rig, s, false) as usize];
        assert!(!e.delayed && !e.on_queue, "{release}");
        assert_eq!(e.lag, 0, "{release}");
        assert_eq!(rig.current(P0), Some(h), "{release}");
    }
}

#[test]
fn who_wakes_while_it_sleeps_on_the_queue_keeps_its_place() {
    let Delayed {
        mut rig,
        s,
        h,
        start,
    } = delayed("6.12");
    rig.run_to(at_us(1_500));
    rig.wake(s);
    rig.settle();
    assert_eq!(v_of(&rig, s) - start, MS);
    assert_eq!(rig.current(P0), Some(h));
    let Delayed { mut rig, s, .. } = delayed("6.12");
    rig.run_to(at(3));
    rig.wake(s);
    rig.settle();
    assert_eq!(rig.current(P0), Some(s));
}

/// Vector 20. What Linux cuts to 100 us or to 100 ms is no value of the parameter.
#[test]
fn a_slice_of_its_own_is_within_limits() {
    let mut rig = eevdf_with(1, "6.12", &[]);
    let [v, _] = pair(&mut rig);
    for (us, ns) in [
        (100, 100_000),
        (3_000, 3 * MS),
        (100_000, 100 * MS),
        (0, 700_000),
    ] {
        set(&mut rig, v, "slice_us", us);
        let e = entity(&rig, v, false) as usize;
        assert_eq!(rig.policy.entities[e].slice, ns);
    }
    let mut values = ParamValues::defaults(EEVDF.vcpu_params);
    for us in [50, 200_000] {
        assert!(values.set("slice_us", us).is_err(), "{us}");
    }
}

/// A shorter slice preempts a protected hog.
#[test]
fn a_short_slice_preempts() {
    for release in RELEASES {
        let who = |slice: i64| {
            let mut rig = eevdf_with(1, release, &[("base_slice_ns", "3000000")]);
            let [h, s] = pair(&mut rig);
            set(&mut rig, s, "slice_us", slice);
            for v in [s, h] {
                not_new(&mut rig, v);
            }
            rig.wake(h);
            rig.run_to(at_us(500));
            rig.wake(s);
            rig.settle();
            (rig.current(P0) == Some(s), rig.policy.shortest_slice(1))
        };
        assert_eq!(who(100), (true, 100_000), "{release}");
        assert_eq!(who(0), (false, 3_000_000), "{release}");
    }
}

/// Groups share by their weights.
#[test]
fn groups_share_by_weight() {
    for release in RELEASES {
        let mut rig = eevdf_with(1, release, &[]);
        let vms = [100, 200, 400].map(|w| hog(&mut rig, &[("weight", w)]));
        rig.run_to(at(21_000));
        let ran = vms.map(|v| rig.ran(v).as_nanos() as f64 / 1e9);
        for (ran, weight) in ran.into_iter().zip([1.0, 2.0, 4.0]) {
            assert!((ran - 3.0 * weight).abs() < 0.03, "{release} {ran}");
        }
    }
}

/// linux-spec 3.12.
#[test]
fn who_yields_gives_the_rest_of_its_request_away() {
    for release in RELEASES {
        let mut rig = eevdf_with(1, release, &[]);
        let [a, b] = pair(&mut rig);
        rig.wake(a);
        rig.settle();
        rig.wake(b);
        rig.run_to(at_us(100));
        rig.call(|s, cx| s.yielded(cx, a));
        rig.pass(P0);
        assert_eq!(rig.current(P0), Some(b), "{release}");
    }
}
