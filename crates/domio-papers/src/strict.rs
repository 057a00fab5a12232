//! Strict reading of TOML: every mistake is kept, with its line, what was expected and a hint.

use std::fmt;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One mistake in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong and what is expected instead.
    pub what: String,
}

/// Every mistake in a file of claims, in the order of lines.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct ClaimsError {
    /// Name of the file.
    pub file: String,
    /// What is wrong; at least one.
    pub mistakes: Vec<Mistake>,
}

impl fmt::Display for ClaimsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, mistake) in self.mistakes.iter().enumerate() {
            let newline = if i == 0 { "" } else { "\n" };
            let (file, line, what) = (&self.file, mistake.line, &mistake.what);
            write!(f, "{newline}{file}:{line}: {what}")?;
        }
        Ok(())
    }
}

/// A text with its place in the file.
pub(crate) type Placed = (Range<usize>, String);

/// A text that is read, and the mistakes in it.
pub(crate) struct Strict<'t> {
    text: &'t str,
    /// So far.
    pub mistakes: Vec<Mistake>,
}

impl<'t> Strict<'t> {
    /// Nothing is wrong with `text` yet.
    pub fn new(text: &'t str) -> Self {
        Strict {
            text,
            mistakes: Vec::new(),
        }
    }

    /// Keeps a mistake at `at`.
    pub fn mistake(&mut self, at: Range<usize>, what: impl Into<String>) {
        let (line, what) = (self.line(&at), what.into());
        self.mistakes.push(Mistake { line, what });
    }

    /// The line, from 1, in which `at` begins.
    pub fn line(&self, at: &Range<usize>) -> usize {
        let before = &self.text.as_bytes()[..at.start.min(self.text.len())];
        1 + before.iter().filter(|b| **b == b'\n').count()
    }

    /// The root table; `None` when the syntax is wrong. What a parser recovers from broken lines
    /// would only give mistakes that are not there.
    pub fn root(&mut self) -> Option<DeTable<'t>> {
        let (table, errors) = DeTable::parse_recoverable(self.text);
        for error in &errors {
            self.mistake(error.span().unwrap_or(0..0), error.message());
        }
        errors.is_empty().then(|| table.into_inner())
    }

    /// Keeps a mistake for each key of `fields` that is not one of `known`.
    pub fn known(&mut self, fields: &DeTable<'_>, known: &[&str]) {
        for (key, _) in fields {
            let word = key.get_ref().as_ref();
            if !known.contains(&word) {
                let what = format!(
                    "unknown key \"{word}\"; expected one of {}{}",
                    known.join(", "),
                    near(word, known.iter().copied())
                );
                self.mistake(key.span(), what);
            }
        }
    }

    /// The tables of the list under `key`, which is written `[[name]]`; none without the key.
    pub fn tables<'a, 'i>(
        &mut self,
        fields: &'a DeTable<'i>,
        key: &str,
        name: &str,
    ) -> Vec<(Range<usize>, &'a DeTable<'i>)> {
        let mut tables = Vec::new();
        let Some(value) = fields.get(key) else {
            return tables;
        };
        let DeValue::Array(list) = value.get_ref() else {
            let what = format!("\"{key}\" is not a list; write [[{name}]]");
            self.mistake(value.span(), what);
            return tables;
        };
        for entry in list.iter() {
            match entry.get_ref() {
                DeValue::Table(table) => tables.push((entry.span(), table)),
                _ => {
                    let what = format!("a {key} is not a table; write [[{name}]]");
                    self.mistake(entry.span(), what);
                }
            }
        }
        tables
    }

    /// The entries of the table under `key`, in the order of names; none without the key.
    pub fn entries<'a, 'i>(
        &mut self,
        fields: &'a DeTable<'i>,
        key: &str,
    ) -> Vec<(Placed, &'a Spanned<DeValue<'i>>)> {
        let Some(value) = fields.get(key) else {
            return Vec::new();
        };
        let DeValue::Table(table) = value.get_ref() else {
            let what = format!("\"{key}\" is not a table; write [{key}] and a line for each name");
            self.mistake(value.span(), what);
            return Vec::new();
        };
        let entries = table.iter();
        let placed =
            entries.map(|(name, value)| ((name.span(), name.get_ref().to_string()), value));
        placed.collect()
    }

    /// The text under `key`, which `what`, at `at`, has to have.
    pub fn text(
        &mut self,
        at: &Range<usize>,
        what: &str,
        fields: &DeTable<'_>,
        key: &str,
    ) -> Option<Placed> {
        if fields.get(key).is_none() {
            self.mistake(at.clone(), format!("the {what} has no \"{key}\""));
        }
        self.text_if_any(fields, key)
    }

    /// The text under `key`; `None` without the key, or when the value is no text.
    pub fn text_if_any(&mut self, fields: &DeTable<'_>, key: &str) -> Option<Placed> {
        let value = fields.get(key)?;
        self.as_text(key, value)
    }

    /// `value`, of the key `key`, as a text that is not empty.
    pub fn as_text(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Placed> {
        match value.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => {
                return Some((value.span(), text.to_string()));
            }
            DeValue::String(_) => self.mistake(value.span(), format!("\"{key}\" is empty")),
            other => {
                let what = format!("\"{key}\" is not text but {}", other.type_str());
                self.mistake(value.span(), what);
            }
        }
        None
    }

    /// The texts under `key`: one, or a list. None without the key.
    pub fn texts(&mut self, fields: &DeTable<'_>, key: &str) -> Vec<Placed> {
        match fields.get(key) {
            None => Vec::new(),
            Some(value) => self.as_texts(key, value),
        }
    }

    /// `value`, of the key `key`, as one text or a list of texts.
    pub fn as_texts(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Vec<Placed> {
        let DeValue::Array(list) = value.get_ref() else {
            return self.as_text(key, value).into_iter().collect();
        };
        if list.is_empty() {
            self.mistake(value.span(), format!("\"{key}\" is empty"));
        }
        let texts = list.iter().filter_map(|entry| self.as_text(key, entry));
        texts.collect()
    }

    /// Whether `key` is there and true; `key = false` is a mistake, as leaving it out says that.
    pub fn flag(&mut self, fields: &DeTable<'_>, key: &str) -> bool {
        let Some(value) = fields.get(key) else {
            return false;
        };
        let set = matches!(value.get_ref(), DeValue::Boolean(true));
        if !set {
            self.mistake(
                value.span(),
                format!("\"{key}\" can only be true; leave it out otherwise"),
            );
        }
        set
    }
}

/// The number that is written as one; `None` for anything else.
pub(crate) fn plain_number(value: &DeValue<'_>) -> Option<f64> {
    let number: f64 = match value {
        DeValue::Integer(integer) if integer.radix() == 10 => {
            integer.as_str().replace('_', "").parse().ok()?
        }
        DeValue::Float(float) => float.as_str().replace('_', "").parse().ok()?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

/// "; did you mean x?" when one of `words` looks like `wrong`, or else nothing.
pub(crate) fn near<'a>(wrong: &str, words: impl IntoIterator<Item = &'a str>) -> String {
    const ALIKE: f64 = 0.6;
    let scored = words.into_iter().map(|word| {
        let score = strsim::normalized_damerau_levenshtein(word, wrong);
        (score, word)
    });
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0));
    match best {
        Some((score, word)) if score >= ALIKE => format!("; did you mean \"{word}\"?"),
        _ => String::new(),
    }
}
