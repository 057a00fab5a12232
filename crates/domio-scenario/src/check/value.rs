//! Checks one value against what its key holds.

use super::cx::Cx;
use super::refused::{comma_hint, no_quotes_hint, out_of_range, quotes_hint, wrong};
use super::{lengths, words};
use crate::amount::{self, BadTime, UNITS};
use crate::inline::inline;
use crate::limits::MAX_VCPUS;
use crate::rate;
use crate::suggest::did_you_mean;
use crate::value::{Node, Value};
use domio_core::cpuset::MAX_PCPUS;
use domio_core::keys::{Code, Mistake, list, path_in, quote};
use domio_core::keys::{Form, Good, Key, KeyKind, KeySection, Need, VcpuPins, Words};
use domio_core::{CpuSet, Duration, ParamKind, PcpuId, XenVersion};

/// The value of `key` in `node`, if it is good. `unit` is the length of the unit that the key was
/// written with.
pub(crate) fn key(
    cx: &mut Cx<'_>,
    key: &Key,
    unit: Option<u64>,
    node: &Node,
    path: &str,
) -> Option<Good> {
    match key.kind {
        KeyKind::Text => text(cx, node, path, "a string").map(Good::Text),
        KeyKind::Name | KeyKind::DomainName => name(cx, node, path).map(Good::Text),
        KeyKind::Number(kind) => number(cx, key, kind, node, path).map(Good::Int),
        KeyKind::Time {
            unit: usual,
            min_ns,
        } => time(cx, node, path, usual, unit.unwrap_or(1), min_ns).map(Good::Time),
        KeyKind::Lengths {
            unit: usual,
            min_ns,
        } => lengths::lengths(cx, key, node, path, usual, unit, min_ns).map(Good::Lengths),
        KeyKind::Word(words) => word(cx, node, path, words).map(Good::Text),
        KeyKind::Bytes { min, max } => bytes(cx, node, path, min, max).map(Good::Count),
        KeyKind::Pcpus => pcpus(cx, node, path).map(Good::Pcpus),
        KeyKind::VcpuPins => affinity(cx, node, path).map(Good::VcpuPins),
        KeyKind::Vcpu => vcpu(cx, node, path).map(Good::Vcpu),
        KeyKind::LineRate { min, max } => line_rate(cx, node, path, min, max).map(Good::Count),
        KeyKind::Form(form) => in_form(cx, node, path, form).map(Good::Text),
        KeyKind::WordOrTable(words, _) => word_or_table(cx, node, path, words),
        KeyKind::Sections(section) => tables(cx, node, path, section.header),
        KeyKind::OneOrMore(section) if matches!(node.value, Value::Array(_)) => {
            tables(cx, node, path, section.header)
        }
        KeyKind::Section(section) | KeyKind::OneOrMore(section) => table(cx, node, path, section),
        KeyKind::Texts => texts(cx, node, path).map(Good::Texts),
        KeyKind::Figure => figure(cx, node, path).map(Good::Text),
        KeyKind::Figures => figures(cx, node, path).map(Good::Texts),
        KeyKind::TextsOrTables(section) => match &node.value {
            Value::Array(items) if items.iter().any(|item| item.as_table().is_some()) => {
                tables(cx, node, path, section.header)
            }
            Value::Table(_) => table(cx, node, path, section),
            _ => texts(cx, node, path).map(|_| Good::Nested),
        },
        KeyKind::ByName(inner) => by_name(cx, node, path, inner),
        KeyKind::AnyTable if node.as_table().is_none() => wrong(cx, node, path, "a table", None),
        KeyKind::Any | KeyKind::AnyTable if node.has_date() => {
            wrong(cx, node, path, "a value without dates", None)
        }
        KeyKind::Any | KeyKind::AnyTable => Some(Good::Text(inline(node))),
    }
}

