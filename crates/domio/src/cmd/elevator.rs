//! `domio elevator`: which elevators there are, what they let you set, and what they do with a
//! script of requests.

use crate::args::{self, ElevatorList, ElevatorReplay, ElevatorShow, Global};
use crate::files::{FileKind, Files, Output, is_stdout};
use crate::input::{self, InputKind, Stream};
use crate::out::{self, Status};
use crate::shared::registered::{self, ParamJson};
use anyhow::{Context, bail};
use domio_blk::elevator::ElevatorInfo;
use domio_blk::replay::{IoScript, replay};
use domio_scenario::Parts;
use serde::Serialize;
use std::io::Read;
use std::path::Path;

/// Runs a subcommand.
pub fn run(command: &args::Elevator, global: &Global) -> anyhow::Result<Status> {
    match command {
        args::Elevator::List(args) => list(args, &global.parts),
        args::Elevator::Show(args) => show(args, &global.parts),
        args::Elevator::Replay(args) => answer(args, &global.parts),
    }
}

fn list(args: &ElevatorList, parts: &Parts) -> anyhow::Result<Status> {
    let all = parts.elevators().iter();
    if args.json {
        out::json(&all.map(|e| ElevatorJson::new(e)).collect::<Vec<_>>())?;
        return Ok(Status::Success);
    }
    registered::list("elevator", all.map(|e| (e.name, e.summary, e.source)))
}

fn show(args: &ElevatorShow, parts: &Parts) -> anyhow::Result<Status> {
    let elevator = registered::elevator(&args.name, parts)?;
    if args.json {
        out::json_as("elevator-show", &ElevatorJson::new(elevator))?;
        return Ok(Status::Success);
    }
    let (name, summary, source) = (elevator.name, elevator.summary, elevator.source);
    let mut text = format!("{name}: {summary}\nsource: {source}\n");
    if let Some(alias) = elevator.alias {
        text += &format!("short name: {alias}\n");
    }
    if elevator.tunables.is_empty() {
        text += "tunables: none\n";
    }
    let specs = elevator.tunables.iter().map(|t| &t.spec).collect();
    // A default that is a part of a second is kept in whole ticks.
    let title = "Tunables, with the defaults at 1000 ticks a second";
    text += &registered::tables([(title, specs)]);
    out::text(&text)?;
    Ok(Status::Success)
}

fn answer(args: &ElevatorReplay, parts: &Parts) -> anyhow::Result<Status> {
    let read = Some(("the script", args.script.clone()));
    let files = Files::reading(read.filter(|(_, path)| !input::is_stdin(path)));
    let mut files = files.forced(args.force);
    let path = args.output.as_ref().filter(|path| !is_stdout(path));
    let target = match path {
        Some(path) => Some(files.writes("--output", path, FileKind::Answer)?),
        None => {
            files.prints()?;
            None
        }
    };
    let elevator = args.elevator.as_deref();
    let elevator = elevator
        .map(|name| registered::elevator(name, parts))
        .transpose()?;
    let name = input::name(&args.script);
    let text = script_at(&args.script)?;
    let script = IoScript::read(&text, parts.elevators(), elevator).context(name)?;
    let mut answer = String::new();
    replay(&script, &mut answer)?;
    let (Some(path), Some(target)) = (path, target) else {
        out::text(&answer)?;
        return Ok(Status::Success);
    };
    target.create()?.write_whole(answer.as_bytes())?;
    Output::told(path, "");
    Ok(Status::Success)
}

/// The text of the script at `path`, unpacked.
fn script_at(path: &Path) -> anyhow::Result<String> {
    /// Most bytes: half a million requests.
    const MOST: u64 = 16 << 20;
    let name = input::name(path);
    let cannot_read = || format!("cannot read {name}");
    let stream = Stream::open(path).with_context(cannot_read)?;
    let what = match stream.kind() {
        InputKind::Unknown => None,
        InputKind::Trace => Some(("a trace", "`domio trace summary` reads it")),
        InputKind::BlockTrace => Some(("a block trace", "`domio trace replay` runs its requests")),
        InputKind::Scenario => Some(("a scenario", "`domio run` simulates it")),
        InputKind::Foreign { what, advice } => Some((what, advice)),
    };
    if let Some((what, advice)) = what {
        bail!("{name} is {what}, where a script of requests is expected; {advice}");
    }
    let mut text = String::new();
    let mut script = stream.take(MOST + 1);
    script.read_to_string(&mut text).with_context(cannot_read)?;
    if text.len() as u64 > MOST {
        bail!("{name} has more than 16 MiB; split the script");
    }
    Ok(text)
}

#[derive(Serialize)]
struct ElevatorJson {
    name: &'static str,
    alias: Option<&'static str>,
    summary: &'static str,
    source: &'static str,
    tunables: Vec<ParamJson>,
}

impl ElevatorJson {
    fn new(elevator: &ElevatorInfo) -> Self {
        let tunables = elevator.tunables.iter();
        ElevatorJson {
            name: elevator.name,
            alias: elevator.alias,
            summary: elevator.summary,
            source: elevator.source,
            tunables: tunables.map(|t| ParamJson::new(&t.spec)).collect(),
        }
    }
}
