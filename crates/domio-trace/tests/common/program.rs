//! Xen's own `xenalyze`, for tests of more than one crate.

use std::path::PathBuf;

/// Where `xenalyze` is, if it is.
pub fn xenalyze() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(entries) = std::fs::read_dir("/usr/lib") {
        folders.extend(
            entries
                .flatten()
                .filter(|e| e.file_name().to_string_lossy().starts_with("xen-"))
                .map(|e| e.path().join("bin")),
        );
    }
    folders
        .into_iter()
        .map(|f| f.join("xenalyze"))
        .find(|p| p.is_file())
}
