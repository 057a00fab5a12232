//! What 7.0, 7.2 and 7.3 changed (linux-spec 3.4, 3.6 to 3.10; 12, vectors 11, 15 and 19).

use super::*;
use domio_contract::Scheduler as _;

fn set(rig: &mut Rig<Linux>, vcpu: VcpuId, name: &str, value: i64) {
    let mut values = ParamValues::defaults(EEVDF.vcpu_params);
    values.set(name, value).unwrap();
    rig.call(|s, cx| s.set_vcpu(cx, vcpu, &values));
}

/// Two vcpus of one group that have run before.
fn pair(rig: &mut Rig<Linux>) -> [VcpuId; 2] {
    let domain = rig.domain(&[]);
    let both = [(); 2].map(|()| rig.vcpu(domain));
    for v in both {
        not_new(rig, v);
    }
    both
}

/// The turns of two hogs, each in a group of its own, in milliseconds, without the first ones, in
/// which new threads have half a request.
fn turns_of_two(release: &str, params: &[(&str, &str)]) -> Vec<f64> {
    let mut rig = eevdf_with(1, release, params);
    hog(&mut rig, &[]);
    hog(&mut rig, &[]);
    rig.run_to(at(101));
    lengths(&rig).split_off(5)
}

/// Vector 15, and 14.2.7: with a timer at the end of the request turns are as long as the slice.
#[test]
fn turns_end_with_the_request() {
    let check = |release, params: &[_], length: f64| {
        let turns = turns_of_two(release, params);
        let all = turns.iter().all(|t| (t - length).abs() < 0.0015);
        assert!(all, "{release} {params:?}: {turns:?}");
    };
    for release in ["7.2", "7.3"] {
        check(release, &[("hz", "250")], 0.7);
        check(release, &[("hz", "1000")], 0.7);
        check(release, &[("hrtick", "0")], 4.0);
    }
    check("7.0", &[], 4.0);
}

/// The timer is set at a switch. Where a thread is picked again there is none, and the thread goes
/// on to the next tick.
#[test]
fn who_is_picked_again_runs_to_the_tick() {
    let mut rig = eevdf_with(1, "7.3", &[]);
    let light = hog(&mut rig, &[("weight", 100)]);
    let heavy = hog(&mut rig, &[("weight", 400)]);
    rig.run_to(at(2_000));
    // In microseconds: a turn is over after a request, or at a tick.
    let turns = rig.switches.windows(2).skip(5);
    let mut long = 0;
    for turn in turns {
        let (length, end) = (turn[1].0 - turn[0].0, turn[1].0);
        assert!(length.abs_diff(700) < 2 || end % 4_000 == 0, "{turn:?}");
        long += usize::from(length > 800);
    }
    assert!(long > 100, "{long}");
    let ran = |v| rig.ran(v).as_nanos() as f64;
    let ratio = ran(heavy) / ran(light);
    assert!((3.7..4.3).contains(&ratio), "{ratio}");
}

/// 3.10: the shortest time of the timer.
#[test]
fn the_timer_takes_ten_microseconds_at_least() {
    let mut rig = eevdf_with(1, "7.2", &[("base_slice_ns", "100000")]);
    let [a, b] = pair(&mut rig);
    for v in [a, b] {
        set(&mut rig, v, "nice", -20);
        rig.wake(v);
    }
    rig.run_to(at(10));
    let lengths = lengths(&rig);
    assert!(lengths.iter().all(|t| *t >= 0.01), "{lengths:?}");
}

/// 3.4: the limit is of the longest slice on the queue and a tick.
#[test]
fn lag_is_limited_by_the_longest_slice_on_the_queue() {
    let lag = |release: &str| {
        let mut rig = eevdf_with(1, release, &[]);
        let [a, b] = pair(&mut rig);
        set(&mut rig, b, "slice_us", 10_000);
        rig.wake(a);
        rig.settle();
        rig.wake(b);
        let (a, b) = (entity(&rig, a, false), entity(&rig, b, false));
        let q = rig.policy.line_of(a);
        rig.policy.unlink(q, b);
        rig.policy.entities[b as usize].v += 100 * MS;
        rig.policy.link(q, b);
        rig.policy.lag(q, a)
    };
    assert_eq!(lag("6.18"), 4 * MS);
    // In the flat hierarchy both pass virtual time by half of the weight.
    assert_eq!(["7.0", "7.2"].map(lag), [14 * MS; 2]);
    assert!((14 * MS..=28 * MS).contains(&lag("7.3")), "{}", lag("7.3"));
}

