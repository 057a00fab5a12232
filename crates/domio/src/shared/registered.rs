//! What the commands that list and show policies, controllers and elevators have in common.

use crate::out::{self, Status};
use crate::suggest;
use anyhow::anyhow;
use domio_blk::elevator::{ElevatorInfo, find_elevator};
use domio_contract::Policy;
use domio_core::{ParamKind, ParamSpec};
use domio_report::text::{TextCell, TextColumn, TextTable, Tone};
use domio_scenario::{Parts, unmodelled_policy};
use serde::Serialize;

/// A word, and whether it holds.
pub type Word = (&'static str, bool);

/// That nothing of the sort `what` is called `name`, with near matches and where to look.
pub fn unknown<'a>(
    what: &str,
    name: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> anyhow::Error {
    let near = suggest::near(name, names);
    let list = match what {
        "schema" => "domio schema".to_owned(),
        what => format!("domio {what} list"),
    };
    anyhow!("no {what} is called \"{name}\"{near}; `{list}` lists them")
}

/// The policy of `parts` called `name`.
///
/// # Errors
/// With near matches and where to look.
pub fn policy(name: &str, parts: &Parts) -> anyhow::Result<Policy> {
    let names = parts.policies().iter().map(|p| p.descriptor.name);
    parts
        .policy(name)
        .copied()
        .ok_or_else(|| match unmodelled_policy(name) {
            Some(told) => anyhow!("no policy is called \"{name}\": {told}"),
            None => unknown("policy", name, names),
        })
}

/// The elevator of `parts` called `name`, or with that short name.
///
/// # Errors
/// When there is none.
pub fn elevator(name: &str, parts: &Parts) -> anyhow::Result<&'static ElevatorInfo> {
    let names = parts.elevators().iter().map(|e| e.name);
    find_elevator(parts.elevators(), name).ok_or_else(|| unknown("elevator", name, names))
}

/// Prints names, summaries and sources of all of the sort `what`.
///
/// # Errors
/// When the output cannot be written.
pub fn list(
    what: &str,
    all: impl IntoIterator<Item = (&'static str, &'static str, &'static str)>,
) -> anyhow::Result<Status> {
    let mut table = TextTable::new([
        TextColumn::words(what).whole(),
        TextColumn::words("what it does"),
        TextColumn::words("source"),
    ]);
    for (name, summary, source) in all {
        table.row([
            TextCell::new(name, Tone::Strong),
            summary.into(),
            source.into(),
        ]);
    }
    out::text(&table.render(out::view()))?;
    Ok(Status::Success)
}

/// The tables of declared parameters, each with its title; without those that declare none.
pub fn tables(all: impl IntoIterator<Item = (&'static str, Vec<&'static ParamSpec>)>) -> String {
    let declared = all.into_iter().filter(|(_, specs)| !specs.is_empty());
    let table = |specs: &[&ParamSpec]| parameters(specs).render(out::view());
    declared
        .map(|(title, specs)| format!("\n{title}\n\n{}", table(&specs)))
        .collect()
}

fn parameters(specs: &[&ParamSpec]) -> TextTable {
    let mut table = TextTable::new([
        TextColumn::words("name").whole(),
        TextColumn::figures("default"),
        TextColumn::words("unit"),
        TextColumn::words("range"),
        TextColumn::words("meaning"),
    ]);
    for spec in specs {
        table.row([
            TextCell::new(spec.name, Tone::Strong),
            spec.show(spec.default).to_string().into(),
            spec.unit.into(),
            spec.range().to_string().into(),
            spec.doc.into(),
        ]);
    }
    table
}

/// The words that hold, or "nothing".
pub fn told(words: &[Word]) -> String {
    let held = words.iter().filter(|(_, holds)| *holds);
    let held: Vec<&str> = held.map(|(word, _)| *word).collect();
    match held.is_empty() {
        true => "nothing".to_owned(),
        false => held.join(", "),
    }
}

/// The words that hold, as JSON has them.
pub fn held(words: &[Word]) -> Vec<String> {
    let held = words.iter().filter(|(_, holds)| *holds);
    held.map(|(word, _)| word.replace(' ', "-")).collect()
}

/// A declared parameter.
#[derive(Serialize)]
pub struct ParamJson {
    name: &'static str,
    unit: &'static str,
    default: serde_json::Value,
    range: String,
    meaning: &'static str,
}

impl ParamJson {
    /// The declaration `spec`.
    pub fn new(spec: &ParamSpec) -> Self {
        ParamJson {
            name: spec.name,
            unit: spec.unit,
            default: match spec.kind {
                ParamKind::Int { .. } => spec.default.into(),
                ParamKind::Flag => (spec.default != 0).into(),
                ParamKind::Choice(_) => spec.show(spec.default).to_string().into(),
            },
            range: spec.range().to_string(),
            meaning: spec.doc,
        }
    }
}
