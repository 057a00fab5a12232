//! Which crate may depend on which: downwards, as in the picture of `docs/ARCHITECTURE.md`. In
//! particular the meter sees traces and nothing else.

use super::manifest::Manifest;
use super::rule::{Findings, Rule};
use super::tree::Tree;

pub const RULE: Rule = Rule {
    name: "arrows",
    demand: "each crate depends on crates of lower floors; core, sched, control and run on no \
             library or few",
    check,
};

/// The crates of the project by floor, the lowest first. Crates of one floor do not know each
/// other.
const FLOORS: &[&[&str]] = &[
    &["domio-core", "domio-program"],
    // Linux traces as they are; what they mean for a host is for others.
    &["domio-linux"],
    &[
        "domio-answer",
        "domio-contract",
        "domio-suite",
        "domio-sim",
        "domio-trace",
    ],
    &["domio-vmm", "domio-control", "domio-meter", "domio-record"],
    &["domio-net", "domio-blk", "domio-monitor"],
    // Above all that simulates, so that a change of a policy compiles none of that again.
    &["domio-sched", "domio-scenario"],
    &["domio-run", "domio-replay", "domio-broken"],
    &["domio-stats", "domio-validate", "domio-sweep"],
    &["domio-lab", "domio-papers", "domio-exact"],
    &["domio-report"],
    &["domio-advise"],
    &["domio-front"],
    &["domio", "domio-bench", "domio-schemas"],
];

/// Crates that use these crates of the project alone, of those below them.
const NARROW: [(&str, &[&str]); 4] = [
    (
        "domio-sched",
        &["domio-core", "domio-contract", "domio-suite"],
    ),
    (
        "domio-control",
        &["domio-core", "domio-contract", "domio-suite"],
    ),
    (
        "domio-meter",
        &["domio-answer", "domio-core", "domio-trace"],
    ),
    (
        "domio-monitor",
        &["domio-answer", "domio-core", "domio-meter"],
    ),
];

/// Crates that do not know each other though they are on different floors: what draws figures can
/// be had without what keeps them, and advice without papers.
const APART: [(&str, &str); 3] = [
    ("domio-report", "domio-lab"),
    ("domio-advise", "domio-lab"),
    ("domio-advise", "domio-papers"),
];

/// Crates that may use these libraries alone outside their tests. What core, policies and
/// controllers hold has to fit into a hypervisor; one simulation has to run in a page of a browser,
/// where there is no file, thread or database.
const HELD: [(&str, &[&str]); 6] = [
    ("domio-core", &[]),
    ("domio-contract", &[]),
    ("domio-suite", &[]),
    ("domio-sched", &[]),
    ("domio-control", &[]),
    ("domio-run", &["serde", "thiserror"]),
];

/// The floor of a crate.
fn floor(name: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&name))
}

/// Whether a crate may depend on another one of the project.
fn is_allowed(from: &str, to: &str) -> bool {
    let narrow = NARROW.iter().find(|(name, _)| *name == from);
    floor(to).is_some()
        && floor(to) < floor(from)
        && narrow.is_none_or(|(_, alone)| alone.contains(&to))
        && !APART.contains(&(from, to))
}

/// Tests may depend on any crate, so dev-dependencies are free.
fn check(tree: &Tree, findings: &mut Findings) {
    for manifest in Manifest::all(tree).filter(|m| m.path.starts_with("crates/")) {
        let Some(name) = manifest.name() else {
            continue;
        };
        if floor(name).is_none() {
            let message = format!("`{name}` is on no floor; add it to xtask/src/tidy/arrows.rs");
            findings.fail(manifest.path, 1, message);
            continue;
        }
        let held = HELD.iter().find(|(held, _)| *held == name);
        for dependency in manifest.dependencies().iter().filter(|d| !d.dev) {
            let to = dependency.name.as_str();
            let fits = match dependency.own {
                true => is_allowed(name, to),
                false => held.is_none_or(|(_, may)| may.contains(&to)),
            };
            if !fits {
                let message = format!(
                    "`{name}` must not depend on `{to}`; move what it needs to a crate below both, \
                     or to one above both"
                );
                findings.fail(manifest.path, manifest.line(to), message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;

    /// What is found with a crate called `name` that has these dependencies, apart from libraries
    /// without a reason.
    fn found_with(name: &str, dependencies: &str) -> Vec<String> {
        let text =
            format!("[package]\nname = \"{name}\"\n[lints]\nworkspace = true\n{dependencies}\n");
        let manifest = format!("crates/{name}/Cargo.toml");
        let root = format!("crates/{name}/src/lib.rs");
        let mut found = found(&[(&manifest, &text), (&root, "//! A crate.\n#![no_std]\n")]);
        found.retain(|place| !place.starts_with("dependencies "));
        found
    }

    #[test]
    fn an_arrow_that_points_up_or_aside_is_caught() {
        for (name, dependency) in [
            ("domio-meter", "domio-sim.workspace = true"),
            ("domio-sim", "domio-vmm = { path = \"../domio-vmm\" }"),
            ("domio-sched", "serde = \"1\""),
            ("domio-control", "serde = \"1\""),
            ("domio-control", "domio-sched.workspace = true"),
            ("domio-sched", "domio-control.workspace = true"),
            ("domio-advise", "domio-papers.workspace = true"),
            ("domio-lab", "domio-papers.workspace = true"),
        ] {
            let places = found_with(name, &format!("[dependencies]\n{dependency}"));
            assert_eq!(
                places,
                [format!("arrows crates/{name}/Cargo.toml:6")],
                "{dependency}"
            );
        }
        assert_eq!(
            found_with("domio-new", ""),
            ["arrows crates/domio-new/Cargo.toml:1"]
        );
    }

    #[test]
    fn a_run_uses_its_own_libraries_alone() {
        let of = |library| found_with("domio-run", &format!("[dependencies]\n{library}"));
        assert_eq!(of("serde = \"1\""), [""; 0]);
        assert_eq!(
            of("rayon = \"1\""),
            ["arrows crates/domio-run/Cargo.toml:6"]
        );
    }

    #[test]
    fn tests_may_depend_on_anything() {
        let dependencies = "[dev-dependencies]\ndomio-vmm.workspace = true\nserde = \"1\"";
        assert_eq!(found_with("domio-sched", dependencies), [""; 0]);
    }
}
