//! Files of reports: named after what they show, and never written over something else.
//!
//! A report is written over when it says that the same command made it. Any other file stays: a
//! report without a name of its own gets a number, and one with a name is refused, unless --force
//! says otherwise.

use crate::args::Reporting;
use crate::files::{FOLDER, FileKind, Files, Output};
use anyhow::bail;
use domio_report::data::ReportData;
use domio_report::html;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A report that was begun.
pub struct ReportFile {
    path: PathBuf,
    output: Output,
    command: String,
}

/// What a report shows.
pub struct ReportKey {
    /// The command, with all that decides the figures; it distinguishes one report from another.
    command: String,
    /// The name of the file without its ending.
    name: String,
}

impl ReportKey {
    /// What `domio VERB` shows of `subjects`: files, scenarios, claims.
    pub fn new(verb: &str, subjects: &[String]) -> Self {
        let mut command = format!("domio {verb}");
        let mut name = verb.to_owned();
        for (i, subject) in subjects.iter().enumerate() {
            command.push(' ');
            command.push_str(&quoted(subject));
            name.push(if i == 0 { '-' } else { '+' });
            name.push_str(&plain(subject));
        }
        // Some systems have no longer names than 255 bytes.
        const LONGEST: usize = 100;
        if name.len() > LONGEST {
            name = format!("{verb}-{}-of-them", subjects.len());
        }
        ReportKey { command, name }
    }

    /// The same with `option` set to `value`.
    pub fn with(mut self, option: &str, value: impl ToString) -> Self {
        let value = quoted(&value.to_string());
        self.command.push_str(&format!(" {option} {value}"));
        self
    }
}

/// `subject` in letters, digits, dots, dashes and underscores; without folder and ending if it is a
/// TOML file.
fn plain(subject: &str) -> String {
    let path = Path::new(subject);
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let is_file = path.extension().is_some_and(|e| e == "toml");
    let subject = stem.filter(|_| is_file).unwrap_or(subject);
    let kept = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let plain: String = subject
        .chars()
        .map(|c| if kept(c) { c } else { '-' })
        .collect();
    plain.trim_start_matches(['.', '-']).to_owned()
}

/// `word` as a shell takes it for one word.
fn quoted(word: &str) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || "._-+=/:,@%".contains(c);
    match !word.is_empty() && word.chars().all(kept) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Begins the report if one is asked for.
///
/// # Errors
/// When its file cannot be written, is read by the command, or shows something else.
pub fn wanted(
    files: &mut Files,
    reporting: &Reporting,
    shown: &ReportKey,
) -> anyhow::Result<Option<ReportFile>> {
    let Some(named) = &reporting.report else {
        return Ok(None);
    };
    begin(files, named.as_deref(), reporting.force, shown).map(Some)
}

/// Begins the report in the file called `named`, or else in one that is named after what is shown.
///
/// # Errors
/// As [`wanted`].
pub fn begin(
    files: &mut Files,
    named: Option<&Path>,
    force: bool,
    shown: &ReportKey,
) -> anyhow::Result<ReportFile> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => free(Path::new(FOLDER), force, shown),
    };
    // Whether the command reads the file is the graver question.
    let target = files.writes("--report", &path, FileKind::Report)?;
    if named.is_some() && !force && !is_free(&path, shown) {
        bail!(
            "{} is there already, and is no report of `{}`; name another file with --report, or \
             overwrite it with --force",
            path.display(),
            shown.command
        );
    }
    Ok(ReportFile {
        output: target.create()?,
        path,
        command: shown.command.clone(),
    })
}

/// The first file of what `shown` is called that may be written.
fn free(folder: &Path, force: bool, shown: &ReportKey) -> PathBuf {
    let numbered = |n: u32| match n {
        1 => folder.join(format!("{}.html", shown.name)),
        n => folder.join(format!("{}-{n}.html", shown.name)),
    };
    let first = numbered(1);
    if force {
        return first;
    }
    let mut names = (1..u32::MAX).map(numbered);
    names.find(|path| is_free(path, shown)).unwrap_or(first)
}

