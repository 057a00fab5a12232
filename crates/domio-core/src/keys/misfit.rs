//! What whoever declares keys can say about them beyond ranges.

use super::{Given, KeySection, Nested, Slot, Words};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;

/// A table under check, as whoever declares its keys reads it.
pub trait KeyReader: Given {
    /// The tables at `slot`, checked against `section`.
    fn tables(
        &mut self,
        slot: &Slot<Nested>,
        section: &'static KeySection,
    ) -> Vec<Box<dyn Given + '_>>;

    /// How many tables there are at `slot`.
    fn count(&self, slot: &Slot<Nested>) -> usize;

    /// The parts of the program that scenarios name by `words`, as their own crates declare them
    /// ([`Any::downcast_ref`]); none for words that stand for no parts.
    fn parts(&self, words: Words) -> Vec<&'static (dyn Any + Send + Sync)>;

    /// Tells what is wrong. The scenario is refused then.
    fn tell(&mut self, misfit: Misfit);
}

/// Which sort of mistake it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MisfitKind {
    /// Values that are allowed one by one but not together.
    Conflict,
    /// More than there can be.
    Limit,
}

/// A key whose value is in its range and yet cannot stay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misfit {
    /// Which sort of mistake it is.
    pub kind: MisfitKind,
    /// Name of the key that is to blame.
    pub key: &'static str,
    /// Whether the key itself is to blame, whatever its value.
    pub at_key: bool,
    /// What is wrong, as a sentence without a full stop.
    pub problem: String,
    /// What was found; empty when the key itself is to blame.
    pub found: String,
    /// What would be right.
    pub expected: String,
    /// What to do about it.
    pub hint: String,
    /// Name of another key that matters, and what that is.
    pub related: Option<(&'static str, &'static str)>,
}

impl Misfit {
    /// The value `found` of `slot` is wrong.
    pub fn value<T>(kind: MisfitKind, slot: &Slot<T>, found: impl Into<String>) -> Self {
        Misfit {
            kind,
            key: slot.name,
            at_key: false,
            problem: String::new(),
            found: found.into(),
            expected: String::new(),
            hint: String::new(),
            related: None,
        }
    }

    /// The key of `slot` is where it cannot be.
    pub fn key<T>(slot: &Slot<T>) -> Self {
        Misfit {
            at_key: true,
            ..Misfit::value(MisfitKind::Conflict, slot, "")
        }
    }

    /// The same, saying what is wrong, what would be right, and what to do about it.
    #[must_use]
    pub fn says(
        self,
        problem: impl Into<String>,
        expected: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Misfit {
            problem: problem.into(),
            expected: expected.into(),
            hint: hint.into(),
            ..self
        }
    }

    /// The same with another key that matters, and what that is.
    #[must_use]
    pub fn with<T>(self, slot: &Slot<T>, what: &'static str) -> Self {
        let related = Some((slot.name, what));
        Misfit { related, ..self }
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
