//! Lints in the same compilation as tests.
//!
//! `cargo clippy` reads every package once more without making code of it: the dependencies too,
//! and each library twice. Clippy's compiler makes code as well as the plain one does, so that one
//! compilation is enough. Cargo keeps what this compiler makes of the workspace apart from what
//! the plain one makes of the workspace; dependencies are shared.

use crate::cargo;
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Between the arguments in `CLIPPY_ARGS`, as `cargo clippy` puts them together.
const BETWEEN: &str = "__CLIPPY_HACKERY__";

/// Has `command`, which is cargo, compile the workspace with clippy. What clippy or the compiler
/// warns of is an error.
///
/// # Errors
/// The toolchain has no clippy.
pub fn compile_with_clippy(command: &mut Command) -> Result<()> {
    let arguments: String = ["-D", "warnings"].map(|a| format!("{a}{BETWEEN}")).concat();
    command
        .env("RUSTC_WORKSPACE_WRAPPER", driver()?)
        .env("CLIPPY_ARGS", arguments);
    Ok(())
}

/// Clippy's compiler, which is where cargo is.
fn driver() -> Result<PathBuf> {
    let name = format!("clippy-driver{}", std::env::consts::EXE_SUFFIX);
    let beside = Path::new(&cargo()).with_file_name(&name);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join(&name));
    let found = std::iter::once(beside).chain(on_path).find(|p| p.is_file());
    match found {
        Some(found) => Ok(found),
        None => bail!("there is no {name}; `rustup component add clippy` gets it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A package with one file, checked by cargo with clippy.
    fn passes(code: &str) -> (bool, String) {
        let folder = tempfile::tempdir().expect("a folder");
        let manifest = "[package]\nname = \"one\"\nedition = \"2024\"\n[workspace]\n";
        fs::create_dir(folder.path().join("src")).expect("a folder");
        fs::write(folder.path().join("Cargo.toml"), manifest).expect("a file");
        fs::write(folder.path().join("src/lib.rs"), code).expect("a file");
        let mut command = Command::new(cargo());
        compile_with_clippy(&mut command).expect("there is clippy");
        let out = command
            .args(["build", "--offline", "--target-dir", "target"])
            .current_dir(folder.path())
            .output();
        let out = out.expect("cargo starts");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        (out.status.success(), said)
    }

    /// The way to hand arguments to clippy's compiler is clippy's own affair: it may change.
    #[test]
    fn what_clippy_or_the_compiler_warns_of_is_an_error() {
        let (passed, said) = passes("//! Nothing is wrong.\n");
        assert!(passed, "{said}");
        let (passed, said) = passes("pub fn even(x: &Vec<u8>) -> bool {\n    x.len() == 0\n}\n");
        assert!(!passed && said.contains("clippy::ptr-arg"), "{said}");
        let (passed, said) = passes("pub fn one() {\n    let unused = 1;\n}\n");
        assert!(!passed && said.contains("unused"), "{said}");
    }
}
