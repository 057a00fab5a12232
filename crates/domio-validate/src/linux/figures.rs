//! The figures of recorded threads beside those of simulated ones.

use super::Side;
use super::described::{DescribedLinux, DescribedWork};
use crate::agreement::{DomainAgreement, FigureAgreement};
use crate::limits::{Compared, Doubt, Judgement, Widening};
use domio_core::{DomainId, VcpuName};
use domio_meter::{Account, Summary};

/// How far the times on a cpu of one thread are apart in two recordings of one host, of which one
/// began at another moment of the tick, as a factor: 3753 and 3810 ms.
const RAN: f64 = 3_809.817 / 3_752.959;

/// The same of a thread that drops periods that it missed: 884 and 730 ms.
const RAN_OF_PERIODS: f64 = 884.0 / 730.0;

/// The same for waiting: 766 and 924 ms.
const WAITED: f64 = 924.064 / 765.752;

/// What tracing adds to a switch (us): the largest difference between what the kernel counts and
/// the trace.
const SWITCH_US: f64 = 4.0;

/// Waits below so many percent of the time are nothing to speak of.
const LEAST_WAIT: f64 = 0.1;

/// What is compared.
pub(super) struct Sides<'a> {
    pub described: &'a DescribedLinux,
    pub recorded: Side,
    pub simulated: Vec<Side>,
}

/// A figure of a thread, from a whole run and the thread's account of it.
type Figure = fn(&Summary, &Account) -> Option<f64>;

/// Its key, its title and its unit.
type Titles = (&'static str, &'static str, &'static str);

fn us(ns: Option<u64>) -> Option<f64> {
    ns.map(|ns| ns as f64 / 1e3)
}

/// Waiting for a cpu, held back by a limit or not: as the kernel counts it.
fn waited(s: &Summary, a: &Account) -> Option<f64> {
    Some(s.percent(a.runnable + a.offline))
}

impl Side {
    /// The account of the thread with this number.
    fn account(&self, thread: usize) -> Account {
        let name: VcpuName = self.names[thread];
        let domain = self.summary.domain(name.domain);
        let vcpus = domain.iter().flat_map(|d| &d.vcpus);
        let mut found = vcpus.filter(|v| v.name == name);
        found.next().map(|v| v.account).unwrap_or_default()
    }
}

impl Sides<'_> {
    /// Every thread, in the order of the description.
    pub fn threads(&self) -> Vec<DomainAgreement> {
        let vms = self.described.vms.iter();
        let threads = vms.flat_map(|vm| vm.threads.iter().map(move |t| (&vm.name, t)));
        let threads = threads.enumerate();
        let judged = threads.map(|(i, (vm, thread))| {
            let figures = self.figures(i, &thread.workload);
            let differing = figures.iter();
            let differing = differing.filter(|f| f.compared.verdict == Judgement::Differs);
            DomainAgreement {
                id: DomainId(i as u16),
                name: format!("{vm}:{}", thread.name),
                verdict: Judgement::of_all(figures.iter().map(|f| f.compared.verdict)),
                differs_in: differing.map(|f| f.figure.clone()).collect(),
                figures,
                reason: None,
            }
        });
        judged.collect()
    }

    fn figures(&self, thread: usize, work: &DescribedWork) -> Vec<FigureAgreement> {
        let burns = *work == DescribedWork::Burn;
        let drops = matches!(
            work,
            DescribedWork::Periodic { .. } | DescribedWork::Kick { .. }
        );
        let wait = Some(Widening {
            sum: Some(SWITCH_US),
            factor: Some(WAITED),
        });
        let ran = Some(Widening::factor(match drops {
            true => RAN_OF_PERIODS,
            false => RAN,
        }));
        let mut figures = vec![
            self.figure(thread, ("share", "ran", "%"), ran, 0.0, |s, a| {
                Some(s.percent(a.running))
            }),
            self.figure(
                thread,
                ("waiting", "waited", "%"),
                Some(Widening::factor(WAITED)),
                LEAST_WAIT,
                waited,
            ),
            self.figure(
                thread,
                ("switches_per_s", "switches", "1/s"),
                None,
                0.0,
                |s, a| Some(s.per_second(a.executions)),
            ),
            self.figure(
                thread,
                ("run_us.p50", "run, p50", "us"),
                None,
                0.0,
                |_, a| us(a.runs.p50),
            ),
            self.figure(
                thread,
                ("run_us.p95", "run, p95", "us"),
                None,
                0.0,
                |_, a| us(a.runs.p95),
            ),
        ];
        // A thread that never blocks wakes once, and that once is chance.
        if !burns {
            let quantiles: [(Titles, Figure); 3] = [
                (("wake_to_run_us.p50", "wake to run, p50", "us"), |_, a| {
                    us(a.wake_to_run.p50)
                }),
                (("wake_to_run_us.p95", "wake to run, p95", "us"), |_, a| {
                    us(a.wake_to_run.p95)
                }),
                (("wake_to_run_us.p99", "wake to run, p99", "us"), |_, a| {
                    us(a.wake_to_run.p99)
                }),
            ];
            let of = |(titles, figure)| self.figure(thread, titles, wait, SWITCH_US, figure);
            figures.extend(quantiles.map(of));
        }
        figures
    }

    fn figure(
        &self,
        thread: usize,
        (figure, title, unit): Titles,
        limit: Option<Widening>,
        least: f64,
        of: Figure,
    ) -> FigureAgreement {
        let value = |side: &Side| of(&side.summary, &side.account(thread));
        let simulations: Vec<Option<f64>> = self.simulated.iter().map(value).collect();
        let compared = Compared::of(value(&self.recorded), &simulations, limit, least);
        let compared = match compared.why {
            Some(Doubt::NoLimit) => compared.not_repeated(),
            _ => compared,
        };
        FigureAgreement {
            figure: figure.into(),
            title: title.into(),
            unit: unit.into(),
            compared,
        }
    }
}
