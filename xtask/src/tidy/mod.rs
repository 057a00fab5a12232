//! `cargo xtask tidy`: the project's own rules.
//!
//! Each rule is a function from the [`Tree`] to findings, with a name that
//! `docs/ARCHITECTURE.md` uses too. All findings are printed at once. Every rule has a test that
//! plants a violation in an otherwise clean tree (see `testing.rs`).

mod arrows;
mod cells;
mod circles;
mod contents;
mod dependencies;
mod deterministic;
mod engine;
mod links;
mod manifest;
mod names;
mod policy;
mod policy_pages;
mod size;
mod source;
mod sources;
mod tree;
mod unfinished;
mod words;

#[cfg(test)]
mod testing;

use anyhow::Result;
use std::path::Path;
use tree::Tree;

/// One rule of the project.
struct Rule {
    name: &'static str,
    /// What it demands, in one line.
    demand: &'static str,
    check: fn(&Tree, &mut Findings),
}

/// Every rule, the invariants of the architecture first.
const RULES: &[Rule] = &[
    policy::RULE,
    policy::CONTROLLER_RULE,
    policy::ELEVATOR_RULE,
    engine::RULE,
    deterministic::RULE,
    deterministic::FLOAT_RULE,
    arrows::RULE,
    circles::RULE,
    manifest::RULE,
    names::RULE,
    dependencies::RULE,
    unfinished::RULE,
    size::RULE,
    contents::RULE,
    links::RULE,
    cells::RULE,
    policy_pages::RULE,
    policy_pages::CONTROLLER_RULE,
    sources::RULE,
    words::RULE,
];

/// One place where a rule is broken.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Finding {
    path: String,
    line: usize,
    rule: &'static str,
    /// What is wrong and what to do about it.
    message: String,
    /// Whether the check fails for it.
    fatal: bool,
}

/// Where a rule puts what it finds.
struct Findings {
    rule: &'static str,
    list: Vec<Finding>,
}

impl Findings {
    /// The rule is broken at this place (lines count from 1).
    fn fail(&mut self, path: &str, line: usize, message: impl Into<String>) {
        self.push(path, line, message.into(), true);
    }

    /// This place comes close to breaking the rule.
    fn warn(&mut self, path: &str, line: usize, message: impl Into<String>) {
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

/// Everything that the rules find, by place.
fn check(tree: &Tree) -> Vec<Finding> {
    let mut list = Vec::new();
    for rule in RULES {
        let mut findings = Findings {
            rule: rule.name,
            list: Vec::new(),
        };
        (rule.check)(tree, &mut findings);
        list.append(&mut findings.list);
    }
    list.sort();
    list.dedup();
    list
}

/// Checks the project at `root` and prints what is found; `false` when a rule is broken.
///
/// # Errors
/// The project cannot be read.
pub fn run(root: &Path) -> Result<bool> {
    let findings = check(&Tree::read(root)?);
    for Finding {
        path,
        line,
        rule,
        message,
        fatal,
    } in &findings
    {
        let level = if *fatal { "error" } else { "warning" };
        println!("{path}:{line}: {level}: {rule}: {message}");
    }
    let fatal = findings.iter().filter(|f| f.fatal).count();
    println!(
        "tidy: {} rules, {fatal} broken places, {} warnings",
        RULES.len(),
        findings.len() - fatal
    );
    Ok(fatal == 0)
}

/// Prints every rule's name and demand.
pub fn print_rules() {
    for rule in RULES {
        println!("{:<16} {}", rule.name, rule.demand);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_tree_passes() {
        assert_eq!(testing::found(&[]), [""; 0]);
    }

    #[test]
    fn every_rule_is_explained_to_readers() {
        let page = std::fs::read_to_string(crate::root().unwrap().join("docs/ARCHITECTURE.md"));
        let page = page.expect("docs/ARCHITECTURE.md exists");
        for rule in RULES {
            let name = format!("`{}`", rule.name);
            assert!(
                page.contains(&name),
                "docs/ARCHITECTURE.md lacks the rule {name}"
            );
        }
    }
}
