//! `domio explain`: what the guests of a scenario and their packets wait for.

use crate::args::{Explain, Global};
use crate::cmd::run::{build, failed, load, provenance, report_of, title};
use crate::out::{self, Status};
use crate::progress::progress;
use domio_core::DomainId;
use domio_lab::explain;
use domio_lab::replicate::replicate;
use domio_lab::simulate::{self, RunFault};
use domio_meter::{Explanation, ExplanationJson};
use domio_report::data::ReportData;
use domio_report::waits::Waits;
use domio_report::{html, text};

/// Simulates the scenario and prints and draws where time went.
pub fn run(args: &Explain, global: &Global) -> anyhow::Result<Status> {
    let scenario = load(&args.scenario, &args.how, args.policy.as_deref())?;
    let built = build(&scenario)?;
    let report = report_of(&scenario, args.report.as_deref())?;
    let count = args.how.replications;
    let results = replicate(count, "replications", &*progress(global), |n| {
        explain::explain(&built, n)
    });
    let results: Result<Vec<Explanation>, RunFault> = results.into_iter().collect();
    let mut explanation = Explanation::default();
    for one in results.map_err(|fault| failed(&fault))? {
        explanation.add(&one);
    }
    let names = simulate::domains(&built);
    let waits = Waits {
        explanation: &explanation,
        names: &names,
    };
    match args.json {
        true => {
            let name = |id: DomainId| {
                let named = names.iter().find(|(d, _)| *d == id);
                named.map(|(_, name)| name.clone())
            };
            out::json(&ExplanationJson::new(&explanation, name))?;
        }
        false => out::text(&text::waits::render(waits, out::width()))?,
    }
    if let Some((path, output)) = report {
        let report = ReportData {
            title: title(&scenario),
            lead: "What its guests and their packets waited for".to_owned(),
            provenance: provenance(&scenario, &built, built.policy.descriptor.name, count),
            sections: waits.sections(),
            ..ReportData::default()
        };
        output.write_whole(html::page(&report).as_bytes())?;
        out::message(&format!("wrote {}", path.display()));
    }
    Ok(Status::Success)
}
