//! `cargo xtask bench`: builds and runs `domio-bench`, which holds the measurements.
//!
//! They live in a program of their own because they have to be compiled for speed, and this one is
//! not. Both they and the program `domio`, which some of them run, are built with the profile that
//! users get, `release`: a command that is slow there is slow here.

use crate::places::cargo;
use anyhow::{Context as _, Result, bail};
use std::path::Path;
use std::process::Command;

/// Runs the benchmarks with the given arguments; `false` when one stays below its minimum.
///
/// # Errors
/// The program could not be built or run, or did not understand its arguments.
pub fn run(root: &Path, args: &[String]) -> Result<bool> {
    let cargo = |line: &str, args: &[String]| {
        Command::new(cargo())
            .args(line.split_whitespace())
            .args(args)
            .current_dir(root)
            .status()
            .context("cannot start cargo")
    };
    let built = cargo("build --quiet --release --package domio", &[])?;
    if !built.success() {
        bail!("domio could not be built: {built}");
    }
    let status = cargo("run --quiet --release --package domio-bench --", args)?;
    match status.code() {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        _ => bail!("domio-bench could not run: {status}"),
    }
}
