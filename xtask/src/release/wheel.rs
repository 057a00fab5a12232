//! The wheel of the Python package: one for Python 3.11 and later. Its name says from which version
//! of the C library on it can be used, which maturin finds in what it has built.

use super::files::Release;
use super::{compiler, flags, licences};
use crate::cli::end_of_script;
use crate::steps::Done;
use anyhow::{Context as _, Result};
use std::fs;
use std::process::Command;

/// Builds the wheel. What maturin or Python lack leaves it out.
pub fn build(release: &Release) -> Result<Done> {
    let mut script = Command::new("bash");
    script
        .args(["python/run.sh", "wheel"])
        .env("PROFILE", "dist")
        .env("WHEELS", &release.files);
    flags::set(release, &mut script, &[])?;
    compiler::set(release, &mut script)?;
    // The file is taken into the wheel where it is.
    let licences = release.root.join("python/LICENSES-LIBRARIES");
    let text = licences::text(release, &licences::WHEEL)?;
    fs::write(&licences, text).context("cannot write into python")?;
    let done = end_of_script(&release.root, &mut script);
    fs::remove_file(&licences).context("cannot remove a file of python")?;
    let done = done?;
    if done != Done::Checked(true) {
        return Ok(done);
    }
    let wheel = release.wheel()?;
    let name = wheel.file_name().unwrap_or_default().to_string_lossy();
    Ok(Done::Told(holds_for_any_python(&name), name.into_owned()))
}

/// Whether a wheel of this name installs on any Python from 3.11 on, on distributions that are not
/// the builder's.
fn holds_for_any_python(name: &str) -> bool {
    name.contains("-cp311-abi3-manylinux_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_for_one_python_or_one_machine_is_no_release() {
        let held = holds_for_any_python;
        assert!(held("domio-1.2.3-cp311-abi3-manylinux_2_34_x86_64.whl"));
        assert!(!held("domio-1.2.3-cp312-cp312-manylinux_2_34_x86_64.whl"));
        assert!(!held("domio-1.2.3-cp311-abi3-linux_x86_64.whl"));
    }
}
