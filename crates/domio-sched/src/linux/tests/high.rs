//! Classes above fair (linux-spec 7; 12, vector 26).

use super::*;
use crate::linux::params::Class;
use domio_contract::Scheduler;
use domio_core::DomainId;

const FIFO: i64 = Class::Fifo as i64;
const RR: i64 = Class::RoundRobin as i64;
const DEADLINE: i64 = Class::Deadline as i64;

fn releases(pcpus: u16, params: &[(&str, &str)]) -> [(&'static str, Rig<Linux>); 4] {
    [
        ("6.1", cfs_with(pcpus, params)),
        ("6.12", eevdf_with(pcpus, "6.12", params)),
        ("6.18", eevdf_with(pcpus, "6.18", params)),
        ("7.3", eevdf_with(pcpus, "7.3", params)),
    ]
}

/// A vcpu of fifo that waits for an event.
fn fifo(rig: &mut Rig<Linux>, priority: i64) -> VcpuId {
    rig.guest(&[("class", FIFO), ("rt_priority", priority)])
}

/// A vcpu that reserves so much, in milliseconds.
fn reserving(rig: &mut Rig<Linux>, runtime: i64, deadline: i64, period: i64) -> VcpuId {
    rig.guest(&[
        ("class", DEADLINE),
        ("dl_runtime_us", runtime * 1_000),
        ("dl_deadline_us", deadline * 1_000),
        ("dl_period_us", period * 1_000),
    ])
}

fn wake(rig: &mut Rig<Linux>, vcpu: VcpuId) {
    rig.wake(vcpu);
    // Whoever is preempted may be pushed as soon as it is off its pcpu.
    rig.run_to(rig.now);
}

/// When `vcpu` runs on the first pcpu, in milliseconds: starts and ends.
fn runs(rig: &Rig<Linux>, vcpu: VcpuId) -> Vec<(u64, u64)> {
    let pairs = rig.switches.windows(2);
    let own = pairs.filter(|w| w[0].1 == Some(vcpu) && w[0].0 < w[1].0);
    own.map(|w| (w[0].0 / 1_000, w[1].0 / 1_000)).collect()
}

/// A hog of fifo and one of the fair class: when the latter runs.
fn starved(mut rig: Rig<Linux>, ms: u64) -> Vec<(u64, u64)> {
    let above = fifo(&mut rig, 1);
    rig.wake(above);
    let below = hog(&mut rig, &[]);
    rig.run_to(at(ms));
    runs(&rig, below)
}

/// Vector 26. The limit is noticed at the first tick after it in 6.1, and what was too much is
/// taken off the next period.
#[test]
fn the_throttling_of_6_1_leaves_the_rest_of_each_second() {
    let fine = starved(cfs_with(1, &[("hz", "1000")]), 4_500);
    assert_eq!(
        fine,
        [(951, 1000), (1950, 2000), (2950, 3000), (3950, 4000)]
    );
    let coarse = starved(cfs_with(1, &[]), 3_500);
    assert_eq!(coarse, [(952, 1000), (1952, 2000), (2948, 3000)]);
    let free = starved(cfs_with(1, &[("sched_rt_runtime_us", "-1")]), 3_500);
    assert_eq!(free, []);
}

/// Vector 26. The server begins again at the end of its first period, then at the begin of each.
#[test]
fn the_fair_server_runs_at_the_end_of_its_laxity_and_then_at_each_begin() {
    for release in ["6.12", "6.18"] {
        let fine = starved(eevdf_with(1, release, &[("hz", "1000")]), 4_500);
        let each = [(950, 1050), (2000, 2050), (3000, 3050), (4000, 4050)];
        assert_eq!(fine, each, "{release}");
        let off = eevdf_with(1, release, &[("fair_server_runtime_us", "0")]);
        assert_eq!(starved(off, 3_500), [], "{release}");
    }
    // A tick too much is taken off.
    let coarse = starved(eevdf_with(1, "6.12", &[]), 3_500);
    assert_eq!(coarse, [(950, 1052), (2000, 2048), (3000, 3052)]);
}

/// The server is put off for as long as fair threads have time without it.
#[test]
fn the_fair_server_counts_what_fair_threads_had() {
    let mut rig = eevdf_with(1, "6.12", &[("hz", "1000")]);
    let above = fifo(&mut rig, 1);
    let below = hog(&mut rig, &[]);
    rig.run_to(at(30));
    wake(&mut rig, above);
    rig.run_to(at(1_500));
    // 30 ms of the 50 are had: the laxity ends 20 ms before the period.
    assert_eq!(runs(&rig, below)[1], (980, 1050));
}

#[test]
fn a_higher_priority_preempts_and_an_equal_one_waits() {
    for (release, mut rig) in releases(1, &[]) {
        hog(&mut rig, &[]);
        let [low, equal, high] = [3, 3, 4].map(|p| fifo(&mut rig, p));
        wake(&mut rig, low);
        assert_eq!(rig.current(P0), Some(low), "{release}");
        wake(&mut rig, equal);
        assert_eq!(rig.current(P0), Some(low), "{release}");
        rig.run_to(at(50));
        wake(&mut rig, high);
        assert_eq!(rig.current(P0), Some(high), "{release}");
        // Whoever was preempted is the first of its priority still.
        rig.block_now(high);
        assert_eq!(rig.current(P0), Some(low), "{release}");
        rig.block_now(low);
        assert_eq!(rig.current(P0), Some(equal), "{release}");
    }
}

#[test]
fn a_yield_goes_behind_its_equals() {
    for (release, mut rig) in releases(1, &[]) {
        let [a, b] = [5, 5].map(|p| fifo(&mut rig, p));
        wake(&mut rig, a);
        wake(&mut rig, b);
        rig.call(|s, cx| s.yielded(cx, a));
        rig.pass(P0);
        assert_eq!(rig.current(P0), Some(b), "{release}");
    }
}

#[test]
fn rr_takes_turns_of_a_quantum() {
    for (release, mut rig) in releases(1, &[("rr_timeslice_ms", "20")]) {
        let params = [("class", RR), ("rt_priority", 7)];
        let [a, b] = [(); 2].map(|()| rig.guest(&params));
        wake(&mut rig, a);
        wake(&mut rig, b);
        rig.run_to(at(70));
        let turns = [(0, 20), (40, 60)];
        assert_eq!(
            (runs(&rig, a), runs(&rig, b)),
            (turns.into(), [(20, 40)].into()),
            "{release}"
        );
        // Alone in its priority it goes on.
        rig.block_now(b);
        rig.run_to(at(300));
        assert_eq!(rig.switches.last().unwrap().1, Some(a), "{release}");
    }
}

/// A quota is of the fair class.
#[test]
fn a_quota_does_not_hold_fifo() {
    for (release, mut rig) in releases(1, &[]) {
        let domain = rig.domain(&[("quota_us", 10_000)]);
        let [fair, above] = [(); 2].map(|()| rig.vcpu(domain));
        let values = values_of(&[("class", FIFO), ("rt_priority", 1)]);
        rig.call(|s, cx| s.set_vcpu(cx, above, &values));
        wake(&mut rig, fair);
        rig.run_to(at(40));
        assert_eq!(rig.current(P0), None, "{release}");
        wake(&mut rig, above);
        rig.run_to(at(240));
        assert_eq!(rig.current(P0), Some(above), "{release}");
        assert_eq!(rig.ran(above), Duration::from_millis(200), "{release}");
    }
}

fn values_of(params: &[(&str, i64)]) -> ParamValues {
    let mut values = ParamValues::defaults(CFS.vcpu_params);
    for (name, value) in params {
        values.set(name, *value).unwrap();
    }
    values
}

/// Earliest deadline first, above fifo; what is used up waits for the next period.
#[test]
fn deadlines_have_their_runtime_in_each_period() {
    let free = [("hz", "1000"), ("sched_rt_runtime_us", "-1")];
    for (release, mut rig) in releases(1, &free) {
        let hog = fifo(&mut rig, 99);
        wake(&mut rig, hog);
        let long = reserving(&mut rig, 20, 100, 100);
        let short = reserving(&mut rig, 3, 10, 10);
        wake(&mut rig, long);
        wake(&mut rig, short);
        rig.run_to(at(30));
        assert_eq!(runs(&rig, short), [(0, 3), (10, 13), (20, 23)], "{release}");
        assert_eq!(runs(&rig, long), [(3, 10), (13, 20), (23, 29)], "{release}");
        rig.run_to(at(2_000));
        assert_eq!(rig.ran(short), Duration::from_millis(600), "{release}");
        assert_eq!(rig.ran(long), Duration::from_millis(400), "{release}");
        assert_eq!(rig.ran(hog), Duration::from_millis(1_000), "{release}");
    }
}

/// A runtime ends at a tick, and what was too much is paid back.
#[test]
fn an_overrun_of_a_tick_is_paid_back() {
    let mut rig = cfs_with(1, &[]);
    let v = reserving(&mut rig, 5, 20, 20);
    wake(&mut rig, v);
    rig.run_to(at(99));
    assert_eq!(
        runs(&rig, v),
        [(0, 8), (20, 24), (40, 44), (60, 64), (80, 88)]
    );
    rig.run_to(at(10_000));
    let ran = rig.ran(v).as_nanos() as i64;
    assert!((2_500 * MS..=2_508 * MS).contains(&ran), "{ran}");
}

/// The rule of wake-ups: a deadline that is over, or that the runtime does not fit before, is not
/// kept.
#[test]
fn a_thread_that_wakes_keeps_its_deadline_where_it_can() {
    let mut rig = cfs_with(1, &[("hz", "1000")]);
    let v = reserving(&mut rig, 10, 100, 100);
    let deadline = |rig: &Rig<Linux>| rig.policy.cbs(entity(rig, v, false)).deadline;
    wake(&mut rig, v);
    assert_eq!(deadline(&rig), 100 * MS);
    rig.run_to(at(8));
    rig.block_now(v);
    // 2 ms are left, which is the reserved part of 20 ms.
    rig.run_to(at(70));
    wake(&mut rig, v);
    assert_eq!(deadline(&rig), 100 * MS);
    rig.run_to(at(71));
    rig.block_now(v);
    rig.run_to(at(95));
    wake(&mut rig, v);
    assert_eq!(deadline(&rig), 195 * MS);
}

/// With a deadline before the end of the period, a wake-up between the two waits for the period.
#[test]
fn a_constrained_deadline_waits_for_the_next_period() {
    for (release, mut rig) in releases(1, &[("hz", "1000")]) {
        let v = reserving(&mut rig, 5, 10, 50);
        wake(&mut rig, v);
        rig.run_to(at(2));
        rig.block_now(v);
        rig.run_to(at(20));
        wake(&mut rig, v);
        assert_eq!(rig.current(P0), None, "{release}");
        rig.run_to(at(120));
        assert_eq!(runs(&rig, v), [(0, 2), (50, 55), (100, 105)], "{release}");
    }
}

#[test]
fn a_yield_gives_up_the_rest_of_the_runtime() {
    let mut rig = cfs_with(1, &[]);
    let v = reserving(&mut rig, 8, 40, 40);
    wake(&mut rig, v);
    rig.run_to(at_us(2_500));
    rig.call(|s, cx| s.yielded(cx, v));
    rig.pass(P0);
    assert_eq!(rig.current(P0), None);
    rig.run_to(at(79));
    assert_eq!(runs(&rig, v), [(0, 2), (40, 48)]);
}

/// Where a thread of fifo runs, another goes to a pcpu without one.
#[test]
fn fifo_spreads_by_priority() {
    for (release, mut rig) in releases(3, &[]) {
        let vcpus = [10, 20, 30].map(|p| fifo(&mut rig, p));
        for v in vcpus {
            wake(&mut rig, v);
        }
        let mut homes = vcpus.map(|v| rig.home(v));
        homes.sort();
        assert_eq!(homes, [P0, PcpuId(1), PcpuId(2)], "{release}");
        // The lowest gives way to a fourth.
        let fourth = fifo(&mut rig, 15);
        wake(&mut rig, fourth);
        let running = |rig: &Rig<Linux>| [0, 1, 2].map(|p| rig.current(PcpuId(p)));
        assert!(running(&rig).contains(&Some(fourth)), "{release}");
        assert!(!running(&rig).contains(&Some(vcpus[0])), "{release}");
        // When another leaves, the lowest comes to its pcpu.
        rig.block_now(vcpus[2]);
        rig.run_to(at(1));
        assert!(running(&rig).contains(&Some(vcpus[0])), "{release}");
    }
}

/// Whoever is preempted and may run elsewhere is pushed there.
#[test]
fn a_preempted_thread_is_pushed() {
    for (release, mut rig) in releases(2, &[]) {
        let low = fifo(&mut rig, 1);
        wake(&mut rig, low);
        let domain = rig.domain(&[("class", FIFO), ("rt_priority", 2)]);
        let pinned = rig.vcpu_within(domain, [rig.home(low)].into_iter().collect());
        wake(&mut rig, pinned);
        rig.run_to(at(1));
        assert!(rig.current(rig.home(low)) == Some(low), "{release}");
        assert_ne!(rig.home(low), rig.home(pinned), "{release}");
    }
}

#[test]
fn deadlines_spread() {
    for (release, mut rig) in releases(2, &[]) {
        let vcpus = [40, 30, 20].map(|period| reserving(&mut rig, 10, period, period));
        for v in vcpus {
            wake(&mut rig, v);
        }
        rig.run_to(at(4_000));
        for (v, share) in vcpus.into_iter().zip([0.25, 0.33, 0.5]) {
            let ran = rig.ran(v).as_nanos() as f64 / 4e9;
            assert!((ran - share).abs() < 0.01, "{release}: {ran}");
        }
    }
}

/// A thread of the fair class does not stay under one of fifo where another pcpu has room.
#[test]
fn fair_threads_leave_a_pcpu_that_fifo_has() {
    for (release, mut rig) in releases(2, &[]) {
        let domain = rig.domain(&[("class", FIFO), ("rt_priority", 1)]);
        let above = rig.vcpu_within(domain, [P0].into_iter().collect());
        let fair = [(); 2].map(|()| hog(&mut rig, &[]));
        wake(&mut rig, above);
        rig.run_to(at(10_000));
        for v in fair {
            let share = rig.ran(v).as_nanos() as f64 / 1e10;
            assert!(share > 0.4, "{release}: {share}");
        }
    }
}

/// An operator raises and lowers a running thread and one that waits.
#[test]
fn a_class_changes_in_a_run() {
    for (release, mut rig) in releases(1, &[]) {
        let [a, b] = [(); 2].map(|()| hog(&mut rig, &[]));
        let set = |rig: &mut Rig<Linux>, v, params: &[(&str, i64)]| {
            let values = values_of(params);
            rig.call(|s, cx| s.set_vcpu(cx, v, &values));
            rig.settle();
        };
        rig.run_to(at(100));
        set(&mut rig, b, &[("class", FIFO), ("rt_priority", 1)]);
        assert_eq!(rig.current(P0), Some(b), "{release}");
        let before = rig.ran(a);
        rig.run_to(at(200));
        assert_eq!(rig.ran(a), before, "{release}");
        set(&mut rig, a, &[("class", FIFO), ("rt_priority", 2)]);
        assert_eq!(rig.current(P0), Some(a), "{release}");
        set(&mut rig, a, &[("class", FIFO), ("rt_priority", 1)]);
        assert_eq!(rig.current(P0), Some(a), "{release}");
        set(&mut rig, a, &[]);
        assert_eq!(rig.current(P0), Some(b), "{release}");
        set(&mut rig, b, &[]);
        let before = [a, b].map(|v| rig.ran(v));
        rig.run_to(at(1_200));
        for (v, before) in [a, b].into_iter().zip(before) {
            let share = (rig.ran(v) - before).as_nanos() as f64 / 1e9;
            assert!((share - 0.5).abs() < 0.02, "{release}: {share}");
        }
        assert_eq!(rig.policy.highs, 0, "{release}");
    }
}

/// A priority that is refused counts as the lowest, and so does a reservation that makes no sense.
#[test]
fn settings_that_are_refused_do_no_harm() {
    for (release, mut rig) in releases(1, &[]) {
        let none = rig.guest(&[("class", FIFO)]);
        let odd = rig.guest(&[("class", DEADLINE), ("dl_runtime_us", 4_000_000)]);
        wake(&mut rig, none);
        wake(&mut rig, odd);
        rig.run_to(at(100));
        assert!(rig.ran(odd) > Duration::ZERO, "{release}");
        assert!(rig.ran(none) > Duration::ZERO, "{release}");
    }
}

#[test]
fn values_that_do_not_go_together_are_refused() {
    use crate::linux::{validate, validate_domain, validate_vcpu};
    let fine: [&[(&str, i64)]; 4] = [
        &[],
        &[("class", RR), ("rt_priority", 99)],
        &[
            ("class", DEADLINE),
            ("dl_runtime_us", 500),
            ("dl_period_us", 500),
        ],
        &[
            ("class", DEADLINE),
            ("dl_runtime_us", 500),
            ("dl_deadline_us", 700),
        ],
    ];
    for params in fine {
        assert_eq!(validate_vcpu(&values_of(params)), Ok(()), "{params:?}");
    }
    type Wrong<'a> = (&'a [(&'a str, i64)], &'a str, &'a str);
    let wrong: [Wrong<'_>; 5] = [
        (&[("class", FIFO)], "class", "rt_priority"),
        (
            &[("class", DEADLINE), ("dl_runtime_us", 500)],
            "class",
            "dl_period_us",
        ),
        (
            &[("class", DEADLINE), ("dl_period_us", 500)],
            "class",
            "dl_runtime_us",
        ),
        (
            &[
                ("class", DEADLINE),
                ("dl_runtime_us", 500),
                ("dl_deadline_us", 700),
                ("dl_period_us", 600),
            ],
            "dl_deadline_us",
            "dl_period_us",
        ),
        (
            &[
                ("class", DEADLINE),
                ("dl_runtime_us", 500),
                ("dl_period_us", 400),
            ],
            "dl_runtime_us",
            "dl_deadline_us",
        ),
    ];
    for (params, param, with) in wrong {
        let refused = validate_vcpu(&values_of(params)).unwrap_err();
        assert_eq!((refused.param, refused.with), (param, with), "{params:?}");
        let mut domain = ParamValues::defaults(CFS.domain_params);
        for (name, value) in params {
            domain.set(name, *value).unwrap();
        }
        assert!(validate_domain(&domain).is_err(), "{params:?}");
    }
    for (specs, runtime, period) in [
        (CFS.params, "sched_rt_runtime_us", "sched_rt_period_us"),
        (
            EEVDF.params,
            "fair_server_runtime_us",
            "fair_server_period_us",
        ),
    ] {
        let values = values(specs, &[(runtime, "20000"), (period, "10000")]);
        let refused = validate(&values).unwrap_err();
        assert_eq!((refused.param, refused.with), (runtime, period));
        assert_eq!(validate(&ParamValues::defaults(specs)), Ok(()));
    }
}

/// Vcpus that come and go leave nothing of their classes behind.
#[test]
fn who_is_gone_counts_no_more() {
    for (release, mut rig) in releases(1, &[]) {
        let vcpus = [fifo(&mut rig, 1), reserving(&mut rig, 5, 10, 10)];
        for v in vcpus {
            wake(&mut rig, v);
        }
        rig.run_to(at(8));
        assert_eq!(rig.policy.highs, 2, "{release}");
        for v in vcpus {
            rig.stop(v, domio_contract::Pause::PAUSED);
            rig.settle();
            rig.call(|s, cx| s.remove(cx, v));
        }
        assert_eq!(rig.policy.highs, 0, "{release}");
        rig.run_to(at(2_000));
        assert_eq!(rig.timers[0], [None; 4], "{release}");
    }
}

/// Admission: what deadlines reserve of a host.
#[test]
fn deadlines_reserve_no_more_than_their_part_of_the_host() {
    use crate::linux::validate_vcpus;
    let of = |ms: i64| {
        let reserves = [("dl_runtime_us", ms * 1_000), ("dl_period_us", 100_000)];
        let values = values_of(&[&[("class", DEADLINE)][..], &reserves].concat());
        (DomainId(ms as u16), values)
    };
    let fair = (DomainId(0), values_of(&[("dl_runtime_us", 1_000_000)]));
    let check = |params: &[(&str, &str)], pcpus, vcpus: &[_]| {
        let refused = validate_vcpus(&values(CFS.params, params), pcpus, vcpus).err();
        refused.map(|(domain, _)| domain.0)
    };
    assert_eq!(check(&[], 1, &[of(60), fair, of(35)]), None);
    assert_eq!(check(&[], 1, &[of(60), fair, of(36), of(1)]), Some(36));
    assert_eq!(check(&[], 2, &[of(95), of(95)]), None);
    assert_eq!(check(&[], 2, &[of(95), of(96)]), Some(96));
    let half = [("sched_rt_runtime_us", "500000")];
    assert_eq!(check(&half, 1, &[of(51)]), Some(51));
    assert_eq!(
        check(&[("sched_rt_runtime_us", "-1")], 1, &[of(60), of(60)]),
        None
    );
}
