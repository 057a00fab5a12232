//! One replication of a host, simulated for what its guests and their packets wait for.

#[cfg(test)]
mod loop_tests;

use crate::replication::Replication;
use crate::sample::Sample;
use crate::simulate::RunFault;
use crate::subject::Subject;
use domio_answer::{decode, encode};
use domio_core::{Instant, Names, Record, Sink};
use domio_meter::{Explainer, Explanation};
use domio_scenario::{Built, Parts};

/// Simulates replication `replication` of `built` and explains the waits within the measured time.
///
/// # Errors
/// When the policy breaks its contract or the run does not progress.
pub fn explain(built: &Built, replication: u32) -> Result<Explanation, RunFault> {
    let begin = Instant::ZERO + built.warmup;
    let end = begin + built.duration;
    // It sees the warm-up, too: packets that are under way when it is over count from then on.
    let sink = Unmarked(Explainer::window(begin, end));
    let mut run = Replication::new(built, replication, sink);
    for until in [begin, end] {
        run.until(until)?;
        // Here the host says for whom driver domains worked until then.
        run.mark(until);
    }
    Ok(run.into_sink().0.finish_at(end))
}

/// What explanations of the scenario `of` are kept as.
pub fn subject(of: &Subject) -> Subject {
    let name = format!("explain {}", of.name);
    let fingerprint = Subject::new(&name, "", &[of.fingerprint.as_bytes()]).fingerprint;
    Subject {
        name,
        settings: of.settings.clone(),
        fingerprint,
    }
}

/// The explanation as it is kept, with how long each vcpu ran and waited as figures for people.
pub fn kept(explanation: &Explanation) -> Sample {
    let mut sample = Sample::new().with("records", explanation.records as f64);
    for vcpu in &explanation.vcpus {
        let name = vcpu.name;
        sample.set(&format!("{name}.running_ns"), vcpu.running as f64);
        sample.set(&format!("{name}.runnable_ns"), vcpu.runnable() as f64);
    }
    sample.tables = encode(explanation);
    sample
}

/// The explanation that was kept as `sample`, of a host with these parts; `None` when the sample is
/// of something else.
pub fn of_kept(sample: &Sample, parts: &Parts) -> Option<Explanation> {
    decode(&sample.tables, &parts.classes())
}

/// An explainer that gets no marks: what it explains begins with the host, where nobody has been
/// in any state, and not where the warm-up ends.
struct Unmarked(Explainer);

