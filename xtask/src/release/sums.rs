//! The two files about the others: how they were built, and their checksums.

use super::files::{Release, names};
use super::source::output;
use crate::places::cargo;
use crate::steps::Done;
use anyhow::{Context as _, Result};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// How the files were built, and the checksums.
pub const FILES: [&str; 2] = [BUILD, SUMS];
const BUILD: &str = "BUILD.txt";
const SUMS: &str = "SHA256SUMS";

/// What had a part in a file, with a command that prints its version in the first line.
const TOOLS: [(&str, &[&str]); 7] = [
    ("C compiler", &["cc", "--version"]),
    ("C library", &["getconf", "GNU_LIBC_VERSION"]),
    ("linker", &["ld", "--version"]),
    ("tar", &["tar", "--version"]),
    ("gzip", &["gzip", "--version"]),
    ("dpkg-deb", &["dpkg-deb", "--version"]),
    ("maturin", &["target/python-venv/bin/maturin", "--version"]),
];

/// Writes both.
pub fn write(release: &Release) -> Result<Done> {
    let built = names(&release.files)?;
    if built.is_empty() {
        return Ok(Done::LeftOut("there is no file".to_owned()));
    }
    put(
        &release.files.join(BUILD),
        build(release, &built)?.as_bytes(),
    )?;
    let mut sum = Command::new("sha256sum");
    let sum = sum
        .args(names(&release.files)?)
        .current_dir(&release.files)
        .output();
    let sum = sum.context("cannot start sha256sum")?;
    if !sum.status.success() {
        return Ok(Done::Checked(false));
    }
    put(&release.files.join(SUMS), &sum.stdout)?;
    Ok(Done::Told(true, format!("{} files", built.len() + 1)))
}

fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// What the files called `built` were built from, and with.
fn build(release: &Release, built: &[String]) -> Result<String> {
    let source = &release.source;
    let mut text = format!("domio {}\n\ncommit: {}\n", source.version, source.commit);
    let date = source.date(&["--iso-8601=seconds"])?;
    writeln!(text, "time: {date}, of the commit and of each file")?;
    let changed = match source.changed {
        true => "yes: the files cannot be built again from the commit",
        false => "none",
    };
    writeln!(text, "changes that are not committed: {changed}")?;
    writeln!(text, "\ncompiler:\n{}", indented(&source.rustc))?;
    let version = |words: &[&str]| {
        output(&release.root, words[0], &words[1..])
            .ok()
            .and_then(|text| text.lines().next().map(str::to_owned))
            .unwrap_or_else(|| "none".to_owned())
    };
    let cargo = cargo();
    writeln!(
        text,
        "  {}",
        version(&[&cargo.to_string_lossy(), "--version"])
    )?;
    writeln!(text, "\ntools:")?;
    for (name, words) in TOOLS {
        writeln!(text, "  {name}: {}", version(words))?;
    }
    writeln!(text, "\nfiles:")?;
    for name in built {
        writeln!(text, "  {name}: {}", how(name))?;
    }
    Ok(text)
}

/// How the file of this name was built.
fn how(name: &str) -> &'static str {
    match name {
        name if name.ends_with(".whl") => "maturin, profile dist",
        name if name.starts_with("domio-page") => "cargo xtask page, profile release of web",
        _ => "profile dist, -C target-feature=+crt-static",
    }
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksums_are_those_of_all_files_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let release = Release::example(folder.path());
        assert!(matches!(write(&release).unwrap(), Done::LeftOut(_)));
        fs::write(folder.path().join("domio-1.2.3.tar.gz"), "abc").unwrap();
        assert_eq!(write(&release).unwrap(), Done::Told(true, "2 files".into()));
        let sums = fs::read_to_string(folder.path().join(SUMS)).unwrap();
        let lines: Vec<&str> = sums.lines().collect();
        assert!(lines[0].ends_with("  BUILD.txt"));
        assert_eq!(
            lines[1],
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  domio-1.2.3.tar.gz"
        );
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn the_build_names_commit_time_compiler_and_files() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["domio-page-1.2.3.tar.gz".to_owned()];
        let text = build(&Release::example(folder.path()), &names).unwrap();
        for line in [
            "commit: c0ffee",
            "time: 2001-09-09T01:46:40+00:00, of the commit and of each file",
            "changes that are not committed: none",
            "  rustc 1.95.0",
            "  maturin: none",
            "  domio-page-1.2.3.tar.gz: cargo xtask page, profile release of web",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
    }
}
