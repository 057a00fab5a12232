//! A recording to convert, cut and damage.

use crate::common::domio;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A recording that comes with the project.
pub fn recording() -> PathBuf {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/xen-traces");
    recordings.join("c1-burn7").join("trace.bin")
}

/// The recording in domio's own format, in which every block has a check sum; it is `t.domio` in
/// `folder`.
pub fn own_trace(folder: &TempDir) -> Vec<u8> {
    domio(folder)
        .args(["trace", "convert"])
        .arg(recording())
        .args(["--to", "own", "--output", "t.domio"])
        .assert()
        .success();
    fs::read(folder.path().join("t.domio")).unwrap()
}
