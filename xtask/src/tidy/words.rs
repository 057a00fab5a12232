//! The project speaks of itself alone: not of the machine that it was written on, nor of who wrote
//! it, nor of where libraries are kept.

use super::rule::{Findings, Rule};
use super::tree::Tree;

pub const RULE: Rule = Rule {
    name: "words",
    demand: "no path of one machine, no talk of how the text came about, no package host",
    check,
};

/// What no file says, in two parts so that this one does not say it either.
const WORDS: [(&str, &str); 8] = [
    ("sub", "agent"),
    ("this ", "session"),
    ("language ", "model"),
    ("/tmp/", "bash_jobs"),
    ("crates", ".io"),
    ("://docs", ".rs"),
    ("py", "pi.org"),
    ("npm", "js.com"),
];

/// Folders at the root of one machine. `../work/` and `crates/x/root/` are none.
const FOLDERS: [(&str, &str); 3] = [("/wo", "rk/"), ("/ro", "ot/"), ("/ho", "me/")];

fn check(tree: &Tree, findings: &mut Findings) {
    let words: Vec<String> = WORDS.iter().map(|(a, b)| format!("{a}{b}")).collect();
    let folders: Vec<String> = FOLDERS.iter().map(|(a, b)| format!("{a}{b}")).collect();
    // The lock file names the package host in each entry, and is written by cargo.
    for (path, file) in tree
        .files()
        .filter(|(path, _)| !path.ends_with("Cargo.lock"))
    {
        for (i, line) in file.text.lines().enumerate() {
            let lower = line.to_lowercase();
            let word = words.iter().find(|word| lower.contains(word.as_str()));
            let folder = folders.iter().find(|folder| starts_path(&lower, folder));
            if let Some(said) = word.or(folder) {
                let message = format!("\"{said}\" has no place in the project; leave it out");
                findings.fail(path, i + 1, message);
            }
        }
    }
}

/// Whether a path in `line` starts with `folder`.
fn starts_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-~".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;

    #[test]
    fn words_of_the_workshop_are_caught() {
        for text in [
            concat!("A sub", "agent wrote it."),
            concat!("In This ", "session we"),
            concat!("`/wo", "rk/main`"),
            concat!("file:///ro", "ot/x"),
            concat!("https://crates", ".io/crates/x"),
        ] {
            let places = found(&[("docs/PAGE.txt", &format!("First.\n{text}\n"))]);
            assert_eq!(places, ["words docs/PAGE.txt:2"], "{text}");
        }
    }

    #[test]
    fn relative_paths_pass() {
        let text = concat!("net/wo", "rk/x ../wo", "rk/ and a working session\n");
        assert_eq!(found(&[("docs/PAGE.txt", text)]), [""; 0]);
    }
}
