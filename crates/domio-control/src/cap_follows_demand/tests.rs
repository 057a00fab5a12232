//! The rules of cap follows demand, one test each, with figures worked out by hand.

use super::*;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use domio_contract::control::{Adjustment, Settings};
use domio_core::{Duration, Instant};

/// An interval of 100 ms, so that a millisecond is a percent of one pcpu.
const INTERVAL: Duration = Duration::from_millis(100);

fn controller(changed: &[(&str, i64)]) -> CapFollowsDemand {
    let mut params = ParamValues::defaults(DESCRIPTOR.params);
    for (name, value) in changed {
        params.set(name, *value).expect("a value in range");
    }
    CapFollowsDemand::new(&params)
}

/// Domain 1 with one vcpu, which got `gotten` and waited `waited` percent and has the cap `cap`.
fn guest(gotten: u64, waited: u64, cap: u32) -> DomainSeen {
    DomainSeen {
        id: DomainId(1),
        vcpus: 1,
        gotten: Duration::from_millis(gotten),
        waited: Duration::from_millis(waited),
        set: Settings {
            cap: Some(cap),
            ..Settings::default()
        },
        ..DomainSeen::default()
    }
}

fn answers(
    controller: &mut CapFollowsDemand,
    domains: &[DomainSeen],
    length: Duration,
) -> Vec<(u16, u32)> {
    let mut answers = Answers::new();
    let seen = Observation {
        now: Instant::ZERO + INTERVAL + length,
        since: Instant::ZERO + INTERVAL,
        pcpus: &[],
        domains,
        abilities: Kinds::ALL,
        policy: &[],
    };
    controller.observe(&seen, &mut answers);
    let cap = |answer: &Adjustment| match answer {
        Adjustment::Domain {
            domain,
            change: Change::Cap(cap),
        } => (domain.0, *cap),
        other => panic!("no cap: {other}"),
    };
    answers.list().iter().map(cap).collect()
}

/// The cap that domain 1 gets after these figures, with `cap` set.
fn one(controller: &mut CapFollowsDemand, gotten: u64, waited: u64, cap: u32) -> Option<u32> {
    let all = answers(controller, &[guest(gotten, waited, cap)], INTERVAL);
    assert!(all.iter().all(|(id, _)| *id == 1) && all.len() < 2);
    all.first().map(|(_, cap)| *cap)
}

#[test]
fn the_cap_is_demand_plus_headroom_rounded_up() {
    // 30 % ran and 10 % waited make a demand of 40 %; a quarter more is 50 %.
    assert_eq!(one(&mut controller(&[]), 30, 10, 80), Some(50));
    // 41 % and a quarter are 51.25 %.
    assert_eq!(one(&mut controller(&[]), 41, 0, 80), Some(52));
    let tight = &mut controller(&[("headroom_percent", 0)]);
    assert_eq!(one(tight, 41, 0, 80), Some(41));
}

#[test]
fn who_has_no_cap_gets_one() {
    // With a hysteresis of 100 no change but the first is worth making.
    let mut slow = controller(&[("hysteresis_percent", 100)]);
    assert_eq!(one(&mut slow, 8, 0, 0), Some(10));
    assert_eq!(one(&mut slow, 8, 0, 10), None);
}

#[test]
fn the_newest_interval_has_its_weight() {
    let mut smooth = controller(&[("newest_percent", 25), ("headroom_percent", 0)]);
    assert_eq!(
        one(&mut smooth, 80, 0, 100),
        Some(80),
        "the first is all there is"
    );
    // 25 % of 40 and 75 % of 80 are 70; then 25 % of 40 and 75 % of 70 are 62.5.
    assert_eq!(one(&mut smooth, 40, 0, 80), Some(70));
    assert_eq!(one(&mut smooth, 40, 0, 70), Some(63));
    let mut hasty = controller(&[("newest_percent", 100), ("headroom_percent", 0)]);
    one(&mut hasty, 80, 0, 100);
    assert_eq!(one(&mut hasty, 40, 0, 80), Some(40));
}

