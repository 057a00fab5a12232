//! `domio mon`: XenMon. Who gets the processors, who waits and behind whom.
//!
//! [`source`] hands out records: of a trace, of one that still grows, of a simulated host. What is
//! made of them is in [`domio_monitor`].

mod serve;
mod source;
mod table;

use crate::args::{Global, Mon};
use crate::files::{FileKind, make_own_folder};
use crate::out::{self, Status};
use crate::shared::known;
use anyhow::bail;
use domio_core::{Duration, PcpuId};
use domio_meter::{Baked, HostPlaces, IntervalSample, Sampler, Totals};
use domio_monitor::feed::{Aggregate, Closing, Feed};
use domio_monitor::live::{self, LiveView, Records};
use domio_monitor::pace::PlaySpeed;
use domio_monitor::{DomainNames, lines, log, prometheus};
use source::Source;
use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::Path;

/// Milliseconds between lines of xenmon's logs, unless the user says otherwise.
const LOG_INTERVAL: u64 = 1000;

/// Reads, aggregates and shows.
pub fn run(args: &Mon, global: &Global) -> anyhow::Result<Status> {
    let is_scripted = args.once || args.listen.is_some();
    if args.interval.is_some() && args.log.is_none() && !args.json && !is_scripted {
        bail!(
            "--interval needs --log, --json, --once or --listen; give one of them, or \
             --ms-per-sample for the terminal"
        );
    }
    if let Some(prefix) = &args.log {
        return log(args, global, prefix);
    }
    if args.json {
        return json(args, global);
    }
    if let Some(address) = args.listen {
        return serve(args, global, address);
    }
    if args.live && args.prometheus && !args.once {
        bail!(
            "--live --prometheus needs --once, to print the sums of one interval, or --listen \
             ADDRESS, to serve the sums since the start"
        );
    }
    let is_live = !args.prometheus && !args.once && io::stdout().is_terminal();
    if args.speed.is_some() && !is_live {
        bail!(
            "--speed needs a terminal, --log or --json; without them the summary is printed \
             immediately"
        );
    }
    if is_live {
        let interval = match args.compatible {
            Some(_) => LOG_INTERVAL,
            None => args.ms_per_sample,
        };
        return live(args, global, aggregate(args, interval));
    }
    if !args.prometheus {
        out::knows(&known::of_mon())?;
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
    mut show: impl FnMut(&DomainNames, IntervalSample) -> anyhow::Result<()>,
) -> anyhow::Result<(DomainNames, Closing, Option<HostPlaces>)> {
    let source = Source::open(args, global, interval)?;
    is_there(args, source.last_pcpu())?;
    let names = source.names();
    let mut failed = None;
    let mut pcpus = BTreeSet::new();
    let mut pace = PlaySpeed::new(args.speed.and_then(|speed| speed.0));
    let places = source.places();
    let feed = Feed::new(aggregate(args, interval), |moment| {
        pace.wait(moment.short.start, moment.short.end);
        pcpus.extend(moment.short.pcpus());
        let shown = show(&names, part(args, moment.short));
        failed = shown.err();
        failed.is_none()
    });
    let told = source.feed(feed);
    if let Some(error) = failed {
        return Err(error);
    }
    let told = told?;
    pcpus.extend(told.total.pcpus());
    is_there(args, pcpus.last().copied())?;
    Ok((names, told, places))
}

/// Refuses a pcpu beyond `last`, the last one that anything is known of.
fn is_there(args: &Mon, last: Option<PcpuId>) -> anyhow::Result<()> {
    match (args.pcpu, last) {
        (Some(asked), Some(last)) if asked > last.0 => bail!(
            "--pcpu {asked}: {} has pcpus 0 to {}; name one of these",
            args.source,
            last.0
        ),
        _ => Ok(()),
    }
}

/// Says what the figures lack.
fn warn(args: &Mon, told: &Closing) {
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

/// Shows samples on the terminal until somebody quits.
fn live(args: &Mon, global: &Global, aggregate: Aggregate) -> anyhow::Result<Status> {
    let title = Path::new(&args.source).file_name();
    let title = title.map_or_else(|| args.source.clone(), |t| t.to_string_lossy().into_owned());
    let source = Source::open(args, global, args.ms_per_sample)?;
    is_there(args, source.last_pcpu())?;
    let view = LiveView {
        title,
        weight: args.send_weight,
        colour: anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never,
        compatible: args.compatible.is_some(),
        pcpu: args.pcpu.map(PcpuId),
        speed: args.speed.and_then(|speed| speed.0),
    };
    if let Some(told) = live::run(view, source, aggregate)? {
        warn(args, &told);
    }
    Ok(Status::Success)
}

fn log(args: &Mon, global: &Global, prefix: &Path) -> anyhow::Result<Status> {
    let interval = args.interval.unwrap_or(LOG_INTERVAL);
    let rows = match args.compatible {
        Some(_) => log::Rows::Running,
        None => log::Rows::All,
    };
    let mut inputs = source::files(args, &global.parts)?;
    // Whether a log may be overwritten is for the logs to say, all of them together.
    let guard = move |path: &Path| inputs.writes("--log", path, FileKind::Report).map(|_| ());
    if let Some(folder) = prefix.parent() {
        // Whoever writes there will hear why not.
        let _ = make_own_folder(folder);
    }
    let mut logs = log::Logs::new(prefix, args.force, rows, guard)?;
    let (_, told, _) = through(args, global, interval, |_, sample| logs.write(&sample))?;
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
    let (_, told, _) = through(args, global, interval, |names, sample| {
        lines::line(names, &sample, args.send_weight).write_line(&mut output)?;
        writeln!(output)?;
        if args.follow || args.live {
            output.flush()?;
        }
        Ok(())
    })?;
    output.flush()?;
    warn(args, &told);
    Ok(Status::Success)
}

/// Serves the sums since the start, until interrupted.
fn serve(args: &Mon, global: &Global, address: SocketAddr) -> anyhow::Result<Status> {
    let (served, address) = serve::Served::at(address)?;
    out::message(&format!("serving http://{address}/metrics"));
    let interval = args.interval.unwrap_or(LOG_INTERVAL);
    let mut totals = Totals::default();
    let (_, told, _) = through(args, global, interval, |names, sample| {
        totals.add(&sample);
        served.set(prometheus::text(names, &totals.sample(), args.send_weight));
        Ok(())
    })?;
    warn(args, &told);
    Ok(Status::Success)
}

/// Prints the sums of the whole trace.
fn whole(args: &Mon, global: &Global) -> anyhow::Result<Status> {
    let interval = args.interval.unwrap_or(LOG_INTERVAL);
    let (names, mut told, places) = through(args, global, interval, |_, _| Ok(()))?;
    let total = part(args, std::mem::take(&mut told.total));
    warn(args, &told);
    let weight = args.send_weight;
    let text = match args.prometheus {
        true => prometheus::text(&names, &total, weight),
        false => table::render(&names, &total, weight, places.as_ref(), out::view()),
    };
    out::text(&text)?;
    Ok(Status::Success)
}
