//! A validated scenario as plain data.

use crate::devices::DeviceConfig;
use crate::source::Span;
use domio_core::{Duration, ParamValues};
use domio_net::host::NetworkConfig;
use domio_sched::Policy;
use domio_vmm::config::HostConfig;
use std::fmt;

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
    /// The host. Tasks that replay a recording have no demands yet: see `replays`.
    pub host: HostConfig,
    /// The devices, in the order in which they come to the bus: networks, then disks. Those that
    /// no domain uses are left out.
    pub devices: Vec<DeviceConfig>,
    /// The recordings that are wanted.
    pub replays: Vec<Replay>,
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
    /// Indices of the task in [`HostConfig::domains`], its vcpus and their tasks.
    pub(crate) at: (usize, usize, usize),
    pub(crate) span: Span,
}

impl Plan {
    /// The networks that some domain uses, in the order of the text.
    pub fn networks(&self) -> impl Iterator<Item = &NetworkConfig> {
        self.devices.iter().filter_map(DeviceConfig::network)
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
            .field("host", &self.host)
            .field("devices", &self.devices)
            .field("replays", &self.replays)
            .finish()
    }
}
