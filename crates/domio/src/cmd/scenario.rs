//! `domio scenario`: checks, schema and the shipped scenarios.

use crate::args::{self, Global, ScenarioCheck, ScenarioList, ScenarioShow};
use crate::cmd::{from_lists, from_trace};
use crate::files::Files;
use crate::input::{self, Kind, STDIN_NAME, Stream};
use crate::out::{self, Status};
use crate::suggest;
use crate::traces;
use anyhow::{Context, anyhow, bail};
use domio_papers::folders;
use domio_papers::paper::{self, Paper};
use domio_report::text::{Cell, Column, Table, Tone};
use domio_scenario::{Built, Code, MAX_BYTES, Scenario, ScenarioErrors, example, examples, schema};
use domio_sched::policies;
use serde_json::json;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Runs a subcommand.
pub fn run(command: &args::Scenario, global: &Global) -> anyhow::Result<Status> {
    match command {
        args::Scenario::Check(args) => check(args),
        args::Scenario::Schema(_) => {
            out::json(&schema(policies()))?;
            Ok(Status::Success)
        }
        args::Scenario::List(args) => list(args),
        args::Scenario::Show(args) => show(args),
        args::Scenario::FromTrace(args) => from_trace::run(args, global),
        args::Scenario::FromLists(args) => from_lists::run(args),
    }
}

/// The scenario in the file `name` (`-` for standard input), or the shipped one or the cell of a
/// paper of that name when
/// there is no such file.
///
/// # Errors
/// Every mistake in it; with near matches when there is neither.
pub fn load(name: &str) -> anyhow::Result<Scenario> {
    let path = Path::new(name);
    let result = match example(name) {
        _ if input::is_stdin(path) => of_stdin()?,
        Some(text) if !path.exists() => Scenario::parse(name, text.as_bytes(), policies()),
        None if !path.exists() => match paper::scenario(name).map_err(|e| anyhow!(e))? {
            Some(scenario) => return Ok(scenario),
            None => {
                let near = near(name);
                return Err(anyhow!(
                    "no file and no shipped scenario is called \"{name}\"{near}; \
                     `domio scenario list` lists the shipped ones"
                ));
            }
        },
        _ => of_file(path)?,
    };
    result.map_err(mistakes)
}

/// Near matches of `name` among shipped scenarios, or among cells if it begins like one.
fn near(name: &str) -> String {
    if !name.starts_with(folders::PREFIX) {
        return suggest::near(name, examples().iter().map(|(n, _)| *n));
    }
    let papers = paper::shipped();
    let cells: Vec<String> = papers
        .iter()
        .flat_map(Paper::cells)
        .map(|c| c.path())
        .collect();
    suggest::near(name, cells.iter().map(String::as_str))
}

/// The scenario on standard input.
fn of_stdin() -> anyhow::Result<Result<Scenario, ScenarioErrors>> {
    let context = "cannot read the scenario from <stdin>";
    let bytes = input::stdin_bytes(MAX_BYTES).context(context)?;
    if let Some(why) = input::no_scenario(STDIN_NAME, Kind::of(bytes)) {
        bail!(why);
    }
    Ok(Scenario::parse(STDIN_NAME, bytes, policies()))
}

/// The scenario in the file at `path`, unpacked if it is packed.
///
/// # Errors
/// When it is known to be something else, or cannot be unpacked.
fn of_file(path: &Path) -> anyhow::Result<Result<Scenario, ScenarioErrors>> {
    let name = path.display().to_string();
    if !path.is_file() || File::open(path).is_err() {
        return Ok(Scenario::load(path, policies()));
    }
    let context = || format!("cannot read the scenario {name}");
    let file = Stream::open(path).with_context(context)?;
    if let Some(why) = input::no_scenario(&name, file.kind()) {
        bail!(why);
    }
    if file.packing().is_none() {
        return Ok(Scenario::load(path, policies()));
    }
    let mut bytes = Vec::new();
    let mut limited = file.take(MAX_BYTES as u64 + 1);
    limited.read_to_end(&mut bytes).with_context(context)?;
    Ok(Scenario::parse(&name, &bytes, policies()))
}

/// The files of a command that simulates `scenario`: what was read of it, and what will be when it
/// is built.
pub fn files(scenario: &Scenario) -> Files {
    Files::reading(inputs(scenario))
}

/// What is read of `scenario`, as [`Files::reading`] takes it.
pub fn inputs(scenario: &Scenario) -> Vec<(&'static str, PathBuf)> {
    let own = Path::new(scenario.name());
    // A shipped one goes by a name at which there is no file, or it would have been read.
    let own = own.exists().then(|| ("the scenario", own.to_owned()));
    let plan = scenario.plan();
    let replays = plan.replays.iter();
    let replays = replays.map(|replay| ("the replayed trace", &replay.trace));
    let inputs = plan.disk_inputs.iter();
    let files = replays.chain(inputs.map(|input| ("the file of a workload", &input.path)));
    let files = files.map(|(what, path)| (what, scenario.folder().join(path)));
    own.into_iter().chain(files).collect()
}

