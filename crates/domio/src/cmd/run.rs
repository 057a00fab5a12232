//! `domio run`: simulates a scenario.

use crate::args::{Global, Run};
use crate::files::{FileKind, Output, Target, is_stdout};
use crate::keeping;
use crate::out::{self, Status};
use crate::progress::progress;
use crate::report::{self, ReportFile};
use crate::shared::host::{load, policy_names, provenance, shown, title};
use crate::shared::{host, known, pictures};
use anyhow::Context;
use domio_core::{DomainId, Names, Record, Sink};
use domio_front::hosts;
use domio_lab::Keeper;
use domio_report::data::{Chart, Picture, ReportData, Section};
use domio_report::{driver_work, observed, overhead, residence, run_answer, samples, text};
use domio_run::measure::Measures;
use domio_run::observe::{Observer, Seen, Window};
use domio_run::simulate::{self, RunFault};
use domio_run::{Heard, Sample, SampleKey};
use domio_scenario::{Built, Scenario};
use domio_stats::drivers;
use domio_trace::{PerfettoWriter, TraceWriter};
use std::path::PathBuf;
use std::sync::Mutex;

/// Runs the scenario and prints, writes and draws what came out.
pub fn run(args: &Run, global: &Global) -> anyhow::Result<Status> {
    let scenario = load(
        &args.scenario,
        &args.how,
        args.policy.as_deref(),
        &global.parts,
    )?;
    if !args.json && !args.csv && !prints_a_trace(args) {
        out::knows(&known::of_run(&Measures::from(scenario.parts())))?;
    }
    let targets = Targets::of(args, &scenario)?;
    let built = hosts::build(&scenario)?;
    built.notices.iter().for_each(|notice| out::notice(notice));
    let watch = args.drawn.draws(&args.reporting, Some(&built))?;
    let watch = watch.then(|| args.drawn.watched());
    let outputs = Mutex::new(Some(Outputs::open(&targets, watch, &scenario, &built)?));
    let count = args.how.replications;
    // One replication is done as quickly as its file would be made.
    let keeper = match count > 1 || args.keeping.results.is_some() {
        true => keeping::keeper(&args.keeping, &global.parts)?,
        false => Keeper::none(),
    };
    let subject = domio_lab::store::subject(&scenario).ok();
    let numbers: Vec<u32> = (0..count).collect();
    let row = |n: &u32| {
        // What is written of the first replication is not kept.
        let written = *n == 0 && targets.any();
        let subject = subject.as_ref().filter(|_| !written)?;
        Some(SampleKey {
            subject,
            seed: built.seed,
            replication: *n,
        })
    };
    let work = |n: &u32, heard: Heard<'_>| {
        // The first replication takes the outputs; the others only measure.
        let outputs = match n {
            0 => outputs.lock().ok().and_then(|mut o| o.take()),
            _ => None,
        };
        let built = hosts::of_replication(&scenario, &built, *n)?;
        simulate::measured(&built, *n, outputs.unwrap_or_default(), heard)
    };
    let name = |_: &u32| "replications";
    let results = keeper.on_all_cores(&numbers, row, name, &*progress(global), work);
    keeping::tell(&keeper, &args.keeping);
    let results: Result<Vec<_>, RunFault> = results.into_iter().collect();
    let (samples, outputs): (Vec<Sample>, Vec<Option<Outputs>>) = match results {
        Ok(results) => results.into_iter().unzip(),
        Err(fault) => return Err(hosts::failed(&fault)),
    };
    let first = outputs.into_iter().next().flatten().unwrap_or_default();
    let seen = first.finish(args)?;

    if let Some(told) = run_answer::starvation(&built, &samples) {
        out::notice(&told);
    }
    if args.csv && !prints_a_trace(args) {
        let measures = Measures::from(scenario.parts());
        let domains = simulate::domains(&built);
        let figures = samples::of_domains(&samples, &domains, measures.figures()).filled();
        out::csv(&figures.flat())?;
    } else if !prints_a_trace(args) {
        out::answer(
            args.json,
            || run_answer::answer(&scenario, &built, &samples),
            || to_text(&scenario, &built, &samples),
        )?;
    }
    if let Some(seen) = seen {
        let report = report(&scenario, &built, args, &samples, &seen);
        let files = host::files(&scenario).forced(args.reporting.force);
        pictures::write(args.drawn.figures.as_deref(), &report, files)?;
        if let Some(to) = targets.report {
            to.write(report)?;
        }
    }
    Ok(Status::Success)
}

fn names(domains: &[(DomainId, String)]) -> Vec<String> {
    domains.iter().map(|(_, name)| name.clone()).collect()
}

/// Whether standard output is for a trace, and not for tables.
fn prints_a_trace(args: &Run) -> bool {
    let traces = [&args.trace, &args.perfetto].into_iter().flatten();
    traces.into_iter().any(|path| is_stdout(path))
}

/// Where the command writes.
struct Targets {
    trace: Option<Target>,
    perfetto: Option<Target>,
    report: Option<ReportFile>,
}

