//! The English of pages, help and messages: phrases that readers stumbled over do not come back.
//!
//! A page is read without its code: blocks between fences and what is in backquotes. Of a crate the
//! string literals are read, without placeholders and without those of tests, and the descriptions
//! of the flags. The worst phrases are not in any comment of the documentation either.

use super::rule::{Findings, Rule};
use super::source::Kind;
use super::tree::Tree;

pub const RULE: Rule = Rule {
    name: "prose",
    demand: "pages, help and messages have none of the phrases of a list, but the usual words",
    check,
};

/// A phrase and what to write instead. In two parts, so that this file has none of them.
type Phrase = (&'static str, &'static str, &'static str);

/// Phrases that are not in pages, messages and help.
const PHRASES: [Phrase; 16] = [
    ("te", "ll", SAY),
    ("te", "lls", SAY),
    ("to", "ld", SAY),
    ("te", "lling", SAY),
    ("who", "ever", WHO),
    ("who", "mever", WHO),
    ("who ", "runs", WHO),
    ("who ", "ran", WHO),
    ("those ", "who", WHO),
    ("besi", "des", "in addition to, also"),
    ("at ", "once", "immediately, together or in parallel"),
    ("goes ", "on", "continues, lasts"),
    ("went ", "on", "continued"),
    ("going ", "on", "continuing"),
    ("all the ", "same", "in any case, or nothing"),
    ("is no ", "terminal", "is not a terminal"),
];

/// Phrases that are not in comments of the documentation either.
const WORST: [Phrase; 14] = [
    ("hold ", "against", COMPARE),
    ("holds ", "against", COMPARE),
    ("held ", "against", COMPARE),
    ("holding ", "against", COMPARE),
    ("hang ", "on", DEPENDS),
    ("hangs ", "on", DEPENDS),
    ("hung ", "on", DEPENDS),
    ("hanging ", "on", DEPENDS),
    ("as without ", "it", DEFAULT),
    ("without ", "this", DEFAULT),
    ("of one's ", "own", "new, separate, or the user's"),
    ("of your ", "own", "new, separate, or your"),
    ("point of ", "percent", "percentage point"),
    ("points of ", "percent", "percentage points"),
];

const SAY: &str = "print, report, record, say, notify or set";
const WHO: &str = "the vcpu, process or guest that";
const COMPARE: &str = "compare with";
const DEPENDS: &str = "depends on";
const DEFAULT: &str = "[default: ...] or \"by default\"";

/// What a phrase may be a part of: a verdict, and names of records.
const KEPT: [(&str, &str); 2] = [("cannot te", "ll"), ("goes ", "on:")];

/// A word with its punctuation, and its line from 1.
type Word = (String, usize);

fn check(tree: &Tree, findings: &mut Findings) {
    for (path, text) in tree.of_kind(".md") {
        if path.starts_with("docs/") || ["README.md", "CONTRIBUTING.md"].contains(&path) {
            report(path, &of_page(text), true, findings);
        }
    }
    for (path, source) in tree.rust("crates/") {
        // Parts with a mistake each, for tests alone.
        if path.starts_with("crates/domio-broken/") {
            continue;
        }
        let literals = source.code().filter(|t| t.kind == Kind::Literal);
        for literal in literals.filter(|t| t.text.starts_with(['"', 'r'])) {
            let words = of_literal(&literal.text, literal.line);
            report(path, &words, true, findings);
        }
        let is_help = path.starts_with("crates/domio/src/args");
        let text = tree.text(path).unwrap_or_default();
        report(path, &of_comments(text), is_help, findings);
    }
}

/// Words of a page outside of code.
fn of_page(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let (mut fenced, mut quoted) = (false, false);
    for (i, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            quoted &= !line.trim().is_empty();
            append(line, i + 1, &mut quoted, &mut words);
        }
    }
    words
}

/// Words of the comments of the documentation (`///` and `//!`).
fn of_comments(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut quoted = false;
    for (i, line) in text.lines().enumerate() {
        let line = line.trim_start();
        match line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"))
        {
            Some(comment) => append(comment, i + 1, &mut quoted, &mut words),
            None => quoted = false,
        }
    }
    words
}

/// Words of a string literal that begins in `line`. One without a space is a name.
fn of_literal(literal: &str, line: usize) -> Vec<Word> {
    let mut words = Vec::new();
    if !literal.contains(' ') {
        return words;
    }
    let mut quoted = false;
    for (i, text) in literal.lines().enumerate() {
        let text = text.strip_suffix('\\').unwrap_or(text).replace("\\n", " ");
        append(&text, line + i, &mut quoted, &mut words);
    }
    words
}

/// Appends the words of `line`. What is in backquotes (`quoted`: since a line before) or in braces
/// counts as one word that is in no phrase.
fn append(line: &str, number: usize, quoted: &mut bool, words: &mut Vec<Word>) {
    let mut plain = String::with_capacity(line.len());
    let mut depth = 0_usize;
    for c in line.chars() {
        match c {
            '`' => {
                *quoted = !*quoted;
                plain.push_str(" ` ");
            }
            _ if *quoted => {}
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                plain.push_str(" ` ");
            }
            _ if depth > 0 => {}
            _ => plain.extend(c.to_lowercase()),
        }
    }
    words.extend(
        plain
            .split_whitespace()
            .map(|word| (word.to_owned(), number)),
    );
}

