//! The suite on the controllers of the registry, and what its histories hold.

use super::*;
use crate::registry;
use domio_contract::control::DomainSeen;
use domio_core::ParamValues;

#[test]
fn every_controller_of_the_registry_passes() {
    for entry in registry::all() {
        let params = ParamValues::defaults(entry.descriptor.params);
        let report = check(&|| (entry.make)(&params), 0..300);
        assert!(report.is_clean(), "{}: {report}", entry.descriptor.name);
        assert_eq!(report.subjects, library::histories().len() + 300);
    }
}

/// With other parameters a controller may take longer to settle, but keeps to all else.
#[test]
fn every_controller_passes_with_random_parameters() {
    for entry in registry::all() {
        for seed in 0..100 {
            let params = domio_suite::drawn(entry.descriptor.params, seed);
            let report = check(&|| (entry.make)(&params), seed..seed + 3);
            let slow = |f: &&Finding| f.checker != "settles";
            let found = report.findings.iter().find(slow);
            let name = entry.descriptor.name;
            assert_eq!(found, None, "{name}, parameters of seed {seed}: {report}");
        }
    }
}

#[test]
fn descriptors_are_in_order() {
    for entry in registry::all() {
        let d = entry.descriptor;
        assert!(core::ptr::eq(registry::find(d.name).unwrap().descriptor, d));
        let plain = |c: char| c.is_ascii_lowercase() || c == '-';
        assert!(d.name.chars().all(plain), "{}", d.name);
        assert_eq!(d.interval.name, "interval_ms", "{}", d.name);
        let params = ParamValues::defaults(d.params);
        assert_eq!((entry.validate)(&params), Ok(()), "{}", d.name);
        let domain = ParamValues::defaults(d.domain_params);
        let checked = (entry.validate_domain)(&params, domio_core::DomainId::DOM0, &domain);
        assert_eq!(checked, Ok(()), "{}", d.name);
        assert!(d.interval.allows(d.interval.default), "{}", d.name);
    }
    assert!(registry::find("cap").is_none());
}

#[test]
fn names_of_checkers_are_unique_and_in_kebab_case() {
    assert_eq!(domio_suite::misnamed(CHECKERS), [""; 0]);
}

/// The histories have what the page of the suite says, and what the contract says of them.
#[test]
fn random_histories_are_varied_and_well_formed() {
    let histories: Vec<History> = (0..200).map(random::history).collect();
    let all = || library::histories().into_iter().chain(histories.clone());
    for history in all() {
        for round in &history.rounds {
            let ids: Vec<_> = round.domains.iter().map(|d| d.id).collect();
            assert!(ids.is_sorted_by(|a, b| a < b), "{}: {ids:?}", history.name);
            assert!(ids.iter().all(|id| id.0 % history::ID_STEP == 0));
        }
    }
    let has = |what: &dyn Fn(&Round) -> bool| {
        let among = |h: &&History| h.rounds.iter().any(what);
        assert!(histories.iter().filter(among).count() >= 20);
    };
    let any = |round: &Round, what: fn(&DomainSeen) -> bool| round.domains.iter().any(what);
    has(&|r| r.length.is_zero());
    has(&|r| r.fate == Fate::Late);
    has(&|r| r.fate == Fate::Lost);
    has(&|r| !r.operator.is_empty());
    has(&|r| !r.told.is_empty());
    has(&|r| r.abilities != domio_contract::control::Kinds::ALL);
    has(&|r| any(r, |d| d.set.cap.is_none()));
    has(&|r| any(r, |d| d.gotten > domio_core::Duration::from_secs(3_600)));
    has(&|r| any(r, |d| d.vcpus == 0));
    let back = histories.iter().filter(|h| h.renamed().is_some()).count();
    assert!(back >= 20, "somebody comes back in {back} histories");
    let held = histories.iter().filter(|h| h.held(1).is_some()).count();
    assert!(held >= 100, "{held} histories end with somebody");
}
