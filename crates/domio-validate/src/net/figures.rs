//! The figures of a recorded network beside those of simulations.

use super::Side;
use super::described::{DescribedFlow, DescribedLoad, DescribedNetwork};
use super::host::DOM0;
use super::seen::FlowSeen;
use super::truth::{TrueFlow, TrueQuantiles, Truth};
use crate::agreement::{DomainAgreement, FigureAgreement};
use crate::limits::{Compared, Judgement, Widening};
use crate::recording::DescribedDomain;
use domio_core::DomainId;
use domio_meter::{Account, Summary};
use std::borrow::Cow;

/// How far two recordings of one network are from each other, as a factor. Two were made twice
/// (`net-c1-rx` and `net-c1-rx2-burn`, with another start of the flows): throughputs are 0.04, 1
/// and 2.1 % apart.
const REPEATED: f64 = 1.02;

/// The same for shares, in percentage points of a pcpu: 0.1 in the first, 1 as for other recordings
/// of one pcpu.
const POINTS: f64 = 1.0;

/// The same on several pcpus, as for other recordings.
const POINTS_SMP: f64 = 3.0;

/// What is compared.
pub(super) struct Sides<'a> {
    pub recorded: Summary,
    pub simulated: Vec<Side>,
    pub described: &'a DescribedNetwork,
    pub truth: &'a Truth,
    /// By number of the described flow: that in the simulation, and the guest that has it.
    pub flows: &'a [(u32, DomainId)],
    pub smp: bool,
}

/// A figure before it is compared: its name, title, unit, recorded value, simulated ones, limit.
struct Figure {
    key: Cow<'static, str>,
    title: Cow<'static, str>,
    unit: &'static str,
    recorded: Option<f64>,
    simulated: Vec<Option<f64>>,
    limit: Option<Widening>,
    least: f64,
}

impl Sides<'_> {
    /// `domain` with all of its figures.
    pub fn domain(&self, domain: &DescribedDomain) -> DomainAgreement {
        let id = DomainId(domain.id);
        let mut figures = self.scheduling(id);
        figures.extend(self.batches(domain));
        let flows = self.described.flows.iter().zip(self.flows);
        for (number, (flow, (simulated, guest))) in flows.enumerate() {
            if *guest == id {
                figures.extend(self.flow(number, flow, *simulated, domain));
            }
        }
        let figures: Vec<FigureAgreement> = figures.into_iter().map(Figure::compare).collect();
        let differing = figures.iter();
        let differing = differing.filter(|f| f.compared.verdict == Judgement::Differs);
        DomainAgreement {
            id,
            name: domain.name.clone(),
            verdict: Judgement::of_all(figures.iter().map(|f| f.compared.verdict)),
            differs_in: differing.map(|f| f.figure.clone()).collect(),
            figures,
            reason: None,
        }
    }

    /// A factor as limit, where one is known: the emulator runs several pcpus in turn.
    fn factor(&self) -> Option<Widening> {
        (!self.smp).then_some(Widening::factor(REPEATED))
    }

    /// What the scheduler gave to domain `id`.
    fn scheduling(&self, id: DomainId) -> Vec<Figure> {
        let points = if self.smp { POINTS_SMP } else { POINTS };
        let of = |key: &'static str, title: &'static str, unit, limit, least, figure: Of| Figure {
            key: key.into(),
            title: title.into(),
            unit,
            recorded: value(&self.recorded, id, figure),
            simulated: self
                .simulated
                .iter()
                .map(|side| value(&side.summary, id, figure))
                .collect(),
            limit,
            least,
        };
        let share = Some(Widening::sum(points));
        let factor = self.factor();
        vec![
            of("share", "share of one pcpu", "%", share, POINTS, |s, a| {
                Some(s.percent(a.running))
            }),
            of("waiting", "waits for a pcpu", "%", share, POINTS, |s, a| {
                Some(s.percent(a.runnable))
            }),
            of("wakeups_per_s", "wake-ups", "1/s", factor, 0.0, |s, a| {
                Some(s.per_second(a.wakeups))
            }),
            of("switches_per_s", "switches", "1/s", factor, 0.0, |s, a| {
                Some(s.per_second(a.executions))
            }),
            of("run_us.p50", "run, p50", "us", factor, 0.0, |_, a| {
                us(a.runs.p50)
            }),
            of("run_us.p95", "run, p95", "us", factor, 0.0, |_, a| {
                us(a.runs.p95)
            }),
            of(
                "wake_to_run_us.p50",
                "wake to run, p50",
                "us",
                factor,
                0.0,
                |_, a| us(a.wake_to_run.p50),
            ),
            of(
                "wake_to_run_us.p95",
                "wake to run, p95",
                "us",
                factor,
                0.0,
                |_, a| us(a.wake_to_run.p95),
            ),
        ]
    }

    /// How many packets came with an interrupt, where the recording counted both.
    fn batches(&self, domain: &DescribedDomain) -> Option<Figure> {
        let id = DomainId(domain.id);
        let kernel = domain.ip.as_deref()?;
        let recorded = self.truth.packets_an_interrupt(kernel)?;
        let receives = self.flows.iter().any(|(_, guest)| *guest == id);
        receives.then(|| Figure {
            key: "packets_per_interrupt".into(),
            title: "packets an interrupt".into(),
            unit: "",
            recorded: Some(recorded),
            simulated: self
                .simulated
                .iter()
                .map(|side| side.net.packets_an_interrupt(id))
                .collect(),
            limit: self.factor(),
            least: 0.0,
        })
    }

    /// What came of `flow`, of that number, which is `simulated` in simulations; `domain` has it.
    fn flow(
        &self,
        number: usize,
        flow: &DescribedFlow,
        simulated: u32,
        domain: &DescribedDomain,
    ) -> Vec<Figure> {
        let Some(logged) = log_of(self.truth, flow, domain) else {
            return Vec::new();
        };
        let figure = |found: Found| Figure {
            key: format!("flow{number}.{}", found.key).into(),
            title: format!("{} to {}, {}", flow.src, flow.dst, found.title).into(),
            unit: found.unit,
            recorded: found.recorded,
            simulated: self
                .simulated
                .iter()
                .map(|side| {
                    let seen = side.net.flows.get(&simulated);
                    let seconds = side.summary.end.saturating_since(side.summary.start);
                    seen.and_then(|seen| (found.of)(seen, seconds.as_nanos() as f64 / 1e9))
                })
                .collect(),
            limit: self.factor(),
            least: 0.0,
        };
        let found = match flow.load {
            DescribedLoad::IcmpEcho { .. } => pings(logged),
            DescribedLoad::TcpStream { .. } => stream(logged),
            DescribedLoad::Udp { .. } => datagrams(logged),
        };
        // What no log counts is no figure.
        let counted = found.into_iter().filter(|f| f.recorded.is_some());
        counted.map(figure).collect()
    }
}

