//! A small clean project on disk, in which tests plant violations.

use super::{Tree, check};

/// A project that breaks no rule.
const CLEAN: &[(&str, &str)] = &[
    (
        "Cargo.toml",
        "[workspace]\nmembers = [\"crates/*\"]\n\n[workspace.dependencies]\nserde = \"1\"\n",
    ),
    (
        "crates/domio-core/Cargo.toml",
        "[package]\nname = \"domio-core\"\n\n[dependencies]\n\n[lints]\nworkspace = true\n",
    ),
    (
        "crates/domio-core/src/lib.rs",
        "//! Shared words.\n#![no_std]\n",
    ),
    (
        "crates/domio-sched/Cargo.toml",
        "[package]\nname = \"domio-sched\"\n\n[dependencies]\ndomio-core.workspace = true\n\n\
         [lints]\nworkspace = true\n",
    ),
    (
        "crates/domio-sched/src/lib.rs",
        "//! Policies.\n#![no_std]\npub mod lottery;\n",
    ),
    (
        "crates/domio-sched/src/lottery.rs",
        "//! A lottery.\nuse domio_contract::Descriptor;\n\
         pub static DESCRIPTOR: Descriptor = Descriptor {\n    name: \"lottery\",\n};\n",
    ),
    (
        "crates/domio-sim/Cargo.toml",
        "[package]\nname = \"domio-sim\"\n\n[dependencies]\ndomio-core.workspace = true\n\n\
         [lints]\nworkspace = true\n",
    ),
    (
        "crates/domio-sim/src/lib.rs",
        "//! The engine. It knows no vcpu.\n#![no_std]\n",
    ),
    (
        "crates/domio-scenario/Cargo.toml",
        "[package]\nname = \"domio-scenario\"\n\n[dependencies]\nserde.workspace = true\n\n\
         [lints]\nworkspace = true\n",
    ),
    (
        "docs/DEPENDENCIES.md",
        "# Dependencies\n\n- `serde`: reads scenarios.\n",
    ),
    (
        "docs/policies/lottery.md",
        "# Lottery\n\nSee [the engine](../../crates/domio-sim/src/lib.rs).\n",
    ),
    ("README.md", "# A project\n\nIts code is in `crates/`.\n"),
];

/// What the rules find in the clean project after these files were added or replaced, as
/// `rule path:line`; warnings end in `(warning)`.
pub fn found(planted: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in CLEAN.iter().chain(planted) {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let findings = check(&Tree::read(folder.path()).unwrap());
    let places = findings.iter().map(|f| {
        let end = if f.fatal { "" } else { " (warning)" };
        format!("{} {}:{}{end}", f.rule, f.path, f.line)
    });
    places.collect()
}
