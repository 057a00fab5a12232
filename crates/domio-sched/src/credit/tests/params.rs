//! Versions, parameters and their check.

use super::super::event::{CLASS, CLASS_WITH_XCOLLOPTS};
use super::super::params::Settings;
use super::super::rules::{Debit, FirstVcpu, IdleBias, KickAway, RateLimit};
use super::super::{DESCRIPTOR, Invalid, validate};
use super::*;

/// Changes parameters by name; whether the policy takes them.
fn set(rig: &mut Rig, changes: &[(&str, i64)]) -> Result<(), alloc::string::String> {
    let mut params = *rig.credit.params().unwrap();
    for (name, value) in changes {
        params.set(name, *value).unwrap();
    }
    rig.call(|c, cx| c.set_params(cx, &params))
        .map_err(|conflict| alloc::format!("{conflict}"))
}

#[test]
fn what_is_under_way_ends_as_it_began_and_the_next_has_the_new_length() {
    let mut rig = Rig::new("4.17", 1);
    let v = rig.running_on(P0, UNDER);
    let timers = |rig: &Rig| [rig.timers[0][0], rig.timers[0][1]];
    let before = timers(&rig);
    set(&mut rig, &[("tslice_ms", 6), ("ratelimit_us", 0)]).unwrap();
    assert_eq!(timers(&rig), before);
    rig.now = before[0].unwrap();
    rig.tick(P0);
    assert_eq!(
        rig.timers[0][0],
        Some(rig.now + ms(2)),
        "a third of the slice"
    );
    assert!(rig.credit.is_active(v), "from that tick on");
    rig.now = before[1].unwrap();
    let credit = rig.credit.credit(v);
    rig.fire(P0, 1);
    assert_eq!(rig.timers[0][1], Some(rig.now + ms(6)));
    // Ten credits a millisecond of the new period for the only pcpu.
    assert_eq!(rig.credit.credit(v), (credit + 60).max(-60));
    assert_eq!(rig.pass(P0).time_slice, Some(ms(6)));
}

#[test]
fn a_refused_change_changes_nothing() {
    let says = |version: &str, changes: &[(&str, i64)], word: &str| {
        let mut rig = Rig::new(version, 1);
        let (params, settings) = (*rig.credit.params().unwrap(), rig.credit.settings);
        let said = set(&mut rig, changes).unwrap_err();
        assert!(said.contains(word), "{version}: {said}");
        assert_eq!(*rig.credit.params().unwrap(), params);
        assert_eq!(rig.credit.settings, settings);
    };
    says(
        "4.17",
        &[("tslice_ms", 2), ("ratelimit_us", 5_000)],
        "longer than the time slice",
    );
    says(
        "4.17",
        &[("tslice_ms", 5), ("boost", 0)],
        "`boost` cannot be changed in a run",
    );
    says("4.1", &[("tslice_ms", 5)], "version 4.2 or later");
    says(
        "4.9",
        &[("migration_delay_us", 100)],
        "version 4.11 or later",
    );
    assert_eq!(set(&mut Rig::new("4.2", 1), &[("tslice_ms", 5)]), Ok(()));
    let delay = [("migration_delay_us", 100)];
    assert_eq!(set(&mut Rig::new("4.11", 1), &delay), Ok(()));
}

#[test]
fn a_repaired_parameter_is_told_as_it_is_in_force() {
    let topology = Topology::flat(1).unwrap();
    let repaired = |version: &str| {
        let bad = [("tslice_ms", 2), ("ratelimit_us", 5_000)];
        let rig = Rig::with(version, topology.clone(), &bad);
        let params = rig.credit.params().unwrap();
        ["tslice_ms", "ratelimit_us"].map(|name| params.by_name(name).unwrap())
    };
    assert_eq!(repaired("4.17"), [2, 2_000]);
    assert_eq!(repaired("4.1"), [30, 1_000], "it has neither");
}
use alloc::string::ToString;

fn values(version: &str, params: &[(&str, i64)]) -> ParamValues {
    let mut values = ParamValues::defaults(DESCRIPTOR.params);
    values.choose("version", version).unwrap();
    for (name, value) in params {
        values.set(name, *value).unwrap();
    }
    values
}

