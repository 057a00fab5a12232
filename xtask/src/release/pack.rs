//! Archives whose bytes depend on names and contents of files alone.

use super::files::Release;
use super::stage::Stage;
use crate::steps::succeeds;
use anyhow::{Context as _, Result, bail};
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Packs all files of `stage` into `to`, a `.tar.gz`, in a folder that is called `name` there.
///
/// # Errors
/// There is no GNU tar or no gzip, or one fails.
pub fn tar_gz(release: &Release, stage: &Stage, name: &str, to: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(tar_words(name, release.source.epoch))
        .arg("--directory")
        .arg(stage.folder())
        .arg(".");
    let packed = File::create(to).with_context(|| format!("cannot write {}", to.display()))?;
    let mut tar = tar
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start tar")?;
    let from = tar.stdout.take().context("tar has no output")?;
    let gzip = gzip().stdin(from).stdout(packed).status();
    let gzip = gzip.context("cannot start gzip")?;
    let tar = tar.wait().context("cannot wait for tar")?;
    if !tar.success() || !gzip.success() {
        bail!("cannot pack {}: tar {tar}, gzip {gzip}", to.display());
    }
    Ok(())
}

/// What tar is called with: order, owner, time and mode are fixed, and so is the format.
fn tar_words(name: &str, epoch: u64) -> Vec<String> {
    let rename = format!("--transform=s,^\\.,{name},");
    let time = format!("--mtime=@{epoch}");
    [
        "--create",
        "--file=-",
        "--format=ustar",
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mode=u=rwX,go=rX",
        &time,
        &rename,
    ]
    .map(str::to_owned)
    .to_vec()
}

/// Unpacks `archive` into `folder`, without the folder in it; `false` where tar fails.
pub fn unpack(archive: &Path, folder: &Path) -> Result<bool> {
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--strip-components=1", "--file"])
        .arg(archive);
    succeeds(folder, &mut tar)
}

/// `bytes` in the form of gzip, without name and time.
///
/// # Errors
/// There is no gzip, or it fails.
pub fn gz(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut gzip = gzip();
    let mut gzip = gzip
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start gzip")?;
    let mut into = gzip.stdin.take().context("gzip has no input")?;
    let packed = std::thread::scope(|scope| {
        let writing = scope.spawn(move || into.write_all(bytes));
        let packed = gzip.wait_with_output();
        writing.join().expect("no panic").and(packed)
    });
    let packed = packed.context("cannot pack with gzip")?;
    if !packed.status.success() {
        bail!("gzip: {}", packed.status);
    }
    Ok(packed.stdout)
}

fn gzip() -> Command {
    let mut gzip = Command::new("gzip");
    gzip.args(["--no-name", "--best"]);
    gzip
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs the files `names`, written in this order; returns the archive.
    fn packed(names: &[&str], list: bool) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let stage = Stage::new(folder.path().join("stage")).unwrap();
        for name in names {
            stage.write(name, *name).unwrap();
        }
        let release = Release::example(folder.path());
        let to = folder.path().join("a.tar.gz");
        tar_gz(&release, &stage, "domio-1.2.3", &to).unwrap();
        if !list {
            return std::fs::read(to).unwrap();
        }
        let mut tar = Command::new("tar");
        tar.args([
            "--list",
            "--verbose",
            "--utc",
            "--full-time",
            "--numeric-owner",
        ]);
        tar.arg("--file").arg(to);
        tar.output().unwrap().stdout
    }

    #[test]
    fn archives_do_not_depend_on_when_and_in_which_order_files_were_written() {
        let first = packed(&["b/two", "a"], false);
        let second = packed(&["a", "b/two"], false);
        assert_eq!(first, second);
        assert_ne!(first, packed(&["a", "b/tw0"], false));
        let list = String::from_utf8(packed(&["b/two", "a"], true)).unwrap();
        assert_eq!(
            list,
            "drwxr-xr-x 0/0               0 2001-09-09 01:46:40 domio-1.2.3/\n\
             -rw-r--r-- 0/0               1 2001-09-09 01:46:40 domio-1.2.3/a\n\
             drwxr-xr-x 0/0               0 2001-09-09 01:46:40 domio-1.2.3/b/\n\
             -rw-r--r-- 0/0               5 2001-09-09 01:46:40 domio-1.2.3/b/two\n"
        );
    }

    #[test]
    fn gzip_keeps_neither_name_nor_time() {
        let packed = gz(b"text").unwrap();
        // Magic number, method, flags, time: no flag says that there is a name.
        assert_eq!(packed[..8], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0]);
    }
}
