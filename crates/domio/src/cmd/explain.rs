//! `domio explain`: what the guests of a scenario and their packets wait for.

use crate::args::{Explain, Global};
use crate::cmd::run::{build, failed, load, provenance, report_beside, shown, title};
use crate::cmd::scenario::files;
use crate::out::{self, Status};
use crate::progress::progress;
use crate::report::ReportFile;
use domio_core::DomainId;
use domio_lab::explain;
use domio_lab::replicate::replicate;
use domio_lab::simulate::{self, RunFault};
use domio_meter::{Explanation, ExplanationJson};
use domio_report::data::ReportData;
use domio_report::text;
use domio_report::waits::Waits;
use std::path::Path;

/// Simulates the scenario, and prints and draws where time went.
pub fn run(args: &Explain, global: &Global) -> anyhow::Result<Status> {
    let scenario = load(&args.scenario, &args.how, args.policy.as_deref())?;
    let built = build(&scenario)?;
    let policies: Vec<String> = args.policy.iter().cloned().collect();
    let shown = shown("explain", &args.scenario, &args.how, &policies);
    let report = report_beside(files(&scenario), &args.reporting, &shown)?;
    let count = args.how.replications;
    let explanation = sum(count, global, |n| {
        let built = simulate::of_replication(&scenario, &built, n)?;
        explain::explain(&built, n)
    })?;
    let explained = Explained {
        explanation,
        names: simulate::domains(&built),
        title: title(&scenario),
        provenance: provenance(&scenario, &built, built.policy.descriptor.name, count),
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
    fn show(self, json: bool, report: Option<ReportFile>) -> anyhow::Result<Status> {
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
                out::json(&ExplanationJson::new(&self.explanation, name))?;
            }
            false => out::text(&text::waits::render(waits, out::view()))?,
        }
        if let Some(to) = report {
            to.write(ReportData {
                title: self.title,
                lead: "What its guests and their packets waited for".to_owned(),
                provenance: self.provenance,
                sections: waits.sections(),
                ..ReportData::default()
            })?;
        }
        Ok(Status::Success)
    }
}
