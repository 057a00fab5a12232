//! Simulates a cell and measures it, from records alone.

use super::cell::PaperCell;
use super::figures::{self, DeclaredFigure, Tally};
use super::file::{Length, seconds};
use super::machines::Machine;
use super::seconds::Seconds;
use crate::registry::LabContext;
use crate::sample::Sample;
use domio_core::{DomainId, Duration, Instant, Kind, NullSink, Record, Sink};
use domio_meter::{Meter, Summary};
use domio_scenario::{Built, Model, NoReplay, Scenario};
use domio_sim::Outcome;
use domio_vmm::Simulation;
use domio_vmm::bus::{Assembly, Device};
use std::collections::BTreeSet;
use std::ops::Range;

/// How far a simulation goes on at a time while replies are waited for.
const STEP: Duration = Duration::from_millis(100);

/// A cell that can be simulated again and again.
pub struct Prepared {
    name: String,
    scenario: Scenario,
    figures: Vec<DeclaredFigure>,
    /// How long replies to requests of the measured time are waited for after it.
    patience: Duration,
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
            figures: figures::declared(cell, &built)?,
            patience: seconds(cell.suite.patience_s),
            scenario,
        })
    }

    /// Simulates replication `replication` and returns its figures.
    ///
    /// Round trips are those of the requests of the measured time. After its end the simulation
    /// goes on until the reply to a later request comes, for replies come in order; or until the
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
        let owners = self.figures.iter().any(DeclaredFigure::is_of_driver_work);
        let seen = match owners {
            true => self.simulate::<S, true>(&built, replication, sink)?,
            false => self.simulate::<S, false>(&built, replication, sink)?,
        };
        let mut sample = Sample::new();
        for figure in &self.figures {
            let noted = figure.note(&seen.summary, &seen.tally, &seen.seconds, &mut sample);
            noted.map_err(|why| format!("{}: {why}", self.name))?;
            figure.note_drawn(&seeded, replication, &mut sample);
        }
        Ok((sample, seen.sink))
    }

    fn simulate<S: Sink, const OWNERS: bool>(
        &self,
        built: &Built,
        replication: u32,
        sink: S,
    ) -> Result<Seen<S>, String> {
        let begin = Instant::ZERO + built.warmup;
        let asks = self.figures.iter().filter(|figure| figure.is_of_replies());
        let each_second = self.figures.iter().any(DeclaredFigure::is_of_each_second);
        let recorder: Recorder<S, OWNERS> = Recorder {
            phase: Phase::WarmUp,
            measured: begin..begin + built.duration,
            unanswered: asks.flat_map(DeclaredFigure::domains).collect(),
            meter: Meter::new(),
            seen: Tally::default(),
            seconds: each_second.then(|| Seconds::new(begin, begin + built.duration)),
            sink,
        };
        let (host, scheduler, seed) = (&built.host, built.scheduler(), built.seed);
        // Two kinds of simulation: a host without devices does not look for any.
        if built.devices.is_empty() {
            let simulation = Simulation::new(host, scheduler, recorder, seed, replication);
            return self.through(simulation);
        }
        let attach = |bus: &mut Assembly<'_, Model>| built.attach(bus, replication);
        let simulation =
            Simulation::with_devices(host, scheduler, attach, recorder, seed, replication);
        self.through(simulation)
    }

    /// Runs the warm-up, the measured time, and on while replies are missing.
    fn through<S: Sink, D: Device, const OWNERS: bool>(
        &self,
        mut simulation: Simulation<Recorder<S, OWNERS>, D>,
    ) -> Result<Seen<S>, String> {
        let Range { start: begin, end } = simulation.host_mut().sink_mut().measured.clone();
        let run_until = |until, simulation: &mut Simulation<_, D>| match simulation.run(until) {
            Outcome::Completed { .. } => Ok(()),
            other => Err(format!(
                "{}: {other}\n{}",
                self.name,
                simulation.host().dump()
            )),
        };
        simulation.host_mut().set_recording(false);
        run_until(begin, &mut simulation)?;
        simulation.host_mut().set_recording(true);
        simulation.host_mut().sink_mut().phase = Phase::Measuring;
        simulation.host_mut().mark(begin);
        run_until(end, &mut simulation)?;
        simulation.host_mut().mark(end);
        simulation.host_mut().sink_mut().phase = Phase::Waiting;
        let mut now = end;
        let waits = |simulation: &mut Simulation<Recorder<S, OWNERS>, D>| {
            !simulation.host_mut().sink_mut().unanswered.is_empty()
        };
        while now < end + self.patience && waits(&mut simulation) {
            now += STEP;
            run_until(now, &mut simulation)?;
        }
        let recorder = simulation.into_sink();
        Ok(Seen {
            summary: recorder.meter.finish_at(end),
            tally: recorder.seen,
            seconds: recorder.seconds.unwrap_or_default(),
            sink: recorder.sink,
        })
    }
}

/// What records are for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Nothing.
    WarmUp,
    /// All figures.
    Measuring,
    /// Replies to requests of the measured time.
    Waiting,
}

/// What the figures are made of, and the sink.
struct Seen<S> {
    summary: Summary,
    tally: Tally,
    seconds: Seconds,
    sink: S,
}

/// Takes what the figures are made of from the records; with `OWNERS` also for whom driver domains
/// work.
struct Recorder<S, const OWNERS: bool> {
    phase: Phase,
    measured: Range<Instant>,
    /// Pinged domains of which no request from after the measured time was answered yet, so that
    /// earlier ones may be.
    unanswered: BTreeSet<DomainId>,
    meter: Meter,
    seen: Tally,
    /// Where a figure asks for it.
    seconds: Option<Seconds>,
    sink: S,
}

impl<S: Sink, const OWNERS: bool> Sink for Recorder<S, OWNERS> {
    // No figure is made of these here.
    const STAGES: bool = S::STAGES;
    const OWNERS: bool = S::OWNERS || OWNERS;

    #[inline]
    fn record(&mut self, record: &Record) {
        match (self.phase, record.kind) {
            (Phase::WarmUp, _) => return,
            (_, Kind::NetReply) => self.reply(record),
            (Phase::Waiting, _) => {}
            (Phase::Measuring, Kind::NetDelivered) => self.seen.record(record),
            (Phase::Measuring, _) => {
                self.meter.record(record);
                self.seen.record(record);
            }
        }
        if self.phase == Phase::Measuring
            && let Some(seconds) = &mut self.seconds
        {
            seconds.record(record);
        }
        let wanted = S::OWNERS || record.kind != Kind::DriverWork;
        if S::ENABLED && wanted && self.phase == Phase::Measuring {
            self.sink.record(record);
        }
    }
}

impl<S, const OWNERS: bool> Recorder<S, OWNERS> {
    fn reply(&mut self, record: &Record) {
        let (sent, took) = figures::sent(record);
        if sent >= self.measured.end {
            self.unanswered.remove(&record.vcpu.domain);
        } else if sent >= self.measured.start {
            self.seen.reply(record, took);
        }
    }
}
