//! How compilers are called so that what they make names no folder and no time.

use super::files::Release;
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Between the flags in `CARGO_ENCODED_RUSTFLAGS`, which may have spaces in them.
const BETWEEN: &str = "\x1f";

/// Has `command`, which calls cargo, build with the flags of a release and `more` of them.
///
/// # Errors
/// There is no home folder to find cargo's in.
pub fn set(release: &Release, command: &mut Command, more: &[&str]) -> Result<()> {
    let renamed = renamed(&release.root, &cargo_home()?);
    let flags = more.iter().map(|flag| (*flag).to_owned());
    let rust: Vec<String> = flags
        .chain(
            renamed
                .iter()
                .map(|pair| format!("--remap-path-prefix={pair}")),
        )
        .collect();
    let c = renamed.map(|pair| format!("-ffile-prefix-map={pair}"));
    command
        .env("CARGO_ENCODED_RUSTFLAGS", rust.join(BETWEEN))
        .env("CFLAGS", c.join(" "))
        .env("CARGO_INCREMENTAL", "0")
        .env("SOURCE_DATE_EPOCH", release.source.epoch.to_string())
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("RUSTC_WORKSPACE_WRAPPER");
    Ok(())
}

/// What paths of this machine are called in programs: "FROM=TO".
fn renamed(root: &Path, cargo: &Path) -> [String; 2] {
    let pair = |from: &Path, to: &str| format!("{}={to}", from.display());
    [pair(root, "/domio"), pair(cargo, "/cargo")]
}

/// Cargo's folder, which has the sources of libraries.
fn cargo_home() -> Result<PathBuf> {
    if let Some(home) = std::env::var_os("CARGO_HOME") {
        return Ok(home.into());
    }
    let home = std::env::home_dir().context("neither CARGO_HOME nor HOME is set")?;
    Ok(home.join(".cargo"))
}

/// Fails where the file at `path` names a folder of this machine.
///
/// # Errors
/// The file does so, or cannot be read.
pub fn names_no_folder_of_this_machine(release: &Release, path: &Path) -> Result<()> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    for folder in [release.root.clone(), cargo_home()?] {
        if holds(&bytes, folder.as_os_str().as_encoded_bytes()) {
            bail!(
                "{} has {} in it, so that another folder makes another file",
                path.display(),
                folder.display()
            );
        }
    }
    Ok(())
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_get_names_of_their_own() {
        let pairs = renamed(Path::new("/a b/domio"), Path::new("/a b/.cargo"));
        assert_eq!(pairs, ["/a b/domio=/domio", "/a b/.cargo=/cargo"]);
    }

    #[test]
    fn a_path_within_a_program_is_found() {
        assert!(holds(b"..../ada/domio/src/lib.rs", b"/ada/domio"));
        assert!(!holds(b"..../domio/src/lib.rs", b"/ada/domio"));
    }
}
