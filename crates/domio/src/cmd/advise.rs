//! `domio advise`: which setting of a host helps, who pays for it, and the commands.

use crate::args::{Advise, Global, How};
use crate::input;
use crate::keeping;
use crate::out::{self, Status};
use crate::progress::progress;
use crate::shared::choice::Choice;
use crate::shared::{from_trace, host};
use anyhow::{anyhow, bail};
use domio_advise::advice::{self, AdviceEars, AdviceFault, AdvicePlan, answers};
use domio_front::cells::CellSource;
use domio_front::{hosts, scenarios};
use domio_lab::Keeping;
use domio_run::measure::Measures;
use domio_scenario::{ReplaySource, Scenario};
use std::time::Instant;

/// Replications in all where nobody says how many.
const EVALUATIONS: u64 = 300;
/// Seconds after which such a search ends.
const TIME_LIMIT_S: u32 = 60;

/// Searches, and prints the settings that were found.
pub fn run(args: &Advise, global: &Global) -> anyhow::Result<Status> {
    let begin = Instant::now();
    let scenario = scenario(args, global)?;
    // Built once here, so that what is wrong is told before the search.
    let built = hosts::build(&scenario)?;
    built.notices.iter().for_each(|notice| out::notice(notice));
    if !args.json {
        out::knows(&answers::columns())?;
    }
    host::files(&scenario).prints()?;
    let cells = CellSource::new(scenario.clone());
    let source = |_: &Scenario| -> Box<dyn ReplaySource + '_> { Box::new(cells.demands()) };
    let keeper = keeping::keeper(&args.keeping, &global.parts)?;
    let replicator = Keeping {
        keeper: &keeper,
        progress: &*progress(global),
    };
    let ears = AdviceEars {
        elapsed: &|| begin.elapsed().as_secs_f64(),
        better: &|said| out::remark(said),
    };
    let measures = Measures::from(scenario.parts());
    let found = advice::run(
        &scenario,
        &plan(args),
        &measures,
        &source,
        &replicator,
        &ears,
    );
    keeping::tell(&keeper, &args.keeping);
    let outcome = found.map_err(told)?;
    out::answer(
        args.json,
        || answers::answer(&outcome),
        || answers::render(&outcome, out::view()),
    )?;
    Ok(Status::Success)
}

/// The scenario, or the one that is made of the trace, with the changes that are asked for.
fn scenario(args: &Advise, global: &Global) -> anyhow::Result<Scenario> {
    let path = args.path();
    if input::is_stdin(&path) || !input::is_trace(&path) {
        if args.cpu_hz.is_some() {
            bail!(
                "--cpu-hz is of xentrace files, and {} is none; leave it out",
                args.scenario
            );
        }
        let how = How {
            seed: args.seed,
            replications: args.replications,
            set: args.set.clone(),
        };
        return host::load(&args.scenario, &how, args.policy.as_deref(), &global.parts);
    }
    host::refuse_doubled(&args.set, "leave one out")?;
    let scenario = from_trace::of(&path, args.cpu_hz, global)?;
    let choice = args
        .policy
        .as_deref()
        .map(|text| Choice::parse(text, &global.parts));
    let choice = choice
        .transpose()?
        .map_or_else(Vec::new, |choice| choice.changes());
    let seed = args.seed.map(|seed| ("seed".to_owned(), seed.to_string()));
    let changes: Vec<(&str, &str)> = choice
        .iter()
        .chain(&args.set)
        .chain(&seed)
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    scenario.with(&changes).map_err(scenarios::mistakes)
}

fn plan(args: &Advise) -> AdvicePlan {
    let (evaluations, limit) = match (args.evaluations, args.time_limit) {
        (None, None) => (EVALUATIONS, Some(TIME_LIMIT_S)),
        (None, limit) => (u64::MAX, limit),
        (Some(evaluations), limit) => (evaluations, limit),
    };
    AdvicePlan {
        guests: args.guests.clone(),
        figure: args.figure.clone(),
        bound: f64::from(args.bound) / 100.0,
        replications: args.replications,
        evaluations,
        time_limit_s: limit.map(f64::from),
        shown: usize::from(args.show),
    }
}

fn told(fault: AdviceFault) -> anyhow::Error {
    match fault {
        AdviceFault::Run(fault) => hosts::failed(&fault),
        AdviceFault::Scenario(errors) => scenarios::mistakes(errors),
        AdviceFault::Host(why) => anyhow!(why),
    }
}
