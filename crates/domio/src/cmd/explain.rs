//! `domio explain`: what the guests of a scenario and their packets wait for; of a trace see
//! `explain_trace`.

use crate::args::{Explain, Global};
use crate::cmd::run::{
    build, failed, load, of_replication, provenance, report_beside, shown, title,
};
use crate::cmd::{explain_trace, pictures, scenario};
use crate::files::Files;
use crate::out::{self, Status};
use crate::progress::progress;
use crate::report::ReportFile;
use domio_core::DomainId;
use domio_lab::replicate::replicate;
use domio_meter::{Explanation, ExplanationJson};
use domio_report::data::{ReportData, Section};
use domio_report::waits::Waits;
use domio_report::{observed, text};
use domio_run::explain;
use domio_run::simulate::{self, RunFault};
use std::path::Path;

/// Explains the trace; or simulates the scenario, and prints and draws where time went.
pub fn run(args: &Explain, global: &Global) -> anyhow::Result<Status> {
    if explain_trace::is_trace(&args.scenario)? {
        return explain_trace::run(args, global);
    }
    explain_trace::refuse_options_of_traces(args)?;
    let scenario = load(&args.scenario, &args.how, args.policy.as_deref())?;
    let built = build(&scenario)?;
    let draws = args.drawn.draws(&args.reporting, Some(&built))?;
    let policies: Vec<String> = args.policy.iter().cloned().collect();
    let shown = shown(
        "explain",
        std::slice::from_ref(&args.scenario),
        &args.how,
        &policies,
    );
    let report = report_beside(scenario::files(&scenario), &args.reporting, &shown)?;
    let count = args.how.replications;
    let explanation = sum(count, global, |n| {
        let built = of_replication(&scenario, &built, n)?;
        explain::explain(&built, n)
    })?;
    let names = simulate::domains(&built);
    let moments = match draws {
        false => Vec::new(),
        true => {
            let seen = pictures::watch(&scenario, &built, args.drawn.watched());
            observed::sections(&seen.map_err(|fault| failed(&fault))?, &names)
        }
    };
    let explained = Explained {
        explanation,
        names,
        name: format!("{} waits", scenario.name()),
        title: title(&scenario),
        provenance: provenance(&scenario, &built, built.policy.descriptor.name, count),
        moments,
    };
    let figures = args.drawn.figures.as_deref();
    explained.show(args.json, report, (figures, scenario::files(&scenario)))
}

/// The explanations of `count` replications, added up.
fn sum(
    count: u32,
    global: &Global,
    explain: impl Fn(u32) -> Result<Explanation, RunFault> + Sync,
) -> anyhow::Result<Explanation> {
    let results = replicate(count, "replications", &*progress(global), |n, _| explain(n));
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
    /// What files with its figures begin with.
    name: String,
    title: String,
    provenance: Vec<(String, String)>,
    /// Waits and timelines of the first replication.
    moments: Vec<Section>,
}

impl Explained {
    /// Prints it, writes the report to a file that was begun, and the figures to a folder.
    fn show(
        self,
        json: bool,
        report: Option<ReportFile>,
        (figures, reads): (Option<&Path>, Files),
    ) -> anyhow::Result<Status> {
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
                out::json_as("explain", &ExplanationJson::new(&self.explanation, false, name))?;
            }
            false => out::text(&text::waits::render(waits, out::view()))?,
        }
        let mut sections = waits.sections();
        sections.extend(self.moments);
        let drawn = ReportData {
            name: self.name,
            title: self.title,
            lead: "What its guests and their packets waited for".to_owned(),
            provenance: self.provenance,
            sections,
            ..ReportData::default()
        };
        pictures::write(figures, &drawn, reads)?;
        if let Some(to) = report {
            to.write(drawn)?;
        }
        Ok(Status::Success)
    }
}
