//! `domio trace`: summaries, conversion and checks of traces.

use crate::args::{self, Global, TraceCheck, TraceConvert, TraceFormat, TraceInput, TraceSummary};
use crate::out::{self, Status};
use crate::progress::reading;
use anyhow::{Context, bail};
use domio_core::Sink;
use domio_meter::{CheckReport, Meter, SummaryJson, TraceChecker};
use domio_report::text;
use domio_trace::{
    CsvIntervals, PerfettoWriter, ReadOptions, TraceHeader, TraceReader, TraceWriter,
    XentraceWriter,
};
use indicatif::ProgressBarIter;
use serde_json::json;
use std::fs::File;
use std::io::{self, IsTerminal, Write};

/// A trace file that is being read.
type Reader = TraceReader<ProgressBarIter<File>>;

/// Runs a subcommand.
pub fn run(command: &args::Trace, global: &Global) -> anyhow::Result<Status> {
    match command {
        args::Trace::Summary(args) => summary(args, global),
        args::Trace::Convert(args) => convert(args, global),
        args::Trace::Check(args) => check(args, global),
    }
}

fn open(input: &TraceInput, global: &Global) -> anyhow::Result<Reader> {
    let options = ReadOptions {
        tsc_hz: input.cpu_hz,
        ..ReadOptions::default()
    };
    let context = || format!("cannot read the trace {}", input.file.display());
    let file = File::open(&input.file).with_context(context)?;
    TraceReader::new(reading(global, file), &options).with_context(context)
}

/// Hands all records to `sink` and returns whether that was the whole file. One that merely ends
/// too early is used as far as it goes.
fn copy(reader: &mut Reader, input: &TraceInput, sink: &mut impl Sink) -> anyhow::Result<bool> {
    let whole = match reader.copy_to(sink) {
        Ok(_) => true,
        Err(error) if error.is_truncation() => {
            let file = input.file.display();
            out::message(&format!("warning: {file}: {error}; using what is there"));
            false
        }
        Err(error) => {
            let file = input.file.display();
            return Err(error).with_context(|| format!("cannot read the trace {file}"));
        }
    };
    let disorder = reader.merge_stats().late;
    if disorder > 0 {
        out::message(&format!(
            "warning: {}: {disorder} records are out of order; is --cpu-hz right?",
            input.file.display()
        ));
    }
    Ok(whole)
}

fn summary(args: &TraceSummary, global: &Global) -> anyhow::Result<Status> {
    let mut reader = open(&args.input, global)?;
    let mut meter = Meter::new();
    copy(&mut reader, &args.input, &mut meter)?;
    let summary = SummaryJson::new(&meter.finish(), reader.tsc_hz());
    match args.json {
        true => out::json(&summary)?,
        false => {
            let header = reader.header();
            let name = |id| header.and_then(|h| h.domain_name(id)).map(str::to_owned);
            out::text(&text::summary::render(&summary, name, out::width()))?;
        }
    }
    Ok(Status::Success)
}

fn convert(args: &TraceConvert, global: &Global) -> anyhow::Result<Status> {
    let mut reader = open(&args.input, global)?;
    let mut output: Box<dyn Write> = match &args.output {
        Some(path) => Box::new(out::create_file(path)?),
        None if args.to != TraceFormat::Csv && io::stdout().is_terminal() => {
            bail!("a trace is no text for a terminal; name a file with --output")
        }
        None => Box::new(io::BufWriter::new(io::stdout().lock())),
    };
    write(&mut reader, args, &mut output)?;
    output.flush()?;
    if let Some(path) = &args.output {
        out::message(&format!("wrote {}", path.display()));
    }
    Ok(Status::Success)
}

fn write(reader: &mut Reader, args: &TraceConvert, output: &mut dyn Write) -> anyhow::Result<()> {
    let header = reader.header().cloned();
    match args.to {
        TraceFormat::Own => {
            let header = header.unwrap_or_else(TraceHeader::default);
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
            let mut writer = PerfettoWriter::new(output, header.as_ref());
            copy(reader, &args.input, &mut writer)?;
            writer.finish()?;
        }
        TraceFormat::Csv => {
            let mut writer = CsvIntervals::new(output);
            copy(reader, &args.input, &mut writer)?;
            writer.finish()?;
        }
    }
    Ok(())
}

fn check(args: &TraceCheck, global: &Global) -> anyhow::Result<Status> {
    let mut reader = open(&args.input, global)?;
    let mut checker = TraceChecker::new();
    let whole = copy(&mut reader, &args.input, &mut checker)?;
    let report = checker.finish();
    match args.json {
        true => out::json(&report_json(&report, whole))?,
        false => out::text(&report_text(&report))?,
    }
    Ok(Status::of_check(report.is_clean() && whole))
}

fn report_text(report: &CheckReport) -> String {
    let mut text = String::new();
    for f in &report.findings {
        text += &format!(
            "record {} at {} on {}: {}\n",
            f.record, f.at, f.pcpu, f.problem
        );
    }
    let unshown = report.total - report.findings.len() as u64;
    if unshown > 0 {
        text += &format!("and {unshown} more\n");
    }
    let CheckReport {
        records,
        lost_records,
        vcpus,
        pcpus,
        total,
        ..
    } = report;
    text + &format!(
        "{records} records of {vcpus} vcpus on {pcpus} pcpus, {lost_records} lost, \
         {total} findings\n"
    )
}

fn report_json(report: &CheckReport, whole: bool) -> serde_json::Value {
    let findings = report.findings.iter().map(|f| {
        json!({
            "record": f.record,
            "at_ns": f.at.as_nanos(),
            "pcpu": f.pcpu.0,
            "problem": f.problem.to_string(),
        })
    });
    json!({
        "clean": report.is_clean(),
        "truncated": !whole,
        "records": report.records,
        "lost_records": report.lost_records,
        "vcpus": report.vcpus,
        "pcpus": report.pcpus,
        "total": report.total,
        "findings": findings.collect::<Vec<_>>(),
    })
}