/// A figure of a flow: its name, title, unit, recorded value, and how it comes from what was seen.
struct Found {
    key: &'static str,
    title: &'static str,
    unit: &'static str,
    recorded: Option<f64>,
    of: OfFlow,
}

impl Found {
    const fn new(
        key: &'static str,
        title: &'static str,
        unit: &'static str,
        recorded: Option<f64>,
        of: OfFlow,
    ) -> Self {
        Found {
            key,
            title,
            unit,
            recorded,
            of,
        }
    }
}

/// Figures of pings: quantiles of the round trips, and how many there were.
fn pings(logged: &TrueFlow) -> [Found; 4] {
    let trips = logged.rtt_us;
    let of = |quantile: fn(TrueQuantiles) -> Option<f64>| trips.and_then(quantile);
    [
        Found::new(
            "rtt_us.p50",
            "round trip, p50",
            "us",
            of(|q| q.p50),
            |f, _| quantile(&f.round_trips, 50),
        ),
        Found::new(
            "rtt_us.p95",
            "round trip, p95",
            "us",
            of(|q| q.p95),
            |f, _| quantile(&f.round_trips, 95),
        ),
        Found::new(
            "rtt_us.p99",
            "round trip, p99",
            "us",
            of(|q| q.p99),
            |f, _| quantile(&f.round_trips, 99),
        ),
        Found::new("pings_per_s", "pings", "1/s", logged.pings_per_s, |f, s| {
            Some(f.round_trips.len() as f64 / s)
        }),
    ]
}

/// Figures of a stream: its throughput, and quantiles of the bytes in 100 ms.
fn stream(logged: &TrueFlow) -> [Found; 4] {
    let parts = whole_parts(&logged.bytes_per_100ms);
    let of = |percent| of_list(&parts, percent).map(|bytes| bytes / 1e6);
    [
        Found::new(
            "mbyte_per_s",
            "throughput",
            "MB/s",
            logged.mbyte_per_s,
            |f, s| Some(f.bytes.iter().sum::<u64>() as f64 / 1e6 / s),
        ),
        Found::new("mb_per_100ms.p5", "in 100 ms, p5", "MB", of(5), |f, _| {
            parts_of(f, 5)
        }),
        Found::new(
            "mb_per_100ms.p50",
            "in 100 ms, p50",
            "MB",
            of(50),
            |f, _| parts_of(f, 50),
        ),
        Found::new(
            "mb_per_100ms.p95",
            "in 100 ms, p95",
            "MB",
            of(95),
            |f, _| parts_of(f, 95),
        ),
    ]
}

