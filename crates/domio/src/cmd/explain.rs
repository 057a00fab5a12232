//! `domio explain`: what the domains of a scenario or a trace wait for, and their packets; what the
//! requests of a block trace wait for.

use crate::args::{BlockRig, Explain, Global, TraceInput};
use crate::files::Files;
use crate::input::{self, InputKind};
use crate::keeping;
use crate::out::{self, Status};
use crate::progress::progress;
use crate::report::{self, ReportFile, ReportKey};
use crate::shared::host::{load, policy_names, provenance, report_beside, shown, title};
use crate::shared::{block, host, pictures, trace};
use anyhow::{Context, bail};
use domio_core::{DomainId, Duration, Names, Record, Sink, VcpuName};
use domio_front::explained;
use domio_front::hosts;
use domio_meter::{Explainer, Explanation, HostPlaces, MapWindow};
use domio_report::data::{ReportData, Section};
use domio_report::explained::Explained;
use domio_report::text::explained::Extent;
use domio_report::{observed, text};
use domio_run::observe::{Observer, Window};
use domio_run::residence;
use domio_run::simulate::{self};
use domio_scenario::{Built, Scenario};
use domio_trace::TraceHeader;
use std::path::{Path, PathBuf};

/// Explains the trace; or simulates the scenario, and prints and draws where time went.
pub fn run(args: &Explain, global: &Global) -> anyhow::Result<Status> {
    if is_block(args)? {
        return of_block(args, global);
    }
    if let Some(second) = args.more.first() {
        bail!(
            "{} is a second file; only the files that blktrace writes of one recording, one for \
             each cpu, are explained together",
            second.display()
        );
    }
    if args.drive.is_some() {
        let name = input::name(Path::new(&args.scenario));
        bail!(
            "--drive needs a block trace, and {name} is none; if it is a block trace, name its \
             format with --format"
        );
    }
    let is_trace = is_trace(&args.scenario)?;
    refuse_options(args, is_trace)?;
    match is_trace {
        true => of_trace(args, global),
        false => of_scenario(args, global),
    }
}

