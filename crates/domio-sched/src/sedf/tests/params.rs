//! Versions, parameters and their check.

use super::super::rules::Rules;
use super::super::{DESCRIPTOR, Invalid, Unblock, validate, validate_domain};
use super::*;
use alloc::string::ToString;
use domio_contract::Conflict;
use domio_core::XenVersion;
use domio_core::params::ByWord;

fn policy(version: &str, unblock: &str) -> ParamValues {
    let mut values = ParamValues::defaults(DESCRIPTOR.params);
    values.choose("version", version).unwrap();
    values.choose("unblock", unblock).unwrap();
    values
}

fn check(version: &str, domain: u16, params: &[(&str, i64)]) -> Result<(), Invalid> {
    let mut values = ParamValues::defaults(DESCRIPTOR.domain_params);
    for (name, value) in params {
        values.set(name, *value).unwrap();
    }
    validate_domain(&policy(version, "extra-support"), DomainId(domain), &values)
}

#[test]
fn the_default_is_the_last_release_with_xens_way_to_wake() {
    let values = ParamValues::defaults(DESCRIPTOR.params);
    let sedf = Sedf::new(&values, &Topology::flat(1).unwrap());
    assert_eq!(sedf.rules().version, XenVersion::V4_5);
    assert_eq!(sedf.unblock, Unblock::ExtraSupport);
}

#[test]
fn every_version_names_a_release_in_order() {
    let versions: Vec<_> = crate::rig::versions(&DESCRIPTOR)
        .iter()
        .map(|v| XenVersion::from_name(v).unwrap())
        .collect();
    assert!(versions.is_sorted_by(|a, b| a < b));
    let all = XenVersion::ALL
        .into_iter()
        .filter(|v| (XenVersion::V3_0..=XenVersion::V4_5).contains(v));
    assert_eq!(versions, all.collect::<Vec<_>>());
}

/// First release with a rule.
type Change = (fn(&Rules) -> bool, &'static str);

#[test]
fn each_rule_begins_with_its_release() {
    let changes: &[Change] = &[
        (|r| r.dom0_has_weight, "3.0.3"),
        (|r| r.one_penalty_turn, "3.0.3"),
        (|r| !r.unblock_variants, "3.0.3"),
        (|r| !r.dom0_reserves, "4.2"),
        (|r| r.spread_by_index, "4.3"),
    ];
    for (has, since) in changes {
        let since = XenVersion::from_name(since).unwrap();
        for version in XenVersion::ALL {
            assert_eq!(
                has(&Rules::of(version)),
                version >= since,
                "{version}, {since}"
            );
        }
    }
}

#[test]
fn every_way_to_wake_can_be_had_in_3_0_and_one_later() {
    let ways = [
        Unblock::ExtraSupport,
        Unblock::IsochronousEdf,
        Unblock::Edf,
        Unblock::Atropos,
        Unblock::ShortResume,
    ];
    for (name, way) in Unblock::WORDS.iter().zip(ways) {
        let make = |v: &str| Sedf::new(&policy(v, name), &Topology::flat(1).unwrap());
        assert_eq!(make("3.0").unblock, way);
        assert_eq!(make("3.1").unblock, Unblock::ExtraSupport, "it is replaced");
        assert_eq!(validate(&policy("3.0", name)), Ok(()));
        let later = validate(&policy("3.1", name));
        assert_eq!(later.is_ok(), way == Unblock::ExtraSupport);
    }
    let refused = validate(&policy("4.1", "atropos")).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Xen 4.1 cannot be built with unblock = \"atropos\"; expected \"extra-support\", or \
         version 3.0: the other ways to wake were deleted from Xen before 3.0.3"
    );
}

#[test]
fn a_slice_over_the_period_is_refused() {
    let refused = check("4.5", 1, &reserves(20_000, 20_001)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the slice of 20001 us is longer than the period of 20000 us; expected slice_us of 20000 \
         at most: a vcpu cannot run for longer than the time that passes"
    );
    assert_eq!(check("4.5", 1, &reserves(20_000, 20_000)), Ok(()));
    // The period that it is created with counts as well.
    assert_eq!(check("3.1", 1, &[("slice_us", 20_001)]), Ok(()));
    let dom0 = Invalid::SliceOverPeriod {
        slice_us: 20_001,
        period_us: 20_000,
    };
    assert_eq!(check("3.1", 0, &[("slice_us", 20_001)]), Err(dom0));
    assert_eq!(check("4.2", 0, &[("slice_us", 20_001)]), Ok(()));
    let conflict = Conflict::from(dom0);
    assert_eq!((conflict.param, conflict.with), ("slice_us", "period_us"));
}

#[test]
fn what_only_a_slice_makes_sense_of_is_refused_without_one() {
    for (name, value) in [("period_us", 20_000), ("extratime", 0), ("latency_us", 500)] {
        let refused = check("4.5", 1, &[(name, value)]).unwrap_err();
        let period_us = if name == "period_us" { 20_000 } else { 100_000 };
        let because_of = name;
        assert_eq!(
            refused,
            Invalid::NoSlice {
                because_of,
                period_us
            }
        );
        assert_eq!(
            check("3.1", 0, &[(name, value)]),
            Ok(()),
            "dom0 has a slice"
        );
        assert_eq!(check("4.5", 1, &[(name, value), ("slice_us", 5)]), Ok(()));
        assert_eq!(check("4.5", 1, &[(name, value), ("weight", 1)]), Ok(()));
    }
    let refused = check("4.5", 1, &[("extratime", 0)]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`extratime` is of no use to a domain without a slice; expected slice_us of 5 to 100000, \
         or a weight: Xen refuses it too: give it a slice_us, or leave all of them out and the \
         domain runs on extra time alone"
    );
}

#[test]
fn ranges_are_xens() {
    let mut values = ParamValues::defaults(DESCRIPTOR.domain_params);
    for (name, inside, outside) in [
        ("period_us", [0, 10, 10_000_000], [9, 10_000_001]),
        ("slice_us", [0, 5, 10_000_000], [4, -1]),
        ("weight", [0, 1, 65_535], [-1, 65_536]),
    ] {
        for value in inside {
            assert_eq!(values.set(name, value), Ok(()), "{name} {value}");
        }
        for value in outside {
            assert!(values.set(name, value).is_err(), "{name} {value}");
        }
    }
}

#[test]
fn the_registry_has_it() {
    let policy = crate::find("sedf").expect("sedf is a policy");
    let params = ParamValues::defaults(policy.descriptor.params);
    let made = (policy.make)(&params, &Topology::flat(2).unwrap());
    assert_eq!(made.descriptor().class.map(|c| c.name), Some("sedf"));
    let mut domain = ParamValues::defaults(policy.descriptor.domain_params);
    assert_eq!(
        (policy.validate_domain)(&params, DomainId(1), &domain),
        Ok(())
    );
    domain.set("period_us", 10).unwrap();
    let refused = (policy.validate_domain)(&params, DomainId(1), &domain).unwrap_err();
    assert_eq!(refused.param, "period_us");
    let mut wrong = params;
    wrong.choose("unblock", "edf").unwrap();
    assert_eq!((policy.validate)(&wrong).unwrap_err().param, "unblock");
}