/// Figures of datagrams: how many came, and quantiles of the times between two.
fn datagrams(logged: &TrueFlow) -> [Found; 4] {
    let gaps = logged.arrival_gaps_us;
    let of = |quantile: fn(TrueQuantiles) -> Option<f64>| gaps.and_then(quantile);
    let sum = |name: &str| logged.sum[name].as_f64();
    let span = sum("last").zip(sum("first")).map(|(b, a)| (b - a) / 1e9);
    let rate = sum("packets").zip(span).map(|(n, s)| (n - 1.0) / s);
    [
        Found::new("packets_per_s", "datagrams", "1/s", rate, |f, s| {
            Some(f.gaps.len() as f64 / s)
        }),
        Found::new("gap_us.p50", "gap, p50", "us", of(|q| q.p50), |f, _| {
            quantile(&f.gaps, 50)
        }),
        Found::new("gap_us.p95", "gap, p95", "us", of(|q| q.p95), |f, _| {
            quantile(&f.gaps, 95)
        }),
        Found::new("gap_us.p99", "gap, p99", "us", of(|q| q.p99), |f, _| {
            quantile(&f.gaps, 99)
        }),
    ]
}

/// A figure of a domain, from a summary and the domain's account there.
type Of = fn(&Summary, &Account) -> Option<f64>;

/// A figure of a flow that was seen for so many seconds.
type OfFlow = fn(&FlowSeen, f64) -> Option<f64>;

fn value(summary: &Summary, id: DomainId, figure: Of) -> Option<f64> {
    let account = summary.domain(id).map(|d| d.total).unwrap_or_default();
    figure(summary, &account)
}

fn us(ns: Option<u64>) -> Option<f64> {
    ns.map(|ns| ns as f64 / 1e3)
}

/// The quantile of so many percent of `list` (ns), in microseconds, as truth.json has it.
fn quantile(list: &[u64], percent: usize) -> Option<f64> {
    let list: Vec<f64> = list.iter().map(|ns| *ns as f64 / 1e3).collect();
    of_list(&list, percent)
}

fn of_list(list: &[f64], percent: usize) -> Option<f64> {
    let mut sorted = list.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
        .get((list.len() * percent / 100).min(list.len().checked_sub(1)?))
        .copied()
}

/// The parts of a window of 100 ms that are whole: the first and the last are not.
fn whole_parts<T: Clone>(parts: &[T]) -> Vec<T> {
    match parts {
        [_, whole @ .., _] => whole.to_vec(),
        _ => Vec::new(),
    }
}

/// The quantile of the bytes in 100 ms (10^6 bytes).
fn parts_of(flow: &FlowSeen, percent: usize) -> Option<f64> {
    let parts: Vec<f64> = whole_parts(&flow.bytes)
        .iter()
        .map(|b| *b as f64 / 1e6)
        .collect();
    of_list(&parts, percent)
}

/// The log of the end of `flow` that receives, or asks; `domain` is the guest of the flow.
fn log_of<'t>(
    truth: &'t Truth,
    flow: &DescribedFlow,
    domain: &DescribedDomain,
) -> Option<&'t TrueFlow> {
    let to_dom0 = flow.dst != domain.name && domain.id != DOM0.0;
    truth.flows.iter().find(|logged| match flow.load {
        DescribedLoad::IcmpEcho { .. } => logged.rtt_us.is_some(),
        DescribedLoad::Udp { .. } => logged.arrival_gaps_us.is_some(),
        DescribedLoad::TcpStream { .. } => {
            let end = match (to_dom0, domain.ip.as_deref()) {
                (true, _) => "dom0",
                (false, Some(ip)) => ip,
                (false, None) => return false,
            };
            logged.log.ends_with(&format!("sink-{end}.log"))
        }
    })
}

impl Figure {
    fn compare(self) -> FigureAgreement {
        FigureAgreement {
            figure: self.key,
            title: self.title,
            unit: self.unit.into(),
            compared: Compared::of(self.recorded, &self.simulated, self.limit, self.least),
        }
    }
}