impl Targets {
    fn of(args: &Run, scenario: &Scenario) -> anyhow::Result<Self> {
        let mut files = host::files(scenario).forced(args.reporting.force);
        if !prints_a_trace(args) {
            files.prints()?;
        }
        let mut target = |option: &str, path: &Option<PathBuf>, kind: FileKind| {
            let path = path.as_ref();
            path.map(|path| files.writes(option, path, kind))
                .transpose()
        };
        let (trace, perfetto) = (
            target("--trace", &args.trace, FileKind::Trace)?,
            target("--perfetto", &args.perfetto, FileKind::Perfetto)?,
        );
        let policies: Vec<String> = args.policy.iter().cloned().collect();
        let shown = shown(
            "run",
            std::slice::from_ref(&args.scenario),
            &args.how,
            &policies,
        );
        Ok(Targets {
            trace,
            perfetto,
            report: report::wanted(&mut files, &args.reporting, &shown)?,
        })
    }

    fn any(&self) -> bool {
        self.trace.is_some() || self.perfetto.is_some() || self.report.is_some()
    }
}

/// Where the records of the first replication go.
#[derive(Default)]
struct Outputs {
    trace: Option<TraceWriter<Output>>,
    perfetto: Option<PerfettoWriter<Output>>,
    observer: Option<Observer>,
}

impl Outputs {
    fn open(
        targets: &Targets,
        watch: Option<Window>,
        scenario: &Scenario,
        built: &Built,
    ) -> anyhow::Result<Self> {
        let header = simulate::trace_header(scenario, built, 0);
        let trace = match &targets.trace {
            Some(target) => Some(TraceWriter::new(target.create()?, &header)?),
            None => None,
        };
        let perfetto = match &targets.perfetto {
            Some(target) => Some(PerfettoWriter::new(target.create()?, Some(&header))),
            None => None,
        };
        let observer = watch.map(Observer::new);
        Ok(Outputs {
            trace,
            perfetto,
            observer,
        })
    }

    fn finish(self, args: &Run) -> anyhow::Result<Option<Seen>> {
        if let (Some(writer), Some(path)) = (self.trace, &args.trace) {
            let context = || format!("cannot write {}", path.display());
            writer.finish().with_context(context)?.finish()?;
            Output::told(path, "");
        }
        if let (Some(writer), Some(path)) = (self.perfetto, &args.perfetto) {
            let context = || format!("cannot write {}", path.display());
            writer.finish().with_context(context)?.finish()?;
            Output::told(path, "; open it at ui.perfetto.dev");
        }
        Ok(self.observer.map(Observer::finish))
    }
}

impl Sink for Outputs {
    fn record(&mut self, names: &Names, record: &Record) {
        if let Some(trace) = &mut self.trace {
            trace.record(names, record);
        }
        if let Some(perfetto) = &mut self.perfetto {
            perfetto.record(names, record);
        }
        if let Some(observer) = &mut self.observer {
            observer.record(names, record);
        }
    }
}

fn to_text(scenario: &Scenario, built: &Built, samples: &[Sample]) -> String {
    let view = out::view();
    let measures = Measures::from(scenario.parts());
    let domains = simulate::domains(built);
    let (dropped, findings) = (
        run_answer::dropped(samples),
        run_answer::findings(&domains, samples),
    );
    let parts = [
        text::domains::render(&measures, &domains, samples, &dropped, &findings, view),
        text::page::sections(&of_host(built, &domains, samples), view),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

/// Where vcpus ran, and what driver domains did.
fn of_host(built: &Built, domains: &[(DomainId, String)], samples: &[Sample]) -> Vec<Section> {
    let measured_ms = hosts::measured_ms(built);
    let drivers = drivers::figures(samples, domains, measured_ms);
    let costs = run_answer::overhead(built, samples, domains, &drivers);
    let vcpus = run_answer::residence(built, samples).into_iter();
    let vcpus = vcpus.map(|v| (format!("{}.{}", v.domain, v.vcpu), v.ran));
    let elapsed = built.duration.as_nanos() * samples.len() as u64;
    let pcpus = built.host.topology.pcpus();
    let sections = [
        residence::section(&vcpus.collect::<Vec<_>>(), pcpus, Some(elapsed)),
        driver_work::section(&drivers, &names(domains), measured_ms),
        overhead::section(&costs, measured_ms),
    ];
    sections.into_iter().flatten().collect()
}

fn report(
    scenario: &Scenario,
    built: &Built,
    args: &Run,
    samples: &[Sample],
    seen: &Seen,
) -> ReportData {
    let policy = built.policy.descriptor.name;
    let domains = simulate::domains(built);
    let names = names(&domains);
    let measures = Measures::from(scenario.parts());
    let mut figures = samples::figures(&measures, &[(policy.to_owned(), samples)], &names);
    // The first is the share. The other measures are clearer in one table.
    figures.truncate(1);
    let table = samples::of_domains(samples, &domains, measures.figures()).filled();
    figures.push(Picture::new("All measures", Chart::Table(table)));
    let mut sections = vec![Section {
        title: "Domains".to_owned(),
        text: String::new(),
        figures,
    }];
    sections.extend(of_host(built, &domains, samples));
    sections.extend(observed::sections(seen, &domains));
    ReportData {
        name: format!("{} {policy}", scenario.name()),
        title: title(scenario),
        lead: scenario.plan().description.clone().unwrap_or_default(),
        provenance: provenance(scenario, built, &policy_names(built), args.how.replications),
        overview: Vec::new(),
        ledger: None,
        papers: Vec::new(),
        sections,
    }
}
