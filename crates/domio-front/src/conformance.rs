//! What the conformance suite says of a policy, checker by checker.

use domio_contract::Promises;
use domio_sched::conformance::{self, CHECKERS, CheckerInfo, Finding, Make, Report};
use serde_json::{Map, Value, json};

/// What the suite found, checker by checker.
pub struct SuiteOutcome {
    /// Subjects and findings.
    pub report: Report,
    promises: Promises,
}

impl SuiteOutcome {
    /// Of the policy that `make` makes and that gives `promises`: hand-written scripts, `random`
    /// ones, and, if `orders`, every order of a few events.
    pub fn of(make: Make<'_>, promises: &Promises, random: u32, orders: bool) -> Self {
        let mut report = conformance::check(make, 0..u64::from(random));
        if orders {
            let orders = conformance::check_exhaustively(make);
            report.subjects += orders.subjects;
            report.findings.extend(orders.findings);
        }
        SuiteOutcome {
            report,
            promises: *promises,
        }
    }

    /// What `checker` found.
    pub fn findings(&self, checker: &CheckerInfo) -> Vec<&Finding> {
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

    /// "passes", "fails" or "not-promised".
    pub fn result(&self, checker: &CheckerInfo) -> &'static str {
        match (self.findings(checker).len(), self.is_asked(checker)) {
            (0, true) => "passes",
            (0, false) => "not-promised",
            _ => "fails",
        }
    }

    /// For programs, of the policy called `name` with `params`.
    pub fn to_json(&self, name: &str, params: Map<String, Value>) -> Value {
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
        json!({
            "policy": name,
            "params": params,
            "scripts": self.report.subjects,
            "passes": self.report.is_clean(),
            "checks": CHECKERS.iter().map(check).collect::<Vec<_>>(),
        })
    }
}
