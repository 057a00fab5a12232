//! Recorded beside simulated, and whether they agree.

use crate::ensemble::ensemble;
use crate::fit;
use crate::limits::{AgreementLimits, Compared, Judgement, Widening};
use crate::policy::PolicyState;
use crate::recording::{Recording, RecordingError};
use crate::twin::{Twin, dispatches};
use domio_core::DomainId;
use domio_meter::{Account, Meter, Summary};
use domio_replay::NamedRecord;
use domio_replay::named::copy_to;
use domio_vmm::Profile;
use rayon::prelude::*;
use serde::Serialize;

/// Two quantiles of both sides, in microseconds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct ComparedQuantiles {
    /// Median.
    pub p50: Compared,
    /// 95 % quantile.
    pub p95: Compared,
}

/// One domain of a recording.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DomainAgreement {
    /// Xen's domid.
    pub id: u16,
    /// Name.
    pub name: String,
    /// Running time in percent of one pcpu.
    pub share: Compared,
    /// Lengths of runs.
    pub run_us: ComparedQuantiles,
    /// From wake-up to running.
    pub wake_to_run_us: ComparedQuantiles,
    /// Times that it was switched in, per second.
    pub switches_per_s: Compared,
    /// What its figures come to.
    pub verdict: Judgement,
    /// Which figures are outside of their limits.
    pub differs_in: Vec<&'static str>,
    /// Doubt figures are zero or missing, where that could not be expected.
    pub reason: Option<String>,
}

impl DomainAgreement {
    /// Every figure that is compared, with its name.
    pub fn figures(&self) -> [(&'static str, &Compared); 6] {
        [
            ("share", &self.share),
            ("run_us.p50", &self.run_us.p50),
            ("run_us.p95", &self.run_us.p95),
            ("wake_to_run_us.p50", &self.wake_to_run_us.p50),
            ("wake_to_run_us.p95", &self.wake_to_run_us.p95),
            ("switches_per_s", &self.switches_per_s),
        ]
    }
}

/// One recording.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Agreement {
    /// Name of the recording.
    pub name: String,
    /// What its domains come to. A recording of which nothing is judged cannot be told.
    pub verdict: Judgement,
    /// Number of pcpus; over one, no limit but that of shares is known.
    pub pcpus: u16,
    /// Number of twins that the recording was compared with.
    pub twins: usize,
    /// What the search for the recorded decisions came to, if there was one.
    pub exact: Option<Followed>,
    /// By domain.
    pub domains: Vec<DomainAgreement>,
    /// What else has to be known to judge the figures, a sentence each.
    pub remarks: Vec<String>,
}

/// How far the best twin of a search made the recorded decisions.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Followed {
    /// Dispatches that it made as recorded, in order and time.
    pub dispatches: usize,
    /// Dispatches of the recording.
    pub of: usize,
    /// The first that it did not make.
    pub parts: Option<Parting>,
}

/// The first decision that a twin does not make as recorded.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Parting {
    /// When, in seconds since the first record: the earlier of both sides.
    pub at_s: f64,
    /// What is decided, as words that follow a name: "is dispatched".
    pub decision: String,
    /// About whom in the recording; `None` where nothing more is decided.
    pub recorded: Option<String>,
    /// About whom in the twin.
    pub simulated: Option<String>,
}

/// [`Agreement::check`] for a recording under the policy whose state is `P`.
pub(crate) fn check<P: PolicyState>(recording: &Recording) -> Result<Agreement, RecordingError> {
    let twin = Twin::<P>::new(recording, &Profile::XEN_4_17_EMULATED);
    let twin = usable(recording, twin)?;
    let states = ensemble(&twin);
    let limits = &AgreementLimits::REPEATABILITY;
    Ok(compare(recording, &twin, &states, limits, None))
}

/// What `result` holds, or that `recording` cannot be used because of the sentence in it.
///
/// # Errors
/// [`RecordingError::Unusable`] with the sentence.
pub fn usable<T>(recording: &Recording, result: Result<T, String>) -> Result<T, RecordingError> {
    result.map_err(|problem| RecordingError::Unusable {
        name: recording.name.clone(),
        problem,
    })
}

/// `recording` beside the twins that begin in `states`; `exact` is what a search for them came to.
pub fn compare<P: PolicyState>(
    recording: &Recording,
    twin: &Twin<P>,
    states: &[P::Hidden],
    limits: &AgreementLimits,
    exact: Option<Followed>,
) -> Agreement {
    let smp = recording.description.pcpus > 1;
    let simulated: Vec<Summary> = states
        .par_iter()
        .map(|hidden| measure(&twin.run(hidden)))
        .collect();
    let sides = Sides {
        recorded: measure(&recording.records),
        simulated,
        smp,
        limits,
    };
    let domains: Vec<DomainAgreement> = recording
        .description
        .domains
        .iter()
        .map(|d| {
            let account = sides.recorded.domain(DomainId(d.id)).map(|d| d.total);
            let reason = fit::reason(d, recording, &account.unwrap_or_default());
            sides.domain(DomainId(d.id), &d.name, reason)
        })
        .collect();
    let pcpus = usize::from(recording.description.pcpus);
    let dispatched = dispatches(&recording.records, pcpus);
    let dispatched = dispatched.iter().map(Vec::len).sum();
    let verdict = match Judgement::of_all(domains.iter().map(|d| d.verdict)) {
        Judgement::NotJudged => Judgement::CannotTell,
        verdict => verdict,
    };
    Agreement {
        name: recording.name.clone(),
        verdict,
        pcpus: recording.description.pcpus,
        twins: states.len(),
        exact,
        domains,
        remarks: fit::remarks(recording, dispatched),
    }
}