/// Whether what is explained is a block trace. The file of a cpu that did nothing is empty.
fn is_block(args: &Explain) -> anyhow::Result<bool> {
    for path in [Path::new(&args.scenario)]
        .into_iter()
        .chain(args.more.iter().map(PathBuf::as_path))
    {
        if block::is_block(path, args.format)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether `what` is a file, or `-` for standard input, in a format of traces.
fn is_trace(what: &str) -> anyhow::Result<bool> {
    let path = Path::new(what);
    match input::is_stdin(path) {
        true => Ok(input::kind(path).context("cannot read <stdin>")? == InputKind::Trace),
        false => Ok(input::is_trace(path)),
    }
}

/// Refuses options that only the other kind of input has.
fn refuse_options(args: &Explain, is_trace: bool) -> anyhow::Result<()> {
    let how = &args.how;
    let of_scenarios = [
        ("--policy", args.policy.is_some()),
        ("--set", !how.set.is_empty()),
        ("--seed", how.seed.is_some()),
        ("--replications", how.replications > 1),
        ("--results", args.keeping.results.is_some()),
    ];
    let of_linux = args.linux.given();
    let of_traces = [
        (of_linux.unwrap_or("--host"), of_linux.is_some()),
        ("--map", args.map.is_some()),
        ("--cpu-hz", args.cpu_hz.is_some()),
    ];
    let refused = match is_trace {
        true => &of_scenarios[..],
        false => &of_traces[..],
    };
    let Some((option, _)) = refused.iter().find(|(_, given)| *given) else {
        return Ok(());
    };
    let name = input::name(Path::new(&args.scenario));
    match is_trace {
        true => bail!(
            "{option} is of a scenario, and {name} is a trace, which has happened already; make a \
             scenario of it with `domio scenario from-trace`, and explain that"
        ),
        false => bail!(
            "{option} is of a trace, and {name} is a scenario; write a trace of it with `domio run \
             SCENARIO --trace FILE`, and explain that"
        ),
    }
}

/// Explains a trace of a block device, as it was recorded or as a drive would serve it.
fn of_block(args: &Explain, global: &Global) -> anyhow::Result<Status> {
    let how = &args.how;
    let others = [
        ("--policy", args.policy.is_some()),
        ("--set", !how.set.is_empty()),
        ("--seed", how.seed.is_some()),
        ("--replications", how.replications > 1),
        ("--map", args.map.is_some()),
        ("--cpu-hz", args.cpu_hz.is_some()),
        ("--report", args.reporting.report.is_some()),
        ("--figures", args.drawn.figures.is_some()),
        ("--window", args.drawn.window.is_some()),
        ("--long", args.long),
        ("--vcpu", !args.vcpus.is_empty()),
        ("--domain", !args.domains.is_empty()),
    ];
    let path = Path::new(&args.scenario);
    if let Some((option, _)) = others.iter().find(|(_, given)| *given) {
        let name = input::name(path);
        bail!("{option} is of scenarios or traces of hosts, and {name} is a block trace");
    }
    let paths = block::all_files(path, &args.more);
    let Some(drive) = &args.drive else {
        return block::explain(&paths, args.format, args.json, global);
    };
    let rig = BlockRig {
        elevator: args.elevator.clone().unwrap_or_else(|| "noop".to_owned()),
        drive: drive.clone(),
    };
    block::explain_replayed(&paths, args.format, &rig, args.json, global)
}

/// Simulates the scenario.
fn of_scenario(args: &Explain, global: &Global) -> anyhow::Result<Status> {
    let scenario = load(
        &args.scenario,
        &args.how,
        args.policy.as_deref(),
        &global.parts,
    )?;
    let built = hosts::build(&scenario)?;
    built.notices.iter().for_each(|notice| out::notice(notice));
    let draws = args.drawn.draws(&args.reporting, Some(&built))?;
    let policies: Vec<String> = args.policy.iter().cloned().collect();
    let shown = shown(
        "explain",
        std::slice::from_ref(&args.scenario),
        &args.how,
        &policies,
    );
    let shown = asked(args, shown);
    let report = report_beside(host::files(&scenario), &args.reporting, &shown)?;
    let explanation = sum(args, global, &scenario, &built)?;
    let names = simulate::domains(&built);
    let moments = match draws {
        false => Vec::new(),
        true => {
            let seen = pictures::watch(&scenario, &built, args.drawn.watched());
            observed::sections(&seen.map_err(|fault| hosts::failed(&fault))?, &names)
        }
    };
    let told = Told {
        explanation,
        places: Some(residence::places(&built)),
        truncated: false,
        names,
        threads: simulate::threads(&built),
        name: scenario.name().to_owned(),
        title: title(&scenario),
        provenance: provenance(
            &scenario,
            &built,
            &policy_names(&built),
            args.how.replications,
        ),
        moments,
    };
    told.show(
        args,
        report,
        host::files(&scenario).forced(args.reporting.force),
    )
}

/// The explanations of all replications, added up.
fn sum(
    args: &Explain,
    global: &Global,
    scenario: &Scenario,
    built: &Built,
) -> anyhow::Result<Explanation> {
    let keeper = keeping::keeper(&args.keeping, &global.parts)?;
    let replications = args.how.replications;
    let sum = explained::sum(scenario, built, replications, &keeper, &*progress(global));
    keeping::tell(&keeper, &args.keeping);
    sum
}

/// The explainer, and the observer of what is drawn.
struct Both {
    explainer: Explainer,
    observer: Option<Observer>,
}

impl Sink for Both {
    fn record(&mut self, names: &Names, record: &Record) {
        self.explainer.record(names, record);
        if let Some(observer) = &mut self.observer {
            observer.record(names, record);
        }
    }
}

/// Reads the trace, once.
fn of_trace(args: &Explain, global: &Global) -> anyhow::Result<Status> {
    let path = PathBuf::from(&args.scenario);
    let source = TraceInput {
        file: path.clone(),
        cpu_hz: args.cpu_hz,
        linux: args.linux.clone(),
    };
    let reads = || {
        let file = (!input::is_stdin(&path)).then(|| ("the trace", path.clone()));
        Files::reading(file)
    };
    let mut files = reads();
    files.prints()?;
    let report = report::wanted(&mut files, &args.reporting, &key_of_trace(args))?;
    let window = args.map.or(args.drawn.window);
    let (map, drawn) = match window {
        Some((from, until)) => (
            MapWindow::Between(from, until),
            Window::Between(from, until),
        ),
        None => (MapWindow::Worst, Window::Worst(pictures::TIMELINE)),
    };
    let draws = report.is_some() || args.drawn.figures.is_some();
    let mut both = Both {
        explainer: Explainer::new(map),
        observer: draws.then(|| Observer::new(drawn)),
    };
    let mut reader = trace::open(&source, global)?;
    let truncated = trace::copy(&mut reader, &source, &mut both)?;
    let explanation = both.explainer.finish();
    if !explanation.runstates {
        trace::no_runstates(&source, explanation.records, "waits to explain");
    }
    if let Some((from, _)) = window
        && from.as_nanos() > explanation.elapsed
    {
        beyond(args, Duration::from_nanos(explanation.elapsed))?;
    }
    let domains = explanation.domains();
    let names = reader.header().map_or_else(Vec::new, TraceHeader::names);
    let threads = reader.threads();
    let moments = both.observer.map_or_else(Vec::new, |observer| {
        let explained = Explained::new(&explanation, &names);
        let all = domains.iter().map(|d| (d.id, explained.domain(d.id)));
        observed::sections(&observer.finish(), &all.collect::<Vec<_>>())
    });
    let hz = reader.tsc_hz();
    let facts = [
        ("version", format!("domio {}", env!("CARGO_PKG_VERSION"))),
        ("trace", input::name(&path)),
        ("format", reader.format().name().to_owned()),
        ("its clock", format!("{hz} Hz")),
        ("records", explanation.records.to_string()),
        ("lost records", explanation.lost_records.to_string()),
    ];
    let told = Told {
        explanation,
        places: None,
        truncated,
        names,
        threads,
        name: stem(&path),
        title: input::name(&path),
        provenance: facts.map(|(name, fact)| (name.to_owned(), fact)).into(),
        moments,
    };
    told.show(args, report, reads().forced(args.reporting.force))
}

/// The window begins after the end of the trace.
fn beyond(args: &Explain, length: Duration) -> anyhow::Result<()> {
    let option = match args.map {
        Some(_) => "--map",
        None => "--window",
    };
    bail!(
        "{option} begins after the end of the trace; times count from its first record, and it is \
         {} s long",
        length.as_nanos() as f64 / 1e9
    )
}

/// What a report of a trace shows.
fn key_of_trace(args: &Explain) -> ReportKey {
    let mut shown = ReportKey::new("explain", std::slice::from_ref(&args.scenario));
    if let Some(host) = &args.linux.host {
        shown = shown.with("--host", host.display());
    }
    for rule in &args.linux.guests.groups {
        shown = shown.with("--group", rule);
    }
    if let Some(hz) = args.cpu_hz {
        shown = shown.with("--cpu-hz", hz);
    }
    let time = |d: Duration| format!("{}ns", d.as_nanos());
    if let Some((from, until)) = args.map {
        shown = shown.with("--map", format!("{}..{}", time(from), time(until)));
    }
    if let Some((from, until)) = args.drawn.window {
        shown = shown.with("--window", format!("{}..{}", time(from), time(until)));
    }
    asked(args, shown)
}

/// The same with the vcpus and domains that are asked for.
fn asked(args: &Explain, shown: ReportKey) -> ReportKey {
    let vcpus = args.vcpus.iter().map(|vcpu| ("--vcpu", vcpu));
    let domains = args.domains.iter().map(|domain| ("--domain", domain));
    vcpus
        .chain(domains)
        .fold(shown, |shown, (option, name)| shown.with(option, name))
}

/// The name of a file without folder and ending.
fn stem(path: &Path) -> String {
    let stem = path.file_stem().and_then(|s| s.to_str());
    stem.unwrap_or("trace").to_owned()
}

/// An explanation and what to say of where it is from.
struct Told {
    explanation: Explanation,
    /// The host, where that is known.
    places: Option<HostPlaces>,
    /// Whether the trace ends too early.
    truncated: bool,
    /// Of domains whose name is known.
    names: Vec<(DomainId, String)>,
    /// What threads are called that are no vcpus.
    threads: Vec<(VcpuName, String)>,
    /// What names of files with its figures begin with.
    name: String,
    title: String,
    provenance: Vec<(String, String)>,
    /// Waits and timelines: of the trace, or of the first replication.
    moments: Vec<Section>,
}

impl Told {
    /// Prints it, writes the report to a file that was begun, and the figures to a folder.
    fn show(
        mut self,
        args: &Explain,
        report: Option<ReportFile>,
        reads: Files,
    ) -> anyhow::Result<Status> {
        let asked = [&args.vcpus[..], &args.domains[..]];
        explained::restrict(&mut self.explanation, &self.names, &self.threads, asked)?;
        let places = self.places.as_ref();
        let explained = Explained::new(&self.explanation, &self.names);
        let explained = explained.with_threads(&self.threads).on(places);
        let extent = match (args.long, args.map) {
            (true, _) => Extent::Long,
            (false, Some(_)) => Extent::WithMap,
            (false, None) => Extent::Short,
        };
        let answer = || explained.answer(self.truncated);
        match args.csv {
            true => out::csv(&answer().tables())?,
            false => out::answer(args.json, answer, || {
                text::explained::render(explained, extent, out::view())
            })?,
        }
        let figures = args.drawn.figures.as_deref();
        if figures.is_none() && report.is_none() {
            return Ok(Status::Success);
        }
        let mut sections = explained.sections();
        sections.extend(self.moments);
        let drawn = ReportData {
            name: format!("{} waits", self.name),
            title: self.title,
            lead: "Which guests waited, behind whom, and why".to_owned(),
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