/// A text, or a list of some, none of them empty.
fn texts(cx: &mut Cx<'_>, node: &Node, path: &str) -> Option<Vec<String>> {
    const EXPECTED: &str = "a string, or a list of some";
    let items = match &node.value {
        Value::Array(items) => &items[..],
        _ => std::slice::from_ref(node),
    };
    let texts = items.iter().map(|item| text(cx, item, path, EXPECTED));
    let texts: Vec<Option<String>> = texts.collect();
    let texts: Vec<String> = texts.into_iter().collect::<Option<_>>()?;
    if texts.is_empty() || texts.iter().any(|text| text.trim().is_empty()) {
        return empty(cx, node, path, EXPECTED);
    }
    Some(texts)
}

/// Reports a value without content.
fn empty<T>(cx: &mut Cx<'_>, node: &Node, path: &str, expected: &str) -> Option<T> {
    let key = path.rsplit('.').next().unwrap_or(path);
    cx.push(
        Mistake::new(Code::OutOfRange, node.span, format!("`{key}` is empty"))
            .key(path)
            .expected(expected),
    );
    None
}

/// A number, or a text that stands for one.
fn figure(cx: &mut Cx<'_>, node: &Node, path: &str) -> Option<String> {
    match node.as_figure() {
        Some(figure) => Some(figure),
        None => wrong(
            cx,
            node,
            path,
            "a number, or a string that stands for one",
            None,
        ),
    }
}

/// A list of numbers.
fn figures(cx: &mut Cx<'_>, node: &Node, path: &str) -> Option<Vec<String>> {
    let Value::Array(items) = &node.value else {
        return wrong(cx, node, path, "a list of numbers", None);
    };
    let figures = items.iter().map(|item| figure(cx, item, path));
    figures.collect::<Vec<_>>().into_iter().collect()
}

/// Names of the writer's own, each with a value as `inner` holds. Readers find the good ones.
fn by_name(cx: &mut Cx<'_>, node: &Node, path: &str, inner: &Key) -> Option<Good> {
    let Value::Table(table) = &node.value else {
        return wrong(cx, node, path, "a table with a name for each", None);
    };
    for entry in &table.entries {
        key(cx, inner, None, &entry.node, &path_in(path, &entry.key));
    }
    Some(Good::Nested)
}

/// A value that is stored as a whole number.
fn number(cx: &mut Cx<'_>, key: &Key, kind: ParamKind, node: &Node, path: &str) -> Option<i64> {
    match kind {
        ParamKind::Int { min, max, or_zero } => {
            let unit = match key.unit {
                "" => String::new(),
                unit => format!(" {unit}"),
            };
            let range = format!("{}{unit}", amount::int_range(min, max, or_zero));
            let allowed =
                |i: i128| (i128::from(min)..=i128::from(max)).contains(&i) || (or_zero && i == 0);
            match node.value {
                Value::Int(i) if allowed(i) => Some(i as i64),
                // "0 or more" would not say what is wrong with a number that is too large.
                Value::Int(i) if i > i128::from(max) && max == i64::MAX => {
                    out_of_range(cx, node, path, key.name, &format!("{min} to {max}"))
                }
                Value::Int(_) => out_of_range(cx, node, path, key.name, &range),
                _ => {
                    let hint = no_quotes_hint(node, allowed).or_else(|| comma_hint(node));
                    wrong(cx, node, path, &format!("a whole number, {range}"), hint)
                }
            }
        }
        ParamKind::Flag => match node.value {
            Value::Flag(flag) => Some(i64::from(flag)),
            _ => wrong(cx, node, path, "true or false", None),
        },
        ParamKind::Choice(words) => choice(cx, key, words, node, path),
    }
}

/// The index of one of `words`.
fn choice(
    cx: &mut Cx<'_>,
    key: &Key,
    words: &'static [&'static str],
    node: &Node,
    path: &str,
) -> Option<i64> {
    let range = format!("one of: {}", words.join(", "));
    let expected = format!("a string, {range}");
    let Some(word) = cx.string(node) else {
        let hint = quotes_hint(cx, node, words.iter().copied());
        return wrong(cx, node, path, &expected, hint);
    };
    let release = release(&word).filter(|_| key.name == "version");
    let of = |word: &str| words.iter().position(|w| *w == word);
    if let Some(i) = of(&word).or_else(|| of(release?)) {
        return Some(i as i64);
    }
    cx.push(
        Mistake::new(
            Code::UnknownName,
            node.span,
            format!("`{}` is not a value of `{}`", quote(&word), key.name),
        )
        .key(path)
        .found(quote(&word))
        .expected(range)
        .maybe_hint(did_you_mean(&word, words.iter().copied())),
    );
    None
}

