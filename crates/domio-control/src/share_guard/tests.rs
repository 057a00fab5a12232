//! The rules of ShareGuard, one test each, with figures worked out by hand.

use super::*;
use alloc::string::String;
use alloc::vec::Vec;
use domio_contract::control::{Adjustment, Settings};
use domio_core::Instant;

/// An interval of 100 ms, so that a millisecond is a percent of one pcpu.
const INTERVAL: Duration = Duration::from_millis(100);

fn controller(changed: &[(&str, i64)]) -> ShareGuard {
    let mut params = ParamValues::defaults(DESCRIPTOR.params);
    for (name, value) in changed {
        params.set(name, *value).expect("a value in range");
    }
    ShareGuard::new(&params)
}

const FIVE: (&str, i64) = (LIMIT, 5);
const HOLD: (&str, i64) = ("form", 1);
const GRADED: (&str, i64) = ("form", 2);
const PRINTED: (&str, i64) = ("defence", 1);

/// A driver domain with one vcpu.
fn driver() -> DomainSeen {
    DomainSeen {
        id: DomainId(0),
        is_driver: true,
        vcpus: 1,
        ..DomainSeen::default()
    }
}

/// Domain 1, for which `served` percent were worked, with `traffic` set.
fn guest(served: u64, traffic: Traffic) -> DomainSeen {
    DomainSeen {
        id: DomainId(1),
        vcpus: 1,
        served: Duration::from_millis(served),
        packets_out: 1_000,
        packets_in: 400,
        set: Settings {
            traffic: Some(traffic),
            ..Settings::default()
        },
        ..DomainSeen::default()
    }
}

fn observe(guard: &mut ShareGuard, domains: &[DomainSeen], length: Duration) -> Answers {
    let mut answers = Answers::new();
    let seen = Observation {
        now: Instant::ZERO + INTERVAL + length,
        since: Instant::ZERO + INTERVAL,
        pcpus: &[],
        domains,
        abilities: Kinds::ALL,
        policy: &[],
    };
    guard.observe(&seen, &mut answers);
    let refused = answers.list().iter().find(|a| seen.refuses(a).is_some());
    assert_eq!(refused, None);
    answers
}

/// What is set for domain 1 by one observation of it, which carries the answer out.
fn step(guard: &mut ShareGuard, seen: &mut DomainSeen) -> Option<Traffic> {
    let answers = observe(guard, &[driver(), *seen], INTERVAL);
    let set = match answers.list() {
        [] => None,
        [
            Adjustment::Domain {
                domain: DomainId(1),
                change: Change::Traffic(traffic),
            },
        ] => Some(*traffic),
        other => panic!("{other:?}"),
    };
    if let Some(traffic) = set {
        seen.set.traffic = Some(traffic);
    }
    set
}

fn guarded(guard: Guard) -> Option<Traffic> {
    let lasts = INTERVAL;
    Some(Traffic::Guarded { guard, lasts })
}

/// How many observations set a guard in a row, when the guest is served these percents.
fn stops(guard: &mut ShareGuard, served: &[u64]) -> usize {
    let mut seen = guest(0, Traffic::Free);
    let mut stops = 0;
    for i in 0..200 {
        seen.served = Duration::from_millis(served.get(i).copied().unwrap_or(0));
        match step(guard, &mut seen) {
            Some(Traffic::Guarded { guard, .. }) => {
                assert_eq!(guard, Guard::Drop);
                stops += 1;
            }
            Some(Traffic::Free) => {
                assert!(stops > 0);
                return stops;
            }
            other => panic!("{other:?} at {i}, after {stops} stops"),
        }
    }
    panic!("never freed");
}

#[test]
fn the_paper_s_example_30_percent_against_5_is_5_intervals_more() {
    assert_eq!(stops(&mut controller(&[FIVE]), &[30]), 5);
    // Its formula as printed: int((30 + 1) / 5) is 6.
    assert_eq!(stops(&mut controller(&[FIVE, PRINTED]), &[30]), 6);
}

