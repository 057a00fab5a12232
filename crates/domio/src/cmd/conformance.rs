//! `domio policy check`: the conformance suite on one policy.

use crate::args::PolicyCheck;
use crate::cmd::choice::Choice;
use crate::out::{self, Status};
use domio_report::text::{Cell, Column, Table, Tone};
use domio_sched::Promises;
use domio_sched::conformance::{self, CHECKERS, CheckerInfo, Finding, Make, Report};
use serde_json::{Map, Value, json};

/// Runs the suite and prints its checks.
pub fn run(args: &PolicyCheck) -> anyhow::Result<Status> {
    let choice = Choice::parse(&args.name)?;
    let values = choice.values()?;
    let make = choice.policy.make;
    let promises = &choice.policy.descriptor.promises;
    let outcome = Outcome::of(&|topology| make(&values, topology), promises, args.scripts);
    match args.json {
        true => out::json_as("policy-check", &outcome.to_json(&choice))?,
        false => out::text(&outcome.to_text(&args.name))?,
    }
    Ok(outcome.status())
}

/// What the suite found, checker by checker.
struct Outcome {
    report: Report,
    promises: Promises,
}

impl Outcome {
    /// Of the policy that `make` makes and that gives `promises`: hand-written scripts, `random`
    /// ones, and every order of a few events.
    fn of(make: Make<'_>, promises: &Promises, random: u32) -> Self {
        let mut report = conformance::check(make, 0..u64::from(random));
        let orders = conformance::check_exhaustively(make);
        report.subjects += orders.subjects;
        report.findings.extend(orders.findings);
        Outcome {
            report,
            promises: *promises,
        }
    }

    fn status(&self) -> Status {
        Status::of_check(self.report.is_clean())
    }

    fn findings(&self, checker: &CheckerInfo) -> Vec<&Finding> {
        let name = checker.name;
        let findings = self.report.findings.iter();
        findings.filter(|f| f.checker == name).collect()
    }

    /// Whether the policy promises what `checker` watches; nobody has to promise the contract.
    fn is_asked(&self, checker: &CheckerInfo) -> bool {
        let promises = &self.promises;
        match checker.name {
            "work-conserving" => promises.work_conserving,
            "balances" => promises.balances,
            "starvation-free" => promises.starvation_free,
            "weights" => promises.weights,
            "caps" => promises.caps,
            _ => true,
        }
    }

    fn result(&self, checker: &CheckerInfo) -> &'static str {
        match (self.findings(checker).len(), self.is_asked(checker)) {
            (0, true) => "passes",
            (0, false) => "not-promised",
            _ => "fails",
        }
    }

    fn to_text(&self, name: &str) -> String {
        let mut table = Table::new([
            Column::words("check").whole(),
            Column::words("result").whole(),
            Column::words("looks for"),
        ]);
        let mut details = String::new();
        for checker in CHECKERS {
            let findings = self.findings(checker);
            let (result, tone) = match self.result(checker) {
                "fails" => (format!("fails in {}", findings.len()), Tone::Bad),
                "passes" => ("passes".to_owned(), Tone::Good),
                _ => ("not promised".to_owned(), Tone::Dim),
            };
            table.row([
                Cell::new(checker.name, Tone::Strong),
                Cell::new(result, tone),
                checker.doc.into(),
            ]);
            if let Some(first) = findings.first() {
                details += &format!("\n{first}");
            }
        }
        let failed = CHECKERS.iter().filter(|c| self.result(c) == "fails");
        let scripts = self.report.subjects;
        let verdict = match failed.count() {
            0 => format!("{name} passes every check in {scripts} scripts\n"),
            1 => format!("{name} fails 1 check; {scripts} scripts were run\n"),
            n => format!("{name} fails {n} checks; {scripts} scripts were run\n"),
        };
        format!("{}\n{verdict}{details}", table.render(out::view()))
    }

    fn to_json(&self, choice: &Choice) -> Value {
        let check = |checker: &CheckerInfo| {
            let findings = self.findings(checker);
            let mut entry = json!({
                "name": checker.name,
                "looks_for": checker.doc,
                "result": self.result(checker),
                "findings": findings.len(),
            });
            if let Some(first) = findings.first() {
                entry["first"] = json!({
                    "script": first.subject,
                    "seed": first.seed,
                    "at_ns": first.at.as_nanos(),
                    "message": first.message,
                    "log": first.log_tail.lines().collect::<Vec<_>>(),
                });
            }
            entry
        };
        let params = choice.params.iter();
        let params: Map<String, Value> = params.map(|(k, v)| (k.clone(), json!(v))).collect();
        json!({
            "policy": choice.name(),
            "params": params,
            "scripts": self.report.subjects,
            "passes": self.report.is_clean(),
            "checks": CHECKERS.iter().map(check).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_sched::broken::{Broken, Bug, fifo, placement, promises};

    fn outcome<B: Bug + Default>() -> Outcome {
        let make: Make<'_> = &|topology| Box::new(Broken::new(B::default(), topology));
        Outcome::of(make, &B::DESCRIPTOR.promises, 5)
    }

    #[test]
    fn a_broken_policy_fails_the_check_that_catches_it() {
        let broken = outcome::<placement::IgnoresAffinity>();
        assert_eq!(broken.status(), Status::CheckFailed);
        let json = broken.to_json(&Choice::parse("null").unwrap());
        let checks = json["checks"].as_array().unwrap();
        let caught = checks.iter().find(|c| c["name"] == "affinity-respected");
        let caught = caught.unwrap();
        assert_eq!(caught["result"], "fails");
        assert!(!caught["first"]["log"].as_array().unwrap().is_empty());
        let text = broken.to_text("mine");
        assert!(
            text.contains("mine fails") && text.contains("fails in"),
            "{text}"
        );
        assert!(text.contains("the log up to there"), "{text}");
        let weights = outcome::<promises::IgnoresWeights>();
        let checker = CHECKERS.iter().find(|c| c.name == "weights").unwrap();
        assert_eq!(weights.result(checker), "fails");
        assert_eq!(weights.status(), Status::CheckFailed);
    }

    #[test]
    fn a_correct_one_passes_and_is_not_asked_for_what_it_does_not_promise() {
        let correct = outcome::<fifo::Correct>();
        assert_eq!(correct.status(), Status::Success);
        let caps = CHECKERS.iter().find(|c| c.name == "caps").unwrap();
        assert_eq!(correct.result(caps), "not-promised");
    }
}
