//! The command line as cargo builds it, and scripts that use it.

use crate::places::release_folder;
use crate::steps::{Done, cargo_command, succeeds};
use anyhow::{Context as _, Result, bail};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// How scripts end where a tool or a package cannot be had.
const CANNOT: i32 = 77;

/// How a script ends that is run at `root`. One that cannot do its work here says why in its last
/// line.
///
/// # Errors
/// It cannot be started.
pub fn end_of_script(root: &Path, command: &mut Command) -> Result<Done> {
    let child = command
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
    let ended = child
        .wait_with_output()
        .context("cannot wait for the script")?;
    let said = String::from_utf8_lossy(&ended.stderr);
    eprint!("{said}");
    match ended.status.code() {
        Some(CANNOT) => {
            let reason = said.lines().last().unwrap_or("no reason was given");
            Ok(Done::LeftOut(reason.to_owned()))
        }
        code => Ok(Done::Checked(code == Some(0))),
    }
}

/// Runs the command line that [`build`] made; what it says on standard error is shown.
///
/// # Errors
/// It cannot be started.
pub fn domio(root: &Path, args: &[&str]) -> Result<Output> {
    let program = release_folder(root).join("domio");
    Command::new(&program)
        .args(args)
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {}", program.display()))
}

/// Builds the command line.
pub fn build(root: &Path) -> Result<()> {
    let args = ["build", "--release", "--package", "domio"].map(str::to_owned);
    if !succeeds(root, &mut cargo_command(&args))? {
        bail!("the command line does not build");
    }
    Ok(())
}
