//! Which packages of the workspace have changed since a commit.

use anyhow::{Context as _, Result, bail};
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::process::Command;

/// What has changed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changed {
    /// Names of the packages with a changed file, of those that are still there.
    pub packages: BTreeSet<String>,
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.packages.is_empty() {
            return f.write_str("no package has changed");
        }
        let names: Vec<&str> = self.packages.iter().map(String::as_str).collect();
        write!(f, "changed {}", names.join(", "))
    }
}

/// What differs at `root`, files that git does not know yet included, from the commit `base`.
///
/// # Errors
/// There is no git, no repository, or no commit `base`.
pub fn changed(root: &Path, base: &str) -> Result<Changed> {
    let tracked = git(root, &["diff", "--name-only", base, "--"])?;
    let new = git(root, &["ls-files", "--others", "--exclude-standard"])?;
    let packages = tracked.lines().chain(new.lines()).filter_map(package);
    let there = |name: &String| {
        let folder = match name.as_str() {
            "xtask" => root.join("xtask"),
            name => root.join("crates").join(name),
        };
        folder.join("Cargo.toml").is_file()
    };
    Ok(Changed {
        packages: packages.filter(there).collect(),
    })
}

/// The package that the file at `path` belongs to. What a package embeds is part of it.
fn package(path: &str) -> Option<String> {
    let mut parts = path.split('/');
    match parts.next()? {
        "crates" => parts.next().map(str::to_owned),
        "xtask" => Some("xtask".to_owned()),
        "papers" | "claims" => Some("domio-papers".to_owned()),
        "scenarios" => Some("domio-scenario".to_owned()),
        _ => None,
    }
}

fn git(root: &Path, args: &[&str]) -> Result<String> {
    let output = Command::new("git").args(args).current_dir(root).output();
    let output = output.context("cannot start git")?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        bail!("git {}: {}", args.join(" "), told.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_belong_to_packages() {
        let of = |path| package(path);
        assert_eq!(
            of("crates/domio-net/src/lib.rs").as_deref(),
            Some("domio-net")
        );
        assert_eq!(of("xtask/src/main.rs").as_deref(), Some("xtask"));
        assert_eq!(
            of("papers/ongaro2008/cells.toml").as_deref(),
            Some("domio-papers")
        );
        assert_eq!(of("docs/FIDELITY.md"), None);
        assert_eq!(of("README.md"), None);
    }

    #[test]
    fn a_repository_tells_what_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        for name in ["a", "b", "c"] {
            write(&format!("crates/{name}/Cargo.toml"), "[package]\n");
            write(&format!("crates/{name}/src/lib.rs"), "//! It.\n");
        }
        let identity = ["-c", "user.name=x", "-c", "user.email=x@localhost"];
        git(root, &["init", "--quiet"]).unwrap();
        git(root, &["add", "--all"]).unwrap();
        git(
            root,
            &[&identity[..], &["commit", "--quiet", "--message=x"]].concat(),
        )
        .unwrap();
        assert_eq!(changed(root, "HEAD").unwrap(), Changed::default());
        write("crates/a/src/lib.rs", "//! Other.\n");
        write("crates/c/src/new.rs", "//! New.\n");
        let told = changed(root, "HEAD").unwrap().to_string();
        assert_eq!(told, "changed a, c");
        let error = changed(root, "nowhere").unwrap_err().to_string();
        assert!(error.contains("nowhere"), "{error}");
    }
}
