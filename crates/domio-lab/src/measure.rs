//! What is measured of each domain of a simulated host, as values of a [`Sample`].

use crate::compare::{Better, Comparison, Metric};
use crate::sample::Sample;
use crate::stats::Estimate;
use domio_core::DomainId;
use domio_meter::{DomainSummary, Quantiles, Summary, WebSummary};
use domio_net::queue::Place;
use std::collections::BTreeSet;

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
}

impl MeasureGroup {
    /// All groups, in the order of tables.
    pub const ALL: [MeasureGroup; 4] = [
        MeasureGroup::Processor,
        MeasureGroup::Jobs,
        MeasureGroup::Network,
        MeasureGroup::Web,
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
    /// What it is about.
    pub group: MeasureGroup,
    of: Figure,
}

/// The figures of a domain, in the order of tables. Those without a value in a run (no wake-up, no
/// completed run, no job, no network) are not in its sample.
pub const MEASURES: [Measure; 31] = [
    Measure {
        key: "share_pct",
        title: "share",
        unit: "% of one pcpu",
        better: Better::Neither,
        group: MeasureGroup::Processor,
        of: Figure::Domain(|s, d| Some(s.percent(d.total.running))),
    },
    Measure {
        key: "waiting_pct",
        title: "waiting",
        unit: "% of time",
        better: Better::Lower,
        group: MeasureGroup::Processor,
        // Over all its vcpus, so that a domain of many does not seem to wait longer.
        of: Figure::Domain(|s, d| Some(s.percent(d.total.runnable) / d.vcpus.len().max(1) as f64)),
    },
    Measure {
        key: "runs_per_s",
        title: "runs",
        unit: "1/s",
        better: Better::Neither,
        group: MeasureGroup::Processor,
        of: Figure::Domain(|s, d| Some(s.per_second(d.total.executions))),
    },
    Measure {
        key: "run_p50_us",
        title: "run, 50 %",
        unit: "us",
        better: Better::Neither,
        group: MeasureGroup::Processor,
        of: Figure::Domain(|_, d| micros(d.total.runs.p50)),
    },
    Measure {
        key: "wake_p50_us",
        title: "wake to run, 50 %",
        unit: "us",
        better: Better::Lower,
        group: MeasureGroup::Processor,
        of: Figure::Domain(|_, d| micros(d.total.wake_to_run.p50)),
    },
    Measure {
        key: "wake_p95_us",
        title: "wake to run, 95 %",
        unit: "us",
        better: Better::Lower,
        group: MeasureGroup::Processor,
        of: Figure::Domain(|_, d| micros(d.total.wake_to_run.p95)),
    },
    Measure {
        key: "wake_p99_us",
        title: "wake to run, 99 %",
        unit: "us",
        better: Better::Lower,
        group: MeasureGroup::Processor,
        of: Figure::Domain(|_, d| micros(d.total.wake_to_run.p99)),
    },
    Measure {
        key: "jobs_done",
        title: "jobs done",
        unit: "",
        better: Better::Higher,
        group: MeasureGroup::Jobs,
        of: Figure::Domain(|_, d| Some(d.jobs?.count as f64)),
    },
    Measure {
        key: "turnaround_mean_ms",
        title: "turnaround, mean",
        unit: "ms",
        better: Better::Lower,
        group: MeasureGroup::Jobs,
        of: Figure::Domain(|_, d| d.jobs?.mean.map(|ns| ns / 1e6)),
    },
    Measure {
        key: "turnaround_p50_ms",
        title: "turnaround, 50 %",
        unit: "ms",
        better: Better::Lower,
        group: MeasureGroup::Jobs,
        of: Figure::Domain(|_, d| millis(d.jobs?.p50)),
    },
    Measure {
        key: "turnaround_p95_ms",
        title: "turnaround, 95 %",
        unit: "ms",
        better: Better::Lower,
        group: MeasureGroup::Jobs,
        of: Figure::Domain(|_, d| millis(d.jobs?.p95)),
    },
    Measure {
        key: "turnaround_p99_ms",
        title: "turnaround, 99 %",
        unit: "ms",
        better: Better::Lower,
        group: MeasureGroup::Jobs,
        of: Figure::Domain(|_, d| millis(d.jobs?.p99)),
    },
    Measure {
        key: "net_mbps",
        title: "delivered",
        unit: "Mb/s",
        better: Better::Higher,
        group: MeasureGroup::Network,
        of: Figure::Domain(|s, d| {
            let network = d.network.filter(|n| n.delivered > 0)?;
            Some(s.mbit_per_second(network.delivered))
        }),
    },
    Measure {
        key: "ping_replies",
        title: "pings answered",
        unit: "",
        better: Better::Higher,
        group: MeasureGroup::Network,
        of: Figure::Domain(|_, d| Some(pings(d)?.count as f64)),
    },
    Measure {
        key: "ping_mean_ms",
        title: "round trip, mean",
        unit: "ms",
        better: Better::Lower,
        group: MeasureGroup::Network,
        of: Figure::Domain(|_, d| pings(d)?.mean.map(|ns| ns / 1e6)),
    },
    Measure {
        key: "ping_sd_ms",
        title: "round trip, sd",
        unit: "ms",
        better: Better::Lower,
        group: MeasureGroup::Network,
        of: Figure::Domain(|_, d| pings(d)?.sd.map(|ns| ns / 1e6)),
    },
    Measure {
        key: "ping_p50_ms",
        title: "round trip, 50 %",
        unit: "ms",
        better: Better::Lower,
        group: MeasureGroup::Network,
        of: Figure::Domain(|_, d| millis(pings(d)?.p50)),
    },
    Measure {
        key: "ping_p95_ms",
        title: "round trip, 95 %",
        unit: "ms",
        better: Better::Lower,
        group: MeasureGroup::Network,
        of: Figure::Domain(|_, d| millis(pings(d)?.p95)),
    },
    Measure {
        key: "ping_p99_ms",
        title: "round trip, 99 %",
        unit: "ms",
        better: Better::Lower,
        group: MeasureGroup::Network,
        of: Figure::Domain(|_, d| millis(pings(d)?.p99)),
    },
    web(
        "conns_per_s",
        "connections",
        "1/s",
        Better::Neither,
        |s, w| Some(s.per_second(w.started)),
    ),
    web("replies_per_s", "replies", "1/s", Better::Higher, |s, w| {
        Some(s.per_second(w.replies))
    }),
    web(
        "timeouts_per_s",
        "timeouts",
        "1/s",
        Better::Lower,
        |s, w| Some(s.per_second(w.timed_out)),
    ),
    web("refused_per_s", "refused", "1/s", Better::Lower, |s, w| {
        Some(s.per_second(w.refused))
    }),
    web("resets_per_s", "reset", "1/s", Better::Lower, |s, w| {
        Some(s.per_second(w.reset))
    }),
    web(
        "unstarted_per_s",
        "not begun",
        "1/s",
        Better::Lower,
        |s, w| Some(s.per_second(w.no_descriptor + w.no_port)),
    ),
    web(
        "connect_p50_ms",
        "connect, 50 %",
        "ms",
        Better::Lower,
        |_, w| millis(w.connect.p50),
    ),
    web(
        "first_byte_p50_ms",
        "first byte, 50 %",
        "ms",
        Better::Lower,
        |_, w| millis(w.first_byte.p50),
    ),
    web(
        "response_ms",
        "response, mean",
        "ms",
        Better::Lower,
        |_, w| w.response.mean.map(|ns| ns / 1e6),
    ),
    web(
        "response_p50_ms",
        "response, 50 %",
        "ms",
        Better::Lower,
        |_, w| millis(w.response.p50),
    ),
    web(
        "response_p95_ms",
        "response, 95 %",
        "ms",
        Better::Lower,
        |_, w| millis(w.response.p95),
    ),
    web(
        "response_p99_ms",
        "response, 99 %",
        "ms",
        Better::Lower,
        |_, w| millis(w.response.p99),
    ),
];

/// A measure of what the clients of a domain's web servers saw.
const fn web(
    key: &'static str,
    title: &'static str,
    unit: &'static str,
    better: Better,
    of: fn(&Summary, &WebSummary) -> Option<f64>,
) -> Measure {
    Measure {
        key,
        title,
        unit,
        better,
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
}

fn micros(ns: Option<u64>) -> Option<f64> {
    ns.map(|ns| ns as f64 / 1e3)
}

fn millis(ns: Option<u64>) -> Option<f64> {
    ns.map(|ns| ns as f64 / 1e6)
}

/// The round trips of a domain that was pinged.
fn pings(domain: &DomainSummary) -> Option<Quantiles> {
    let network = domain.network?;
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
            Figure::Web(of) => of(summary, &domain.web?),
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

/// Whether `domain` competes for processors in any replication ([`Summary::competing`]).
pub fn competes(samples: &[Sample], domain: &str) -> bool {
    let name = format!("{domain}.{COMPETES}");
    samples.iter().any(|s| s.get(&name).is_some())
}

/// Jain's index, and of whose shares it is.
#[derive(Clone, PartialEq, Debug)]
pub struct Jain {
    /// Over the replications.
    pub index: Estimate,
    /// The domains that compete, in the order of creation.
    pub over: Vec<String>,
}

/// Jain's index of the shares of those of `domains` that compete in any replication;
/// `None` for fewer than two, or when none runs.
pub fn jain(samples: &[Sample], domains: &[String]) -> Option<Jain> {
    let share = MEASURES.iter().find(|m| m.key == "share_pct")?;
    let competing = domains.iter().filter(|domain| competes(samples, domain));
    let over: Vec<String> = competing.cloned().collect();
    let of = |sample: &Sample| {
        let shares = over.iter().map(|d| sample.get(&share.name(d)));
        domio_meter::jain_index(shares.map(Option::unwrap_or_default))
    };
    let indices: Vec<f64> = samples.iter().filter_map(of).collect();
    let index = Estimate::of(&indices).filter(|_| over.len() > 1)?;
    Some(Jain { index, over })
}

/// What to say of those of `domains`, with the numbers of their vcpus, that waited for a pcpu and
/// never ran in a replication, under the policy called `policy`.
pub fn starvation(samples: &[Sample], domains: &[(String, usize)], policy: &str) -> Option<String> {
    let starved = domains.iter().filter_map(|(name, vcpus)| {
        let key = format!("{name}.{STARVED}");
        let most = samples.iter().filter_map(|s| s.get(&key));
        let most = most.fold(0.0, f64::max) as usize;
        match most {
            0 => None,
            n if n >= *vcpus => Some(name.clone()),
            n => Some(format!("{n} of the {vcpus} vcpus of {name}")),
        }
    });
    let starved: Vec<String> = starved.collect();
    let advice = match policy {
        "null" => {
            "null gives a pcpu to one vcpu for ever: give the host more pcpus, or choose another \
             policy"
        }
        _ => "run for longer, or look at the policy with `domio explain`",
    };
    (!starved.is_empty()).then(|| {
        format!(
            "never ran under {policy}, though runnable: {}; {advice}",
            starved.join(", ")
        )
    })
}

/// Begin of the names of values that count dropped packets; the place follows.
const DROPPED: &str = "dropped.";

/// Notes in `sample` how many packets were dropped where.
pub fn note_drops(sample: &mut Sample, dropped: &[(Place, u64)]) {
    for (place, count) in dropped {
        sample.set(&format!("{DROPPED}{place}"), *count as f64);
    }
}

/// Whether the value of this name in a sample is one of these.
pub fn is_drop(name: &str) -> bool {
    name.starts_with(DROPPED)
}

/// Packets dropped in the measured time, by place, in the order of the places' names. A replication
/// that dropped none somewhere counts as zero there.
pub fn drops(samples: &[Sample]) -> Vec<(String, Estimate)> {
    let names = samples
        .iter()
        .flat_map(Sample::values)
        .map(|(name, _)| name);
    let places: BTreeSet<&str> = names.filter_map(|n| n.strip_prefix(DROPPED)).collect();
    let estimate = |place: &str| {
        let name = format!("{DROPPED}{place}");
        let counts = samples.iter().map(|s| s.get(&name).unwrap_or(0.0));
        Some((place.to_owned(), Estimate::of(&counts.collect::<Vec<_>>())?))
    };
    places.into_iter().filter_map(estimate).collect()
}

/// One table a measure, policies by domains, leaving out measures that no domain has.
pub fn comparisons(
    domains: &[String],
    policies: &[(String, Vec<Sample>)],
) -> Vec<(Measure, Comparison)> {
    let tables = MEASURES.iter().map(|measure| {
        let metrics = domains.iter().map(|domain| Metric {
            key: measure.name(domain),
            title: domain.clone(),
            unit: measure.unit.to_owned(),
            better: measure.better,
        });
        (*measure, Comparison::of(metrics.collect(), policies))
    });
    tables
        .filter(|(_, table)| {
            table
                .rows
                .iter()
                .flat_map(|r| &r.cells)
                .any(Option::is_some)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replication_without_drops_counts_as_zero() {
        let mut one = Sample::new().with("g1.share_pct", 20.0);
        note_drops(&mut one, &[(Place("NIC ring"), 6), (Place("bridge"), 1)]);
        let drops = drops(&[one, Sample::new()]);
        let means: Vec<_> = drops.iter().map(|(p, e)| (p.as_str(), e.mean)).collect();
        assert_eq!(means, [("NIC ring", 3.0), ("bridge", 0.5)]);
    }

    #[test]
    fn those_that_never_ran_are_named() {
        let one = Sample::new().with("g2.starved_vcpus", 1.0);
        let two = Sample::new().with("g3.starved_vcpus", 2.0);
        let domains = [("g1", 1), ("g2", 1), ("g3", 4)].map(|(n, v)| (n.to_owned(), v));
        let told = starvation(&[one, two], &domains, "null").expect("two starve");
        let head = "never ran under null, though runnable: g2, 2 of the 4 vcpus of g3; null gives";
        assert!(told.starts_with(head), "{told}");
        assert_eq!(starvation(&[Sample::new()], &domains, "null"), None);
        assert!(is_remark("g2.starved_vcpus") && is_remark("a.b.competes"));
        assert!(!is_remark("g2.share_pct") && !is_remark("competes"));
    }

    #[test]
    fn jain_is_of_those_that_compete() {
        let sample = |a: f64, b: f64| {
            let shares = Sample::new().with("a.share_pct", a).with("b.share_pct", b);
            shares.with("idle.share_pct", 0.0)
        };
        let names = ["a", "b", "idle"].map(str::to_owned);
        let equal = sample(50.0, 50.0);
        assert_eq!(jain(std::slice::from_ref(&equal), &names), None);
        let equal = equal.with("a.competes", 1.0).with("b.competes", 1.0);
        let jain = jain(&[equal], &names).expect("two compete");
        assert_eq!((jain.index.mean, jain.over), (1.0, names[..2].to_vec()));
    }

    #[test]
    fn tables_without_any_figure_are_left_out() {
        let one = Sample::new().with("g1.share_pct", 20.0);
        let tables = comparisons(&["g1".into(), "g2".into()], &[("null".into(), vec![one])]);
        assert_eq!(tables.len(), 1);
        let (measure, table) = &tables[0];
        assert_eq!(measure.title, "share");
        let cells = &table.rows[0].cells;
        assert_eq!(cells[0].map(|c| c.estimate.mean), Some(20.0));
        assert!(cells[1].is_none());
    }
}
