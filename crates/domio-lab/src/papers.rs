//! The papers that ship with domio: a folder of TOML files each, in `papers/` of the source tree.
//!
//! | file | holds |
//! |---|---|
//! | `paper.toml` | title, authors, venue, the id that claims and experiments begin with |
//! | `machine.toml` | the machine, with the source of each figure, and what the paper leaves open |
//! | `cells.toml` | what is simulated: tests, configurations, measured figures |
//! | `claims.toml` | the testable statements, with the checks that decide them |
//! | `figures.toml` | what a report draws |
//! | `verdicts.toml` | the recorded verdicts |
//!
//! A new paper is a new folder. Nothing in the program names one.

/// A paper's folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PaperFolder {
    /// Name of the folder: "ongaro2008".
    pub name: &'static str,
    /// Names and texts of its TOML files, by name.
    files: &'static [(&'static str, &'static str)],
}

/// All of them, by name.
static PAPERS: &[PaperFolder] = include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// All papers, by name.
pub fn all() -> &'static [PaperFolder] {
    PAPERS
}

/// The paper whose folder is called `name`.
pub fn find(name: &str) -> Option<&'static PaperFolder> {
    PAPERS.iter().find(|paper| paper.name == name)
}

impl PaperFolder {
    /// The text of the file called `name`, if the paper has one.
    pub fn file(&self, name: &str) -> Option<&'static str> {
        let file = self.files.iter().find(|(other, _)| *other == name);
        file.map(|(_, text)| *text)
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
        assert!(all().is_sorted_by_key(|paper| paper.name));
    }
}
