//! `domio controller`: which controllers there are, what they set and what they let you set.

use crate::args::{self, ControllerList, ControllerShow, Global};
use crate::out::{self, Status};
use crate::shared::registered::{self, ParamJson, Word};
use domio_contract::control::{Descriptor, Kinds, Promises, SettingKind};
use domio_scenario::Parts;
use serde::Serialize;

/// Runs `controller list` or `controller show`.
pub fn run(command: &args::Controller, global: &Global) -> anyhow::Result<Status> {
    match command {
        args::Controller::List(args) => list(args, &global.parts),
        args::Controller::Show(args) => show(args, &global.parts),
    }
}

fn list(args: &ControllerList, parts: &Parts) -> anyhow::Result<Status> {
    let descriptors = parts.controllers().iter().map(|entry| entry.descriptor);
    if args.json {
        out::json(&descriptors.map(ControllerJson::new).collect::<Vec<_>>())?;
        return Ok(Status::Success);
    }
    registered::list(
        "controller",
        descriptors.map(|d| (d.name, d.summary, d.source)),
    )
}

fn show(args: &ControllerShow, parts: &Parts) -> anyhow::Result<Status> {
    let names = parts
        .controllers()
        .iter()
        .map(|entry| entry.descriptor.name);
    let d = parts
        .controller(&args.name)
        .ok_or_else(|| registered::unknown("controller", &args.name, names))?
        .descriptor;
    if args.json {
        out::json_as("controller-show", &ControllerJson::new(d))?;
        return Ok(Status::Success);
    }
    let mut text = format!("{}: {}\nsource: {}\n", d.name, d.summary, d.source);
    text += &format!("sets: {}\n", registered::told(&kinds(d.answers)));
    text += &format!("promises: {}\n", registered::told(&promises(d.promises)));
    let own: Vec<_> = [&d.interval].into_iter().chain(d.params).collect();
    text += &registered::tables([
        ("Parameters of the controller", own),
        (
            "Parameters of each domain",
            d.domain_params.iter().collect(),
        ),
    ]);
    out::text(&text)?;
    Ok(Status::Success)
}

fn kinds(kinds: Kinds) -> [Word; SettingKind::ALL.len()] {
    SettingKind::ALL.map(|kind| (kind.name(), kinds.has(kind)))
}

fn promises(promises: Promises) -> [Word; 1] {
    [("settles", promises.settles)]
}

#[derive(Serialize)]
struct ControllerJson {
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    sets: Vec<String>,
    promises: Vec<String>,
    interval: ParamJson,
    params: Vec<ParamJson>,
    domain_params: Vec<ParamJson>,
}

impl ControllerJson {
    fn new(d: &Descriptor) -> Self {
        ControllerJson {
            name: d.name,
            summary: d.summary,
            source: d.source,
            sets: registered::held(&kinds(d.answers)),
            promises: registered::held(&promises(d.promises)),
            interval: ParamJson::new(&d.interval),
            params: d.params.iter().map(ParamJson::new).collect(),
            domain_params: d.domain_params.iter().map(ParamJson::new).collect(),
        }
    }
}
