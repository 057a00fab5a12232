//! Short ways to make hosts and to read traces.

use domio_core::{
    ActorId, CpuSet, DomainId, Duration, Instant, Kind, Names, ParamValues, PcpuId, Record, Sink,
    Topology, VcpuName, XenVersion,
};
use domio_vmm::Profile;
use domio_vmm::config::{
    Action, Distribution, DomainConfig, DomainKind, GuestConfig, HostConfig, VcpuConfig, Workload,
};
use domio_vmm::process::{JobPlan, NewJob, WokenBy};
use std::ops::Deref;
use std::sync::Arc;

pub const P0: PcpuId = PcpuId(0);
pub const P1: PcpuId = PcpuId(1);

pub const fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

pub const fn ms(ms: u64) -> Duration {
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
        pools: Vec::new(),
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
        kind: DomainKind::Guest,
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

/// Jobs that interrupts release, each at its time.
#[derive(Clone, Debug)]
struct Planned {
    jobs: Arc<[NewJob]>,
    next: usize,
}

/// A process with these jobs, in order of release. One that comes while another is under way is
/// lost.
pub fn planned<const N: usize>(jobs: [NewJob; N]) -> Workload {
    let jobs = Arc::from(jobs);
    Workload::Jobs(Arc::new(Planned { jobs, next: 0 }))
}

impl JobPlan for Planned {
    fn name(&self) -> &'static str {
        "planned"
    }

    fn fresh(&self) -> Box<dyn JobPlan> {
        Box::new(self.clone())
    }

    fn woken_by(&self) -> WokenBy {
        WokenBy::Interrupt
    }

    fn wakes_at(&self) -> Instant {
        let next = self.jobs.get(self.next);
        next.map_or(Instant::MAX, |job| job.released)
    }

    fn woken(&mut self, _: Instant, busy: bool) -> Option<NewJob> {
        let job = self.jobs[self.next];
        self.next += 1;
        (!busy).then_some(job)
    }

    fn done(&mut self, _: Instant) -> Option<NewJob> {
        None
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

/// Records, and what their numbers stand for.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    records: Vec<Record>,
    names: Names,
}

impl Sink for Trace {
    fn record(&mut self, names: &Names, record: &Record) {
        let known = (self.names.actors().len(), self.names.classes().len());
        if known != (names.actors().len(), names.classes().len()) {
            self.names = names.clone();
        }
        self.records.push(*record);
    }
}

impl Deref for Trace {
    type Target = [Record];

    fn deref(&self) -> &[Record] {
        &self.records
    }
}

impl Trace {
    /// The vcpu that an actor is.
    pub fn vcpu(&self, actor: ActorId) -> VcpuName {
        self.names.vcpu(actor).expect("it was announced")
    }

    /// One record as a line: time in microseconds, pcpu, what happened.
    pub fn line(&self, r: &Record) -> String {
        let who = match self.names.vcpu(r.actor) {
            Some(vcpu) => vcpu.to_string(),
            None => "nobody".to_string(),
        };
        let what = match r.kind() {
            Some(Kind::RunstateChange) => {
                let (old, new) = r.runstates().unwrap();
                format!("{} -> {}", old.name(), new.name())
            }
            Some(Kind::Switch) => {
                let [Some((_, _, left)), Some((next, _, _))] = r.changes() else {
                    panic!("a switch changes two states: {r:?}");
                };
                format!("{}, {} running", left.name(), self.vcpu(next))
            }
            Some(Kind::JobDone) => {
                let (task, turnaround, work) = r.job().unwrap();
                let (turnaround, work) = (micros(turnaround), micros(work));
                format!("job of task {task} {turnaround} for {work}")
            }
            Some(kind) => format!("{kind:?}").to_lowercase(),
            None => {
                let class = self.names.class(r.class).unwrap().name;
                let declared = self.names.declared(r).unwrap();
                let words = &r.words[..usize::from(declared.words)];
                format!("{class} {} {words:x?}", declared.name)
            }
        };
        format!("{} {} {who} {what}", micros(r.at.as_nanos()), r.pcpu)
    }
}

/// The records of some kinds as lines.
pub fn lines(trace: &Trace, kinds: &[Kind]) -> Vec<String> {
    let wanted = |r: &&Record| r.kind().is_some_and(|kind| kinds.contains(&kind));
    trace.iter().filter(wanted).map(|r| trace.line(r)).collect()
}

/// Turnarounds of the jobs of `vcpu` in microseconds.
pub fn turnarounds(trace: &Trace, vcpu: VcpuName) -> Vec<u64> {
    let own = trace.iter().filter(|r| trace.vcpu(r.actor) == vcpu);
    own.filter_map(|r| Some(r.job()?.1 / 1_000)).collect()
}

/// Sum of the last fields of the records of `vcpu` that are called `name`.
pub fn sum_of(trace: &Trace, name: &str, vcpu: VcpuName) -> u64 {
    let own = trace.iter().filter(|r| r.kind().is_none());
    let own = own.filter(|r| trace.names.vcpu(r.actor) == Some(vcpu));
    let declared = own.map(|r| (r, trace.names.declared(r).expect("it is declared")));
    let named = declared.filter(|(_, declared)| declared.name == name);
    named
        .map(|(r, declared)| declared.value(r, declared.fields.len() as u8 - 1))
        .sum()
}
