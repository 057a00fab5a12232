//! Where things are: the project, cargo, what cargo builds, and what it builds with.

use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository that this program was built from.
pub fn root() -> Result<PathBuf> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let root = manifest.parent().unwrap_or(Path::new(".")).canonicalize();
    root.with_context(|| format!("no repository around {}", manifest.display()))
}

/// The cargo that runs this program, or the one on `PATH`.
pub fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Where the release build is.
pub fn release_folder(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    root.join(target.map_or_else(|| PathBuf::from("target"), PathBuf::from))
        .join("release")
}

/// Why nothing can be compiled for `target` here, if that is so.
///
/// # Errors
/// There is no compiler.
pub fn without_libraries(target: &str) -> Result<Option<String>> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let found = Command::new(rustc)
        .args(["--print", "target-libdir", "--target", target])
        .output();
    let found = found.context("cannot start rustc")?;
    let libraries = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    let missing = !Path::new(&libraries).is_dir();
    Ok(missing
        .then(|| format!("no libraries for {target}; `rustup target add {target}` gets them")))
}