/// Vector 19 (c): whoever runs is charged before a sleeper on the queue is looked at.
#[test]
fn a_sleeper_on_the_queue_is_placed_anew_when_it_has_waited_enough() {
    let placed = |release: &str| {
        let mut rig = eevdf_with(1, release, &[("hrtick", "0")]);
        let [s, h] = pair(&mut rig);
        rig.wake(s);
        rig.settle();
        rig.wake(h);
        rig.settle();
        let start = v_of(&rig, h);
        rig.run_to(at(1));
        rig.block_now(s);
        assert!(rig.policy.entities[entity(&rig, s, false) as usize].delayed);
        rig.run_to(at(3));
        rig.wake(s);
        v_of(&rig, s) - start
    };
    // The hog was charged last when it became current, so the sleeper seems to be ahead still.
    assert_eq!(placed("7.0"), MS);
    // It has waited long enough: it is placed at the mean of the others, the hog.
    assert_eq!(placed("7.2"), 2 * MS);
    // Of the two in a group each has half of its weight, so virtual time passes twice as fast.
    assert_eq!(placed("7.3"), 4 * MS);
}

/// 3.8: new threads preempt nobody, unless their slices are shorter.
#[test]
fn new_threads_wait() {
    let preempts = |release: &str, new: bool, slice: i64| {
        let mut rig = eevdf_with(1, release, &[("hrtick", "0")]);
        let [h, s] = [(); 2].map(|()| rig.guest(&[]));
        not_new(&mut rig, h);
        rig.policy.threads[s.index()].known = !new;
        set(&mut rig, s, "slice_us", slice);
        rig.wake(h);
        rig.run_to(at(2));
        rig.wake(s);
        rig.settle();
        rig.current(P0) == Some(s)
    };
    for release in ["7.0", "7.2", "7.3"] {
        assert!(preempts(release, false, 0), "{release}");
        assert!(!preempts(release, true, 0), "{release}");
        assert!(preempts(release, true, 200), "{release}");
    }
    assert!(preempts("6.18", true, 0));
}

/// 3.9: a thread passes virtual time by its part of the pcpu, and its part is stale while it waits.
#[test]
fn threads_of_all_groups_are_on_one_tree() {
    let mut rig = eevdf_with(1, "7.3", &[]);
    let pair = pair(&mut rig);
    let alone = hog(&mut rig, &[("weight", 200)]);
    for v in pair {
        rig.wake(v);
    }
    let weight = |rig: &Rig<Linux>, v| {
        let e = entity(rig, v, false) as usize;
        rig.policy.entities[e].effective.weight
    };
    // The first of the two came alone.
    assert_eq!(pair.map(|v| weight(&rig, v)), [1 << 20, 1 << 19]);
    assert_eq!(weight(&rig, alone), 2 << 20);
    rig.run_to(at(100));
    assert_eq!(pair.map(|v| weight(&rig, v)), [1 << 19; 2]);
    rig.run_to(at(8_000));
    let ran = |v| rig.ran(v).as_nanos() as f64 / 8e9;
    for (v, share) in [
        (pair[0], 1.0 / 6.0),
        (pair[1], 1.0 / 6.0),
        (alone, 2.0 / 3.0),
    ] {
        assert!((ran(v) - share).abs() < 0.02, "{} {share}", ran(v));
    }
}

/// A group that becomes empty leaves, even if its last thread is ahead and sleeps on the tree.
#[test]
fn groups_do_not_sleep_on_queues() {
    let mut rig = eevdf_with(1, "7.3", &[("hrtick", "0")]);
    let a = hog(&mut rig, &[]);
    hog(&mut rig, &[]);
    rig.run_to(at(1));
    rig.block_now(a);
    let (thread, group) = (entity(&rig, a, false), entity(&rig, a, true));
    let of = |e: u32| &rig.policy.entities[e as usize];
    assert!(of(thread).delayed && of(thread).on_queue);
    assert!(!of(group).delayed && of(group).on_queue);
}

