//! `domio explain TRACE`: behind whom the vcpus of a recorded or simulated host waited, and why.

use crate::args::{Explain, Global, TraceInput};
use crate::cmd::{pictures, trace};
use crate::files::Files;
use crate::input;
use crate::out::{self, Status};
use crate::report::{self, ReportKey};
use anyhow::{Context, bail};
use domio_core::{DomainId, Duration, Names, Record, Sink};
use domio_run::observe::{Observer, Window};
use domio_meter::{Explainer, ExplanationJson, MapWindow};
use domio_report::data::ReportData;
use domio_report::waiting::Waited;
use domio_report::{observed, text};
use domio_trace::{ReadOptions, TraceErrorKind, TraceReader};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes that tell what a file is.
const LOOK: u64 = 1024;

/// Whether `what` is a file, or `-` for standard input, in a format of traces. The format is
/// recognised by the file's begin, whatever it is called.
///
/// # Errors
/// When standard input cannot be read.
pub fn is_trace(what: &str) -> anyhow::Result<bool> {
    let path = Path::new(what);
    let mut head = Vec::new();
    if input::is_stdin(path) {
        head = input::peek_stdin(LOOK as usize).context("cannot read <stdin>")?;
    } else if path.is_file()
        && let Ok(file) = File::open(path)
    {
        // A file that cannot be read is told of by whoever reads it.
        let _ = file.take(LOOK).read_to_end(&mut head);
    }
    // The head of a trace may be longer than what was looked at: only what is of no format, or
    // nothing at all, is no trace.
    Ok(match TraceReader::new(&head[..], &ReadOptions::default()) {
        Ok(_) => true,
        Err(error) => !matches!(
            error.kind,
            TraceErrorKind::Foreign { .. } | TraceErrorKind::Empty
        ),
    })
}

/// Refuses what only a trace has.
///
/// # Errors
/// When one of its options is given.
pub fn refuse_options_of_traces(args: &Explain) -> anyhow::Result<()> {
    let given = [
        ("--map", args.map.is_some()),
        ("--cpu-hz", args.cpu_hz.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => bail!(
            "{option} is of a trace, and {} is a scenario; write a trace of it with `domio run \
             SCENARIO --trace FILE`, and explain that",
            input::name(Path::new(&args.scenario))
        ),
    }
}

/// Refuses what only a scenario has.
fn refuse_options_of_scenarios(args: &Explain) -> anyhow::Result<()> {
    let how = &args.how;
    let given = [
        ("--policy", args.policy.is_some()),
        ("--set", !how.set.is_empty()),
        ("--seed", how.seed.is_some()),
        ("--replications", how.replications > 1),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => bail!(
            "{option} is of a scenario, and {} is a trace, which has happened already; make a \
             scenario of it with `domio scenario from-trace`, and explain that",
            input::name(Path::new(&args.scenario))
        ),
    }
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

/// Reads the trace once, and prints and draws who waited behind whom.
pub fn run(args: &Explain, global: &Global) -> anyhow::Result<Status> {
    refuse_options_of_scenarios(args)?;
    let path = PathBuf::from(&args.scenario);
    let source = TraceInput {
        file: path.clone(),
        cpu_hz: args.cpu_hz,
    };
    let reads = || {
        let file = (!input::is_stdin(&path)).then(|| ("the trace", path.clone()));
        Files::reading(file)
    };
    let mut files = reads();
    files.prints()?;
    let report = report::wanted(&mut files, &args.reporting, &shown(args))?;
    let figures = args.drawn.figures.as_deref();
    let window = args.map.or(args.drawn.window);
    let (map, drawn) = match window {
        Some((from, until)) => (
            MapWindow::Between(from, until),
            Window::Between(from, until),
        ),
        None => (MapWindow::Worst, Window::Worst(pictures::TIMELINE)),
    };
    let draws = report.is_some() || figures.is_some();
    let mut both = Both {
        explainer: Explainer::new(map),
        observer: draws.then(|| Observer::new(drawn)),
    };
    let mut reader = trace::open(&source, global)?;
    let truncated = trace::copy(&mut reader, &source, &mut both)?;
    let waiting = both.explainer.finish();
    if !waiting.runstates {
        trace::no_runstates(&source, waiting.records, "waits to explain");
    }
    if let Some((from, _)) = window
        && waiting.start + from > waiting.end
    {
        beyond(args, waiting.end.since(waiting.start))?;
    }
    let header = reader.header();
    let name = |id: DomainId| header.and_then(|h| h.domain_name(id.0)).map(str::to_owned);
    if args.json {
        out::json_as("explain", &ExplanationJson::new(&waiting, truncated, name))?;
    }
    let ids = waiting.vcpus.iter().map(|v| v.name.domain);
    let mut names: Vec<(DomainId, String)> = ids
        .map(|id| (id, name(id).unwrap_or_else(|| id.to_string())))
        .collect();
    names.dedup();
    let waited = Waited {
        waiting: &waiting,
        names: &names,
    };
    if !args.json {
        out::text(&text::waiting::render(waited, out::view()))?;
    }
    let Some(observer) = both.observer else {
        return Ok(Status::Success);
    };
    let mut sections = waited.sections();
    sections.extend(observed::sections(&observer.finish(), &names));
    let hz = reader.tsc_hz();
    let facts = [
        ("version", format!("domio {}", env!("CARGO_PKG_VERSION"))),
        ("trace", input::name(&path)),
        ("format", reader.format().name().to_owned()),
        ("its clock", format!("{hz} Hz")),
        ("records", waiting.records.to_string()),
        ("lost records", waiting.lost_records.to_string()),
    ];
    let drawn = ReportData {
        name: format!("{} waits", stem(&path)),
        title: input::name(&path),
        lead: "Behind whom its vcpus waited, and why".to_owned(),
        provenance: facts.map(|(name, fact)| (name.to_owned(), fact)).into(),
        sections,
        ..ReportData::default()
    };
    pictures::write(figures, &drawn, reads())?;
    if let Some(to) = report {
        to.write(drawn)?;
    }
    Ok(Status::Success)
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

/// What a report of `args` shows.
fn shown(args: &Explain) -> ReportKey {
    let mut shown = ReportKey::new("explain", std::slice::from_ref(&args.scenario));
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
    shown
}

/// The name of a file without folder and ending.
fn stem(path: &Path) -> String {
    let stem = path.file_stem().and_then(|s| s.to_str());
    stem.unwrap_or("trace").to_owned()
}
