//! Which papers a command is about: those that ship with domio, or some in folders.

use crate::input;
use anyhow::{Context, anyhow};
use domio_papers::Claims;
use domio_papers::claims::ClaimsError;
use domio_papers::folders::{self, PaperFolder};
use domio_papers::recorded::{self, Record};
use domio_scenario::Parts;
use std::path::{Path, PathBuf};

/// What the words of a command line name.
pub struct Chosen {
    /// The papers.
    pub papers: Vec<PaperFolder>,
    /// Ids of claims, or their first words.
    pub prefixes: Vec<String>,
    /// Whether the papers were named.
    named: bool,
}

impl Chosen {
    /// Tells folders from ids. Without a folder, the papers are those that ship with domio. Their
    /// cells can ask for `parts`.
    ///
    /// # Errors
    /// When a word looks like a folder, and is none of a paper.
    pub fn of(words: &[String], parts: &Parts) -> anyhow::Result<Self> {
        let is_folder = |word: &&String| folders::is_folder(word);
        let (places, prefixes): (Vec<&String>, Vec<&String>) = words.iter().partition(is_folder);
        let opened: Result<Vec<_>, _> = places.iter().map(|p| PaperFolder::open(p)).collect();
        let papers = match places.is_empty() {
            true => folders::shipped(),
            false => opened?,
        };
        Ok(Chosen {
            papers: papers.into_iter().map(|paper| paper.with(parts)).collect(),
            prefixes: prefixes.into_iter().cloned().collect(),
            named: !places.is_empty(),
        })
    }

    /// The claims of the papers.
    ///
    /// # Errors
    /// All mistakes of a file of claims; or that there is no claim.
    pub fn claims(&self) -> anyhow::Result<Claims> {
        let claims = Claims::of(&self.papers).map_err(mistakes)?;
        match self.papers.first() {
            Some(paper) if claims.is_empty() => Err(anyhow!(
                "{} has no claims; write them into its claims.toml, as docs/PAPERS.md says",
                paper.place
            )),
            _ => Ok(claims),
        }
    }

    /// The verdicts on record of the papers.
    ///
    /// # Errors
    /// Mistakes of a file of verdicts.
    pub fn record(&self) -> anyhow::Result<Record> {
        recorded::of(&self.papers).map_err(|e| anyhow!(e))
    }

    /// The files that were read, each with what it is.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        let named = self.papers.iter().filter(|_| self.named);
        let files = named.flat_map(|paper| {
            let place = Path::new(&paper.place);
            paper.names().map(|name| place.join(name))
        });
        // An embedded paper may be named by its place, where nothing is.
        files
            .filter(|path| path.exists())
            .map(|path| ("the paper", path))
    }

    /// What of the papers is told in reports: "shipped", or where they are.
    pub fn told(&self) -> String {
        match self.named {
            true => self
                .papers
                .iter()
                .map(|p| p.place.as_str())
                .collect::<Vec<_>>()
                .join(", "),
            false => "shipped".to_owned(),
        }
    }
}

/// The claims in the file at `path`.
///
/// # Errors
/// When it cannot be read; or all its mistakes.
pub fn claims_in(path: &Path) -> anyhow::Result<Claims> {
    let name = input::name(path);
    let text = input::text(path).with_context(|| {
        format!("cannot read {name}; give a TOML file of claims, or leave --claims out")
    })?;
    Claims::parse(&name, &text).map_err(mistakes)
}

/// The error that gives all mistakes of claims, each with its line.
pub fn mistakes(error: ClaimsError) -> anyhow::Error {
    anyhow!("the claims have mistakes:\n{error}")
}
