//! The compiler of a gate: lints and tests in one compilation, and tests without optimisation.
//!
//! `cargo clippy` reads every package once more without making code of it: the dependencies too,
//! and each library twice. Clippy's compiler makes code as well as the plain one does, so that one
//! compilation is enough.
//!
//! Optimising is three quarters of what compiling costs. Libraries are worth the time: simulations
//! run in them. A test calls each of its own functions once, so that it is not. Cargo has no
//! profile for the one and not for the other; a compiler in front of the compiler can distinguish
//! them. This program is that compiler, too, when it is called by the name [`NAME`].
//!
//! Cargo keeps what this compiler makes of the workspace apart from what the plain one makes of
//! the workspace; dependencies are shared.

use crate::places::{cargo, release_folder};
use anyhow::{Context as _, Result, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What this program is called when it compiles.
const NAME: &str = "xtask-compiler";

/// Between the arguments in `CLIPPY_ARGS`, as `cargo clippy` puts them together.
const BETWEEN: &str = "__CLIPPY_HACKERY__";

/// Packages and names of tests that work by code of their own for longer than compiling takes: slow
/// twins, engines that are put together for a test, and readers of many records. They are optimised
/// as little as helps: level 1 compiles in three quarters of the time of level 3, and what it makes
/// runs as fast.
const SIMULATE: [(&str, &str); 4] = [
    ("domio-control", "all"),
    ("domio-net", "all"),
    ("domio-scenario", "all"),
    ("domio-sched", "all"),
];

/// Has `command`, which is cargo, compile the workspace at `root` with this compiler. What clippy
/// or the compiler warns of is an error.
///
/// # Errors
/// The toolchain has no clippy, or this program cannot be copied.
pub fn compile_with_clippy(root: &Path, command: &mut Command) -> Result<()> {
    let wrapper = copy_of_this_program(root)?;
    driver()?;
    compile_with(&wrapper, command);
    Ok(())
}

/// The path of a copy of this program with the compiler's name. A program that compiles does not
/// lie where cargo puts the next version of itself.
fn copy_of_this_program(root: &Path) -> Result<PathBuf> {
    let name = format!("{NAME}{}", std::env::consts::EXE_SUFFIX);
    let copy = release_folder(root).join(name);
    let own = std::env::current_exe().context("this program has no path")?;
    let bytes = std::fs::read(&own).with_context(|| format!("cannot read {}", own.display()))?;
    // A copy that is at work cannot be written to.
    if std::fs::read(&copy).is_ok_and(|there| there == bytes) {
        return Ok(copy);
    }
    let part = copy.with_extension("part");
    std::fs::copy(&own, &part)
        .and_then(|_| std::fs::rename(&part, &copy))
        .with_context(|| format!("cannot copy {} to {}", own.display(), copy.display()))?;
    Ok(copy)
}

fn compile_with(wrapper: &Path, command: &mut Command) {
    let arguments: String = ["-D", "warnings"].map(|a| format!("{a}{BETWEEN}")).concat();
    command
        .env("RUSTC_WORKSPACE_WRAPPER", wrapper)
        .env("CLIPPY_ARGS", arguments);
}

/// Whether this program was called to compile.
pub fn is_called() -> bool {
    let name = std::env::args_os().next().map(PathBuf::from);
    name.is_some_and(|name| name.file_stem().is_some_and(|stem| stem == NAME))
}

/// Compiles as cargo asks for: the first argument is the plain compiler, the others are for the
/// compiler.
///
/// # Errors
/// The toolchain has no clippy, or it does not start.
pub fn compile() -> Result<ExitCode> {
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    let arguments = std::env::args_os().skip(1).collect();
    let driver = driver()?;
    let status = Command::new(&driver)
        .args(quickly(&package, arguments))
        .status()
        .with_context(|| format!("cannot start {}", driver.display()))?;
    // A compiler that a signal ended has no code.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(101)))
}

/// The compiler's `arguments`, with little optimisation or none where they ask for a test of
/// `package`.
fn quickly(package: &str, mut arguments: Vec<OsString>) -> Vec<OsString> {
    let place = |word: &str| arguments.iter().position(|argument| argument == word);
    let name = place("--crate-name").and_then(|at| arguments.get(at + 1)?.to_str());
    let simulates = name.is_some_and(|name| SIMULATE.contains(&(package, name)));
    if place("--test").is_none() {
        return arguments;
    }
    let level = if simulates {
        "opt-level=1"
    } else {
        "opt-level=0"
    };
    for argument in &mut arguments {
        let text = argument.to_str().unwrap_or_default();
        if text.starts_with("opt-level=") {
            *argument = level.into();
        }
    }
    arguments
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
        compile_with(&driver().expect("there is clippy"), &mut command);
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

    /// What `quickly` makes of a command line with this name, with `more` behind it.
    fn level(package: &str, name: &str, more: &str) -> String {
        let line = format!("rustc --crate-name {name} -C opt-level=3 -C codegen-units=16 {more}");
        let arguments = line.split_whitespace().map(OsString::from).collect();
        let after = quickly(package, arguments);
        let words: Vec<&str> = after.iter().map(|a| a.to_str().unwrap()).collect();
        words.join(" ")
    }

    #[test]
    fn only_tests_are_hardly_optimised() {
        let test = level("domio-meter", "domio_meter", "--test");
        assert!(
            test.contains("-C opt-level=0 -C codegen-units=16"),
            "{test}"
        );
        let library = level("domio-meter", "domio_meter", "--crate-type lib");
        assert!(library.contains("opt-level=3"), "{library}");
        let twin = level("domio-sched", "all", "--test");
        assert!(twin.contains("opt-level=1"), "{twin}");
        let other = level("domio-validate", "all", "--test");
        assert!(other.contains("opt-level=0"), "{other}");
    }

    /// A row for a test that is gone would say nothing.
    #[test]
    fn what_simulates_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for (package, name) in SIMULATE {
            let folder = root.join("crates").join(package);
            let of = |path: String| folder.join(path).is_file();
            let is_library = package.replace('-', "_") == name && of("src/lib.rs".to_owned());
            let is_test = of(format!("tests/{name}.rs")) || of(format!("tests/{name}/main.rs"));
            assert!(is_library || is_test, "{package} {name}");
        }
    }
}
