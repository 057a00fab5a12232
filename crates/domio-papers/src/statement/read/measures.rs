//! Reads `[measure.NAME]`.

use super::super::names::expand;
use super::super::{Choice, Gauge, Moment, Recipe, Shape, Term};
use super::Vocabulary;
use crate::strict::{Strict, near};
use crate::tolerance::Tolerance;
use std::ops::Range;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

const KEYS: [&str; 14] = [
    "name",
    "unit",
    "value",
    "each",
    "pooled",
    "list",
    "ratio",
    "difference",
    "take",
    "from",
    "to",
    "over",
    "tolerance",
    "times",
];

/// What a measure is made of, of which each has one.
const MADE_OF: [&str; 6] = ["value", "each", "pooled", "list", "ratio", "difference"];

/// Reads all measures of the file into `words`: those of samples first, then those of others.
pub(super) fn read<'t>(words: &mut Vocabulary, strict: &mut Strict<'t>, root: &DeTable<'t>) {
    let mut derived = Vec::new();
    for ((at, name), value) in strict.entries(root, "measure") {
        let DeValue::Table(fields) = value.get_ref() else {
            let what = format!("\"{name}\" is not a table; write [measure.{name}]");
            strict.mistake(at, what);
            continue;
        };
        words.name_is_plain(strict, at.clone(), "measure", &name);
        if Choice::ALL.iter().any(|choice| choice.name() == name) {
            let what =
                format!("\"{name}\" has a meaning of its own before cells; use another name");
            strict.mistake(at.clone(), what);
        }
        strict.known(fields, &KEYS);
        let there: Vec<&str> = MADE_OF
            .into_iter()
            .filter(|k| fields.get(*k).is_some())
            .collect();
        match there.as_slice() {
            ["ratio" | "difference"] => derived.push((at, name, fields)),
            [of] => {
                let plain = one(words, strict, &at, &name, fields, of);
                words.measures.extend(plain);
            }
            _ => {
                let list = MADE_OF.join(", ");
                let what = format!("the measure \"{name}\" is made of one of {list}");
                strict.mistake(at, what);
            }
        }
    }
    // Those that are made of others are made of plain ones alone, so that none goes in circles.
    let mut made = Vec::new();
    for (at, name, fields) in derived {
        let of = match fields.get("ratio").is_some() {
            true => "ratio",
            false => "difference",
        };
        made.extend(one(words, strict, &at, &name, fields, of));
    }
    words.measures.extend(made);
}

/// The measure `name`, by its name.
fn one<'t>(
    words: &Vocabulary,
    strict: &mut Strict<'t>,
    at: &Range<usize>,
    name: &str,
    fields: &DeTable<'t>,
    of: &str,
) -> Option<(String, Arc<Gauge>)> {
    misplaced(strict, fields, of);
    let told = strict.text(at, "measure", fields, "name");
    let unit = strict.text_if_any(fields, "unit");
    let recipe = match of {
        "value" => strict
            .text_if_any(fields, "value")
            .map(|(_, value)| Recipe::Value(value)),
        "each" => each(words, strict, fields),
        "pooled" => pooled(strict, fields),
        "list" => list(words, strict, fields),
        _ => made_of(words, strict, fields, of),
    };
    let gauge = Gauge {
        key: name.to_owned(),
        name: told?.1,
        unit: unit.map_or_else(String::new, |(_, unit)| unit),
        recipe: recipe?,
    };
    Some((name.to_owned(), Arc::new(gauge)))
}

/// Keeps mistakes for keys that a measure made of `of` has no use for.
fn misplaced(strict: &mut Strict<'_>, fields: &DeTable<'_>, of: &str) {
    let companions: [(&str, &[&str]); 6] = [
        ("take", &["each", "pooled", "list"]),
        ("from", &["list"]),
        ("to", &["list"]),
        ("over", &["list"]),
        ("tolerance", &["list"]),
        ("times", &["difference"]),
    ];
    for (key, owners) in companions {
        if let (Some(value), false) = (fields.get(key), owners.contains(&of)) {
            let with = owners.join(", ");
            strict.mistake(
                value.span(),
                format!("\"{key}\" goes with {with}, and not with {of}"),
            );
        }
    }
}

/// The word under `take`, one of `words`.
fn take(
    strict: &mut Strict<'_>,
    fields: &DeTable<'_>,
    words: &[&'static str],
) -> Option<&'static str> {
    let (at, word) = strict.text_if_any(fields, "take")?;
    let found = words.iter().find(|known| **known == word);
    if found.is_none() {
        let hint = near(&word, words.iter().copied());
        let what = format!("take \"{word}\" is not one of {}{hint}", words.join(", "));
        strict.mistake(at, what);
    }
    found.copied()
}

