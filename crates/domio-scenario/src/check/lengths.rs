//! Checks times that may be drawn: a number with its unit in the key, or a table.

use super::value::{time, wrong};
use super::{Cx, Fields};
use crate::keys::{Key, LENGTHS};
use crate::problem::{Code, Problem, quote};
use crate::value::{Node, Value};
use domio_vmm::config::Distribution;

/// The time that `node` is, or that it says how to draw.
pub(super) fn lengths(
    cx: &mut Cx<'_>,
    key: &'static Key,
    node: &Node,
    path: &str,
    usual: &str,
    unit: Option<u64>,
    min_ns: u64,
) -> Option<Distribution> {
    let name = key.name;
    match (&node.value, unit) {
        (Value::Table(table), None) => {
            let fields = super::table(cx, table, node.span, &LENGTHS, path, None);
            distribution(cx, &fields)
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
fn no_lengths(key: &Key, node: &Node, found: &str) -> Problem {
    let (name, constant) = (key.name, key.written());
    let drawn = |word: &str, rest: &str| {
        let unit = constant.rsplit('_').next().unwrap_or("ms");
        let rest = rest.replace("UNIT", unit);
        format!("{name} = {{ distribution = \"{word}\", {rest} }}")
    };
    let (message, hint) = match node.as_text() {
        Some(word) => {
            let word = word.to_ascii_lowercase();
            let example = match LENGTHS.variant(&word).map(|v| v.word) {
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
    Problem::new(Code::WrongType, node.span, message)
        .found(found)
        .expected(format!(
            "`{constant}` with a number, or `{name}` with a table that names a distribution"
        ))
        .hint(hint)
}

fn distribution(cx: &mut Cx<'_>, fields: &Fields<'_>) -> Option<Distribution> {
    match fields.variant?.word {
        "exponential" => Some(Distribution::Exponential(fields.time("mean")?)),
        "normal" => Some(Distribution::Normal(
            fields.time("mean")?,
            fields.time("std")?,
        )),
        _ => {
            let (low, high) = (fields.time("low")?, fields.time("high")?);
            if low > high {
                cx.push(
                    Problem::new(
                        Code::Conflict,
                        fields.span("high"),
                        format!("the longest time, {high}, is below the shortest, {low}"),
                    )
                    .key(fields.key_path("high"))
                    .found(high.to_string())
                    .expected(format!("at least {low}"))
                    .related(fields.span("low"), "the shortest")
                    .hint("are the two exchanged? a constant time needs no table"),
                );
                return None;
            }
            Some(Distribution::Uniform(low, high))
        }
    }
}
