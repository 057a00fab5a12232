//! The suite on the policies of the registry.

use super::*;
use crate::registry;
use alloc::string::ToString;
use domio_core::{ParamKind, ParamValues};

#[test]
fn every_policy_of_the_registry_passes() {
    for policy in registry::policies() {
        let params = ParamValues::defaults(policy.descriptor.params);
        let report = check(&|topology| (policy.make)(&params, topology), 0..70);
        assert!(report.is_clean(), "{}: {report}", policy.descriptor.name);
    }
}

#[test]
fn credit_passes_in_every_version() {
    let credit = registry::find("credit").expect("a policy of that name");
    let version = credit
        .descriptor
        .params
        .iter()
        .find(|p| p.name == "version");
    let Some(ParamKind::Choice(versions)) = version.map(|p| p.kind) else {
        panic!("credit declares its versions");
    };
    for version in versions {
        let mut params = ParamValues::defaults(credit.descriptor.params);
        params
            .choose("version", version)
            .expect("a declared version");
        let report = check(&|topology| (credit.make)(&params, topology), 0..14);
        assert!(report.is_clean(), "credit {version}: {report}");
    }
}

#[test]
fn simple_policies_raise_no_false_alarm_on_many_seeds() {
    for name in ["round-robin", "null"] {
        let policy = registry::find(name).expect("a policy of that name");
        let params = ParamValues::defaults(policy.descriptor.params);
        let report = check(&|topology| (policy.make)(&params, topology), 1_000..1_150);
        assert!(report.is_clean(), "{name}: {report}");
    }
}

#[test]
fn every_order_of_a_few_events_is_handled() {
    for policy in registry::policies() {
        let params = ParamValues::defaults(policy.descriptor.params);
        let report = check_exhaustively(&|topology| (policy.make)(&params, topology));
        assert!(report.is_clean(), "{}: {report}", policy.descriptor.name);
        assert_eq!(report.scripts, exhaustive::scripts().count());
    }
}

#[test]
fn names_of_checkers_are_unique_and_in_kebab_case() {
    for (i, checker) in CHECKERS.iter().enumerate() {
        let plain = |c: char| c.is_ascii_lowercase() || c == '-';
        assert!(checker.name.chars().all(plain), "{}", checker.name);
        let again = CHECKERS[i + 1..].iter().any(|c| c.name == checker.name);
        assert!(!again, "{} twice", checker.name);
        assert!(!checker.doc.to_string().is_empty());
    }
}
