//! What can be wrong with a scenario, said so that it can be mended.

use crate::source::Source;
use domio_core::keys::{Code, Mistake, Span};
use std::fmt;
use std::sync::Arc;

/// Problems shown at most; the rest are counted.
pub const MAX_SHOWN: usize = 100;

/// Problems kept while checking; those after them are counted only, so that a hostile file costs
/// no memory.
const MAX_KEPT: usize = 2_000;

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// What kind it is.
    pub code: Code,
    /// File, or `--set` for an override.
    pub source: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Byte offset in the source, from 0.
    pub offset: usize,
    /// The key in question as a path (`domain[2].weight`), empty when there is none.
    pub key: String,
    /// What is wrong, one sentence without a full stop.
    pub message: String,
    /// What was found, empty when there is nothing to quote.
    pub found: String,
    /// What is allowed, empty when nothing would be.
    pub expected: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Other places that matter, with what they are.
    pub(crate) related: Vec<(Span, String)>,
    pub(crate) span: Span,
}

impl Problem {
    /// `mistake` with its place in `sources`.
    fn of(mistake: Mistake, sources: &[Arc<Source>]) -> Self {
        let span = mistake.span;
        let source = sources.get(span.source as usize);
        let place = source.map(|source| source.place(span.start as usize));
        Problem {
            code: mistake.code,
            source: source.map_or_else(String::new, |source| source.name.clone()),
            line: place.map_or(1, |place| place.line),
            column: place.map_or(1, |place| place.column),
            offset: span.start as usize,
            key: mistake.key,
            message: mistake.message,
            found: mistake.found,
            expected: mistake.expected,
            hint: mistake.hint,
            related: mistake.related,
            span,
        }
    }
}

/// Everything that is wrong with a scenario, in the order of the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioErrors {
    problems: Vec<Problem>,
    total: usize,
    pub(crate) sources: Vec<Arc<Source>>,
}

impl ScenarioErrors {
    /// The problems, [`MAX_SHOWN`] at most.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// How many there are in all.
    pub fn total(&self) -> usize {
        self.total
    }
}

impl fmt::Display for ScenarioErrors {
    /// One line a problem: place, message, what was expected, hint.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, p) in self.problems.iter().enumerate() {
            let end = if i == 0 { "" } else { "\n" };
            write!(f, "{end}{}", p.source)?;
            if !p.code.is_of_the_file() {
                write!(f, ":{}:{}", p.line, p.column)?;
            }
            write!(f, ": {}", p.message)?;
            if !p.expected.is_empty() {
                write!(f, "; expected {}", p.expected)?;
            }
            if let Some(hint) = &p.hint {
                write!(f, "; {hint}")?;
            }
        }
        match self.unshown() {
            0 => Ok(()),
            n => write!(f, "\nand {n} more"),
        }
    }
}

impl std::error::Error for ScenarioErrors {}

impl ScenarioErrors {
    /// Problems that are counted but not listed.
    pub(crate) fn unshown(&self) -> usize {
        self.total - self.problems.len()
    }
}

/// Collects problems while a scenario is checked.
#[derive(Default)]
pub(crate) struct Problems {
    kept: Vec<Mistake>,
    dropped: usize,
}

impl Problems {
    pub fn push(&mut self, problem: Mistake) {
        if self.kept.len() < MAX_KEPT {
            self.kept.push(problem);
        } else {
            self.dropped += 1;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The one that was pushed first.
    pub fn first(&self) -> Option<&Mistake> {
        self.kept.first()
    }

    /// How many are kept.
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    /// Gives those that were kept after the first `earlier` the hint that they have not.
    pub fn advise(&mut self, earlier: usize, hint: impl Fn() -> String) {
        for problem in &mut self.kept[earlier..] {
            problem.hint.get_or_insert_with(&hint);
        }
    }

    /// Counts a problem without a word about it if there are too many already; says whether it did.
    pub fn only_count(&mut self) -> bool {
        let full = self.kept.len() == MAX_KEPT;
        self.dropped += usize::from(full);
        full
    }

    /// Adds everything of `other`.
    pub fn extend(&mut self, other: Problems) {
        self.dropped += other.dropped;
        for problem in other.kept {
            self.push(problem);
        }
    }

    /// Places of the problems so far.
    pub fn spans(&self) -> impl Iterator<Item = Span> {
        self.kept.iter().map(|p| p.span)
    }

    /// Whether no problem was found yet with a key that starts with `path`.
    pub fn none_at(&self, path: &str) -> bool {
        !self.kept.iter().any(|p| p.key.starts_with(path))
    }

    /// Drops the problems that `keep` refuses.
    pub fn retain(&mut self, keep: impl Fn(&Mistake) -> bool) {
        self.kept.retain(keep);
    }

    /// The collected problems with their places filled in, or `None` when there are none.
    pub fn finish(mut self, sources: &[Arc<Source>]) -> Option<ScenarioErrors> {
        if self.kept.is_empty() {
            return None;
        }
        self.kept.sort_by_key(|p| (p.span.source, p.span.start));
        self.kept
            .dedup_by(|a, b| a.code == b.code && a.span == b.span && a.message == b.message);
        let total = self.kept.len() + self.dropped;
        let shown = self.kept.into_iter().take(MAX_SHOWN);
        Some(ScenarioErrors {
            problems: shown.map(|mistake| Problem::of(mistake, sources)).collect(),
            total,
            sources: sources.to_vec(),
        })
    }
}