/// The name of the release that a number as `xl info` shows it belongs to.
fn release(word: &str) -> Option<&'static str> {
    XenVersion::of_release(word).map(XenVersion::name)
}

fn text(cx: &mut Cx<'_>, node: &Node, path: &str, expected: &str) -> Option<String> {
    match cx.string(node) {
        Some(s) => Some(s),
        None => {
            let one = !matches!(node.value, Value::Array(_) | Value::Table(_));
            let found = quote(cx.text(node.span));
            let hint = one.then(|| format!("put it in quotes: \"{found}\""));
            wrong(cx, node, path, expected, hint)
        }
    }
}

fn name(cx: &mut Cx<'_>, node: &Node, path: &str) -> Option<String> {
    let name = text(cx, node, path, "a string, a name")?;
    if words::is_name(&name) {
        return Some(name);
    }
    cx.push(
        Mistake::new(
            Code::OutOfRange,
            node.span,
            format!("`{}` is no name", quote(&name)),
        )
        .key(path)
        .found(quote(&name))
        .expected(words::NAME_RULE)
        .maybe_hint(name_hint(&name)),
    );
    None
}

/// A hint for `name = "a b"`: the name without what no name has.
fn name_hint(name: &str) -> Option<String> {
    let near: String = name
        .chars()
        .map(|c| {
            if words::is_name(c.encode_utf8(&mut [0; 4])) {
                c
            } else {
                '-'
            }
        })
        .take(words::MAX_NAME)
        .collect();
    (near.contains(|c| c != '-')).then(|| format!("for example \"{near}\""))
}

/// A number from 0 to `max` that is called `what`.
fn index(cx: &mut Cx<'_>, node: &Node, path: &str, max: usize, what: &'static str) -> Option<u16> {
    let (min, max, or_zero) = (0, max as i64, false);
    let kind = ParamKind::Int { min, max, or_zero };
    let key = Key::new(what, KeyKind::Number(kind), Need::Required, "");
    number(cx, &key, kind, node, path).map(|i| i as u16)
}

pub(super) fn time(
    cx: &mut Cx<'_>,
    node: &Node,
    path: &str,
    usual: &str,
    unit_ns: u64,
    min_ns: u64,
) -> Option<Duration> {
    let written = UNITS
        .iter()
        .find(|(_, ns)| *ns == unit_ns)
        .map_or(usual, |(name, _)| name);
    let range = words::time_range(min_ns);
    let found = quote(cx.text(node.span));
    let why = match amount::time(node, unit_ns) {
        Ok(d) if d.as_nanos() >= min_ns => return Some(d),
        Ok(d) if d.is_zero() => format!("{found} is no time: it must be longer than nothing"),
        Ok(d) => format!("{d} is too short"),
        Err(BadTime::NotANumber) => {
            let hint = match &node.value {
                Value::Text(_) if comma_hint(node).is_some() => comma_hint(node),
                Value::Text(_) => Some(format!(
                    "write the number alone; the unit is in the key (`_{written}`)"
                )),
                _ => None,
            };
            return wrong(cx, node, path, &format!("a number, {range}"), hint);
        }
        Err(BadTime::NotFinite) => format!("{found} is no time"),
        Err(BadTime::Negative) => format!("a time cannot be negative: {found}"),
        Err(BadTime::TooLong) => format!("{found} {written} is too long"),
    };
    cx.push(
        Mistake::new(Code::OutOfRange, node.span, why)
            .key(path)
            .found(found)
            .expected(range),
    );
    None
}

