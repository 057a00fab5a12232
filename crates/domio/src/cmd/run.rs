//! `domio run`: simulates a scenario.

use crate::args::{Global, How, Reporting, Run};
use crate::cmd::choice::Choice;
use crate::cmd::{pictures, scenario};
use crate::files::{FileKind, Files, Output, Target, is_stdout};
use crate::keeping;
use crate::out::{self, Status};
use crate::progress::progress;
use crate::report::{self, ReportFile, ReportKey};
use anyhow::{Context, bail};
use domio_core::{DomainId, Duration, Names, Record, Sink};
use domio_front::{hosts, scenarios};
use domio_lab::Keeper;
use domio_meter::ResidenceJson;
use domio_report::data::{Chart, Figure, ReportData, Section};
use domio_report::driver_work as work;
use domio_report::overhead;
use domio_report::run_json::{self, RunJson};
use domio_report::{observed, samples, text};
use domio_run::observe::{Observer, Seen, Window};
use domio_run::simulate::{self, RunFault};
use domio_run::{Heard, Sample, SampleKey};
use domio_scenario::{Built, Parts, Scenario};
use domio_stats::drivers::{self, DriverFigures};
use domio_trace::{PerfettoWriter, TraceWriter, scenario_sha256};
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

    if let Some(told) = run_json::starvation(&built, &samples) {
        out::notice(&told);
    }
    let domains = simulate::domains(&built);
    let drivers = drivers::figures(&samples, &domains, hosts::measured_ms(&built));
    match args.json {
        _ if prints_a_trace(args) => {}
        true => out::json_as("run", &RunJson::new(&scenario, &built, &samples))?,
        false => out::text(&to_text(&built, &domains, &samples, &drivers))?,
    }
    if let Some(seen) = seen {
        let report = report(&scenario, &built, args, &samples, &seen);
        let files = scenario::files(&scenario).forced(args.reporting.force);
        pictures::write(args.drawn.figures.as_deref(), &report, files)?;
        if let Some(to) = targets.report {
            to.write(report)?;
        }
    }
    Ok(Status::Success)
}

/// What a report of `domio VERB` on `scenarios` shows, run as `how` says under `policies`.
pub fn shown(verb: &str, scenarios: &[String], how: &How, policies: &[String]) -> ReportKey {
    let mut shown = ReportKey::new(verb, scenarios);
    for policy in policies {
        shown = shown.with("--policy", policy);
    }
    for (key, value) in &how.set {
        shown = shown.with("--set", format!("{key}={value}"));
    }
    if let Some(seed) = how.seed {
        shown = shown.with("--seed", seed);
    }
    match how.replications {
        1 => shown,
        n => shown.with("--replications", n),
    }
}

/// The scenario with the changes that the command line asks for; its notices are told. `policy` is
/// as for [`Choice::parse`].
pub fn load(
    name: &str,
    how: &How,
    policy: Option<&str>,
    parts: &Parts,
) -> anyhow::Result<Scenario> {
    let scenario = read(name, how, policy, parts)?;
    for notice in scenario.notices() {
        out::notice(notice);
    }
    Ok(scenario)
}

/// As [`load`], and nothing is told.
pub fn read(
    name: &str,
    how: &How,
    policy: Option<&str>,
    parts: &Parts,
) -> anyhow::Result<Scenario> {
    refuse_doubled(&how.set, "leave one out, or see both with `domio compare`")?;
    let scenario = scenarios::load(name, parts)?;
    let seed = how.seed.map(|seed| seed.to_string());
    let choice = policy.map(|text| Choice::parse(text, parts)).transpose()?;
    let choice = choice.map_or_else(Vec::new, |choice| choice.changes());
    let pairs = choice.iter();
    let pairs = pairs.map(|(key, value)| (key.as_str(), value.as_str()));
    let mut changes: Vec<(&str, &str)> = pairs.collect();
    changes.extend(
        how.set
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str())),
    );
    if let Some(seed) = &seed {
        changes.push(("seed", seed));
    }
    scenario.with(&changes).map_err(scenarios::mistakes)
}

/// Refuses two values of one key: one of them would be ignored.
/// `advice` says what to do.
///
/// # Errors
/// The first key with two values.
pub fn refuse_doubled(set: &[(String, String)], advice: &str) -> anyhow::Result<()> {
    for (at, (key, value)) in set.iter().enumerate() {
        if let Some((_, before)) = set[..at].iter().find(|(other, _)| other == key) {
            bail!("--set gives {key} twice, as {before} and as {value}; {advice}");
        }
    }
    Ok(())
}

