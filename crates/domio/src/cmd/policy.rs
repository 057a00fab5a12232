//! `domio policy`: which policies there are and what they let you set.

use crate::args::{self, PolicyList, PolicyShow};
use crate::out::{self, Status};
use crate::suggest;
use anyhow::anyhow;
use domio_core::{ParamKind, ParamSpec};
use domio_report::text::{Cell, Column, Table, Tone};
use domio_sched::{Descriptor, Needs, Policy, Promises, find, policies};
use serde::Serialize;

/// Runs `policy list` or `policy show`.
pub fn run(command: &args::Policy) -> anyhow::Result<Status> {
    match command {
        args::Policy::List(args) => list(args),
        args::Policy::Show(args) => show(args),
    }
}

/// The policy called `name`.
///
/// # Errors
/// With near matches and where to look.
pub fn named(name: &str) -> anyhow::Result<&'static Policy> {
    find(name).ok_or_else(|| {
        let near = suggest::near(name, policies().iter().map(|p| p.descriptor.name));
        anyhow!("no policy is called \"{name}\"{near}; `domio policy list` lists them")
    })
}

fn list(args: &PolicyList) -> anyhow::Result<Status> {
    let descriptors = policies().iter().map(|p| p.descriptor);
    if args.json {
        out::json(&descriptors.map(PolicyJson::new).collect::<Vec<_>>())?;
        return Ok(Status::Success);
    }
    let mut table = Table::new([
        Column::words("policy").whole(),
        Column::words("what it does"),
        Column::words("source"),
    ]);
    for d in descriptors {
        table.row([
            Cell::new(d.name, Tone::Strong),
            d.summary.into(),
            d.source.into(),
        ]);
    }
    out::text(&table.render(out::width()))?;
    Ok(Status::Success)
}

fn show(args: &PolicyShow) -> anyhow::Result<Status> {
    let descriptor = named(&args.name)?.descriptor;
    if args.json {
        out::json(&PolicyJson::new(descriptor))?;
        return Ok(Status::Success);
    }
    let (name, summary, source) = (descriptor.name, descriptor.summary, descriptor.source);
    let mut text = format!("{name}: {summary}\nsource: {source}\n");
    text += &format!("needs: {}\n", told(needs(descriptor.needs)));
    text += &format!("promises: {}\n", told(promises(descriptor.promises)));
    for (title, specs) in [
        ("Parameters of the policy", descriptor.params),
        ("Parameters of each domain", descriptor.domain_params),
    ] {
        if !specs.is_empty() {
            text += &format!("\n{title}\n\n{}", parameters(specs).render(out::width()));
        }
    }
    out::text(&text)?;
    Ok(Status::Success)
}

fn parameters(specs: &[ParamSpec]) -> Table {
    let mut table = Table::new([
        Column::words("name").whole(),
        Column::figures("default"),
        Column::words("unit"),
        Column::words("range"),
        Column::words("meaning"),
    ]);
    for spec in specs {
        table.row([
            Cell::new(spec.name, Tone::Strong),
            spec.show(spec.default).to_string().into(),
            spec.unit.into(),
            spec.range().to_string().into(),
            spec.doc.into(),
        ]);
    }
    table
}

/// The words that hold, or "nothing".
fn told<const N: usize>(words: [(&'static str, bool); N]) -> String {
    let held = words.into_iter().filter(|(_, holds)| *holds);
    let held: Vec<&str> = held.map(|(word, _)| word).collect();
    match held.is_empty() {
        true => "nothing".to_owned(),
        false => held.join(", "),
    }
}

fn needs(needs: Needs) -> [(&'static str, bool); 3] {
    [
        ("tickle", needs.tickle),
        ("timers", needs.timers),
        ("park", needs.park),
    ]
}

fn promises(promises: Promises) -> [(&'static str, bool); 5] {
    [
        ("work conserving", promises.work_conserving),
        ("balances", promises.balances),
        ("starvation free", promises.starvation_free),
        ("weights", promises.weights),
        ("caps", promises.caps),
    ]
}

#[derive(Serialize)]
struct PolicyJson {
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    needs: Vec<String>,
    promises: Vec<String>,
    params: Vec<ParamJson>,
    domain_params: Vec<ParamJson>,
}

impl PolicyJson {
    fn new(d: &Descriptor) -> Self {
        let held = |words: &[(&'static str, bool)]| {
            let held = words.iter().filter(|(_, holds)| *holds);
            held.map(|(word, _)| word.replace(' ', "-")).collect()
        };
        PolicyJson {
            name: d.name,
            summary: d.summary,
            source: d.source,
            needs: held(&needs(d.needs)),
            promises: held(&promises(d.promises)),
            params: d.params.iter().map(ParamJson::new).collect(),
            domain_params: d.domain_params.iter().map(ParamJson::new).collect(),
        }
    }
}

#[derive(Serialize)]
struct ParamJson {
    name: &'static str,
    unit: &'static str,
    default: serde_json::Value,
    range: String,
    meaning: &'static str,
}

impl ParamJson {
    fn new(spec: &ParamSpec) -> Self {
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
