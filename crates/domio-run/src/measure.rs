//! What is measured of each domain of a simulated host, as values of a [`Sample`].

use crate::felt::{ANSWER_MS, Felt, ONE, POINTS, STREAM_MBPS, TRIP_MS, WAIT_US};
use crate::sample::Sample;
use domio_core::DomainId;
use domio_meter::{DiskSummary, DomainSummary, Quantiles, Summary, WebSummary};
use domio_net::queue::DropPlace;
use serde::Serialize;

/// Which way a figure improves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Larger is better (throughput).
    Higher,
    /// Smaller is better (latency).
    Lower,
    /// Neither (a share).
    Neither,
}

/// What a measure is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MeasureGroup {
    /// The domain's use of the processor: every domain has it.
    Processor,
    /// Its jobs: only domains that finished any have it.
    Jobs,
    /// Its network: only domains with one have it.
    Network,
    /// Its web servers: only domains with one have it.
    Web,
    /// Its virtual disks: only domains with one on a disk of the host have it.
    Disk,
}

impl MeasureGroup {
    /// All groups, in the order of tables.
    pub const ALL: [MeasureGroup; 5] = [
        MeasureGroup::Processor,
        MeasureGroup::Jobs,
        MeasureGroup::Network,
        MeasureGroup::Web,
        MeasureGroup::Disk,
    ];
}

/// One figure of a domain.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Name in samples, after the name of the domain and a dot; ends in the unit.
    pub key: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// Which way it improves.
    pub better: Better,
    /// How a change of it is felt. Of a share, by those that compete for processors alone.
    pub felt: Felt,
    /// What it is about.
    pub group: MeasureGroup,
    of: Figure,
}

/// Key of the time of threads that idle in cores that a domain has.
pub(crate) const CORE_IDLE: &str = "core_idle_pct";

