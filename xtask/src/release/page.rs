//! The page for browsers: one file that needs no server.

use super::files::Release;
use super::stage::Stage;
use super::{binary, compiler, flags, licences, pack, stage};
use crate::cli::{build as build_release, end_of_script};
use crate::places::{cargo, release_folder, without_libraries};
use crate::steps::{Done, succeeds};
use anyhow::Result;
use std::process::Command;

/// The target of the program in the page.
const TARGET: &str = "wasm32-unknown-unknown";

/// Name of the page in the archive.
const FILE: &str = "domio.html";

/// Builds and packs the page. Without Rust's libraries for WebAssembly it is left out.
pub fn build(release: &Release) -> Result<Done> {
    if let Some(why) = without_libraries(TARGET)? {
        return Ok(Done::LeftOut(why));
    }
    let stage = Stage::new(release.work.join("page"))?;
    let built = release.work.join(FILE);
    let mut command = Command::new(cargo());
    command.args([
        "run",
        "--quiet",
        "--locked",
        "--package",
        "domio-page",
        "--",
    ]);
    command.arg(&built);
    flags::set(release, &mut command, &[])?;
    compiler::set(release, &mut command)?;
    if !succeeds(&release.root.join("web"), &mut command)? {
        return Ok(Done::Checked(false));
    }
    stage.copy(FILE, &built)?;
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        stage.copy(name, &release.root.join(name))?;
    }
    stage.write(
        "LICENSES-LIBRARIES",
        licences::text(release, &licences::PAGE)?,
    )?;
    pack::tar_gz(release, &stage, &release.page_folder(), &release.page())?;
    Ok(Done::Checked(true))
}

/// Unpacks the archive and holds the page against the command line, in Chromium.
pub fn try_page(release: &Release) -> Result<Done> {
    if !release.page().is_file() {
        return Ok(Done::LeftOut("there is no page".to_owned()));
    }
    let folder = release.work.join("try-page");
    stage::anew(&folder)?;
    if !pack::unpack(&release.page(), &folder)? {
        return Ok(Done::Checked(false));
    }
    let mut domio = binary::program(release);
    if !domio.is_file() {
        build_release(&release.root)?;
        domio = release_folder(&release.root).join("domio");
    }
    let mut script = Command::new("bash");
    script
        .arg("web/test/run.sh")
        .env("DOMIO", domio)
        .env("PAGE", folder.join(FILE));
    end_of_script(&release.root, &mut script)
}
