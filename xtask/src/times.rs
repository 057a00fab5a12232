//! `cargo xtask times`: records how long the experiments of the papers take.
//!
//! `domio reproduce` estimates its time from `papers/*/times.toml`: milliseconds of one core, of
//! one replication at quick effort. Only times that have moved by more than a tenth are written
//! anew, so that a quiet machine's noise is no change.

use crate::cli::{build, domio};
use crate::places::release_folder;
use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

/// Part of a recorded time by which a time has to differ to be written anew.
const MOVED: f64 = 0.1;

const HEAD: &str = "\
# Milliseconds of one core that a replication of each experiment takes at quick effort, from which
# `domio reproduce` estimates its time. `cargo xtask times` measures them anew.
";

/// What `domio results list --json` prints.
#[derive(Deserialize)]
struct Kept {
    results: Vec<KeptExperiment>,
}

#[derive(Deserialize)]
struct KeptExperiment {
    name: String,
    replications: u32,
    took_s: f64,
}

/// Runs the task at `root`.
///
/// # Errors
/// `domio` could not be run, or a file cannot be written.
pub fn run(root: &Path) -> Result<bool> {
    build(root)?;
    let store = release_folder(root).join("times.sqlite");
    match fs::remove_file(&store) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let store = store.display().to_string();
    let report = release_folder(root).join("times.html");
    let report = report.display().to_string();
    let decide = [
        "reproduce",
        "--all",
        "--effort",
        "quick",
        "--json",
        "--force",
    ];
    printed(
        root,
        &[&decide[..], &["--results", &store, "--report", &report]].concat(),
    )?;
    let kept = printed(root, &["results", "list", "--json", "--results", &store])?;
    let kept: Kept = serde_json::from_slice(&kept).context("what domio kept")?;
    let measured = kept
        .results
        .into_iter()
        .filter(|kept| kept.replications > 0);
    let measured: BTreeMap<String, f64> = measured
        .map(|kept| (kept.name, kept.took_s * 1e3 / f64::from(kept.replications)))
        .collect();
    for entry in fs::read_dir(root.join("papers"))? {
        let folder = entry?.path();
        if folder.is_dir() {
            write(&folder, &measured)?;
        }
    }
    Ok(true)
}

/// What the command line prints when it succeeds.
fn printed(root: &Path, args: &[&str]) -> Result<Vec<u8>> {
    let output = domio(root, args)?;
    ensure!(
        output.status.success(),
        "domio {} failed: {}",
        args[0],
        output.status
    );
    Ok(output.stdout)
}

/// Writes the times of the paper in `folder`.
fn write(folder: &Path, measured: &BTreeMap<String, f64>) -> Result<()> {
    #[derive(Deserialize)]
    struct Paper {
        id: String,
    }
    let paper = fs::read_to_string(folder.join("paper.toml"))?;
    let paper: Paper = toml::from_str(&paper).context("paper.toml")?;
    let file = folder.join("times.toml");
    let known = fs::read_to_string(&file).unwrap_or_default();
    let known: BTreeMap<String, f64> = toml::from_str(&known).context("times.toml")?;
    fs::write(&file, listed(&format!("{}.", paper.id), measured, &known))
        .with_context(|| format!("cannot write {}", file.display()))
}

/// The file of the experiments whose names begin with `prefix`.
fn listed(prefix: &str, measured: &BTreeMap<String, f64>, known: &BTreeMap<String, f64>) -> String {
    let mut text = HEAD.to_owned();
    for (name, ms) in measured.iter().filter(|(name, _)| name.starts_with(prefix)) {
        let same = |was: &&f64| (ms / **was - 1.0).abs() <= MOVED;
        let ms = known.get(name).filter(same).unwrap_or(ms);
        let _ = writeln!(text, "\"{name}\" = {ms:.1}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_no_change() {
        let of = |list: &[(&str, f64)]| -> BTreeMap<String, f64> {
            list.iter()
                .map(|(name, ms)| ((*name).to_owned(), *ms))
                .collect()
        };
        let measured = of(&[
            ("a.x", 105.0),
            ("a.y", 130.0),
            ("a.new", 2.04),
            ("b.x", 1.0),
        ]);
        let known = of(&[("a.x", 100.0), ("a.y", 100.0), ("a.gone", 7.0)]);
        let text = listed("a.", &measured, &known);
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            lines,
            ["\"a.new\" = 2.0", "\"a.x\" = 100.0", "\"a.y\" = 130.0"]
        );
    }
}
