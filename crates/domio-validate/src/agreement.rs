//! Recorded beside simulated, and whether they agree.

use crate::ensemble::ensemble;
use crate::fit;
use crate::limits::{AgreementLimits, Compared, Judgement, Widening};
use crate::policy::PolicyState;
use crate::recording::{Recording, RecordingError};
use crate::simulated::{SimulatedHost, dispatches};
use domio_answer::{Maybe, rows};
use domio_core::DomainId;
use domio_core::accounted::PARKED;
use domio_meter::{Account, Meter, Summary};
use domio_replay::NamedRecord;
use domio_replay::named::copy_to;
use domio_vmm::Profile;
use rayon::prelude::*;
use std::borrow::Cow;

rows! {
    /// One figure of a domain.
    #[derive(Clone, PartialEq, Debug)]
    pub struct FigureAgreement {
        /// Which.
        pub figure: Cow<'static, str> = key("figure");
        /// Its name for people.
        pub title: Cow<'static, str> = fact("title");
        /// Its unit.
        pub unit: Cow<'static, str> = fact("unit");
        /// Both sides, and what follows.
        pub compared: Compared = fact("compared");
    }

    /// One domain of a recording.
    #[derive(Clone, PartialEq, Debug)]
    pub struct DomainAgreement {
        /// Xen's domid. Of a Linux host, each thread of a machine has a place here, and its number
        /// among all of them.
        pub id: DomainId = key("id");
        /// Its name.
        pub name: String = fact("name");
        /// Its figures: its share of one pcpu, the part of the time for which its vcpus were parked
        /// (where any was, recorded or simulated), median and 95 % of the lengths of its runs and
        /// of its times from wake-up to running, and how often it was switched in.
        pub figures: Vec<FigureAgreement> = parts("figures", []);
        /// What its figures come to: one that differs decides, then one that agrees.
        pub verdict: Judgement = fact("verdict");
        /// Which figures differ.
        pub differs_in: Vec<Cow<'static, str>> = fact("differs_in");
        /// Why figures are zero or missing, where that could not be expected.
        pub reason: Option<String> = fact("reason");
    }

    /// One recording.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Agreement {
        /// Name of the recording.
        pub name: String = key("recording");
        /// What its domains come to, in the same way. A recording of which nothing is judged cannot
        /// be told.
        pub verdict: Judgement = fact("verdict");
        /// Number of pcpus; over one, no limit but that of shares is known.
        pub pcpus: u16 = fact("pcpus");
        /// Number of simulations that the recording was compared with.
        pub simulations: usize = fact("simulations");
        /// What the search for the recorded decisions came to, if there was one.
        pub exact: Maybe<Followed> = fact("exact");
        /// By id.
        pub domains: Vec<DomainAgreement> = parts("domains", []);
        /// What else has to be known to judge the figures, a sentence each.
        pub remarks: Vec<String> = fact("remarks");
    }

    /// How far the best simulation of a search made the recorded decisions.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Followed {
        /// Dispatches that it made as recorded, in order and time.
        pub dispatches: usize = count("dispatches");
        /// Dispatches of the recording.
        pub of: usize = count("of");
        /// The first that it did not make.
        pub parts: Maybe<Parting> = fact("parts");
    }

    /// The first decision that a simulation does not make as recorded.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Parting {
        /// When, in seconds since the first record: the earlier of both sides.
        pub at_s: f64 = fact("at_s").unit("s");
        /// What is decided, as words that follow a name: "is dispatched".
        pub decision: String = fact("decision");
        /// About whom in the recording; null where nothing more is decided.
        pub recorded: Option<String> = fact("recorded");
        /// About whom in the simulation.
        pub simulated: Option<String> = fact("simulated");
    }
}

