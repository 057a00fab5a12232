//! What a release is built from: version, commit, and the compiler.

use anyhow::{Context as _, Result, bail};
use std::path::Path;
use std::process::Command;

/// The only machine that programs are built on and for.
pub const HOST: &str = "x86_64-unknown-linux-gnu";

/// What a release is built from.
pub struct Source {
    /// Version of the workspace.
    pub version: String,
    /// The commit, in hexadecimal.
    pub commit: String,
    /// When the commit was made (seconds since 1970): the time of every file in a release.
    pub epoch: u64,
    /// Name and address of who made the commit.
    pub author: String,
    /// Whether files differ from those of the commit.
    pub changed: bool,
    /// What `rustc -vV` prints.
    pub rustc: String,
}

impl Source {
    /// The source at `root`.
    ///
    /// # Errors
    /// `root` is no checkout, has no version, or there is no compiler.
    pub fn read(root: &Path) -> Result<Source> {
        let manifest = std::fs::read_to_string(root.join("Cargo.toml"));
        let version = version(&manifest.context("cannot read Cargo.toml")?)?;
        let last = output(root, "git", &["log", "-1", "--format=%H%n%ct%n%an <%ae>"])?;
        let lines: Vec<&str> = last.lines().collect();
        let &[commit, epoch, author] = lines.as_slice() else {
            bail!("git log prints \"{last}\", and not commit, time and author");
        };
        let status = ["status", "--porcelain", "--untracked-files=no"];
        let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
        Ok(Source {
            version,
            commit: commit.to_owned(),
            epoch: epoch.parse().context("git prints no time of the commit")?,
            author: author.to_owned(),
            changed: !output(root, "git", &status)?.is_empty(),
            rustc: output(root, &rustc, &["-vV"])?,
        })
    }

    /// The machine that the compiler runs on.
    pub fn host(&self) -> &str {
        let mut lines = self.rustc.lines();
        lines
            .find_map(|line| line.strip_prefix("host: "))
            .unwrap_or("an unknown machine")
    }

    /// The time of the commit as `date` prints it with `options`, in UTC.
    ///
    /// # Errors
    /// There is no `date`.
    pub fn date(&self, options: &[&str]) -> Result<String> {
        let at = format!("--date=@{}", self.epoch);
        let words: Vec<&str> = ["--utc", &at]
            .into_iter()
            .chain(options.iter().copied())
            .collect();
        output(Path::new("/"), "date", &words)
    }

    /// A source for tests.
    #[cfg(test)]
    pub fn example() -> Source {
        Source {
            version: "1.2.3".to_owned(),
            commit: "c0ffee".to_owned(),
            epoch: 1_000_000_000,
            author: "Ada <ada@example.org>".to_owned(),
            changed: false,
            rustc: "rustc 1.95.0\nhost: x86_64-unknown-linux-gnu\nLLVM version: 22\n".to_owned(),
        }
    }
}

/// The version in the workspace's manifest.
fn version(manifest: &str) -> Result<String> {
    let manifest: toml::Table = manifest.parse().context("Cargo.toml")?;
    let version = manifest
        .get("workspace")
        .and_then(|t| t.get("package"))
        .and_then(|t| t.get("version"))
        .and_then(toml::Value::as_str);
    Ok(version
        .context("Cargo.toml has no workspace.package.version")?
        .to_owned())
}

/// What `program` prints with `args` in `folder`, without the end of the last line.
///
/// # Errors
/// It cannot be started, or fails.
pub fn output(folder: &Path, program: &str, args: &[&str]) -> Result<String> {
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).env("LC_ALL", "C");
    let output = command
        .output()
        .with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{program} {}: {}", args.join(" "), said.trim_end());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_workspace() {
        let manifest = "[workspace.package]\nversion = \"1.2.3\"\n[package]\nversion = \"9\"\n";
        assert_eq!(version(manifest).unwrap(), "1.2.3");
        assert!(version("[package]\nversion = \"9\"\n").is_err());
    }

    #[test]
    fn the_host_is_in_what_the_compiler_prints() {
        assert_eq!(Source::example().host(), HOST);
    }

    #[test]
    fn times_are_those_of_the_commit() {
        let date = Source::example().date(&["--rfc-email"]).unwrap();
        assert_eq!(date, "Sun, 09 Sep 2001 01:46:40 +0000");
    }
}