#[test]
fn a_defence_lasts_until_the_average_complies() {
    // 31 % over 6 intervals are 5.17 %, over 7 they are 4.4 %.
    assert_eq!(stops(&mut controller(&[FIVE]), &[31]), 6);
    assert_eq!(stops(&mut controller(&[FIVE]), &[6]), 1);
    assert_eq!(stops(&mut controller(&[(LIMIT, 1)]), &[100]), 99);
    // What dropping costs meanwhile counts: 30 and five times 1 are 35, which are 5 % of 7.
    assert_eq!(stops(&mut controller(&[FIVE]), &[30, 1, 1, 1, 1, 1]), 6);
    // As printed it does not: int((6 + 1) / 5) is 1, int((14 + 1) / 5) is 3.
    assert_eq!(stops(&mut controller(&[FIVE, PRINTED]), &[6]), 1);
    assert_eq!(stops(&mut controller(&[FIVE, PRINTED]), &[14, 9, 9]), 3);
}

#[test]
fn who_is_at_the_limit_or_has_none_is_left_alone() {
    let mut five = controller(&[FIVE]);
    assert_eq!(step(&mut five, &mut guest(5, Traffic::Free)), None);
    assert_ne!(step(&mut five, &mut guest(6, Traffic::Free)), None);
    let mut none = controller(&[]);
    assert_eq!(step(&mut none, &mut guest(90, Traffic::Free)), None);
}

#[test]
fn a_guest_may_have_a_limit_of_its_own() {
    let mut guard = controller(&[FIVE]);
    let mut own = ParamValues::defaults(DESCRIPTOR.domain_params);
    own.set(LIMIT, 20).expect("in range");
    guard.set_domain(DomainId(1), &own);
    assert_eq!(step(&mut guard, &mut guest(20, Traffic::Free)), None);
    own.set(LIMIT, 0).expect("in range");
    guard.set_domain(DomainId(1), &own);
    assert_ne!(step(&mut guard, &mut guest(20, Traffic::Free)), None);
}

#[test]
fn holding_has_the_times_of_dropping() {
    let mut guard = controller(&[FIVE, HOLD]);
    let mut seen = guest(12, Traffic::Free);
    assert_eq!(step(&mut guard, &mut seen), guarded(Guard::Hold));
    seen.served = Duration::ZERO;
    assert_eq!(step(&mut guard, &mut seen), guarded(Guard::Hold));
    assert_eq!(step(&mut guard, &mut seen), Some(Traffic::Free));
    assert_eq!(step(&mut guard, &mut seen), None);
}

#[test]
fn a_guard_lasts_as_long_as_the_longer_of_two_intervals() {
    let mut guard = controller(&[FIVE]);
    let ms = Duration::from_millis;
    for (length, lasts) in [(100, 100), (130, 130), (70, 130), (100, 100)] {
        let answers = observe(
            &mut guard,
            &[driver(), guest(60, Traffic::Free)],
            ms(length),
        );
        let [Adjustment::Domain { change, .. }] = answers.list() else {
            panic!("{answers:?}");
        };
        let (guard, lasts) = (Guard::Drop, ms(lasts));
        assert_eq!(*change, Change::Traffic(Traffic::Guarded { guard, lasts }));
    }
}

#[test]
fn a_ration_is_what_the_limit_allows_less_what_is_owed() {
    let mut guard = controller(&[FIVE, GRADED]);
    let mut seen = guest(20, Traffic::Free);
    let ration = |packets| guarded(Guard::Ration { packets, per: PER });
    // 1,000 packets in 100 ms are 100 in 10 ms and took 20 %; 15 ms are owed. A quarter of that,
    // 3.75 ms, is more than half of the limit, so 2.5 of 5 ms are allowed: an eighth.
    assert_eq!(step(&mut guard, &mut seen), ration(12));
    // It passes 120 packets for 2.4 ms: 12.4 ms are owed, and half is paid back again.
    (seen.packets_out, seen.packets_in) = (120, 0);
    seen.served = Duration::from_micros(2_400);
    assert_eq!(step(&mut guard, &mut seen), ration(12));
    // It passes all that it may, at 40 us a packet each: the debt is paid back, then the ration is
    // what 5 % are good for.
    let mut whole = Duration::from_millis(20) + Duration::from_micros(2_400) * 2;
    for _ in 0..40 {
        let Some(Traffic::Guarded {
            guard: Guard::Ration { packets, .. },
            ..
        }) = seen.set.traffic
        else {
            panic!("{seen:?}");
        };
        seen.packets_out = u64::from(packets) * 10;
        seen.served = Duration::from_micros(20) * seen.packets_out;
        whole += seen.served;
        step(&mut guard, &mut seen);
    }
    assert_eq!(seen.set.traffic, ration(25));
    let allowed = INTERVAL * 43 / 20;
    assert!(whole <= allowed && whole * 50 > allowed * 49, "{whole}");
}

