//! Kinds of keys with the type of their values.

use super::read::{Distribution, Good, VcpuPins};
use super::{Form, Key, KeyKind, KeySection, WordOf, Words};
use crate::params::ParamKind;
use crate::{CpuSet, Duration};
use alloc::string::String;
use alloc::vec::Vec;

/// A kind of key whose values are of the type `T`.
pub struct Typed<T: 'static> {
    /// The kind.
    pub kind: KeyKind,
    how: How<T>,
}

/// How a good value becomes one of the type.
enum How<T: 'static> {
    Plain(fn(&Good) -> Option<T>),
    Word(&'static [WordOf<T>]),
    Form(fn(&str) -> Result<T, String>),
}

/// Stands for tables, which whoever understands them reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nested;

impl<T: Clone> Typed<T> {
    /// What `good`, a value of this kind, is.
    pub(super) fn of(&self, good: &Good) -> Option<T> {
        match (&self.how, good) {
            (How::Plain(read), good) => read(good),
            (How::Word(list), Good::Text(word)) => WordOf::find(list, word).cloned(),
            (How::Form(read), Good::Text(text)) => read(text).ok(),
            (How::Word(_) | How::Form(_), _) => None,
        }
    }
}

const fn plain<T>(kind: KeyKind, read: fn(&Good) -> Option<T>) -> Typed<T> {
    let how = How::Plain(read);
    Typed { kind, how }
}

fn as_text(good: &Good) -> Option<String> {
    match good {
        Good::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// Any text.
pub const fn text() -> Typed<String> {
    plain(KeyKind::Text, as_text)
}

/// A text, or a list of some.
pub const fn texts() -> Typed<Vec<String>> {
    plain(KeyKind::Texts, |good| match good {
        Good::Texts(texts) => Some(texts.clone()),
        _ => None,
    })
}

/// A number, or a text that stands for one: as a text.
pub const fn figure() -> Typed<String> {
    plain(KeyKind::Figure, as_text)
}

/// A list of numbers, or of texts that stand for some: as texts.
pub const fn figures() -> Typed<Vec<String>> {
    Typed {
        kind: KeyKind::Figures,
        ..texts()
    }
}

/// A name.
pub const fn name() -> Typed<String> {
    plain(KeyKind::Name, as_text)
}

/// The name of a domain or of a group of domains.
pub const fn domain_name() -> Typed<String> {
    plain(KeyKind::DomainName, as_text)
}

/// A whole number from `min` to `max`, both of which the type holds.
pub const fn int<T: TryFrom<i64>>(min: i64, max: i64) -> Typed<T> {
    let or_zero = false;
    let kind = KeyKind::Number(ParamKind::Int { min, max, or_zero });
    plain(kind, |good| match good {
        Good::Int(number) => T::try_from(*number).ok(),
        _ => None,
    })
}

/// True or false.
pub const fn flag() -> Typed<bool> {
    plain(KeyKind::Number(ParamKind::Flag), |good| match good {
        Good::Int(number) => Some(*number != 0),
        _ => None,
    })
}

/// A time of at least `min_ns` nanoseconds, usually written in `unit`.
pub const fn time(unit: &'static str, min_ns: u64) -> Typed<Duration> {
    plain(KeyKind::Time { unit, min_ns }, |good| match good {
        Good::Time(time) => Some(*time),
        _ => None,
    })
}

/// A time that may be drawn; a constant one has at least `min_ns` nanoseconds.
pub const fn lengths(unit: &'static str, min_ns: u64) -> Typed<Distribution> {
    plain(KeyKind::Lengths { unit, min_ns }, |good| match good {
        Good::Lengths(lengths) => Some(*lengths),
        _ => None,
    })
}

/// A number of bytes from `min` to `max`, both of which the type holds.
pub const fn bytes<T: TryFrom<u64>>(min: u64, max: u64) -> Typed<T> {
    plain(KeyKind::Bytes { min, max }, |good| match good {
        Good::Count(bytes) => T::try_from(*bytes).ok(),
        _ => None,
    })
}

/// How fast a line sends, in bit/s.
pub const fn line_rate(min: u64, max: u64) -> Typed<u64> {
    plain(KeyKind::LineRate { min, max }, |good| match good {
        Good::Count(rate) => Some(*rate),
        _ => None,
    })
}

/// A set of pcpus.
pub const fn pcpus() -> Typed<CpuSet> {
    plain(KeyKind::Pcpus, |good| match good {
        Good::Pcpus(set) => Some(*set),
        _ => None,
    })
}

/// Pcpus of all vcpus of a domain, or of each.
pub const fn affinity() -> Typed<VcpuPins> {
    plain(KeyKind::VcpuPins, |good| match good {
        Good::VcpuPins(affinity) => Some(affinity.clone()),
        _ => None,
    })
}

/// Index of a vcpu; none for all of them.
pub const fn vcpu() -> Typed<Option<u16>> {
    plain(KeyKind::Vcpu, |good| match good {
        Good::Vcpu(vcpu) => Some(*vcpu),
        _ => None,
    })
}

/// What one of the words of `list` stands for.
pub const fn word<V: Sync, const N: usize>(list: &'static [WordOf<V>; N]) -> Typed<V> {
    Typed {
        kind: KeyKind::Word(Words::Of(list)),
        how: How::Word(list),
    }
}

/// One of `words`, as it is written.
pub const fn word_text(words: Words) -> Typed<String> {
    plain(KeyKind::Word(words), as_text)
}

/// What one of the words of `list` stands for, or a table of `section`, which gives no value here.
pub const fn word_or_table<V: Sync, const N: usize>(
    list: &'static [WordOf<V>; N],
    section: &'static KeySection,
) -> Typed<V> {
    Typed {
        kind: KeyKind::WordOrTable(Words::Of(list), section),
        how: How::Word(list),
    }
}

/// One of `words`, as it is written, or a table of `section`, which gives no value here.
pub const fn word_text_or_table(words: Words, section: &'static KeySection) -> Typed<String> {
    plain(KeyKind::WordOrTable(words, section), as_text)
}

/// A text in a notation, and what reads it.
pub const fn form<T>(form: &'static Form, read: fn(&str) -> Result<T, String>) -> Typed<T> {
    Typed {
        kind: KeyKind::Form(form),
        how: How::Form(read),
    }
}

const fn tables(kind: KeyKind) -> Typed<Nested> {
    plain(kind, |good| matches!(good, Good::Nested).then_some(Nested))
}

/// A table.
pub const fn nested(section: &'static KeySection) -> Typed<Nested> {
    tables(KeyKind::Section(section))
}

/// Any number of tables.
pub const fn nested_list(section: &'static KeySection) -> Typed<Nested> {
    tables(KeyKind::Sections(section))
}

/// Names of the writer's own, with what `key` holds at each.
pub const fn by_name(key: &'static Key) -> Typed<Nested> {
    tables(KeyKind::ByName(key))
}

/// A text, a list of some, or any number of tables.
pub const fn texts_or_tables(section: &'static KeySection) -> Typed<Nested> {
    tables(KeyKind::TextsOrTables(section))
}

/// Any value, as its TOML: for a reader that has rules of its own.
pub const fn any() -> Typed<String> {
    plain(KeyKind::Any, as_text)
}

/// Any table, as its TOML.
pub const fn any_table() -> Typed<String> {
    plain(KeyKind::AnyTable, as_text)
}

/// A table, or any number of them.
pub const fn nested_any(section: &'static KeySection) -> Typed<Nested> {
    tables(KeyKind::OneOrMore(section))
}
