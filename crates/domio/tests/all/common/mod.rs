//! What tests of the command line have in common.

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// The program, in an empty folder and without the environment that changes its output.
pub fn domio(folder: &TempDir) -> Command {
    let mut command = Command::cargo_bin("domio").expect("the program is built");
    command.current_dir(folder.path());
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM"] {
        command.env_remove(variable);
    }
    command
}

pub fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

pub fn json(output: &[u8]) -> Value {
    serde_json::from_slice(output).expect("standard output is one JSON value")
}

pub fn json_of(folder: &TempDir, args: &[&str]) -> Value {
    let assert = domio(folder).args(args).assert().success();
    json(&assert.get_output().stdout)
}