/// The figures of `records`, up to the last one.
fn measure(records: &[NamedRecord]) -> Summary {
    let mut meter = Meter::new();
    copy_to(records, &mut meter);
    meter.finish()
}

/// What is compared, and how.
struct Sides<'a> {
    recorded: Summary,
    simulated: Vec<Summary>,
    smp: bool,
    limits: &'a AgreementLimits,
}

impl Sides<'_> {
    /// A figure of a domain within `limit`, where one is known. Below `least` it is nothing to
    /// speak of.
    fn figure(
        &self,
        id: DomainId,
        limit: Option<Widening>,
        least: f64,
        figure: &Figure<'_>,
    ) -> Compared {
        let of = |s: &Summary| {
            let account = s.domain(id).map(|d| d.total).unwrap_or_default();
            figure(s, &account)
        };
        let twins: Vec<Option<f64>> = self.simulated.iter().map(of).collect();
        Compared::of(of(&self.recorded), &twins, limit, least)
    }

    fn domain(&self, id: DomainId, name: &str, reason: Option<String>) -> DomainAgreement {
        let l = self.limits;
        let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
        let points = match self.smp {
            true => l.share_points_smp,
            false => l.share_points,
        };
        // The emulator runs several pcpus in turn, so that nothing but shares has a limit there.
        let factor = |by| (!self.smp).then_some(Widening::factor(by));
        let wake = |by| {
            let sum = Some(l.wake_us);
            factor(by).map(|limit| Widening { sum, ..limit })
        };
        // A point is what shares of two recordings differ by, whatever the limit.
        let point = AgreementLimits::REPEATABILITY.share_points;
        let mut share = self.figure(id, Some(Widening::sum(points)), point, &|s, a| {
            Some(s.percent(a.running))
        });
        let mut switches_per_s = self.figure(id, factor(l.switches), 0.0, &|s, a| {
            Some(s.per_second(a.executions))
        });
        if share.recorded == Some(0.0) && share.range == Some([0.0, 0.0]) {
            share = share.of_nobody();
            switches_per_s = switches_per_s.of_nobody();
        }
        let run_us = ComparedQuantiles {
            p50: self.figure(id, factor(l.run_p50), 0.0, &|_, a| us(a.runs.p50)),
            p95: self.figure(id, factor(l.run_p95), 0.0, &|_, a| us(a.runs.p95)),
        };
        let wait = |by, figure: &Figure<'_>| self.figure(id, wake(by), l.wake_us, figure);
        let wake_to_run_us = ComparedQuantiles {
            p50: wait(l.wake_p50, &|_, a| us(a.wake_to_run.p50)),
            p95: wait(l.wake_p95, &|_, a| us(a.wake_to_run.p95)),
        };
        let mut domain = DomainAgreement {
            id: id.0,
            name: name.to_owned(),
            share,
            run_us,
            wake_to_run_us,
            switches_per_s,
            verdict: Judgement::NotJudged,
            differs_in: Vec::new(),
            reason,
        };
        let figures = domain.figures();
        let verdict = Judgement::of_all(figures.iter().map(|(_, figure)| figure.verdict));
        let differing = figures
            .iter()
            .filter(|(_, f)| f.verdict == Judgement::Differs);
        domain.differs_in = differing.map(|(what, _)| *what).collect();
        domain.verdict = verdict;
        domain
    }
}

/// A figure of a domain, from a whole run and the domain's account of it.
type Figure<'a> = dyn Fn(&Summary, &Account) -> Option<f64> + 'a;

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{Instant, Kind, PcpuId, Runstate, VcpuName};

    #[test]
    fn who_runs_alone_counts_up_to_the_end_of_the_trace() {
        let [alone, other] = [1, 2].map(|id| VcpuName::new(DomainId(id), 0));
        let at = Instant::from_nanos;
        let change =
            |ns, pcpu, vcpu, old, new| NamedRecord::runstate(at(ns), PcpuId(pcpu), vcpu, old, new);
        let records = [
            change(0, 1, alone, Runstate::Runnable, Runstate::Running),
            change(10, 0, other, Runstate::Blocked, Runstate::Runnable),
            change(20, 0, other, Runstate::Runnable, Runstate::Running),
            NamedRecord::new(at(100), PcpuId(1), Kind::Continue, alone),
        ];
        let summary = measure(&records);
        let shares = [1, 2].map(|id| {
            let account = summary.domain(DomainId(id)).expect("it has records").total;
            summary.percent(account.running)
        });
        assert_eq!(shares, [100.0, 80.0]);
    }
}
