//! Simulated hosts to be measured: burning guests and one that wakes often, as in [`crate::plain`].

use domio_core::{DomainId, Duration, Instant, NullSink, ParamValues, Sink, Topology, XenVersion};
use domio_sched::Policy;
use domio_sim::Outcome;
use domio_trace::{TraceHeader, TraceWriter};
use domio_vmm::config::{
    Distribution, DomainConfig, GuestConfig, HostConfig, VcpuConfig, Workload,
};
use domio_vmm::{Profile, Simulation};

/// What decides: Xen's classic, whose slice is 30 ms too and which lets a guest that wakes preempt.
const POLICY: &str = "credit";

/// A host of `pcpus` pcpus with `burning` guests and one that wakes every 10 ms and works for
/// 50 us.
pub fn host(pcpus: u16, burning: u16) -> HostConfig {
    let waking = Workload::Periodic {
        period: Duration::from_millis(10),
        phase: Duration::from_millis(10),
        burst: Distribution::Constant(Duration::from_micros(50)),
    };
    let burning = (1..=burning).map(|id| domain(id, [Workload::Burn]));
    let mut domains: Vec<DomainConfig> = burning.collect();
    domains.push(domain(domains.len() as u16 + 1, [waking]));
    HostConfig {
        topology: Topology::flat(pcpus).expect("as many pcpus as a host can have"),
        version: XenVersion::V4_17,
        profile: Profile::IDEAL,
        domains,
        actions: Vec::new(),
    }
}

fn domain<const N: usize>(id: u16, workloads: [Workload; N]) -> DomainConfig {
    DomainConfig {
        id: DomainId(id),
        name: format!("g{id}"),
        params: ParamValues::defaults(policy().descriptor.domain_params),
        guest: GuestConfig::IDEAL,
        vcpus: workloads
            .map(|workload| VcpuConfig::anywhere([workload]))
            .into(),
        start: Instant::ZERO,
        stop: None,
    }
}

fn policy() -> &'static Policy {
    domio_sched::find(POLICY).expect("the policy is registered")
}

/// Runs a host for so many seconds of its time; how many scheduler passes it made.
pub fn run<S: Sink>(config: &HostConfig, sink: S, seconds: u64) -> u64 {
    let params = ParamValues::defaults(policy().descriptor.params);
    let scheduler = (policy().make)(&params, &config.topology);
    let mut simulation = Simulation::new(config, scheduler, sink, 1, 0);
    let outcome = simulation.run(Instant::ZERO + Duration::from_secs(seconds));
    assert!(matches!(outcome, Outcome::Completed { .. }), "{outcome:?}");
    simulation.host().passes()
}

/// As [`run`], without a trace.
pub fn run_untraced(config: &HostConfig, seconds: u64) -> u64 {
    run(config, NullSink, seconds)
}

/// As [`run`], writing the trace in domio's own format to nowhere.
pub fn run_traced(config: &HostConfig, seconds: u64) -> u64 {
    let header = TraceHeader::default();
    let mut trace = TraceWriter::new(std::io::sink(), &header).expect("a sink takes everything");
    let passes = run(config, &mut trace, seconds);
    trace.finish().expect("a sink takes everything");
    passes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain;

    #[test]
    fn host_and_plain_loop_decide_about_equally_often() {
        for pcpus in [1, 8] {
            let passes = run_untraced(&host(pcpus, 8), 10);
            let decisions = plain::round_robin(pcpus, 8, 10_000_000_000).decisions;
            assert!(
                passes >= decisions / 2 && passes <= decisions * 3,
                "{passes} {decisions}"
            );
        }
    }

    #[test]
    fn a_trace_changes_no_decision() {
        let host = host(2, 8);
        assert_eq!(run_traced(&host, 1), run_untraced(&host, 1));
    }
}
