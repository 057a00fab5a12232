//! What can be wrong with a scenario, said so that it can be mended.

use crate::source::{Source, Span};
pub(crate) use domio_core::keys::quote;
use serde_json::{Value as Json, json};
use std::fmt;
use std::sync::Arc;

/// Problems shown at most; the rest are counted.
pub const MAX_SHOWN: usize = 100;

/// Problems kept while checking; those after them are counted only, so that a hostile file costs
/// no memory.
const MAX_KEPT: usize = 2_000;

/// Kinds of problems; stable names for programs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Code {
    /// The file could not be read.
    Unreadable,
    /// The file is larger than [`crate::MAX_BYTES`].
    TooLarge,
    /// Bytes that are not UTF-8.
    Encoding,
    /// Nothing in it.
    Empty,
    /// Not TOML.
    Syntax,
    /// A key that does not exist here.
    UnknownKey,
    /// A required key is not there.
    MissingKey,
    /// A string where a number should be, and the like.
    WrongType,
    /// A value that is not in the range of its key.
    OutOfRange,
    /// A word that is none of those that exist (policy, profile, workload, domain...).
    UnknownName,
    /// A name, id or key that was given before.
    Duplicate,
    /// Values that are allowed one by one but not together.
    Conflict,
    /// More vcpus, tasks or pcpus than a scenario can have.
    Limit,
    /// An action that is impossible at its time.
    Action,
    /// A recording that could not be replayed.
    Replay,
}

impl Code {
    /// Whether it concerns the file as a whole, so that it has no place in it.
    const fn is_of_the_file(self) -> bool {
        matches!(self, Code::Unreadable | Code::TooLarge)
    }

    /// The stable name: words joined by hyphens.
    pub const fn name(self) -> &'static str {
        match self {
            Code::Unreadable => "unreadable",
            Code::TooLarge => "too-large",
            Code::Encoding => "encoding",
            Code::Empty => "empty",
            Code::Syntax => "syntax",
            Code::UnknownKey => "unknown-key",
            Code::MissingKey => "missing-key",
            Code::WrongType => "wrong-type",
            Code::OutOfRange => "out-of-range",
            Code::UnknownName => "unknown-name",
            Code::Duplicate => "duplicate",
            Code::Conflict => "conflict",
            Code::Limit => "limit",
            Code::Action => "action",
            Code::Replay => "replay",
        }
    }
}

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
    pub(crate) fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Problem {
            code,
            source: String::new(),
            line: 1,
            column: 1,
            offset: span.start as usize,
            key: String::new(),
            message: message.into(),
            found: String::new(),
            expected: String::new(),
            hint: None,
            related: Vec::new(),
            span,
        }
    }

    pub(crate) fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }

    pub(crate) fn found(mut self, found: impl Into<String>) -> Self {
        self.found = found.into();
        self
    }

    pub(crate) fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = expected.into();
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    /// `near` if there is one, else `hint`.
    pub(crate) fn hint_or(self, near: Option<String>, hint: &str) -> Self {
        self.hint(near.unwrap_or_else(|| hint.to_owned()))
    }

    pub(crate) fn related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }

    /// The problem as a JSON object with the fields `code`, `file`, `line`, `column`, `offset`,
    /// `key`, `message`, `found`, `expected` and `hint` (null when there is none).
    pub fn to_json(&self) -> Json {
        json!({
            "code": self.code.name(),
            "file": self.source,
            "line": self.line,
            "column": self.column,
            "offset": self.offset,
            "key": self.key,
            "message": self.message,
            "found": self.found,
            "expected": self.expected,
            "hint": self.hint,
        })
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

    /// A JSON object with the array `errors` (see [`Problem::to_json`]) and their number `total`.
    pub fn to_json(&self) -> Json {
        let errors: Vec<Json> = self.problems.iter().map(Problem::to_json).collect();
        json!({ "errors": errors, "total": self.total })
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
    kept: Vec<Problem>,
    dropped: usize,
}

impl Problems {
    pub fn push(&mut self, problem: Problem) {
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
    pub fn first(&self) -> Option<&Problem> {
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

    /// Counts a problem without a word about it if there are too many already; tells whether it
    /// did.
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
    pub fn retain(&mut self, keep: impl Fn(&Problem) -> bool) {
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
        self.kept.truncate(MAX_SHOWN);
        for problem in &mut self.kept {
            if let Some(source) = sources.get(problem.span.source as usize) {
                let place = source.place(problem.span.start as usize);
                problem.source.clone_from(&source.name);
                problem.line = place.line;
                problem.column = place.column;
            }
        }
        Some(ScenarioErrors {
            problems: self.kept,
            total,
            sources: sources.to_vec(),
        })
    }
}

/// `words` as a list for people, cut when long.
pub(crate) fn list<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 24;
    let words: Vec<&str> = words.into_iter().collect();
    match words.len() {
        0 => "none".to_owned(),
        n if n > MOST => format!("{} and {} more", words[..MOST].join(", "), n - MOST),
        _ => words.join(", "),
    }
}
