//! What can be wrong with a text that keys are read of.

use alloc::string::String;
use alloc::vec::Vec;

/// A stretch of one source, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Span {
    /// Index of the source.
    pub source: u32,
    /// First byte.
    pub start: u32,
    /// First byte after it.
    pub end: u32,
}

impl Span {
    /// The bytes `range` of source number `source`.
    pub fn new(source: u32, range: core::ops::Range<usize>) -> Self {
        Span {
            source,
            start: range.start as u32,
            end: range.end as u32,
        }
    }

    /// The first byte of a source: for what concerns the whole file.
    pub fn whole(source: u32) -> Self {
        Span {
            source,
            start: 0,
            end: 0,
        }
    }
}

/// Kinds of mistakes; stable names for programs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Code {
    /// The file could not be read.
    Unreadable,
    /// The file is larger than files may be.
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
    /// More of something than there can be.
    Limit,
    /// An action that is impossible at its time.
    Action,
    /// A recording that could not be replayed.
    Replay,
}

impl Code {
    /// Whether it concerns the file as a whole, so that it has no place in it.
    pub const fn is_of_the_file(self) -> bool {
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

/// One thing that is wrong, with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// What kind it is.
    pub code: Code,
    /// Where.
    pub span: Span,
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
    pub related: Vec<(Span, String)>,
}

impl Mistake {
    /// What `message` says is wrong at `span`.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Mistake {
            code,
            span,
            key: String::new(),
            message: message.into(),
            found: String::new(),
            expected: String::new(),
            hint: None,
            related: Vec::new(),
        }
    }

    /// The same of the key with this path.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }

    /// The same with what was found.
    #[must_use]
    pub fn found(mut self, found: impl Into<String>) -> Self {
        self.found = found.into();
        self
    }

    /// The same with what would be right.
    #[must_use]
    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = expected.into();
        self
    }

    /// The same with what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with `hint`, if there is one.
    #[must_use]
    pub fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    /// The same with `near` as what to do if there is one, else `hint`.
    #[must_use]
    pub fn hint_or(self, near: Option<String>, hint: &str) -> Self {
        self.hint(near.unwrap_or_else(|| hint.into()))
    }

    /// The same with another place that matters, and what that is.
    #[must_use]
    pub fn related(mut self, span: Span, what: impl Into<String>) -> Self {
        self.related.push((span, what.into()));
        self
    }

    /// The same, saying what is wrong, what would be right, and what to do about it.
    #[must_use]
    pub fn says(
        mut self,
        message: impl Into<String>,
        expected: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        self.message = message.into();
        self.expected(expected).hint(hint)
    }
}

/// A name that a key gives, with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// The name.
    pub name: String,
    /// Where it stands.
    pub span: Span,
    /// Path of the key.
    pub key: String,
}

/// Where a key was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyPlace {
    /// The key itself.
    pub key: Span,
    /// Its value.
    pub value: Span,
    /// Path of the key as it was written, with its unit.
    pub path: String,
}

/// `words` as a list for people, cut when long.
pub fn list<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 24;
    let words: Vec<&str> = words.into_iter().collect();
    match words.len() {
        0 => "none".into(),
        n if n > MOST => alloc::format!("{} and {} more", words[..MOST].join(", "), n - MOST),
        _ => words.join(", "),
    }
}

/// `text` for a message: control characters escaped, cut when long.
pub fn quote(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == LONGEST {
            out.push_str("...");
            break;
        }
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// Path of `key` in the table at `path`.
pub fn path_in(path: &str, key: &str) -> String {
    match path {
        "" => quote(key),
        _ => alloc::format!("{path}.{}", quote(key)),
    }
}