#[test]
fn the_default_is_4_17_with_xens_settings() {
    let (rules, settings) = Settings::new(&ParamValues::defaults(DESCRIPTOR.params));
    assert_eq!(rules.version, XenVersion::V4_17);
    assert_eq!((settings.tslice, settings.tick), (ms(30), ms(10)));
    assert_eq!(settings.credits_per_tslice, 300);
    assert_eq!(settings.ratelimit, ms(1));
    assert!(settings.boost && settings.preempt && !settings.runq_sort);
    let domain = ParamValues::defaults(DESCRIPTOR.domain_params);
    assert_eq!(
        (domain.by_name("weight"), domain.by_name("cap")),
        (Some(256), Some(0))
    );
}

#[test]
fn every_version_names_a_release_in_order() {
    let versions: Vec<_> = crate::rig::versions(&DESCRIPTOR)
        .iter()
        .map(|v| XenVersion::from_name(v).unwrap())
        .collect();
    assert!(versions.is_sorted_by(|a, b| a < b));
    let shipped = XenVersion::ALL.into_iter();
    let shipped: Vec<_> = shipped.filter(|v| *v >= XenVersion::V3_0_3).collect();
    assert_eq!(versions, shipped);
    for name in crate::rig::versions(&DESCRIPTOR) {
        let (rules, _) = Settings::new(&values(name, &[]));
        assert_eq!(rules.version.name(), *name);
    }
}

