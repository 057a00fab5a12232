//! The program of the archive in a root folder that holds the program and `/tmp`, and nothing else:
//! no library, no configuration, no `/proc`, no `/dev`, no network.

use super::files::Release;
use super::pack::unpack;
use super::stage;
use crate::steps::Done;
use anyhow::{Context as _, Result};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What is run there, one after the other.
const COMMANDS: [&str; 3] = ["--version", "demo", SIMULATE];

/// The one whose output is compared with that of the same program outside.
const SIMULATE: &str = "run small-host --no-results";

/// What `demo` leaves behind.
const PICTURES: &str = "tmp/out/demo.html";

/// Ways to change the root folder. The first needs no rights and cuts the network off.
const WAYS: [&[&str]; 2] = [
    &["unshare", "--user", "--map-root-user", "--net", "--root"],
    &["chroot"],
];

/// Runs the program there.
pub fn try_program(release: &Release) -> Result<Done> {
    if !release.archive().is_file() {
        return Ok(Done::LeftOut("there is no archive".to_owned()));
    }
    let (folder, empty) = (release.work.join("unpacked"), release.work.join("empty"));
    stage::anew(&folder)?;
    if !unpack(&release.archive(), &folder)? {
        return Ok(Done::Checked(false));
    }
    stage::anew(&empty)?;
    stage::anew(&empty.join("tmp"))?;
    let program = folder.join("domio");
    std::fs::copy(&program, empty.join("domio")).context("cannot copy the program")?;
    let Some(way) = WAYS.into_iter().find(|way| works(way, &empty)) else {
        let why = "neither unshare nor chroot changes the root folder here";
        return Ok(Done::LeftOut(why.to_owned()));
    };
    for line in COMMANDS {
        let inside = inside(way, &empty, line)?;
        show(line, &inside);
        if !inside.status.success() {
            return Ok(Done::Told(
                false,
                format!("domio {line}: {}", inside.status),
            ));
        }
        if line == SIMULATE {
            let outside = Command::new(&program).args(line.split(' ')).output();
            let outside = outside.context("cannot start the program")?;
            if outside.stdout != inside.stdout {
                return Ok(Done::Told(false, format!("domio {line}: other figures")));
            }
        }
    }
    let pictures = empty.join(PICTURES).is_file();
    Ok(Done::Told(
        pictures,
        format!("by {}, {} commands", way[0], COMMANDS.len()),
    ))
}

/// Runs domio with the words of `line` in the folder `root` as root folder.
fn inside(way: &[&str], root: &Path, line: &str) -> Result<Output> {
    let mut command = Command::new(way[0]);
    command.args(&way[1..]).arg(root);
    match way[0] {
        "unshare" => command.args(["--wd", "/tmp", "/domio"]),
        _ => command.arg("/domio"),
    };
    command
        .args(line.split(' '))
        .env_clear()
        // For `unshare` and `chroot`; no folder of it is there for the program.
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", way[0]))
}

/// Whether this machine lets us change the root folder so.
fn works(way: &[&str], root: &Path) -> bool {
    inside(way, root, "-V").is_ok_and(|output| output.status.success())
}

/// Shows the first lines of what was printed.
fn show(line: &str, output: &Output) {
    println!("$ domio {line}");
    let text = String::from_utf8_lossy(&output.stdout);
    for line in text.lines().take(6) {
        println!("  {line}");
    }
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
}
