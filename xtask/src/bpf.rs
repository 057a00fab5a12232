//! Makes the program that `domio record` loads into the kernel, which is checked in so that nobody
//! needs clang to build domio.

use crate::steps::succeeds;
use anyhow::{Context as _, Result};
use std::path::Path;
use std::process::Command;

/// Where source and program are, from the root.
const FOLDER: &str = "crates/domio-record/bpf";

/// The source.
const SOURCE: &str = "record.bpf.c";

/// The program, and what made it.
const PROGRAM: &str = "record.bpf.o";
const MADE_BY: &str = "record.bpf.o.txt";

/// Makes the program anew. Another version of clang makes another one that does the same.
pub fn run(root: &Path) -> Result<bool> {
    let folder = root.join(FOLDER);
    let mut clang = Command::new("clang");
    clang.args([
        "-g", "-O2", "-target", "bpf", "-mcpu=v3", "-Wall", "-Werror",
    ]);
    // The description of types names the source: by a path that is the same everywhere.
    clang.args([
        "-fdebug-compilation-dir=/domio",
        "-c",
        SOURCE,
        "-o",
        PROGRAM,
    ]);
    if !succeeds(&folder, &mut clang)? {
        return Ok(false);
    }
    let mut strip = Command::new("llvm-strip");
    strip.args(["-g", PROGRAM]);
    if !succeeds(&folder, &mut strip)? {
        return Ok(false);
    }
    let version = Command::new("clang").arg("--version").output();
    let version = version.context("cannot start clang")?.stdout;
    let version = String::from_utf8_lossy(&version);
    let first = version.lines().next().unwrap_or_default();
    let path = folder.join(MADE_BY);
    std::fs::write(&path, format!("{first}\n"))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(true)
}
