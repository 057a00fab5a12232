//! The program: static, so that it needs no library of the machine that it runs on.
//!
//! The C library is linked in. What it would load at run time (names of hosts and users, character
//! sets) domio does not ask for; [`empty`](super::empty) runs the program where nothing could be
//! loaded.

use super::files::{Release, names};
use super::source::HOST;
use super::stage::Stage;
use super::{flags, licences, pack};
use crate::places::cargo;
use crate::steps::{Done, succeeds};
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The shells that there are completions for.
pub const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Where the program is, once [`build`] has made it.
pub fn program(release: &Release) -> PathBuf {
    release.work.join("domio")
}

/// Builds the program.
pub fn build(release: &Release) -> Result<Done> {
    if release.source.host() != HOST {
        let why = format!("programs are built on {HOST} alone");
        return Ok(Done::LeftOut(why));
    }
    let mut command = Command::new(cargo());
    command.args(["build", "--locked", "--profile", "dist"]);
    command.args(["--package", "domio", "--target", HOST]);
    command.args(["--features", "record-static"]);
    command.env("LIBBPF_SYS_LIBRARY_PATH", folder_of_libelf()?);
    flags::set(release, &mut command, &["-C", "target-feature=+crt-static"])?;
    if !succeeds(&release.root, &mut command)? {
        return Ok(Done::Checked(false));
    }
    let built = release.root.join("target").join(HOST).join("dist/domio");
    let program = program(release);
    // Names of functions are of no use to a user, and a third of the program.
    let mut strip = Command::new("strip");
    strip.arg("--strip-all").arg("-o").arg(&program).arg(&built);
    if !succeeds(&release.root, &mut strip)? {
        return Ok(Done::Checked(false));
    }
    flags::names_no_folder_of_this_machine(release, &program)?;
    if asks_for_a_loader(&program)? {
        return Ok(Done::Told(false, "the program is not static".to_owned()));
    }
    let bytes = std::fs::metadata(&program).context("there is no program")?;
    Ok(Done::Told(true, format!("{} KiB", bytes.len() / 1024)))
}

/// The folder of `libelf.a`, which is where `libz.a` is as well: the build of libbpf asks for it.
fn folder_of_libelf() -> Result<PathBuf> {
    let output = Command::new("cc").arg("-print-file-name=libelf.a").output();
    let output = output.context("cannot start cc")?;
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    match path.parent().filter(|folder| folder.is_absolute()) {
        Some(folder) => Ok(folder.to_owned()),
        None => bail!(
            "there is no libelf.a, with which `domio record` is linked; libelf-dev and zlib1g-dev \
             have what is needed"
        ),
    }
}

/// Whether the system would load libraries for the program.
fn asks_for_a_loader(program: &Path) -> Result<bool> {
    let mut readelf = Command::new("readelf");
    readelf.args(["--wide", "--program-headers", "--dynamic"]);
    let output = readelf.arg(program).env("LC_ALL", "C").output();
    let output = output.context("cannot start readelf")?;
    if !output.status.success() {
        bail!("readelf cannot read {}", program.display());
    }
    Ok(names_a_loader(&String::from_utf8_lossy(&output.stdout)))
}

fn names_a_loader(headers: &str) -> bool {
    ["INTERP", "(NEEDED)"]
        .iter()
        .any(|word| headers.contains(word))
}

/// Packs the archive.
pub fn pack(release: &Release) -> Result<Done> {
    let program = program(release);
    if !program.is_file() {
        return Ok(Done::LeftOut("there is no program".to_owned()));
    }
    let stage = Stage::new(release.work.join("archive"))?;
    stage.program("domio", &program)?;
    for name in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        stage.copy(name, &release.root.join(name))?;
    }
    stage.write(
        "LICENSES-LIBRARIES",
        licences::text(release, &licences::DOMIO)?,
    )?;
    for shell in SHELLS {
        let name = format!("completions/domio.{shell}");
        stage.write(&name, completions(release, shell)?)?;
    }
    for (name, page) in manual(release)? {
        stage.write(&format!("man/man1/{name}"), page)?;
    }
    let to = release.archive();
    pack::tar_gz(release, &stage, &release.archive_folder(), &to)?;
    Ok(Done::Checked(true))
}

/// What the program prints for completions of `shell`.
///
/// # Errors
/// The program cannot be started, or fails.
pub fn completions(release: &Release, shell: &str) -> Result<Vec<u8>> {
    let mut domio = Command::new(program(release));
    let output = domio.args(["completions", shell]).output();
    let output = output.context("cannot start the program")?;
    if !output.status.success() {
        bail!("domio completions {shell}: {}", output.status);
    }
    Ok(output.stdout)
}

/// The manual pages that the program writes, by name.
///
/// # Errors
/// The program cannot be started, or fails.
pub fn manual(release: &Release) -> Result<Vec<(String, Vec<u8>)>> {
    let folder = release.work.join("manual");
    super::stage::anew(&folder)?;
    let mut domio = Command::new(program(release));
    domio.args(["man", "--output-dir"]).arg(&folder);
    if !succeeds(&release.root, &mut domio)? {
        bail!("domio man fails");
    }
    let page = |name: String| {
        let page = super::stage::read(&folder.join(&name))?;
        Ok((name, page))
    };
    names(&folder)?.into_iter().map(page).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_loads_libraries_is_no_static_one() {
        let loads = "  INTERP 0x0318 0x0318 0x0318\n [Requesting program interpreter: /lib64/ld]";
        assert!(names_a_loader(loads));
        assert!(names_a_loader(
            " 0x01 (NEEDED) Shared library: [libc.so.6]\n"
        ));
        assert!(!names_a_loader("  LOAD 0x00\n  DYNAMIC 0x10\n  TLS 0x20\n"));
    }
}
