//! Simulated hosts to be measured: burning guests and one that wakes often, as in [`crate::plain`].

use domio_contract::Policy;
use domio_core::{
    DomainId, Duration, Instant, Names, NullSink, ParamValues, Record, Sink, Topology, XenVersion,
};
use domio_meter::Sampler;
use domio_sim::Outcome;
use domio_trace::{TraceHeader, TraceWriter, XentraceWriter};
use domio_vmm::config::{
    Distribution, DomainConfig, DomainKind, GuestConfig, HostConfig, VcpuConfig, Workload,
};
use domio_vmm::{Profile, Simulation};

/// What decides: Xen's classic by the rules of 4.17, whose slice is 30 ms too and which lets a
/// guest that wakes preempt.
const POLICY: &str = "credit";

/// Guests that burn on [`host`].
pub const BURNING: u16 = 8;

/// A large server, full.
const BIG_PCPUS: u16 = 256;
const BIG_VCPUS: u16 = 2048;

/// What a run did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Done {
    /// Scheduling decisions: passes of the policy.
    pub decisions: u64,
    /// Events that were delivered.
    pub events: u64,
}

/// A host of `pcpus` pcpus with [`BURNING`] guests that burn and one that wakes every 10 ms and
/// works for 50 us.
pub fn host(pcpus: u16) -> HostConfig {
    let burning = (0..BURNING).map(|_| Workload::Burn);
    let waking = periodic(Duration::from_millis(10), Duration::from_micros(50));
    config(pcpus, burning.chain([waking]))
}

/// A host of 256 pcpus and 2,048 vcpus under mixed load: a third burns, a third works at regular
/// times and a third at random times.
pub fn big() -> HostConfig {
    let workload = |i: u16| match i % 3 {
        0 => Workload::Burn,
        1 => periodic(Duration::from_millis(10), Duration::from_micros(200)),
        _ => Workload::OnOff {
            on: Distribution::Exponential(Duration::from_millis(1)),
            off: Distribution::Exponential(Duration::from_millis(20)),
        },
    };
    config(BIG_PCPUS, (0..BIG_VCPUS).map(workload))
}

fn periodic(period: Duration, work: Duration) -> Workload {
    Workload::Periodic {
        period,
        phase: period,
        burst: Distribution::Constant(work),
    }
}

/// An ideal host, one domain with one vcpu for each workload.
fn config(pcpus: u16, workloads: impl Iterator<Item = Workload>) -> HostConfig {
    let domain = |(i, workload)| {
        let id = i as u16 + 1;
        DomainConfig {
            id: DomainId(id),
            name: format!("g{id}"),
            params: ParamValues::defaults(policy().descriptor.domain_params),
            guest: GuestConfig::IDEAL,
            vcpus: vec![VcpuConfig::anywhere([workload])],
            start: Instant::ZERO,
            stop: None,
            kind: DomainKind::Guest,
        }
    };
    HostConfig {
        topology: Topology::flat(pcpus).expect("as many pcpus as a host can have"),
        version: XenVersion::V4_17,
        profile: Profile::IDEAL,
        domains: workloads.enumerate().map(domain).collect(),
        groups: Vec::new(),
        pools: Vec::new(),
        actions: Vec::new(),
        controllers: Vec::new(),
    }
}

fn policy() -> &'static Policy {
    named(POLICY)
}

fn named(policy: &str) -> &'static Policy {
    domio_sched::find(policy).expect("the policy is registered")
}

/// Runs a host for so many seconds of its time.
fn run<S: Sink>(config: &HostConfig, sink: S, seconds: u64) -> Done {
    run_under(policy(), config, sink, seconds)
}

fn run_under<S: Sink>(policy: &Policy, config: &HostConfig, sink: S, seconds: u64) -> Done {
    let params = ParamValues::defaults(policy.descriptor.params);
    let scheduler = (policy.make)(&params, &config.topology);
    let mut simulation = Simulation::new(config, scheduler, sink, 1, 0);
    let outcome = simulation.run(Instant::ZERO + Duration::from_secs(seconds));
    assert!(matches!(outcome, Outcome::Completed { .. }), "{outcome:?}");
    Done {
        decisions: simulation.host().passes(),
        events: simulation.events(),
    }
}

/// As [`run`], without a trace.
pub fn run_untraced(config: &HostConfig, seconds: u64) -> Done {
    run(config, NullSink, seconds)
}

/// Takes samples of 100 ms, and drops them.
struct Sampled(Sampler);

impl Sink for Sampled {
    #[inline]
    fn record(&mut self, names: &Names, record: &Record) {
        self.0.record(names, record);
        while let Some(sample) = self.0.take() {
            std::hint::black_box(sample);
        }
    }
}

/// As [`run`], making samples of the trace.
pub fn run_sampled(config: &HostConfig, seconds: u64) -> Done {
    let sampler = Sampler::new(Duration::from_millis(100));
    run(config, Sampled(sampler), seconds)
}

/// The trace of [`run_traced`].
pub fn trace(config: &HostConfig, seconds: u64) -> Vec<u8> {
    let header = TraceHeader::default();
    let mut trace = TraceWriter::new(Vec::new(), &header).expect("memory takes everything");
    run(config, &mut trace, seconds);
    trace.finish().expect("memory takes everything")
}

/// The same as a xentrace file.
pub fn xentrace(config: &HostConfig, seconds: u64) -> Vec<u8> {
    let mut trace = XentraceWriter::new(Vec::new(), 1_000_000_000).expect("a frequency");
    run(config, &mut trace, seconds);
    trace.finish().expect("memory takes everything")
}

/// As [`run_untraced`], under another policy with its defaults.
pub fn run_untraced_under(policy: &str, mut config: HostConfig, seconds: u64) -> Done {
    let policy = named(policy);
    for domain in &mut config.domains {
        domain.params = ParamValues::defaults(policy.descriptor.domain_params);
    }
    run_under(policy, &config, NullSink, seconds)
}

/// As [`run`], writing the trace in domio's own format to nowhere.
pub fn run_traced(config: &HostConfig, seconds: u64) -> Done {
    let header = TraceHeader::default();
    let mut trace = TraceWriter::new(std::io::sink(), &header).expect("a sink takes everything");
    let done = run(config, &mut trace, seconds);
    trace.finish().expect("a sink takes everything");
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain;

    #[test]
    fn host_and_plain_loop_decide_about_equally_often() {
        for pcpus in [1, 8] {
            let host = run_untraced(&host(pcpus), 10).decisions;
            let plain = plain::round_robin(pcpus, BURNING, 10_000_000_000).decisions;
            assert!(host >= plain / 2 && host <= plain * 3, "{host} {plain}");
        }
    }

    #[test]
    fn a_trace_changes_no_decision() {
        assert_eq!(run_traced(&host(2), 1), run_untraced(&host(2), 1));
        assert_eq!(run_sampled(&host(2), 1), run_untraced(&host(2), 1));
    }

    #[test]
    fn the_big_host_is_busy_and_mixed() {
        let config = big();
        assert_eq!(config.domains.len(), usize::from(BIG_VCPUS));
        for name in ["burn", "periodic", "on-off"] {
            let has = |d: &DomainConfig| d.vcpus[0].tasks[0].workload.name() == name;
            assert!(
                config.domains.iter().filter(|d| has(d)).count() >= 128,
                "{name}"
            );
        }
        // Every vcpu that does not burn wakes about a hundred times a second.
        assert!(run_untraced(&config, 1).decisions > 100_000);
    }
}
