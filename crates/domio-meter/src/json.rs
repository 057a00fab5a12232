//! The JSON of `domio trace summary --json`.

use domio_core::{Figure, FigureTable};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::{Account, DomainTally, DriverSumsJson, InOrder, Quantiles, Summary, TallyValue};

/// A summary as JSON: times in nanoseconds (`_ns`), lengths in microseconds (`_us`), `null` where
/// there is no sample.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SummaryJson {
    /// Measured time: from the first to the last record.
    pub seconds: f64,
    /// Counts a second of the clock that the file's times were converted with.
    pub tsc_hz: u64,
    /// Records of all kinds.
    pub records: u64,
    /// Records that Xen dropped.
    pub lost_records: u64,
    /// Whether the file ends too early; the figures are of what is there.
    pub truncated: bool,
    /// Whether the trace tells of runstates. If not, there are no figures of domains and pcpus.
    pub runstates: bool,
    /// Jain's index of the running times of the guests in `jain_over`: 1 when all are equal, one
    /// over their number when one has it all; `null` for fewer than two.
    pub jain: Option<f64>,
    /// The guests that compete, by id: those that hardly sleep. Others, and the control domain, get
    /// what they ask for, whatever the policy does.
    pub jain_over: Vec<u16>,
    /// By id; 32767 is the idle domain.
    pub domains: Vec<DomainJson>,
    /// The tables of the domains' figures.
    #[serde(skip)]
    pub tables: Vec<&'static FigureTable>,
    /// For whom driver domains worked, by id; left out where the trace does not tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub driver_work: Vec<DriverSumsJson>,
    /// By number.
    pub pcpus: Vec<PcpuJson>,
    /// How evenly boosts are spread over pcpus: their mean by the largest number on one; left out
    /// where the trace tells of none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boost_balance: Option<f64>,
    /// Records that no class declares, by what they are called; left out where there are none.
    #[serde(skip_serializing_if = "InOrder::is_empty")]
    pub undeclared: InOrder<u64>,
}

/// A domain: sums over its vcpus, quantiles of their samples pooled.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DomainJson {
    /// Xen's domid.
    pub id: u16,
    /// The figures.
    #[serde(flatten)]
    pub account: AccountJson,
    /// By index.
    pub vcpus: Vec<VcpuJson>,
    /// Its figures, by key, as classes declare them.
    pub figures: FiguresJson,
    /// What records add to; left out where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tallies: Vec<TallyJson>,
}

/// Figures with their values, a map by key in JSON.
#[derive(Clone, PartialEq, Debug)]
pub struct FiguresJson(pub Vec<(&'static Figure, f64)>);

impl Serialize for FiguresJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (figure, value) in &self.0 {
            map.serialize_entry(figure.key, value)?;
        }
        map.end()
    }
}

/// What records add to, as their class declares, see [`DomainTally`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct TallyJson {
    /// The declared name.
    pub name: &'static str,
    /// What is counted, as [`Unit::ALL`](domio_core::Unit::ALL) names it.
    pub unit: &'static str,
    /// The count or sum, or the number of samples.
    pub value: u64,
    /// Quantiles of the samples, in the unit; left out for counts and sums.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<SamplesJson>,
}

/// Quantiles of samples in their own unit.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SamplesJson {
    /// 5 % of the samples are below.
    pub p5: Option<u64>,
    /// The median.
    pub p50: Option<u64>,
    /// 95 % of the samples are below.
    pub p95: Option<u64>,
    /// 99 % of the samples are below.
    pub p99: Option<u64>,
    /// The largest sample.
    pub max: Option<u64>,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Standard deviation.
    pub sd: Option<f64>,
    /// Whether the quantiles are samples themselves; otherwise they are right to 0.1 %.
    pub exact: bool,
}

/// A vcpu.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct VcpuJson {
    /// Index inside the domain.
    pub index: u16,
    /// The figures.
    #[serde(flatten)]
    pub account: AccountJson,
}

/// Figures of a domain or a vcpu, see [`Account`].
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AccountJson {
    /// On a pcpu.
    pub running_ns: u64,
    /// Runnable without a pcpu.
    pub runnable_ns: u64,
    /// Blocked.
    pub blocked_ns: u64,
    /// Paused or parked.
    pub offline_ns: u64,
    /// Not known, for lost records.
    pub unknown_ns: u64,
    /// Part of `runnable_ns` that followed a wake-up.
    pub waited_after_wake_ns: u64,
    /// Part of `runnable_ns` that followed a preemption.
    pub waited_after_preempt_ns: u64,
    /// The rest of `runnable_ns`.
    pub waited_other_ns: u64,
    /// `running_ns` in percent of one pcpu over the measured time.
    pub share_percent: f64,
    /// Times a second that it was put on a pcpu.
    pub executions_per_second: f64,
    /// Completed runs.
    pub runs: u64,
    /// Wake-ups that led to running.
    pub wakes: u64,
    /// Lengths of completed runs.
    pub run_us: MicrosJson,
    /// From wake-up to running.
    pub wake_to_run_us: MicrosJson,
}

