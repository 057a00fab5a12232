//! Nothing is left for later. Stubs, tests that are skipped in silence and lints that are told to
//! be quiet are clippy's part (`Cargo.toml`); here is what no lint knows.

use super::rule::{Findings, Rule};
use super::tree::Tree;

pub const RULE: Rule = Rule {
    name: "unfinished",
    demand: "no markers for later, no silenced dead code",
    check,
};

/// Words by which comments put work off.
const MARKERS: [&str; 3] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
];

/// Lints that report code which nothing uses.
const SILENCED: [&str; 2] = [concat!("dead", "_code"), concat!("un", "used")];

fn check(tree: &Tree, findings: &mut Findings) {
    for (path, text) in tree.of_kind(".rs").chain(tree.of_kind(".md")) {
        for (i, line) in text.lines().enumerate() {
            if let Some(marker) = MARKERS.iter().find(|marker| has_word(line, marker)) {
                findings.fail(path, i + 1, format!("`{marker}`: do it, or open an issue"));
            }
            let silences = ["allow(", "expect("].iter().any(|word| line.contains(word));
            if silences && SILENCED.iter().any(|lint| has_word(line, lint)) {
                findings.fail(path, i + 1, "remove the code that nothing uses");
            }
        }
    }
}

/// Whether `word` stands in `line` on its own.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        ![before, after]
            .into_iter()
            .flatten()
            .any(|c| c.is_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;

    fn found_in(text: &str) -> Vec<String> {
        found(&[(
            "crates/domio-lab/src/part.rs",
            &format!("//! A part.\n{text}\n"),
        )])
    }

    #[test]
    fn what_is_put_off_is_caught() {
        for code in [
            concat!("// TO", "DO: later"),
            concat!("#[expect(dead", "_code, reason = \"later\")] fn f() {}"),
            concat!("#![expect(un", "used)]"),
        ] {
            assert_eq!(
                found_in(code),
                ["unfinished crates/domio-lab/src/part.rs:2"],
                "{code}"
            );
        }
        assert_eq!(found_in("fn f() { if unused != 0 {} }"), [""; 0]);
    }
}
