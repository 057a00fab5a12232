//! What is measured of each domain of a simulated host, as values of a [`Sample`].

use crate::compare::{Better, Comparison, Metric};
use crate::sample::Sample;
use domio_core::DomainId;
use domio_meter::{DomainSummary, Quantiles, Summary};

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
    /// Whether it is of the domain's network: only domains with one have it.
    pub network: bool,
    of: fn(&Summary, &DomainSummary) -> Option<f64>,
}

/// The figures of a domain, in the order of tables. Those without a value in a run (no wake-up, no
/// completed run, no network) are not in its sample.
pub const MEASURES: [Measure; 14] = [
    Measure {
        key: "share_pct",
        title: "share",
        unit: "% of one pcpu",
        better: Better::Neither,
        network: false,
        of: |s, d| Some(s.percent(d.total.running)),
    },
    Measure {
        key: "waiting_pct",
        title: "waiting",
        unit: "% of time",
        better: Better::Lower,
        network: false,
        // Over all its vcpus, so that a domain of many does not seem to wait longer.
        of: |s, d| Some(s.percent(d.total.runnable) / d.vcpus.len().max(1) as f64),
    },
    Measure {
        key: "runs_per_s",
        title: "runs",
        unit: "1/s",
        better: Better::Neither,
        network: false,
        of: |s, d| Some(s.per_second(d.total.executions)),
    },
    Measure {
        key: "run_p50_us",
        title: "run, 50 %",
        unit: "us",
        better: Better::Neither,
        network: false,
        of: |_, d| micros(d.total.runs.p50),
    },
    Measure {
        key: "wake_p50_us",
        title: "wake to run, 50 %",
        unit: "us",
        better: Better::Lower,
        network: false,
        of: |_, d| micros(d.total.wake_to_run.p50),
    },
    Measure {
        key: "wake_p95_us",
        title: "wake to run, 95 %",
        unit: "us",
        better: Better::Lower,
        network: false,
        of: |_, d| micros(d.total.wake_to_run.p95),
    },
    Measure {
        key: "wake_p99_us",
        title: "wake to run, 99 %",
        unit: "us",
        better: Better::Lower,
        network: false,
        of: |_, d| micros(d.total.wake_to_run.p99),
    },
    Measure {
        key: "net_mbps",
        title: "delivered",
        unit: "Mb/s",
        better: Better::Higher,
        network: true,
        of: |s, d| {
            let network = d.network.filter(|n| n.delivered > 0)?;
            Some(s.mbit_per_second(network.delivered))
        },
    },
    Measure {
        key: "ping_replies",
        title: "pings answered",
        unit: "",
        better: Better::Higher,
        network: true,
        of: |_, d| Some(pings(d)?.count as f64),
    },
    Measure {
        key: "ping_mean_ms",
        title: "round trip, mean",
        unit: "ms",
        better: Better::Lower,
        network: true,
        of: |_, d| pings(d)?.mean.map(|ns| ns / 1e6),
    },
    Measure {
        key: "ping_sd_ms",
        title: "round trip, sd",
        unit: "ms",
        better: Better::Lower,
        network: true,
        of: |_, d| pings(d)?.sd.map(|ns| ns / 1e6),
    },
    Measure {
        key: "ping_p50_ms",
        title: "round trip, 50 %",
        unit: "ms",
        better: Better::Lower,
        network: true,
        of: |_, d| millis(pings(d)?.p50),
    },
    Measure {
        key: "ping_p95_ms",
        title: "round trip, 95 %",
        unit: "ms",
        better: Better::Lower,
        network: true,
        of: |_, d| millis(pings(d)?.p95),
    },
    Measure {
        key: "ping_p99_ms",
        title: "round trip, 99 %",
        unit: "ms",
        better: Better::Lower,
        network: true,
        of: |_, d| millis(pings(d)?.p99),
    },
];

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
}

/// Every measure of every domain of `domains`, which gives their names.
pub fn sample(summary: &Summary, domains: &[(DomainId, String)]) -> Sample {
    let mut sample = Sample::new();
    for (id, name) in domains {
        let Some(domain) = summary.domain(*id) else {
            continue;
        };
        for measure in &MEASURES {
            if let Some(value) = (measure.of)(summary, domain) {
                sample.set(&measure.name(name), value);
            }
        }
    }
    sample
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
