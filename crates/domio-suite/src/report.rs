//! What a suite found: findings, each of one checker under one subject, and their report.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;
use domio_core::Instant;

/// What a checker is called and what it looks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckerInfo {
    /// Stable name.
    pub name: &'static str,
    /// What it looks for.
    pub doc: &'static str,
}

/// A [`CheckerInfo`], for a `const`.
pub const fn info(name: &'static str, doc: &'static str) -> CheckerInfo {
    CheckerInfo { name, doc }
}

/// What is wrong with names and descriptions of `checkers`, a sentence each. A name is there once
/// and has small letters and dashes; a description is not empty.
pub fn misnamed(checkers: &[CheckerInfo]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (i, checker) in checkers.iter().enumerate() {
        let plain = |c: char| c.is_ascii_lowercase() || c == '-';
        if checker.name.is_empty() || !checker.name.chars().all(plain) {
            wrong.push(format!("\"{}\" is no name", checker.name));
        }
        if checkers[..i].iter().any(|c| c.name == checker.name) {
            wrong.push(format!("{} is there twice", checker.name));
        }
        if checker.doc.is_empty() {
            wrong.push(format!("{} has no description", checker.name));
        }
    }
    wrong
}

/// A suite: its words and its checkers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SuiteInfo {
    /// What a subject is called ("script").
    pub subject: &'static str,
    /// The same in the plural.
    pub subjects: &'static str,
    /// What a finding shows the end of ("the log").
    pub log: &'static str,
    /// Every checker, in the order in which reports list them.
    pub checkers: &'static [CheckerInfo],
}

impl SuiteInfo {
    /// What was `found` under `subject`, which had this seed if it was random.
    pub fn findings(
        &'static self,
        subject: &str,
        seed: Option<u64>,
        found: Vec<Found>,
    ) -> Vec<Finding> {
        let finding = |found: Found| Finding {
            suite: self,
            checker: found.checker,
            subject: subject.into(),
            seed,
            at: found.at,
            message: found.message,
            log_tail: found.log_tail,
        };
        found.into_iter().map(finding).collect()
    }
}

/// The subjects of a suite: those that are written by hand, then the random ones of `seeds`, with
/// their seeds.
pub fn subjects<S>(
    written: Vec<S>,
    seeds: Range<u64>,
    random: impl Fn(u64) -> S,
) -> impl Iterator<Item = (S, Option<u64>)> {
    let written = written.into_iter().map(|subject| (subject, None));
    written.chain(seeds.map(move |seed| (random(seed), Some(seed))))
}

/// The last `most` of the first `entries` of `log`, each on lines of its own.
pub fn tail(log: &[impl fmt::Display], entries: usize, most: usize) -> String {
    let log = &log[..entries.min(log.len())];
    let mut text = String::new();
    for entry in &log[log.len().saturating_sub(most)..] {
        text += &entry.to_string();
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

/// What a checker found in a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Name of the checker, one of [`SuiteInfo::checkers`].
    pub checker: &'static str,
    /// When it was seen.
    pub at: Instant,
    /// What was seen.
    pub message: String,
    /// The end of the log up to there, as of [`tail`].
    pub log_tail: String,
}

/// One misbehaviour: what was found, and under which subject of which suite.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Which suite.
    pub suite: &'static SuiteInfo,
    /// Name of the checker, one of [`SuiteInfo::checkers`].
    pub checker: &'static str,
    /// Name of the subject.
    pub subject: String,
    /// Its seed, when it was random.
    pub seed: Option<u64>,
    /// When it was seen.
    pub at: Instant,
    /// What was seen.
    pub message: String,
    /// The end of the log up to there, one entry a line.
    pub log_tail: String,
}