/// Begins the report of what is made of `files`, for commands that write nothing else.
///
/// # Errors
/// When the command reads from there, or it cannot be written.
pub fn report_beside(
    mut files: Files,
    reporting: &Reporting,
    shown: &ReportKey,
) -> anyhow::Result<Option<ReportFile>> {
    files.prints()?;
    report::wanted(&mut files, reporting, shown)
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
        let mut files = scenario::files(scenario).forced(args.reporting.force);
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

fn to_text(
    built: &Built,
    domains: &[(DomainId, String)],
    samples: &[Sample],
    drivers: &[DriverFigures],
) -> String {
    let view = out::view();
    let parts = [
        text::domains::render(&names(domains), samples, view),
        text::page::sections(&of_host(built, domains, samples, drivers), view),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

/// Where vcpus ran, and what driver domains did.
fn of_host(
    built: &Built,
    domains: &[(DomainId, String)],
    samples: &[Sample],
    drivers: &[DriverFigures],
) -> Vec<Section> {
    let (vcpus, pcpus, elapsed) = residence_by_name(built, samples);
    let measured_ms = hosts::measured_ms(built);
    let overhead_of = run_json::overhead(built, samples, domains, drivers);
    let sections = [
        domio_report::residence::section(&vcpus, pcpus, Some(elapsed)),
        work::section(drivers, &names(domains), measured_ms),
        overhead::section(&overhead_of, measured_ms),
    ];
    sections.into_iter().flatten().collect()
}

/// Where vcpus ran, by their names; the number of pcpus, and nanoseconds in all.
fn residence_by_name(
    built: &Built,
    samples: &[Sample],
) -> (Vec<(String, ResidenceJson)>, usize, u64) {
    let vcpus = run_json::residence(built, samples).into_iter();
    let vcpus = vcpus.map(|v| (format!("{}.{}", v.domain, v.vcpu), v.residence));
    let elapsed = built.duration.as_nanos() * samples.len() as u64;
    (vcpus.collect(), built.host.topology.pcpus(), elapsed)
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
    let mut figures = samples::figures(&[(policy.to_owned(), samples)], &names);
    // The first is the share. The other measures are clearer in one table.
    figures.truncate(1);
    let table = samples::table_of_domains(samples, &names);
    figures.push(Figure::new("All measures", Chart::Table(table)));
    let mut sections = vec![Section {
        title: "Domains".to_owned(),
        text: String::new(),
        figures,
    }];
    let drivers = drivers::figures(samples, &domains, hosts::measured_ms(built));
    sections.extend(of_host(built, &domains, samples, &drivers));
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

/// The policy of `built`, or that of each pool.
pub fn policy_names(built: &Built) -> String {
    let pools = run_json::pools(built).map(|(name, policy)| format!("{policy} in {name}"));
    match pools.collect::<Vec<_>>() {
        pools if pools.is_empty() => built.policy.descriptor.name.to_owned(),
        pools => pools.join(", "),
    }
}

/// Title of a report on `scenario`.
pub fn title(scenario: &Scenario) -> String {
    let title = scenario.plan().title.clone();
    title.unwrap_or_else(|| scenario.name().to_owned())
}

/// All that the figures are a function of.
pub fn provenance(
    scenario: &Scenario,
    built: &Built,
    policies: &str,
    replications: u32,
) -> Vec<(String, String)> {
    let seconds = |d: Duration| d.as_nanos() as f64 / 1e9;
    let mut facts = vec![
        ("version", format!("domio {}", env!("CARGO_PKG_VERSION"))),
        ("scenario", scenario.name().to_owned()),
        ("its SHA-256", scenario_sha256(scenario.text().as_bytes())),
        ("policy", policies.to_owned()),
        ("seed", built.seed.to_string()),
        ("replications", replications.to_string()),
        ("measured time", format!("{} s", seconds(built.duration))),
        ("warm-up before it", format!("{} s", seconds(built.warmup))),
    ];
    // The policy has its own line.
    let other = |change: &&str| !change.starts_with("scheduler.policy");
    let overrides: Vec<&str> = scenario.overrides().filter(other).collect();
    if !overrides.is_empty() {
        facts.push(("changed", overrides.join(", ")));
    }
    facts
        .into_iter()
        .map(|(name, fact)| (name.to_owned(), fact))
        .collect()
}
