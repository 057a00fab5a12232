//! Nothing is left for later: no stub, no test that is skipped in silence, no dead code that is
//! told to be quiet.

use super::source::Token;
use super::tree::Tree;
use super::{Findings, Rule};

pub const RULE: Rule = Rule {
    name: "unfinished",
    demand: "no stubs, markers, dbg!, silenced dead code, or ignored tests without a reason",
    check,
};

/// Macros that stand for code to come.
const STUBS: [&str; 3] = ["todo", "unimplemented", "dbg"];

/// Words by which comments put work off.
const MARKERS: [&str; 3] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
];

fn check(tree: &Tree, findings: &mut Findings) {
    for (path, file) in tree.files() {
        if let Some(Err((line, reason))) = &file.source {
            findings.fail(path, *line, format!("this is no Rust: {reason}"));
        }
    }
    for (path, source) in tree.rust("") {
        for window in source.tokens.windows(4) {
            check_tokens(path, window, findings);
        }
        check_attributes(path, &source.tokens, findings);
    }
    for (path, text) in tree.of_kind(".rs").chain(tree.of_kind(".md")) {
        for (i, line) in text.lines().enumerate() {
            if let Some(marker) = MARKERS.iter().find(|marker| has_word(line, marker)) {
                findings.fail(path, i + 1, format!("`{marker}`: do it, or open an issue"));
            }
        }
    }
}

fn check_tokens(path: &str, window: &[Token], findings: &mut Findings) {
    let [name, bang, open, _] = window else {
        return;
    };
    let called = bang.is_punct("!") && !open.is_punct("=");
    if let Some(stub) = STUBS.iter().find(|stub| called && name.is_ident(stub)) {
        findings.fail(
            path,
            name.line,
            format!("`{stub}!` is a stub; write the code"),
        );
    }
}

fn check_attributes(path: &str, tokens: &[Token], findings: &mut Findings) {
    for (i, token) in tokens.iter().enumerate() {
        let inner = tokens.get(i + 1).is_some_and(|t| t.is_punct("!"));
        let start = if inner { i + 2 } else { i + 1 };
        if !token.is_punct("#") || !tokens.get(start).is_some_and(|t| t.is_punct("[")) {
            continue;
        }
        let end = tokens[start..].iter().position(|t| t.is_punct("]"));
        let body = &tokens[start + 1..end.map_or(tokens.len(), |end| start + end)];
        let Some(first) = body.first() else {
            continue;
        };
        if first.is_ident("ignore") && body.len() == 1 {
            let message = "say why the test is ignored and where it runs: #[ignore = \"reason\"]";
            findings.fail(path, first.line, message);
        }
        let silences = first.is_ident("allow") || first.is_ident("expect");
        if silences
            && body
                .iter()
                .any(|t| t.is_ident("dead_code") || t.is_ident("unused"))
        {
            findings.fail(path, first.line, "remove the code that nothing uses");
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
            "fn f() { todo!() }",
            "fn f() { unimplemented!(\"later\") }",
            "#[cfg(test)] mod t { fn f() { dbg!(1); } }",
            concat!("// TO", "DO: later"),
            "#[allow(dead_code)] fn f() {}",
            "#![allow(unused)]",
            "#[test] #[ignore] fn f() {}",
            "fn f( {",
        ] {
            assert_eq!(
                found_in(code),
                ["unfinished crates/domio-lab/src/part.rs:2"],
                "{code}"
            );
        }
    }

    #[test]
    fn a_reason_is_enough() {
        assert_eq!(
            found_in("#[test] #[ignore = \"slow; runs nightly\"] fn f() {}"),
            [""; 0]
        );
        assert_eq!(found_in("fn f() { if todo != 0 {} }"), [""; 0]);
    }
}
