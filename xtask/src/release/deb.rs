//! The Debian package. It has the static program, so that one package serves every release of
//! Debian, and depends on nothing.

use super::files::Release;
use super::stage::Stage;
use super::{binary, licences, pack};
use crate::steps::Done;
use anyhow::{Context as _, Result};
use std::process::Command;

/// Where Debian has the completions of each of [`binary::SHELLS`].
const COMPLETIONS: [&str; 3] = [
    "usr/share/bash-completion/completions/domio",
    "usr/share/zsh/vendor-completions/_domio",
    "usr/share/fish/vendor_completions.d/domio.fish",
];

/// What lintian says of a static program at a random address, and why the program is one.
const OVERRIDES: &str = "\
# One program for every release of Debian; it loads nothing at run time.
domio: shared-library-lacks-prerequisites [usr/bin/domio]
";

/// Packs the package.
pub fn pack(release: &Release) -> Result<Done> {
    let program = binary::program(release);
    if !program.is_file() {
        return Ok(Done::LeftOut("there is no program".to_owned()));
    }
    let stage = fill(release)?;
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.args(["--root-owner-group", "-Zxz", "--build"])
        .arg(stage.folder())
        .arg(release.package())
        // Later times become this one; the number of threads has a part in the bytes of xz.
        .env("DPKG_DEB_THREADS_MAX", "1")
        .env("SOURCE_DATE_EPOCH", release.source.epoch.to_string());
    match crate::steps::succeeds(&release.root, &mut dpkg) {
        Ok(built) => Ok(Done::Checked(built)),
        Err(_) => Ok(Done::LeftOut(
            "there is no dpkg-deb; it is in the package dpkg".to_owned(),
        )),
    }
}

/// The files of the package.
fn fill(release: &Release) -> Result<Stage> {
    let stage = Stage::new(release.work.join("deb"))?;
    let source = &release.source;
    stage.program("usr/bin/domio", &binary::program(release))?;
    for (shell, path) in binary::SHELLS.into_iter().zip(COMPLETIONS) {
        stage.write(path, binary::completions(release, shell)?)?;
    }
    for (name, page) in binary::manual(release)? {
        let path = format!("usr/share/man/man1/{name}.gz");
        stage.write(&path, pack::gz(&page)?)?;
    }
    let doc = |name: &str| format!("usr/share/doc/domio/{name}");
    let mit = std::fs::read_to_string(release.root.join("LICENSE-MIT"));
    let mit = mit.context("cannot read LICENSE-MIT")?;
    stage.write(&doc("copyright"), copyright(&mit)?)?;
    let date = source.date(&["--rfc-email"])?;
    let log = changelog(&source.version, &source.author, &date);
    stage.write(&doc("changelog.gz"), pack::gz(log.as_bytes())?)?;
    let news = super::stage::read(&release.root.join("CHANGELOG.md"))?;
    stage.write(&doc("CHANGELOG.md.gz"), pack::gz(&news)?)?;
    stage.copy(&doc("README.md"), &release.root.join("README.md"))?;
    let libraries = licences::text(release, &licences::DOMIO)?;
    stage.write(
        &doc("LICENSES-LIBRARIES.gz"),
        pack::gz(libraries.as_bytes())?,
    )?;
    stage.write("usr/share/lintian/overrides/domio", OVERRIDES)?;
    let files = stage.files()?;
    stage.write("DEBIAN/md5sums", md5sums(&stage, &files)?)?;
    let lengths: Vec<u64> = files.iter().map(|(_, length)| *length).collect();
    let control = control(&source.version, &source.author, &lengths);
    stage.write("DEBIAN/control", control)?;
    Ok(stage)
}

/// The control file of a package of files with these `lengths` in bytes.
fn control(version: &str, maintainer: &str, lengths: &[u64]) -> String {
    // Each file takes whole KiB.
    let size: u64 = lengths.iter().map(|length| length.div_ceil(1024)).sum();
    format!(
        "Package: domio
Version: {version}
Architecture: amd64
Maintainer: {maintainer}
Installed-Size: {size}
Suggests: bash-completion
Section: science
Priority: optional
Description: laboratory for the scheduling of virtual machines
 domio simulates a host: its processors, the scheduler of its hypervisor,
 its guests, network and disks. It shows which guest waits for which other
 one and why, and changes one setting at a time.
 .
 It reads traces of real hosts as well. The schedulers are those of Xen, in
 every release from 2.0 to 4.20.
"
    )
}

