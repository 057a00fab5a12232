//! `domio trace`: summaries, conversion and checks of traces of hosts. Those of block devices are
//! in `block`.

use crate::args::{self, Global, TraceCheck, TraceConvert, TraceFormat, TraceSummary};
use crate::files::{FileKind, Files, Output, is_stdout};
use crate::input;
use crate::out::{self, Status};
use crate::shared::block;
use crate::shared::record_table::RecordTable;
use crate::shared::trace::{Reader, copy, no_runstates, open};
use anyhow::bail;
use domio_core::{DomainId, Names, Record, Sink};
use domio_front::trace_file;
use domio_meter::{Meter, Told, TraceChecker};
use domio_replay::block::{BlockCsv, DiskCsv};
use domio_report::summed::Summed;
use domio_report::text;
use domio_trace::{
    CsvIntervals, CsvRecords, Format, PerfettoWriter, Skipped, TraceError, TraceHeader,
    TraceWriter, XentraceWriter,
};
use std::io::{self, IsTerminal, Write};

/// Runs a subcommand.
pub fn run(command: &args::Trace, global: &Global) -> anyhow::Result<Status> {
    match command {
        args::Trace::Summary(args) => summary(args, global),
        args::Trace::Replay(args) => block::replay(args, global),
        args::Trace::Compare(args) => block::compare(args, global),
        args::Trace::Convert(args) => convert(args, global),
        args::Trace::Check(args) => check(args, global),
    }
}

/// Hands records on to a sink and watches whether they report runstates.
struct Watched<S> {
    sink: S,
    told: Told,
    records: u64,
}

impl<S> Watched<S> {
    fn new(sink: S) -> Self {
        Watched {
            sink,
            told: Told::default(),
            records: 0,
        }
    }
}

impl<S: Sink> Sink for Watched<S> {
    fn record(&mut self, names: &Names, record: &Record) {
        self.told.see(record);
        self.records += 1;
        self.sink.record(names, record);
    }
}

fn summary(args: &TraceSummary, global: &Global) -> anyhow::Result<Status> {
    let files = block::all_files(&args.input.file, &args.more);
    // The file of a cpu that did nothing is empty.
    let kinds = files.iter().map(|file| block::is_block(file, args.format));
    if kinds.collect::<anyhow::Result<Vec<_>>>()?.contains(&true) {
        if args.input.cpu_hz.is_some() {
            bail!("--cpu-hz is of xentrace files, and a block trace has times; leave it out");
        }
        return block::summary(&files, args.format, args.json, global);
    }
    if let Some(second) = args.more.first() {
        bail!(
            "{} is a second file; only the files that blktrace writes of one recording, one for \
             each cpu, are summed up together",
            second.display()
        );
    }
    let mut reader = open(&args.input, global)?;
    let mut meter = Meter::new();
    let truncated = copy(&mut reader, &args.input, &mut meter)?;
    let summary = meter.finish();
    if !summary.runstates {
        no_runstates(&args.input, summary.records, "figures of domains and pcpus");
    }
    // Work may be for a domain that has no records of its own.
    let names = reader.header().map_or_else(Vec::new, TraceHeader::names);
    let summed = Summed {
        summary: &summary,
        names: &names,
        threads: &reader.threads(),
    };
    out::answer(
        args.json,
        || summed.answer(reader.tsc_hz(), truncated),
        || text::summary::render(summed, out::view()),
    )?;
    Ok(Status::Success)
}

fn convert(args: &TraceConvert, global: &Global) -> anyhow::Result<Status> {
    let mut reader = open(&args.input, global)?;
    let input = Some(&args.input.file).filter(|file| !input::is_stdin(file));
    let files = Files::reading(input.map(|file| ("the trace", file.clone())));
    let mut files = files.forced(args.force);
    if let Some(path) = args.output.as_ref().filter(|path| !is_stdout(path)) {
        let mut output = files.writes("--output", path, kind(args.to))?.create()?;
        write(&mut reader, args, global, &mut output)?;
        output.finish()?;
        Output::told(path, "");
        return Ok(Status::Success);
    }
    let texts = [
        TraceFormat::Csv,
        TraceFormat::CsvRecords,
        TraceFormat::CsvRequests,
    ];
    let is_text = texts.contains(&args.to);
    if !is_text && io::stdout().is_terminal() {
        bail!("a trace is no text for a terminal; name a file with --output")
    }
    files.prints()?;
    let mut output = io::BufWriter::new(io::stdout().lock());
    write(&mut reader, args, global, &mut output)?;
    output.flush()?;
    Ok(Status::Success)
}

