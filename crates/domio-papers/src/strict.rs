//! What files of papers have in common: mistakes in them, and texts that say something.

use domio_core::keys::Form;
use domio_scenario::ScenarioErrors;
use std::fmt;

/// Every mistake in a file of claims, in the order of the text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct ClaimsError {
    /// What is wrong, each with file and line before it; at least one.
    pub mistakes: Vec<String>,
}

impl fmt::Display for ClaimsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.mistakes.join("\n"))
    }
}

impl From<ScenarioErrors> for ClaimsError {
    fn from(errors: ScenarioErrors) -> Self {
        let lines = errors.to_string();
        ClaimsError {
            mistakes: lines.lines().map(str::to_owned).collect(),
        }
    }
}

/// Texts that say something.
pub(crate) static SAID: Form = Form {
    example: "some words",
    range: "",
    expected: "a string that is not empty",
    hint: "say it in some words",
    pattern: r"\S",
    check: |text| said(text).map(|_| ()),
};

/// `text`, which is not empty.
pub(crate) fn said(text: &str) -> Result<String, String> {
    match text.trim().is_empty() {
        true => Err("the text is empty".to_owned()),
        false => Ok(text.to_owned()),
    }
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
