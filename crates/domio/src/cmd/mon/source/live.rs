//! This machine, as it runs.

use crate::args::Mon;
use crate::cmd::record::live::start;
use crate::interrupt;
use domio_core::Sink;
use domio_monitor::DomainNames;
use domio_monitor::feed::{Closing, Feed, IntervalEnd};
use domio_record::{LiveOptions, LiveRecords, rights};
use std::time::{Duration, Instant};

/// Records of this machine.
pub struct LiveSource {
    records: LiveRecords,
    names: DomainNames,
    /// How long to take them; `None` until interrupted.
    length: Option<Duration>,
}

impl LiveSource {
    /// Switches recording on.
    ///
    /// # Errors
    /// When that is not allowed: what is missing, and what to do.
    pub fn open(args: &Mon, interval: u64) -> anyhow::Result<Self> {
        rights::reduce()?;
        let records = start(
            &LiveOptions::default(),
            args.linux.guests.groups.clone(),
            &[],
        )?;
        Ok(LiveSource {
            records,
            names: DomainNames::default(),
            length: args.once.then(|| Duration::from_millis(interval)),
        })
    }

    /// What groups of threads are called, as far as they were seen.
    pub fn names(&self) -> DomainNames {
        self.names.clone()
    }

    /// Feeds records until nobody wants more, the time is over, or an interrupt comes.
    ///
    /// # Errors
    /// When the kernel's buffer cannot be read.
    pub fn feed<F: FnMut(IntervalEnd) -> bool>(self, mut feed: Feed<F>) -> anyhow::Result<Closing> {
        let LiveSource {
            mut records,
            names: called,
            length,
        } = self;
        let (since, mut groups, mut actors) = (Instant::now(), 0, 0);
        let is_over = || length.is_some_and(|length| since.elapsed() >= length);
        while !feed.stopped() && !is_over() && !interrupt::has_ended_input() {
            records.round(&mut |names, record| feed.record(names, record))?;
            if records.groups() != groups {
                groups = records.groups();
                called.add(records.domains());
            }
            if records.actors() != actors {
                actors = records.actors();
                called.add_threads(records.thread_names());
            }
        }
        let recorded = records.finish(&mut |names, record| feed.record(names, record))?;
        called.add(recorded.header.names());
        called.add_threads(recorded.header.thread_names());
        let lost: u64 = recorded.ended.lost.values().sum();
        let mut told = feed.finish();
        if lost > 0 {
            told.notes.push(format!(
                "warning: {lost} events were lost, as the kernel's buffer was full"
            ));
        }
        Ok(told)
    }
}
