//! Hosts with disks and networks on one bus.

use domio_blk::loopback::{DiskConfig, Loopback, LoopbackConfig, LoopbackCosts};
use domio_core::{
    DomainId, Duration, Instant, Kind, Names, ParamValues, Record, Sink, Topology, VcpuName,
    XenVersion,
};
use domio_net::host::{Network, NetworkConfig};
use domio_sim::Outcome;
use domio_vmm::bus::{Device as _, Passed};
use domio_vmm::config::{
    DomainConfig, DomainKind, GuestConfig, HostConfig, KernelCosts, TaskConfig, VcpuConfig,
    Workload,
};
use domio_vmm::hardware::OPTERON_242;
use domio_vmm::process::FileId;
use domio_vmm::process::programs::{CopyDirection, FileCopy};
use domio_vmm::{Profile, Simulation};

domio_vmm::device_models! {
    /// What a host of these tests has.
    pub enum Model {
        /// A card.
        Net(Network),
        /// Disks.
        Disk(Loopback),
    }
}

pub type Host = Simulation<Records, Model>;

/// A record of a run, with the vcpu that is its actor, if it has one, and the name of its class.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Told {
    pub vcpu: Option<VcpuName>,
    pub class: &'static str,
    pub record: Record,
}

/// All records of a run.
#[derive(Default)]
pub struct Records(Vec<Told>);

impl Sink for Records {
    fn record(&mut self, names: &Names, record: &Record) {
        let vcpu = names.vcpu(record.actor);
        let class = names.class(record.class).expect("a class of the run");
        self.0.push(Told {
            vcpu,
            class: class.name,
            record: *record,
        });
    }
}

impl std::ops::Deref for Records {
    type Target = [Told];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Records {
    /// What was done for whom by driver domains, with its ns.
    pub fn done_for(&self) -> impl Iterator<Item = (DomainId, u64)> + '_ {
        self.iter().filter_map(|told| told.record.done_for())
    }
}

pub const KIB: u64 = 1024;
pub const MIB: u64 = 1024 * KIB;
/// Bytes of a request: eleven pages.
pub const REQUEST: u64 = 44 * KIB;

pub fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub fn at(ms: u64) -> Instant {
    Instant::ZERO + self::ms(ms)
}

/// The domain with this id and as many vcpus, with the kernel of an Opteron 242.
pub fn domain(id: u16, vcpus: usize) -> DomainConfig {
    let credit = domio_sched::find("credit").expect("a shipped policy");
    DomainConfig {
        id: DomainId(id),
        name: format!("d{id}"),
        params: ParamValues::defaults(credit.descriptor.domain_params),
        guest: GuestConfig {
            costs: KernelCosts::on(&OPTERON_242),
            ..GuestConfig::IDEAL
        },
        vcpus: vec![VcpuConfig::anywhere([]); vcpus],
        start: Instant::ZERO,
        stop: None,
        kind: DomainKind::Guest,
    }
}

/// The same domain with a process on one of its vcpus that goes through a file.
pub fn copies(mut domain: DomainConfig, vcpu: usize, copy: FileCopy) -> DomainConfig {
    domain.vcpus[vcpu].tasks.push(TaskConfig {
        priority: TaskConfig::IO_BOUND,
        ..TaskConfig::from(Workload::program(copy))
    });
    domain
}

/// Goes through so many bytes of a file of the model with this number on the bus.
pub fn copy(device: u16, file: u32, direction: CopyDirection, block: u64, bytes: u64) -> FileCopy {
    FileCopy::new(FileId { device, file }, direction, block, bytes)
}

/// Disks of domain 0 for these guests, of so many bytes each.
pub fn disks(costs: LoopbackCosts, disks: &[(u16, u64)]) -> LoopbackConfig {
    let disk = |&(domain, bytes): &(u16, u64)| DiskConfig {
        domain: DomainId(domain),
        bytes,
    };
    LoopbackConfig {
        driver: DomainId(0),
        costs,
        disks: disks.iter().map(disk).collect(),
    }
}

/// A host of these domains.
pub fn machine(pcpus: u16, profile: Profile, domains: Vec<DomainConfig>) -> HostConfig {
    HostConfig {
        topology: Topology::flat(pcpus).expect("a few pcpus"),
        version: XenVersion::V4_17,
        profile,
        domains,
        groups: Vec::new(),
        pools: Vec::new(),
        actions: Vec::new(),
        controllers: Vec::new(),
    }
}

/// The host under credit of 4.17, with disks, then a network if there is one.
pub fn simulation(
    host: &HostConfig,
    disks: &LoopbackConfig,
    network: Option<&NetworkConfig>,
) -> Host {
    let credit = domio_sched::find("credit").expect("a shipped policy");
    let params = ParamValues::defaults(credit.descriptor.params);
    Simulation::with_devices(
        host,
        (credit.make)(&params, &host.topology),
        |bus| {
            bus.add(|attach| Model::Disk(Loopback::new(disks, attach)));
            if let Some(network) = network {
                bus.add(|attach| Model::Net(Network::new(network, attach, 1, 0)));
            }
        },
        Records::default(),
        1,
        0,
    )
}

#[track_caller]
pub fn run(simulation: &mut Host, until: u64) {
    let outcome = simulation.run(at(until));
    assert!(matches!(outcome, Outcome::Completed { .. }), "{outcome}");
}

/// What has gone through the disk of `domain`.
pub fn passed(simulation: &Host, domain: u16) -> Passed {
    simulation.host().device(0).passed(DomainId(domain))
}

/// Reads and writes of `passed`.
pub fn requests(passed: Passed) -> (u64, u64) {
    (passed.requests_read, passed.requests_written)
}

/// Requests of a file of so many bytes that is gone through in blocks.
pub fn needed(block: u64, bytes: u64) -> u64 {
    let rest = bytes % block;
    bytes / block * block.div_ceil(REQUEST) + rest.div_ceil(REQUEST)
}

/// End and turnaround of each job of a task of a vcpu.
pub fn jobs(records: &Records, vcpu: VcpuName, task: u8) -> Vec<(Instant, Duration)> {
    let own = records.iter().filter(|told| told.vcpu == Some(vcpu));
    let done = own.map(|told| told.record);
    let done = done.filter(|r| r.is(Kind::JobDone));
    let done = done.filter(|r| r.words[3] >> 24 == u32::from(task));
    done.map(|r| (r.at, Duration::from_nanos(r.long(0))))
        .collect()
}

pub fn vcpu(domain: u16, index: u16) -> VcpuName {
    VcpuName::new(DomainId(domain), index)
}
