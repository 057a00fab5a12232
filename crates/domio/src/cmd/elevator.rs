//! `domio elevator`: which elevators there are, what they let you set, and what they do with a
//! script of requests.

use crate::args::{self, ElevatorReplay, Global};
use crate::files::{FileKind, Files};
use crate::input::{self, InputKind, Stream};
use crate::out::Status;
use crate::shared::registered::{self, Listing, Param, Registered, params};
use anyhow::{Context, bail};
use domio_answer::rows;
use domio_blk::elevator::ElevatorInfo;
use domio_blk::replay::{IoScript, replay};
use domio_scenario::Parts;
use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

rows! {
    /// An elevator.
    #[derive(Clone, PartialEq, Debug)]
    pub struct ElevatorRow {
        /// Name, as in sysfs.
        name: Cow<'static, str> = key("name").title("elevator");
        /// What it does.
        summary: Cow<'static, str> = fact("summary").title("what it does");
        /// Where its rules come from.
        source: Cow<'static, str> = fact("source");
        /// Short form of the name, where there is one.
        alias: Option<Cow<'static, str>> = fact("alias").title("short name");
        /// What can be set, under the names of sysfs; a default that is a part of a second is kept
        /// in whole ticks, of which there are 1000 a second here.
        tunables: Vec<Param> =
            parts("tunables", []).title("Tunables, with the defaults at 1000 ticks a second");
    }
}

/// Runs a subcommand.
pub fn run(command: &args::Elevator, global: &Global) -> anyhow::Result<Status> {
    match command {
        args::Elevator::List(args) => registered::list::<ElevatorRow>(args, &global.parts),
        args::Elevator::Show(args) => registered::show::<ElevatorRow>(args, &global.parts),
        args::Elevator::Replay(args) => replayed(args, &global.parts),
    }
}

impl Registered for ElevatorRow {
    const LIST: Listing = Listing {
        name: "elevator-list",
        version: 2,
        doc: "What `domio elevator list --json` prints.",
        key: "elevators",
        rows: "The elevators, in the order of lists.",
    };
    const SHOW: (&'static str, u32, &'static str) = (
        "elevator-show",
        2,
        "What `domio elevator show --json` prints.",
    );

    fn all(parts: &Parts) -> Vec<Self> {
        let all = parts.elevators().iter();
        all.map(|elevator| ElevatorRow::from(*elevator)).collect()
    }

    fn named(name: &str, parts: &Parts) -> anyhow::Result<Self> {
        Ok(registered::elevator(name, parts)?.into())
    }
}

impl From<&ElevatorInfo> for ElevatorRow {
    fn from(e: &ElevatorInfo) -> Self {
        ElevatorRow {
            name: e.name.into(),
            summary: e.summary.into(),
            source: e.source.into(),
            alias: e.alias.map(Cow::from),
            tunables: params(e.tunables.iter().map(|tunable| &tunable.spec)),
        }
    }
}

/// Runs a script of requests.
fn replayed(args: &ElevatorReplay, parts: &Parts) -> anyhow::Result<Status> {
    let read = Some(("the script", args.script.clone()));
    let files = Files::reading(read.filter(|(_, path)| !input::is_stdin(path)));
    let files = files.forced(args.force);
    let target = files.makes(args.output.as_deref(), FileKind::Answer)?;
    let elevator = args.elevator.as_deref();
    let elevator = elevator
        .map(|name| registered::elevator(name, parts))
        .transpose()?;
    let name = input::name(&args.script);
    let text = script_at(&args.script)?;
    let script = IoScript::read(&text, parts.elevators(), elevator).context(name)?;
    let mut answer = String::new();
    replay(&script, &mut answer)?;
    target.write(&answer)?;
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