/// Whether nothing is lost when `path` is written: there is no such file, nothing in it, or a
/// report of the same command. What is no file, as a terminal, holds nothing.
fn is_free(path: &Path, shown: &ReportKey) -> bool {
    match std::fs::metadata(path) {
        Err(_) => return true,
        Ok(metadata) if !metadata.is_file() || metadata.len() == 0 => return true,
        Ok(_) => {}
    }
    // The head of a page is its first thousand bytes or so.
    const HEAD: u64 = 16_384;
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.is_ok() && html::is_made_by(&String::from_utf8_lossy(&head), &shown.command)
}

impl ReportFile {
    /// Writes it, and says where.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(self, mut data: ReportData) -> anyhow::Result<()> {
        let command = ("command".to_owned(), self.command);
        let facts = &mut data.provenance;
        let version = facts.iter().position(|(name, _)| name == "version");
        facts.insert(version.map_or(0, |i| i + 1), command);
        self.output.write_whole(html::page(&data).as_bytes())?;
        Output::told(&self.path, "");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn page(shown: &ReportKey) -> String {
        html::page(&ReportData {
            provenance: vec![("command".to_owned(), shown.command.clone())],
            ..ReportData::default()
        })
    }

    #[test]
    fn a_report_is_named_after_what_it_shows() {
        let name = |verb, subjects: &[&str]| {
            let subjects: Vec<String> = subjects.iter().map(|s| (*s).to_owned()).collect();
            ReportKey::new(verb, &subjects).name
        };
        assert_eq!(name("reproduce", &[]), "reproduce");
        assert_eq!(name("reproduce", &["ongaro"]), "reproduce-ongaro");
        assert_eq!(name("reproduce", &["a.b", "c"]), "reproduce-a.b+c");
        assert_eq!(
            name("compare", &["../my hosts/web 1.toml"]),
            "compare-web-1"
        );
        assert_eq!(name("explain", &["test3/orig"]), "explain-test3-orig");
        assert_eq!(name("run", &[&"x".repeat(200)]), "run-1-of-them");
    }

    #[test]
    fn a_command_is_one_for_a_shell() {
        let shown = ReportKey::new("run", &["my host.toml".to_owned()]);
        let shown = shown
            .with("--set", "run.duration_s=1")
            .with("--set", "a='b'");
        let expected = r"domio run 'my host.toml' --set run.duration_s=1 --set 'a='\''b'\'''";
        assert_eq!(shown.command, expected);
    }

    #[test]
    fn only_a_report_of_the_same_command_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let one = ReportKey::new("run", &["burn7".to_owned()]);
        let two = ReportKey::new("run", &["burn7".to_owned()]).with("--set", "name=\"<b>\"");
        let path = |shown: &ReportKey| free(folder.path(), false, shown);
        let at = |name: &str| folder.path().join(name);
        assert_eq!(path(&two), at("run-burn7.html"));
        fs::write(path(&two), page(&two)).unwrap();
        assert_eq!(path(&two), at("run-burn7.html"), "the same again");
        assert_eq!(path(&one), at("run-burn7-2.html"));
        fs::write(at("run-burn7-2.html"), "a letter").unwrap();
        assert_eq!(path(&one), at("run-burn7-3.html"));
        fs::write(path(&one), page(&one)).unwrap();
        assert_eq!(path(&one), at("run-burn7-3.html"));
        assert_eq!(free(folder.path(), true, &one), at("run-burn7.html"));
        fs::write(at("empty"), "").unwrap();
        for (name, expected) in [("empty", true), ("none", true), ("run-burn7-2.html", false)] {
            assert_eq!(is_free(&at(name), &one), expected, "{name}");
        }
    }
}
