//! Tables that can be read: no cell of a page is longer than a sentence or two.

use super::rule::{Findings, Rule};
use super::tree::Tree;

pub const RULE: Rule = Rule {
    name: "cells",
    demand: "cells of tables up to 200 characters",
    check,
};

const CELL: usize = 200;

fn check(tree: &Tree, findings: &mut Findings) {
    for (path, text) in tree.of_kind(".md") {
        for (i, line) in text.lines().enumerate() {
            let Some(row) = line.trim().strip_prefix('|') else {
                continue;
            };
            let longest = cells(row).map(|cell| cell.chars().count()).max();
            if let Some(longest) = longest.filter(|longest| *longest > CELL) {
                let message = format!(
                    "a cell of {longest} characters; put the text below the table, or in a list"
                );
                findings.fail(path, i + 1, message);
            }
        }
    }
}

/// The cells of a row whose first bar is gone. A bar with a backslash is text.
fn cells(row: &str) -> impl Iterator<Item = &str> {
    let mut escaped = false;
    let parts = row.split(move |c| {
        let bar = c == '|' && !escaped;
        escaped = c == '\\' && !escaped;
        bar
    });
    parts.map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;

    #[test]
    fn long_cells_are_caught() {
        let page = |cell: &str| format!("# T\n\n| a | b |\n|---|---|\n| x | {cell} |\n");
        let at = |cell: &str| found(&[("docs/T.md", &page(cell))]);
        assert_eq!(at(&"x".repeat(200)), [""; 0]);
        assert_eq!(at(&"x".repeat(201)), ["cells docs/T.md:5"]);
        let two = "x".repeat(150);
        assert_eq!(at(&format!("{two} | {two}")), [""; 0]);
        assert_eq!(at(&format!("{two} \\| {two}")), ["cells docs/T.md:5"]);
    }
}