/// [`Agreement::check`] for a recording under the policy whose state is `P`.
pub(crate) fn check<P: PolicyState>(recording: &Recording) -> Result<Agreement, RecordingError> {
    let host = SimulatedHost::<P>::new(recording, &Profile::XEN_4_17_EMULATED);
    let host = usable(recording, host)?;
    let states = ensemble(&host);
    let limits = &AgreementLimits::REPEATABILITY;
    Ok(compare(recording, &host, &states, limits, None))
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

/// `recording` beside the simulations that begin in `states`; `exact` is what a search for them
/// came to.
pub fn compare<P: PolicyState>(
    recording: &Recording,
    host: &SimulatedHost<P>,
    states: &[P::Hidden],
    limits: &AgreementLimits,
    exact: Option<Followed>,
) -> Agreement {
    let smp = recording.description.pcpus > 1;
    let simulated: Vec<Summary> = states
        .par_iter()
        .map(|hidden| measure(&host.run(hidden)))
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
        simulations: states.len(),
        exact: Maybe(exact),
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
        let simulations: Vec<Option<f64>> = self.simulated.iter().map(of).collect();
        Compared::of(of(&self.recorded), &simulations, limit, least)
    }

    fn domain(&self, id: DomainId, name: &str, reason: Option<String>) -> DomainAgreement {
        let figures = self.figures(id);
        let verdicts = figures.iter().map(|f| f.compared.verdict);
        let verdict = Judgement::of_all(verdicts);
        let differing = figures
            .iter()
            .filter(|f| f.compared.verdict == Judgement::Differs);
        DomainAgreement {
            id,
            name: name.to_owned(),
            verdict,
            differs_in: differing.map(|f| f.figure.clone()).collect(),
            figures,
            reason,
        }
    }

    /// All figures of a domain.
    fn figures(&self, id: DomainId) -> Vec<FigureAgreement> {
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
        let share = self.figure(id, Some(Widening::sum(points)), point, &|s, a| {
            Some(s.percent(a.running))
        });
        // Shown without a limit: beside other guests parked time depends on when a period of the
        // cap begins, and no recording of a cap was repeated.
        let parked = self.figure(id, None, point, &|s, _| {
            s.figure(s.domain(id)?, PARKED).or(Some(0.0))
        });
        let parked = match self.smp {
            true => parked,
            false => parked.not_repeated(),
        };
        let is_parked = parked.recorded.is_some_and(|at| at > 0.0)
            || parked.range.is_some_and(|[_, most]| most > 0.0);
        let run = |by, figure: &Figure<'_>| self.figure(id, factor(by), 0.0, figure);
        let wait = |by, figure: &Figure<'_>| self.figure(id, wake(by), l.wake_us, figure);
        let never_runs = share.recorded == Some(0.0) && share.range == Some([0.0, 0.0]);
        let of_nobody = |compared: Compared| match never_runs {
            true => compared.of_nobody(),
            false => compared,
        };
        let switches = run(l.switches, &|s, a| Some(s.per_second(a.executions)));
        let first = ("share", "share of one pcpu", "%", of_nobody(share));
        let parked = is_parked.then_some(("parked", "parked", "% of time", parked));
        let others = [
            (
                "run_us.p50",
                "run, p50",
                "us",
                run(l.run_p50, &|_, a| us(a.runs.p50)),
            ),
            (
                "run_us.p95",
                "run, p95",
                "us",
                run(l.run_p95, &|_, a| us(a.runs.p95)),
            ),
            (
                "wake_to_run_us.p50",
                "wake to run, p50",
                "us",
                wait(l.wake_p50, &|_, a| us(a.wake_to_run.p50)),
            ),
            (
                "wake_to_run_us.p95",
                "wake to run, p95",
                "us",
                wait(l.wake_p95, &|_, a| us(a.wake_to_run.p95)),
            ),
            ("switches_per_s", "switches", "1/s", of_nobody(switches)),
        ];
        let figures = [first].into_iter().chain(parked).chain(others);
        figures
            .map(|(figure, title, unit, compared)| FigureAgreement {
                figure: figure.into(),
                title: title.into(),
                unit: unit.into(),
                compared,
            })
            .collect()
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
