//! The test as a whole: mappings, errors of a few policies, refusals.

use super::allocation::{AlertMode, way};
use super::*;
use domio_contract::{Policy, ShareBy};
use domio_core::Duration;
use domio_run::OneByOne;
use domio_sched::policies;

fn plan(mode: AlertMode, allocations: &[u32], seconds: u64) -> AlertPlan {
    AlertPlan {
        mode,
        allocations: allocations.to_vec(),
        dom0: 6,
        dom0_work: match mode {
            AlertMode::Capped => AlertDom0::Light,
            AlertMode::WorkConserving => AlertDom0::Burn,
        },
        pcpus: 1,
        vcpus: 1,
        windows: vec![1, seconds],
        seconds,
        period: Duration::from_millis(100),
        seed: 1,
        set: Vec::new(),
    }
}

fn subject(policy: &Policy) -> AlertSubject {
    AlertSubject {
        label: policy.descriptor.name.to_owned(),
        policy: *policy,
        parts: domio_sched::policies().into(),
        changes: Vec::new(),
    }
}

fn named(name: &str) -> AlertSubject {
    subject(domio_sched::find(name).unwrap_or_else(|| panic!("{name}")))
}

const MODES: [AlertMode; 2] = [AlertMode::Capped, AlertMode::WorkConserving];

/// Whoever adds a policy with parameters of domains, none of which tells an allocation, sees this
/// test fail.
#[test]
fn every_policy_is_told_allocations_or_known_to_keep_none() {
    for policy in policies() {
        let name = policy.descriptor.name;
        let ways = MODES.map(|mode| way(policy.descriptor, mode));
        let keeps_none = policy.descriptor.domain_params.is_empty();
        assert!(
            ways.iter().any(Result::is_ok) != keeps_none,
            "domio alert does not know how to tell {name} an allocation: set `held_by` or \
             `shared_by` of its descriptor"
        );
        for (mode, way) in MODES.into_iter().zip(ways) {
            if way.is_ok() {
                let plan = plan(mode, &[1, 30, 90], 1);
                for allocation in &plan.allocations {
                    let scenario = scenario(&plan, &subject(policy), *allocation);
                    let built = scenario.and_then(|s| build(&s));
                    assert!(built.is_ok(), "{name}, {mode:?}: {}", built.err().unwrap());
                }
            }
        }
    }
}

#[test]
fn what_keeps_no_allocation_says_what_to_do() {
    let refused = |name: &str, mode| {
        let descriptor = domio_sched::find(name).unwrap().descriptor;
        way(descriptor, mode).unwrap_err().to_string()
    };
    let told = refused("null", AlertMode::Capped);
    assert!(told.contains("null keeps no allocations"), "{told}");
    let told = refused("round-robin", AlertMode::WorkConserving);
    assert!(told.contains("choose another policy"), "{told}");
    // A policy without a cap has weights: the message sends there.
    let mut bare = *domio_sched::find("credit").unwrap().descriptor;
    bare.held_by = None;
    let told = way(&bare, AlertMode::Capped).unwrap_err().to_string();
    assert!(told.contains("has no cap") && told.contains("--mode work-conserving"));
    bare.shared_by = None;
    let told = way(&bare, AlertMode::Capped).unwrap_err().to_string();
    assert!(told.contains("no parameter that sets"), "{told}");
}

#[test]
fn settings_by_hand() {
    let settings = |name: &str, mode, percent, vcpus| {
        let mut plan = plan(mode, &[1], 1);
        plan.vcpus = vcpus;
        let descriptor = domio_sched::find(name).unwrap().descriptor;
        let way = way(descriptor, mode).unwrap();
        let settings = allocation::settings(way, descriptor, plan.terms(), percent);
        let texts = settings.iter().map(|(k, v)| format!("{k}={v}"));
        texts.collect::<Vec<_>>().join(" ")
    };
    use AlertMode::{Capped, WorkConserving};
    assert_eq!(settings("credit", Capped, 7, 2), "cap=7");
    assert_eq!(
        settings("sedf", Capped, 20, 1),
        "slice_us=20000 period_us=100000 extratime=false"
    );
    assert_eq!(
        settings("rtds", Capped, 20, 2),
        "budget_us=10000 period_us=100000 extratime=false"
    );
    assert_eq!(settings("sedf", WorkConserving, 20, 1), "weight=200");
    assert_eq!(
        settings("rtds", WorkConserving, 20, 1),
        "budget_us=20000 period_us=100000 extratime=true"
    );
}

