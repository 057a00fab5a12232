//! Whatever the bytes: no panic, good errors, and only sound plans.

use crate::common::{is_helpful, policies};
use crate::mutated::{PIECES, mutated};
use crate::told::ran;
use domio_core::Duration;
use domio_scenario::{Built, MAX_SHOWN, NoReplay, Scenario, ScenarioErrors, examples};
use domio_vmm::config::Action;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn errors_are_good(errors: &ScenarioErrors, bytes: &[u8]) {
    assert!(!errors.problems().is_empty() && errors.problems().len() <= MAX_SHOWN);
    assert!(errors.total() >= errors.problems().len());
    let lines = bytes.iter().filter(|b| **b == b'\n').count() + 1;
    for p in errors.problems() {
        is_helpful(p);
        assert!(!p.message.is_empty() && !p.source.is_empty(), "{p:?}");
        assert!(
            p.source != "f.toml" || (1..=lines).contains(&p.line),
            "{p:?}"
        );
        assert!(p.column >= 1 && p.offset <= bytes.len(), "{p:?}");
        assert!(!p.message.contains(['\n', '\u{1b}', '\0']), "{p:?}");
    }
    assert!(errors.render(false).contains("error"));
    assert!(errors.render(true).len() >= errors.render(false).len());
    assert!(errors.total() >= errors.problems().len());
}

fn plan_is_sound(scenario: &Scenario) {
    let plan = scenario.plan();
    let host = &plan.host;
    assert!(!plan.duration.is_zero() && !host.domains.is_empty());
    let names: BTreeSet<_> = host.domains.iter().map(|d| &d.name).collect();
    let ids: BTreeSet<_> = host.domains.iter().map(|d| d.id).collect();
    assert_eq!(
        (names.len(), ids.len()),
        (host.domains.len(), host.domains.len())
    );
    let all = host.topology.all();
    for domain in &host.domains {
        assert!(!domain.vcpus.is_empty() && domain.id.0 < 32_752);
        assert!(domain.stop.is_none_or(|stop| stop > domain.start));
        assert!(
            domain
                .vcpus
                .iter()
                .all(|v| v.hard.intersects(&all) && v.soft.intersects(&all))
        );
    }
    assert!(host.actions.is_sorted_by_key(|(at, _)| *at));
    let mut online = all;
    for (_, action) in &host.actions {
        match action {
            Action::PcpuOffline(p) => {
                assert!(online.contains(*p));
                online.remove(*p);
                assert!(!online.is_empty());
            }
            Action::PcpuOnline(p) => {
                assert!(all.contains(*p) && !online.contains(*p));
                online.insert(*p);
            }
            Action::Pin { hard, .. } => assert!(hard.intersects(&online)),
            Action::Pause(_)
            | Action::Unpause(_)
            | Action::SetParams(..)
            | Action::SetVcpu { .. }
            | Action::SetGroup(..)
            | Action::Join(..)
            | Action::SetPolicy(_) => {}
        }
    }
    match scenario.build(&NoReplay) {
        Ok(built) => devices_boot(&built),
        Err(errors) => assert_eq!(errors.total(), plan.replays.len()),
    }
}

/// Whatever devices a scenario asks for, the host comes up with them and moves its first packets.
fn devices_boot(built: &Built) {
    let vcpus: usize = built.host.domains.iter().map(|d| d.vcpus.len()).sum();
    if built.devices.is_empty() || vcpus > 256 {
        return drop(built.scheduler());
    }
    ran(built, Duration::from_millis(20));
}

fn check(bytes: &[u8]) -> Option<Scenario> {
    match Scenario::parse("f.toml", bytes, &policies()[..]) {
        Ok(scenario) => {
            plan_is_sound(&scenario);
            Some(scenario)
        }
        Err(errors) => {
            errors_are_good(&errors, bytes);
            None
        }
    }
}

proptest! {
    #[test]
    fn mutated_scenarios_are_refused_well_or_sound(bytes in mutated()) {
        check(&bytes);
    }

    #[test]
    fn random_bytes_are_refused_well(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        check(&bytes);
    }

    #[test]
    fn random_pieces_are_refused_well(pieces in proptest::collection::vec(0..PIECES.len(), 0..40)) {
        let text: String = pieces.iter().map(|p| PIECES[*p]).collect();
        check(text.as_bytes());
    }

    #[test]
    fn overrides_of_any_kind_are_refused_well_or_sound(
        which in 0..examples().len(),
        key in prop_oneof![
            proptest::sample::select(vec![
                "seed", "run.duration_s", "run", "host.cores", "host.threads", "scheduler.policy",
                "scheduler.version", "scheduler.tslice_ms", "domain.g.weight", "domain.g1.weight",
                "domain.g1.pin", "domain.burner2.workload", "domain.ping.task.0.period_ms",
                "domain.ping.task.periodic.burst", "network.scan", "network.rate",
                "domain.limited.vif.rate", "domain.stream.workload", "domain.stream.count",
                "domain.Domain-0.vcpus", "action.0.at_ms", "action", "domain", "domain.g",
                "domain.old.count", "network.lan.rate", "network.1.driver",
                "controller.0.interval_ms",
                "domain.router.vif.1.rate", "domain.backup.disk.size", "x.y.z.\"a b\"",
            ]).prop_map(str::to_owned),
            "\\PC{0,12}",
        ],
        value in prop_oneof![
            proptest::sample::select(PIECES).prop_map(str::to_owned),
            "\\PC{0,12}",
            "[0-9]{1,4}",
        ],
    ) {
        let (name, text) = examples()[which];
        let all = policies();
        let scenario = Scenario::parse(name, text.as_bytes(), &all[..]).expect("it is shipped");
        match scenario.with(&[(&key, &value)]) {
            Ok(changed) => plan_is_sound(&changed),
            Err(errors) => {
                prop_assert!(!errors.problems().is_empty());
                errors.problems().iter().for_each(is_helpful);
                errors.render(true);
            }
        }
    }
}

/// The property above is worth something only if it meets both good and bad scenarios.
#[test]
fn mutations_often_stay_valid() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let valid = (0..200)
        .filter(|_| check(&mutated().new_tree(&mut runner).expect("a value").current()).is_some())
        .count();
    assert!(
        (10..190).contains(&valid),
        "{valid} of 200 are valid: the property sees one side only"
    );
}
