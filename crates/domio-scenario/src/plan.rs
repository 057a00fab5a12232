//! A validated scenario as plain data.

use crate::devices::DeviceConfig;
use domio_contract::Policy;
use domio_core::keys::Span;
use domio_core::{Duration, ParamValues};
use domio_net::host::NetworkConfig;
use domio_net::keys::{all_of_network, all_of_writers};
use domio_vmm::bus::side::TaskInput;
use domio_vmm::config::HostConfig;
use domio_vmm::hardware::{all_of_host, all_of_kernel};
use std::fmt;
use std::sync::Arc;

/// What a scenario asks for, with every default filled in. Holds no trace of the text.
#[derive(Clone)]
pub struct Plan {
    /// One line for people, if given.
    pub title: Option<String>,
    /// The story, if given.
    pub description: Option<String>,
    /// Seed of every random stream.
    pub seed: u64,
    /// Time that is simulated before measuring begins.
    pub warmup: Duration,
    /// Time that is measured after it, over zero.
    pub duration: Duration,
    /// The scheduling policy.
    pub policy: Policy,
    /// Values of the policy's parameters.
    pub params: ParamValues,
    /// Policies of the pools with the values of their parameters, in the order of
    /// [`HostConfig::pools`]; none for a host without.
    pub pools: Vec<(Policy, ParamValues)>,
    /// Whether policies decide for whole cores ([`domio_contract::Cores`]).
    pub cores: bool,
    /// The host. Tasks that replay a recording have no demands yet: see `replays`.
    pub host: HostConfig,
    /// The devices, in the order in which they come to the bus: kind by kind. Those that no domain
    /// uses are left out.
    pub devices: Vec<DeviceConfig>,
    /// The recordings that are wanted.
    pub replays: Vec<Replay>,
    /// The files that say what processes do with devices.
    pub inputs: Vec<Input>,
    /// What replications draw: see [`Scenario::replication`](crate::Scenario::replication).
    pub vary: Vec<Vary>,
}

/// A time that is drawn anew for each replication.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Vary {
    /// The key, without its unit.
    pub key: String,
    /// Shortest.
    pub from: Duration,
    /// Longest.
    pub to: Duration,
    /// Name of the random stream.
    pub stream: String,
}

/// A task whose demands come from a recorded trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replay {
    /// Path of the trace as the scenario writes it: relative to the scenario's file.
    pub trace: String,
    /// Id of the recorded domain.
    pub domain: u16,
    /// Index of the recorded vcpu in it.
    pub vcpu: u16,
    /// Counts a second of the trace's clock, where the scenario says so.
    pub hz: Option<u64>,
    /// Index of the vcpu of its domain that it wakes where the recorded one woke another.
    pub kicks: Option<u16>,
    /// Whether another vcpu of its domain wakes it.
    pub kicked: bool,
    /// Indices of the task in [`HostConfig::domains`], its vcpus and their tasks.
    pub(crate) at: (usize, usize, usize),
    pub(crate) span: Span,
}

/// A file that says what processes do with a device.
#[derive(Clone, Debug)]
pub struct Input {
    /// The file. Its processes are not in the host yet: one that does nothing has their place.
    pub input: Arc<dyn TaskInput>,
    /// Indices of the task in [`HostConfig::domains`], its vcpus and their tasks.
    pub(crate) at: (usize, usize, usize),
}

impl Plan {
    /// Paths of the files that are read when the scenario is built, as the scenario writes them.
    pub fn files(&self) -> impl Iterator<Item = &str> + Clone {
        let replays = self.replays.iter().map(|replay| replay.trace.as_str());
        replays.chain(self.inputs.iter().map(|input| input.input.path()))
    }

    /// The networks that some domain uses, in the order of the text.
    pub fn networks(&self) -> impl Iterator<Item = &NetworkConfig> {
        self.devices.iter().filter_map(DeviceConfig::of)
    }

    /// What the machine's work costs: keys of the scenario that change it, without units, and the
    /// times. Where there are several networks, those of the first.
    pub fn costs(&self) -> Vec<(String, Duration)> {
        let mut all = Vec::new();
        let mut add = |table: &str, times: &[(&'static str, Duration)]| {
            let named = times
                .iter()
                .map(|(key, time)| (format!("{table}.{key}"), *time));
            all.extend(named);
        };
        add("host.costs", &all_of_host(&self.host.profile));
        let Some(network) = self.networks().next() else {
            return all;
        };
        let driver = self.host.domains.iter().find(|d| d.id == network.driver);
        if let Some(driver) = driver {
            add("host.kernel", &all_of_kernel(&driver.guest.costs));
        }
        add("network.costs", &all_of_network(&network.costs));
        add("network.writers", &all_of_writers(&network.remote_writers));
        let card = [
            ("rx_delay", network.nic.rx.delay),
            ("tx_delay", network.nic.tx.delay),
            ("gap", network.nic.gap),
        ];
        add("network.card", &card);
        let line = [
            ("latency", network.link.latency),
            ("remote_gap", network.remote_gap),
            ("remote_irq_latency", network.remote_irq_latency),
        ];
        add("network", &line);
        all
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("title", &self.title)
            .field("description", &self.description)
            .field("seed", &self.seed)
            .field("warmup", &self.warmup)
            .field("duration", &self.duration)
            .field("policy", &self.policy.descriptor.name)
            .field("params", &self.params)
            .field("pools", &self.pools.len())
            .field("host", &self.host)
            .field("devices", &self.devices)
            .field("replays", &self.replays)
            .field("inputs", &self.inputs)
            .field("vary", &self.vary)
            .finish()
    }
}