/// Quantiles in microseconds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct MicrosJson {
    /// 5 % of the samples are below.
    pub p5: Option<f64>,
    /// The median.
    pub p50: Option<f64>,
    /// 95 % of the samples are below.
    pub p95: Option<f64>,
    /// 99 % of the samples are below.
    pub p99: Option<f64>,
    /// The largest sample.
    pub max: Option<f64>,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Whether the quantiles are samples themselves; otherwise they are right to 0.1 %.
    pub exact: bool,
}

/// A pcpu.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct PcpuJson {
    /// Number.
    pub id: u16,
    /// A vcpu of a domain ran.
    pub busy_ns: u64,
    /// The idle vcpu ran.
    pub idle_ns: u64,
    /// Context switches to another vcpu, idle or not.
    pub switches: u64,
    /// The same, a second.
    pub switches_per_second: f64,
    /// Boosts of vcpus in its run queue; left out where the trace tells of none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boosts: Option<u64>,
}

impl SummaryJson {
    /// `summary` of a file whose clock counts `tsc_hz` a second, and that does not end too early.
    pub fn new(summary: &Summary, tsc_hz: u64) -> Self {
        let competing = summary.competing();
        let domains = summary.domains.iter().map(|d| DomainJson {
            id: d.id.0,
            account: account(summary, &d.total),
            vcpus: d
                .vcpus
                .iter()
                .map(|v| VcpuJson {
                    index: v.name.index,
                    account: account(summary, &v.account),
                })
                .collect(),
            figures: FiguresJson(summary.figures(d)),
            tallies: d.tallies.iter().map(tally).collect(),
        });
        let boost_balance = summary.boost_balance();
        let pcpus = summary.pcpus.iter().map(|p| PcpuJson {
            id: p.id.0,
            busy_ns: p.busy,
            idle_ns: p.idle,
            switches: p.switches,
            switches_per_second: summary.per_second(p.switches),
            boosts: boost_balance.map(|_| p.boosts),
        });
        SummaryJson {
            seconds: summary.seconds(),
            tsc_hz,
            records: summary.records,
            lost_records: summary.lost_records,
            truncated: false,
            runstates: summary.runstates,
            jain: summary.jain(&competing).filter(|_| competing.len() > 1),
            jain_over: competing.iter().map(|id| id.0).collect(),
            domains: domains.collect(),
            tables: summary.tables.clone(),
            driver_work: summary
                .driver_work
                .iter()
                .map(DriverSumsJson::new)
                .collect(),
            pcpus: pcpus.collect(),
            boost_balance,
            undeclared: InOrder(summary.undeclared.clone()),
        }
    }
}

fn tally(tally: &DomainTally) -> TallyJson {
    let (value, samples) = match tally.value {
        TallyValue::Sum(sum) => (sum, None),
        TallyValue::Samples(q) => (q.count, Some(samples(&q))),
    };
    TallyJson {
        name: tally.name,
        unit: tally.unit.name(),
        value,
        samples,
    }
}

fn samples(q: &Quantiles) -> SamplesJson {
    SamplesJson {
        p5: q.p5,
        p50: q.p50,
        p95: q.p95,
        p99: q.p99,
        max: q.max,
        mean: q.mean,
        sd: q.sd,
        exact: q.exact,
    }
}

fn account(summary: &Summary, a: &Account) -> AccountJson {
    AccountJson {
        running_ns: a.running,
        runnable_ns: a.runnable,
        blocked_ns: a.blocked,
        offline_ns: a.offline,
        unknown_ns: a.unknown,
        waited_after_wake_ns: a.waited_after_wake,
        waited_after_preempt_ns: a.waited_after_preempt,
        waited_other_ns: a.waited_other,
        share_percent: summary.percent(a.running),
        executions_per_second: summary.per_second(a.executions),
        runs: a.runs.count,
        wakes: a.wake_to_run.count,
        run_us: micros(&a.runs),
        wake_to_run_us: micros(&a.wake_to_run),
    }
}

fn micros(q: &Quantiles) -> MicrosJson {
    let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
    MicrosJson {
        p5: us(q.p5),
        p50: us(q.p50),
        p95: us(q.p95),
        p99: us(q.p99),
        max: us(q.max),
        mean: q.mean.map(|ns| ns / 1e3),
        exact: q.exact,
    }
}
