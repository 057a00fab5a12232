//! `domio explain`: what the guests of a scenario and their packets wait for.

use crate::args::{Explain, Global};
use crate::cmd::cell::WITH_STREAMS;
use crate::cmd::run::{build, failed, load, provenance, report_beside, report_of, title};
use crate::files::{Files, Output};
use crate::out::{self, Status};
use crate::progress::progress;
use anyhow::{anyhow, bail};
use domio_core::{DomainId, Duration};
use domio_lab::experiments::ongaro::{self, Cell, Settings};
use domio_lab::replicate::replicate;
use domio_lab::simulate::{self, RunFault};
use domio_lab::{LabContext, explain};
use domio_meter::{Explanation, ExplanationJson};
use domio_report::data::ReportData;
use domio_report::waits::Waits;
use domio_report::{html, text};
use std::path::Path;

/// Simulates the scenario, or the cell of that name, and prints and draws where time went.
pub fn run(args: &Explain, global: &Global) -> anyhow::Result<Status> {
    let is_file = Path::new(&args.scenario).exists();
    match args.scenario.parse::<Cell>() {
        Ok(cell) if !is_file => of_cell(cell, args, global),
        _ => of_scenario(args, global),
    }
}

fn of_scenario(args: &Explain, global: &Global) -> anyhow::Result<Status> {
    let scenario = load(&args.scenario, &args.how, args.policy.as_deref())?;
    let built = build(&scenario)?;
    let report = report_of(&scenario, args.report.as_deref())?;
    let count = args.how.replications;
    let explanation = sum(count, global, |n| explain::explain(&built, n))?;
    let explained = Explained {
        explanation,
        names: simulate::domains(&built),
        title: title(&scenario),
        provenance: provenance(&scenario, &built, built.policy.descriptor.name, count),
    };
    explained.show(args.json, report)
}

fn of_cell(cell: Cell, args: &Explain, global: &Global) -> anyhow::Result<Status> {
    if args.policy.is_some() || !args.how.set.is_empty() {
        bail!("{cell} is what the experiment makes it: --policy and --set are for scenarios")
    }
    let report = report_beside(Files::reading([]), args.report.as_deref())?;
    let settings = Settings::default().with_streams_for(WITH_STREAMS);
    let seed = args.how.seed.unwrap_or(1);
    let (cx, count) = (LabContext { seed }, args.how.replications);
    let explanation = sum(count, global, |n| {
        explain::explain_cell(cell, &settings, &cx, n)
    })?;
    let header = ongaro::trace_header(cell, &settings, &cx, 0).map_err(|why| anyhow!(why))?;
    let names = header.domains.iter();
    let seconds = |time: Duration| format!("{} s", time.as_nanos() as f64 / 1e9);
    let facts = [
        ("version", format!("domio {}", env!("CARGO_PKG_VERSION"))),
        ("cell", cell.to_string()),
        ("policy", header.policy.clone()),
        ("seed", seed.to_string()),
        ("replications", count.to_string()),
        ("measured time", seconds(settings.measured(cell.test))),
        ("warm-up before it", seconds(settings.warmup)),
    ];
    let explained = Explained {
        explanation,
        names: names.map(|d| (DomainId(d.id), d.name.clone())).collect(),
        title: format!("{cell} of Ongaro, Cox and Rixner 2008"),
        provenance: facts.map(|(name, fact)| (name.to_owned(), fact)).into(),
    };
    explained.show(args.json, report)
}

/// The explanations of `count` replications, added up.
fn sum(
    count: u32,
    global: &Global,
    explain: impl Fn(u32) -> Result<Explanation, RunFault> + Sync,
) -> anyhow::Result<Explanation> {
    let results = replicate(count, "replications", &*progress(global), explain);
    let results: Result<Vec<Explanation>, RunFault> = results.into_iter().collect();
    let mut explanation = Explanation::default();
    for one in results.map_err(|fault| failed(&fault))? {
        explanation.add(&one);
    }
    Ok(explanation)
}

/// An explanation and what to say of where it is from.
struct Explained {
    explanation: Explanation,
    names: Vec<(DomainId, String)>,
    title: String,
    provenance: Vec<(String, String)>,
}

impl Explained {
    /// Prints it, and writes the report to a file that was begun.
    fn show(self, json: bool, report: Option<(&Path, Output)>) -> anyhow::Result<Status> {
        let waits = Waits {
            explanation: &self.explanation,
            names: &self.names,
        };
        match json {
            true => {
                let name = |id: DomainId| {
                    let named = self.names.iter().find(|(d, _)| *d == id);
                    named.map(|(_, name)| name.clone())
                };
                out::json_as("explain", &ExplanationJson::new(&self.explanation, name))?;
            }
            false => out::text(&text::waits::render(waits, out::width()))?,
        }
        if let Some((path, output)) = report {
            let report = ReportData {
                title: self.title,
                lead: "What its guests and their packets waited for".to_owned(),
                provenance: self.provenance,
                sections: waits.sections(),
                ..ReportData::default()
            };
            output.write_whole(html::page(&report).as_bytes())?;
            out::message(&format!("wrote {}", path.display()));
        }
        Ok(Status::Success)
    }
}
