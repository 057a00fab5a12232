//! `domio results`: what earlier commands left in the file of results.

use crate::args::{Global, Results, ResultsDiff, ResultsList, ResultsPrune, ResultsShow};
use crate::keeping::{existing, program};
use crate::out::{self, Status};
use crate::shared::kept::{KeptSide, program_of, programs};
use crate::suggest;
use anyhow::bail;
use domio_lab::store::{DEFAULT, FigureMoved, Held, Moves, Store, moves};
use domio_report::figure;
use domio_report::text::{TextCell, TextColumn, TextTable, Tone};
use domio_run::Sample;
use domio_stats::Estimate;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Runs a subcommand.
pub fn run(command: &Results, global: &Global) -> anyhow::Result<Status> {
    match command {
        Results::List(args) => list(args, &program(&global.parts)),
        Results::Show(args) => show(args, &program(&global.parts)),
        Results::Diff(args) => diff(args),
        Results::Prune(args) => prune(args, &program(&global.parts)),
    }
}

fn file(named: Option<&PathBuf>) -> PathBuf {
    named.cloned().unwrap_or_else(|| PathBuf::from(DEFAULT))
}

fn list(args: &ResultsList, this: &str) -> anyhow::Result<Status> {
    let store = existing(&file(args.results.as_ref()))?;
    let mut held = store.held()?;
    held.retain(|held| held.subject.name.starts_with(&args.prefix));
    if args.json {
        let list: Vec<Value> = held.iter().map(|held| to_json(held, this)).collect();
        out::json(&list)?;
        return Ok(Status::Success);
    }
    for (i, program) in programs(&held).iter().enumerate() {
        let mut table = TextTable::new([
            TextColumn::words("experiment or scenario"),
            TextColumn::words("settings"),
            TextColumn::figures("seed"),
            TextColumn::figures("replications"),
            TextColumn::words("last made (UTC)").whole(),
            TextColumn::figures("took [s]"),
            TextColumn::figures("size [kB]"),
        ]);
        for held in held.iter().filter(|held| held.program == *program) {
            table.row([
                TextCell::new(held.subject.name.clone(), Tone::Strong),
                held.subject.settings.clone().into(),
                held.seed.to_string().into(),
                held.replications.to_string().into(),
                date(held.made).into(),
                figure::number(held.took.as_secs_f64()).into(),
                figure::number(held.bytes as f64 / 1e3).into(),
            ]);
        }
        let which = match program == this {
            true => ", this program",
            false => "",
        };
        let between = if i == 0 { "" } else { "\n" };
        let table = table.render(out::view());
        out::text(&format!("{between}domio {program}{which}\n\n{table}"))?;
    }
    if held.is_empty() {
        out::message("nothing of that name is kept");
    }
    Ok(Status::Success)
}

fn to_json(held: &Held, this: &str) -> Value {
    json!({
        "program": held.program,
        "is_this_program": held.program == this,
        "name": held.subject.name,
        "settings": held.subject.settings,
        "fingerprint": held.subject.fingerprint,
        "seed": held.seed,
        "replications": held.replications,
        "made": held.made,
        "took_s": held.took.as_secs_f64(),
        "bytes": held.bytes,
    })
}

fn show(args: &ResultsShow, this: &str) -> anyhow::Result<Status> {
    let store = existing(&file(args.results.as_ref()))?;
    let all = store.held()?;
    let named: Vec<Held> = all
        .iter()
        .filter(|held| held.subject.name == args.name)
        .cloned()
        .collect();
    if named.is_empty() {
        let near = suggest::near(&args.name, all.iter().map(|h| h.subject.name.as_str()));
        bail!(
            "no results of \"{}\" are kept{near}; `domio results list` lists what is",
            args.name
        );
    }
    let program = match &args.program {
        Some(begin) => program_of(&named, begin)?,
        None => named[0].program.clone(),
    };
    let mut shown = Vec::new();
    for (i, held) in named.iter().filter(|h| h.program == program).enumerate() {
        let figures = figures(&store.samples(held)?);
        if args.json {
            let mut json = to_json(held, this);
            json["figures"] = figures
                .into_iter()
                .map(|(name, estimate)| (name, json!(estimate)))
                .collect();
            shown.push(json);
            continue;
        }
        let mut table = TextTable::new([
            TextColumn::words("figure").whole(),
            TextColumn::figures("mean and 95 % interval"),
            TextColumn::figures("replications"),
        ]);
        for (name, estimate) in figures {
            let n = estimate.n.to_string();
            table.row([name.into(), figure::estimate(&estimate).into(), n.into()]);
        }
        let between = if i == 0 { "" } else { "\n" };
        let settings = match held.subject.settings.as_str() {
            "" => String::new(),
            settings => format!(", {settings}"),
        };
        out::text(&format!(
            "{between}{}{settings}, seed {}, by domio {program}\n\n{}",
            args.name,
            held.seed,
            table.render(out::view())
        ))?;
    }
    if args.json {
        out::json(&shown)?;
    }
    Ok(Status::Success)
}

