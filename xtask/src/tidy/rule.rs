//! What a rule is, and what it finds.

use super::tree::Tree;

/// One rule of the project.
pub struct Rule {
    pub name: &'static str,
    /// What it demands, in one line.
    pub demand: &'static str,
    pub check: fn(&Tree, &mut Findings),
}

/// One place where a rule is broken.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Finding {
    pub path: String,
    pub line: usize,
    pub rule: &'static str,
    /// What is wrong and what to do about it.
    pub message: String,
    /// Whether the check fails for it.
    pub fatal: bool,
}

/// Where a rule puts what it finds.
pub struct Findings {
    pub rule: &'static str,
    pub list: Vec<Finding>,
}

impl Findings {
    /// The rule is broken at this place (lines count from 1).
    pub fn fail(&mut self, path: &str, line: usize, message: impl Into<String>) {
        self.push(path, line, message.into(), true);
    }

    /// This place comes close to breaking the rule.
    pub fn warn(&mut self, path: &str, line: usize, message: impl Into<String>) {
        self.push(path, line, message.into(), false);
    }

    fn push(&mut self, path: &str, line: usize, message: String, fatal: bool) {
        self.list.push(Finding {
            path: path.to_string(),
            line,
            rule: self.rule,
            message,
            fatal,
        });
    }
}
