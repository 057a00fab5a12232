//! Which crate may depend on which. One direction, as in the picture of `docs/ARCHITECTURE.md`;
//! in particular the meter sees traces and nothing else.

use super::manifest::Manifest;
use super::tree::Tree;
use super::{Findings, Rule};

pub const RULE: Rule = Rule {
    name: "arrows",
    demand: "each crate depends on those below it in the table; core, sched, control and run on no \
             library or few",
    check,
};

/// For each crate the crates of the project that it may depend on.
const ARROWS: &[(&str, &[&str])] = &[
    ("domio-core", &[]),
    ("domio-answer", &["domio-core"]),
    ("domio-suite", &["domio-core"]),
    ("domio-contract", &["domio-core"]),
    (
        "domio-sched",
        &["domio-core", "domio-contract", "domio-suite"],
    ),
    (
        "domio-control",
        &["domio-core", "domio-contract", "domio-suite"],
    ),
    (
        "domio-broken",
        &["domio-core", "domio-contract", "domio-sched"],
    ),
    ("domio-sim", &["domio-core"]),
    ("domio-vmm", &["domio-core", "domio-contract", "domio-sim"]),
    ("domio-net", &["domio-core", "domio-sim", "domio-vmm"]),
    (
        "domio-blk",
        &["domio-core", "domio-suite", "domio-sim", "domio-vmm"],
    ),
    ("domio-trace", &["domio-core"]),
    (
        "domio-meter",
        &["domio-answer", "domio-core", "domio-trace"],
    ),
    ("domio-monitor", &["domio-core", "domio-meter"]),
    (
        "domio-scenario",
        &[
            "domio-core",
            "domio-contract",
            "domio-control",
            "domio-sim",
            "domio-vmm",
            "domio-net",
            "domio-blk",
        ],
    ),
    (
        "domio-run",
        &[
            "domio-answer",
            "domio-core",
            "domio-contract",
            "domio-sched",
            "domio-sim",
            "domio-vmm",
            "domio-net",
            "domio-trace",
            "domio-meter",
            "domio-scenario",
        ],
    ),
    (
        "domio-replay",
        &[
            "domio-core",
            "domio-contract",
            "domio-vmm",
            "domio-blk",
            "domio-trace",
            "domio-scenario",
        ],
    ),
    (
        "domio-twin",
        &[
            "domio-core",
            "domio-contract",
            "domio-sched",
            "domio-sim",
            "domio-vmm",
            "domio-trace",
            "domio-meter",
            "domio-scenario",
            "domio-run",
            "domio-replay",
        ],
    ),
    (
        "domio-exact",
        &[
            "domio-core",
            "domio-sched",
            "domio-sim",
            "domio-vmm",
            "domio-replay",
            "domio-twin",
        ],
    ),
    (
        "domio-stats",
        &[
            "domio-answer",
            "domio-core",
            "domio-blk",
            "domio-meter",
            "domio-run",
        ],
    ),
    (
        "domio-lab",
        &["domio-trace", "domio-scenario", "domio-run", "domio-stats"],
    ),
    (
        "domio-papers",
        &[
            "domio-answer",
            "domio-core",
            "domio-sched",
            "domio-sim",
            "domio-net",
            "domio-meter",
            "domio-scenario",
            "domio-run",
            "domio-stats",
        ],
    ),
    (
        "domio-report",
        &[
            "domio-answer",
            "domio-core",
            "domio-trace",
            "domio-meter",
            "domio-scenario",
            "domio-run",
            "domio-stats",
            "domio-papers",
        ],
    ),
    (
        "domio-advise",
        &[
            "domio-answer",
            "domio-core",
            "domio-contract",
            "domio-sched",
            "domio-vmm",
            "domio-net",
            "domio-scenario",
            "domio-run",
            "domio-stats",
            "domio-report",
        ],
    ),
    (
        "domio-sweep",
        &["domio-answer", "domio-core", "domio-sim", "domio-run"],
    ),
    (
        "domio-front",
        &[
            "domio-answer",
            "domio-core",
            "domio-contract",
            "domio-sched",
            "domio-vmm",
            "domio-trace",
            "domio-meter",
            "domio-scenario",
            "domio-replay",
            "domio-twin",
            "domio-run",
            "domio-stats",
            "domio-exact",
            "domio-lab",
            "domio-papers",
            "domio-report",
            "domio-sweep",
        ],
    ),
    (
        "domio",
        &[
            "domio-answer",
            "domio-core",
            "domio-contract",
            "domio-sched",
            "domio-control",
            "domio-sim",
            "domio-vmm",
            "domio-net",
            "domio-blk",
            "domio-trace",
            "domio-meter",
            "domio-scenario",
            "domio-replay",
            "domio-twin",
            "domio-run",
            "domio-stats",
            "domio-exact",
            "domio-lab",
            "domio-papers",
            "domio-advise",
            "domio-report",
            "domio-monitor",
            "domio-sweep",
            "domio-front",
        ],
    ),
    (
        "domio-bench",
        &[
            "domio-core",
            "domio-contract",
            "domio-sched",
            "domio-sim",
            "domio-vmm",
            "domio-blk",
            "domio-trace",
            "domio-meter",
            "domio-net",
            "domio-scenario",
            "domio-run",
            "domio-papers",
        ],
    ),
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

/// Tests may depend on any crate, so dev-dependencies are free.
fn check(tree: &Tree, findings: &mut Findings) {
    for manifest in Manifest::all(tree).filter(|m| m.path.starts_with("crates/")) {
        let Some(name) = manifest.name() else {
            continue;
        };
        let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| *from == name) else {
            let message = format!("`{name}` is in no table; add it to xtask/src/tidy/arrows.rs");
            findings.fail(manifest.path, 1, message);
            continue;
        };
        for dependency in manifest.dependencies().iter().filter(|d| !d.dev) {
            let fits = if dependency.own {
                allowed.contains(&dependency.name.as_str())
            } else {
                let held = HELD.iter().find(|(held, _)| *held == name);
                held.is_none_or(|(_, may)| may.contains(&dependency.name.as_str()))
            };
            if !fits {
                let message = format!(
                    "`{name}` must not depend on `{}`; move what it needs to a crate below both, \
                     or to one above both",
                    dependency.name
                );
                findings.fail(manifest.path, manifest.line(&dependency.name), message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::ARROWS;

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

    /// What draws figures can be had without what keeps them: in a page, or from another language.
    #[test]
    fn reports_need_no_store_of_results() {
        let mut below = vec!["domio-report"];
        for i in 0.. {
            let Some(name) = below.get(i) else { break };
            let (_, to) = ARROWS.iter().find(|(from, _)| from == name).unwrap();
            below.extend(*to);
        }
        assert!(below.contains(&"domio-run") && !below.contains(&"domio-lab"));
    }

    #[test]
    fn the_table_itself_points_one_way() {
        for (i, (from, to)) in ARROWS.iter().enumerate() {
            for crate_below in *to {
                let place = ARROWS.iter().position(|(name, _)| name == crate_below);
                assert!(place.is_some_and(|p| p < i), "{from} -> {crate_below}");
            }
        }
    }
}
