//! Recorded beside simulated, and whether they agree.

use crate::exact::{Settings, estimate};
use crate::fit;
use crate::recording::{Recording, RecordingError};
use crate::twin::Twin;
use domio_core::{DomainId, Record, Sink};
use domio_meter::{Account, Meter, Summary};
use domio_vmm::Profile;
use rayon::prelude::*;
use serde::Serialize;

/// How far a share may be off on one pcpu, in points of percent of a pcpu.
pub const SHARE_POINTS: f64 = 1.0;
/// The same on several pcpus, which the emulator runs in turn.
pub const SHARE_POINTS_SMP: f64 = 3.0;
/// How far the median run length may be off, relative.
pub const RUN_P50: f64 = 0.10;
/// How far the 95 % quantile of run lengths may be off, relative.
pub const RUN_P95: f64 = 0.15;
/// How far wake-to-run quantiles may be off, as a factor.
pub const WAKE_FACTOR: f64 = 1.5;
/// How far wake-to-run quantiles may be off in microseconds where that is wider.
pub const WAKE_US: f64 = 20.0;
/// How far the rate of context switches may be off, relative.
pub const SWITCHES: f64 = 0.15;

/// A figure of both sides; `None` where there is no sample.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Pair {
    /// From the recording.
    pub recorded: Option<f64>,
    /// From the simulation: the median of the twins that explain the recording equally well.
    pub simulated: Option<f64>,
}

/// Two quantiles of both sides, in microseconds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Quantiles {
    /// Median.
    pub p50: Pair,
    /// 95 % quantile.
    pub p95: Pair,
}

/// One domain of a recording.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DomainAgreement {
    /// Xen's domid.
    pub id: u16,
    /// Name.
    pub name: String,
    /// Running time in percent of one pcpu.
    pub share: Pair,
    /// Lengths of runs.
    pub run_us: Quantiles,
    /// From wake-up to running.
    pub wake_to_run_us: Quantiles,
    /// Times that it was switched in, per second.
    pub switches_per_s: Pair,
    /// Whether every required figure is within its limit.
    pub agrees: bool,
    /// Which figures are not.
    pub differs_in: Vec<&'static str>,
    /// Why figures are zero or missing, where that could not be expected.
    pub reason: Option<String>,
}

/// One recording.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Agreement {
    /// Name of the recording.
    pub name: String,
    /// Whether every domain agrees.
    pub agrees: bool,
    /// Number of pcpus; over one, only shares are required to agree.
    pub pcpus: u16,
    /// Dispatches in the estimation window that the twin made as recorded, of how many.
    pub matched: (usize, usize),
    /// By domain.
    pub domains: Vec<DomainAgreement>,
    /// What else has to be known to judge the figures, a sentence each.
    pub remarks: Vec<String>,
}

impl Agreement {
    /// Simulates `recording` and compares.
    ///
    /// # Errors
    /// [`RecordingError::Unusable`] when its description cannot be simulated.
    pub fn check(recording: &Recording) -> Result<Agreement, RecordingError> {
        Agreement::check_with(recording, &Settings::default())
    }

    /// As [`Agreement::check`], with a search for the start state of the caller's choice.
    ///
    /// # Errors
    /// As [`Agreement::check`].
    pub fn check_with(
        recording: &Recording,
        settings: &Settings,
    ) -> Result<Agreement, RecordingError> {
        let twin = Twin::new(recording, &Profile::XEN_4_17_EMULATED).map_err(|problem| {
            RecordingError::Unusable {
                name: recording.name.clone(),
                problem,
            }
        })?;
        let estimate = estimate(&twin, &recording.records, settings);
        let smp = recording.description.pcpus > 1;
        let simulated: Vec<Summary> = estimate
            .equals
            .par_iter()
            .map(|hidden| measure(&twin.run(hidden), smp))
            .collect();
        let recorded = measure(&recording.records, smp);
        let domains: Vec<DomainAgreement> = recording
            .description
            .domains
            .iter()
            .map(|d| {
                let compared = compare(DomainId(d.id), &d.name, &recorded, &simulated, smp);
                let account = recorded.domain(DomainId(d.id)).map(|d| d.total);
                let reason = fit::reason(d, recording, &account.unwrap_or_default());
                DomainAgreement { reason, ..compared }
            })
            .collect();
        Ok(Agreement {
            name: recording.name.clone(),
            agrees: domains.iter().all(|d| d.agrees),
            pcpus: recording.description.pcpus,
            matched: (estimate.matched, estimate.of),
            domains,
            remarks: fit::remarks(recording, estimate.of),
        })
    }
}

