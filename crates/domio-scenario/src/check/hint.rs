//! What to do about a value that was refused, from the declaration of its key: an example that
//! would be accepted, and what the key means.

use super::words;
use crate::parts::Parts;
use domio_core::ParamKind;
use domio_core::keys::{Key, KeyKind, Need};

/// A value that `key` takes, with its meaning.
pub(super) fn of_key(key: &Key, parts: &Parts) -> String {
    let written = key.written();
    let example = match key.kind {
        KeyKind::Section(s) | KeyKind::OneOrMore(s) => {
            return format!("write {} with its keys below it", s.header);
        }
        KeyKind::Sections(s) => {
            return format!("write {} for each one, with its keys below it", s.header);
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
        KeyKind::AnyTable => return format!("write the table [{written}]"),
        KeyKind::Figures => "[1, 2]".to_owned(),
        KeyKind::TextsOrTables(_) => "\"a name\"".to_owned(),
        KeyKind::ByName(inner) => {
            return format!("write [{written}], and `{}` for each", inner.name);
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
    };
    let is_default = !matches!(key.need, Need::Required | Need::Optional(_));
    hint(&written, &example, is_default, key.doc)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amount::split_unit;
    use crate::check::{Cx, value};
    use crate::resolve::ROOT;
    use crate::source::Source;
    use crate::value::{self as toml, Node};
    use crate::walk;
    use domio_core::keys::Good;
    use std::sync::Arc;

    #[test]
    fn a_meaning_is_one_sentence_without_its_source() {
        let credit = "Share of time (xl sched-credit -w).";
        assert_eq!(meaning(credit), "Share of time");
        assert_eq!(
            meaning("Xen's domid, unique. Members"),
            "Xen's domid, unique"
        );
        let inside = "Receive buffer (bytes): what may be sent.";
        assert_eq!(meaning(inside), "Receive buffer (bytes): what may be sent");
    }

    #[test]
    fn defaults_are_whole_numbers_of_their_unit() {
        assert_eq!(ns_in(20_000, "us"), "20");
        assert_eq!(ns_in(200_000_000, "ms"), "200");
    }

    /// What is between the first two backquotes of `hint`: `key = value`.
    fn example(hint: &str) -> String {
        hint.split('`').nth(1).expect(hint).to_owned()
    }

    /// `example` as a document, and the value in it.
    fn read(example: &str) -> (Arc<Source>, Node) {
        let source = Source::new("test".to_owned(), example.to_owned(), false);
        let (root, errors) = toml::read(0, example);
        assert!(errors.is_empty(), "{example}");
        let table = root.as_table().expect("a table");
        (Arc::new(source), table.entries[0].node.clone())
    }

    #[test]
    fn every_example_is_accepted_where_it_is_proposed() {
        let parts = Parts::from(domio_sched::policies());
        let mut tried = 0;
        let mut accepted = |example: &str, check: &dyn Fn(&mut Cx<'_>, &Node) -> bool| {
            let (source, node) = read(example);
            let sources = [source];
            let mut cx = Cx::new(&parts, &sources, &[]);
            assert!(check(&mut cx, &node) && cx.problems.is_empty(), "{example}");
            tried += 1;
        };
        for key in walk::sections(&parts, &ROOT)
            .into_iter()
            .flat_map(|s| walk::keys(&parts, s))
        {
            if key.kind.section().is_some() {
                continue;
            }
            let example = example(&of_key(key, &parts));
            let unit = key.has_unit().then(|| {
                let written = example.split(' ').next().expect("a key");
                split_unit(written).expect("a unit").1
            });
            accepted(&example, &|cx, node| {
                value::key(cx, key, unit, node, key.name).is_some()
            });
        }
        for policy in parts.policies() {
            let d = policy.descriptor;
            for spec in d.params.iter().chain(d.domain_params) {
                let key = Key::of(spec);
                accepted(&example(&of_key(&key, &parts)), &|cx, node| {
                    value::key(cx, &key, None, node, spec.name) == Some(Good::Int(spec.default))
                });
            }
        }
        assert!(tried > 80, "{tried} examples");
    }
}