/// The figures of a domain, in the order of tables. Those without a value in a run (no wake-up, no
/// completed run, no job, no network) are not in its sample.
pub const MEASURES: [Measure; 43] = [
    Measure {
        key: "share_pct",
        title: "share",
        unit: "% of one pcpu",
        better: Better::Neither,
        felt: Felt::Itself(POINTS),
        group: MeasureGroup::Processor,
        of: Figure::Domain(|s, d| Some(s.percent(d.total.running))),
    },
    Measure {
        key: "waiting_pct",
        title: "waiting",
        unit: "% of time",
        better: Better::Lower,
        felt: Felt::Cause(POINTS),
        group: MeasureGroup::Processor,
        // Over all its vcpus, so that a domain of many does not seem to wait longer.
        of: Figure::Domain(|s, d| Some(s.percent(d.total.runnable) / d.vcpus.len().max(1) as f64)),
    },
    Measure {
        key: "lost_pct",
        title: "lost to siblings",
        unit: "% of one pcpu",
        better: Better::Lower,
        felt: Felt::Cause(POINTS),
        group: MeasureGroup::Processor,
        // Part of the share: time on a pcpu in which other threads of the core kept it from work.
        of: Figure::Domain(|s, d| Some(s.percent(d.lost_to_siblings()?))),
    },
    Measure {
        key: CORE_IDLE,
        title: "idle beside it",
        unit: "% of one pcpu",
        better: Better::Lower,
        felt: Felt::Never,
        group: MeasureGroup::Processor,
        // Threads of cores that it has under core scheduling, without a vcpu that has work.
        of: Figure::Noted,
    },
    Measure {
        key: "runs_per_s",
        title: "runs",
        unit: "1/s",
        better: Better::Neither,
        felt: Felt::Never,
        group: MeasureGroup::Processor,
        of: Figure::Domain(|s, d| Some(s.per_second(d.total.executions))),
    },
    Measure {
        key: "run_p50_us",
        title: "run, 50 %",
        unit: "us",
        better: Better::Neither,
        felt: Felt::Never,
        group: MeasureGroup::Processor,
        of: Figure::Domain(|_, d| micros(d.total.runs.p50)),
    },
    Measure {
        key: "wake_p50_us",
        title: "wake to run, 50 %",
        unit: "us",
        better: Better::Lower,
        felt: Felt::Cause(WAIT_US),
        group: MeasureGroup::Processor,
        of: Figure::Domain(|_, d| micros(d.total.wake_to_run.p50)),
    },
    Measure {
        key: "wake_p95_us",
        title: "wake to run, 95 %",
        unit: "us",
        better: Better::Lower,
        felt: Felt::Itself(WAIT_US),
        group: MeasureGroup::Processor,
        of: Figure::Domain(|_, d| micros(d.total.wake_to_run.p95)),
    },
    Measure {
        key: "wake_p99_us",
        title: "wake to run, 99 %",
        unit: "us",
        better: Better::Lower,
        felt: Felt::Itself(WAIT_US),
        group: MeasureGroup::Processor,
        of: Figure::Domain(|_, d| micros(d.total.wake_to_run.p99)),
    },
    Measure {
        key: "jobs_done",
        title: "jobs done",
        unit: "",
        better: Better::Higher,
        felt: Felt::Itself(ONE),
        group: MeasureGroup::Jobs,
        of: Figure::Domain(|_, d| Some(d.jobs()?.count as f64)),
    },
    Measure {
        key: "turnaround_mean_ms",
        title: "turnaround, mean",
        unit: "ms",
        better: Better::Lower,
        felt: Felt::Itself(ANSWER_MS),
        group: MeasureGroup::Jobs,
        of: Figure::Domain(|_, d| d.jobs()?.mean.map(|ns| ns / 1e6)),
    },
    Measure {
        key: "turnaround_p50_ms",
        title: "turnaround, 50 %",
        unit: "ms",
        better: Better::Lower,
        felt: Felt::Itself(ANSWER_MS),
        group: MeasureGroup::Jobs,
        of: Figure::Domain(|_, d| millis(d.jobs()?.p50)),
    },
    Measure {
        key: "turnaround_p95_ms",
        title: "turnaround, 95 %",
        unit: "ms",
        better: Better::Lower,
        felt: Felt::Itself(ANSWER_MS),
        group: MeasureGroup::Jobs,
        of: Figure::Domain(|_, d| millis(d.jobs()?.p95)),
    },
    Measure {
        key: "turnaround_p99_ms",
        title: "turnaround, 99 %",
        unit: "ms",
        better: Better::Lower,
        felt: Felt::Itself(ANSWER_MS),
        group: MeasureGroup::Jobs,
        of: Figure::Domain(|_, d| millis(d.jobs()?.p99)),
    },
    Measure {
        key: "net_mbps",
        title: "delivered",
        unit: "Mb/s",
        better: Better::Higher,
        felt: Felt::Itself(STREAM_MBPS),
        group: MeasureGroup::Network,
        of: Figure::Domain(|s, d| {
            let network = d.network().filter(|n| n.delivered > 0)?;
            Some(s.mbit_per_second(network.delivered))
        }),
    },
    Measure {
        key: "ping_replies",
        title: "pings answered",
        unit: "",
        better: Better::Higher,
        felt: Felt::Itself(ONE),
        group: MeasureGroup::Network,
        of: Figure::Domain(|_, d| Some(pings(d)?.count as f64)),
    },
    Measure {
        key: "ping_mean_ms",
        title: "round trip, mean",
        unit: "ms",
        better: Better::Lower,
        felt: Felt::Itself(TRIP_MS),
        group: MeasureGroup::Network,
        of: Figure::Domain(|_, d| pings(d)?.mean.map(|ns| ns / 1e6)),
    },
    Measure {
        key: "ping_sd_ms",
        title: "round trip, sd",
        unit: "ms",
        better: Better::Lower,
        felt: Felt::Cause(TRIP_MS),
        group: MeasureGroup::Network,
        of: Figure::Domain(|_, d| pings(d)?.sd.map(|ns| ns / 1e6)),
    },
    Measure {
        key: "ping_p50_ms",
        title: "round trip, 50 %",
        unit: "ms",
        better: Better::Lower,
        felt: Felt::Itself(TRIP_MS),
        group: MeasureGroup::Network,
        of: Figure::Domain(|_, d| millis(pings(d)?.p50)),
    },
    Measure {
        key: "ping_p95_ms",
        title: "round trip, 95 %",
        unit: "ms",
        better: Better::Lower,
        felt: Felt::Itself(TRIP_MS),
        group: MeasureGroup::Network,
        of: Figure::Domain(|_, d| millis(pings(d)?.p95)),
    },
    Measure {
        key: "ping_p99_ms",
        title: "round trip, 99 %",
        unit: "ms",
        better: Better::Lower,
        felt: Felt::Itself(TRIP_MS),
        group: MeasureGroup::Network,
        of: Figure::Domain(|_, d| millis(pings(d)?.p99)),
    },
    web(
        "conns_per_s",
        "connections",
        "1/s",
        Better::Neither,
        Felt::Never,
        |s, w| Some(s.per_second(w.started)),
    ),
    web(
        "replies_per_s",
        "replies",
        "1/s",
        Better::Higher,
        Felt::Itself(ONE),
        |s, w| Some(s.per_second(w.replies)),
    ),
    web(
        "timeouts_per_s",
        "timeouts",
        "1/s",
        Better::Lower,
        Felt::Itself(ONE),
        |s, w| Some(s.per_second(w.timed_out)),
    ),
    web(
        "refused_per_s",
        "refused",
        "1/s",
        Better::Lower,
        Felt::Itself(ONE),
        |s, w| Some(s.per_second(w.refused)),
    ),
    web(
        "resets_per_s",
        "reset",
        "1/s",
        Better::Lower,
        Felt::Itself(ONE),
        |s, w| Some(s.per_second(w.reset)),
    ),
    web(
        "unstarted_per_s",
        "not begun",
        "1/s",
        Better::Lower,
        Felt::Itself(ONE),
        |s, w| Some(s.per_second(w.no_descriptor + w.no_port)),
    ),
    web(
        "connect_p50_ms",
        "connect, 50 %",
        "ms",
        Better::Lower,
        Felt::Itself(ANSWER_MS),
        |_, w| millis(w.connect.p50),
    ),
    web(
        "first_byte_p50_ms",
        "first byte, 50 %",
        "ms",
        Better::Lower,
        Felt::Itself(ANSWER_MS),
        |_, w| millis(w.first_byte.p50),
    ),
    web(
        "response_ms",
        "response, mean",
        "ms",
        Better::Lower,
        Felt::Itself(ANSWER_MS),
        |_, w| w.response.mean.map(|ns| ns / 1e6),
    ),
    web(
        "response_p50_ms",
        "response, 50 %",
        "ms",
        Better::Lower,
        Felt::Itself(ANSWER_MS),
        |_, w| millis(w.response.p50),
    ),
    web(
        "response_p95_ms",
        "response, 95 %",
        "ms",
        Better::Lower,
        Felt::Itself(ANSWER_MS),
        |_, w| millis(w.response.p95),
    ),
    web(
        "response_p99_ms",
        "response, 99 %",
        "ms",
        Better::Lower,
        Felt::Itself(ANSWER_MS),
        |_, w| millis(w.response.p99),
    ),
    disk(
        (DISK_RATE, "read and written", "MB/s"),
        (Better::Higher, Felt::Itself(ONE)),
        |s, d| Some(s.per_second(d.read_bytes + d.written_bytes) / 1e6),
    ),
    disk(
        ("disk_ios_per_s", "pieces of I/O", "1/s"),
        (Better::Higher, Felt::Itself(ONE)),
        |s, d| Some(s.per_second(d.reads.count + d.writes.count)),
    ),
    disk(
        ("disk_read_mean_ms", "read, mean", "ms"),
        (Better::Lower, Felt::Itself(ANSWER_MS)),
        |_, d| d.reads.mean.map(|ns| ns / 1e6),
    ),
    disk(
        ("disk_read_p99_ms", "read, 99 %", "ms"),
        (Better::Lower, Felt::Itself(ANSWER_MS)),
        |_, d| millis(d.reads.p99),
    ),
    disk(
        ("disk_write_mean_ms", "write, mean", "ms"),
        (Better::Lower, Felt::Cause(ANSWER_MS)),
        |_, d| d.writes.mean.map(|ns| ns / 1e6),
    ),
    disk(
        ("disk_write_p99_ms", "write, 99 %", "ms"),
        (Better::Lower, Felt::Cause(ANSWER_MS)),
        |_, d| millis(d.writes.p99),
    ),
    disk(
        ("disk_commands_per_s", "commands", "1/s"),
        (Better::Neither, Felt::Never),
        |s, d| Some(s.per_second(d.commands)),
    ),
    disk(
        ("disk_in_drive", "in the drive", ""),
        (Better::Neither, Felt::Never),
        |s, d| Some(s.per_second(d.in_drives_us()) / 1e6),
    ),
    disk(
        ("disk_depth", "depth found", ""),
        (Better::Neither, Felt::Never),
        |_, d| (d.commands > 0).then(|| d.depths as f64 / d.commands as f64),
    ),
    disk(
        ("disk_seek_ms", "seek, mean", "ms"),
        (Better::Lower, Felt::Cause(ANSWER_MS)),
        |_, d| (d.seek_us > 0).then(|| d.seek_us as f64 / d.commands as f64 / 1e3),
    ),
];

