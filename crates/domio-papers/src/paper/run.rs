//! Simulates a cell and measures it, from records alone.

use super::boosts::Boosts;
use super::cell::PaperCell;
use super::file::{Length, seconds};
use super::machines::Machine;
use super::measures::{self, DeclaredMeasure, Seen, Stretch, Tally};
use crate::registry::LabContext;
use domio_core::{ClassId, DomainId, Duration, Instant, Names, NullSink, Record, Sink};
use domio_meter::Meter;
use domio_net::class::{DELIVERED, ROUND_TRIP};
use domio_run::measure::Measures;
use domio_run::{Replication, RunFault, Sample};
use domio_scenario::{Built, NoReplay, Scenario};
use std::collections::BTreeSet;
use std::ops::Range;

/// How far a simulation continues at a time while replies are waited for.
const STEP: Duration = Duration::from_millis(100);

/// A cell that can be simulated again and again.
pub struct Prepared {
    name: String,
    scenario: Scenario,
    figures: Vec<DeclaredMeasure>,
    /// How long replies to requests of the measured time are waited for after it.
    patience: Duration,
    /// Length of the intervals of figures over time.
    every: Option<Duration>,
}

impl Prepared {
    /// The cell of length `length` on `machine`.
    ///
    /// # Errors
    /// When the paper's files do not say a scenario or its figures.
    pub fn new(cell: &PaperCell<'_>, length: Length, machine: &Machine) -> Result<Self, String> {
        let scenario = cell.scenario(length, machine)?;
        let built = scenario.build(&NoReplay).map_err(|e| e.to_string())?;
        Ok(Prepared {
            name: cell.path(),
            figures: measures::declared(cell, &Measures::from(scenario.parts()), &built)?,
            patience: seconds(cell.suite.patience_s),
            every: interval(cell)?,
            scenario,
        })
    }

    /// Simulates replication `replication` and returns its figures.
    ///
    /// Round trips are those of the requests of the measured time. After its end the simulation
    /// continues until the reply to a later request comes, for replies come in order; or until the
    /// suite's patience ends.
    ///
    /// # Errors
    /// When the simulation did not get to its end, with the state in which it stopped.
    pub fn run(&self, cx: &LabContext, replication: u32) -> Result<Sample, String> {
        self.run_into(cx, replication, NullSink)
            .map(|(sample, _)| sample)
    }

    /// As [`Prepared::run`]; `sink` gets the records of the measured time.
    ///
    /// # Errors
    /// As [`Prepared::run`].
    pub fn run_into<S: Sink>(
        &self,
        cx: &LabContext,
        replication: u32,
        sink: S,
    ) -> Result<(Sample, S), String> {
        let seed = cx.seed.to_string();
        let seeded = self
            .scenario
            .with(&[("seed", &seed)])
            .map_err(|e| e.to_string())?;
        let drawn = seeded.replication(replication).map_err(|e| e.to_string())?;
        let built = drawn.build(&NoReplay).map_err(|e| e.to_string())?;
        // Two kinds of recorder: records of packets and of whose work it is take time.
        let (seen, sink) = match self.figures.iter().any(DeclaredMeasure::is_of_traffic) {
            false => self
                .simulate::<S, false>(&built, replication, sink)?
                .finish(),
            true => self
                .simulate::<S, true>(&built, replication, sink)?
                .finish(),
        };
        let mut sample = Sample::new();
        for figure in &self.figures {
            let noted = figure.note(&seen, &mut sample);
            noted.map_err(|why| format!("{}: {why}", self.name))?;
            figure.note_drawn(&seeded, replication, &mut sample);
        }
        Ok((sample, sink))
    }

    fn simulate<S: Sink, const TRAFFIC: bool>(
        &self,
        built: &Built,
        replication: u32,
        sink: S,
    ) -> Result<Recorder<S, TRAFFIC>, String> {
        let begin = Instant::ZERO + built.warmup;
        let asks = self.figures.iter().filter(|figure| figure.is_of_replies());
        let books = || Books {
            boosts: self
                .figures
                .iter()
                .any(DeclaredMeasure::is_of_boosts)
                .then(Boosts::default),
            ..Books::default()
        };
        let recorder = Recorder {
            phase: Phase::WarmUp,
            measured: begin..begin + built.duration,
            unanswered: asks.flat_map(DeclaredMeasure::domains).collect(),
            whole: books(),
            now: self.every.map(|_| books()),
            stretches: Vec::new(),
            sink,
        };
        let mut run = Replication::new(built, replication, recorder);
        self.through(&mut run).map_err(|fault| {
            let RunFault { why, dump, .. } = fault;
            format!("{}: {why}\n{dump}", self.name)
        })?;
        Ok(run.into_sink())
    }

