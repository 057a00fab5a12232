//! Simulates a cell and measures it, from records alone.

use super::cell::Cell;
use super::host::{self, Built, DOM0};
use super::settings::Settings;
use super::suite::Role;
use crate::registry::LabContext;
use crate::replicate::reached;
use crate::sample::Sample;
use crate::simulate::{steps, thousandths};
use crate::stats;
use domio_core::{DomainId, Duration, Instant, Kind, Record, Sink};
use domio_meter::{Meter, Summary};
use domio_net::host::Network;
use domio_sim::Outcome;
use domio_trace::{DomainInfo, TraceHeader};
use domio_vmm::Simulation;
use std::ops::Range;

/// Round trips in a sample, one by one: those that figure 4 shows.
pub const PINGS_SHOWN: usize = 90;
/// Name of their list in a sample.
pub const PINGS: &str = "ping.first_ms";
/// How far a simulation goes on at a time while replies are waited for.
const STEP: Duration = Duration::from_millis(100);

/// Simulates replication `replication` of `cell` and returns its figures. `sink` gets the records
/// of the measured time.
///
/// Round trips are those of the requests of the measured time. After its end the simulation goes on
/// until the reply to a later request comes, for replies come in order; or until
/// [`Settings::patience`] ends.
///
/// Figures: `guestN.share_pct` for all guests and `dom0.share_pct`; `guestN.rate_mbps` for those
/// that stream, with `streams.average_mbps`, `.lowest_mbps`, `.highest_mbps` and `.spread_mbps`,
/// the highest less the lowest; `burn.average_pct` and `.spread_pct` of those that burn;
/// `ping.replies`, and if there are any, `ping.mean_ms`, `.deviation_ms`, `.p50_ms`, `.p95_ms`,
/// `.max_ms` and the list [`PINGS`].
///
/// # Errors
/// When the simulation did not get to its end, with the state in which it stopped.
pub fn run<S: Sink>(
    cell: Cell,
    settings: &Settings,
    cx: &LabContext,
    replication: u32,
    sink: S,
) -> Result<(Sample, S), String> {
    let built = host::build(cell, settings, cx, replication)?;
    let begin = Instant::ZERO + settings.warmup(cell.test);
    let end = begin + settings.measured(cell.test);
    let recorder = Recorder {
        phase: Phase::WarmUp,
        measured: begin..end,
        all_answered: false,
        meter: Meter::new(),
        bytes: Vec::new(),
        round_trips: Vec::new(),
        sink,
    };
    let Built {
        host,
        network,
        policy,
        params,
    } = &built;
    let mut simulation = Simulation::with_device(
        host,
        (policy.make)(params, &host.topology),
        |attach| Network::new(network, attach, cx.seed, replication),
        recorder,
        cx.seed,
        replication,
    );
    let run_until = |until, simulation: &mut Simulation<_, _>| match simulation.run(until) {
        Outcome::Completed { .. } => {
            reached(thousandths(until, end));
            Ok(())
        }
        other => Err(format!("{cell}: {other}\n{}", simulation.host().dump())),
    };
    simulation.host_mut().set_recording(false);
    for step in steps(Instant::ZERO, begin, end) {
        run_until(step, &mut simulation)?;
    }
    simulation.host_mut().set_recording(true);
    simulation.host_mut().sink_mut().phase = Phase::Measuring;
    simulation.host_mut().mark(begin);
    for step in steps(begin, end, end) {
        run_until(step, &mut simulation)?;
    }
    simulation.host_mut().mark(end);
    if cell.test.has(Role::answers) {
        simulation.host_mut().sink_mut().phase = Phase::Waiting;
        let mut now = end;
        while now < end + settings.patience && !simulation.host_mut().sink_mut().all_answered {
            now += STEP;
            run_until(now, &mut simulation)?;
        }
    }
    let recorder = simulation.into_sink();
    let summary = recorder.meter.finish_at(end);
    let mut sample = Sample::new();
    shares(cell, &summary, &mut sample);
    streams(cell, &summary, &recorder.bytes, &mut sample);
    pings(cell, &recorder.round_trips, &mut sample);
    Ok((sample, recorder.sink))
}

