//! `domio results`: what earlier commands left in the file of results.

use crate::args::{
    Global, Results, ResultsDiff, ResultsList, ResultsMerge, ResultsPrune, ResultsShow,
};
use crate::keeping::{existing, program};
use crate::out::{self, Status};
use crate::shared::kept::{KeptSide, program_of, programs};
use crate::shared::registered::Listing;
use crate::suggest;
use anyhow::bail;
use domio_answer::column::fact;
use domio_answer::{AnswerSpec, Answered, Holds, MeanCell, RowType, Sentence, Table, rows};
use domio_lab::store::{DEFAULT, Family, Held, Moves, Store, moves};
use domio_report::text::table::render;
use domio_report::{tables, written};
use domio_run::Sample;
use domio_stats::Estimate;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

rows! {
    /// What is kept, with what it says.
    #[derive(Clone, PartialEq, Debug)]
    struct Shown {
        /// What is kept.
        held: Held = fact("");
        /// Figures by name, each over the replications that have it.
        figures: Vec<(String, MeanCell)> = by_name("figures", fact("value"));
    }

    /// Two sides, and what moved.
    #[derive(Clone, PartialEq, Debug)]
    struct Compared {
        /// What was: a program and its file.
        before: String = fact("before");
        /// What is.
        after: String = fact("after");
        /// What moved.
        moves: Moves = fact("");
    }

    /// What was taken over.
    #[derive(Clone, PartialEq, Debug)]
    struct Merged {
        /// How many replications were new.
        added: usize = count("added");
    }

    /// What was taken away.
    #[derive(Clone, PartialEq, Debug)]
    struct Pruned {
        /// How many replications went.
        removed: usize = count("removed");
    }
}

/// Runs a subcommand.
pub fn run(command: &Results, global: &Global) -> anyhow::Result<Status> {
    match command {
        Results::List(args) => list(args, &program(&global.parts)),
        Results::Show(args) => show(args, &program(&global.parts)),
        Results::Diff(args) => diff(args),
        Results::Merge(args) => merge(args, &program(&global.parts)),
        Results::Prune(args) => prune(args, &program(&global.parts)),
    }
}

fn file(named: Option<&PathBuf>) -> PathBuf {
    named.cloned().unwrap_or_else(|| PathBuf::from(DEFAULT))
}

/// What `domio results list` answers.
pub fn list_spec() -> AnswerSpec {
    of_rows::<Held>(&LIST, &[], |_| false).spec
}

/// What `domio results show` answers.
pub fn show_spec() -> AnswerSpec {
    of_rows::<Shown>(&SHOW, &[], |_| false).spec
}

/// What `domio results diff` answers.
pub fn diff_spec() -> AnswerSpec {
    let doc = "What `domio results diff --json` prints.";
    AnswerSpec::new("results-diff", 2, doc, Compared::spec())
}

/// What `domio results merge` answers.
pub fn merge_spec() -> AnswerSpec {
    let doc = "What `domio results merge --json` prints.";
    AnswerSpec::new("results-merge", 1, doc, Merged::spec())
}

/// What `domio results prune` answers.
pub fn prune_spec() -> AnswerSpec {
    let doc = "What `domio results prune --json` prints.";
    AnswerSpec::new("results-prune", 2, doc, Pruned::spec())
}

/// What `domio results list` has.
const LIST: Listing = kept("results-list", "What `domio results list --json` prints.");
/// What `domio results show` has.
const SHOW: Listing = kept("results-show", "What `domio results show --json` prints.");

const fn kept(name: &'static str, doc: &'static str) -> Listing {
    Listing {
        name,
        version: 2,
        doc,
        key: "results",
        rows: "Replications of an experiment or a scenario each.",
    }
}

/// The answer that is a list of what is kept.
fn of_rows<R: RowType>(list: &Listing, all: &[R], is_own: impl Fn(&R) -> bool) -> Answered {
    let mut table = Table::of("", all);
    let own = fact("is_this_program").of(Holds::Flag);
    let own = own.doc("Whether this program made them.");
    table.derive(own, all.iter().map(|row| is_own(row).into()));
    list.answer(table)
}

fn list(args: &ResultsList, this: &str) -> anyhow::Result<Status> {
    let path = file(args.results.as_ref());
    let store = existing(&path)?;
    let is_empty = match args.json || args.long {
        true => {
            let mut held = store.held()?;
            held.retain(|held| held.subject.name.starts_with(&args.prefix));
            out::answer(
                args.json,
                || of_rows(&LIST, &held, |held| held.program == this),
                || listed(&held, this),
            )?;
            held.is_empty()
        }
        false => {
            let families = store.families(&args.prefix)?;
            if !families.is_empty() {
                out::text(&families_to_text(&families))?;
            }
            families.is_empty()
        }
    };
    if args.json {
        return Ok(Status::Success);
    }
    match is_empty {
        true => out::message("nothing of that name is kept"),
        false => out::text(&size_to_text(&path, this))?,
    }
    Ok(Status::Success)
}

/// A table a program, a row for each experiment, setting and seed.
fn listed(held: &[Held], this: &str) -> String {
    let of = |program: &String| {
        let own = held.iter().filter(|held| held.program == *program);
        let mut table = Table::of("", own.clone());
        let made = own.map(|held| date(held.made.cast_signed()).into());
        table.derive(tables::text("last made (UTC)"), made);
        let which = match program == this {
            true => ", this program",
            false => "",
        };
        format!("domio {program}{which}\n\n{}", render(&table, out::view()))
    };
    let parts: Vec<String> = programs(held).iter().map(of).collect();
    parts.join("\n")
}

