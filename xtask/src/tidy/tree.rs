//! The files that the rules look at, read once.

use super::source::Source;
use anyhow::{Context as _, Result};
use std::collections::BTreeMap;
use std::path::Path;

/// Folders that hold nothing of ours, by path from the root.
const SKIPPED: [&str; 8] = [
    ".git",
    "target",
    "out",
    "fuzz/target",
    "fuzz/corpus",
    "fuzz/artifacts",
    "python/target",
    "web/target",
];

/// Text beyond this many bytes is data, not prose or code: only its path is known.
const TEXT_LIMIT: u64 = 4 << 20;

/// One file.
#[derive(Debug)]
pub struct File {
    /// Its text; empty for data.
    pub text: String,
    /// Its tokens, for a `.rs` file of Rust.
    pub source: Option<Source>,
}

/// Every file of the project, by path from the root, with `/` between names.
#[derive(Debug)]
pub struct Tree {
    files: BTreeMap<String, File>,
}

impl Tree {
    /// Reads the project at `root`.
    ///
    /// # Errors
    /// A folder or file that cannot be read.
    pub fn read(root: &Path) -> Result<Tree> {
        let mut tree = Tree {
            files: BTreeMap::new(),
        };
        tree.folder(root, "")?;
        Ok(tree)
    }

    fn folder(&mut self, root: &Path, path: &str) -> Result<()> {
        let folder = root.join(path);
        let entries = folder
            .read_dir()
            .and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
        for entry in entries.with_context(|| format!("cannot list {}", folder.display()))? {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if path.is_empty() {
                name
            } else {
                format!("{path}/{name}")
            };
            if entry.file_type()?.is_file() {
                let text = text(&entry.path())
                    .with_context(|| format!("cannot read {}", entry.path().display()))?;
                self.insert(path, text);
            } else if entry.file_type()?.is_dir() && !SKIPPED.contains(&path.as_str()) {
                self.folder(root, &path)?;
            }
        }
        Ok(())
    }

    fn insert(&mut self, path: String, text: String) {
        let source = path
            .ends_with(".rs")
            .then(|| Source::parse(&text, is_test(&path)))
            .flatten();
        self.files.insert(path, File { text, source });
    }

    /// Every file, by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// The text of the file at `path`.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(|file| file.text.as_str())
    }

    /// Whether there is a file or a folder at `path`.
    pub fn has(&self, path: &str) -> bool {
        let inside = format!("{path}/");
        self.files.contains_key(path)
            || self
                .files
                .range(inside.clone()..)
                .next()
                .is_some_and(|(next, _)| next.starts_with(&inside))
    }

    /// Every file of Rust under `folder` (`""` for all), by path.
    pub fn rust(&self, folder: &str) -> impl Iterator<Item = (&str, &Source)> {
        self.files()
            .filter_map(move |(path, file)| match &file.source {
                Some(source) if path.starts_with(folder) => Some((path, source)),
                _ => None,
            })
    }

    /// Every file of the kind `extension` (with its dot) and its text, by path.
    pub fn of_kind(&self, extension: &'static str) -> impl Iterator<Item = (&str, &str)> {
        self.files()
            .filter(move |(path, _)| path.ends_with(extension))
            .map(|(path, file)| (path, file.text.as_str()))
    }
}

/// The text of a file; empty when it is too large for one or not UTF-8.
fn text(path: &Path) -> std::io::Result<String> {
    if path.metadata()?.len() > TEXT_LIMIT {
        return Ok(String::new());
    }
    Ok(String::from_utf8(std::fs::read(path)?).unwrap_or_default())
}

/// Whether the whole file is test code.
fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs")
        || ["tests", "benches", "examples"]
            .iter()
            .any(|folder| path.split('/').any(|name| name == *folder))
}