/// Each figure over the replications that have it.
fn figures(samples: &[(u32, Sample)]) -> Vec<(String, Estimate)> {
    let names = samples.iter().flat_map(|(_, sample)| sample.values());
    let names: BTreeSet<&str> = names.map(|(name, _)| name).collect();
    let estimate = |name: &str| {
        let values = samples.iter().filter_map(|(_, sample)| sample.get(name));
        let estimate = Estimate::of(&values.collect::<Vec<f64>>())?;
        Some((name.to_owned(), estimate))
    };
    names.into_iter().filter_map(estimate).collect()
}

fn diff(args: &ResultsDiff) -> anyhow::Result<Status> {
    let path = file(args.results.as_ref());
    let (before, after) = match (&args.before, &args.after) {
        (Some(before), Some(after)) => (
            KeptSide::find(before, &path)?,
            KeptSide::find(after, &path)?,
        ),
        _ => {
            let all = existing(&path)?.held()?;
            let programs = programs(&all);
            let [last, before, ..] = programs.as_slice() else {
                bail!(
                    "fewer than two programs left results in {}; name two programs or two files",
                    path.display()
                );
            };
            let side = |program: &str| KeptSide::find(Path::new(program), &path);
            (side(before)?, side(last)?)
        }
    };
    let (old, new): (Vec<&Held>, Vec<&Held>) =
        (before.held.iter().collect(), after.held.iter().collect());
    let moves = moves((&before.store, &old), (&after.store, &new))?;
    match args.json {
        true => out::json_as(
            "results-diff",
            &json!({
                "before": before.label,
                "after": after.label,
                "same": moves.same,
                "moved": moves.moved.iter().map(moved_to_json).collect::<Vec<_>>(),
                "only_before": moves.only_before,
                "only_after": moves.only_after,
            }),
        )?,
        false => out::text(&diff_to_text(&before.label, &after.label, &moves))?,
    }
    Ok(Status::Success)
}

fn moved_to_json(moved: &FigureMoved) -> Value {
    json!({
        "name": moved.name,
        "settings": moved.settings,
        "seed": moved.seed,
        "figure": moved.figure,
        "before": moved.before,
        "after": moved.after,
        "is_proven": moved.proven,
    })
}

fn diff_to_text(before: &str, after: &str, moves: &Moves) -> String {
    let mut text = format!(
        "From {before}\nto   {after}:\n{} figures moved, {} are the same to the last bit.\n",
        moves.moved.len(),
        moves.same
    );
    let mut table = TextTable::new([
        TextColumn::words("experiment or scenario"),
        TextColumn::words("figure"),
        TextColumn::figures("before"),
        TextColumn::figures("after"),
        TextColumn::words("mean differs"),
    ]);
    for moved in &moves.moved {
        let estimate = |estimate: Option<Estimate>| match estimate {
            Some(estimate) => figure::estimate(&estimate),
            None => "none".to_owned(),
        };
        table.row([
            TextCell::new(moved.name.clone(), Tone::Strong),
            moved.figure.clone().into(),
            estimate(moved.before).into(),
            estimate(moved.after).into(),
            if moved.proven { "yes" } else { "not proven" }.into(),
        ]);
    }
    if !table.is_empty() {
        text += &format!("\n{}", table.render(out::view()));
    }
    for (what, names) in [("before", &moves.only_before), ("after", &moves.only_after)] {
        if !names.is_empty() {
            text += &format!("Only {what}: {}.\n", names.join(", "));
        }
    }
    text
}

fn prune(args: &ResultsPrune, this: &str) -> anyhow::Result<Status> {
    let path = file(args.results.as_ref());
    let mut store = Store::existing(&path, this)?;
    let all = store.held()?;
    let keep = args.keep.iter().map(|begin| program_of(&all, begin));
    let keep = keep.collect::<anyhow::Result<Vec<String>>>()?;
    let removed = store.prune(&keep)?;
    match args.json {
        true => out::json_as("results-prune", &json!({ "removed": removed }))?,
        false => out::text(&format!(
            "removed {removed} replications of other programs from {}\n",
            path.display()
        ))?,
    }
    Ok(Status::Success)
}

/// The time `seconds` after 1970 began, in UTC: "2026-11-24 13:40".
fn date(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years begin in March, so that a leap day is the last of its year; eras have 400 years.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (second / 3_600, second % 3_600 / 60);
    format!("{year}-{month:02}-{date:02} {hour:02}:{minute:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00"),
            (951_782_399, "2000-02-28 23:59"),
            (951_782_400, "2000-02-29 00:00"),
            (1_795_527_600, "2026-11-24 13:40"),
            (4_107_542_399, "2100-02-28 23:59"),
            (4_107_542_400, "2100-03-01 00:00"),
        ] {
            assert_eq!(date(seconds), expected);
        }
    }
}
