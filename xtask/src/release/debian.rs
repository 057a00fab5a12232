//! A Debian with the least packages that it runs with, Python, and no compiler. The Debian package
//! and the wheel are installed and used there, without a network.

use super::files::Release;
use crate::steps::{Done, succeeds};
use anyhow::{Context as _, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The oldest Debian whose Python is new enough for the wheel.
const SUITE: &str = "bookworm";

/// What is done with the package, by `sh`.
const PACKAGE: &str = include_str!("debian/package.sh");

/// What is done with the wheel, by `sh`.
const WHEEL: &str = include_str!("debian/wheel.sh");

/// Installs the package, runs the program, and removes the package.
pub fn try_package(release: &Release) -> Result<Done> {
    try_file(release, &release.package(), PACKAGE)
}

/// Installs the wheel into an environment of its own, and simulates.
pub fn try_wheel(release: &Release) -> Result<Done> {
    match release.wheel() {
        Ok(wheel) => try_file(release, &wheel, WHEEL),
        Err(_) => Ok(Done::LeftOut("there is no wheel".to_owned())),
    }
}

/// Removes the Debian. Nothing is mounted in it: the trials mount for themselves alone.
///
/// # Errors
/// Files cannot be removed.
pub fn remove(release: &Release) -> Result<()> {
    let folder = folder(release);
    if folder.exists() {
        fs::remove_dir_all(&folder).context("cannot remove the Debian of the trials")?;
    }
    Ok(())
}

/// Runs `script` in a Debian that has `file` in `/tmp`.
fn try_file(release: &Release, file: &Path, script: &str) -> Result<Done> {
    let name = file.file_name().context("the file has no name")?;
    if !file.is_file() {
        return Ok(Done::LeftOut(format!("there is no {}", name.display())));
    }
    if let Err(why) = make(release) {
        return Ok(Done::LeftOut(format!("no Debian to try it in: {why:#}")));
    }
    let folder = folder(release);
    let to = folder.join("tmp").join(name);
    fs::copy(file, &to).with_context(|| format!("cannot write {}", to.display()))?;
    fs::write(folder.join("tmp/try.sh"), script).context("cannot write into the Debian")?;
    // A namespace of its own: mounts and processes end with the trial.
    let mut inside = Command::new("unshare");
    inside
        .args(["--mount", "--pid", "--fork", "--kill-child", "--net"])
        .arg("--root")
        .arg(&folder)
        .args(["--mount-proc", "--wd", "/tmp", "sh", "-eu", "try.sh"])
        .arg(Path::new("/tmp").join(name))
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", "/root")
        .env("LC_ALL", "C.UTF-8");
    succeeds(&release.root, &mut inside).map(Done::Checked)
}

fn folder(release: &Release) -> PathBuf {
    release.work.join("debian")
}

/// Makes the Debian, unless it is there.
fn make(release: &Release) -> Result<()> {
    let folder = folder(release);
    if folder.is_dir() {
        return Ok(());
    }
    let user = super::source::output(&release.root, "id", &["--user"])?;
    if user != "0" {
        bail!("only root can make one");
    }
    let mut mmdebstrap = Command::new("mmdebstrap");
    mmdebstrap
        .args(["--quiet", "--mode=root", "--variant=minbase"])
        .args(["--include=python3-venv", SUITE])
        .arg(&folder);
    let output = mmdebstrap.stdin(Stdio::null()).output();
    let output = output.context("there is no mmdebstrap; `apt-get install mmdebstrap` gets it")?;
    if !output.status.success() {
        remove(release)?;
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{}", said.lines().last().unwrap_or("mmdebstrap fails"));
    }
    Ok(())
}
