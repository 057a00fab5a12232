//! One replication of a scenario: simulate it, measure it, hand its trace on.

use crate::core_idle::CoreIdle;
use crate::overhead::{self, KernelTimes};
use crate::replication::Replication;
use crate::replicator::{Heard, WHOLE};
use crate::sample::Sample;
use crate::{driver_work, measure, residence};
use domio_core::{DomainId, Duration, Instant, Names, Record, Sink, VcpuName};
use domio_meter::{Meter, Summary};
use domio_net::queue::DropPlace;
use domio_scenario::{Built, ReplaySource, Scenario};
use domio_trace::{DomainInfo, ThreadName, TraceHeader, scenario_sha256};
use domio_vmm::config::DomainKind;
use std::borrow::Cow;

/// How many packets were dropped where.
pub type Drops = Vec<(DropPlace, u64)>;

/// What one replication gave.
#[derive(Debug)]
pub struct Simulated<S> {
    /// Figures of the measured time, without the warm-up.
    pub summary: Summary,
    /// The caller's sink, which got the records of the measured time.
    pub sink: S,
    /// Events delivered, warm-up included.
    pub events: u64,
    /// Where packets were dropped in the measured time, and how many, by name; places where none
    /// was are left out.
    pub dropped: Drops,
    /// What driver domains of networks executed in the measured time, by kind, if the sink wants to
    /// know for whom they worked.
    pub kernels: Vec<(DomainId, KernelTimes)>,
}

/// A run that did not get to its end.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("replication {replication} under {policy} ended early: {why}")]
pub struct RunFault {
    /// Name of the policy.
    pub policy: &'static str,
    /// Its number.
    pub replication: u32,
    /// What happened, and when.
    pub why: String,
    /// State of host and policy at that time, for people.
    pub dump: String,
}

/// Simulates replication `replication` of `built`.
///
/// `sink` gets the records of the measured time, between two records for each vcpu that give its
/// runstate at the beginning and at the end. The summary says for whom driver domains worked if the
/// sink wants that ([`Sink::OWNERS`]).
///
/// # Errors
/// When the policy breaks its contract or the run does not progress.
pub fn simulate<S: Sink>(
    built: &Built,
    replication: u32,
    sink: S,
) -> Result<Simulated<S>, RunFault> {
    simulate_heard(built, replication, sink, &|_| {})
}

/// As [`simulate`]; `heard` is told at steps how much is over.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_heard<S: Sink>(
    built: &Built,
    replication: u32,
    sink: S,
    heard: Heard<'_>,
) -> Result<Simulated<S>, RunFault> {
    let begin = Instant::ZERO + built.warmup;
    let end = begin + built.duration;
    let recorder = Recorder {
        meter: Meter::new(),
        sink,
        measuring: false,
    };
    let mut run = Replication::new(built, replication, recorder);
    let go_on = |run: &mut Replication<'_, _>, from, until| {
        steps(from, until, end).try_for_each(|step| {
            run.until(step)?;
            heard(thousandths(step, end));
            Ok(())
        })
    };
    go_on(&mut run, Instant::ZERO, begin)?;
    let before = run.drops();
    run.sink_mut().measuring = true;
    run.mark(begin);
    let kernels = |run: &Replication<'_, _>| {
        let drivers = built.network_drivers().into_iter();
        let kernels = drivers.map(|driver| (driver, run.kernel_times(driver)));
        kernels.collect::<Vec<_>>()
    };
    let earlier = kernels(&run);
    go_on(&mut run, begin, end)?;
    run.mark(end);
    let kernels = kernels(&run).into_iter().zip(earlier);
    let kernels = kernels.map(|((driver, until), (_, before))| (driver, until - before));
    let kernels = kernels.collect();
    let grown = run.drops().into_iter().map(|(place, count)| {
        let earlier = before.get(&place).copied().unwrap_or(0);
        (place, count - earlier)
    });
    let dropped = grown.filter(|(_, count)| *count > 0).collect();
    let events = run.events();
    let recorder = run.into_sink();
    Ok(Simulated {
        summary: recorder.meter.finish_at(end),
        sink: recorder.sink,
        events,
        dropped,
        kernels,
    })
}

/// The times from `from` to `until`, without the first, that are a hundredth of the time until
/// `end` apart. The last is `until`.
fn steps(from: Instant, until: Instant, end: Instant) -> impl Iterator<Item = Instant> {
    const STEPS: u64 = 100;
    let step = Duration::from_nanos((end.as_nanos() / STEPS).max(1));
    let next = move |at: &Instant| (*at < until).then(|| (*at + step).min(until));
    std::iter::successors(Some(from), next).skip(1)
}

/// How much of the time until `end` is over at `at`.
fn thousandths(at: Instant, end: Instant) -> u64 {
    let whole = u128::from(end.as_nanos().max(1));
    (u128::from(at.as_nanos()) * u128::from(WHOLE) / whole) as u64
}

