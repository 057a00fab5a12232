//! One replication of a host, simulated for what its guests and their packets wait for.

use crate::experiments::ongaro::{Cell, Settings, host};
use crate::registry::LabContext;
use crate::simulate::RunFault;
use domio_core::{Duration, Instant, Record, Sink};
use domio_meter::{Explainer, Explanation};
use domio_scenario::{Built, DeviceConfig, Model};
use domio_sched::Scheduler;
use domio_sim::Outcome;
use domio_vmm::Simulation;
use domio_vmm::bus::{Assembly, Device};
use domio_vmm::config::HostConfig;

/// Simulates replication `replication` of `built` and explains the waits within the measured time.
///
/// # Errors
/// When the policy breaks its contract or the run does not progress.
pub fn explain(built: &Built, replication: u32) -> Result<Explanation, RunFault> {
    let machine = Machine {
        host: &built.host,
        devices: &built.devices,
        policy: built.policy.descriptor.name,
        seed: built.seed,
        warmup: built.warmup,
        duration: built.duration,
    };
    machine.explain(built.scheduler(), replication)
}

/// As [`explain`], for a cell of Ongaro's experiment.
///
/// # Errors
/// As [`explain`]; also when the machine cannot be built.
pub fn explain_cell(
    cell: Cell,
    settings: &Settings,
    cx: &LabContext,
    replication: u32,
) -> Result<Explanation, RunFault> {
    let built = host::build(cell, settings, cx, replication).map_err(|why| RunFault {
        policy: cell.configuration.name,
        replication,
        why,
        dump: String::new(),
    })?;
    let machine = Machine {
        host: &built.host,
        devices: &[DeviceConfig::from(built.network)],
        policy: built.policy.descriptor.name,
        seed: cx.seed,
        warmup: settings.warmup,
        duration: settings.measured(cell.test),
    };
    let scheduler = (built.policy.make)(&built.params, &built.host.topology);
    machine.explain(scheduler, replication)
}

/// A host that is to be explained, and when.
struct Machine<'a> {
    pub host: &'a HostConfig,
    pub devices: &'a [DeviceConfig],
    /// Name of the policy, for errors.
    pub policy: &'static str,
    pub seed: u64,
    pub warmup: Duration,
    pub duration: Duration,
}

impl Machine<'_> {
    /// See [`explain`].
    pub fn explain(
        &self,
        scheduler: Box<dyn Scheduler>,
        replication: u32,
    ) -> Result<Explanation, RunFault> {
        let begin = Instant::ZERO + self.warmup;
        let end = begin + self.duration;
        // It sees the warm-up, too: packets that are under way when it is over count from then on.
        let sink = Unmarked(Explainer::window(begin, end));
        let (host, seed) = (self.host, self.seed);
        let explained = if self.devices.is_empty() {
            through(
                Simulation::new(host, scheduler, sink, seed, replication),
                [begin, end],
            )
        } else {
            let attach = |bus: &mut Assembly<'_, Model>| {
                domio_scenario::attach(self.devices, bus, seed, replication);
            };
            through(
                Simulation::with_devices(host, scheduler, attach, sink, seed, replication),
                [begin, end],
            )
        };
        explained.map_err(|(why, dump)| RunFault {
            policy: self.policy,
            replication,
            why,
            dump,
        })
    }
}

/// Runs until the measured time begins and on until it ends; when that fails, why and in which
/// state.
fn through<D: Device>(
    mut simulation: Simulation<Unmarked, D>,
    [begin, end]: [Instant; 2],
) -> Result<Explanation, (String, String)> {
    for until in [begin, end] {
        match simulation.run(until) {
            // Here the host tells for whom driver domains worked until then.
            Outcome::Completed { .. } => simulation.host_mut().mark(until),
            other => return Err((other.to_string(), simulation.host().dump())),
        }
    }
    Ok(simulation.into_sink().0.finish_at(end))
}

