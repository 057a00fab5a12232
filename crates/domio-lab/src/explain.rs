//! One replication of a host, simulated for what its guests and their packets wait for.

use crate::simulate::RunFault;
use domio_core::{Instant, Record, Sink};
use domio_meter::{Explainer, Explanation};
use domio_scenario::{Built, DeviceModel};
use domio_sim::Outcome;
use domio_vmm::Simulation;
use domio_vmm::bus::{Assembly, Device};

/// Simulates replication `replication` of `built` and explains the waits within the measured time.
///
/// # Errors
/// When the policy breaks its contract or the run does not progress.
pub fn explain(built: &Built, replication: u32) -> Result<Explanation, RunFault> {
    let begin = Instant::ZERO + built.warmup;
    let end = begin + built.duration;
    // It sees the warm-up, too: packets that are under way when it is over count from then on.
    let sink = Unmarked(Explainer::window(begin, end));
    let (host, scheduler, seed) = (&built.host, built.scheduler(), built.seed);
    let explained = if built.devices.is_empty() {
        through(
            Simulation::new(host, scheduler, sink, seed, replication),
            [begin, end],
        )
    } else {
        let attach = |bus: &mut Assembly<'_, DeviceModel>| built.attach(bus, replication);
        through(
            Simulation::with_devices(host, scheduler, attach, sink, seed, replication),
            [begin, end],
        )
    };
    explained.map_err(|(why, dump)| RunFault {
        policy: built.policy.descriptor.name,
        replication,
        why,
        dump,
    })
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
    use crate::paper;
    use domio_core::{DomainId, NetPlace};
    use domio_meter::{PacketQueue, PacketWaits};
    use domio_scenario::{NoReplay, Scenario};
    use std::collections::BTreeMap;

    /// Burn x 7, ping x 1, the last guest to start, which is domain 8; for 30 seconds.
    fn test3(configuration: &str) -> Explanation {
        let cell = format!("papers/ongaro2008/test3-{configuration}");
        let cell = paper::scenario(&cell).unwrap().unwrap();
        let cell = cell.with(&[("run.warmup_s", "2"), ("run.duration_s", "30")]);
        let built = cell.unwrap().replication(0).unwrap().build(&NoReplay);
        explain(&built.unwrap(), 0).unwrap()
    }

    fn packets(explanation: &Explanation, domain: u16) -> &PacketWaits {
        let mut domains = explanation.domains.iter();
        let found = domains.find(|d| d.id == DomainId(domain)).unwrap();
        found.packets.as_ref().unwrap()
    }

    /// The part of `queues` in the time of the packets of the guest that is pinged.
    fn part(explanation: &Explanation, queues: &[PacketQueue]) -> f64 {
        let packets = packets(explanation, 8);
        let times = packets.queues();
        let sum: u64 = queues.iter().filter_map(|q| times.get(q)).sum();
        sum as f64 / packets.total() as f64
    }

    const RUN_QUEUES: [PacketQueue; 2] = [PacketQueue::GuestRunq, PacketQueue::DriverRunq];

    #[test]
    fn in_test_3_the_scan_is_to_blame_and_without_any_option_the_run_queues_are() {
        let orig = test3("orig");
        let largest = packets(&orig, 8).largest_wait().unwrap().0;
        assert_eq!(largest, PacketQueue::Scan);
        assert!(part(&orig, &[PacketQueue::Scan]) > 0.9);

        let all_off = test3("all-off");
        let largest = packets(&all_off, 8).largest_wait().unwrap().0;
        assert!(RUN_QUEUES.contains(&largest), "{largest:?}");
        assert!(part(&all_off, &RUN_QUEUES) > 0.9);
        assert!(part(&all_off, &[PacketQueue::Scan]) < 0.01);
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

    /// The trace of a scenario says what the scenario does of who waited behind whom.
    #[test]
    fn a_trace_is_explained_as_its_scenario_is() {
        let text = r#"
            run.duration_s = 2
            scheduler.policy = "credit"
            host.cores = 2
            [[domain]]
            name = "burn"
            count = 3
            workload = "burn"
            [[domain]]
            name = "web"
            vcpus = 2
            workload = "periodic"
            period_ms = 7
            burst_ms = 1
        "#;
        let scenario = Scenario::parse("s", text.as_bytes(), domio_sched::policies()).unwrap();
        let built = scenario.build(&NoReplay).unwrap();
        let explanation = explain(&built, 0).unwrap();
        let records = crate::simulate::simulate(&built, 0, Vec::new())
            .unwrap()
            .sink;
        let mut explainer = domio_meter::WaitExplainer::new(domio_meter::MapWindow::Worst);
        records.iter().for_each(|r| explainer.record(r));
        let waiting = explainer.finish();
        assert!(explanation.domains.len() == 4 && !waiting.worst_woken.is_empty());
        for domain in &explanation.domains {
            let mut behind = BTreeMap::new();
            for vcpu in waiting.vcpus.iter().filter(|v| v.name.domain == domain.id) {
                for (whom, time) in vcpu.behind() {
                    *behind.entry(whom.map(|whom| whom.domain)).or_default() += time;
                }
            }
            assert_eq!(behind, domain.run_queue, "{:?}", domain.id);
        }
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
