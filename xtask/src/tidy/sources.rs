//! A rule in code that follows a rule of Xen names it by number ("xen-spec 0.5"), and
//! `docs/FIDELITY.md` says what that number means, where it comes from and which tests check it.

use super::rule::{Findings, Rule};
use super::tree::Tree;
use pulldown_cmark::{Event, Parser};
use std::collections::BTreeSet;

pub const RULE: Rule = Rule {
    name: "sources",
    demand: "every \"xen-spec N\" in the code is in docs/FIDELITY.md, and its tests exist",
    check,
};

const PAGE: &str = "docs/FIDELITY.md";
const MARK: &str = "xen-spec ";

fn check(tree: &Tree, findings: &mut Findings) {
    check_tests(tree, findings);
    let page = tree.text(PAGE).unwrap_or_default();
    let explained = |number: &str| {
        let (row, heading) = (format!("| {number} |"), format!("{number} "));
        page.lines().any(|line| {
            line.starts_with(&row)
                || line
                    .trim_start_matches('#')
                    .trim_start()
                    .starts_with(&heading)
        })
    };
    for (path, text) in tree
        .of_kind(".rs")
        .filter(|(path, _)| path.starts_with("crates/"))
    {
        for (i, line) in text.lines().enumerate() {
            for number in numbers(line) {
                if !explained(number) {
                    let message = format!("{PAGE} has no row or heading {number}; add it");
                    findings.fail(path, i + 1, message);
                }
            }
        }
    }
}

/// The page names tests by their functions; three words or more make such a name.
fn check_tests(tree: &Tree, findings: &mut Findings) {
    let page = tree.text(PAGE).unwrap_or_default();
    let sources = tree.rust("crates/").map(|(_, source)| source);
    let known: BTreeSet<&str> = sources.flat_map(|source| source.defined()).collect();
    for (event, range) in Parser::new(page).into_offset_iter() {
        if let Event::Code(name) = event
            && name.matches('_').count() > 1
            && name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
            && !known.contains(&*name)
        {
            let line = page[..range.start].matches('\n').count() + 1;
            findings.fail(
                PAGE,
                line,
                format!("there is no test `{name}`; name the one that is"),
            );
        }
    }
}

/// The numbers in "xen-spec 7.1 and 7.2", "xen-spec 3.1 to 3.4", "xen-spec 0.5, 0.6".
fn numbers(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices(MARK) {
        let rest = line[at + MARK.len()..]
            .split([';', ')'])
            .next()
            .unwrap_or_default();
        for word in rest.split([' ', ',', '`']) {
            let number = word.trim_end_matches(['.', ':']);
            let is_number = number.starts_with(|c: char| c.is_ascii_digit())
                && number.chars().all(|c| c.is_ascii_digit() || c == '.');
            if is_number {
                found.push(number);
            } else if !["", "to", "and", "section"].contains(&word) {
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::numbers;

    #[test]
    fn a_number_that_nobody_explains_is_caught() {
        let code = (
            "crates/domio-sim/src/lib.rs",
            "//! The engine.\n#![no_std]\n// xen-spec 0.5 and 7.2\n",
        );
        let place = "sources crates/domio-sim/src/lib.rs:3";
        assert_eq!(found(&[code]), [place, place]);
        let page = (
            "docs/FIDELITY.md",
            "# Fidelity\n\n## 7.2 Records\n\n| 0.5 | passes |\n",
        );
        assert_eq!(found(&[code, page]), [""; 0]);
    }

    #[test]
    fn a_test_that_is_gone_is_caught() {
        let code = "//! The engine.\n#![no_std]\n#[test]\nfn ties_are_fifo() {}\n";
        let page = "# Fidelity\n\n`ties_are_fifo`, `time_slice`, `XEN_A_B`\n\n`ties_are_lost`\n";
        let files = [
            ("crates/domio-sim/src/lib.rs", code),
            ("docs/FIDELITY.md", page),
        ];
        assert_eq!(found(&files), ["sources docs/FIDELITY.md:5"]);
    }

    #[test]
    fn numbers_are_told_from_the_text_around_them() {
        assert_eq!(
            numbers("(xen-spec 3.1 to 3.4, 0.10)."),
            ["3.1", "3.4", "0.10"]
        );
        assert_eq!(numbers("xen-spec section 3; 4.17 has"), ["3"]);
        assert_eq!(
            numbers("see xen-spec 0.2: timers, 3 of them; xen-spec 7"),
            ["0.2", "7"]
        );
    }
}
