//! A host together with its event queue: what a caller makes and runs.

use crate::bus::attach::{Assembly, Attach};
use crate::bus::device::{Device, NoDevices};
use crate::bus::models::Bus;
use crate::config::HostConfig;
use crate::host::{Event, Host, Snapshot};
use alloc::boxed::Box;
use domio_contract::Scheduler;
use domio_core::{Instant, PcpuId, Sink};
use domio_sim::{EventQueue, Limits, Outcome};

/// A simulation of one host.
pub struct Simulation<S: Sink, D: Device = NoDevices> {
    queue: EventQueue<Event>,
    host: Host<S, D>,
}

impl<S: Sink> Simulation<S> {
    /// A host as `config` describes it under `scheduler`, with its records going to `sink`.
    ///
    /// Two simulations of the same arguments do the same, event for event.
    ///
    /// # Panics
    /// As [`Host::new`].
    pub fn new(
        config: &HostConfig,
        scheduler: Box<dyn Scheduler>,
        sink: S,
        seed: u64,
        replication: u32,
    ) -> Self {
        Self::with_devices(config, scheduler, |_| (), sink, seed, replication)
    }
}

impl<S: Sink, D: Device> Simulation<S, D> {
    /// A host without devices that starts in the state of `snapshot`, at the time of that. Times of
    /// creation in `config` are ignored: every domain exists already. Vcpus are numbered in the
    /// order of `config`, to which rows of the policy's state refer: `scheduler` is asked to
    /// [resume](Scheduler::resume) with these.
    ///
    /// # Panics
    /// As [`Host::new`], and when `snapshot` contradicts itself or names unknown vcpus.
    pub fn from_snapshot(
        config: &HostConfig,
        scheduler: Box<dyn Scheduler>,
        sink: S,
        seed: u64,
        snapshot: &Snapshot,
    ) -> Self {
        let mut queue = EventQueue::new();
        let mut host = Host::new(config, scheduler, Bus::empty(), sink, seed, 0, &mut queue);
        host.start_from(&mut queue, snapshot);
        Simulation { queue, host }
    }

    /// As [`Simulation::new`], on a host with the devices that `attach` puts on the bus.
    ///
    /// # Panics
    /// As [`Host::new`].
    pub fn with_devices(
        config: &HostConfig,
        scheduler: Box<dyn Scheduler>,
        attach: impl FnOnce(&mut Assembly<'_, D>),
        sink: S,
        seed: u64,
        replication: u32,
    ) -> Self {
        let mut queue = EventQueue::new();
        let mut assembly = Assembly {
            queue: &mut queue,
            bus: Bus::empty(),
        };
        attach(&mut assembly);
        let bus = assembly.bus;
        let mut host = Host::new(config, scheduler, bus, sink, seed, replication, &mut queue);
        host.power_on(&mut queue, Instant::ZERO);
        host.post_plan(&mut queue);
        Simulation { queue, host }
    }

    /// As [`Simulation::with_devices`], on a host with the one device that `make` makes.
    ///
    /// # Panics
    /// As [`Host::new`].
    pub fn with_device(
        config: &HostConfig,
        scheduler: Box<dyn Scheduler>,
        make: impl FnOnce(&mut Attach<'_>) -> D,
        sink: S,
        seed: u64,
        replication: u32,
    ) -> Self {
        let attach = |bus: &mut Assembly<'_, D>| {
            bus.add(make);
        };
        Self::with_devices(config, scheduler, attach, sink, seed, replication)
    }

    /// Runs until `until` (or continues until then, when called again). Time zero is the host's
    /// start.
    pub fn run(&mut self, until: Instant) -> Outcome {
        let outcome = domio_sim::run(&mut self.host, &mut self.queue, &Limits::until(until));
        if matches!(outcome, Outcome::Completed { .. }) {
            self.host.mark_accounts(until);
        }
        outcome
    }

    /// The host.
    pub fn host(&self) -> &Host<S, D> {
        &self.host
    }

    /// The host, to change what it records.
    pub fn host_mut(&mut self) -> &mut Host<S, D> {
        &mut self.host
    }

    /// When the timer that the policy keeps in `slot` of `pcpu` expires, if it is set.
    ///
    /// # Panics
    /// If there is no such pcpu or slot.
    pub fn policy_timer(&self, pcpu: PcpuId, slot: u8) -> Option<Instant> {
        self.queue.deadline(self.host.timer_of_policy(pcpu, slot))
    }

    /// Events delivered so far.
    pub fn events(&self) -> u64 {
        self.queue.popped()
    }

    /// Ends the simulation and gives the sink back.
    pub fn into_sink(self) -> S {
        self.host.into_sink()
    }
}