fn each(words: &Vocabulary, strict: &mut Strict<'_>, fields: &DeTable<'_>) -> Option<Recipe> {
    const RANKS: &str = "ranks";
    let (at, text) = strict.text_if_any(fields, "each")?;
    let names = match expand(&text, &words.sets) {
        Ok(names) => names,
        Err(what) => {
            strict.mistake(at, what);
            return None;
        }
    };
    if fields.get("take").is_none() {
        return Some(Recipe::Each(names));
    }
    let known: Vec<&str> = Shape::ALL
        .map(Shape::name)
        .into_iter()
        .chain([RANKS])
        .collect();
    let word = take(strict, fields, &known)?;
    let names = names.into_iter().map(|(_, name)| name).collect();
    match Shape::ALL.into_iter().find(|shape| shape.name() == word) {
        Some(shape) => Some(Recipe::Shaped(names, shape)),
        None => Some(Recipe::Ranks(names)),
    }
}

fn pooled<'t>(strict: &mut Strict<'t>, fields: &DeTable<'t>) -> Option<Recipe> {
    const PARTS: [&str; 3] = ["count", "mean", "deviation"];
    let value = fields.get("pooled")?;
    let DeValue::Table(parts) = value.get_ref() else {
        let what = "\"pooled\" is not a table; expected { count = \"…\", mean = \"…\", deviation = \
                    \"…\" } with names of values";
        strict.mistake(value.span(), what);
        return None;
    };
    strict.known(parts, &PARTS);
    let at = value.span();
    let names = PARTS.map(|key| strict.text(&at, "table \"pooled\"", parts, key));
    let [count, mean, deviation] = names;
    let names = [count?.1, mean?.1, deviation?.1];
    if fields.get("take").is_none() {
        strict.mistake(
            at,
            "a pooled measure needs take = \"mean\" or take = \"deviation\"",
        );
    }
    let moment = match take(strict, fields, &["mean", "deviation"])? {
        "mean" => Moment::Mean,
        _ => Moment::Deviation,
    };
    Some(Recipe::Pooled { names, moment })
}

fn list(words: &Vocabulary, strict: &mut Strict<'_>, fields: &DeTable<'_>) -> Option<Recipe> {
    let (at, list) = strict.text_if_any(fields, "list")?;
    let number = |strict: &mut Strict<'_>, key| words.number_if_any(strict, fields, key);
    let there = ["take", "over", "from", "to"].map(|key| fields.get(key).is_some());
    if let Some(value) = fields.get("tolerance")
        && !there[2]
    {
        strict.mistake(value.span(), "\"tolerance\" goes with \"from\" and \"to\"");
    }
    match there {
        [true, false, false, false] => {
            take(strict, fields, &["median"])?;
            Some(Recipe::Median(list))
        }
        [false, true, false, false] => Some(Recipe::Part {
            list,
            range: (number(strict, "over")?, f64::INFINITY),
            closed: false,
        }),
        [false, false, true, true] => {
            let (from, to) = (number(strict, "from")?, number(strict, "to")?);
            let range = match strict.text_if_any(fields, "tolerance") {
                None => (from, to),
                Some((at, text)) => match Tolerance::parse(&text) {
                    Some(tolerance) => (tolerance.range(from).0, tolerance.range(to).1),
                    None => {
                        strict.mistake(at, format!("\"{text}\" is no tolerance; expected as x2"));
                        return None;
                    }
                },
            };
            Some(Recipe::Part {
                list,
                range,
                closed: true,
            })
        }
        _ => {
            let what = "a measure of a list needs take = \"median\", or \"over\", or \"from\" and \
                        \"to\"";
            strict.mistake(at, what);
            None
        }
    }
}

fn made_of(
    words: &Vocabulary,
    strict: &mut Strict<'_>,
    fields: &DeTable<'_>,
    of: &str,
) -> Option<Recipe> {
    let at = fields.get(of).map(|value| value.span())?;
    let texts = strict.texts(fields, of);
    let mut terms = Vec::new();
    for (at, text) in &texts {
        let (name, cell) = match text.split_once(" of ") {
            Some((name, cell)) => (name.trim(), Some(cell.trim().to_owned())),
            None => (text.trim(), None),
        };
        let gauge = words.measure(strict, at, name)?;
        if gauge.count() != 1 || matches!(gauge.recipe, Recipe::Median(_)) {
            let what = format!("\"{name}\" is not one figure a replication");
            strict.mistake(at.clone(), what);
            return None;
        }
        terms.push(Term { gauge, cell });
    }
    let Ok(terms) = <[Term; 2]>::try_from(terms) else {
        let what = format!("\"{of}\" is of two measures, as [\"a\", \"b\"]");
        strict.mistake(at, what);
        return None;
    };
    match of {
        "ratio" => Some(Recipe::Ratio(Box::new(terms))),
        _ => {
            let times = match fields.get("times") {
                None => 1.0,
                Some(value) => words.number(strict, "times", value)?,
            };
            Some(Recipe::Difference(Box::new(terms), times))
        }
    }
}
