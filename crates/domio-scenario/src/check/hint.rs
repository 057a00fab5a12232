//! What to do about a value that was refused, from the declaration of its key: an example that
//! would be accepted, and what the key means.

use super::words;
use crate::parts::Parts;
use domio_core::ParamKind;
use domio_core::keys::{Key, KeyKind, Need};

/// A value that `key` takes, with its meaning.
pub(super) fn of_key(key: &Key, parts: &Parts) -> String {
    let value = match value(key, parts) {
        Ok(value) => value,
        Err(where_to) => return where_to,
    };
    let is_default = !matches!(key.need, Need::Required | Need::Optional(_));
    hint(&key.written(), &value, is_default, key.doc)
}

/// The example in the hint for `key`, as `key = value`; none where the key is a table's.
pub(crate) fn example_of(key: &Key, parts: &Parts) -> Option<String> {
    let value = value(key, parts).ok()?;
    Some(format!("{} = {value}", key.written()))
}

/// A value that `key` takes, or else where to write its table.
fn value(key: &Key, parts: &Parts) -> Result<String, String> {
    let written = key.written();
    Ok(match key.kind {
        KeyKind::Section(s) | KeyKind::OneOrMore(s) => {
            return Err(format!("write {} with its keys below it", s.header));
        }
        KeyKind::Sections(s) => {
            return Err(format!(
                "write {} for each one, with its keys below it",
                s.header
            ));
        }
        KeyKind::Word(words) | KeyKind::WordOrTable(words, _) => match key.need {
            Need::Word(word) => format!("\"{word}\""),
            _ => format!("\"{}\"", words::all(words, parts).first().unwrap_or(&"")),
        },
        KeyKind::Time { unit, .. } | KeyKind::Lengths { unit, .. } => match key.need {
            Need::TimeNs(ns) => ns_in(ns, unit),
            _ => "10".to_owned(),
        },
        KeyKind::Number(kind) => match (kind, key.need) {
            (ParamKind::Int { .. }, Need::Int(default)) => default.to_string(),
            (ParamKind::Int { min, .. }, _) => min.max(1).to_string(),
            (ParamKind::Flag, need) => matches!(need, Need::Int(1)).to_string(),
            (ParamKind::Choice(words), Need::Int(default)) => {
                format!("\"{}\"", words[default as usize])
            }
            (ParamKind::Choice(words), _) => format!("\"{}\"", words.first().unwrap_or(&"")),
        },
        KeyKind::Text | KeyKind::Texts => "\"some text\"".to_owned(),
        KeyKind::Figure | KeyKind::Any => "0.5".to_owned(),
        KeyKind::AnyTable => return Err(format!("write the table [{written}]")),
        KeyKind::Figures => "[1, 2]".to_owned(),
        KeyKind::TextsOrTables(_) => "\"a name\"".to_owned(),
        KeyKind::ByName(inner) => {
            return Err(format!("write [{written}], and `{}` for each", inner.name));
        }
        KeyKind::Name | KeyKind::DomainName => "\"g1\"".to_owned(),
        KeyKind::Bytes { min, max } => match key.need {
            Need::Word(word) => format!("\"{word}\""),
            _ if (min..=max).contains(&(1 << 30)) => "\"1G\"".to_owned(),
            _ => format!("{max}"),
        },
        KeyKind::Pcpus | KeyKind::VcpuPins => "[0]".to_owned(),
        KeyKind::Vcpu => "0".to_owned(),
        KeyKind::LineRate { .. } => "\"1G\"".to_owned(),
        KeyKind::Form(form) => format!("\"{}\"", form.example),
    })
}

fn hint(key: &str, example: &str, is_default: bool, doc: &str) -> String {
    let default = if is_default { ", the default" } else { "" };
    let example = format!("for example `{key} = {example}`{default}");
    match meaning(doc) {
        // "When." says no more than the key itself.
        word if !word.contains(' ') => example,
        meaning => format!("{example}. {meaning}"),
    }
}

/// The first sentence of `doc`, without its full stop and without the source in brackets.
fn meaning(doc: &str) -> &str {
    let first = doc.split(". ").next().unwrap_or(doc);
    let first = first.strip_suffix('.').unwrap_or(first);
    match first.rsplit_once(" (") {
        Some((sentence, source)) if source.find(')') == Some(source.len() - 1) => sentence,
        _ => first,
    }
}

/// `ns` nanoseconds as a number of `unit`s, which divide them.
fn ns_in(ns: u64, unit: &str) -> String {
    let length = crate::amount::UNITS.iter().find(|(name, _)| *name == unit);
    (ns / length.map_or(1, |(_, ns)| *ns)).to_string()
}