/// Reports each place in `words` that begins one of the worst phrases, or with `all` any phrase.
fn report(path: &str, words: &[Word], all: bool, findings: &mut Findings) {
    let others = PHRASES.iter().filter(|_| all);
    for (a, b, better) in WORST.iter().chain(others) {
        let phrase = format!("{a}{b}");
        let parts: Vec<&str> = phrase.split(' ').collect();
        for (i, place) in words.windows(parts.len()).enumerate() {
            if begins(place, &parts) && !is_kept(&words[i.saturating_sub(1)..], i > 0) {
                let message = format!("\"{phrase}\" is hard to read here; write: {better}");
                findings.fail(path, place[0].1, message);
            }
        }
    }
}

/// Whether `words` are `parts`, with punctuation at most around them.
fn begins(words: &[Word], parts: &[&str]) -> bool {
    let last = parts.len() - 1;
    words
        .iter()
        .zip(parts)
        .enumerate()
        .all(|(i, ((word, _), part))| {
            let around = |c: char| !c.is_alphanumeric() && c != '_';
            let word = match i {
                0 => word.trim_start_matches(around),
                _ => word,
            };
            let word = if i == last {
                word.trim_end_matches(around)
            } else {
                word
            };
            word == *part
        })
}

/// Whether a kept phrase begins at the first of `words`, or at the second where there is `one`
/// before.
fn is_kept(words: &[Word], one: bool) -> bool {
    KEPT.iter().any(|(a, b)| {
        let kept = format!("{a}{b}");
        let parts: Vec<&str> = kept.split(' ').collect();
        let starts = if one { 0..=1 } else { 0..=0 };
        starts.into_iter().any(|start| {
            let place = words.get(start..start + parts.len());
            place.is_some_and(|place| {
                let mut pairs = place.iter().zip(&parts);
                pairs.all(|((word, _), part)| {
                    let around =
                        |c: char| !c.is_alphanumeric() && (c != ':' || !part.ends_with(':'));
                    word.trim_matches(around) == *part
                })
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::{PHRASES, WORST};

    const CRATE: &str = "crates/domio-lab/src/part.rs";

    fn in_crate(code: &str) -> Vec<String> {
        found(&[(CRATE, &format!("//! A part.\n{code}\n"))])
    }

    #[test]
    fn each_phrase_is_caught_on_a_page() {
        for (a, b, _) in PHRASES.into_iter().chain(WORST) {
            let text = format!("# A page\n\nIt is\n(**{a}{b}**) here.\n");
            let caught = found(&[("docs/PAGE.md", &text)]);
            assert_eq!(caught, ["prose docs/PAGE.md:4"], "{a}{b}");
        }
    }

    #[test]
    fn a_phrase_that_lines_break_is_caught() {
        let text = concat!("# A page\n\nThe verdict han", "gs\non the seed.\n");
        assert_eq!(found(&[("docs/PAGE.md", text)]), ["prose docs/PAGE.md:3"]);
    }

    #[test]
    fn code_of_a_page_and_parts_of_words_pass() {
        let text = concat!(
            "# A page\n\nThe key `to",
            "ld` and a fore",
            "telling, and goes; on.\n\n```text\nwho ",
            "runs\n```\n\nThe verdict *cannot te",
            "ll*.\n"
        );
        assert_eq!(found(&[("docs/PAGE.md", text)]), [""; 0]);
    }

    #[test]
    fn messages_and_help_are_read() {
        let line = ["prose crates/domio-lab/src/part.rs:2"];
        assert_eq!(
            in_crate(concat!("pub const A: &str = \"nothing te", "lls.\";")),
            line
        );
        let broken = concat!("pub const A: &str = \"a run go", "es \\\n    on {b}\";");
        assert_eq!(in_crate(broken), line);
        let comment = concat!("/// It han", "gs on a key.\npub const A: u8 = 1;");
        assert_eq!(in_crate(comment), line);
        let help = concat!(
            "//! Flags.\n/// All with",
            "out this\npub struct A;\n/// To",
            "ld.\npub struct B;\n"
        );
        let at = |line| format!("prose crates/domio/src/args/a.rs:{line}");
        assert_eq!(
            found(&[("crates/domio/src/args/a.rs", help)]),
            [at(2), at(4)]
        );
    }

    #[test]
    fn names_placeholders_and_tests_pass() {
        for code in [
            concat!("pub const A: &str = \"to", "ld\";"),
            concat!(
                "pub fn a(to",
                "ld: u8) -> String { format!(\"a b {to",
                "ld}\") }"
            ),
            concat!("/// It te", "lls.\npub const A: u8 = 1;"),
            concat!("pub const A: &str = \"goes ", "on: rate limit\";"),
            concat!(
                "#[cfg(test)]\nmod tests { const A: &str = \"it te",
                "lls\"; }"
            ),
        ] {
            assert_eq!(in_crate(code), [""; 0], "{code}");
        }
    }
}
