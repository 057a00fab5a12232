//! One claim of a paper.

use crate::statement::Statement;
use domio_answer::texts;
use std::sync::Arc;

/// How a claim is decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimKind {
    /// A printed figure; holds within the tolerance.
    Value,
    /// Stays under or over a printed limit.
    Bound,
    /// A comparison that must hold beyond the 95 % confidence interval.
    Order,
    /// A described behaviour over time or over a parameter.
    Shape,
}

texts! {
    ClaimKind: |kind| kind.name().into(),
        |text, _| ClaimKind::ALL.into_iter().find(|kind| kind.name() == text);
}

impl ClaimKind {
    /// All four, in the order of the file's documentation.
    pub const ALL: [ClaimKind; 4] = [
        ClaimKind::Value,
        ClaimKind::Bound,
        ClaimKind::Order,
        ClaimKind::Shape,
    ];

    /// The word in the file.
    pub const fn name(self) -> &'static str {
        match self {
            ClaimKind::Value => "value",
            ClaimKind::Bound => "bound",
            ClaimKind::Order => "order",
            ClaimKind::Shape => "shape",
        }
    }
}

/// One testable statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Claim {
    /// Stable name: words joined by dots, the paper first ("ongaro.test1.sedf").
    pub id: String,
    /// Figure, table or section.
    pub place: String,
    /// What is run, for people.
    pub experiment: String,
    /// How it is decided.
    pub kind: ClaimKind,
    /// The figure with its unit, or the comparison, for people.
    pub expect: String,
    /// The statement in a few words, of a claim that the paper is known for and that few
    /// replications decide; `None` for all others. `domio reproduce` decides these unless more is
    /// asked for.
    pub headline: Option<String>,
    /// How far a [`ClaimKind::Value`] may be off; `None` for the other kinds.
    pub tolerance: Option<String>,
    /// The checks that decide it; `None` when it is not implemented.
    pub statement: Option<Arc<Statement>>,
}

impl Claim {
    /// The paper: the first word of the id.
    pub fn paper(&self) -> &str {
        self.id.split('.').next().unwrap_or(&self.id)
    }

    /// What the paper says, in a few words where there are such.
    pub fn statement_in_short(&self) -> &str {
        self.headline.as_deref().unwrap_or(&self.expect)
    }

    /// Whether `prefix` is the id, or its first words: "ongaro.test1" selects "ongaro.test1.sedf"
    /// and not "ongaro.test12.sedf".
    pub fn has_prefix(&self, prefix: &str) -> bool {
        match self.id.strip_prefix(prefix) {
            Some(rest) => rest.is_empty() || rest.starts_with('.'),
            None => false,
        }
    }
}
