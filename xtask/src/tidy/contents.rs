//! A file says what it is for before it says how.

use super::rule::{Findings, Rule};
use super::tree::Tree;

pub const RULE: Rule = Rule {
    name: "contents",
    demand: "every file of Rust opens with a `//!` page",
    check,
};

fn check(tree: &Tree, findings: &mut Findings) {
    for (path, text) in tree.of_kind(".rs") {
        if !text.trim_start().starts_with("//!") {
            let message = "open the file with `//!` and what it holds, in a sentence";
            findings.fail(path, 1, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;

    #[test]
    fn a_file_without_a_page_is_caught() {
        let places = found(&[("crates/domio-lab/src/lib.rs", "pub mod x;\n")]);
        assert_eq!(places, ["contents crates/domio-lab/src/lib.rs:1"]);
    }
}
