//! `domio mon`: XenMon. Who gets the processors, who waits and behind whom.
//!
//! Three parts, as Gupta et al. 2006 have them. [`source`] hands out records: of a trace, of one
//! that still grows, of a simulated host. [`feed`] makes samples of them. The others show samples:
//! [`mod@log`] in xenmon's own files, [`lines`] as JSON, [`prometheus`], [`table`], and [`live`] on
//! a terminal.

mod feed;
mod history;
mod lines;
mod live;
mod log;
mod names;
mod prometheus;
mod screen;
mod source;
mod table;

use crate::args::{Global, Mon};
use crate::out::{self, Status};
use domio_core::{Duration, PcpuId};
use domio_meter::{Baked, IntervalSample, Sampler};
use feed::{Aggregate, Feed, Told};
use names::Names;
use source::Source;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Milliseconds between lines of xenmon's logs, unless the user says otherwise.
const LOG_INTERVAL: u64 = 1000;

/// Reads, aggregates and shows.
pub fn run(args: &Mon, global: &Global) -> anyhow::Result<Status> {
    if let Some(prefix) = &args.log {
        return log(args, global, prefix);
    }
    if args.json {
        return json(args, global);
    }
    if !args.prometheus && io::stdout().is_terminal() {
        let interval = match args.compatible {
            Some(_) => LOG_INTERVAL,
            None => args.ms_per_sample,
        };
        return live::run(args, global, aggregate(args, interval));
    }
    whole(args, global)
}

/// The samples that are asked for, every `interval`.
fn aggregate(args: &Mon, interval: u64) -> Aggregate {
    let ms = Duration::from_millis;
    match args.compatible {
        Some(release) => Aggregate::Compatible(Box::new(Baked::new(
            ms(args.ms_per_sample),
            ms(interval),
            release.payload(),
        ))),
        None => Aggregate::Mended(Box::new(Sampler::new(ms(interval)))),
    }
}

/// The part of a sample that is asked for.
fn part(args: &Mon, sample: IntervalSample) -> IntervalSample {
    match args.pcpu {
        Some(pcpu) => sample.on(PcpuId(pcpu)),
        None => sample,
    }
}

/// Feeds all records of what the command line names. `show` gets each sample with the names of
/// domains; what it fails with ends the command.
fn through(
    args: &Mon,
    global: &Global,
    interval: u64,
    mut show: impl FnMut(&Names, IntervalSample) -> anyhow::Result<()>,
) -> anyhow::Result<(Names, Told)> {
    let source = Source::open(args, global)?;
    let names = source.names();
    let mut failed = None;
    let feed = Feed::new(aggregate(args, interval), |moment| {
        let shown = show(&names, part(args, moment.short));
        failed = shown.err();
        failed.is_none()
    });
    let told = source.run(feed);
    match failed {
        Some(error) => Err(error),
        None => Ok((names, told?)),
    }
}

/// Says what the figures lack.
fn warn(args: &Mon, told: &Told) {
    for note in &told.notes {
        out::message(note);
    }
    if told.no_runstates && args.compatible.is_none() {
        let records = told.records;
        out::message(&format!(
            "warning: {}: {records} records, but none of runstates, so there are no figures; \
             record with `xentrace -e 0x0002f000`, or use --compatible, which needs switches only",
            args.source
        ));
    }
}

fn log(args: &Mon, global: &Global, prefix: &Path) -> anyhow::Result<Status> {
    let interval = args.interval.unwrap_or(LOG_INTERVAL);
    let rows = match args.compatible {
        Some(_) => log::Rows::Running,
        None => log::Rows::All,
    };
    let mut logs = log::Logs::new(prefix, args.force, rows, source::files(args)?)?;
    let (_, told) = through(args, global, interval, |_, sample| logs.write(&sample))?;
    warn(args, &told);
    out::message(&logs.finish()?);
    Ok(Status::Success)
}

fn json(args: &Mon, global: &Global) -> anyhow::Result<Status> {
    let interval = match args.compatible {
        // Windows of xenbaked's samples, which end when they like.
        Some(_) => LOG_INTERVAL,
        None => args.ms_per_sample,
    };
    let mut output = io::BufWriter::new(io::stdout().lock());
    let interval = args.interval.unwrap_or(interval);
    let (_, told) = through(args, global, interval, |names, sample| {
        serde_json::to_writer(&mut output, &lines::line(names, &sample, args.send_weight))?;
        writeln!(output)?;
        if args.follow {
            output.flush()?;
        }
        Ok(())
    })?;
    output.flush()?;
    warn(args, &told);
    Ok(Status::Success)
}

/// Prints the sums of the whole trace.
fn whole(args: &Mon, global: &Global) -> anyhow::Result<Status> {
    let (names, mut told) = through(args, global, LOG_INTERVAL, |_, _| Ok(()))?;
    let total = part(args, std::mem::take(&mut told.total));
    warn(args, &told);
    let weight = args.send_weight;
    let text = match args.prometheus {
        true => prometheus::text(&names, &total, weight),
        false => table::render(&names, &total, weight, out::view()),
    };
    out::text(&text)?;
    Ok(Status::Success)
}