/// What a suite found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Which suite.
    pub suite: &'static SuiteInfo,
    /// Subjects under which it ran.
    pub subjects: usize,
    /// Everything that was found: at most one finding for each checker and subject.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Nothing run and nothing found.
    pub const fn new(suite: &'static SuiteInfo) -> Self {
        Report {
            suite,
            subjects: 0,
            findings: Vec::new(),
        }
    }

    /// One more subject, with what was found under it.
    pub fn add(&mut self, findings: Vec<Finding>) {
        self.findings.extend(findings);
        self.subjects += 1;
    }

    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// Names of the checkers that found something, each once, in their order.
    pub fn checkers(&self) -> impl Iterator<Item = &'static str> + '_ {
        let names = self.suite.checkers.iter().map(|c| c.name);
        names.filter(|name| self.findings.iter().any(|f| f.checker == *name))
    }
}

impl fmt::Display for Report {
    /// A summary line; then, for each checker, its first finding in full and the number of others.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, findings) = (self.subjects, self.findings.len());
        let subjects = self.suite.subjects;
        writeln!(f, "{count} {subjects}, {findings} findings")?;
        for name in self.checkers() {
            let mut mine = self.findings.iter().filter(|found| found.checker == name);
            if let Some(first) = mine.next() {
                write!(f, "{first}")?;
            }
            match mine.count() {
                0 => {}
                others => writeln!(f, "... and in {others} more {subjects}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SuiteInfo { subject, log, .. } = self.suite;
        write!(
            f,
            "{}: {} at {}, {subject} \"{}\"",
            self.checker, self.message, self.at, self.subject
        )?;
        if let Some(seed) = self.seed {
            write!(f, " (seed {seed})")?;
        }
        writeln!(f, "; {log} up to there:")?;
        for line in self.log_tail.lines() {
            writeln!(f, "  {line}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    static SUITE: SuiteInfo = SuiteInfo {
        subject: "script",
        subjects: "scripts",
        log: "the log",
        checkers: &[info("first", "a"), info("second", "b")],
    };

    fn finding(checker: &'static str, seed: Option<u64>) -> Finding {
        Finding {
            suite: &SUITE,
            checker,
            subject: "some".into(),
            seed,
            at: Instant::from_nanos(1_500),
            message: "it was so".into(),
            log_tail: "one\ntwo\n".into(),
        }
    }

    #[test]
    fn wrong_names_of_checkers_are_told() {
        assert_eq!(misnamed(SUITE.checkers), [""; 0]);
        let wrong = misnamed(&[info("first", "a"), info("Two", "b"), info("first", "")]);
        let expected = [
            "\"Two\" is no name",
            "first is there twice",
            "first has no description",
        ];
        assert_eq!(wrong, expected);
    }

    #[test]
    fn a_tail_ends_where_something_was_found() {
        let log = ["one", "two\n", "three", "four"];
        assert_eq!(tail(&log, 3, 2), "two\nthree\n");
        assert_eq!(tail(&log, 9, 1), "four\n");
        assert_eq!(tail(&log, 0, 2), "");
    }

    #[test]
    fn random_subjects_come_last_and_have_seeds() {
        let all: Vec<_> = subjects(vec![7], 2..4, |seed| seed * 10).collect();
        assert_eq!(all, [(7, None), (20, Some(2)), (30, Some(3))]);
    }

    #[test]
    fn each_checker_shows_its_first_finding_and_counts_the_others() {
        let mut report = Report::new(&SUITE);
        report.add(vec![]);
        assert!(report.is_clean());
        assert_eq!(report.to_string(), "1 scripts, 0 findings\n");
        report.add(vec![finding("second", Some(7)), finding("first", None)]);
        report.add(vec![finding("second", None)]);
        assert!(!report.is_clean());
        assert_eq!(report.checkers().collect::<Vec<_>>(), ["first", "second"]);
        let at = Instant::from_nanos(1_500);
        assert_eq!(
            report.to_string(),
            format!(
                "3 scripts, 3 findings\n\
                 first: it was so at {at}, script \"some\"; the log up to there:\n  one\n  \
                 two\n\
                 second: it was so at {at}, script \"some\" (seed 7); the log up to there:\n  \
                 one\n  two\n\
                 ... and in 1 more scripts\n"
            )
        );
    }
}