    /// Runs the warm-up, the measured time, and on while replies are missing.
    fn through<S: Sink, const TRAFFIC: bool>(
        &self,
        run: &mut Replication<'_, Recorder<S, TRAFFIC>>,
    ) -> Result<(), RunFault> {
        let Range { start: begin, end } = run.sink_mut().measured.clone();
        // Where vcpus ran last, and which have a boost, is known from records alone.
        let boosts = run.sink_mut().whole.boosts.is_some();
        run.set_recording(boosts);
        run.until(begin)?;
        run.set_recording(true);
        run.sink_mut().begin();
        run.mark(begin);
        let mut from = begin;
        while let Some(to) = self.every.map(|every| from + every).filter(|to| *to <= end) {
            run.until(to)?;
            run.mark(to);
            run.sink_mut().cut(to);
            // The next interval begins with what everybody is at.
            run.mark(to);
            from = to;
        }
        run.until(end)?;
        run.mark(end);
        run.sink_mut().phase = Phase::Waiting;
        let mut now = end;
        while now < end + self.patience && !run.sink_mut().unanswered.is_empty() {
            now += STEP;
            run.until(now)?;
        }
        Ok(())
    }
}

/// What records are for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Where vcpus are, and which have a boost.
    WarmUp,
    /// All figures.
    Measuring,
    /// Replies to requests of the measured time.
    Waiting,
}

/// The interval of figures over time of `cell`'s suite.
fn interval(cell: &PaperCell<'_>) -> Result<Option<Duration>, String> {
    match cell.suite.every_ms {
        Some(0) => Err(format!(
            "suite {}: every_ms is 0; expected at least 1",
            cell.suite.name
        )),
        every => Ok(every.map(Duration::from_millis)),
    }
}

/// What figures are made of, of a stretch of time.
#[derive(Default)]
struct Books {
    meter: Meter,
    tally: Tally,
    /// None unless a figure is made of them.
    boosts: Option<Boosts>,
}

impl Books {
    /// Books for the time that follows.
    fn next(&self) -> Books {
        Books {
            boosts: self.boosts.as_ref().map(Boosts::next),
            ..Books::default()
        }
    }

    #[inline]
    fn record(&mut self, names: &Names, record: &Record) {
        // The tally has what processes read.
        if adds(names, record, &DELIVERED).is_none() {
            self.meter.record(names, record);
        }
        self.tally.record(names, record);
        if let Some(boosts) = &mut self.boosts {
            boosts.record(names, record);
        }
    }

    fn finish(self, end: Instant) -> Stretch {
        Stretch {
            summary: self.meter.finish_at(end),
            tally: self.tally,
            boosts: self.boosts.unwrap_or_default(),
        }
    }
}

/// What `record` of a device adds to `tally` of its domain, if it adds anything.
#[inline]
fn adds(names: &Names, record: &Record, tally: &domio_core::Tally) -> Option<u64> {
    if record.class == ClassId::COMMON {
        return None;
    }
    measures::added(names.declared(record)?, record, tally)
}

/// Takes what the figures are made of from the records; with `TRAFFIC` what driver domains do, too.
struct Recorder<S, const TRAFFIC: bool> {
    phase: Phase,
    measured: Range<Instant>,
    /// Pinged domains of which no request from after the measured time was answered yet, so that
    /// earlier ones may be.
    unanswered: BTreeSet<DomainId>,
    /// Of the measured time.
    whole: Books,
    /// Of the interval under way.
    now: Option<Books>,
    /// Intervals that are over.
    stretches: Vec<Stretch>,
    sink: S,
}

impl<S: Sink, const TRAFFIC: bool> Sink for Recorder<S, TRAFFIC> {
    const STAGES: bool = S::STAGES || TRAFFIC;
    const OWNERS: bool = S::OWNERS || TRAFFIC;

    #[inline]
    fn record(&mut self, names: &Names, record: &Record) {
        if self.phase == Phase::WarmUp {
            if let Some(boosts) = &mut self.whole.boosts {
                boosts.record(names, record);
            }
            return;
        }
        if let Some(took) = adds(names, record, &ROUND_TRIP) {
            self.reply(names, record, took);
        } else if self.phase == Phase::Measuring {
            self.whole.record(names, record);
            if let Some(now) = &mut self.now {
                now.record(names, record);
            }
        }
        if S::ENABLED && self.phase == Phase::Measuring {
            self.sink.record(names, record);
        }
    }
}

impl<S, const TRAFFIC: bool> Recorder<S, TRAFFIC> {
    /// The warm-up is over.
    fn begin(&mut self) {
        self.phase = Phase::Measuring;
        self.whole = self.whole.next();
        self.now = self.now.as_ref().map(|_| self.whole.next());
    }

    /// An interval ends.
    fn cut(&mut self, at: Instant) {
        let next = self.now.as_ref().map(Books::next);
        let over = std::mem::replace(&mut self.now, next);
        self.stretches.extend(over.map(|books| books.finish(at)));
    }

    fn finish(self) -> (Seen, S) {
        let seen = Seen {
            whole: self.whole.finish(self.measured.end),
            stretches: self.stretches,
        };
        (seen, self.sink)
    }

    /// A ping is answered whose request left `took` nanoseconds before.
    fn reply(&mut self, names: &Names, record: &Record, took: u64) {
        let Some(vcpu) = names.vcpu(record.actor) else {
            return;
        };
        let sent = record.at - Duration::from_nanos(took);
        if sent >= self.measured.end {
            self.unanswered.remove(&vcpu.domain);
        } else if sent >= self.measured.start {
            self.whole.tally.reply(vcpu.domain, took);
        }
    }
}