fn word(cx: &mut Cx<'_>, node: &Node, path: &str, words: Words) -> Option<String> {
    let known = words::all(words, cx.parts);
    let Some(word) = cx.string(node) else {
        let hint = quotes_hint(cx, node, known.iter().copied());
        let expected = format!("a string, one of: {}", list(known.iter().copied()));
        return wrong(cx, node, path, &expected, hint);
    };
    if known.contains(&word.as_str()) {
        return Some(word);
    }
    if let (Words::Releases, Some(release)) = (words, release(&word)) {
        return Some(release.to_owned());
    }
    let noun = words::noun(words).unwrap_or(path.rsplit('.').next().unwrap_or(path));
    let problem = Mistake::new(
        Code::UnknownName,
        node.span,
        format!("there is no {noun} `{}`", quote(&word)),
    )
    .key(path)
    .found(quote(&word))
    .expected(format!("one of: {}", list(known.iter().copied())))
    .maybe_hint(
        words::not_there(words, &word)
            .or_else(|| did_you_mean(&word, known.iter().copied()))
            .or_else(|| words::hint(words)),
    );
    cx.push(problem);
    None
}

fn pcpus(cx: &mut Cx<'_>, node: &Node, path: &str) -> Option<CpuSet> {
    const EXPECTED: &str = "pcpus, as [0, 1] or \"0-3,6\"";
    let set = match &node.value {
        Value::Array(items) => {
            let mut set = CpuSet::EMPTY;
            let before = items.len();
            let good = items
                .iter()
                .filter_map(|i| index(cx, i, path, MAX_PCPUS - 1, "a pcpu"))
                .map(|p| set.insert(PcpuId(p)))
                .count();
            if good < before {
                return None;
            }
            set
        }
        _ => {
            let Some(text) = cx.string(node) else {
                return wrong(
                    cx,
                    node,
                    path,
                    EXPECTED,
                    Some("a single pcpu is `[0]`".to_owned()),
                );
            };
            match amount::pcpu_list(&text) {
                Ok(set) => set,
                Err(why) => {
                    cx.push(
                        Mistake::new(Code::OutOfRange, node.span, why)
                            .key(path)
                            .found(quote(&text))
                            .expected(EXPECTED)
                            .hint(
                                "terms are `all`, `2`, `0-3`, or one of them after `^` to \
                                   exclude it",
                            ),
                    );
                    return None;
                }
            }
        }
    };
    if set.is_empty() {
        cx.push(
            Mistake::new(Code::OutOfRange, node.span, "no pcpu is left to run on")
                .key(path)
                .found(quote(cx.text(node.span)))
                .expected("at least one pcpu")
                .hint("leave the key out for every pcpu"),
        );
        return None;
    }
    Some(set)
}

/// Pcpus of all vcpus, or, in a list of texts, of each.
fn affinity(cx: &mut Cx<'_>, node: &Node, path: &str) -> Option<VcpuPins> {
    let Value::Array(items) = &node.value else {
        return pcpus(cx, node, path).map(VcpuPins::Alike);
    };
    let is_text = |item: &Node| matches!(item.value, Value::Text(_));
    if items.is_empty() || !items.iter().all(is_text) {
        return pcpus(cx, node, path).map(VcpuPins::Alike);
    }
    let sets: Vec<CpuSet> = items
        .iter()
        .filter_map(|item| pcpus(cx, item, path))
        .collect();
    (sets.len() == items.len()).then_some(VcpuPins::Each(sets))
}

fn vcpu(cx: &mut Cx<'_>, node: &Node, path: &str) -> Option<Option<u16>> {
    const EXPECTED: &str = "a whole number, the vcpu's index, or \"all\"";
    match &node.value {
        Value::Int(_) => index(cx, node, path, MAX_VCPUS - 1, "vcpu").map(Some),
        Value::Text(word) if word == "all" => Some(None),
        _ => wrong(cx, node, path, EXPECTED, None),
    }
}

fn line_rate(cx: &mut Cx<'_>, node: &Node, path: &str, min: u64, max: u64) -> Option<u64> {
    let expected = format!("bit/s as a number or as \"100M\", \"1G\"; {min} to {max}");
    let bps = match (&node.value, cx.string(node)) {
        (Value::Int(i), _) => u64::try_from(*i).ok(),
        (_, Some(text)) => match rate::line_rate(&text) {
            Ok(bps) => Some(bps),
            Err(why) => return no_rate(cx, node, path, why, &expected, "for instance \"1G\""),
        },
        (_, None) => return wrong(cx, node, path, &format!("a rate, {expected}"), None),
    };
    match bps.filter(|bps| (min..=max).contains(bps)) {
        Some(bps) => Some(bps),
        None => out_of_range(cx, node, path, "rate", &expected),
    }
}

