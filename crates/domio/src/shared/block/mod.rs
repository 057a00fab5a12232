//! Traces of block devices: `domio trace summary`, `replay` and `compare`, and `domio explain`.

mod answers;
mod replay;

pub use answers::{ComparedTraces, Replayed, SummedUp, explained};
pub use replay::{explain_replayed, replay};

use crate::args::{BlockFormatArg, Global, TraceCompare};
use crate::input::{self, InputKind, Stream};
use crate::out::{self, Status};
use crate::progress::reading;
use anyhow::{Context, bail};
use domio_meter::block::{BlockComparison, BlockExplainer, BlockMeter, BlockWaits};
use domio_report::text::block as text;
use domio_trace::block::{BlockEvent, BlockFormat, BlockReader, BlockTraceError};
use indicatif::ProgressBarIter;
use std::path::{Path, PathBuf};

/// A trace of a block device that is being read.
pub type Reader = BlockReader<ProgressBarIter<Stream>>;

/// Whether the file at `path`, or standard input, is read as a trace of a block device.
///
/// # Errors
/// When standard input cannot be read.
pub fn is_block(path: &Path, format: Option<BlockFormatArg>) -> anyhow::Result<bool> {
    if format.is_some() {
        return Ok(true);
    }
    if input::is_stdin(path) {
        let kind = input::kind(path).context("cannot read <stdin>")?;
        return Ok(kind == InputKind::BlockTrace);
    }
    // The file of a cpu that did nothing is empty.
    let is_block =
        |path: &PathBuf| path.is_file() && matches!(input::kind(path), Ok(InputKind::BlockTrace));
    Ok(files_of(path).iter().any(is_block))
}

/// The files of the recording that `path` names. blktrace writes one for each cpu: `sda` and
/// `sda.blktrace` stand for `sda.blktrace.0` and its likes, as for blkparse. Anything else is the
/// one file that it says.
pub fn files_of(path: &Path) -> Vec<PathBuf> {
    let alone = vec![path.to_owned()];
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return alone;
    };
    if input::is_stdin(path) || path.exists() {
        return alone;
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let stem = format!(
        "{}.blktrace.",
        name.strip_suffix(".blktrace").unwrap_or(name)
    );
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut parts: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let cpu = name.to_str()?.strip_prefix(&stem)?.parse().ok()?;
            Some((cpu, path.with_file_name(&name)))
        })
        .collect();
    parts.sort_unstable();
    match parts.is_empty() {
        true => alone,
        false => parts.into_iter().map(|(_, path)| path).collect(),
    }
}

/// The files of the recording that `first` and `more` are, each as [`files_of`] has it.
pub fn all_files(first: &Path, more: &[PathBuf]) -> Vec<PathBuf> {
    let more = more.iter().map(PathBuf::as_path);
    [first].into_iter().chain(more).flat_map(files_of).collect()
}

/// Opens the trace in `paths`: one file, or the files of one recording, one for each cpu.
///
/// # Errors
/// When it cannot be read, or is something else: what that is, and what takes it.
pub fn open(
    paths: &[PathBuf],
    format: Option<BlockFormatArg>,
    global: &Global,
) -> anyhow::Result<Reader> {
    if let [path] = paths {
        let context = || format!("cannot read the block trace {}", input::name(path));
        let stream = stream(path)?;
        return BlockReader::new(reading(global, stream), format.map(|f| f.0))
            .with_context(context);
    }
    if let Some(format) = format.filter(|format| format.0 != BlockFormat::Blktrace) {
        bail!(
            "only files of blktrace are read together, and --format is {}; give one file",
            format.0.name()
        );
    }
    let streams = paths.iter().map(|path| Ok(reading(global, stream(path)?)));
    let streams = streams.collect::<anyhow::Result<Vec<_>>>()?;
    BlockReader::of_parts(streams).map_err(|error| {
        let wrong = match error {
            BlockTraceError::Part(number) => paths.get(number),
            _ => paths.first(),
        };
        let wrong = wrong.map_or_else(String::new, |path| input::name(path));
        anyhow::Error::new(error).context(format!("cannot read the block trace {wrong}"))
    })
}

