//! `domio scenario`: checks, schema and the shipped scenarios.

use crate::args::{self, Global, ScenarioCheck, ScenarioList, ScenarioShow};
use crate::input;
use crate::out::{self, Status};
use crate::shared::host::title_of;
use crate::shared::{from_lists, from_trace};
use crate::traces;
use anyhow::anyhow;
use domio_front::hosts;
use domio_front::scenarios::{is_unreadable, near, of_file, of_stdin};
use domio_papers::paper::{self, Paper};
use domio_report::text::{TextCell, TextColumn, TextTable, Tone};
use domio_scenario::{Parts, Scenario, example, examples, schema};
use serde_json::json;

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
    }
}

fn check(args: &ScenarioCheck, parts: &Parts) -> anyhow::Result<Status> {
    let mut status = Status::Success;
    let mut checked = Vec::new();
    for file in &args.files {
        let shipped = file.to_str().and_then(|name| Some((name, example(name)?)));
        let result = match shipped {
            _ if input::is_stdin(file) => of_stdin(parts)?,
            Some((name, text)) if !file.exists() => Scenario::parse(name, text.as_bytes(), parts),
            _ => match of_file(file, parts) {
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
            Ok(hosts::notices(&scenario, &built)
                .cloned()
                .collect::<Vec<String>>())
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

fn list(args: &ScenarioList, parts: &Parts) -> anyhow::Result<Status> {
    let papers = paper::shipped();
    let cells = papers.iter().flat_map(Paper::cells);
    let titled: Vec<(String, String)> = match args.papers {
        true => cells.map(|cell| (cell.path(), cell.title())).collect(),
        false => examples()
            .iter()
            .map(|(name, text)| ((*name).to_owned(), title_of(name, text, parts)))
            .collect(),
    };
    if args.json {
        let list = titled.iter();
        let list = list.map(|(name, title)| json!({ "name": name, "title": title }));
        out::json(&list.collect::<Vec<_>>())?;
        return Ok(Status::Success);
    }
    let mut table = TextTable::new([
        TextColumn::words("scenario").whole(),
        TextColumn::words("shows"),
    ]);
    for (name, title) in titled {
        table.row([TextCell::new(name, Tone::Strong), title.into()]);
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
    match args.json {
        true => out::json_as(
            "scenario-show",
            &json!({
                "name": args.name,
                "title": title_of(name, &text, parts),
                "text": text,
            }),
        )?,
        false => out::text(&text)?,
    }
    Ok(Status::Success)
}