/// Debian's changelog: the package has no history of its own.
fn changelog(version: &str, maintainer: &str, date: &str) -> String {
    format!(
        "domio ({version}) unstable; urgency=medium

  * Version {version}; CHANGELOG.md.gz in this folder says what has changed.

 -- {maintainer}  {date}
"
    )
}

/// The licences in Debian's form. Who holds the copyright is in the text of the MIT licence, `mit`.
fn copyright(mit: &str) -> Result<String> {
    let holder = mit
        .lines()
        .find_map(|line| line.strip_prefix("Copyright (c) "));
    let holder = holder.context("LICENSE-MIT names nobody")?;
    let terms = mit
        .split_once("\n\n")
        .and_then(|(_, rest)| rest.split_once("\n\n"));
    let (_, terms) = terms.context("LICENSE-MIT has no terms behind the copyright")?;
    let terms: String = terms
        .lines()
        .map(|line| match line {
            "" => " .\n".to_owned(),
            line => format!(" {line}\n"),
        })
        .collect();
    Ok(format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: domio
Comment: Licences of the libraries within the program are in
 LICENSES-LIBRARIES.gz in this folder.

Files: *
Copyright: {holder}
License: Apache-2.0 or Expat

License: Apache-2.0
 The text is in /usr/share/common-licenses/Apache-2.0.

License: Expat
{terms}"
    ))
}

/// Checksums as dpkg keeps them, by which it finds changed files.
fn md5sums(stage: &Stage, files: &[(String, u64)]) -> Result<String> {
    let mut md5sum = Command::new("md5sum");
    md5sum.args(files.iter().map(|(path, _)| path));
    let output = md5sum.current_dir(stage.folder()).output();
    let output = output.context("cannot start md5sum")?;
    if !output.status.success() {
        anyhow::bail!("md5sum: {}", output.status);
    }
    String::from_utf8(output.stdout).context("md5sum")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_file_says_how_much_room_the_package_takes() {
        let control = control("1.2.3", "Ada <ada@example.org>", &[1, 1024, 1025]);
        assert!(control.starts_with("Package: domio\nVersion: 1.2.3\n"));
        assert!(control.contains("\nInstalled-Size: 4\n"), "{control}");
        assert!(control.lines().all(|line| line.len() <= 80));
        assert!(control.ends_with("from 2.0 to 4.20.\n"));
    }

    #[test]
    fn the_changelog_has_debians_form() {
        let log = changelog(
            "1.2.3",
            "Ada <ada@example.org>",
            "Sun, 09 Sep 2001 01:46:40 +0000",
        );
        let lines: Vec<&str> = log.lines().collect();
        assert_eq!(lines[0], "domio (1.2.3) unstable; urgency=medium");
        assert_eq!(
            lines[4],
            " -- Ada <ada@example.org>  Sun, 09 Sep 2001 01:46:40 +0000"
        );
    }

    #[test]
    fn the_holder_and_the_terms_are_those_of_the_licence() {
        let mit = "MIT License\n\nCopyright (c) 2026 Ada\n\nYou may.\n\nNo warranty.\n";
        let text = copyright(mit).unwrap();
        assert!(text.contains("\nCopyright: 2026 Ada\n"), "{text}");
        assert!(text.ends_with("License: Expat\n You may.\n .\n No warranty.\n"));
        assert!(copyright("MIT License\n").is_err());
    }

    #[test]
    fn checksums_are_those_of_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let stage = Stage::new(folder.path().join("deb")).unwrap();
        stage.write("usr/a", "abc").unwrap();
        let sums = md5sums(&stage, &stage.files().unwrap()).unwrap();
        assert_eq!(sums, "900150983cd24fb0d6963f7d28e17f72  usr/a\n");
    }
}