/// The header of a trace of a cell.
///
/// # Errors
/// As [`host::build`].
pub fn trace_header(
    cell: Cell,
    settings: &Settings,
    cx: &LabContext,
    replication: u32,
) -> Result<TraceHeader, String> {
    let built = host::build(cell, settings, cx, replication)?;
    let domains = built.host.domains.iter().map(|d| DomainInfo {
        id: d.id.0,
        name: d.name.clone(),
        vcpus: d.vcpus.len() as u32,
        ..DomainInfo::default()
    });
    Ok(TraceHeader {
        scenario: cell.experiment(),
        seed: cx.seed,
        replication: u64::from(replication),
        policy: built.policy.descriptor.name.to_owned(),
        pcpus: built.host.topology.pcpus() as u32,
        domains: domains.collect(),
        ..TraceHeader::default()
    })
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

/// Takes what the figures are made of from the records.
struct Recorder<S> {
    phase: Phase,
    measured: Range<Instant>,
    /// Whether a request from after the measured time was answered, and thus all before that will
    /// ever be.
    all_answered: bool,
    meter: Meter,
    /// Delivered to each domain.
    bytes: Vec<u64>,
    /// In nanoseconds.
    round_trips: Vec<u64>,
    sink: S,
}

impl<S: Sink> Sink for Recorder<S> {
    // No figure is made of these here.
    const STAGES: bool = S::STAGES;
    const OWNERS: bool = S::OWNERS;

    #[inline]
    fn record(&mut self, record: &Record) {
        let [_, _, low, high] = record.data;
        let value = u64::from(high) << 32 | u64::from(low);
        match (self.phase, record.kind) {
            (Phase::WarmUp, _) => return,
            (_, Kind::NetReply) => self.reply(record.at, value),
            (Phase::Waiting, _) => {}
            (Phase::Measuring, Kind::NetDelivered) => {
                let domain = record.vcpu.domain.index();
                if self.bytes.len() <= domain {
                    self.bytes.resize(domain + 1, 0);
                }
                self.bytes[domain] += value;
            }
            (Phase::Measuring, _) => self.meter.record(record),
        }
        if S::ENABLED && self.phase == Phase::Measuring {
            self.sink.record(record);
        }
    }
}

impl<S> Recorder<S> {
    /// A reply came at `at`, `took` nanoseconds after its request.
    fn reply(&mut self, at: Instant, took: u64) {
        let sent = at - Duration::from_nanos(took);
        if sent >= self.measured.end {
            self.all_answered = true;
        } else if sent >= self.measured.start {
            self.round_trips.push(took);
        }
    }
}

fn shares(cell: Cell, summary: &Summary, sample: &mut Sample) {
    let share = |id: DomainId| {
        let used = summary.domain(id).map_or(0, |d| d.total.running);
        summary.percent(used)
    };
    sample.set("dom0.share_pct", share(DOM0));
    for number in cell.test.guests(|_| true) {
        sample.set(&format!("guest{number}.share_pct"), share(DomainId(number)));
    }
    let burning = cell.test.guests(Role::burns);
    let burning: Vec<f64> = burning.map(|n| share(DomainId(n))).collect();
    if let (Some(average), Some(spread)) = (stats::mean(&burning), stats::spread(&burning)) {
        sample.set("burn.average_pct", average);
        sample.set("burn.spread_pct", spread);
    }
}

fn streams(cell: Cell, summary: &Summary, bytes: &[u64], sample: &mut Sample) {
    let mut rates = Vec::new();
    for number in cell.test.guests(Role::streams) {
        let bytes = bytes.get(usize::from(number)).copied().unwrap_or(0);
        let rate = summary.per_second(bytes) * 8.0 / 1e6;
        sample.set(&format!("guest{number}.rate_mbps"), rate);
        rates.push(rate);
    }
    let (Some(average), Some(spread)) = (stats::mean(&rates), stats::spread(&rates)) else {
        return;
    };
    let lowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
    sample.set("streams.average_mbps", average);
    sample.set("streams.lowest_mbps", lowest);
    sample.set("streams.highest_mbps", lowest + spread);
    sample.set("streams.spread_mbps", spread);
}

fn pings(cell: Cell, round_trips: &[u64], sample: &mut Sample) {
    if !cell.test.has(Role::answers) {
        return;
    }
    sample.set("ping.replies", round_trips.len() as f64);
    let ms: Vec<f64> = round_trips.iter().map(|ns| *ns as f64 / 1e6).collect();
    let Some(mean) = stats::mean(&ms) else {
        return;
    };
    sample.set("ping.mean_ms", mean);
    sample.set("ping.deviation_ms", stats::deviation(&ms).unwrap_or(0.0));
    for (name, q) in [("p50", 0.5), ("p95", 0.95), ("max", 1.0)] {
        let quantile = stats::quantile(&ms, q).unwrap_or(mean);
        sample.set(&format!("ping.{name}_ms"), quantile);
    }
    let shown = ms.len().min(PINGS_SHOWN);
    sample.set_list(PINGS, ms[..shown].to_vec());
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::NullSink;

    /// A second of streams.
    fn second() -> Settings {
        Settings::default().with_streams_for(Duration::from_secs(1))
    }

    fn short(name: &str, replication: u32) -> Sample {
        let cx = LabContext { seed: 1 };
        let settings = second();
        run(name.parse().unwrap(), &settings, &cx, replication, NullSink)
            .unwrap()
            .0
    }

    #[test]
    fn figures_are_those_of_the_roles() {
        let sample = short("test7/b", 0);
        let get = |name: &str| sample.get(name).unwrap_or_else(|| panic!("no {name}"));
        let rates: Vec<f64> = (1..=3)
            .map(|n| get(&format!("guest{n}.rate_mbps")))
            .collect();
        let total: f64 = rates.iter().sum();
        assert!((get("streams.average_mbps") * 3.0 - total).abs() < 1e-9);
        assert!(total > 10.0, "{rates:?}");
        assert_eq!(sample.get("guest4.rate_mbps"), None);
        let shares: f64 = (1..=8).map(|n| get(&format!("guest{n}.share_pct"))).sum();
        let all = shares + get("dom0.share_pct");
        // Sums of quotients: the last digit is anything.
        assert!((90.0..=100.0 + 1e-9).contains(&all), "{all}");
        let burning = get("guest4.share_pct") + get("guest5.share_pct") + get("guest6.share_pct");
        assert!((get("burn.average_pct") * 3.0 - burning).abs() < 1e-9);
        assert!(get("ping.replies") > 1.0 && get("ping.mean_ms") > 0.0);
        assert!(get("ping.p50_ms") <= get("ping.max_ms"));
        let shown = sample.list(PINGS).len();
        assert_eq!(shown as f64, get("ping.replies").min(90.0));
    }

    /// The sample against the same figures counted from the records.
    #[test]
    fn figures_are_those_of_the_records() {
        let cx = LabContext { seed: 1 };
        let settings = Settings {
            patience: Duration::ZERO,
            ..second()
        };
        let cell: Cell = "test7/b".parse().unwrap();
        let (sample, records): (_, Vec<Record>) = run(cell, &settings, &cx, 0, Vec::new()).unwrap();
        let value = |r: &Record| f64::from(r.data[2]) + f64::from(r.data[3]) * 4_294_967_296.0;
        let begin = settings.warmup(cell.test).as_nanos();
        let in_time =
            |r: &&Record| r.kind != Kind::NetReply || r.at.as_nanos() >= begin + value(r) as u64;
        let of = |kind, guest| -> Vec<f64> {
            let here = |r: &&Record| r.kind == kind && r.vcpu.domain == DomainId(guest);
            let here = records.iter().filter(here).filter(in_time);
            here.map(value).collect()
        };
        for guest in 1..=3 {
            let bits = of(Kind::NetDelivered, guest).iter().sum::<f64>() * 8.0;
            let rate = sample.get(&format!("guest{guest}.rate_mbps")).unwrap();
            assert!((bits / 1e6 - rate).abs() < 1e-6, "{bits} bits, {rate} Mb/s");
        }
        let round_trips = of(Kind::NetReply, 7);
        let mean = round_trips.iter().sum::<f64>() / round_trips.len() as f64 / 1e6;
        assert_eq!(sample.get("ping.replies"), Some(round_trips.len() as f64));
        assert!((sample.get("ping.mean_ms").unwrap() - mean).abs() < 1e-6);
    }

    #[test]
    fn a_replication_repeats_itself_and_others_differ() {
        let one = short("test1/tb", 0);
        assert_eq!(one, short("test1/tb", 0));
        assert_ne!(one, short("test1/tb", 1));
        assert_eq!(one.get("ping.replies"), None, "nobody pings in test 1");
    }

    /// In test 3 nothing is answered for tens of seconds under orig.
    #[test]
    fn replies_are_waited_for_after_the_measured_time() {
        let cell: Cell = "test3/orig".parse().unwrap();
        let (cx, measured) = (LabContext { seed: 1 }, Duration::from_secs(10));
        let settings = Settings {
            warmup_without_streams: Duration::from_secs(2),
            ..Settings::default().with_cells_for(measured)
        };
        let impatient = Settings {
            patience: Duration::ZERO,
            ..settings
        };
        let sample = |settings| run(cell, settings, &cx, 0, NullSink).unwrap().0;
        let (all, early) = (sample(&settings), sample(&impatient));
        assert!(all.get("ping.mean_ms") > Some(10_000.0), "{all:?}");
        assert!(all.get("ping.replies") > early.get("ping.replies"));
        assert!(early.get("ping.max_ms") < Some(10_000.0));
        // One request every 12 ms at most without a reply, and none of another time.
        assert!(all.get("ping.replies") < Some(10_000.0 / 12.0 + 400.0));
        assert_eq!(all.get("dom0.share_pct"), early.get("dom0.share_pct"));
        assert_eq!(all.get("guest1.share_pct"), early.get("guest1.share_pct"));
    }

    #[test]
    fn a_sink_gets_the_measured_time() {
        let (cx, settings) = (LabContext { seed: 1 }, Settings::shortened(100));
        let cell: Cell = "test3/orig".parse().unwrap();
        let (_, records) = run(cell, &settings, &cx, 0, Vec::new()).unwrap();
        let begin = Instant::ZERO + settings.warmup(cell.test);
        let end = begin + settings.measured(cell.test);
        assert!(records.iter().all(|r: &Record| r.at <= end));
        assert!(!records.is_empty() && records.iter().all(|r: &Record| r.at >= begin));
        let header = trace_header(cell, &settings, &cx, 0).unwrap();
        assert_eq!(header.domains[8].name, "guest8");
        assert_eq!((header.pcpus, header.policy.as_str()), (1, "credit"));
    }
}
