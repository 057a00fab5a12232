//! `domio dom0-share`: how much of the processor dom0 should get for a mix.

use crate::args::{Dom0Share, Global};
use crate::files::{FileKind, Output};
use crate::keeping;
use crate::out::{self, Status};
use crate::progress::progress;
use crate::shared::choice::Choice;
use crate::shared::{host, known};
use crate::traces;
use anyhow::anyhow;
use domio_advise::dom0_share::{self, Dom0Fault, Dom0Plan, Dom0Subject, answers, picture, text};
use domio_front::{hosts, scenarios};
use domio_lab::Keeping;
use domio_report::svg::document::document;
use domio_run::measure::Measures;
use domio_run::simulate;
use domio_scenario::{Parts, ReplaySource, Scenario};

/// Policies that are tried when nobody names one, after the scenario's own.
const POLICIES: [&str; 4] = ["credit", "credit2", "sedf", "bvt"];

/// Tries the settings, and prints and draws what came out.
pub fn run(args: &Dom0Share, global: &Global) -> anyhow::Result<Status> {
    let scenario = host::load(&args.scenario, &args.how, None, &global.parts)?;
    let subjects = subjects(args, &scenario, &global.parts)?;
    if !args.json {
        let domains = simulate::domains(&hosts::build(&scenario)?);
        let domains: Vec<String> = domains.into_iter().map(|(_, name)| name).collect();
        let measures = Measures::from(scenario.parts());
        out::knows(&known::of_dom0_share(&measures, &domains))?;
    }
    let mut files = host::files(&scenario).forced(args.force);
    files.prints()?;
    let target = args.plot.as_ref();
    let target = target
        .map(|path| files.writes("--plot", path, FileKind::Svg))
        .transpose()?;
    let source =
        |scenario: &Scenario| -> Box<dyn ReplaySource> { Box::new(traces::recorded(scenario)) };
    let keeper = keeping::keeper(&args.keeping, &global.parts)?;
    let replicator = Keeping {
        keeper: &keeper,
        progress: &*progress(global),
    };
    let outcome = dom0_share::run(&scenario, &subjects, &plan(args), &source, &replicator);
    keeping::tell(&keeper, &args.keeping);
    let outcome = outcome.map_err(told)?;
    for left_out in &outcome.left_out {
        out::notice(&picture::left_out(left_out));
    }
    out::answer(
        args.json,
        || answers::answer(&scenario, args.how.replications, &outcome),
        || text::render(&outcome, out::view()),
    )?;
    if let (Some(target), Some(path)) = (target, &args.plot) {
        let figure = picture::figure(&outcome).ok_or_else(|| {
            anyhow!(
                "there is nothing to draw: --plot needs an axis with two values that a policy \
                 has, e.g. --weight 1,2,4"
            )
        })?;
        let picture = document(&figure.chart).unwrap_or_default();
        target.create()?.write_whole(picture.as_bytes())?;
        Output::told(path, "");
    }
    Ok(Status::Success)
}

fn subjects(
    args: &Dom0Share,
    scenario: &Scenario,
    parts: &Parts,
) -> anyhow::Result<Vec<Dom0Subject>> {
    let subject = |text: &str, wanted: bool| {
        let choice = Choice::parse(text, parts)?;
        let changes = choice.changes();
        let params = changes.into_iter().filter(|(k, _)| k != "scheduler.policy");
        Ok(Dom0Subject {
            label: text.to_owned(),
            policy: choice.policy,
            changes: params.collect(),
            wanted,
        })
    };
    if !args.policies.is_empty() {
        let named = args.policies.iter();
        return named.map(|text| subject(text, true)).collect();
    }
    let own = scenario.plan().policy.descriptor.name;
    let others = POLICIES.into_iter().filter(|name| *name != own);
    let all = [(own, true)]
        .into_iter()
        .chain(others.map(|name| (name, false)));
    all.map(|(name, wanted)| subject(name, wanted)).collect()
}

fn plan(args: &Dom0Share) -> Dom0Plan {
    let named = args.weight.is_some()
        || args.cap.is_some()
        || args.slice_ms.is_some()
        || args.vcpus.is_some()
        || args.pin;
    // If no axis is named, all of them have their usual values.
    let numbers = |own: &Option<crate::args::Dom0Numbers>, usual: &[u32]| match own {
        Some(own) => own.0.clone(),
        None if named => Vec::new(),
        None => usual.to_vec(),
    };
    let weights = match &args.weight {
        Some(own) => own.0.clone(),
        None if named => Vec::new(),
        None => vec![0.25, 1.0, 2.0, 4.0, 6.0, 8.0],
    };
    let slices = numbers(&args.slice_ms, &[1, 5, 10, 30, 100]);
    Dom0Plan {
        weights,
        caps: numbers(&args.cap, &[25, 50, 75, 100]),
        slices_ms: slices.into_iter().map(u64::from).collect(),
        vcpus: numbers(&args.vcpus, &[1, 2]),
        pin: args.pin || !named,
        full: args.full,
        replications: args.how.replications,
        dom0: args.dom0.clone(),
    }
}

fn told(fault: Dom0Fault) -> anyhow::Error {
    match fault {
        Dom0Fault::Run(fault) => hosts::failed(&fault),
        Dom0Fault::Scenario(errors) => scenarios::mistakes(errors),
        Dom0Fault::Mix(_) => anyhow!("{fault}"),
    }
}