fn bytes(cx: &mut Cx<'_>, node: &Node, path: &str, min: u64, max: u64) -> Option<u64> {
    let expected = format!("bytes as a number or as \"64K\", \"1G\"; {min} to {max}");
    let bytes = match (&node.value, cx.string(node)) {
        (Value::Int(i), _) => u64::try_from(*i).ok(),
        (_, Some(text)) => match amount::bytes(&text) {
            Some(bytes) => Some(bytes),
            None => {
                let why = format!("`{}` is no number of bytes", quote(&text));
                let hint = "a number, then nothing, `K`, `M`, `G` or `T`, which are powers of 1024";
                return no_rate(cx, node, path, why, &expected, hint);
            }
        },
        (_, None) => return wrong(cx, node, path, &format!("a size, {expected}"), None),
    };
    let key = path.rsplit('.').next().unwrap_or(path).to_owned();
    match bytes.filter(|bytes| (min..=max).contains(bytes)) {
        Some(bytes) => Some(bytes),
        None => out_of_range(cx, node, path, &key, &expected),
    }
}

fn in_form(cx: &mut Cx<'_>, node: &Node, path: &str, form: &Form) -> Option<String> {
    let Some(text) = cx.string(node) else {
        return wrong(cx, node, path, form.expected, None);
    };
    match (form.check)(&text) {
        Ok(()) => Some(text),
        Err(why) => no_rate(cx, node, path, why, form.expected, form.hint),
    }
}

fn no_rate<T>(
    cx: &mut Cx<'_>,
    node: &Node,
    path: &str,
    why: String,
    expected: &str,
    hint: &str,
) -> Option<T> {
    let found = quote(cx.text(node.span));
    cx.push(
        Mistake::new(Code::OutOfRange, node.span, why)
            .key(path)
            .found(found)
            .expected(expected)
            .hint(hint),
    );
    None
}

fn word_or_table(cx: &mut Cx<'_>, node: &Node, path: &str, words: Words) -> Option<Good> {
    if let Value::Table(_) = node.value {
        return Some(Good::Nested);
    }
    let known = words::all(words, cx.parts);
    let expected = format!("one of: {}; or a table", list(known.iter().copied()));
    let Some(word) = cx.string(node) else {
        return wrong(cx, node, path, &format!("a string, {expected}"), None);
    };
    if known.contains(&word.as_str()) {
        return Some(Good::Text(word));
    }
    let noun = path.rsplit('.').next().unwrap_or(path);
    cx.push(
        Mistake::new(
            Code::UnknownName,
            node.span,
            format!("there is no {noun} `{}`", quote(&word)),
        )
        .key(path)
        .found(quote(&word))
        .expected(expected)
        .maybe_hint(did_you_mean(&word, known)),
    );
    None
}

fn table(cx: &mut Cx<'_>, node: &Node, path: &str, section: &KeySection) -> Option<Good> {
    match node.value {
        Value::Table(_) => Some(Good::Nested),
        _ => {
            let expected = format!("a table, {}", section.header);
            wrong(cx, node, path, &expected, None)
        }
    }
}

fn tables(cx: &mut Cx<'_>, node: &Node, path: &str, header: &str) -> Option<Good> {
    match &node.value {
        Value::Array(items) if items.iter().all(|i| matches!(i.value, Value::Table(_))) => {
            if items.is_empty() && !cx.partial {
                cx.push(
                    Mistake::new(Code::MissingKey, node.span, "the list is empty")
                        .key(path)
                        .expected(format!("at least one {header}"))
                        .hint(format!("write {header} tables, or leave the key out")),
                );
                return None;
            }
            Some(Good::Nested)
        }
        Value::Table(_) => {
            let hint = format!("there can be several, so it takes two brackets: {header}");
            wrong(cx, node, path, "an array of tables", Some(hint))
        }
        _ => wrong(
            cx,
            node,
            path,
            &format!("an array of tables, {header}"),
            None,
        ),
    }
}