impl Sink for Unmarked {
    #[inline]
    fn record(&mut self, names: &Names, record: &Record) {
        if !record.is_mark() {
            self.0.record(names, record);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::simulate;
    use domio_meter::{MapWindow, Residence, Why};
    use domio_scenario::{NoReplay, Scenario};

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
        let reader = Explainer::new(MapWindow::Worst);
        let trace = simulate(&built, 0, reader).unwrap().sink.finish();
        assert!(explanation.domains().len() == 4 && !trace.worst_woken.is_empty());
        let behind = |explanation: &Explanation| {
            let domains = explanation.domains().into_iter();
            domains.map(|d| (d.id, d.run_queue)).collect::<Vec<_>>()
        };
        assert_eq!(behind(&trace), behind(&explanation));
    }

    #[test]
    fn under_credit2_the_way_to_a_pass_and_the_rate_limit_are_told_apart() {
        let told = |text: &str| {
            let policies = domio_sched::policies();
            let scenario = Scenario::parse("t.toml", text.as_bytes(), policies).unwrap();
            let explanation = explain(&scenario.build(&NoReplay).unwrap(), 0).unwrap();
            assert_eq!(explanation.tells.policy_name(), Some("credit2"));
            // A task loads the first vcpu of its domain.
            let mut working = explanation.vcpus.iter().filter(|v| v.name.index == 0);
            let vcpu = working.next_back().expect("there are some");
            (vcpu.by_cause(), vcpu.runnable())
        };
        // Whoever wakes finds an idle pcpu, and waits for its pass.
        let text = r#"
            run.duration_s = 1
            host = { cores = 4, profile = "xen-4.17-emulated" }
            scheduler.policy = "credit2"
            [[domain]]
            name = "a"
            count = 2
            workload = "on-off"
            on_us = 100
            off = { distribution = "exponential", mean_ms = 2 }
        "#;
        let (causes, all) = told(text);
        assert!(causes[&Why::Pass] * 100 > all * 99, "{causes:?}");
        // Somebody computes on the only pcpu: one who wakes in the first millisecond of a run is
        // held off, and later ones are not, as they have the higher credit.
        let alone = text.replace("cores = 4", "cores = 1");
        let burns = "[[domain]]\nname = \"b\"\nworkload = \"burn\"\n[[domain]]";
        let (causes, all) = told(&alone.replace("[[domain]]", burns));
        let of = |why| causes.get(&why).copied().unwrap_or(0);
        assert!(of(Why::Pass) > 0, "{causes:?}");
        assert!(of(Why::RateLimit) * 2 > all, "{causes:?}");
        assert!(of(Why::NotTickled) * 10 < all, "{causes:?}");
    }

    /// Under core scheduling the policy knows the first threads of cores alone. A vcpu of a second
    /// thread is woken there, and waits for the pass that all threads of the core make together.
    #[test]
    fn who_waits_for_a_core_to_meet_waits_for_a_pass() {
        let text = r#"
            run.duration_s = 2
            host = { cores = 2, threads = 2, sched_gran = "core", profile = "xeon-e5" }
            scheduler.policy = "POLICY"
            [[domain]]
            name = "pair"
            vcpus = 2
              [[domain.task]]
              workload = "on-off"
              vcpu = 0
              on_us = 300
              off = { distribution = "exponential", mean_ms = 9 }
              [[domain.task]]
              workload = "on-off"
              vcpu = 1
              on_us = 300
              off = { distribution = "exponential", mean_ms = 9 }
        "#;
        for policy in ["credit", "credit2"] {
            let text = text.replace("POLICY", policy);
            let policies = domio_sched::policies();
            let scenario = Scenario::parse("t.toml", text.as_bytes(), policies).unwrap();
            let explanation = explain(&scenario.build(&NoReplay).unwrap(), 0).unwrap();
            assert_eq!(explanation.vcpus.len(), 2);
            for vcpu in &explanation.vcpus {
                let pass = vcpu.by_cause().get(&Why::Pass).copied().unwrap_or(0);
                // A vcpu that wakes while the other one runs takes its thread without a tickle.
                let all = vcpu.runnable();
                assert!(pass * 10 > all * 9 && all > 0, "{policy}: {vcpu:?}");
            }
        }
    }

    /// A host without a network, and one with packets and work of driver domains.
    #[test]
    fn an_explanation_is_kept_whole() {
        let texts = [
            include_bytes!("../../../scenarios/small-host.toml").as_slice(),
            include_bytes!("../../../scenarios/driver-domain-streams.toml"),
        ];
        for (i, text) in texts.into_iter().enumerate() {
            let scenario = Scenario::parse("s", text, domio_sched::policies()).unwrap();
            let mut built = scenario.build(&NoReplay).unwrap();
            built.warmup = domio_core::Duration::from_millis(600);
            built.duration = domio_core::Duration::from_millis(300);
            let mut explanation = explain(&built, 0).unwrap();
            assert_eq!(explanation.items.is_empty(), i == 0);
            assert_eq!(explanation.driver_work.is_empty(), i == 0);
            assert!(explanation.map.0.is_some() && explanation.tells.policy.is_some());
            // No stay goes on after the end.
            for vcpu in &mut explanation.vcpus {
                let residence = &vcpu.residence;
                vcpu.residence = Residence::of(residence.ran(), residence.moves());
            }
            // A class is kept by its name, and comes back with all that the policy may write.
            let policy = explanation.tells.policy.unwrap();
            let mut all = domio_scenario::Parts::from(domio_sched::policies())
                .classes()
                .into_iter();
            let all = all.find(|class| class.name == policy.name).unwrap();
            assert!(
                policy
                    .records
                    .iter()
                    .all(|r| all.declared(r.number) == Some(r))
            );
            explanation.tells.policy = Some(all);
            // More than a float has digits for.
            explanation.records = (1 << 53) + 1;
            let mut sample = kept(&explanation);
            assert!(of_kept(&sample, scenario.parts()) == Some(explanation));
            sample.tables.pop();
            assert!(of_kept(&sample, scenario.parts()).is_none());
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
        assert_eq!(explanation.elapsed, 1_500_000_000);
        assert_eq!(explanation.domains().len(), 3);
        for domain in explanation.domains() {
            assert_eq!(explanation.items(domain.id).count(), 0);
            assert_eq!(domain.running + domain.runnable(), explanation.elapsed);
            assert_eq!(
                domain.run_queue.get(&Some(domain.id)),
                None,
                "behind itself"
            );
            assert!(domain.run_queue.len() >= 2);
        }
    }
}
