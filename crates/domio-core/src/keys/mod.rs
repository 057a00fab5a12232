//! Declared keys: what can be written in a table of a scenario, and where the value goes.
//!
//! A key is declared once, by whoever reads the key. The declaration has name, range, default and
//! meaning, and it is a field of a structure at the same time:
//!
//! ```text
//! keys! {
//!     /// How long.
//!     struct Run {
//!         duration: Duration = time("s", 1), Need::Required, "Time that is measured.";
//!         warmup: Duration = time("s", 0), Need::TimeNs(0), "Time before that.";
//!     }
//! }
//!
//! static RUN: KeySection = KeySection::plain("[run]", "Length of the run.", Run::KEYS);
//! ```
//!
//! `Run::read` fills the structure from a table that was checked. A key that nobody reads is a
//! field that nobody reads, of which the compiler warns. A reader of a key that is not declared
//! does not compile. A word of several ([`WordOf`]) has what it stands for beside it.
//!
//! | file | holds |
//! |---|---|
//! | `mod` | [`Key`], [`KeySection`], [`KeyVariant`]: what checks, schema and reference page walk |
//! | `words` | words to choose from, and what each stands for |
//! | `typed` | kinds of keys with the type of their values |
//! | `read` | [`Slot`], [`Keys`]: from a table to a structure; [`times!`](crate::times!) |
//! | `declare` | the macro `keys!`, a module of each crate that declares keys |
//! | `mistake` | [`Mistake`], what can be wrong, with its place |
//! | `names` | [`TableNames`], by which other keys choose a table |
//! | `table` | [`KeyTable`], [`Checker`], [`KeyReader`]: tables under check and who checks them |

mod declare;
mod mistake;
mod names;
mod read;
mod table;
mod typed;
mod words;

pub use mistake::{Code, KeyPlace, Mistake, Named, Span, list, path_in, quote};
pub use names::{NamedTables, TableNames};
pub use read::{Distribution, Given, Good, Keys, Slot, VcpuPins};
pub use table::{Checker, KeyEntry, KeyReader, KeyTable, number};
pub use typed::{
    Nested, Typed, affinity, any, any_table, by_name, bytes, domain_name, figure, figures, flag,
    form, int, lengths, line_rate, name, nested, nested_any, nested_list, pcpus, text, texts,
    texts_or_tables, time, vcpu, word, word_or_table, word_text, word_text_or_table,
};
pub use words::{JoinedWords, WordList, WordOf, Words};

use crate::params::{ParamKind, ParamSpec};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

/// A table of the document.
pub struct KeySection {
    /// As it is written (`[run]`), for messages and headings.
    pub header: &'static str,
    /// What it holds.
    pub doc: &'static str,
    /// Keys that are always allowed.
    pub keys: &'static [Key],
    /// The key whose word decides which of `variants` adds its keys.
    pub selector: Option<&'static str>,
    /// Further keys, by the selector's word.
    pub variants: Words,
    /// Whose declared parameters are keys here too.
    pub params: KeyParams,
}

/// Keys that come with one word of a selector.
#[derive(Clone, Copy)]
pub struct KeyVariant {
    /// The word.
    pub word: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// The keys.
    pub keys: &'static [Key],
    /// Whose declared parameters are keys with them.
    pub params: KeyParams,
}

/// Declared parameters that are keys of a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyParams {
    /// Nobody's.
    None,
    /// Those of the policy.
    Policy,
    /// Those that the policy has for each domain. In a section of its own, as `[[domain]]` is,
    /// those that the scenario's controllers have for each domain, too.
    Domain,
    /// Those that the policy has for each vcpu.
    Vcpu,
    /// Those that the policy has for each group of domains.
    Group,
    /// Those of the policy that can change in a run.
    Changeable,
    /// Those of the controller that the table names.
    Controller,
}

/// One key.
#[derive(Clone, Copy)]
pub struct Key {
    /// Name; without its unit for times.
    pub name: &'static str,
    /// Unit of a number for people, empty for none.
    pub unit: &'static str,
    /// What it holds.
    pub kind: KeyKind,
    /// Whether it must be there.
    pub need: Need,
    /// Meaning, in sentences.
    pub doc: &'static str,
}

