//! `cargo xtask release`: the files that users get, each tried where nothing else is installed.
//!
//! ```text
//! commit ─▶ static program ─┬▶ archive ────────▶ run in an empty root folder
//!                           └▶ Debian package ─▶ installed in a Debian without a compiler
//!        ─▶ Python wheel ──────────────────────▶ simulates in that Debian
//!        ─▶ page ─▶ archive ───────────────────▶ unpacked, opened in Chromium
//! all of them ─▶ BUILD.txt, SHA256SUMS
//! ```
//!
//! No file depends on when and in which folder it was built: times are the commit's ([`source`]),
//! paths are renamed ([`flags`]), crates are numbered anew ([`compiler`]), archives are packed in
//! one order ([`pack`]).

mod binary;
pub mod compiler;
mod deb;
mod debian;
mod empty;
mod files;
mod flags;
mod licences;
mod pack;
mod page;
mod source;
mod stage;
mod sums;
mod wheel;

use crate::steps::{self, Done, Step};
use anyhow::{Context as _, Result, bail};
use files::{Release, names};
use source::Source;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// What can be asked for, in the order of building.
pub const PARTS: [&str; 4] = ["binary", "deb", "wheel", "page"];

/// Where the files go unless a folder is named, from the root.
const FOLDER: &str = "target/release-files";

/// Makes and tries `parts`, or all parts where there are none. `false` when a part is not there or
/// a trial failed. A trial that this machine has no means for fails nothing.
///
/// # Errors
/// There is no such part, the folder `output` holds other files, or a step could not be started.
pub fn run(root: &Path, output: Option<&str>, parts: &[String]) -> Result<bool> {
    let (passed, missing) = make(root, output, parts)?;
    if !missing.is_empty() {
        println!("The release is incomplete: no {}.", missing.join(", no "));
    }
    Ok(passed && missing.is_empty())
}

/// The step of `cargo xtask nightly`: what cannot be built here is left out.
///
/// # Errors
/// As [`run`].
pub fn nightly(root: &Path) -> Result<Done> {
    let (passed, missing) = make(root, None, &[])?;
    if missing.len() == PARTS.len() {
        return Ok(Done::LeftOut("no part can be built here".to_owned()));
    }
    Ok(match missing.is_empty() {
        true => Done::Checked(passed),
        false => Done::Told(passed, format!("without {}", missing.join(", "))),
    })
}

/// Makes and tries `parts`. Returns whether no step failed, and the parts that are not there.
fn make(root: &Path, output: Option<&str>, parts: &[String]) -> Result<(bool, Vec<&'static str>)> {
    if let Some(part) = parts.iter().find(|part| !PARTS.contains(&part.as_str())) {
        bail!(
            "a release has no part \"{part}\"; it has {}",
            PARTS.join(", ")
        );
    }
    let files = std::env::current_dir()
        .context("there is no current folder")?
        .join(output.map_or_else(|| root.join(FOLDER), PathBuf::from));
    let release = Release {
        source: Source::read(root)?,
        root: root.to_owned(),
        work: root.join("target/release-work"),
        files,
    };
    empty_folder(&release.files)?;
    stage::anew(&release.work)?;
    if release.source.changed {
        println!("There are changes that are not committed; BUILD.txt says so.");
    }
    let release = Rc::new(release);
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|other| other == part);
    let passed = steps::run(root, steps(&release, wanted));
    debian::remove(&release)?;
    let passed = passed?;
    println!("The files are in {}", release.files.display());
    let here = |part: &&str| {
        let path = match *part {
            "binary" => Some(release.archive()),
            "deb" => Some(release.package()),
            "page" => Some(release.page()),
            _ => release.wheel().ok(),
        };
        path.is_some_and(|path| path.is_file())
    };
    let missing = PARTS
        .into_iter()
        .filter(|part| wanted(part) && !here(part))
        .collect();
    Ok((passed, missing))
}

/// The steps of the parts that are `wanted`.
fn steps(release: &Rc<Release>, wanted: impl Fn(&str) -> bool) -> Vec<Step> {
    type Work = fn(&Release) -> Result<Done>;
    let steps: [(&'static str, &'static str, &[&str], Work); 10] = [
        (
            "program",
            "one static program for any Linux of x86-64",
            &["binary", "deb"],
            binary::build,
        ),
        (
            "archive",
            "the program with licences, completions and manual pages",
            &["binary"],
            binary::pack,
        ),
        ("deb", "a Debian package", &["deb"], deb::pack),
        (
            "wheel",
            "a wheel for Python 3.11 and later",
            &["wheel"],
            wheel::build,
        ),
        ("page", "the page for browsers", &["page"], page::build),
        (
            "sums",
            "BUILD.txt says how the files were built, SHA256SUMS has their checksums",
            &PARTS,
            sums::write,
        ),
        (
            "try binary",
            "the program runs in an empty root folder",
            &["binary"],
            empty::try_program,
        ),
        (
            "try deb",
            "the package installs, runs and is removed in a Debian without a compiler",
            &["deb"],
            debian::try_package,
        ),
        (
            "try wheel",
            "the wheel installs and simulates in a Debian without a compiler",
            &["wheel"],
            debian::try_wheel,
        ),
        (
            "try page",
            "the unpacked page keeps what it promises, in Chromium",
            &["page"],
            page::try_page,
        ),
    ];
    let wanted = steps
        .into_iter()
        .filter(|(_, _, parts, _)| parts.iter().any(|part| wanted(part)));
    let step = |(name, about, _, work): (_, _, _, Work)| {
        let release = Rc::clone(release);
        Step::own(name, about, move |_| work(&release))
    };
    wanted.map(step).collect()
}

/// Makes the folder `files`, without files of an earlier release.
fn empty_folder(files: &Path) -> Result<()> {
    fs::create_dir_all(files).with_context(|| format!("cannot make {}", files.display()))?;
    let names = names(files)?;
    if let Some(name) = names.iter().find(|name| !is_ours(name)) {
        bail!(
            "{} holds {name}, which is no file of a release; choose an empty folder",
            files.display()
        );
    }
    for name in names {
        let path = files.join(name);
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(())
}

/// Whether a release has files of such a name.
fn is_ours(name: &str) -> bool {
    let ends = [".tar.gz", ".deb", ".whl"];
    let of_domio = name.starts_with("domio") && ends.iter().any(|end| name.ends_with(end));
    of_domio || sums::FILES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_not_there_is_refused() {
        let error = run(Path::new("."), None, &["rpm".to_owned()]).unwrap_err();
        let text = error.to_string();
        assert!(text.ends_with("it has binary, deb, wheel, page"), "{text}");
    }

    #[test]
    fn only_files_of_a_release_make_room() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("domio_0.1.0_amd64.deb"), "").unwrap();
        fs::write(path("SHA256SUMS"), "").unwrap();
        empty_folder(folder.path()).unwrap();
        assert_eq!(names(folder.path()).unwrap(), [""; 0]);
        fs::write(path("domio.toml"), "").unwrap();
        let error = empty_folder(folder.path()).unwrap_err().to_string();
        assert!(error.contains("holds domio.toml"), "{error}");
        assert!(path("domio.toml").exists());
    }

    #[test]
    fn a_wanted_part_has_its_steps() {
        let release = Rc::new(Release::example(Path::new("")));
        let names = |part: &str| -> Vec<&str> {
            let steps = steps(&release, |other| other == part);
            steps.iter().map(|step| step.name).collect()
        };
        assert_eq!(names("deb"), ["program", "deb", "sums", "try deb"]);
        assert_eq!(names("wheel"), ["wheel", "sums", "try wheel"]);
    }
}