/// What a file in this format is.
fn kind(format: TraceFormat) -> FileKind {
    // A table of nothing has its headings.
    let table = |csv: io::Result<Vec<u8>>| {
        let csv = csv.unwrap_or_default();
        let headings = String::from_utf8_lossy(&csv);
        FileKind::Csv(headings.lines().next().unwrap_or_default().to_owned())
    };
    match format {
        TraceFormat::Own => FileKind::Trace,
        TraceFormat::Xentrace => FileKind::Xentrace,
        TraceFormat::Perfetto => FileKind::Perfetto,
        TraceFormat::Csv => table(CsvIntervals::new(Vec::new()).finish()),
        TraceFormat::CsvRecords => table(CsvRecords::new(Vec::new()).finish()),
        TraceFormat::Parquet => FileKind::Parquet,
        TraceFormat::CsvRequests => FileKind::Csv(BlockCsv::<Vec<u8>>::HEADINGS.to_owned()),
    }
}

fn write(
    reader: &mut Reader,
    args: &TraceConvert,
    global: &Global,
    output: &mut dyn Write,
) -> anyhow::Result<()> {
    match args.to {
        TraceFormat::Own => {
            let header = header(reader, args, global)?.unwrap_or_default();
            let mut writer = TraceWriter::new(output, &header)?;
            copy(reader, &args.input, &mut writer)?;
            writer.finish()?;
        }
        TraceFormat::Xentrace => {
            let mut writer = XentraceWriter::new(output, reader.tsc_hz())
                .map_err(|e| anyhow::anyhow!("cannot write a xentrace file: {e}"))?;
            copy(reader, &args.input, &mut writer)?;
            if writer.left_out() > 0 {
                let n = writer.left_out();
                out::message(&format!(
                    "{n} records have no counterpart in Xen and were left out"
                ));
            }
            writer.finish()?;
        }
        TraceFormat::Perfetto => {
            let header = header(reader, args, global)?;
            let mut writer = PerfettoWriter::new(output, header.as_ref());
            copy(reader, &args.input, &mut writer)?;
            writer.finish()?;
        }
        TraceFormat::Csv => {
            let mut writer = Watched::new(CsvIntervals::new(output));
            copy(reader, &args.input, &mut writer)?;
            if !writer.told.all() {
                no_runstates(&args.input, writer.records, "rows");
            } else if writer.sink.rows() == 0 {
                let file = input::name(&args.input.file);
                out::message(&format!(
                    "warning: {file}: no vcpu's runstate begins and ends within the trace, so \
                     there are no rows; record the host for longer"
                ));
            }
            writer.sink.finish()?;
        }
        TraceFormat::CsvRecords => {
            let mut writer = CsvRecords::new(output);
            copy(reader, &args.input, &mut writer)?;
            writer.finish()?;
        }
        TraceFormat::Parquet => {
            let header = header(reader, args, global)?;
            let mut writer = RecordTable::new(output, header.as_ref())?;
            copy(reader, &args.input, &mut writer)?;
            writer.finish()?;
        }
        TraceFormat::CsvRequests => {
            let header = header(reader, args, global)?;
            requests(reader, args, header.as_ref(), output)?;
        }
    }
    Ok(())
}

/// The head of the trace, as it is at its end.
fn header(
    reader: &Reader,
    args: &TraceConvert,
    global: &Global,
) -> anyhow::Result<Option<TraceHeader>> {
    if reader.format() != Format::Linux {
        return Ok(reader.header().cloned());
    }
    let how = args.input.linux.how(args.input.cpu_hz);
    let options = how.options(&args.input.file, &global.parts, &|_| {})?;
    trace_file::whole_header(reader, &args.input.file, &options)
}

/// Writes the requests of virtual disks.
fn requests(
    reader: &mut Reader,
    args: &TraceConvert,
    header: Option<&TraceHeader>,
    output: &mut dyn Write,
) -> anyhow::Result<()> {
    let name = |id: DomainId| {
        let name = header.and_then(|h| h.domain_name(id.0));
        name.map_or_else(|| id.to_string(), str::to_owned)
    };
    let mut writer = DiskCsv::new(output, name)?;
    copy(reader, &args.input, &mut writer)?;
    if writer.events() == 0 {
        let file = input::name(&args.input.file);
        out::message(&format!(
            "warning: {file}: there are no requests of virtual disks; traces of simulated hosts \
             with disks have them"
        ));
    }
    writer.finish()?;
    Ok(())
}

fn check(args: &TraceCheck, global: &Global) -> anyhow::Result<Status> {
    let mut reader = open(&args.input, global)?;
    let mut checker = TraceChecker::new();
    let file = input::name(&args.input.file);
    let damage = trace_file::read(&mut reader, &file, &mut checker, &out::message)?;
    if let Some(damage) = &damage {
        out::message(&trace_file::cut(damage, &file));
    }
    let report = checker.finish();
    let skipped = reader.skipped();
    let is_whole = damage.is_none() && skipped.is_none();
    out::answer(
        args.json,
        || {
            let places = skipped.map_or(0, |skipped| skipped.places);
            report.answer(damage.is_some(), places)
        },
        || {
            let damage = damage.as_ref().map(TraceError::to_string);
            let damage = skipped.map(Skipped::to_string).into_iter().chain(damage);
            text::check::render(&report, &damage.collect::<Vec<_>>())
        },
    )?;
    Ok(Status::of_check(report.is_clean() && is_whole))
}