/// What is to be known of a scenario, and of the files that it names.
pub fn notices<'n>(scenario: &'n Scenario, built: &'n Built) -> impl Iterator<Item = &'n String> {
    scenario.notices().iter().chain(&built.notices)
}

/// The error that tells all mistakes, each with its line of the text. Colours are taken out where
/// they are printed, if they are not wanted there.
pub fn mistakes(errors: ScenarioErrors) -> anyhow::Error {
    if is_unreadable(&errors) {
        return anyhow!("{errors}");
    }
    anyhow!(
        "the scenario has mistakes:\n\n{}",
        errors.render(true).trim_end()
    )
}

fn check(args: &ScenarioCheck) -> anyhow::Result<Status> {
    let mut status = Status::Success;
    let mut checked = Vec::new();
    for file in &args.files {
        let shipped = file.to_str().and_then(|name| Some((name, example(name)?)));
        let result = match shipped {
            _ if input::is_stdin(file) => of_stdin()?,
            Some((name, text)) if !file.exists() => {
                Scenario::parse(name, text.as_bytes(), policies())
            }
            _ => match of_file(file) {
                // What is no scenario outweighs mistakes, and the other files are checked still.
                Err(error) if !args.json => {
                    out::message(&format!("error: {error:#}"));
                    status = Status::Unreadable;
                    continue;
                }
                result => result?,
            },
        };
        // A scenario that cannot be run is not valid, and its replays are looked at as `run` does.
        let result = result.and_then(|scenario| {
            let built = scenario.build(&traces::recorded(&scenario))?;
            Ok(notices(&scenario, &built).cloned().collect::<Vec<String>>())
        });
        // What could not be read at all outweighs mistakes, whatever comes after it.
        match &result {
            Err(errors) if is_unreadable(errors) => status = Status::Unreadable,
            Err(_) if status == Status::Success => status = Status::CheckFailed,
            _ => {}
        }
        let name = input::name(file);
        match (result, args.json) {
            (Ok(notices), true) => checked.push(json!({
                "file": name,
                "valid": true,
                "notices": notices,
            })),
            (Err(errors), true) => {
                let mut entry = errors.to_json();
                entry["file"] = name.into();
                entry["valid"] = false.into();
                checked.push(entry);
            }
            (Ok(notices), false) => {
                out::text(&format!("{name}: valid\n"))?;
                for notice in notices {
                    out::notice(&format!("{name}: {notice}"));
                }
            }
            (Err(errors), false) if is_unreadable(&errors) => {
                out::message(&format!("error: {errors}"));
            }
            (Err(errors), false) => out::text(&errors.render(true))?,
        }
    }
    if args.json {
        out::json(&checked)?;
    }
    Ok(status)
}

fn is_unreadable(errors: &ScenarioErrors) -> bool {
    errors.problems().iter().any(|p| p.code == Code::Unreadable)
}

/// The title of the scenario `text`.
pub fn title(name: &str, text: &str) -> String {
    let scenario = Scenario::parse(name, text.as_bytes(), policies());
    scenario
        .ok()
        .and_then(|s| s.plan().title.clone())
        .unwrap_or_default()
}

fn list(args: &ScenarioList) -> anyhow::Result<Status> {
    let papers = paper::shipped();
    let cells = papers.iter().flat_map(Paper::cells);
    let titled: Vec<(String, String)> = match args.papers {
        true => cells.map(|cell| (cell.path(), cell.title())).collect(),
        false => examples()
            .iter()
            .map(|(name, text)| ((*name).to_owned(), title(name, text)))
            .collect(),
    };
    if args.json {
        let list = titled.iter();
        let list = list.map(|(name, title)| json!({ "name": name, "title": title }));
        out::json(&list.collect::<Vec<_>>())?;
        return Ok(Status::Success);
    }
    let mut table = Table::new([Column::words("scenario").whole(), Column::words("shows")]);
    for (name, title) in titled {
        table.row([Cell::new(name, Tone::Strong), title.into()]);
    }
    out::text(&table.render(out::view()))?;
    if !args.papers {
        let cells = cells_of(&papers);
        out::message(&format!(
            "the cells of papers are scenarios, too, {cells}: --papers"
        ));
    }
    Ok(Status::Success)
}

/// How many cells the papers have.
fn cells_of(papers: &[Paper]) -> String {
    let counts = papers
        .iter()
        .map(|p| format!("{} of {}", p.cells().count(), p.name));
    counts.collect::<Vec<_>>().join(", ")
}

fn show(args: &ScenarioShow) -> anyhow::Result<Status> {
    let name = &args.name;
    let text = match example(name) {
        Some(text) => text.to_owned(),
        None => paper::text(name).map_err(|e| anyhow!(e))?.ok_or_else(|| {
            let near = near(name);
            anyhow!(
                "no shipped scenario is called \"{name}\"{near}; `domio scenario list` lists them"
            )
        })?,
    };
    match args.json {
        true => out::json_as(
            "scenario-show",
            &json!({
                "name": args.name,
                "title": title(name, &text),
                "text": text,
            }),
        )?,
        false => out::text(&text)?,
    }
    Ok(Status::Success)
}
