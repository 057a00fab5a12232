//! `domio scenario`: checks, schema and the shipped scenarios.

use crate::args::{self, ScenarioCheck, ScenarioList, ScenarioShow};
use crate::out::{self, Status};
use crate::suggest;
use anyhow::anyhow;
use domio_report::text::{Cell, Column, Table, Tone};
use domio_scenario::{Scenario, ScenarioErrors, example, examples, schema};
use domio_sched::policies;
use serde_json::json;
use std::path::Path;

/// Runs a subcommand.
pub fn run(command: &args::Scenario) -> anyhow::Result<Status> {
    match command {
        args::Scenario::Check(args) => check(args),
        args::Scenario::Schema => {
            out::json(&schema(policies()))?;
            Ok(Status::Success)
        }
        args::Scenario::List(args) => list(args),
        args::Scenario::Show(args) => show(args),
    }
}

/// The scenario in the file `name`, or the shipped one of that name when there is no such file.
///
/// # Errors
/// Every mistake in it; with near matches when there is neither.
pub fn load(name: &str) -> anyhow::Result<Scenario> {
    let path = Path::new(name);
    let result = match example(name) {
        Some(text) if !path.exists() => Scenario::parse(name, text.as_bytes(), policies()),
        None if !path.exists() => {
            let near = suggest::near(name, examples().iter().map(|(n, _)| *n));
            return Err(anyhow!(
                "no file and no shipped scenario is called \"{name}\"{near}; \
                 `domio scenario list` lists the shipped ones"
            ));
        }
        _ => Scenario::load(path, policies()),
    };
    result.map_err(mistakes)
}

/// The error that tells all mistakes.
pub fn mistakes(errors: ScenarioErrors) -> anyhow::Error {
    anyhow!("the scenario has mistakes:\n{errors}")
}

fn check(args: &ScenarioCheck) -> anyhow::Result<Status> {
    let mut good = true;
    let mut checked = Vec::new();
    for file in &args.files {
        let result = Scenario::load(file, policies());
        good &= result.is_ok();
        let name = file.display().to_string();
        match (result, args.json) {
            (Ok(scenario), true) => checked.push(json!({
                "file": name,
                "valid": true,
                "notices": scenario.notices(),
            })),
            (Err(errors), true) => {
                let mut entry = errors.to_json();
                entry["file"] = name.into();
                entry["valid"] = false.into();
                checked.push(entry);
            }
            (Ok(scenario), false) => {
                out::text(&format!("{name}: valid\n"))?;
                for notice in scenario.notices() {
                    out::message(&format!("notice: {name}: {notice}"));
                }
            }
            (Err(errors), false) => out::text(&format!("{errors}\n"))?,
        }
    }
    if args.json {
        out::json(&checked)?;
    }
    Ok(Status::of_check(good))
}

fn title(name: &str, text: &str) -> String {
    let scenario = Scenario::parse(name, text.as_bytes(), policies());
    scenario
        .ok()
        .and_then(|s| s.plan().title.clone())
        .unwrap_or_default()
}

fn list(args: &ScenarioList) -> anyhow::Result<Status> {
    let titled = examples()
        .iter()
        .map(|(name, text)| (*name, title(name, text)));
    if args.json {
        let list = titled.map(|(name, title)| json!({ "name": name, "title": title }));
        out::json(&list.collect::<Vec<_>>())?;
        return Ok(Status::Success);
    }
    let mut table = Table::new([Column::words("scenario").whole(), Column::words("shows")]);
    for (name, title) in titled {
        table.row([Cell::new(name, Tone::Strong), title.into()]);
    }
    out::text(&table.render(out::width()))?;
    Ok(Status::Success)
}

fn show(args: &ScenarioShow) -> anyhow::Result<Status> {
    let text = example(&args.name).ok_or_else(|| {
        let name = &args.name;
        let near = suggest::near(name, examples().iter().map(|(n, _)| *n));
        anyhow!("no shipped scenario is called \"{name}\"{near}; `domio scenario list` lists them")
    })?;
    match args.json {
        true => out::json(&json!({
            "name": args.name,
            "title": title(&args.name, text),
            "text": text,
        }))?,
        false => out::text(text)?,
    }
    Ok(Status::Success)
}
