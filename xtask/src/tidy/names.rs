//! One word for one thing: no two public types of the libraries have one name.
//!
//! A reader who meets `Ledger` in two crates has to find out each time which one is meant. Types
//! of programs (`domio`, `xtask`, `domio-bench`) cannot be imported, so their names are their own.

use super::rule::{Findings, Rule};
use super::source::Token;
use super::tree::Tree;
use std::collections::BTreeMap;

pub const RULE: Rule = Rule {
    name: "names",
    demand: "no two public types of one name in the libraries",
    check,
};

/// Folders of programs.
const PROGRAMS: [&str; 3] = ["crates/domio/", "crates/domio-bench/", "xtask/"];

/// Types of one name on purpose, by the folders that hold them: the same part of two things that
/// are built alike.
const ALIKE: [(&[&str], &[&str]); 4] = [
    // The contracts of policies and controllers are distinguished by the module of the latter.
    (&["crates/domio-contract/src/"], &["Descriptor", "Promises"]),
    // So are those that are broken on purpose.
    (
        &["crates/domio-broken/src/"],
        &["Broken", "Bug", "DependsOnInstance"],
    ),
    // Their suites are distinguished by their crates.
    (
        &["crates/domio-sched/src/", "crates/domio-control/src/"],
        &["CheckerInfo", "Finding", "Make", "Report", "Rng", "Run"],
    ),
    // Each policy has a module of its own with the same table of contents.
    (
        &["crates/domio-sched/src/"],
        &["Invalid", "Params", "Rules"],
    ),
];

fn check(tree: &Tree, findings: &mut Findings) {
    let mut types: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    for (path, source) in tree.rust("crates/") {
        let program = PROGRAMS.iter().any(|folder| path.starts_with(folder));
        if program || !path.contains("/src/") {
            continue;
        }
        for name in public_types(&source.tokens) {
            types.entry(&name.text).or_default().push((path, name.line));
        }
    }
    for (name, places) in types {
        let (first, others) = places.split_first().expect("a type has a place");
        if alike(name, &places) {
            continue;
        }
        for (path, line) in others {
            let message = format!(
                "`{name}` is a type of {} too; give one of them a name of its own",
                first.0
            );
            findings.fail(path, *line, message);
        }
    }
}

/// Names of the types that `tokens` declare `pub` outside tests.
fn public_types(tokens: &[Token]) -> impl Iterator<Item = &Token> {
    let declares = |t: &Token| {
        ["struct", "enum", "trait", "union"]
            .iter()
            .any(|k| t.is_ident(k))
    };
    let windows = tokens.windows(3);
    windows
        .filter(move |w| w[0].is_ident("pub") && declares(&w[1]) && !w[0].test)
        .map(|w| &w[2])
}

/// Whether all `places` of the type `name` may share the name.
fn alike(name: &str, places: &[(&str, usize)]) -> bool {
    ALIKE.iter().any(|(folders, names)| {
        let in_folders = |path: &str| folders.iter().any(|folder| path.starts_with(folder));
        names.contains(&name) && places.iter().all(|(path, _)| in_folders(path))
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;

    #[test]
    fn a_second_type_of_one_name_is_caught() {
        let two = |first: &str, second: &str| {
            found(&[
                ("crates/domio-sched/src/lottery.rs", first),
                ("crates/domio-sim/src/run.rs", second),
            ])
            .into_iter()
            .filter(|finding| finding.starts_with("names"))
            .collect::<Vec<_>>()
        };
        let caught = ["names crates/domio-sim/src/run.rs:2"];
        let (one, other) = ("//! A.\npub struct Draw;\n", "//! B.\npub enum Draw {}\n");
        assert_eq!(two(one, other), caught);
        assert_eq!(two(one, "//! B.\nenum Draw {}\n"), [""; 0]);
        assert_eq!(two(one, "//! B.\npub enum Drawn {}\n"), [""; 0]);
        let tests = "//! B.\n#[cfg(test)]\nmod tests {\n    pub enum Draw {}\n}\n";
        assert_eq!(two(one, tests), [""; 0]);
    }

    #[test]
    fn names_of_programs_are_their_own_and_contracts_are_alike() {
        let names = |planted: &[(&str, &str)]| {
            let found = found(planted);
            found.into_iter().filter(|f| f.starts_with("names")).count()
        };
        let text = "//! A.\npub struct Report;\n";
        let (sched, control) = (
            "crates/domio-sched/src/suite.rs",
            "crates/domio-control/src/suite.rs",
        );
        let (sim, program) = ("crates/domio-sim/src/a.rs", "crates/domio/src/a.rs");
        assert_eq!(names(&[(sched, text), (program, text)]), 0);
        assert_eq!(names(&[(sched, text), (control, text)]), 0);
        assert_eq!(names(&[(sched, text), (control, text), (sim, text)]), 2);
    }
}
