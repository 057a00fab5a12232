//! The compiler of wheel and page: names of symbols do not depend on the project's folder.
//!
//! Cargo gives each crate a number, `-C metadata`, from which the compiler makes names of symbols
//! and of types, and orders what it writes. The number of a crate outside of the workspace comes
//! from the crate's folder. Wheel and page are workspaces of their own, beside the crates that
//! they use. This program stands before the compiler, and numbers the project's crates by what the
//! compiler is asked for instead.

use super::files::Release;
use anyhow::{Context as _, Result, bail};
use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What this program is called when it compiles.
const NAME: &str = "xtask-release-compiler";

/// The variable with the root of the project.
const ROOT: &str = "XTASK_RELEASE_ROOT";

/// How the argument with the number begins, and how that with the end of names of files does.
const NUMBER: &str = "metadata=";
const FILES: &str = "extra-filename=";

/// Has `command`, which calls cargo, compile with this compiler.
///
/// # Errors
/// This program cannot be copied.
pub fn set(release: &Release, command: &mut Command) -> Result<()> {
    let copy = release.work.join(NAME);
    let own = std::env::current_exe().context("this program has no path")?;
    std::fs::copy(&own, &copy).with_context(|| format!("cannot write {}", copy.display()))?;
    command.env("RUSTC_WRAPPER", copy).env(ROOT, &release.root);
    Ok(())
}

/// Whether this program was called to compile.
pub fn is_called() -> bool {
    let name = std::env::args_os().next().map(PathBuf::from);
    name.is_some_and(|name| name.file_name() == Some(OsStr::new(NAME)))
}

/// Compiles as cargo asks for: the first argument is the compiler, the others are for the compiler.
///
/// # Errors
/// The compiler is not named, or does not start.
pub fn compile() -> Result<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let Some(compiler) = arguments.next() else {
        bail!("{NAME} is called by cargo, with a compiler");
    };
    let arguments: Vec<OsString> = arguments.collect();
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let root = std::env::var_os(ROOT);
    let ours = root.is_some_and(|root| Path::new(&folder).starts_with(root));
    let mut command = Command::new(compiler);
    match ours {
        true => command.args(renumbered(arguments)),
        false => command.args(arguments),
    };
    let status = command.status().context("cannot start the compiler")?;
    // A compiler that a signal ended has no code.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(101)))
}

/// The `arguments` with a number that comes from them alone. Paths have no part in it, nor what
/// cargo makes of them.
fn renumbered(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let mut hasher = DefaultHasher::new();
    for argument in &arguments {
        let text = argument.to_string_lossy();
        if !text.contains('/') && !text.starts_with(NUMBER) && !text.starts_with(FILES) {
            text.hash(&mut hasher);
        }
    }
    let number = hasher.finish();
    for argument in &mut arguments {
        if argument.to_string_lossy().starts_with(NUMBER) {
            *argument = format!("{NUMBER}{number:016x}").into();
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the compiler is called with for `name` in `folder`, where cargo has `number`.
    fn arguments(name: &str, folder: &str, number: &str) -> Vec<OsString> {
        [
            "--crate-name",
            name,
            &format!("{folder}/src/lib.rs"),
            "-C",
            &format!("metadata={number}"),
            "-C",
            &format!("extra-filename=-{number}"),
            &format!("--remap-path-prefix={folder}=/domio"),
        ]
        .map(OsString::from)
        .to_vec()
    }

    #[test]
    fn the_number_does_not_depend_on_the_folder() {
        let number = |arguments: Vec<OsString>| renumbered(arguments)[4].clone();
        let here = number(arguments("core", "/here", "12ab"));
        assert_eq!(here, number(arguments("core", "/there", "34cd")));
        assert_ne!(here, number(arguments("sim", "/here", "12ab")));
    }

    #[test]
    fn all_else_stays() {
        let before = arguments("core", "/here", "12ab");
        let mut after = renumbered(before.clone());
        assert_ne!(before[4], after[4]);
        after[4] = before[4].clone();
        assert_eq!(before, after);
    }
}