/// Figures of one replication as `run` and `compare` show them, with what the sink made of its
/// records: measures by domain, drops by place, work of driver domains by owner. `heard` is told at
/// steps how much is over.
///
/// # Errors
/// As [`simulate`].
pub fn measured<S: Sink>(
    built: &Built,
    replication: u32,
    sink: S,
    heard: Heard<'_>,
) -> Result<(Sample, S), RunFault> {
    const { assert!(S::OWNERS, "the figures have the owners of work") };
    if built.cores {
        let sink = CoreIdle::new(built.host.topology.threads_per_core(), sink);
        let result = simulate_heard(built, replication, sink, heard)?;
        let (mut sample, idle) = noted(built, result);
        let sink = idle.note(&mut sample, &domains(built), built.duration);
        return Ok((sample, sink));
    }
    Ok(noted(
        built,
        simulate_heard(built, replication, sink, heard)?,
    ))
}

/// Figures of what one replication gave, and its sink.
fn noted<S>(built: &Built, result: Simulated<S>) -> (Sample, S) {
    let mut sample = measure::sample(&result.summary, &domains(built));
    measure::note_drops(&mut sample, &result.dropped);
    driver_work::note(&mut sample, &result.summary);
    overhead::note(&mut sample, &result.summary, &result.kernels);
    residence::note(&mut sample, &result.summary);
    (sample, result.sink)
}

struct Recorder<S> {
    meter: Meter,
    sink: S,
    /// The warm-up is over.
    measuring: bool,
}

impl<S: Sink> Sink for Recorder<S> {
    // The meter needs no stages.
    const STAGES: bool = S::STAGES;
    // The meter takes them where there are any.
    const OWNERS: bool = S::OWNERS;

    #[inline]
    fn record(&mut self, names: &Names, record: &Record) {
        if self.measuring {
            self.meter.record(names, record);
            if S::ENABLED {
                self.sink.record(names, record);
            }
        }
    }
}

/// The host of `scenario` as replication `replication` has it: `built`, unless the scenario says
/// what varies. `source` has the demands of its replays.
///
/// # Errors
/// When what was drawn makes no host.
pub fn of_replication<'b>(
    scenario: &Scenario,
    built: &'b Built,
    source: &dyn ReplaySource,
    replication: u32,
) -> Result<Cow<'b, Built>, RunFault> {
    if scenario.plan().vary.is_empty() {
        return Ok(Cow::Borrowed(built));
    }
    let drawn = scenario.replication(replication);
    let host = drawn.and_then(|scenario| scenario.build(source));
    host.map(Cow::Owned).map_err(|mistakes| RunFault {
        policy: built.policy.descriptor.name,
        replication,
        why: mistakes.to_string(),
        dump: String::new(),
    })
}

/// Ids and names of the domains of `built`, in the order of creation.
pub fn domains(built: &Built) -> Vec<(DomainId, String)> {
    let domains = built.host.domains.iter();
    domains.map(|d| (d.id, d.name.clone())).collect()
}

/// What threads of the host are called that are no vcpus of guests, by the vcpu that stands for
/// each and in that order.
pub fn threads(built: &Built) -> Vec<(VcpuName, String)> {
    let mut all = Vec::new();
    for domain in &built.host.domains {
        if let DomainKind::Threads(threads) = &domain.kind {
            all.extend((0..).zip(threads).map(|(index, thread)| {
                let vcpu = VcpuName::new(domain.id, index);
                (vcpu, format!("{}.{}", domain.name, thread.name))
            }));
        }
    }
    all.sort_by_key(|(vcpu, _)| *vcpu);
    all
}