#[test]
fn small_changes_are_not_made() {
    let mut five = controller(&[("hysteresis_percent", 5)]);
    // Demand 40 %, so 50 % is wanted: 4 away on either side is near enough, 5 is not.
    for (cap, target) in [(54, None), (55, Some(50)), (46, None), (45, Some(50))] {
        assert_eq!(one(&mut five, 40, 0, cap), target, "cap {cap}");
    }
}

#[test]
fn floor_and_ceiling_hold() {
    assert_eq!(one(&mut controller(&[]), 0, 0, 50), Some(5));
    let mut capped = controller(&[("ceiling_percent", 30)]);
    assert_eq!(one(&mut capped, 40, 0, 60), Some(30));
    // 31 is less than the hysteresis of 2 away, but above the ceiling; likewise 4 below the floor.
    assert_eq!(one(&mut capped, 40, 0, 31), Some(30));
    let idle = &mut controller(&[]);
    assert_eq!(one(idle, 0, 0, 4), Some(5));
    // No ceiling: one vcpu cannot use more than 100 %.
    assert_eq!(one(&mut controller(&[]), 95, 0, 60), Some(100));
    let mut high = controller(&[("floor_percent", 300)]);
    assert_eq!(
        one(&mut high, 1, 0, 60),
        Some(100),
        "a floor above the vcpus"
    );
}

#[test]
fn who_is_held_back_grows_by_the_hysteresis_at_least() {
    // 4 % and a quarter are 5 %, which is less than the hysteresis above 4 %: no change.
    let mut ten = controller(&[("floor_percent", 1), ("hysteresis_percent", 10)]);
    assert_eq!(one(&mut ten, 4, 0, 4), Some(14));
    assert_eq!(one(&mut ten, 3, 0, 14), None, "it has room now");
    // Up to the ceiling, however near, and not beyond.
    assert_eq!(one(&mut ten, 97, 0, 97), Some(100));
    assert_eq!(one(&mut ten, 100, 0, 100), None);
}

#[test]
fn what_was_before_is_no_guide_for_who_is_held_back() {
    let mut plain = controller(&[("newest_percent", 50)]);
    assert_eq!(one(&mut plain, 10, 0, 50), Some(13), "12.5 %, rounded up");
    // It was given 50 % and takes all of it: 62.5 %, not a quarter above half of 10 and 50.
    assert_eq!(one(&mut plain, 50, 0, 50), Some(63));
    // Half of 50 and of 40 are 45 %, which makes 56.25 %.
    assert_eq!(one(&mut plain, 40, 0, 63), Some(57));
}

#[test]
fn more_than_its_vcpus_nobody_wants() {
    let mut plain = controller(&[("headroom_percent", 0), ("newest_percent", 50)]);
    // 300 % of one vcpu count as 100 %: then 50 % of 100 and 50 % of 20 are 60.
    assert_eq!(one(&mut plain, 300, 0, 50), Some(100));
    assert_eq!(one(&mut plain, 20, 0, 100), Some(60));
}

#[test]
fn a_domain_may_have_a_ceiling_of_its_own() {
    let mut capped = controller(&[("ceiling_percent", 50)]);
    let mut own = ParamValues::defaults(DESCRIPTOR.domain_params);
    own.set("ceiling_percent", 80).expect("in range");
    capped.set_domain(DomainId(1), &own);
    let other = DomainSeen {
        id: DomainId(2),
        ..guest(90, 0, 40)
    };
    let all = [guest(90, 0, 40), other];
    assert_eq!(answers(&mut capped, &all, INTERVAL), [(1, 80), (2, 50)]);
    capped.set_domain(
        DomainId(1),
        &ParamValues::defaults(DESCRIPTOR.domain_params),
    );
    assert_eq!(one(&mut capped, 90, 0, 80), Some(50), "0 takes it away");
    capped.set_domain(DomainId(1), &own);
    assert_eq!(answers(&mut capped, &[], INTERVAL), []);
    assert_eq!(
        one(&mut capped, 90, 0, 40),
        Some(50),
        "it went with its domain"
    );
}

#[test]
fn who_comes_back_has_no_past() {
    let mut plain = controller(&[("headroom_percent", 0), ("newest_percent", 50)]);
    assert_eq!(one(&mut plain, 80, 0, 0), Some(80));
    assert_eq!(answers(&mut plain, &[], INTERVAL), []);
    assert_eq!(one(&mut plain, 20, 0, 0), Some(20), "not half of 20 and 80");
}

