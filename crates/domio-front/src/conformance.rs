//! What the conformance suite says of a policy, checker by checker.

use domio_answer::{Answered, Maybe, RowType, Sentence, Table, Tone, rows};
use domio_contract::Promises;
use domio_core::Instant;
use domio_sched::conformance::{self, CHECKERS, CheckerInfo, Finding, Make, Report};

rows! {
    /// The suite on a policy.
    #[derive(Clone, PartialEq, Debug, Default)]
    struct Checked {
        /// Name of the policy.
        policy: String = fact("policy");
        /// Parameters that are not at their defaults, as they were written.
        params: Vec<(String, String)> = by_name("params", fact("value"));
        /// Scripts that were run.
        scripts: usize = count("scripts");
        /// Whether no check fails.
        passes: bool = all("passes");
        /// In the order of the suite.
        checks: Vec<CheckRow> = parts("checks", []);
    }

    /// A check.
    #[derive(Clone, PartialEq, Debug)]
    struct CheckRow {
        /// Name of the check.
        name: String = key("name").title("check");
        /// Its result: "passes", "fails" or "not-promised".
        result: String = fact("result");
        /// Scripts in which it fails.
        findings: usize = count("findings");
        /// What it looks for.
        looks_for: String = fact("looks_for");
        /// The first finding; null without any.
        first: Maybe<FirstFinding> = fact("first");
    }

    /// A finding.
    #[derive(Clone, PartialEq, Debug)]
    struct FirstFinding {
        /// Name of the script.
        script: String = fact("script");
        /// Its seed, when it was random.
        seed: Option<u64> = fact("seed");
        /// When.
        at: Instant = moment("at_ns");
        /// What was seen.
        message: String = fact("message");
        /// The calls before.
        log: Vec<String> = parts("log", []);
    }
}

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

    fn checks(&self) -> Vec<CheckRow> {
        let check = |checker: &CheckerInfo| {
            let findings = self.findings(checker);
            CheckRow {
                name: checker.name.to_owned(),
                result: self.result(checker).to_owned(),
                findings: findings.len(),
                looks_for: checker.doc.to_owned(),
                first: Maybe(findings.first().map(|first| FirstFinding {
                    script: first.subject.clone(),
                    seed: first.seed,
                    at: first.at,
                    message: first.message.clone(),
                    log: first.log_tail.lines().map(str::to_owned).collect(),
                })),
            }
        };
        CHECKERS.iter().map(check).collect()
    }

    /// The checks, each with its result.
    pub fn table(&self) -> Table {
        let mut table = Table::of("", &self.checks());
        for (row, checker) in CHECKERS.iter().enumerate() {
            let tone = match self.result(checker) {
                "fails" => Tone::Bad,
                "passes" => Tone::Good,
                _ => Tone::Dim,
            };
            table.set_tone(row, 1, tone);
        }
        table
    }

    /// What the policy, which is called `name`, makes of the suite, in a sentence.
    pub fn verdict(&self, name: &str) -> String {
        let failed = CHECKERS.iter().filter(|c| self.result(c) == "fails");
        let scripts = self.report.subjects;
        match failed.count() {
            0 => format!("{name} passes every check in {scripts} scripts"),
            1 => format!("{name} fails 1 check; {scripts} scripts were run"),
            n => format!("{name} fails {n} checks; {scripts} scripts were run"),
        }
    }

    /// The first finding of each check that fails, with the log up to there.
    pub fn details(&self) -> String {
        let first = CHECKERS.iter().map(|checker| self.findings(checker));
        let first = first.filter_map(|findings| findings.into_iter().next());
        first.map(|finding| format!("\n{finding}")).collect()
    }

    /// For programs, of the policy called `name` with `params`.
    pub fn answer(&self, name: &str, params: &[(String, String)]) -> Answered {
        let checked = Checked {
            policy: name.to_owned(),
            params: params.to_vec(),
            scripts: self.report.subjects,
            passes: self.report.is_clean(),
            checks: self.checks(),
        };
        let mut answered = Answered {
            cells: checked.cells(),
            ..suite_answer()
        };
        let set: Vec<String> = params.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let asked = match set.is_empty() {
            true => name.to_owned(),
            false => format!("{name}:{}", set.join(",")),
        };
        answered.findings.push(Sentence::new(self.verdict(&asked)));
        answered
    }
}

/// The answer of a suite that did not run: what its columns are.
pub fn suite_answer() -> Answered {
    let doc = "What `domio policy check --json` prints: the conformance suite on a policy.";
    Answered::of("policy-check", 2, doc, &Checked::default())
}