#[test]
fn a_ration_at_most_halves_and_doubles_and_ends_with_the_demand() {
    let mut guard = controller(&[FIVE, GRADED]);
    let mut seen = guest(10, Traffic::Free);
    let ration = |packets| guarded(Guard::Ration { packets, per: PER });
    // 5 ms are owed, a quarter is paid back: 3.75 of 10 ms.
    assert_eq!(step(&mut guard, &mut seen), ration(37));
    seen.served = Duration::from_millis(90);
    assert_eq!(step(&mut guard, &mut seen), ration(18));
    // Little demand: the ration stays while 85 ms and more are owed, then it ends.
    (seen.packets_out, seen.packets_in, seen.served) = (10, 0, Duration::ZERO);
    for _ in 0..17 {
        assert_eq!(step(&mut guard, &mut seen), ration(18));
    }
    assert_eq!(step(&mut guard, &mut seen), Some(Traffic::Free));
    assert_eq!(step(&mut guard, &mut seen), None);
    // Work without packets, such as for a disk, leaves one packet.
    (seen.packets_out, seen.served) = (0, Duration::from_millis(50));
    assert_eq!(step(&mut guard, &mut seen), ration(1));
}

#[test]
fn what_others_have_set_and_driver_domains_are_left_alone() {
    let (bytes, per) = (1, INTERVAL);
    for traffic in [Traffic::Stopped, Traffic::Limited { bytes, per }] {
        let mut guard = controller(&[FIVE]);
        assert_eq!(step(&mut guard, &mut guest(90, traffic)), None);
    }
    let mut alone = guest(90, Traffic::Free);
    alone.set.traffic = None;
    assert_eq!(step(&mut controller(&[FIVE]), &mut alone), None);
    let mut working = guest(90, Traffic::Free);
    working.is_driver = true;
    assert_eq!(step(&mut controller(&[FIVE]), &mut working), None);
}

/// A guard that a controller before this one has left, or whose limit is taken away.
#[test]
fn a_guard_without_a_reason_is_taken_away() {
    let left = Traffic::Guarded {
        guard: Guard::Drop,
        lasts: INTERVAL,
    };
    for limits in [&[][..], &[FIVE]] {
        let mut guard = controller(limits);
        assert_eq!(step(&mut guard, &mut guest(1, left)), Some(Traffic::Free));
    }
}

#[test]
fn who_comes_back_is_innocent() {
    let mut guard = controller(&[FIVE]);
    let mut seen = guest(90, Traffic::Free);
    assert_ne!(step(&mut guard, &mut seen), None);
    assert_eq!(observe(&mut guard, &[driver()], INTERVAL).list(), []);
    assert_eq!(step(&mut guard, &mut guest(4, Traffic::Free)), None);
}

#[test]
fn no_time_is_no_news() {
    let mut guard = controller(&[FIVE]);
    let mut seen = guest(30, Traffic::Free);
    step(&mut guard, &mut seen);
    let still = observe(&mut guard, &[driver(), seen], Duration::ZERO);
    assert_eq!(still.list(), []);
    assert_ne!(step(&mut guard, &mut seen), Some(Traffic::Free));
}

/// Served for longer than all driver domains have run: counted as that long and no more.
#[test]
fn a_figure_that_cannot_be_stops_nobody_for_ever() {
    let mut guard = controller(&[(LIMIT, 10)]);
    let mut seen = guest(0, Traffic::Free);
    seen.served = Duration::from_nanos(u64::MAX);
    assert_eq!(step(&mut guard, &mut seen), guarded(Guard::Drop));
    seen.served = Duration::ZERO;
    let more = (0..50).take_while(|_| step(&mut guard, &mut seen) != Some(Traffic::Free));
    assert_eq!(more.count(), 8, "100 % against 10 %: ten intervals in all");
}

#[test]
fn its_state_can_be_read() {
    let mut text = String::new();
    for form in [FIVE, GRADED] {
        let mut guard = controller(&[FIVE, form]);
        step(&mut guard, &mut guest(30, Traffic::Free));
        guard.dump(&mut text).expect("a string takes any text");
    }
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "d1: stopped, served 30 ms in 100 ms",
            "d1: 8 packets in 10 ms, debt 25 ms"
        ]
    );
}
