//! The suite on the policies of the registry.

use core::ops::Range;
use domio_core::{ParamKind, ParamValues};
use domio_sched::conformance::*;
use domio_sched::registry;

#[test]
fn every_policy_of_the_registry_passes() {
    for policy in registry::policies() {
        let params = ParamValues::defaults(policy.descriptor.params);
        let report = check(&|topology| (policy.make)(&params, topology), 0..20);
        assert!(report.is_clean(), "{}: {report}", policy.descriptor.name);
    }
}

/// Scripts of the gate; `what_passes_passes_at_length` has more.
const FEW: Range<u64> = 0..5;

/// Runs the policy called `name` with each word of its choice `param`, all else at the defaults
/// but for what `fixed` says.
fn passes_in_every(name: &str, param: &str, fixed: &[(&str, &str)], seeds: Range<u64>) {
    let policy = registry::find(name).expect("a policy of that name");
    let mut declared = policy.descriptor.params.iter();
    let choice = declared.find(|p| p.name == param).map(|p| p.kind);
    let Some(ParamKind::Choice(words)) = choice else {
        panic!("{name} declares a choice `{param}`");
    };
    for word in words {
        let mut params = ParamValues::defaults(policy.descriptor.params);
        for (param, word) in fixed.iter().chain([&(param, *word)]) {
            params.choose(param, word).expect("a declared word");
        }
        let mut report = check(&|topology| (policy.make)(&params, topology), seeds.clone());
        let excused = EXCUSED.iter().find(|e| (e.0, e.1) == (name, word));
        if let Some((.., checker)) = excused {
            let before = report.findings.len();
            report.findings.retain(|f| f.checker != *checker);
            assert_ne!(
                report.findings.len(),
                before,
                "{name} {word} keeps {checker}"
            );
        }
        assert!(report.is_clean(), "{name} {word}: {report}");
    }
}

/// Releases that do not keep a promise of their policy: there are no caps in credit2 before 4.10,
/// and a budget of RTDS can be overrun by a millisecond before it has a timer in 4.7.
const EXCUSED: [(&str, &str, &str); 4] = [
    ("credit2", "4.8", "caps"),
    ("credit2", "4.9", "caps"),
    ("rtds", "4.5", "reservations"),
    ("rtds", "4.6", "reservations"),
];

#[test]
fn credit_passes_in_every_version() {
    passes_in_every("credit", "version", &[], FEW);
}

#[test]
fn sedf_passes_in_every_version_and_with_every_way_to_wake() {
    passes_in_every("sedf", "version", &[], FEW);
    passes_in_every("sedf", "unblock", &[("version", "3.0")], FEW);
}

#[test]
fn bvt_passes_in_every_version() {
    passes_in_every("bvt", "version", &[], FEW);
}

#[test]
fn credit2_passes_in_every_arrangement_and_version() {
    passes_in_every("credit2", "runqueue", &[], FEW);
    passes_in_every("credit2", "version", &[], FEW);
    passes_in_every("credit2", "runqueue", &[("version", "4.10")], FEW);
}

#[test]
fn rtds_passes_in_every_version() {
    // Fewer scripts overrun no budget before 4.7.
    passes_in_every("rtds", "version", &[], 0..14);
}

#[test]
fn cfs_and_eevdf_pass_in_every_release_and_at_every_rate() {
    passes_in_every("eevdf", "release", &[], FEW);
    passes_in_every("eevdf", "hz", &[("release", "6.18")], 0..3);
    passes_in_every("cfs", "hz", &[], 0..3);
}

#[test]
#[ignore = "takes minutes; `cargo xtask nightly long` runs it"]
fn what_passes_passes_at_length() {
    for (name, param) in [
        ("bvt", "version"),
        ("credit", "version"),
        ("credit2", "runqueue"),
        ("credit2", "version"),
        ("rtds", "version"),
        ("sedf", "version"),
        ("cfs", "hz"),
        ("eevdf", "release"),
    ] {
        passes_in_every(name, param, &[], 0..40);
    }
    passes_in_every("credit2", "runqueue", &[("version", "4.10")], 0..40);
    passes_in_every("sedf", "unblock", &[("version", "3.0")], 0..40);
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
        assert_eq!(report.subjects, exhaustive::scripts().count());
    }
}

#[test]
fn names_of_checkers_are_unique_and_in_kebab_case() {
    assert_eq!(domio_suite::misnamed(CHECKERS), [""; 0]);
}