/// What a key holds.
#[derive(Clone, Copy)]
pub enum KeyKind {
    /// Any text.
    Text,
    /// A name of something.
    Name,
    /// What is stored as a whole number: a number, a flag, one of some values.
    Number(ParamKind),
    /// A time: the key ends in `_s`, `_ms`, `_us` or `_ns`.
    Time {
        /// The usual unit.
        unit: &'static str,
        /// Shortest, in nanoseconds.
        min_ns: u64,
    },
    /// A time that may be drawn: either a time (then the key ends in its unit), or, without a
    /// unit, a table that describes a distribution.
    Lengths {
        /// The usual unit.
        unit: &'static str,
        /// Shortest of constant ones, in nanoseconds.
        min_ns: u64,
    },
    /// One of several words.
    Word(Words),
    /// A number of bytes: a number, or a text such as `64K`, in powers of 1024.
    Bytes {
        /// Fewest.
        min: u64,
        /// Most.
        max: u64,
    },
    /// A set of pcpus: an array of numbers, or `xl`'s notation.
    Pcpus,
    /// Pcpus of all vcpus of a domain as in `Pcpus`, or an array of texts in `xl`'s notation, one a
    /// vcpu.
    VcpuPins,
    /// Index of a vcpu, or `"all"`.
    Vcpu,
    /// How fast a line sends, in bit/s: a number, or a text such as `1G`.
    LineRate {
        /// Slowest.
        min: u64,
        /// Fastest.
        max: u64,
    },
    /// A text in a notation of its own.
    Form(&'static Form),
    /// The name of a domain or of a group of domains.
    DomainName,
    /// One of several words, or a table.
    WordOrTable(Words, &'static KeySection),
    /// A table.
    Section(&'static KeySection),
    /// Any number of tables.
    Sections(&'static KeySection),
    /// One table, or an array of several.
    OneOrMore(&'static KeySection),
    /// A text, or a list of some, none of them empty.
    Texts,
    /// A number with or without a fraction, or a text that stands for one.
    Figure,
    /// A list of such numbers.
    Figures,
    /// What [`KeyKind::Texts`] holds, or any number of tables.
    TextsOrTables(&'static KeySection),
    /// A table with names of the writer's own, at each of which is what this key holds.
    ByName(&'static Key),
    /// Any value but a date, for a reader that has rules of its own.
    Any,
    /// Any table.
    AnyTable,
}

/// Heading of the document itself, which is written nowhere.
pub const TOP_LEVEL: &str = "(top level)";

/// A notation of texts.
pub struct Form {
    /// A text in the notation, for people and hints: `10Mb/s`.
    pub example: &'static str,
    /// More of them, for the reference page.
    pub range: &'static str,
    /// What is expected, for people.
    pub expected: &'static str,
    /// How the notation goes, for whoever broke it.
    pub hint: &'static str,
    /// A regular expression that texts match.
    pub pattern: &'static str,
    /// Why a text is none, if it is none.
    pub check: fn(&str) -> Result<(), String>,
}

/// Whether a key must be there, and what holds when it is not.
#[derive(Clone, Copy)]
pub enum Need {
    /// It must.
    Required,
    /// Says what happens without it.
    Optional(&'static str),
    /// This number.
    Int(i64),
    /// This time, in nanoseconds.
    TimeNs(u64),
    /// This word, or number of bytes, or rate, as it is written.
    Word(&'static str),
}

impl KeySection {
    /// A table that always has the same keys.
    pub const fn plain(
        header: &'static str,
        doc: &'static str,
        keys: &'static [Key],
    ) -> KeySection {
        let params = KeyParams::None;
        KeySection::with_params(header, doc, keys, params)
    }

    /// A table with the declared parameters of somebody among its keys.
    pub const fn with_params(
        header: &'static str,
        doc: &'static str,
        keys: &'static [Key],
        params: KeyParams,
    ) -> KeySection {
        KeySection {
            header,
            doc,
            keys,
            selector: None,
            variants: Words::Of(words::NO_WORDS),
            params,
        }
    }

    /// The same table with further keys by the word at `selector`.
    #[must_use]
    pub const fn by(self, selector: &'static str, variants: Words) -> KeySection {
        KeySection {
            selector: Some(selector),
            variants,
            ..self
        }
    }
}

impl KeyVariant {
    /// A word with further keys.
    pub const fn new(word: &'static str, doc: &'static str, keys: &'static [Key]) -> KeyVariant {
        KeyVariant {
            word,
            doc,
            keys,
            params: KeyParams::None,
        }
    }
}

impl Key {
    /// A key without a unit for people.
    pub const fn new(name: &'static str, kind: KeyKind, need: Need, doc: &'static str) -> Key {
        Key {
            name,
            unit: "",
            kind,
            need,
            doc,
        }
    }

    /// The key of a declared parameter.
    pub const fn of(spec: &ParamSpec) -> Key {
        Key {
            name: spec.name,
            unit: spec.unit,
            kind: KeyKind::Number(spec.kind),
            need: Need::Int(spec.default),
            doc: spec.doc,
        }
    }

    /// The key as it is usually written, with its unit.
    pub fn written(&self) -> String {
        match self.kind {
            KeyKind::Time { unit, .. } | KeyKind::Lengths { unit, .. } => {
                format!("{}_{unit}", self.name)
            }
            _ => self.name.to_owned(),
        }
    }

    /// Whether the key ends in a unit of time.
    pub const fn has_unit(&self) -> bool {
        matches!(self.kind, KeyKind::Time { .. } | KeyKind::Lengths { .. })
    }
}

impl KeyKind {
    /// The section that its value is one or more tables of, if it is of tables alone.
    pub const fn section(&self) -> Option<&'static KeySection> {
        match self {
            KeyKind::Section(s) | KeyKind::Sections(s) | KeyKind::OneOrMore(s) => Some(s),
            KeyKind::TextsOrTables(s) => Some(s),
            KeyKind::ByName(key) => key.kind.section(),
            _ => None,
        }
    }
}