/// The header of a trace of `scenario`: all that the run is a function of.
pub fn trace_header(scenario: &Scenario, built: &Built, replication: u32) -> TraceHeader {
    let domains = built.host.domains.iter().map(|d| {
        let param = |name| d.params.by_name(name).unwrap_or(0).max(0) as u32;
        DomainInfo {
            id: d.id.0,
            name: d.name.clone(),
            vcpus: d.vcpus.len() as u32,
            weight: param("weight"),
            cap: param("cap"),
        }
    });
    TraceHeader {
        scenario: scenario.name().to_owned(),
        scenario_sha256: scenario_sha256(scenario.text().as_bytes()),
        scenario_text: scenario.text().to_owned(),
        overrides: scenario.overrides().map(str::to_owned).collect(),
        seed: built.seed,
        replication: u64::from(replication),
        policy: built.policy.descriptor.name.to_owned(),
        pcpus: built.host.topology.pcpus() as u32,
        domains: domains.collect(),
        threads: threads(built)
            .into_iter()
            .map(|(vcpu, name)| ThreadName {
                domain: vcpu.domain.0,
                vcpu: vcpu.index,
                name,
            })
            .collect(),
        ..TraceHeader::default()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::driver_work::OwnersOnly;
    use domio_core::{NullSink, PcpuId, Runstate};
    use domio_meter::{DomainSummary, TraceChecker};
    use domio_scenario::NoReplay;

    const TEXT: &str = r#"
        run.warmup_ms = 500
        run.duration_ms = 1500
        scheduler.policy = "round-robin"
        [[domain]]
        name = "g"
        count = 3
        workload = "burn"
    "#;

    pub(crate) fn built(text: &str) -> (Scenario, Built) {
        let scenario = Scenario::parse("t.toml", text.as_bytes(), domio_sched::policies()).unwrap();
        let built = scenario.build(&NoReplay).unwrap();
        (scenario, built)
    }

    /// Reads a trace while it is written, with every record that there is.
    #[derive(Default)]
    struct Reader {
        /// Time of the earliest record.
        first: Option<Instant>,
        meter: Meter,
        checker: TraceChecker,
    }

    impl Sink for Reader {
        fn record(&mut self, names: &Names, record: &Record) {
            self.first = Some(self.first.map_or(record.at, |first| first.min(record.at)));
            self.meter.record(names, record);
            self.checker.record(names, record);
        }
    }

    #[test]
    fn the_measured_time_is_the_duration() {
        let (_, built) = built(TEXT);
        let result = simulate(&built, 0, NullSink).unwrap();
        assert_eq!(result.summary.seconds(), 1.5);
        let sample = measure::sample(&result.summary, &domains(&built));
        let share: f64 = ["g1", "g2", "g3"]
            .map(|d| sample.get(&format!("{d}.share_pct")).unwrap())
            .iter()
            .sum();
        assert!((99.0..=100.0).contains(&share), "{share}");
        assert!(result.events > 0);
    }

    #[test]
    fn the_trace_is_of_the_measured_time_and_gives_the_same_shares() {
        let (scenario, built) = built(TEXT);
        let result = simulate(&built, 3, Reader::default()).unwrap();
        let begin = Instant::ZERO + built.warmup;
        assert_eq!(result.sink.first, Some(begin));
        let report = result.sink.checker.finish();
        assert!(report.is_clean(), "{:?}", report.findings);
        let again = result.sink.meter.finish();
        assert_eq!(again.seconds(), 1.5);
        for domain in &result.summary.domains {
            let other = again.domain(domain.id).map_or(0, |d| d.total.running);
            assert_eq!(other, domain.total.running, "{:?}", domain.id);
        }
        let header = trace_header(&scenario, &built, 3);
        assert_eq!((header.replication, header.pcpus), (3, 1));
        assert_eq!(header.domains[2].name, "g3");
        assert_eq!(header.scenario_sha256.len(), 64);
    }

    #[test]
    fn what_a_host_cannot_take_is_dropped_at_places_with_names() {
        let guests = |pps| {
            format!(
                "[[domain]]\nname = \"Domain-0\"\n[[domain]]\nname = \"web\"\n\
                 workload = \"udp\"\nbytes = 1000\npps = {pps}\n[[domain]]\n"
            )
        };
        let dropped = |pps| {
            let text = TEXT.replacen("[[domain]]", &guests(pps), 1);
            let built = built(&text).1;
            simulate(&built, 0, NullSink).unwrap().dropped
        };
        // Ring and queue hold 77 packets, and the guest waits for others that compute.
        assert_eq!(dropped(100), []);
        // More than the line takes, which is 120 thousand a second.
        let flood = dropped(200_000);
        let total: u64 = flood.iter().map(|(_, n)| n).sum();
        assert!(!flood.is_empty() && total > 100_000, "{flood:?}");
    }

    #[test]
    fn what_is_dropped_is_of_all_networks() {
        let flooded = |networks: u64| {
            let mut guests = "[[domain]]\nname = \"Domain-0\"\n".to_owned();
            for i in 0..networks {
                guests += &format!(
                    "[[network]]\nname = \"n{i}\"\n[[domain]]\nname = \"web{i}\"\n\
                     workload = \"udp\"\nbytes = 1000\npps = 200000\nnetwork = \"n{i}\"\n"
                );
            }
            let text = TEXT.replacen("[[domain]]", &(guests + "[[domain]]"), 1);
            let dropped = simulate(&built(&text).1, 0, NullSink).unwrap().dropped;
            let line = dropped.iter().map(|(_, n)| n);
            line.sum::<u64>()
        };
        let (one, two) = (flooded(1), flooded(2));
        assert!(two > one * 3 / 2, "{one} and {two}");
    }

    /// A host with a network and one without, otherwise the same.
    #[test]
    fn a_host_has_the_network_that_the_scenario_asks_for() {
        let guest = "[[domain]]\nname = \"Domain-0\"\n[[domain]]\nname = \"web\"\n\
                     workload = \"WORK\"\n[[domain]]\n";
        let text = TEXT.replacen("[[domain]]", guest, 1);
        let with = |work| built(&text.replacen("WORK", work, 1)).1;
        let plain = simulate(&with("idle"), 0, NullSink).unwrap().summary;
        let of_network = |s: &Summary, d: &DomainSummary| -> Vec<_> {
            let mut own = s.figures(d);
            own.retain(|(f, _)| f.key.starts_with("net_") || f.key.starts_with("ping_"));
            own
        };
        assert!(
            plain
                .domains
                .iter()
                .all(|d| of_network(&plain, d).is_empty())
        );
        for (work, figures) in [
            ("stream", vec!["net_mbps"]),
            (
                "ping",
                vec!["ping_mean_ms", "ping_sd_ms", "ping_p99_ms", "ping_replies"],
            ),
        ] {
            let built = with(work);
            let recorded = simulate(&built, 0, Reader::default()).unwrap();
            let sample = measure::sample(&recorded.summary, &domains(&built));
            let measures = measure::Measures::shipped();
            let table = measures
                .tables()
                .iter()
                .find(|t| t.title == "networks")
                .unwrap();
            for figure in table.figures {
                let expected = figures.contains(&figure.key) || figure.key.starts_with("ping_p");
                let expected = expected && (work == "ping") == figure.key.starts_with("ping");
                let found = sample.get(&figure.name("web"));
                assert_eq!(found.is_some(), expected, "{work}: {}", figure.key);
                assert_eq!(sample.get(&figure.name("g1")), None);
            }
            // The trace alone says the same.
            let network = |s: &Summary| of_network(s, s.domain(DomainId(1)).unwrap());
            let alone = network(&recorded.sink.meter.finish());
            assert_eq!(alone, network(&recorded.summary), "{work}");
        }
    }

    #[test]
    fn a_host_tells_for_whom_it_works_only_to_those_who_ask() {
        const fn asks<S: Sink>() -> (bool, bool) {
            (Recorder::<S>::OWNERS, Recorder::<S>::STAGES)
        }
        assert_eq!(asks::<NullSink>(), (false, false));
        assert_eq!(asks::<OwnersOnly>(), (true, false));
        assert_eq!(asks::<Vec<Record>>(), (true, true));
        assert!(!asks::<crate::observe::Observer>().0);
    }

    /// What was done in the warm-up, and written down where it ends, is no part of the figures.
    #[test]
    fn figures_are_of_the_measured_time_also_for_those_who_want_no_records() {
        let mut names = Names::new();
        let driver = names.add_actor(VcpuName::new(DomainId(0), 0));
        let pcpu = PcpuId(0);
        let at = Instant::from_nanos;
        let mut recorder = Recorder {
            meter: Meter::new(),
            sink: OwnersOnly,
            measuring: false,
        };
        let told = |recorder: &mut Recorder<_>, record| recorder.record(&names, &record);
        let work = |ns, took| Record::driver_work(at(ns), pcpu, driver, DomainId(1), took);
        let runs = |ns, new| Record::runstate(at(ns), pcpu, driver, Runstate::Running, new);
        told(&mut recorder, work(50, 50));
        recorder.measuring = true;
        told(&mut recorder, work(100, 50));
        told(&mut recorder, runs(100, Runstate::Running));
        told(&mut recorder, work(170, 30));
        told(&mut recorder, runs(170, Runstate::Blocked));
        let work = recorder.meter.finish_at(at(200)).driver_work;
        assert_eq!((work[0].busy, work[0].nobody()), (70, 40));
    }

    #[test]
    fn steps_lead_to_the_end() {
        let at = Instant::from_nanos;
        let of = |from, until, end| steps(at(from), at(until), at(end)).collect::<Vec<_>>();
        assert_eq!(of(0, 25, 1_000), [10, 20, 25].map(at));
        assert_eq!(of(25, 50, 1_000), [35, 45, 50].map(at));
        assert_eq!(of(0, 2, 2), [1, 2].map(at));
        assert_eq!(of(5, 5, 1_000), []);
        let told: Vec<u64> = of(0, 25, 1_000)
            .into_iter()
            .map(|step| thousandths(step, at(1_000)))
            .collect();
        assert_eq!(told, [10, 20, 25]);
        assert_eq!(thousandths(at(u64::MAX), at(u64::MAX)), WHOLE);
    }

    #[test]
    fn a_replication_repeats_itself() {
        let (_, built) = built(TEXT);
        let one = simulate(&built, 1, Vec::new()).unwrap().sink;
        assert_eq!(one, simulate(&built, 1, Vec::new()).unwrap().sink);
    }
}
