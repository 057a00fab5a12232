//! A folder that is to be packed: modes are the same on every machine, whatever its umask.

use anyhow::{Context as _, Result};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Mode of programs and folders.
const PROGRAM: u32 = 0o755;

/// Mode of other files.
const FILE: u32 = 0o644;

/// A folder whose files are all written here.
pub struct Stage {
    folder: PathBuf,
}

/// Makes `folder`, with nothing in it.
///
/// # Errors
/// It cannot be emptied or made.
pub fn anew(folder: &Path) -> Result<()> {
    let remove = || match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir_all(folder),
    };
    remove().with_context(|| format!("cannot empty {}", folder.display()))
}

impl Stage {
    /// An empty one at `folder`.
    ///
    /// # Errors
    /// The folder cannot be emptied or made.
    pub fn new(folder: PathBuf) -> Result<Stage> {
        anew(&folder)?;
        mode(&folder, PROGRAM)?;
        Ok(Stage { folder })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes `bytes` to the file `path` in it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> Result<()> {
        self.put(path, bytes.as_ref(), FILE)
    }

    /// Copies the file `from` to `path` in it.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn copy(&self, path: &str, from: &Path) -> Result<()> {
        self.put(path, &read(from)?, FILE)
    }

    /// Copies the program `from` to `path` in it.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn program(&self, path: &str, from: &Path) -> Result<()> {
        self.put(path, &read(from)?, PROGRAM)
    }

    /// Its files by path, sorted, with their lengths in bytes.
    ///
    /// # Errors
    /// A folder cannot be listed.
    pub fn files(&self) -> Result<Vec<(String, u64)>> {
        let mut files = Vec::new();
        self.list("", &mut files)
            .with_context(|| format!("cannot list {}", self.folder.display()))?;
        files.sort();
        Ok(files)
    }

    fn list(&self, within: &str, files: &mut Vec<(String, u64)>) -> io::Result<()> {
        for entry in fs::read_dir(self.folder.join(within))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = match within {
                "" => name,
                _ => format!("{within}/{name}"),
            };
            match entry.file_type()?.is_dir() {
                true => self.list(&path, files)?,
                false => files.push((path, entry.metadata()?.len())),
            }
        }
        Ok(())
    }

    fn put(&self, path: &str, bytes: &[u8], file_mode: u32) -> Result<()> {
        let mut folder = self.folder.clone();
        let names: Vec<&str> = path.split('/').collect();
        for name in &names[..names.len() - 1] {
            folder.push(name);
            if !folder.is_dir() {
                fs::create_dir(&folder)
                    .with_context(|| format!("cannot make {}", folder.display()))?;
                mode(&folder, PROGRAM)?;
            }
        }
        let path = self.folder.join(path);
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        mode(&path, file_mode)
    }
}

/// The bytes of the file at `path`.
///
/// # Errors
/// It cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn mode(path: &Path, mode: u32) -> Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
        .with_context(|| format!("cannot set the mode of {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_listed_by_path_and_have_fixed_modes() {
        let folder = tempfile::tempdir().unwrap();
        let stage = Stage::new(folder.path().join("stage")).unwrap();
        stage.write("share/doc/b", "two").unwrap();
        stage.write("a", "one..").unwrap();
        stage.program("bin/run", &stage.folder().join("a")).unwrap();
        let files = [("a", 5), ("bin/run", 5), ("share/doc/b", 3)];
        assert_eq!(
            stage.files().unwrap(),
            files.map(|(path, length)| (path.to_owned(), length))
        );
        let mode = |path: &str| {
            let metadata = fs::metadata(stage.folder().join(path)).unwrap();
            metadata.permissions().mode() & 0o7777
        };
        assert_eq!(mode("share/doc/b"), 0o644);
        assert_eq!(mode("bin/run"), 0o755);
        assert_eq!(mode("share/doc"), 0o755);
    }
}
