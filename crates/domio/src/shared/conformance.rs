//! `domio policy check`: the conformance suite on one policy.

use crate::args::{Global, PolicyCheck};
use crate::out::{self, Status};
use crate::shared::choice::Choice;
use domio_front::conformance::SuiteOutcome;
use domio_report::text::{TextCell, TextColumn, TextTable, Tone};
use domio_sched::conformance::CHECKERS;
use serde_json::{Value, json};

/// Runs the suite and prints its checks.
pub fn run(args: &PolicyCheck, global: &Global) -> anyhow::Result<Status> {
    let choice = Choice::parse(&args.name, &global.parts)?;
    let values = choice.values()?;
    let make = choice.policy.make;
    let promises = &choice.policy.descriptor.promises;
    let outcome = SuiteOutcome::of(
        &|topology| make(&values, topology),
        promises,
        args.scripts,
        true,
    );
    match args.json {
        true => out::json_as("policy-check", &to_json(&outcome, &choice))?,
        false => out::text(&to_text(&outcome, &args.name))?,
    }
    Ok(status(&outcome))
}

fn status(outcome: &SuiteOutcome) -> Status {
    Status::of_check(outcome.report.is_clean())
}

fn to_text(outcome: &SuiteOutcome, name: &str) -> String {
    let mut table = TextTable::new([
        TextColumn::words("check").whole(),
        TextColumn::words("result").whole(),
        TextColumn::words("looks for"),
    ]);
    let mut details = String::new();
    for checker in CHECKERS {
        let findings = outcome.findings(checker);
        let (result, tone) = match outcome.result(checker) {
            "fails" => (format!("fails in {}", findings.len()), Tone::Bad),
            "passes" => ("passes".to_owned(), Tone::Good),
            _ => ("not promised".to_owned(), Tone::Dim),
        };
        table.row([
            TextCell::new(checker.name, Tone::Strong),
            TextCell::new(result, tone),
            checker.doc.into(),
        ]);
        if let Some(first) = findings.first() {
            details += &format!("\n{first}");
        }
    }
    let failed = CHECKERS.iter().filter(|c| outcome.result(c) == "fails");
    let scripts = outcome.report.subjects;
    let verdict = match failed.count() {
        0 => format!("{name} passes every check in {scripts} scripts\n"),
        1 => format!("{name} fails 1 check; {scripts} scripts were run\n"),
        n => format!("{name} fails {n} checks; {scripts} scripts were run\n"),
    };
    format!("{}\n{verdict}{details}", table.render(out::view()))
}

fn to_json(outcome: &SuiteOutcome, choice: &Choice) -> Value {
    let params = choice.params.iter();
    let params = params.map(|(k, v)| (k.clone(), json!(v)));
    outcome.to_json(choice.name(), params.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_broken::policies::{Broken, Bug, fifo, placement, promises};
    use domio_sched::conformance::Make;

    fn outcome<B: Bug + Default>() -> SuiteOutcome {
        let make: Make<'_> = &|topology| Box::new(Broken::new(B::default(), topology));
        SuiteOutcome::of(make, &B::DESCRIPTOR.promises, 5, true)
    }

    #[test]
    fn a_broken_policy_fails_the_check_that_catches_it() {
        let broken = outcome::<placement::IgnoresAffinity>();
        assert_eq!(status(&broken), Status::CheckFailed);
        let json = to_json(
            &broken,
            &Choice::parse("null", &domio_sched::policies().into()).unwrap(),
        );
        let checks = json["checks"].as_array().unwrap();
        let caught = checks.iter().find(|c| c["name"] == "affinity-respected");
        let caught = caught.unwrap();
        assert_eq!(caught["result"], "fails");
        assert!(!caught["first"]["log"].as_array().unwrap().is_empty());
        let text = to_text(&broken, "mine");
        assert!(
            text.contains("mine fails") && text.contains("fails in"),
            "{text}"
        );
        assert!(text.contains("the log up to there"), "{text}");
        let weights = outcome::<promises::IgnoresWeights>();
        let checker = CHECKERS.iter().find(|c| c.name == "weights").unwrap();
        assert_eq!(weights.result(checker), "fails");
        assert_eq!(status(&weights), Status::CheckFailed);
    }

    #[test]
    fn a_correct_one_passes_and_is_not_asked_for_what_it_does_not_promise() {
        let correct = outcome::<fifo::CorrectFifo>();
        assert_eq!(status(&correct), Status::Success);
        let caps = CHECKERS.iter().find(|c| c.name == "caps").unwrap();
        assert_eq!(correct.result(caps), "not-promised");
    }
}
