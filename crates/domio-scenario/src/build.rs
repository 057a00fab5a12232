//! From a validated scenario to what a simulator takes.

use crate::devices::{DeviceConfig, DeviceModel, attach};
use crate::problem::{Problems, ScenarioErrors};
use crate::recorded::ReplaySource;
use crate::scenario::Scenario;
use domio_contract::{Cores, Policy, Pool, Pools, Scheduler};
use domio_core::keys::{Code, Mistake};
use domio_core::{DomainId, Duration, ParamValues};
use domio_net::host::{NetMemory, NetworkConfig};
use domio_vmm::bus::Assembly;
use domio_vmm::bus::side::NoDemands;
use domio_vmm::config::{HostConfig, TaskConfig};

/// Everything that a simulation needs, owned and complete.
#[derive(Clone)]
pub struct Built {
    /// The host with its domains, tasks and actions.
    pub host: HostConfig,
    /// Its devices, in the order in which they come to the bus ([`Built::attach`]).
    pub devices: Vec<DeviceConfig>,
    /// The scheduling policy.
    pub policy: Policy,
    /// Values of its parameters.
    pub params: ParamValues,
    /// Policies of the pools with the values of their parameters, in the order of
    /// [`HostConfig::pools`]; none for a host without.
    pub pools: Vec<(Policy, ParamValues)>,
    /// Whether the policies decide for whole cores.
    pub cores: bool,
    /// Time to simulate before measuring begins.
    pub warmup: Duration,
    /// Time to measure after it.
    pub duration: Duration,
    /// Seed of every random stream.
    pub seed: u64,
    /// What to know of the files that were read.
    pub notices: Vec<String>,
}

impl Built {
    /// A fresh scheduler for the host, or those of its pools in one.
    pub fn scheduler(&self) -> Box<dyn Scheduler> {
        let topology = &self.host.topology;
        let make = |policy: &Policy, params: &ParamValues| -> Box<dyn Scheduler> {
            let scheduler = (policy.make)(params, topology);
            match self.cores {
                true => Box::new(Cores::new(scheduler, topology)),
                false => scheduler,
            }
        };
        if self.pools.is_empty() {
            return make(&self.policy, &self.params);
        }
        let pools = self.pools.iter().zip(&self.host.pools);
        let pools = pools.map(|((policy, params), pool)| Pool {
            scheduler: make(policy, params),
            pcpus: pool.pcpus,
            domains: pool.domains.clone(),
        });
        Box::new(Pools::new(pools.collect()))
    }

    /// Memory (bytes) that `domain` holds for pools of small packets, on all networks.
    pub fn pool_bytes(&self, domain: DomainId) -> u64 {
        self.networks().map(|n| n.pool_bytes(domain)).sum()
    }

    /// Domains that have backends of networks, each once.
    pub fn network_drivers(&self) -> Vec<DomainId> {
        let mut drivers: Vec<DomainId> = self.networks().flat_map(|n| n.drivers()).collect();
        drivers.sort_unstable();
        drivers.dedup();
        drivers
    }

    /// What driver domain `domain` has in memory for the interfaces of guests, on all networks.
    pub fn network_memory(&self, domain: DomainId) -> NetMemory {
        let of_networks = self.networks().map(|n| n.memory(domain));
        of_networks.fold(NetMemory::default(), NetMemory::plus)
    }

    /// The networks that some domain uses.
    pub fn networks(&self) -> impl Iterator<Item = &NetworkConfig> {
        self.devices.iter().filter_map(DeviceConfig::of)
    }

    /// Puts the devices on the bus of a simulation, in the order of [`Built::devices`], for
    /// replication `replication`.
    pub fn attach(&self, bus: &mut Assembly<'_, DeviceModel>, replication: u32) {
        attach(&self.devices, bus, self.seed, replication);
    }
}

impl Scenario {
    /// Gets the recordings that the scenario wants and completes the host with them.
    ///
    /// # Errors
    /// A problem for each recording that `source` refused.
    pub fn build(&self, source: &dyn ReplaySource) -> Result<Built, ScenarioErrors> {
        let plan = self.plan();
        let mut host = plan.host.clone();
        let mut problems = Problems::default();
        for replay in &plan.replays {
            match source.workload(replay) {
                Ok(workload) => {
                    let (domain, vcpu, task) = replay.at;
                    host.domains[domain].vcpus[vcpu].tasks[task].workload = workload;
                }
                Err(NoDemands { why, hint }) => problems.push(
                    Mistake::new(
                        Code::Replay,
                        replay.span,
                        format!(
                            "vcpu {} of domain {} of `{}` cannot be replayed: {why}",
                            replay.vcpu,
                            replay.domain,
                            domio_core::keys::quote(&replay.trace)
                        ),
                    )
                    .key("trace")
                    .found(domio_core::keys::quote(&replay.trace))
                    .expected("a trace of Xen or of domio with this vcpu in it")
                    .hint(hint),
                ),
            }
        }
        let mut notices = Vec::new();
        for input in &plan.inputs {
            let (domain, vcpu, task) = input.at;
            let tasks = &mut host.domains[domain].vcpus[vcpu].tasks;
            let stand_in = tasks[task].clone();
            match input.input.processes(source, &stand_in.name) {
                Ok((processes, told)) => {
                    notices.extend(told);
                    // Others keep their places: the first process has that of the stand-in.
                    for (i, (name, workload)) in processes.into_iter().enumerate() {
                        let made = TaskConfig {
                            name,
                            workload,
                            ..stand_in.clone()
                        };
                        match i {
                            0 => tasks[task] = made,
                            _ => tasks.push(made),
                        }
                    }
                }
                Err(why) => problems.push(input.input.refused(why)),
            }
        }
        match problems.finish(&self.sources) {
            Some(errors) => Err(errors),
            None => Ok(Built {
                host,
                devices: plan.devices.clone(),
                policy: plan.policy,
                params: plan.params,
                pools: plan.pools.clone(),
                cores: plan.cores,
                warmup: plan.warmup,
                duration: plan.duration,
                seed: plan.seed,
                notices,
            }),
        }
    }
}
