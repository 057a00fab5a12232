//! `domio scenario from-trace`: a scenario of a recorded host.

use crate::args::{Global, LinuxInput, ScenarioFromTrace, TraceInput};
use crate::files::{FileKind, Files};
use crate::input;
use crate::out::{self, Status};
use crate::shared::trace;
use anyhow::{Context, anyhow, bail};
use domio_front::scenarios::{self, ScenarioText};
use domio_front::trace_file::TraceHow;
use domio_replay::from_trace::{self, FromTraceError, LinuxSources, Shown, Sources, XlError};
use domio_scenario::{Parts, Scenario};
use domio_trace::Format;
use domio_trace::order::ADVICE;
use std::fs;
use std::path::Path;

/// Reads the trace and what `xl` printed, and writes the scenario.
pub fn run(args: &ScenarioFromTrace, global: &Global) -> anyhow::Result<Status> {
    if input::is_stdin(&args.trace) {
        bail!("a scenario names the trace that it replays; give a file instead of -");
    }
    if args.json && args.output.is_some() {
        bail!("--json prints the scenario and --output writes it to a file; leave one out");
    }
    let named = [("the trace", Some(&args.trace))].into_iter();
    let named = named.chain([
        ("what xl sched-credit printed", args.sched_credit.as_ref()),
        ("what xl list printed", args.xl_list.as_ref()),
    ]);
    let read = named.filter_map(|(what, path)| Some((what, path?.clone())));
    let files = Files::reading(read.filter(|(_, path)| !input::is_stdin(path)));
    let files = files.forced(args.force);
    let target = files.makes(args.output.as_deref(), FileKind::Scenario)?;
    let sched = text_of(args.sched_credit.as_deref(), from_trace::sched_text)?;
    let list = text_of(args.xl_list.as_deref(), from_trace::list)?;
    let (shown, mut sources) = read_trace(args, global)?;
    if sources.linux.is_some() && (sched.is_some() || list.is_some()) {
        bail!(
            "{} is a trace of Linux, and xl is of Xen; what is known of a Linux host is in the \
             file NAME.host.json beside the trace",
            args.trace.display()
        );
    }
    sources.sched = sched;
    sources.list = list;
    let text = made(args, &shown, &sources, &global.parts)?;
    if args.json {
        let name = input::name(&args.trace);
        out::json(&ScenarioText::of(&name, text, &global.parts).answer())?;
    } else {
        target.write(&text)?;
    }
    Ok(Status::Success)
}

/// The scenario of the host that `trace` was recorded on, for commands that change it together.
///
/// # Errors
/// As the command itself, without what `xl` printed.
pub fn of(trace: &Path, cpu_hz: Option<u64>, global: &Global) -> anyhow::Result<Scenario> {
    let args = ScenarioFromTrace {
        trace: trace.to_owned(),
        cpu_hz,
        sched_credit: None,
        xl_list: None,
        output: None,
        force: false,
        json: false,
    };
    let (shown, sources) = read_trace(&args, global)?;
    let text = made(&args, &shown, &sources, &global.parts)?;
    let scenario = Scenario::parse(&input::name(trace), text.as_bytes(), &global.parts);
    scenario.map_err(scenarios::mistakes)
}

/// The text of the scenario.
fn made(
    args: &ScenarioFromTrace,
    shown: &Shown,
    sources: &Sources,
    parts: &Parts,
) -> anyhow::Result<String> {
    from_trace::scenario(shown, sources, parts.policies()).map_err(|error| match error {
        FromTraceError::Scenario(errors) => anyhow!(
            "the trace and the files make no valid scenario:\n\n{}",
            errors.render(true).trim_end()
        ),
        other => anyhow!("{}: {other}", args.trace.display()),
    })
}

/// Reads the trace whole, which a replay needs.
fn read_trace(args: &ScenarioFromTrace, global: &Global) -> anyhow::Result<(Shown, Sources)> {
    let source = TraceInput {
        file: args.trace.clone(),
        cpu_hz: args.cpu_hz,
        linux: LinuxInput::default(),
    };
    let mut reader = trace::open(&source, global)?;
    let mut shown = Shown::new();
    let file = args.trace.display();
    if trace::copy(&mut reader, &source, &mut shown)? {
        bail!(
            "{file} ends too early, and no scenario can replay it; keep what is there with `domio \
             trace convert {file} --to own --output whole.domio`, and use that"
        );
    }
    if reader.merge_stats().late > 0 {
        bail!("{file} has records that are out of order, and no scenario can replay it; {ADVICE}");
    }
    let from = match args.cpu_hz {
        Some(_) => "--cpu-hz",
        None => "the trace or a file beside it",
    };
    let counts = !matches!(reader.format(), Format::Own | Format::Linux);
    let hz = counts.then(|| (reader.tsc_hz(), from.to_owned()));
    let linux = match reader.format() {
        Format::Linux => Some(LinuxSources {
            kernel: reader.linux_kernel().map(str::to_owned),
            threads: reader.linux_threads(),
            host: TraceHow::default().host(&args.trace)?,
        }),
        _ => None,
    };
    let sources = Sources {
        trace: replayed(&args.trace, args.output.as_deref())?,
        command: command(args),
        hz,
        header: reader.header().cloned(),
        linux,
        ..Sources::default()
    };
    Ok((shown, sources))
}

/// What `parse` makes of the text at `path`, and what comments call the file.
fn text_of<T>(
    path: Option<&Path>,
    parse: impl Fn(&str) -> Result<T, XlError>,
) -> anyhow::Result<Option<(T, String)>> {
    let Some(path) = path else {
        return Ok(None);
    };
    let name = input::name(path);
    let text = input::text(path).with_context(|| format!("cannot read {name}"))?;
    let parsed = parse(&text).with_context(|| name.clone())?;
    Ok(Some((parsed, name)))
}

/// The trace as the scenario names it: from the scenario's folder on where it lies in there.
fn replayed(trace: &Path, output: Option<&Path>) -> anyhow::Result<String> {
    let whole = fs::canonicalize(trace).with_context(|| trace.display().to_string())?;
    let folder = output
        .and_then(Path::parent)
        .map(|folder| match folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => folder,
        });
    let folder = folder.and_then(|folder| fs::canonicalize(folder).ok());
    let inside = folder.and_then(|folder| whole.strip_prefix(folder).ok().map(Path::to_owned));
    let path = inside.unwrap_or(whole);
    let path = path.to_str().ok_or_else(|| {
        anyhow!(
            "the path of {} is no UTF-8, as a scenario needs; give the file another name",
            trace.display()
        )
    })?;
    Ok(path.to_owned())
}

/// The command, as the scenario's first line tells it.
fn command(args: &ScenarioFromTrace) -> String {
    let mut command = format!("domio scenario from-trace {}", args.trace.display());
    if let Some(hz) = args.cpu_hz {
        command += &format!(" --cpu-hz {hz}");
    }
    let options = [
        ("--sched-credit", &args.sched_credit),
        ("--xl-list", &args.xl_list),
    ];
    for (option, path) in options {
        if let Some(path) = path {
            command += &format!(" {option} {}", path.display());
        }
    }
    command
}