/// A row for each program and family of names.
fn families_to_text(families: &[Family]) -> String {
    let mut table = Table::of("", families);
    let made = families.iter().map(|f| date(f.made.cast_signed()).into());
    table.derive(tables::text("last made (UTC)"), made);
    render(&table, out::view())
}

/// How large the file is, and what makes it smaller.
fn size_to_text(path: &Path, this: &str) -> String {
    // The log that is written ahead is a part of the file.
    let log = PathBuf::from(format!("{}-wal", path.display()));
    let sizes = [path, &log].map(|path| std::fs::metadata(path).map_or(0, |m| m.len()));
    let bytes = sizes.iter().sum::<u64>() as f64;
    let (factor, unit) = written::unit_for(bytes, "B");
    let size = written::with_unit(&written::short(bytes * factor), unit);
    format!(
        "\n{} takes {size}. `domio results prune` removes what other programs than this one made \
         ({this});\n--keep PROGRAM spares another one.\n",
        path.display()
    )
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
    for held in named.into_iter().filter(|h| h.program == program) {
        let figures = figures(&store.samples(&held)?);
        shown.push(Shown { held, figures });
    }
    out::answer(
        args.json,
        || of_rows(&SHOW, &shown, |one| one.held.program == this),
        || {
            shown
                .iter()
                .map(shown_to_text)
                .collect::<Vec<_>>()
                .join("\n")
        },
    )?;
    Ok(Status::Success)
}

fn shown_to_text(shown: &Shown) -> String {
    let Held {
        subject,
        seed,
        program,
        ..
    } = &shown.held;
    let columns = [
        tables::name("figure"),
        tables::mean("mean and 95 % interval", ""),
        tables::number("replications", "").of(Holds::Whole),
    ];
    let mut table = Table::new("", columns);
    for (name, mean) in &shown.figures {
        table.row([name.clone().into(), (*mean).into(), mean.n.into()]);
    }
    let settings = match subject.settings.as_str() {
        "" => String::new(),
        settings => format!(", {settings}"),
    };
    format!(
        "{}{settings}, seed {seed}, by domio {program}\n\n{}",
        subject.name,
        render(&table, out::view())
    )
}

/// Each figure over the replications that have it.
fn figures(samples: &[(u32, Sample)]) -> Vec<(String, MeanCell)> {
    let names = samples.iter().flat_map(|(_, sample)| sample.values());
    let names: BTreeSet<&str> = names.map(|(name, _)| name).collect();
    let estimate = |name: &str| {
        let values = samples.iter().filter_map(|(_, sample)| sample.get(name));
        let estimate = Estimate::of(&values.collect::<Vec<f64>>())?;
        Some((name.to_owned(), estimate.into()))
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
    let compared = Compared {
        moves: moves((&before.store, &old), (&after.store, &new))?,
        before: before.label,
        after: after.label,
    };
    let text = || diff_to_text(&compared);
    out::answer(args.json, || diff_answer(&compared), text)?;
    Ok(Status::Success)
}

fn diff_answer(compared: &Compared) -> Answered {
    let mut answer = Answered::new(diff_spec(), compared.cells());
    answer.findings = diff_findings(&compared.moves).map(Sentence::new).collect();
    answer
}

/// How many figures moved, and what only one side has.
fn diff_findings(moves: &Moves) -> impl Iterator<Item = String> {
    let count = format!(
        "{} figures moved, {} are the same to the last bit.",
        moves.moved.len(),
        moves.same
    );
    let sides = [("before", &moves.only_before), ("after", &moves.only_after)];
    let sides = sides.into_iter().filter(|(_, names)| !names.is_empty());
    let only = sides.map(|(what, names)| format!("Only {what}: {}.", names.join(", ")));
    [count].into_iter().chain(only)
}

fn diff_to_text(compared: &Compared) -> String {
    let Compared {
        before,
        after,
        moves,
    } = compared;
    let mut text = format!("From {before}\nto   {after}:\n");
    if !moves.moved.is_empty() {
        let table = Table::of("", &moves.moved);
        text += &format!("\n{}\n", render(&table, out::view()));
    }
    diff_findings(moves).for_each(|finding| text += &format!("{finding}\n"));
    text
}

fn merge(args: &ResultsMerge, this: &str) -> anyhow::Result<Status> {
    let path = file(args.results.as_ref());
    // All are looked at before anything is taken over.
    let from = args.from.iter().map(|from| existing(from));
    let from = from.collect::<Result<Vec<Store>, _>>()?;
    let mut store = Store::open(&path, this)?;
    let mut added = 0;
    for other in &from {
        added += store.take_over(other)?;
    }
    let finding = format!("took over {added} replications into {}", path.display());
    let mut answer = Answered::new(merge_spec(), Merged { added }.cells());
    answer.findings = vec![Sentence::new(finding.clone())];
    out::answer(args.json, || answer, || format!("{finding}\n"))?;
    Ok(Status::Success)
}

fn prune(args: &ResultsPrune, this: &str) -> anyhow::Result<Status> {
    let path = file(args.results.as_ref());
    let mut store = Store::existing(&path, this)?;
    let all = store.held()?;
    let keep = args.keep.iter().map(|begin| program_of(&all, begin));
    let keep = keep.collect::<anyhow::Result<Vec<String>>>()?;
    let removed = store.prune(&keep)?;
    let finding = format!(
        "removed {removed} replications of other programs from {}",
        path.display()
    );
    let mut answer = Answered::new(prune_spec(), Pruned { removed }.cells());
    answer.findings = vec![Sentence::new(finding.clone())];
    out::answer(args.json, || answer, || format!("{finding}\n"))?;
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
