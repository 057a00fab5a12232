//! `cargo xtask tidy`: the project's own rules.
//!
//! Each rule is a function from the [`Tree`] to findings, with a name that
//! `docs/ARCHITECTURE.md` uses too. All findings are printed together. Every rule has a test that
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
mod prose;
mod rule;
mod size;
mod source;
mod sources;
mod tree;
mod unfinished;
mod ways;
mod words;

#[cfg(test)]
mod testing;

use anyhow::Result;
use rule::{Finding, Findings, Rule};
use std::path::Path;
use tree::Tree;

/// Every rule, the invariants of the architecture first.
const RULES: &[Rule] = &[
    policy::RULE,
    policy::CONTROLLER_RULE,
    policy::ELEVATOR_RULE,
    engine::RULE,
    deterministic::RULE,
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
    ways::RULE,
    words::RULE,
    prose::RULE,
];

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
        let page =
            std::fs::read_to_string(crate::places::root().unwrap().join("docs/ARCHITECTURE.md"));
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