/// Name of the measure of what a domain reads and writes.
pub const DISK_RATE: &str = "disk_mb_per_s";

/// A measure of what a domain's virtual disks did.
const fn disk(
    (key, title, unit): (&'static str, &'static str, &'static str),
    (better, felt): (Better, Felt),
    of: fn(&Summary, &DiskSummary) -> Option<f64>,
) -> Measure {
    Measure {
        key,
        title,
        unit,
        better,
        felt,
        group: MeasureGroup::Disk,
        of: Figure::Disk(of),
    }
}

/// A measure of what the clients of a domain's web servers saw.
const fn web(
    key: &'static str,
    title: &'static str,
    unit: &'static str,
    better: Better,
    felt: Felt,
    of: fn(&Summary, &WebSummary) -> Option<f64>,
) -> Measure {
    Measure {
        key,
        title,
        unit,
        better,
        felt,
        group: MeasureGroup::Web,
        of: Figure::Web(of),
    }
}

/// How a measure is taken.
#[derive(Clone, Copy, Debug)]
enum Figure {
    /// From the figures of a domain.
    Domain(fn(&Summary, &DomainSummary) -> Option<f64>),
    /// From those of its web servers.
    Web(fn(&Summary, &WebSummary) -> Option<f64>),
    /// From those of its virtual disks.
    Disk(fn(&Summary, &DiskSummary) -> Option<f64>),
    /// A sink of its own notes it in samples.
    Noted,
}

fn micros(ns: Option<u64>) -> Option<f64> {
    ns.map(|ns| ns as f64 / 1e3)
}

fn millis(ns: Option<u64>) -> Option<f64> {
    ns.map(|ns| ns as f64 / 1e6)
}

/// The round trips of a domain that was pinged.
fn pings(domain: &DomainSummary) -> Option<Quantiles> {
    let network = domain.network()?;
    (network.round_trips.count > 0).then_some(network.round_trips)
}

impl Measure {
    /// Name of this figure of `domain` in samples.
    pub fn name(&self, domain: &str) -> String {
        format!("{domain}.{}", self.key)
    }

    /// This figure of `domain`; `None` when it has none.
    pub fn value(&self, summary: &Summary, domain: &DomainSummary) -> Option<f64> {
        match self.of {
            Figure::Domain(of) => of(summary, domain),
            Figure::Web(of) => of(summary, &domain.web()?),
            Figure::Disk(of) => of(summary, &domain.disk()?),
            Figure::Noted => None,
        }
    }
}

/// Every measure of every domain of `domains`, which gives their names.
pub fn sample(summary: &Summary, domains: &[(DomainId, String)]) -> Sample {
    let mut sample = Sample::new();
    for (id, name) in domains {
        let Some(domain) = summary.domain(*id) else {
            continue;
        };
        for measure in &MEASURES {
            if let Some(value) = measure.value(summary, domain) {
                sample.set(&measure.name(name), value);
            }
        }
        let competes = summary.competing().contains(id);
        let starved = domain.starved().count();
        for (remark, value) in [(COMPETES, u32::from(competes)), (STARVED, starved as u32)] {
            if value > 0 {
                sample.set(&format!("{name}.{remark}"), f64::from(value));
            }
        }
    }
    sample
}

/// What a sample remarks of a domain, after its name and a dot: that it competes for processors.
const COMPETES: &str = "competes";
/// Likewise: how many of its vcpus waited for a pcpu and never got one.
const STARVED: &str = "starved_vcpus";

/// Whether a value of a sample is a remark on a domain, and no figure to show.
pub fn is_remark(name: &str) -> bool {
    let last = name.rsplit_once('.').map(|(_, last)| last);
    last.is_some_and(|last| [COMPETES, STARVED].contains(&last))
}

/// Whether `domain` competes for processors ([`Summary::competing`]).
pub fn competes(sample: &Sample, domain: &str) -> bool {
    sample.get(&format!("{domain}.{COMPETES}")).is_some()
}

/// How many vcpus of `domain` waited for a pcpu and never got one.
pub fn starved_vcpus(sample: &Sample, domain: &str) -> usize {
    let starved = sample.get(&format!("{domain}.{STARVED}"));
    starved.map_or(0, |vcpus| vcpus as usize)
}

/// Begin of the names of values that count dropped packets; the place follows.
const DROPPED: &str = "dropped.";

/// Notes in `sample` how many packets were dropped where.
pub fn note_drops(sample: &mut Sample, dropped: &[(DropPlace, u64)]) {
    for (place, count) in dropped {
        sample.set(&format!("{DROPPED}{place}"), *count as f64);
    }
}

/// How many packets were dropped at `place`.
pub fn dropped_at(sample: &Sample, place: &str) -> f64 {
    sample.get(&format!("{DROPPED}{place}")).unwrap_or(0.0)
}

/// The place of which the value of this name in a sample counts the drops, if it does.
pub fn place_of_drops(name: &str) -> Option<&str> {
    name.strip_prefix(DROPPED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_remarks_who_competes_and_who_starves() {
        let sample = Sample::new().with("a.competes", 1.0);
        let sample = sample.with("b.starved_vcpus", 2.0);
        assert!(competes(&sample, "a") && !competes(&sample, "b"));
        assert_eq!(["a", "b"].map(|d| starved_vcpus(&sample, d)), [0, 2]);
        assert!(is_remark("g2.starved_vcpus") && is_remark("a.b.competes"));
        assert!(!is_remark("g2.share_pct") && !is_remark("competes"));
    }

    #[test]
    fn drops_are_named_by_their_place() {
        let mut sample = Sample::new();
        note_drops(&mut sample, &[(DropPlace("NIC ring"), 6)]);
        let places: Vec<_> = sample
            .values()
            .map(|(name, n)| (place_of_drops(name), n))
            .collect();
        assert_eq!(places, [(Some("NIC ring"), 6.0)]);
        assert_eq!(place_of_drops("g1.share_pct"), None);
    }
}