/// First release with a rule.
type Change = (fn(&Rules) -> bool, &'static str);

#[test]
fn each_rule_begins_with_its_release() {
    let changes: &[Change] = &[
        (|r| r.accounting_timer, "3.4"),
        (|r| r.idle_stops_tick, "3.4"),
        (|r| r.idle_has_no_slice, "3.4"),
        (|r| r.migration_delay, "3.4"),
        (|r| r.smt_power_savings, "3.4"),
        (|r| r.debit != Debit::Sampled, "4.0"),
        (|r| r.idle_bias != IdleBias::None, "4.0"),
        (|r| r.weight_per_vcpu, "4.1"),
        (|r| r.keep_half, "4.1"),
        (|r| r.yield_flag, "4.1"),
        (|r| r.tickle_one, "4.1"),
        (|r| r.cross_socket_factor == 2, "4.1"),
        (|r| r.idle_bias == IdleBias::Last, "4.2"),
        (|r| r.tslice_tunable, "4.2"),
        (|r| r.ratelimit != RateLimit::None, "4.2"),
        (|r| r.debit == Debit::Residual, "4.3"),
        (|r| r.tickle_prefers_idlers, "4.3"),
        (|r| r.kick_away != KickAway::Never, "4.3"),
        (|r| r.pick_checks_own_queue, "4.3"),
        (|r| r.steal_by_node, "4.3"),
        (|r| r.soft_affinity, "4.5"),
        (|r| r.soft_must_narrow, "4.6"),
        (|r| !r.boost_migrated, "4.7"),
        (
            |r| matches!(r.kick_away, KickAway::IfItFits | KickAway::DeadTest),
            "4.7",
        ),
        (|r| r.ratelimit == RateLimit::Remaining, "4.8"),
        (|r| r.yield_beats_ratelimit, "4.8"),
        (|r| r.own_placement, "4.8"),
        (|r| r.first_vcpu != FirstVcpu::Emptiest, "4.8"),
        (|r| r.count_runnable, "4.9"),
        (|r| r.balance_bias, "4.9"),
        (|r| r.parked_pcpus, "4.12"),
        (|r| r.tickled_leave_idlers, "4.9"),
        (|r| r.pinned_fast_path, "4.11"),
        (|r| r.kick_away == KickAway::DeadTest, "4.13"),
        (|r| r.first_vcpu == FirstVcpu::Lowest, "4.13"),
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
    for version in XenVersion::ALL {
        let regression = version >= XenVersion::V4_3 && version < XenVersion::V4_13;
        let rules = Rules::of(version);
        assert_eq!(rules.boost_unparked, regression, "{version}");
        let any = [XenVersion::V4_6, XenVersion::V4_7].contains(&version);
        assert_eq!(rules.tickles_any_idler, any, "{version}");
        assert_eq!(rules.zero_ratelimit_is_default, version == XenVersion::V4_2);
    }
}

/// Releases in which nothing changed have the rules of the one before.
#[test]
fn a_release_without_a_change_has_the_rules_of_the_one_before() {
    for (release, before) in [
        ("3.0.4", "3.0.3"),
        ("3.1", "3.0.4"),
        ("3.2", "3.1"),
        ("3.3", "3.2"),
        ("4.4", "4.3"),
        ("4.10", "4.9"),
        ("4.14", "4.13"),
        ("4.15", "4.14"),
        ("4.16", "4.15"),
        ("4.17", "4.16"),
    ] {
        let [one, other] = [release, before].map(|v| XenVersion::from_name(v).unwrap());
        let version = one;
        let other = Rules {
            version,
            ..Rules::of(other)
        };
        assert_eq!(Rules::of(one), other, "{release}");
    }
    let changes = XenVersion::ALL.windows(2).filter(|pair| {
        let version = pair[1];
        let before = Rules::of(pair[0]);
        Rules::of(version) != Rules { version, ..before }
    });
    let changes: Vec<_> = changes.map(|pair| pair[1].name()).collect();
    let expected = [
        "3.4", "4.0", "4.1", "4.2", "4.3", "4.5", "4.6", "4.7", "4.8", "4.9", "4.11", "4.12",
        "4.13",
    ];
    assert_eq!(changes, expected);
}

#[test]
fn no_rate_limit_is_the_default_one_in_4_2() {
    for (version, limit) in [("4.2", ms(1)), ("4.3", ms(0)), ("4.17", ms(0))] {
        let (_, s) = Settings::new(&values(version, &[("ratelimit_us", 0)]));
        assert_eq!(s.ratelimit, limit, "{version}");
        let (_, s) = Settings::new(&values(version, &[("ratelimit_us", 100)]));
        assert_eq!(s.ratelimit, us(100), "{version}");
    }
}

#[test]
fn a_short_slice_has_one_tick() {
    for (tslice, ticks, tick) in [(1, 1, 1000), (2, 1, 2000), (3, 3, 1000), (4, 3, 1333)] {
        let (_, s) = Settings::new(&values("4.17", &[("tslice_ms", tslice)]));
        assert_eq!(
            (s.ticks_per_tslice, s.tick),
            (ticks, us(tick)),
            "{tslice} ms"
        );
        assert_eq!(s.credits_per_tslice, 10 * tslice);
    }
}

#[test]
fn what_a_release_lacks_is_refused_or_fixed() {
    for (version, name, value, since) in [
        ("4.1", "tslice_ms", 5, XenVersion::V4_2),
        ("4.1", "ratelimit_us", 0, XenVersion::V4_2),
        ("3.1", "migration_delay_us", 500, XenVersion::V3_4),
        ("3.1", "smt_power_savings", 1, XenVersion::V3_4),
    ] {
        let params = values(version, &[(name, value)]);
        let refused = validate(&params).unwrap_err();
        let version = XenVersion::from_name(version).unwrap();
        assert_eq!(
            refused,
            Invalid::NotInVersion {
                name,
                version,
                since
            }
        );
        let (_, settings) = Settings::new(&params);
        let (_, fixed) = Settings::new(&values(version.name(), &[]));
        assert_eq!(settings, fixed, "{name} has no effect in {version}");
        assert!(validate(&values(since.name(), &[(name, value)])).is_ok());
    }
    let (_, settings) = Settings::new(&values("4.0", &[]));
    assert_eq!(
        (settings.tslice, settings.ratelimit),
        (ms(30), Duration::ZERO)
    );
}

#[test]
fn a_rate_limit_over_the_slice_is_refused_or_cut() {
    let params = values("4.17", &[("tslice_ms", 5), ("ratelimit_us", 5001)]);
    let refused = validate(&params).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "ratelimit_us is 5001, but must not be longer than the time slice of 5000 us: lower it \
         or raise tslice_ms"
    );
    assert_eq!(Settings::new(&params).1.ratelimit, ms(5));
    assert!(validate(&values("4.17", &[("tslice_ms", 5), ("ratelimit_us", 5000)])).is_ok());
    // 1 ms is the default rate limit: a slice of 1 ms is just possible.
    assert!(validate(&values("4.17", &[("tslice_ms", 1)])).is_ok());
    assert!(
        validate(&values("3.1", &[])).is_ok(),
        "3.1 has no rate limit to compare"
    );
}

#[test]
fn a_refusal_tells_what_to_do() {
    let refused = validate(&values("3.1", &[("migration_delay_us", 1)])).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "migration_delay_us does not exist in Xen 3.1: leave it at its default, or choose \
         version 3.4 or later"
    );
}

#[test]
fn the_registry_has_it() {
    let policy = crate::find("credit").expect("credit is a policy");
    let params = ParamValues::defaults(policy.descriptor.params);
    let made = (policy.make)(&params, &Topology::flat(2).unwrap());
    assert_eq!(made.descriptor().class, Some(&CLASS_WITH_XCOLLOPTS));
    // Xen's own, with all that is not Xen's switched off.
    assert_eq!(made.classes(), [Some(&CLASS)]);
}
