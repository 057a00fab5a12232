//! One replication under way: a simulated host that goes on when it is told, into one sink.

use crate::simulate::RunFault;
use domio_core::{Instant, Sink};
use domio_net::queue::{DropPlace, Ledger};
use domio_scenario::{Built, DeviceModel};
use domio_sched::StateRows;
use domio_sim::Outcome;
use domio_vmm::Simulation;
use domio_vmm::bus::Assembly;
use std::collections::BTreeMap;

/// A host that is being simulated, and the sink that gets its records.
///
/// Two replications of one host and one number do the same, event for event.
pub struct Replication<S: Sink> {
    host: SimulatedHost<S>,
    policy: &'static str,
    number: u32,
}

/// Two kinds of simulation: a host without devices does not look for any.
enum SimulatedHost<S: Sink> {
    Bare(Box<Simulation<S>>),
    Devices(Box<Simulation<S, DeviceModel>>),
}

/// Does the same with either kind of simulation.
macro_rules! either {
    ($host:expr, $simulation:ident => $done:expr) => {
        match $host {
            SimulatedHost::Bare($simulation) => $done,
            SimulatedHost::Devices($simulation) => $done,
        }
    };
}

impl<S: Sink> Replication<S> {
    /// Replication `number` of `built`, at time zero. All records go to `sink`.
    pub fn new(built: &Built, number: u32, sink: S) -> Self {
        let (config, scheduler, seed) = (&built.host, built.scheduler(), built.seed);
        let host = if built.devices.is_empty() {
            let simulation = Simulation::new(config, scheduler, sink, seed, number);
            SimulatedHost::Bare(Box::new(simulation))
        } else {
            let attach = |bus: &mut Assembly<'_, DeviceModel>| built.attach(bus, number);
            let simulation =
                Simulation::with_devices(config, scheduler, attach, sink, seed, number);
            SimulatedHost::Devices(Box::new(simulation))
        };
        Replication {
            host,
            policy: built.policy.descriptor.name,
            number,
        }
    }

    /// Goes on until `time`.
    ///
    /// # Errors
    /// When the policy breaks its contract or the run does not progress.
    pub fn until(&mut self, time: Instant) -> Result<(), RunFault> {
        match either!(&mut self.host, simulation => simulation.run(time)) {
            Outcome::Completed { .. } => Ok(()),
            other => Err(RunFault {
                policy: self.policy,
                replication: self.number,
                why: other.to_string(),
                dump: self.dump(),
            }),
        }
    }

    /// Writes for each vcpu a record from its runstate to the same runstate, so that a reader of
    /// records from `now` on, or until `now`, can close its accounts. Driver domains tell for whom
    /// they worked until then.
    pub fn mark(&mut self, now: Instant) {
        either!(&mut self.host, simulation => simulation.host_mut().mark(now));
    }

    /// Whether records are made from now on. They are from the beginning on.
    pub fn set_recording(&mut self, on: bool) {
        either!(&mut self.host, simulation => simulation.host_mut().set_recording(on));
    }

    /// What gets the records.
    pub fn sink_mut(&mut self) -> &mut S {
        either!(&mut self.host, simulation => simulation.host_mut().sink_mut())
    }

    /// Ends the replication and gives the sink back.
    pub fn into_sink(self) -> S {
        either!(self.host, simulation => simulation.into_sink())
    }

    /// State of host and policy, for people.
    pub fn dump(&self) -> String {
        either!(&self.host, simulation => simulation.host().dump())
    }

    /// What the policy has in its books.
    pub fn policy_state(&self) -> StateRows {
        either!(&self.host, simulation => simulation.host().policy_state())
    }

    /// Events delivered so far.
    pub fn events(&self) -> u64 {
        either!(&self.host, simulation => simulation.events())
    }

    /// The host's devices, in the order in which they came to the bus.
    pub fn devices(&self) -> &[DeviceModel] {
        match &self.host {
            SimulatedHost::Bare(_) => &[],
            SimulatedHost::Devices(simulation) => simulation.host().devices(),
        }
    }

    /// How many packets were dropped where so far, by name of the place.
    pub fn drops(&self) -> BTreeMap<DropPlace, u64> {
        let mut ledger = Ledger::new();
        for model in self.devices() {
            ledger.add(model);
        }
        ledger.drops().into_iter().collect()
    }
}
