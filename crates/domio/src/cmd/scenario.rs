//! `domio scenario`: checks, schema and the shipped scenarios.

use crate::args::{self, Global, ScenarioCheck, ScenarioList, ScenarioShow};
use crate::input;
use crate::out::{self, Status};
use crate::shared::registered::Listing;
use crate::shared::{from_lists, from_trace, import};
use crate::traces;
use anyhow::anyhow;
use domio_answer::{AnswerSpec, rows};
use domio_front::hosts;
use domio_front::scenarios::{
    CheckedScenario, ScenarioText, is_unreadable, near, of_file, of_stdin,
};
use domio_papers::paper::{self, Paper};
use domio_scenario::{Parts, Scenario, ScenarioErrors, example, examples, schema};
use std::path::Path;

rows! {
    /// A scenario of the list.
    #[derive(Clone, PartialEq, Debug)]
    struct ListedScenario {
        /// Name of the scenario.
        name: String = key("name").title("scenario");
        /// What it shows.
        title: String = fact("title").title("shows");
    }
}

const LIST: Listing = Listing {
    name: "scenario-list",
    version: 2,
    doc: "What `domio scenario list --json` prints.",
    key: "scenarios",
    rows: "The shipped scenarios, or the cells of the papers.",
};

const CHECK: Listing = Listing {
    name: "scenario-check",
    version: 2,
    doc: "What `domio scenario check --json` prints.",
    key: "scenarios",
    rows: "The files that were checked, in the order of the command line.",
};

/// The schema of `scenario list`.
pub fn list_spec() -> AnswerSpec {
    LIST.of::<ListedScenario>(&[]).spec
}

/// The schema of `scenario check`.
pub fn check_spec() -> AnswerSpec {
    CHECK.of::<CheckedScenario>(&[]).spec
}

/// Runs a subcommand.
pub fn run(command: &args::Scenario, global: &Global) -> anyhow::Result<Status> {
    match command {
        args::Scenario::Check(args) => check(args, &global.parts),
        args::Scenario::Schema(_) => {
            out::json(&schema(&global.parts))?;
            Ok(Status::Success)
        }
        args::Scenario::List(args) => list(args, &global.parts),
        args::Scenario::Show(args) => show(args, &global.parts),
        args::Scenario::FromTrace(args) => from_trace::run(args, global),
        args::Scenario::FromLists(args) => from_lists::run(args, global),
        args::Scenario::Import(args) => import::run(args, global),
    }
}

/// Notices of a scenario that can be run, or its mistakes.
type Checked = Result<Vec<String>, ScenarioErrors>;

fn check(args: &ScenarioCheck, parts: &Parts) -> anyhow::Result<Status> {
    let mut status = Status::Success;
    let mut all = Vec::new();
    for file in &args.files {
        let checked = match one(file, parts) {
            // What is no scenario outweighs mistakes, and the other files are checked still.
            Err(error) if !args.json => {
                out::message(&format!("error: {error:#}"));
                status = Status::Unreadable;
                continue;
            }
            checked => checked?,
        };
        // What could not be read at all outweighs mistakes, whatever comes after it.
        match &checked {
            Err(errors) if is_unreadable(errors) => status = Status::Unreadable,
            Err(_) if status == Status::Success => status = Status::CheckFailed,
            _ => {}
        }
        let name = input::name(file);
        match args.json {
            true => all.push(CheckedScenario::of(name, &checked)),
            false => tell(&name, &checked)?,
        }
    }
    if args.json {
        out::json(&CHECK.of(&all))?;
    }
    Ok(status)
}

/// Checks one scenario. One that cannot be run is not valid, and its replays are looked at as `run`
/// does.
fn one(file: &Path, parts: &Parts) -> anyhow::Result<Checked> {
    let shipped = file.to_str().and_then(|name| Some((name, example(name)?)));
    let read = match shipped {
        _ if input::is_stdin(file) => of_stdin(parts)?,
        Some((name, text)) if !file.exists() => Scenario::parse(name, text.as_bytes(), parts),
        _ => of_file(file, parts)?,
    };
    Ok(read.and_then(|scenario| {
        let built = scenario.build(&traces::recorded(&scenario))?;
        Ok(hosts::notices(&scenario, &built).cloned().collect())
    }))
}

/// Tells people.
fn tell(name: &str, checked: &Checked) -> anyhow::Result<()> {
    match checked {
        Ok(notices) => {
            out::text(&format!("{name}: valid\n"))?;
            for notice in notices {
                out::notice(&format!("{name}: {notice}"));
            }
        }
        Err(errors) if is_unreadable(errors) => out::message(&format!("error: {errors}")),
        Err(errors) => out::text(&errors.render(true))?,
    }
    Ok(())
}

fn list(args: &ScenarioList, parts: &Parts) -> anyhow::Result<Status> {
    let papers = paper::shipped();
    let cells = papers.iter().flat_map(Paper::cells);
    let row = |name, title| ListedScenario { name, title };
    let of_example = |(name, text): &(&str, &str)| {
        let shown = ScenarioText::of(name, (*text).to_owned(), parts);
        row(shown.name, shown.title)
    };
    let all: Vec<ListedScenario> = match args.papers {
        true => cells.map(|cell| row(cell.path(), cell.title())).collect(),
        false => examples().iter().map(of_example).collect(),
    };
    LIST.print(&all, args.json)?;
    if !args.papers && !args.json {
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

fn show(args: &ScenarioShow, parts: &Parts) -> anyhow::Result<Status> {
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
    let answered = || ScenarioText::of(name, text.clone(), parts).answer();
    out::answer(args.json, answered, || text.clone())?;
    Ok(Status::Success)
}
