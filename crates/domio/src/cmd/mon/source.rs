//! Where records come from: a trace, a trace that still grows, a simulated host.

mod growing;
#[cfg(all(feature = "record", target_os = "linux"))]
mod live;

use crate::args::{Global, How, Mon};
use crate::files::Files;
use crate::input::{self, Stream};
use crate::interrupt;
use crate::out;
use crate::progress::reading;
use crate::shared::host;
use anyhow::{Context, bail};
use domio_core::{DomainId, PcpuId, Sink};
use domio_front::{hosts, scenarios, trace_file};
use domio_meter::HostPlaces;
use domio_monitor::DomainNames;
use domio_monitor::feed::{Closing, Feed, IntervalEnd};
use domio_monitor::live::Records;
use domio_run::{residence, simulate};
use domio_scenario::{Built, Parts, Scenario};
use domio_trace::order::ADVICE;
use domio_trace::{Format, TraceError, TraceHeader, TraceReader};
use growing::Growing;
use indicatif::ProgressBarIter;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What records come from.
pub enum Source {
    /// A file that is whole.
    Trace(Trace<ProgressBarIter<Stream>>),
    /// A file that grows.
    Growing(Trace<Growing>),
    /// A host to simulate.
    Host(Box<(Scenario, Built)>),
    /// This machine.
    #[cfg(all(feature = "record", target_os = "linux"))]
    Live(Box<live::LiveSource>),
}

/// A trace that is being read.
pub struct Trace<R> {
    reader: TraceReader<R>,
    /// What domains and threads are called, as far as it was read.
    names: DomainNames,
    /// Domains of the header whose names are among these.
    domains: usize,
    name: String,
}

impl Source {
    /// Opens the trace, builds the host, or switches recording on. `interval` is that of samples in
    /// milliseconds.
    ///
    /// # Errors
    /// When there is nothing of these, or what cannot be used.
    pub fn open(args: &Mon, global: &Global, interval: u64) -> anyhow::Result<Self> {
        if args.live {
            #[cfg(all(feature = "record", target_os = "linux"))]
            return Ok(Source::Live(Box::new(live::LiveSource::open(
                args, interval,
            )?)));
            #[cfg(not(all(feature = "record", target_os = "linux")))]
            {
                let _ = interval;
                return Err(crate::cmd::record::cannot("domio mon --live"));
            }
        }
        if !args.follow && !is_trace(&args.source) {
            if let Some(option) = args.linux.given() {
                bail!(
                    "{option} is of a trace of Linux, and {} is a scenario; leave it out",
                    args.source
                );
            }
            if args.cpu_hz.is_some() {
                bail!(
                    "--cpu-hz is of a trace, and {} is a scenario, whose clock is known; leave it \
                     out",
                    args.source
                );
            }
            let how = How {
                seed: args.seed,
                replications: 1,
                set: args.set.clone(),
            };
            let scenario = host::load(&args.source, &how, args.policy.as_deref(), &global.parts)?;
            let built = hosts::build(&scenario)?;
            built.notices.iter().for_each(|notice| out::notice(notice));
            return Ok(Source::Host(Box::new((scenario, built))));
        }
        if !args.set.is_empty() || args.seed.is_some() || args.policy.is_some() {
            bail!(
                "{} is a trace, of which --set, --seed and --policy change nothing; give a \
                 scenario, or leave them out",
                args.source
            );
        }
        let path = Path::new(&args.source);
        let name = input::name(path);
        let context = || format!("cannot read the trace {name}");
        let file = input::trace(path).with_context(context)?;
        let how = args.linux.how(args.cpu_hz);
        let options = how.options(path, &global.parts, &out::message)?;
        if args.follow {
            if file.format() == Some(Format::Linux) {
                bail!(
                    "{name} is a recording of Linux, which is whole when its recorder has ended; \
                     leave out --follow"
                );
            }
            if let Some(packing) = file.packing() {
                bail!(
                    "{name} is a {}, which is whole or of no use; leave out --follow",
                    packing.name()
                );
            }
            interrupt::ends_input();
            let file = Growing::new(file, args.until_idle.map(Duration::from_secs));
            let reader = TraceReader::new(file, &options).with_context(context)?;
            how.has_effect(reader.format(), &name)?;
            return Ok(Source::Growing(Trace::new(reader, name)));
        }
        let watched = |file| reading(global, file);
        let reader = trace_file::reader(path, file, &options, watched).with_context(context)?;
        how.has_effect(reader.format(), &name)?;
        Ok(Source::Trace(Trace::new(reader, name)))
    }
}

impl Source {
    /// The pcpus of a host that is simulated.
    pub fn places(&self) -> Option<HostPlaces> {
        match self {
            Source::Trace(_) | Source::Growing(_) => None,
            Source::Host(host) => Some(residence::places(&host.1)),
            #[cfg(all(feature = "record", target_os = "linux"))]
            Source::Live(_) => None,
        }
    }

