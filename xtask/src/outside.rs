//! Parts out of the tree: a crate from each template of `domio new` is built against this checkout,
//! passes its tests, and its program simulates, explains and lists the part.

use crate::cli::build;
use crate::places::{cargo, release_folder};
use crate::steps::{Done, succeeds};
use anyhow::{Context as _, Result};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Kinds of parts, each with commands of a program that has one called `mine`.
const KINDS: [(&str, &[&str]); 5] = [
    (
        "policy",
        &[
            "policy check mine --scripts 5",
            "run scenario.toml --no-results",
            "compare scenario.toml --policy mine --policy credit --replications 3",
            "sweep scenario.toml --set scheduler.tslice_ms=5,30 --output rows.csv",
        ],
    ),
    ("controller", &["controller show mine"]),
    (
        "elevator",
        &[
            "elevator show mine",
            "run scenario.toml --set disk.sda.elevator=cfq",
        ],
    ),
    (
        "workload",
        &["run scenario.toml --set domain.worker.work_us=500"],
    ),
    (
        "device",
        &["compare scenario.toml --policy credit --policy null"],
    ),
];

/// What every program does. The first command and the third print the name of the part.
const ALL: [&str; 3] = [
    "scenario schema",
    "scenario check scenario.toml",
    "explain scenario.toml",
];

/// Builds and tries all of them.
///
/// # Errors
/// A command could not be started, or a folder not be written.
pub fn run(root: &Path) -> Result<Done> {
    build(root)?;
    let domio = release_folder(root).join("domio");
    let folder = root.join("target/outside");
    for (kind, own) in KINDS {
        let part = folder.join(kind);
        if part.exists() {
            fs::remove_dir_all(&part).context("cannot empty target/outside")?;
        }
        let mut new = Command::new(&domio);
        new.args(["new", kind, "mine", "--domio"]).arg(root);
        new.arg("--path").arg(&part);
        let mut done = succeeds(root, &mut new)?;
        // The libraries are built once for all of them.
        let tool = |args: &[&str]| {
            let mut command = Command::new(cargo());
            command
                .args(args)
                .env("CARGO_TARGET_DIR", folder.join("target"));
            command
        };
        done = done && succeeds(&part, &mut tool(&["test", "--offline"]))?;
        done = done && succeeds(&part, &mut tool(&["build", "--offline"]))?;
        let program = folder.join("target/debug/mine");
        for line in own.iter().chain(&ALL) {
            done = done && succeeds(&part, Command::new(&program).args(line.split(' ')))?;
        }
        let schema = Command::new(&program).args(["scenario", "schema"]).output();
        let schema = schema.context("cannot start the program")?.stdout;
        done = done && String::from_utf8_lossy(&schema).contains("mine");
        if !done {
            return Ok(Done::Told(
                false,
                format!("the {kind} out of the tree fails"),
            ));
        }
    }
    Ok(Done::Told(true, format!("{} kinds of parts", KINDS.len())))
}
