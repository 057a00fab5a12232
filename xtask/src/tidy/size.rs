//! Code that fits a reader's head and screen. How long a function is, clippy counts.

use super::rule::{Findings, Rule};
use super::tree::Tree;

pub const RULE: Rule = Rule {
    name: "size",
    demand: "files up to 600 lines (1000 at most), lines up to 100 columns",
    check,
};

const FILE_LINES: usize = 600;
const FILE_LINES_MAX: usize = 1000;
const COLUMNS: usize = 100;

fn check(tree: &Tree, findings: &mut Findings) {
    for (path, text) in tree.of_kind(".rs") {
        let lines = text.lines().count();
        let message = format!("{lines} lines; split it, one idea a file");
        if lines > FILE_LINES_MAX {
            findings.fail(path, lines, message);
        } else if lines > FILE_LINES {
            findings.warn(path, lines, message);
        }
        for (i, line) in text.lines().enumerate() {
            let columns = line.chars().count();
            if columns > COLUMNS {
                findings.fail(path, i + 1, format!("{columns} columns; break the line"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;

    fn found_in(body: &str) -> Vec<String> {
        found(&[(
            "crates/domio-lab/src/part.rs",
            &format!("//! A part.\n{body}"),
        )])
    }

    #[test]
    fn long_files_and_lines_are_caught() {
        let at = |line: usize| format!("size crates/domio-lab/src/part.rs:{line}");
        assert_eq!(found_in(&"\n".repeat(599)), [""; 0]);
        assert_eq!(found_in(&"\n".repeat(600)), [at(601) + " (warning)"]);
        assert_eq!(found_in(&"\n".repeat(1000)), [at(1001)]);
        assert_eq!(found_in(&format!("// {}", "x".repeat(97))), [""; 0]);
        assert_eq!(found_in(&format!("// {}", "x".repeat(98))), [at(2)]);
    }
}