    /// The last pcpu, where that is known before the records are.
    pub fn last_pcpu(&self) -> Option<PcpuId> {
        match self {
            Source::Trace(_) | Source::Growing(_) => None,
            Source::Host(host) => host.1.host.topology.all().iter().last(),
            #[cfg(all(feature = "record", target_os = "linux"))]
            Source::Live(_) => None,
        }
    }
}

impl Records for Source {
    fn names(&self) -> DomainNames {
        match self {
            Source::Trace(trace) => trace.names(),
            Source::Growing(trace) => trace.names(),
            Source::Host(host) => DomainNames::new(simulate::domains(&host.1)),
            #[cfg(all(feature = "record", target_os = "linux"))]
            Source::Live(live) => live.names(),
        }
    }

    fn feed<F: FnMut(IntervalEnd) -> bool>(self, feed: Feed<F>) -> anyhow::Result<Closing> {
        match self {
            Source::Trace(trace) => trace.run(feed, false),
            Source::Growing(trace) => trace.run(feed, true),
            #[cfg(all(feature = "record", target_os = "linux"))]
            Source::Live(live) => live.feed(feed),
            Source::Host(host) => {
                let (scenario, built) = *host;
                let built = hosts::of_replication(&scenario, &built, 0);
                let built = built.map_err(|fault| hosts::failed(&fault))?;
                let simulated = simulate::simulate(&built, 0, feed);
                let feed = simulated.map_err(|fault| hosts::failed(&fault))?.sink;
                Ok(feed.finish())
            }
        }
    }
}

impl<R: Read> Trace<R> {
    fn new(reader: TraceReader<R>, name: String) -> Self {
        let names = DomainNames::default();
        names.add(reader.header().into_iter().flat_map(TraceHeader::names));
        names.add_threads(reader.threads());
        Trace {
            domains: reader.header().map_or(0, |header| header.domains.len()),
            reader,
            names,
            name,
        }
    }

    fn names(&self) -> DomainNames {
        self.names.clone()
    }

    /// Hands the records to `feed` until nobody wants more. Names of a Linux trace come as it is
    /// read, before the records that need them.
    fn hand_out<F: FnMut(IntervalEnd) -> bool>(
        &mut self,
        feed: &mut Feed<F>,
    ) -> Result<(), TraceError> {
        while !feed.stopped() {
            let Some(record) = self.reader.next_record()? else {
                break;
            };
            if let Some(threads) = self.reader.take_news() {
                let domains = self
                    .reader
                    .header()
                    .map_or(&[][..], |header| &header.domains);
                let new = domains.iter().skip(self.domains);
                self.names
                    .add(new.map(|domain| (DomainId(domain.id), domain.name.clone())));
                self.domains = domains.len();
                self.names.add_threads(threads);
            }
            feed.record(self.reader.names(), &record);
        }
        Ok(())
    }

    /// As [`Records::feed`]. Of a file that grows nobody expects that its last record is whole.
    fn run<F: FnMut(IntervalEnd) -> bool>(
        mut self,
        mut feed: Feed<F>,
        grows: bool,
    ) -> anyhow::Result<Closing> {
        let mut notes = Vec::new();
        let read = self.hand_out(&mut feed);
        let name = &self.name;
        match read {
            Ok(()) => {}
            Err(error) if error.is_truncation() && (grows || error.records > 0) => {
                if !grows {
                    notes.push(format!("warning: {name}: {error}; using what is there"));
                }
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read the trace {name}"));
            }
        }
        notes.extend(
            self.reader
                .notes()
                .into_iter()
                .map(|note| format!("note: {name}: {note}")),
        );
        if let Some(skipped) = self.reader.skipped() {
            notes.push(format!("warning: {name}: {skipped}"));
        }
        let late = self.reader.merge_stats().late;
        if late > 0 {
            notes.push(format!(
                "warning: {name}: {late} records are earlier than the ones before them; {ADVICE}"
            ));
        }
        let mut told = feed.finish();
        told.notes = notes;
        Ok(told)
    }
}

/// The files that the command reads.
///
/// # Errors
/// When the scenario cannot be read.
pub fn files(args: &Mon, parts: &Parts) -> anyhow::Result<Files> {
    if args.live {
        return Ok(Files::reading([]));
    }
    let path = PathBuf::from(&args.source);
    if input::is_stdin(&path) {
        return Ok(Files::reading([]));
    }
    if args.follow || is_trace(&args.source) {
        return Ok(Files::reading([("the trace", path)]));
    }
    Ok(host::files(&scenarios::load(&args.source, parts)?))
}

/// Whether `source` is a trace: standard input, a pipe, or a file that begins as traces do.
fn is_trace(source: &str) -> bool {
    let path = Path::new(source);
    let is_pipe = path.exists() && !path.is_file() && !path.is_dir();
    input::is_stdin(path) || is_pipe || input::is_trace(path)
}