#[test]
fn who_could_not_be_capped_for_a_while_has_no_past_either() {
    let mut plain = controller(&[("headroom_percent", 0), ("newest_percent", 50)]);
    assert_eq!(one(&mut plain, 80, 0, 0), Some(80));
    let mut capless = guest(80, 0, 80);
    capless.set.cap = None;
    assert_eq!(answers(&mut plain, &[capless], INTERVAL), []);
    assert_eq!(
        one(&mut plain, 20, 0, 80),
        Some(20),
        "not half of 20 and 80"
    );
}

#[test]
fn drivers_and_those_without_caps_are_left_alone() {
    let driver = DomainSeen {
        is_driver: true,
        ..guest(40, 0, 80)
    };
    let mut capless = guest(40, 0, 80);
    capless.set.cap = None;
    let ghost = DomainSeen {
        vcpus: 0,
        ..guest(40, 0, 80)
    };
    for seen in [driver, capless, ghost] {
        assert_eq!(answers(&mut controller(&[]), &[seen], INTERVAL), []);
    }
    let mut all = controller(&[("drivers", 1)]);
    assert_eq!(answers(&mut all, &[driver], INTERVAL), [(1, 50)]);
}

#[test]
fn a_host_without_caps_is_left_alone() {
    let mut answers = Answers::new();
    let seen = Observation {
        now: Instant::ZERO + INTERVAL,
        since: Instant::ZERO,
        pcpus: &[],
        domains: &[guest(40, 0, 80)],
        abilities: Kinds {
            cap: false,
            ..Kinds::ALL
        },
        policy: &[],
    };
    controller(&[]).observe(&seen, &mut answers);
    assert_eq!(answers.list(), []);
}

#[test]
fn no_time_is_no_news() {
    let mut plain = controller(&[("headroom_percent", 0), ("newest_percent", 50)]);
    one(&mut plain, 80, 0, 80);
    let still = answers(&mut plain, &[guest(0, 0, 80)], Duration::ZERO);
    assert_eq!(still, []);
    assert_eq!(one(&mut plain, 60, 0, 80), Some(70), "half of 60 and of 80");
}

#[test]
fn a_host_that_gives_what_is_wanted_up_to_the_cap_ends_where_it_should() {
    // It wants 70 % and gets at most its cap, and its waiting does not show (it is parked).
    let mut plain = controller(&[]);
    let mut caps = Vec::new();
    let mut cap = 10;
    for _ in 0..30 {
        if let Some(new) = one(&mut plain, u64::from(cap.min(70)), 0, cap) {
            caps.push(new);
            cap = new;
        }
    }
    // A quarter more each time, rounded up, until 70 % and a quarter, 87.5 %, are nearer than 2 %.
    assert_eq!(caps, [13, 17, 22, 28, 35, 44, 55, 69, 87]);
}

#[test]
fn a_floor_above_the_ceiling_is_refused() {
    let mut params = ParamValues::defaults(DESCRIPTOR.params);
    assert_eq!((ENTRY.validate)(&params), Ok(()));
    params.set("ceiling_percent", 20).expect("in range");
    params.set("floor_percent", 20).expect("in range");
    assert_eq!((ENTRY.validate)(&params), Ok(()));
    params.set("floor_percent", 21).expect("in range");
    let conflict = (ENTRY.validate)(&params).unwrap_err();
    assert_eq!(
        (conflict.param, conflict.with),
        ("floor_percent", "ceiling_percent")
    );
    assert_eq!(
        conflict.to_string(),
        "the smallest cap, 21 %, is above the largest, 20 %; expected floor_percent of 20 at \
         most: lower the floor or raise the ceiling"
    );
}

#[test]
fn its_state_can_be_read() {
    let mut plain = controller(&[]);
    one(&mut plain, 12, 0, 50);
    let mut text = String::new();
    plain.dump(&mut text).expect("a string takes any text");
    assert_eq!(text, "d1: demand 12.0000 %\n");
}
