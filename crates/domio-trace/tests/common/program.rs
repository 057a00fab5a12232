//! Xen's own `xenalyze`, for tests of more than one crate.

use std::io::Write as _;
use std::path::PathBuf;

/// Where `xenalyze` is. If it is nowhere, says that `what` is left out, past the test runner, which
/// shows what a test prints only when it fails.
pub fn xenalyze_or_say(what: &str) -> Option<PathBuf> {
    let found = xenalyze();
    if found.is_none() {
        let place = "neither on the PATH nor in /usr/lib/xen-*/bin";
        let told = writeln!(std::io::stderr(), "left out: {what}; xenalyze is {place}");
        told.expect("the standard error is open");
    }
    found
}

fn xenalyze() -> Option<PathBuf> {
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
