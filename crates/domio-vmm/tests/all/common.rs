//! Short ways to make hosts and to read traces.

use domio_core::{
    CpuSet, DomainId, Duration, Instant, Kind, ParamValues, PcpuId, Record, Runstate, Topology,
    VcpuName, XenVersion,
};
use domio_vmm::Profile;
use domio_vmm::config::{
    Action, Distribution, DomainConfig, GuestConfig, HostConfig, VcpuConfig, Workload,
};

pub const P0: PcpuId = PcpuId(0);
pub const P1: PcpuId = PcpuId(1);

pub fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub fn at_us(us: u64) -> Instant {
    Instant::from_nanos(us * 1_000)
}

pub fn at_ms(ms: u64) -> Instant {
    at_us(ms * 1_000)
}

/// Name of the first vcpu of a domain.
pub fn vcpu(domain: u16) -> VcpuName {
    VcpuName::new(DomainId(domain), 0)
}

/// A host of equal pcpus without costs, for a policy without parameters.
pub fn host(pcpus: u16, version: XenVersion, domains: Vec<DomainConfig>) -> HostConfig {
    HostConfig {
        topology: Topology::flat(pcpus).unwrap(),
        version,
        profile: Profile::IDEAL,
        domains,
        groups: Vec::new(),
        actions: vec![],
        controllers: vec![],
    }
}

/// A domain that exists from the start and has one vcpu with one task.
pub fn domain(id: u16, workload: Workload) -> DomainConfig {
    DomainConfig {
        id: DomainId(id),
        name: format!("g{id}"),
        params: ParamValues::defaults(&[]),
        guest: GuestConfig::IDEAL,
        vcpus: vec![VcpuConfig::anywhere([workload])],
        start: Instant::ZERO,
        stop: None,
    }
}

/// The same domain, whose vcpus may run on one pcpu only.
pub fn pinned(mut domain: DomainConfig, pcpu: PcpuId) -> DomainConfig {
    for vcpu in &mut domain.vcpus {
        vcpu.hard = CpuSet::of(pcpu);
    }
    domain
}

pub fn pin(id: u16, pcpu: PcpuId) -> Action {
    Action::Pin {
        domain: DomainId(id),
        vcpu: 0,
        hard: CpuSet::of(pcpu),
        soft: CpuSet::ALL,
    }
}

pub fn compute(work: Duration) -> Workload {
    Workload::Compute { work }
}

/// Works for `work` every `period`, first at `phase`.
pub fn periodic(period: Duration, phase: Duration, work: Duration) -> Workload {
    Workload::Periodic {
        period,
        phase,
        burst: Distribution::Constant(work),
    }
}

/// Works for `on` and sleeps for `off`, by turns.
pub fn on_off(on: Duration, off: Duration) -> Workload {
    Workload::OnOff {
        on: Distribution::Constant(on),
        off: Distribution::Constant(off),
    }
}

/// A time in microseconds, with as many digits as it needs.
pub fn micros(ns: u64) -> String {
    match ns % 1_000 {
        0 => format!("{}", ns / 1_000),
        rest => format!("{}.{rest:03}", ns / 1_000),
    }
}

/// One record as a line: time in microseconds, pcpu, what happened.
pub fn line(r: &Record) -> String {
    let what = match r.kind {
        Kind::RunstateChange => {
            let (old, new) = r.runstates().unwrap();
            format!("{} {} -> {}", r.vcpu, old.name(), new.name())
        }
        Kind::Switch => {
            let left = Runstate::from_number(r.detail).unwrap().name();
            let next = VcpuName::from_word(r.data[0]);
            format!("{} {left}, {next} running", r.vcpu)
        }
        Kind::Policy => {
            let (event, words) = r.policy_event().unwrap();
            format!("policy event {event} {words:x?}")
        }
        Kind::JobDone => {
            let [low, high, work, _] = r.data.map(u64::from);
            let turnaround = micros(high << 32 | low);
            let work = micros(work);
            format!(
                "{} job of task {} {turnaround} for {work}",
                r.vcpu, r.detail
            )
        }
        kind => format!("{} {kind:?}", r.vcpu).to_lowercase(),
    };
    format!("{} {} {what}", micros(r.at.as_nanos()), r.pcpu)
}

/// The records of some kinds as lines.
pub fn lines(records: &[Record], kinds: &[Kind]) -> Vec<String> {
    let wanted = |r: &&Record| kinds.contains(&r.kind);
    records.iter().filter(wanted).map(line).collect()
}

/// Turnarounds of the jobs of `vcpu` in microseconds.
pub fn turnarounds(records: &[Record], vcpu: VcpuName) -> Vec<u64> {
    let jobs = records
        .iter()
        .filter(|r| r.kind == Kind::JobDone && r.vcpu == vcpu);
    jobs.map(|r| (u64::from(r.data[1]) << 32 | u64::from(r.data[0])) / 1_000)
        .collect()
}
