//! A release that is being made: what it is made of, its folders, and the names of its files.

use super::source::Source;
use anyhow::{Context as _, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// A release that is being made.
pub struct Release {
    /// What it is made of.
    pub source: Source,
    /// Root of the project.
    pub root: PathBuf,
    /// Folder of the files.
    pub files: PathBuf,
    /// Folder of what the files are made of, and of what they are tried in.
    pub work: PathBuf,
}

impl Release {
    /// The archive with the program.
    pub fn archive(&self) -> PathBuf {
        self.files.join(format!("{}.tar.gz", self.archive_folder()))
    }

    /// The folder in that archive.
    pub fn archive_folder(&self) -> String {
        format!("domio-{}-x86_64-linux", self.source.version)
    }

    /// The Debian package.
    pub fn package(&self) -> PathBuf {
        self.files
            .join(format!("domio_{}_amd64.deb", self.source.version))
    }

    /// The archive with the page for browsers.
    pub fn page(&self) -> PathBuf {
        self.files.join(format!("{}.tar.gz", self.page_folder()))
    }

    /// The folder in that archive.
    pub fn page_folder(&self) -> String {
        format!("domio-page-{}", self.source.version)
    }

    /// The wheel, whose name maturin chooses.
    ///
    /// # Errors
    /// There is none.
    pub fn wheel(&self) -> Result<PathBuf> {
        let mut files = names(&self.files)?.into_iter();
        let wheel = files.find(|name| name.ends_with(".whl"));
        let wheel = wheel.context("there is no wheel")?;
        Ok(self.files.join(wheel))
    }

    /// A release for tests, in `folder`.
    #[cfg(test)]
    pub fn example(folder: &Path) -> Release {
        Release {
            source: Source::example(),
            root: folder.to_owned(),
            files: folder.to_owned(),
            work: folder.to_owned(),
        }
    }
}

/// Names of what is in `folder`, sorted.
///
/// # Errors
/// It cannot be read.
pub fn names(folder: &Path) -> Result<Vec<String>> {
    let read = || -> std::io::Result<Vec<String>> {
        let entries = fs::read_dir(folder)?;
        entries
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect()
    };
    let mut names = read().with_context(|| format!("cannot list {}", folder.display()))?;
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_version_and_machine() {
        let folder = tempfile::tempdir().unwrap();
        let release = Release::example(folder.path());
        let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(name(release.archive()), "domio-1.2.3-x86_64-linux.tar.gz");
        assert_eq!(name(release.package()), "domio_1.2.3_amd64.deb");
        assert_eq!(name(release.page()), "domio-page-1.2.3.tar.gz");
        assert!(release.wheel().is_err());
        fs::write(folder.path().join("domio-1.2.3-cp311-abi3-any.whl"), "").unwrap();
        let wheel = release.wheel().unwrap();
        assert_eq!(name(wheel), "domio-1.2.3-cp311-abi3-any.whl");
    }
}
