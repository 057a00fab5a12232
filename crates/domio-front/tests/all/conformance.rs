//! What the suite says of a policy, for people and for programs.

use domio_answer::Tone;
use domio_broken::policies::{Broken, Bug, fifo, placement, promises};
use domio_front::conformance::SuiteOutcome;
use domio_sched::conformance::{CHECKERS, Make};
use serde_json::Value;

fn outcome<B: Bug + Default>() -> SuiteOutcome {
    let make: Make<'_> = &|topology| Box::new(Broken::new(B::default(), topology));
    SuiteOutcome::of(make, &B::DESCRIPTOR.promises, 5, true)
}

fn result(outcome: &SuiteOutcome, name: &str) -> &'static str {
    let checker = CHECKERS.iter().find(|c| c.name == name);
    outcome.result(checker.expect("a checker"))
}

#[test]
fn a_broken_policy_fails_the_check_that_catches_it() {
    let broken = outcome::<placement::IgnoresAffinity>();
    assert!(!broken.report.is_clean());
    let params = [("slice".to_owned(), "5".to_owned())];
    let json = serde_json::to_value(broken.answer("mine", &params)).expect("JSON");
    assert_eq!(
        (&json["policy"], &json["params"]["slice"]),
        (&"mine".into(), &"5".into())
    );
    assert_eq!(
        (&json["passes"], &json["findings"][0]),
        (&Value::Bool(false), &broken.verdict("mine:slice=5").into())
    );
    let checks = json["checks"].as_array().expect("a list");
    let caught = checks
        .iter()
        .position(|c| c["name"] == "affinity-respected");
    let caught = caught.expect("a check");
    assert_eq!(checks[caught]["result"], "fails");
    assert!(checks[caught]["findings"].as_u64() > Some(0));
    let log = checks[caught]["first"]["log"].as_array();
    assert!(!log.expect("a list").is_empty());
    assert_eq!(broken.table().tone(caught, 1), Tone::Bad);
    assert!(broken.verdict("mine").starts_with("mine fails "));
    assert!(broken.details().contains("the log up to there"));
    let weights = outcome::<promises::IgnoresWeights>();
    assert_eq!(result(&weights, "weights"), "fails");
    assert!(!weights.report.is_clean());
}

#[test]
fn a_correct_one_passes_and_is_not_asked_for_what_it_does_not_promise() {
    let correct = outcome::<fifo::CorrectFifo>();
    assert!(correct.report.is_clean());
    assert_eq!(result(&correct, "caps"), "not-promised");
    assert!(
        correct
            .verdict("mine")
            .starts_with("mine passes every check in ")
    );
    assert_eq!(correct.details(), "");
}
