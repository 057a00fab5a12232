//! `cargo xtask bench`: builds and runs `domio-bench`, which holds the measurements.
//!
//! They live in a program of their own because they have to be compiled for speed, and this one is
//! not.

use crate::places::cargo;
use anyhow::{Context as _, Result, bail};
use std::path::Path;
use std::process::Command;

/// Runs the benchmarks with the given arguments; `false` when one stays below its minimum.
///
/// # Errors
/// The program could not be built or run, or did not understand its arguments.
pub fn run(root: &Path, args: &[String]) -> Result<bool> {
    let status = Command::new(cargo())
        .args([
            "run",
            "--quiet",
            "--profile",
            "dist",
            "--package",
            "domio-bench",
            "--",
        ])
        .args(args)
        .current_dir(root)
        .status()
        .context("cannot start cargo")?;
    match status.code() {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        _ => bail!("domio-bench could not run: {status}"),
    }
}
