//! Folders of papers: TOML files, embedded in the program or read from a disk.
//!
//! | file | holds |
//! |---|---|
//! | `paper.toml` | title, authors, venue, the id that claims and experiments begin with |
//! | `machine.toml` | the machine, with the source of each figure, and what the paper leaves open |
//! | `cells.toml` | what is simulated: tests, configurations, measured figures |
//! | `claims.toml` | the testable statements, with the checks that decide them |
//! | `figures.toml` | what a report draws |
//! | `verdicts.toml` | the recorded verdicts |
//! | `times.toml` | recorded times of experiments, for estimates |
//!
//! The papers of `papers/` in the source tree are embedded. A new paper is a new folder, there or
//! anywhere. Nothing in the program names one.

use domio_scenario::Parts;
use std::borrow::Cow;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What the places of embedded papers begin with.
pub const PREFIX: &str = "papers/";

/// The file that makes a folder a paper's.
const PAPER_FILE: &str = "paper.toml";

/// A paper's folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PaperFolder {
    /// Name of the folder: "ongaro2008".
    pub name: String,
    /// Where it is, as commands take it: "papers/ongaro2008" for an embedded one, otherwise its
    /// path.
    pub place: String,
    /// Names and texts of its TOML files, by name.
    files: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    /// What its cells can ask for by name.
    pub parts: Parts,
}

/// Why a folder is none of a paper. The message says what to do.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FolderError {
    /// There is nothing at that path, or a file.
    #[error(
        "there is no folder {0}; give the folder of a paper, which has a paper.toml, or the first \
         words of claims' ids, as ongaro.test1"
    )]
    Missing(String),
    /// A folder without the file that each paper has.
    #[error(
        "{0} is no paper: it has no paper.toml; write one with `id`, `title` and `venue`, as \
         docs/PAPERS.md says"
    )]
    NoPaper(String),
    /// A file that cannot be read.
    #[error(
        "{path} cannot be read: {why}; make it a text that you may read, or take it away",
        path = path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
}

type Embedded = (&'static str, &'static [(&'static str, &'static str)]);

static EMBEDDED: &[Embedded] = include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// The papers that ship with domio, by name.
pub fn shipped() -> Vec<PaperFolder> {
    EMBEDDED.iter().map(PaperFolder::embedded).collect()
}

/// The paper that ships with domio in the folder called `name`.
pub fn find(name: &str) -> Option<PaperFolder> {
    let embedded = EMBEDDED.iter().find(|(other, _)| *other == name);
    embedded.map(PaperFolder::embedded)
}

/// Whether `word` of a command line is a folder, and no id of a claim or first words of one: it
/// looks like a path, or there is a paper's folder of that name.
pub fn is_folder(word: &str) -> bool {
    let looks_like_a_path = word.starts_with('.') || word.contains(['/', '\\']);
    looks_like_a_path || Path::new(word).join(PAPER_FILE).is_file()
}

impl PaperFolder {
    fn embedded((name, files): &Embedded) -> Self {
        let file = |(name, text): &(&'static str, &'static str)| {
            (Cow::Borrowed(*name), Cow::Borrowed(*text))
        };
        PaperFolder {
            name: (*name).to_owned(),
            place: format!("{PREFIX}{name}"),
            files: files.iter().map(file).collect(),
            parts: Parts::from(domio_sched::policies()),
        }
    }

    /// The paper in the folder at `place`: on the disk, or else the embedded one of that place.
    ///
    /// # Errors
    /// When there is none, or a file of it cannot be read.
    pub fn open(place: &str) -> Result<Self, FolderError> {
        let path = Path::new(place);
        let embedded = || find(place.trim_end_matches('/').strip_prefix(PREFIX)?);
        if !path.is_dir() {
            return embedded().ok_or_else(|| FolderError::Missing(place.to_owned()));
        }
        let unreadable = |path: &Path, why: std::io::Error| FolderError::Unreadable {
            path: path.to_owned(),
            why: match why.kind() {
                ErrorKind::InvalidData => "it is not UTF-8".to_owned(),
                _ => why.to_string(),
            },
        };
        let mut files = Vec::new();
        for entry in fs::read_dir(path).map_err(|e| unreadable(path, e))? {
            let file = entry.map_err(|e| unreadable(path, e))?.path();
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            if name.ends_with(".toml") {
                let text = fs::read_to_string(&file).map_err(|e| unreadable(&file, e))?;
                files.push((Cow::Owned(name.into_owned()), Cow::Owned(text)));
            }
        }
        files.sort();
        let place = place.trim_end_matches('/').to_owned();
        // "." has no name of its own.
        let whole = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let folder = PaperFolder {
            name: whole
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            place,
            files,
            parts: Parts::from(domio_sched::policies()),
        };
        match folder.file(PAPER_FILE) {
            Some(_) => Ok(folder),
            None => Err(FolderError::NoPaper(folder.place)),
        }
    }

    /// The same paper, whose cells can ask for `parts`; by default those that ship with domio.
    #[must_use]
    pub fn with(self, parts: &Parts) -> Self {
        let parts = parts.clone();
        PaperFolder { parts, ..self }
    }

    /// What commands on claims of the paper are given before ids, with a blank; empty for an
    /// embedded paper, whose claims they know.
    pub fn argument(&self) -> String {
        match find(&self.name).is_some_and(|embedded| embedded.place == self.place) {
            true => String::new(),
            false => format!("{} ", self.place),
        }
    }

    /// Names of its TOML files.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|(name, _)| &**name)
    }

    /// The text of the file called `name`, if the paper has one.
    pub fn file(&self, name: &str) -> Option<&str> {
        let file = self.files.iter().find(|(other, _)| *other == name);
        file.map(|(_, text)| &**text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn papers_are_found_by_their_folders() {
        let ongaro = find("ongaro2008").unwrap();
        assert!(ongaro.file("paper.toml").unwrap().contains("VEE 2008"));
        assert_eq!(ongaro.file("paper.md"), None);
        assert!(find("ongaro").is_none());
        assert!(shipped().is_sorted_by_key(|paper| paper.name.clone()));
    }

    #[test]
    fn a_folder_is_read_as_an_embedded_one() {
        for embedded in shipped() {
            let path = format!("{}/../../{}", env!("CARGO_MANIFEST_DIR"), embedded.place);
            let open = PaperFolder::open(&format!("{path}/")).unwrap();
            assert_eq!((&open.name, &open.files), (&embedded.name, &embedded.files));
            assert_eq!(open.place, path);
        }
    }

    #[test]
    fn an_embedded_paper_needs_no_folder() {
        let open = PaperFolder::open("papers/zeng2020/");
        assert_eq!(open.ok(), find("zeng2020"));
    }

    #[test]
    fn what_is_no_paper_is_told() {
        let told = |place: &str| PaperFolder::open(place).unwrap_err().to_string();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display().to_string();
        let missing = told(&format!("{path}/none"));
        assert!(missing.starts_with(&format!("there is no folder {path}/none; ")));
        assert!(told(&path).starts_with(&format!("{path} is no paper: it has no paper.toml; ")));
        fs::write(folder.path().join("paper.toml"), b"id = \"\xff\"").unwrap();
        let wrong = told(&path);
        assert!(
            wrong.contains("paper.toml cannot be read: it is not UTF-8; "),
            "{wrong}"
        );
    }

    #[test]
    fn paths_are_told_from_ids() {
        assert!(is_folder("./mine") && is_folder("papers/mine") && is_folder(".."));
        assert!(!is_folder("ongaro") && !is_folder("ongaro.test1.sedf"));
    }
}