/// The bytes of the trace at `path`, if it may be one.
fn stream(path: &Path) -> anyhow::Result<Stream> {
    let context = || format!("cannot read the block trace {}", input::name(path));
    let stream = Stream::open(path).with_context(context)?;
    let what = match stream.kind() {
        InputKind::BlockTrace | InputKind::Unknown => None,
        InputKind::Trace => Some(("a trace of a host", "`domio trace summary` takes it")),
        InputKind::Scenario => Some(("a scenario", "`domio run` simulates it")),
        InputKind::Foreign { what, advice } => Some((what, advice)),
    };
    if let Some((what, advice)) = what {
        bail!(
            "{} is {what}, where a block trace is expected; {advice}",
            input::name(path)
        );
    }
    Ok(stream)
}

/// Says what of the trace was left out.
fn warn(reader: &Reader, path: &Path) {
    let file = input::name(path);
    let damage = reader.damage();
    if damage.places > 0 {
        out::message(&format!("warning: {file}: {damage}"));
    }
    if damage.late > 0 {
        out::message(&format!(
            "warning: {file}: {} events are earlier than the ones before them, and were taken as \
             no later; sort the trace by time if that matters",
            damage.late
        ));
    }
}

/// Hands all events on.
fn read(
    reader: &mut Reader,
    path: &Path,
    mut event: impl FnMut(&Reader, &BlockEvent),
) -> anyhow::Result<()> {
    let context = || format!("cannot read the block trace {}", input::name(path));
    while let Some(one) = reader.next_event().with_context(context)? {
        event(reader, &one);
    }
    warn(reader, path);
    Ok(())
}

/// Sums a trace up, which may be in several files ([`all_files`]).
///
/// # Errors
/// When the trace cannot be read.
pub fn summary(
    paths: &[PathBuf],
    format: Option<BlockFormatArg>,
    as_json: bool,
    global: &Global,
) -> anyhow::Result<Status> {
    let mut reader = open(paths, format, global)?;
    let mut meter = BlockMeter::new();
    read(&mut reader, &paths[0], |_, event| meter.event(event))?;
    let summed = SummedUp {
        format: reader.format().name().to_owned(),
        damaged_places: reader.damage().places,
        summary: meter.finish(reader.names()),
    };
    out::answer(
        as_json,
        || summed.answer(),
        || text::summary(&summed.summary, &summed.format, out::view()),
    )?;
    Ok(Status::Success)
}

/// Explains a trace, as it was recorded; it may be in several files ([`all_files`]).
///
/// # Errors
/// When the trace cannot be read.
pub fn explain(
    paths: &[PathBuf],
    format: Option<BlockFormatArg>,
    as_json: bool,
    global: &Global,
) -> anyhow::Result<Status> {
    let mut reader = open(paths, format, global)?;
    let mut explainer = BlockExplainer::new();
    read(&mut reader, &paths[0], |reader, event| {
        explainer.event(reader.names(), event, None);
    })?;
    let waits = explainer.finish(reader.names());
    show(&waits, as_json)
}

/// Prints an explanation.
fn show(waits: &BlockWaits, as_json: bool) -> anyhow::Result<Status> {
    out::answer(
        as_json,
        || explained(waits),
        || text::waits(waits, out::view()),
    )?;
    Ok(Status::Success)
}

/// Compares two traces.
///
/// # Errors
/// When one cannot be read.
pub fn compare(args: &TraceCompare, global: &Global) -> anyhow::Result<Status> {
    if input::is_stdin(&args.a) && input::is_stdin(&args.b) {
        bail!("only one of the traces can be standard input; give a file for the other");
    }
    let metered = |path: &Path| {
        let mut reader = open(&files_of(path), args.format, global)?;
        let mut meter = BlockMeter::new();
        read(&mut reader, path, |_, event| meter.event(event))?;
        anyhow::Ok(meter)
    };
    let compared = ComparedTraces {
        names: [input::name(&args.a), input::name(&args.b)],
        comparison: BlockComparison::new(metered(&args.a)?, metered(&args.b)?),
    };
    out::answer(
        args.json,
        || compared.answer(),
        || text::comparison(&compared.comparison, &compared.names, out::view()),
    )?;
    Ok(Status::Success)
}
