//! Times that may be drawn: a number with its unit in the key, or a table with its distribution.

use super::cx::Cx;
use super::fields::{self, Fields};
use super::refused::wrong;
use super::value::time;
use crate::value::{Node, Value};
use domio_core::Duration;
use domio_core::keys::{self, Distribution, Key, KeySection, Keys, Need, WordOf, Words};
use domio_core::keys::{Code, Mistake, quote};

pub(crate) static LENGTHS: KeySection = KeySection::plain(
    "burst = { ... }",
    "A length of time that is drawn anew each time. A key that takes one ends in a unit for \
     a constant (`burst_us = 50`), and has no unit for a table: \
     `burst = { distribution = \"exponential\", mean_us = 50 }`.",
    Lengths::KEYS,
)
.by("distribution", Words::Of(&DISTRIBUTIONS));

keys! {
    struct Lengths {
        "distribution" = keys::word_text(Words::Of(&DISTRIBUTIONS)), Need::Required,
            "The distribution.";
    }
}

/// Makes a distribution of its keys.
type Make = fn(&mut Cx<'_>, &Fields) -> Option<Distribution>;

static DISTRIBUTIONS: [WordOf<Make>; 3] = [
    WordOf::with_keys(
        "exponential",
        exponential,
        "Many short ones, few long ones.",
        Exponential::KEYS,
    ),
    WordOf::with_keys(
        "uniform",
        uniform,
        "Every length between two equally likely.",
        Uniform::KEYS,
    ),
    WordOf::with_keys(
        "normal",
        normal,
        "Bell-shaped, cut off at zero.",
        Normal::KEYS,
    ),
];

keys! {
    struct Exponential {
        mean: Duration = keys::time("us", 1), Need::Required, "Mean.";
    }
}

keys! {
    struct Uniform {
        low: Duration = keys::time("us", 0), Need::Required, "Shortest.";
        high: Duration = keys::time("us", 1), Need::Required, "Longest; not below `low`.";
    }
}

keys! {
    struct Normal {
        mean: Duration = keys::time("us", 1), Need::Required, "Mean.";
        std: Duration = keys::time("us", 0), Need::Required, "Standard deviation.";
    }
}

fn exponential(_: &mut Cx<'_>, fields: &Fields) -> Option<Distribution> {
    Some(Distribution::Exponential(
        fields.read::<Exponential>().mean.get()?,
    ))
}

fn normal(_: &mut Cx<'_>, fields: &Fields) -> Option<Distribution> {
    let Normal { mean, std } = fields.read();
    Some(Distribution::Normal(mean.get()?, std.get()?))
}

fn uniform(cx: &mut Cx<'_>, fields: &Fields) -> Option<Distribution> {
    let keys: Uniform = fields.read();
    let (low, high) = (keys.low.get()?, keys.high.get()?);
    if low <= high {
        return Some(Distribution::Uniform(low, high));
    }
    cx.push(
        Mistake::new(
            Code::Conflict,
            fields.span(&keys.high),
            format!("the longest time, {high}, is below the shortest, {low}"),
        )
        .key(fields.path_of(&keys.high))
        .found(high.to_string())
        .expected(format!("at least {low}"))
        .related(fields.span(&keys.low), "the shortest")
        .hint("are the two exchanged? a constant time needs no table"),
    );
    None
}

/// The time that `node` is, or that it says how to draw.
pub(super) fn lengths(
    cx: &mut Cx<'_>,
    key: &Key,
    node: &Node,
    path: &str,
    usual: &str,
    unit: Option<u64>,
    min_ns: u64,
) -> Option<Distribution> {
    let name = key.name;
    match (&node.value, unit) {
        (Value::Table(table), None) => {
            let fields = fields::table(cx, table, node.span, &LENGTHS, path, None);
            let make = WordOf::find(&DISTRIBUTIONS, fields.variant?.word)?;
            make(cx, &fields)
        }
        (Value::Table(_), Some(_)) => {
            let hint =
                format!("for a table write `{name} = {{ ... }}`: the keys inside carry the units");
            wrong(cx, node, path, "a number, the constant time", Some(hint))
        }
        (_, Some(ns)) => time(cx, node, path, usual, ns, min_ns).map(Distribution::Constant),
        (_, None) => {
            cx.push(no_lengths(key, node, &quote(cx.text(node.span))).key(path));
            None
        }
    }
}

/// What to say of `burst = 5` and of `burst = "normal"`.
fn no_lengths(key: &Key, node: &Node, found: &str) -> Mistake {
    let (name, constant) = (key.name, key.written());
    let drawn = |word: &str, rest: &str| {
        let unit = constant.rsplit('_').next().unwrap_or("ms");
        let rest = rest.replace("UNIT", unit);
        format!("{name} = {{ distribution = \"{word}\", {rest} }}")
    };
    let (message, hint) = match node.as_text() {
        Some(word) => {
            let word = word.to_ascii_lowercase();
            let example = match DISTRIBUTIONS
                .iter()
                .map(|d| d.variant.word)
                .find(|w| *w == word)
            {
                Some("normal") => drawn("normal", "mean_UNIT = 10, std_UNIT = 2"),
                Some("uniform") => drawn("uniform", "low_UNIT = 5, high_UNIT = 15"),
                _ => drawn("exponential", "mean_UNIT = 10"),
            };
            (
                format!("`{name}` takes a table for a time that is drawn"),
                format!("write `{example}`"),
            )
        }
        None => {
            let value = match node.value {
                Value::Int(_) | Value::Float(_) => found,
                _ => "10",
            };
            (
                format!("`{name}` needs a unit"),
                format!("write `{constant} = {value}` for a constant time"),
            )
        }
    };
    Mistake::new(Code::WrongType, node.span, message)
        .found(found)
        .expected(format!(
            "`{constant}` with a number, or `{name}` with a table that names a distribution"
        ))
        .hint(hint)
}
