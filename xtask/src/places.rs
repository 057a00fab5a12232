//! Where things are: the project, cargo, and what cargo builds.

use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};

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
