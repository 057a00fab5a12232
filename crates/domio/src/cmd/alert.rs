//! `domio alert`: how far what a domain gets is from what it was allocated.

use crate::args::{self, Alert, Global};
use crate::files::{FileKind, Files, Output, Target};
use crate::keeping;
use crate::out::{self, Status};
use crate::progress::progress;
use crate::shared::choice::Choice;
use crate::shared::host::refuse_doubled;
use crate::shared::known;
use anyhow::{Context, anyhow, bail};
use domio_advise::alert::allocation::AlertMode;
use domio_advise::alert::{
    self, AlertDom0, AlertFault, AlertOutcome, AlertPlan, AlertSubject, WINDOWS, picture, text,
};
use domio_core::Duration;
use domio_front::hosts;
use domio_lab::Keeping;
use domio_report::svg::document::document;
use domio_run::simulate::{simulate, trace_header};
use domio_scenario::{NoReplay, Parts};
use domio_trace::TraceWriter;

/// Tests the policies and prints, draws and writes what came out.
pub fn run(args: &Alert, global: &Global) -> anyhow::Result<Status> {
    let subjects = subjects(&args.policies, &global.parts)?;
    if args.trace.is_some() && subjects.len() > 1 {
        bail!("--trace is of the worst allocation of one policy; name one --policy with it");
    }
    let plan = plan(args)?;
    if !args.json {
        out::knows(&known::of_alert(&plan))?;
    }
    let targets = Targets::of(args)?;
    let keeper = keeping::keeper(&args.keeping, &global.parts)?;
    let replicator = Keeping {
        keeper: &keeper,
        progress: &*progress(global),
    };
    let outcomes = alert::run(&plan, &subjects, &replicator);
    keeping::tell(&keeper, &args.keeping);
    let outcomes = outcomes.map_err(told)?;
    out::answer(
        args.json,
        || alert::answer(&plan, &outcomes),
        || {
            let rendered = |o: &AlertOutcome| text::render(&plan, o, out::view());
            outcomes
                .iter()
                .map(rendered)
                .collect::<Vec<_>>()
                .join("\n\n")
        },
    )?;
    targets.write(args, &plan, &subjects[0], &outcomes)?;
    Ok(Status::Success)
}

fn subjects(policies: &[String], parts: &Parts) -> anyhow::Result<Vec<AlertSubject>> {
    let subject = |text: &String| {
        let choice = Choice::parse(text, parts)?;
        let changes = choice.changes();
        let params = changes.into_iter().filter(|(k, _)| k != "scheduler.policy");
        Ok(AlertSubject {
            label: text.clone(),
            policy: choice.policy,
            parts: parts.clone(),
            changes: params.collect(),
        })
    };
    policies.iter().map(subject).collect()
}

fn plan(args: &Alert) -> anyhow::Result<AlertPlan> {
    let mut windows: Vec<u64> = match args.windows.is_empty() {
        true => WINDOWS
            .into_iter()
            .filter(|s| *s <= args.duration)
            .collect(),
        false => args.windows.clone(),
    };
    windows.sort_unstable();
    windows.dedup();
    if let Some(long) = windows.iter().find(|s| **s > args.duration) {
        let seconds = args.duration;
        bail!(
            "a window of {long} s does not fit into the {seconds} s that are measured; give a \
             longer --duration or shorter --windows"
        );
    }
    let mode = match args.mode {
        args::AlertMode::Capped => AlertMode::Capped,
        args::AlertMode::WorkConserving => AlertMode::WorkConserving,
    };
    let usual = match mode {
        AlertMode::Capped => args::AlertDom0::Light,
        AlertMode::WorkConserving => args::AlertDom0::Burn,
    };
    // A name without a dot is a parameter of the policy.
    let whole = |key: &str| match key.contains('.') || key == "seed" {
        true => key.to_owned(),
        false => format!("scheduler.{key}"),
    };
    let set = args.set.iter();
    let set: Vec<(String, String)> = set.map(|(k, v)| (whole(k), v.clone())).collect();
    refuse_doubled(
        &set,
        "leave one out, or give each to a policy of its own: --policy NAME:KEY=VALUE",
    )?;
    Ok(AlertPlan {
        mode,
        allocations: args.cap_range.0.clone(),
        dom0: args.dom0_cap,
        dom0_work: match args.dom0.unwrap_or(usual) {
            args::AlertDom0::Light => AlertDom0::Light,
            args::AlertDom0::Burn => AlertDom0::Burn,
        },
        pcpus: args.pcpus,
        vcpus: args.vcpus.unwrap_or(args.pcpus),
        windows,
        seconds: args.duration,
        period: Duration::from_millis(args.period_ms),
        seed: args.seed,
        set,
    })
}

fn told(fault: AlertFault) -> anyhow::Error {
    match fault {
        AlertFault::Run(fault) => hosts::failed(&fault),
        other => anyhow!("{other}"),
    }
}

/// Where the command writes.
struct Targets {
    plot: Option<Target>,
    trace: Option<Target>,
}

impl Targets {
    fn of(args: &Alert) -> anyhow::Result<Self> {
        let mut files = Files::reading([]).forced(args.force);
        files.prints()?;
        let plot = args.plot.as_ref();
        let trace = args.trace.as_ref();
        Ok(Targets {
            plot: plot
                .map(|path| files.writes("--plot", path, FileKind::Svg))
                .transpose()?,
            trace: trace
                .map(|path| files.writes("--trace", path, FileKind::Trace))
                .transpose()?,
        })
    }

    fn write(
        &self,
        args: &Alert,
        plan: &AlertPlan,
        subject: &AlertSubject,
        outcomes: &[AlertOutcome],
    ) -> anyhow::Result<()> {
        if let (Some(target), Some(path)) = (&self.plot, &args.plot) {
            let picture = document(&picture::figure(outcomes).chart).unwrap_or_default();
            target.create()?.write_whole(picture.as_bytes())?;
            Output::told(path, "");
        }
        if let (Some(target), Some(path), [outcome]) = (&self.trace, &args.trace, outcomes) {
            let allocation = outcome.worst.0.share.allocated_percent as u32;
            let scenario = alert::host::scenario(plan, subject, allocation).map_err(told)?;
            let built = scenario.build(&NoReplay);
            let built = built.map_err(|e| anyhow!("{}", e.render(false)))?;
            let header = trace_header(&scenario, &built, 0);
            let writer = TraceWriter::new(target.create()?, &header)?;
            let written = simulate(&built, 0, writer).map_err(|fault| hosts::failed(&fault))?;
            let finished = written.sink.finish();
            let file = finished.with_context(|| format!("cannot write {}", path.display()))?;
            file.finish()?;
            Output::told(path, &format!(": dom1 at {allocation} %"));
        }
        Ok(())
    }
}