#[test]
fn a_reservation_is_kept_and_the_slow_one_is_told() {
    let plan = plan(AlertMode::Capped, &[5, 50], 10);
    let outcomes = run(&plan, &[named("sedf"), named("credit")], &OneByOne).unwrap();
    let [sedf, credit] = &outcomes[..] else {
        panic!("{outcomes:?}");
    };
    for point in &sedf.points {
        assert!(point.guest.error_percent.abs() < 0.5, "{point:?}");
    }
    // 5 ms in every 100: a second holds ten of them.
    assert!(sedf.summary[0].worst_percent.abs() < 2.0, "{sedf:?}");
    // Parked for 30 ms at a time, all of them accounting periods.
    let worst = &credit.worst.0;
    assert_eq!(worst.grid_ms, 30, "{worst:?}");
    assert!(worst.parked_percent > 90.0, "{worst:?}");
    assert!(credit.summary[0].worst_percent.abs() > 10.0, "{credit:?}");
    assert!(worst.excerpt.iter().any(|s| s.happened.contains("paused")));
    assert!(worst.excerpt.iter().any(|s| s.books.contains("parked")));
}

#[test]
fn weights_share_what_all_compete_for() {
    let plan = plan(AlertMode::WorkConserving, &[20], 10);
    for name in ["credit", "sedf", "rtds", "credit2"] {
        let outcome = run(&plan, &[named(name)], &OneByOne).unwrap().remove(0);
        let point = &outcome.points[0];
        assert!(point.guest.error_points.abs() < 2.5, "{name}: {point:?}");
        assert!(point.dom0.0.measured_percent > 1.0, "{name}: {point:?}");
    }
}

#[test]
fn the_same_plan_gives_the_same_figures() {
    let plan = plan(AlertMode::Capped, &[10], 3);
    let once = run(&plan, &[named("credit2")], &OneByOne).unwrap();
    assert_eq!(once, run(&plan, &[named("credit2")], &OneByOne).unwrap());
}

#[test]
fn more_than_there_is_cannot_be_allocated() {
    let refused = |mode, allocation| {
        let plan = plan(mode, &[allocation], 1);
        run(&plan, &[named("credit")], &OneByOne)
            .unwrap_err()
            .to_string()
    };
    let told = refused(AlertMode::Capped, 95);
    assert!(told.contains("too much for 1 pcpu"), "{told}");
    let told = refused(AlertMode::WorkConserving, 94);
    assert!(told.contains("second loop"), "{told}");
}

/// What a domain was told can be read again.
#[test]
fn an_allocation_is_read_as_it_was_told() {
    for policy in policies() {
        for mode in MODES {
            let Ok(way) = way(policy.descriptor, mode) else {
                continue;
            };
            let is_read = match way {
                ShareBy::InFrame { .. } | ShareBy::Inverse(_) => false,
                ShareBy::InPeriod { .. } => mode == AlertMode::Capped,
                ShareBy::Percent(_) | ShareBy::Weight(_) => true,
            };
            if !is_read {
                continue;
            }
            let mut plan = plan(mode, &[20], 1);
            (plan.pcpus, plan.vcpus) = (2, 2);
            let built = scenario(&plan, &subject(policy), 20).and_then(|s| build(&s));
            let read = domio_run::allocation::allocated(&built.unwrap(), GUEST);
            let name = policy.descriptor.name;
            assert!(
                read.is_some_and(|r| (r - 20.0).abs() < 1e-9),
                "{name}, {mode:?}: {read:?}"
            );
        }
    }
}
