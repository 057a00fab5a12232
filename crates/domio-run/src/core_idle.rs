//! Core scheduling: for how long threads idled because the other vcpus of a unit had nothing to
//! do, as values of a [`Sample`].
//!
//! A unit has all threads of its core. A thread whose vcpu is blocked idles, although vcpus of
//! other domains may wait. Xen shows the time as that of an idle vcpu, which is part of the unit.

use crate::sample::Sample;
use domio_core::accounted::CORE_IDLE;
use domio_core::{ActorId, DomainId, Duration, Instant, Names, Record, Runstate, Sink};
use std::collections::BTreeMap;

/// A sink that takes the time in which a thread idles while another thread of its core runs a vcpu,
/// by the domain of the vcpu. What comes in continues to the sink inside.
#[derive(Debug)]
pub(crate) struct CoreIdle<S> {
    /// Threads of a core.
    threads: usize,
    /// Who runs on each pcpu; nobody where an idle vcpu does.
    runs: Vec<Option<(ActorId, DomainId)>>,
    /// By core: until when its time is in `idle`.
    until: Vec<Instant>,
    /// Time of threads, by domain.
    idle: BTreeMap<DomainId, Duration>,
    sink: S,
}

impl<S> CoreIdle<S> {
    /// On cores of `threads` threads each, before the first record.
    pub(crate) fn new(threads: usize, sink: S) -> Self {
        CoreIdle {
            threads,
            runs: Vec::new(),
            until: Vec::new(),
            idle: BTreeMap::new(),
            sink,
        }
    }

    /// Notes in `sample` how long threads idled within `measured`, in percent of one pcpu, and
    /// returns the sink inside.
    pub(crate) fn note(
        self,
        sample: &mut Sample,
        domains: &[(DomainId, String)],
        measured: Duration,
    ) -> S {
        for (id, name) in domains {
            let idle = self.idle.get(id).map_or(0, |idle| idle.as_nanos());
            let percent = idle as f64 * 100.0 / measured.as_nanos() as f64;
            sample.set(&format!("{name}.{CORE_IDLE}"), percent);
        }
        self.sink
    }

    /// Time passes on the core of `pcpu` until `now`.
    fn pass(&mut self, pcpu: usize, now: Instant) {
        let core = pcpu / self.threads;
        if self.until.len() <= core {
            self.until.resize(core + 1, now);
            self.runs.resize((core + 1) * self.threads, None);
        }
        let passed = now.saturating_since(self.until[core]);
        self.until[core] = now;
        let runs = &self.runs[core * self.threads..][..self.threads];
        if let Some((_, domain)) = runs.iter().flatten().next() {
            let idle = runs.iter().filter(|run| run.is_none()).count() as u64;
            *self.idle.entry(*domain).or_default() += passed * idle;
        }
    }
}

impl<S: Sink> Sink for CoreIdle<S> {
    const STAGES: bool = S::STAGES;
    const OWNERS: bool = S::OWNERS;

    fn record(&mut self, names: &Names, record: &Record) {
        let pcpu = record.pcpu.index();
        for (actor, _, new) in record.changes().into_iter().flatten() {
            self.pass(pcpu, record.at);
            let run = &mut self.runs[pcpu];
            match (names.vcpu(actor), new) {
                (Some(vcpu), Runstate::Running) => {
                    *run = (!vcpu.is_idle()).then_some((actor, vcpu.domain));
                }
                _ if run.is_some_and(|(running, _)| running == actor) => *run = None,
                _ => {}
            }
        }
        if S::ENABLED {
            self.sink.record(names, record);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver_work::OwnersOnly;
    use crate::simulate::measured;
    use domio_scenario::{NoReplay, Scenario};

    /// Figures of a core of two threads: the domain `one` computes on one of two vcpus for half of
    /// the time, and `two` on both vcpus whenever it is let.
    fn figures(gran: &str) -> Sample {
        let text = r#"
            run.duration_s = 4
            scheduler.policy = "credit"
            host = { cores = 1, threads = 2, sched_gran = "GRAN" }
            [[domain]]
            name = "one"
            vcpus = 2
            workload = "burn"
            [[domain]]
            name = "two"
            vcpus = 2
            task = [{ workload = "burn", vcpu = "all" }]
        "#;
        let text = text.replace("GRAN", gran);
        let policies = domio_sched::policies();
        let scenario = Scenario::parse("s", text.as_bytes(), policies).unwrap();
        let built = scenario.build(&NoReplay).unwrap();
        measured(&built, 0, OwnersOnly, &|_| {}).unwrap().0
    }

    #[test]
    fn a_thread_idles_beside_a_vcpu_whose_unit_has_no_other_work() {
        let sample = figures("core");
        let of = |key: &str| sample.get(key).unwrap();
        // Beside each run of `one` the other thread idles, and beside those of `two` none does.
        let (idle, share) = (of("one.core_idle_pct"), of("one.share_pct"));
        assert!((idle - share).abs() < 0.1 && share > 30.0, "{idle} {share}");
        assert!(of("two.core_idle_pct") < 0.1, "{sample:?}");
    }

    #[test]
    fn without_core_scheduling_nobody_is_held() {
        assert_eq!(figures("cpu").get("one.core_idle_pct"), None);
    }
}