/// 3.7: beside a shorter slice whoever runs is protected until it is not eligible.
#[test]
fn protection_lasts_while_eligible() {
    let until = |release: &str| {
        let mut rig = eevdf_with(1, release, &[("hrtick", "0")]);
        let [h, s] = pair(&mut rig);
        set(&mut rig, s, "slice_us", 100);
        set(&mut rig, h, "slice_us", 3_000);
        rig.wake(s);
        rig.settle();
        rig.wake(h);
        rig.run_to(at_us(300));
        rig.block_now(s);
        rig.wake(s);
        rig.pass(P0);
        let h = &rig.policy.entities[entity(&rig, h, false) as usize];
        h.protected_until - h.v
    };
    // 7.2: for the shorter slice, from where it was switched in.
    assert!(until("7.2") <= 100_000, "{}", until("7.2"));
    assert!(until("7.3") > 100_000, "{}", until("7.3"));
}

/// Vector 11, and the other modes: the weight of a group of two hogs on two pcpus, and of more on
/// the first one, in parts of that of a group on one.
#[test]
fn the_weight_of_a_group_on_each_pcpu_depends_on_the_mode() {
    let weights = |release: &str, mode: &str, more: usize| {
        let mut rig = eevdf_with(2, release, &[("cgroup_mode", mode), ("hz", "1000")]);
        let domain = rig.domain(&[]);
        let on = |p: u16| [PcpuId(p)].into_iter().collect();
        let both = [0, 1].map(|p| rig.vcpu_within(domain, on(p)));
        for v in both {
            rig.wake(v);
        }
        for _ in 0..more {
            let v = rig.vcpu_within(domain, on(0));
            rig.wake(v);
        }
        rig.run_to(at(3_000));
        both.map(|v| {
            let e = entity(&rig, v, true) as usize;
            rig.policy.entities[e].load.weight as f64 / f64::from(1 << 20)
        })
    };
    for (release, mode, more, expected) in [
        ("7.2", "concur", 0, [0.5, 0.5]),
        ("7.3", "smp", 0, [0.5, 0.5]),
        ("7.3", "up", 0, [1.0, 1.0]),
        ("7.3", "max", 0, [1.0, 1.0]),
        // The average of a thread that always runs is 1023 and not 1024, and the sum of the group
        // is rounded down: n threads are n - 1.
        ("7.3", "concur", 0, [0.5, 0.5]),
        ("7.3", "concur", 1, [4.0 / 3.0, 2.0 / 3.0]),
        ("7.3", "concur", 2, [1.5, 0.5]),
        ("7.3", "tasks", 0, [0.5, 0.5]),
        ("7.3", "tasks", 2, [2.25, 0.75]),
    ] {
        let found = weights(release, mode, more);
        for (found, expected) in found.into_iter().zip(expected) {
            let off = (found / expected - 1.0).abs();
            assert!(
                off < 0.04,
                "{release} {mode}, {more} more: {found} of {expected}"
            );
        }
    }
}

/// 4.4: a group is throttled where its time is charged, and its thread leaves without being picked
/// once more.
#[test]
fn charging_throttles() {
    for release in ["6.18", "7.2", "7.3"] {
        let mut rig = eevdf_with(1, release, &[]);
        let v = hog(&mut rig, &[("cap", 20)]);
        let other = hog(&mut rig, &[]);
        rig.run_to(at(4_000));
        let share = rig.ran(v).as_nanos() as f64 / 4e9;
        assert!((share - 0.2).abs() < 0.01, "{release}: {share}");
        assert!(rig.ran(other) > Duration::from_millis(3_150), "{release}");
    }
}

/// 6.8: with `NI_RATE` a pcpu that has not looked for long does not draw.
#[test]
fn a_ratio_grows_with_the_time_since() {
    let mut draws = super::super::state::Cpu::ABSENT.draws[0];
    draws.ratio = 100;
    draws.note_time(1 << 30);
    assert_eq!(draws.ratio, 100 + 256);
    draws.note_time(1 << 40);
    assert_eq!(draws.ratio, super::super::state::Draws::ALWAYS);
}