/// An explainer that gets no marks: what it explains begins with the host, where nobody has been
/// in any state, and not where the warm-up ends.
struct Unmarked(Explainer);

impl Sink for Unmarked {
    #[inline]
    fn record(&mut self, record: &Record) {
        if !record.is_mark() {
            self.0.record(record);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{DomainId, NetPlace};
    use domio_meter::{PacketWaits, Queue};
    use domio_scenario::{NoReplay, Scenario};

    /// Burn x 7, ping x 1, the last guest to start, which is domain 8; for 30 seconds.
    fn test3(configuration: &str) -> Explanation {
        let cell = format!("test3/{configuration}").parse().unwrap();
        let settings = Settings::default().with_cells_for(Duration::from_secs(30));
        explain_cell(cell, &settings, &LabContext { seed: 1 }, 0).unwrap()
    }

    fn packets(explanation: &Explanation, domain: u16) -> &PacketWaits {
        let mut domains = explanation.domains.iter();
        let found = domains.find(|d| d.id == DomainId(domain)).unwrap();
        found.packets.as_ref().unwrap()
    }

    /// The part of `queues` in the time of the packets of the guest that is pinged.
    fn part(explanation: &Explanation, queues: &[Queue]) -> f64 {
        let packets = packets(explanation, 8);
        let times = packets.queues();
        let sum: u64 = queues.iter().filter_map(|q| times.get(q)).sum();
        sum as f64 / packets.total() as f64
    }

    const RUN_QUEUES: [Queue; 2] = [Queue::GuestRunq, Queue::DriverRunq];

    #[test]
    fn in_test_3_the_scan_is_to_blame_and_without_any_option_the_run_queues_are() {
        let orig = test3("orig");
        let largest = packets(&orig, 8).largest_wait().unwrap().0;
        assert_eq!(largest, Queue::Scan);
        assert!(part(&orig, &[Queue::Scan]) > 0.9);

        let all_off = test3("all-off");
        let largest = packets(&all_off, 8).largest_wait().unwrap().0;
        assert!(RUN_QUEUES.contains(&largest), "{largest:?}");
        assert!(part(&all_off, &RUN_QUEUES) > 0.9);
        assert!(part(&all_off, &[Queue::Scan]) < 0.01);
    }

    #[test]
    fn the_seven_that_burn_share_the_blame() {
        let all_off = test3("all-off");
        let behind = packets(&all_off, 8).behind();
        let burn = (1..8).map(|d| behind.get(&Some(DomainId(d))).copied().unwrap_or(0));
        let (least, most) = burn.fold((u64::MAX, 0), |(a, b), t| (a.min(t), b.max(t)));
        assert!(least > 0 && most < 2 * least, "{behind:?}");
        let card = packets(&all_off, 8).times.keys();
        let unknown = card.filter(|(place, cause)| {
            *place == NetPlace::Outside || *cause == domio_meter::Cause::Unknown
        });
        assert_eq!(unknown.count(), 0);
    }

    #[test]
    fn a_host_without_a_network_has_run_queues_only() {
        let text = r#"
            run.warmup_ms = 500
            run.duration_ms = 1500
            scheduler.policy = "credit"
            [[domain]]
            name = "g"
            count = 3
            workload = "burn"
        "#;
        let policies = domio_sched::policies();
        let scenario = Scenario::parse("t.toml", text.as_bytes(), policies).unwrap();
        let built = scenario.build(&NoReplay).unwrap();
        let explanation = explain(&built, 0).unwrap();
        assert_eq!(explanation.elapsed(), 1_500_000_000);
        assert_eq!(explanation.domains.len(), 3);
        for domain in &explanation.domains {
            assert_eq!(domain.packets, None);
            assert_eq!(domain.running + domain.runnable(), explanation.elapsed());
            assert_eq!(
                domain.run_queue.get(&Some(domain.id)),
                None,
                "behind itself"
            );
            assert!(domain.run_queue.len() >= 2);
        }
    }
}