/// The figures of `records`. With several pcpus (`smp`) they go to the last record of any kind: one
/// who has a pcpu to himself may not change for seconds, and where his last change lies is chance.
fn measure(records: &[Record], smp: bool) -> Summary {
    let mut meter = Meter::new();
    for record in records {
        meter.record(record);
    }
    match records.last() {
        Some(last) if smp => meter.finish_at(last.at),
        _ => meter.finish(),
    }
}

fn compare(
    id: DomainId,
    name: &str,
    recorded: &Summary,
    simulated: &[Summary],
    smp: bool,
) -> DomainAgreement {
    let figure = |s: &Summary, f: &Figure<'_>| {
        let account = s.domain(id).map(|d| d.total).unwrap_or_default();
        f(s, &account)
    };
    let pair = |f: &Figure<'_>| Pair {
        recorded: figure(recorded, f),
        simulated: median(simulated.iter().filter_map(|s| figure(s, f)).collect()),
    };
    let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
    let share = pair(&|s, a| Some(s.percent(a.running)));
    let switches_per_s = pair(&|s, a| Some(s.per_second(a.executions)));
    let run_us = Quantiles {
        p50: pair(&|_, a| us(a.runs.p50)),
        p95: pair(&|_, a| us(a.runs.p95)),
    };
    let wake_to_run_us = Quantiles {
        p50: pair(&|_, a| us(a.wake_to_run.p50)),
        p95: pair(&|_, a| us(a.wake_to_run.p95)),
    };
    let mut differs_in = Vec::new();
    let mut require = |what, holds: bool| {
        if !holds {
            differs_in.push(what);
        }
    };
    let points = if smp { SHARE_POINTS_SMP } else { SHARE_POINTS };
    require("share", share.within(|r, s| (r - s).abs() <= points));
    if !smp {
        require("run_us.p50", run_us.p50.within_relative(RUN_P50));
        require("run_us.p95", run_us.p95.within_relative(RUN_P95));
        require(
            "wake_to_run_us.p50",
            wake_to_run_us.p50.within(near_in_time),
        );
        require(
            "wake_to_run_us.p95",
            wake_to_run_us.p95.within(near_in_time),
        );
        require("switches_per_s", switches_per_s.within_relative(SWITCHES));
    }
    DomainAgreement {
        id: id.0,
        name: name.to_owned(),
        share,
        run_us,
        wake_to_run_us,
        switches_per_s,
        agrees: differs_in.is_empty(),
        differs_in,
        reason: None,
    }
}

/// A figure of a domain, from a whole run and the domain's account of it.
type Figure<'a> = dyn Fn(&Summary, &Account) -> Option<f64> + 'a;

/// The median, the upper of two; `None` of nothing.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn near_in_time(recorded: f64, simulated: f64) -> bool {
    let factor = recorded.max(simulated) <= WAKE_FACTOR * recorded.min(simulated);
    factor || (recorded - simulated).abs() <= WAKE_US
}

impl Pair {
    /// Whether both sides have a value that satisfy `test`, or neither has one.
    fn within(&self, test: impl Fn(f64, f64) -> bool) -> bool {
        match (self.recorded, self.simulated) {
            (Some(r), Some(s)) => test(r, s),
            (None, None) => true,
            _ => false,
        }
    }

    fn within_relative(&self, limit: f64) -> bool {
        self.within(|r, s| (r - s).abs() <= limit * r.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{Instant, Kind, PcpuId, Runstate, VcpuName};

    #[test]
    fn who_runs_alone_counts_up_to_the_end_of_the_trace_of_several_pcpus() {
        let [alone, other] = [1, 2].map(|id| VcpuName::new(DomainId(id), 0));
        let at = Instant::from_nanos;
        let change =
            |ns, pcpu, vcpu, old, new| Record::runstate(at(ns), PcpuId(pcpu), vcpu, old, new);
        let records = [
            change(0, 1, alone, Runstate::Runnable, Runstate::Running),
            change(10, 0, other, Runstate::Blocked, Runstate::Runnable),
            change(20, 0, other, Runstate::Runnable, Runstate::Running),
            Record::new(at(100), PcpuId(1), Kind::Continue, alone),
        ];
        let shares = |smp| {
            let summary = measure(&records, smp);
            [1, 2].map(|id| {
                let account = summary.domain(DomainId(id)).expect("it has records").total;
                summary.percent(account.running)
            })
        };
        assert_eq!(shares(true), [100.0, 80.0]);
        assert_eq!(shares(false), [0.0, 0.0], "up to each one's last change");
    }
}
