//! One replication under way: a simulated host that continues when it is told, into one sink.

use crate::erased::Erased;
use crate::overhead::KernelTimes;
use crate::simulate::RunFault;
use domio_contract::{Scheduler, StateRows};
use domio_core::{DomainId, Instant, NullSink, PcpuId, Sink, VcpuName};
use domio_net::queue::{DropPlace, Ledger};
use domio_scenario::{Built, DeviceModel};
use domio_sim::Outcome;
use domio_vmm::Simulation;
use domio_vmm::bus::Assembly;
use domio_vmm::config::HostConfig;
use domio_vmm::host::{RunstateTimes, Snapshot};
use std::cell::{RefCell, RefMut};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A host that is being simulated, and the sink that gets its records.
///
/// Two replications of one host and one number do the same, event for event.
pub struct Replication<'s, S: Sink + 's> {
    host: Box<dyn Simulated + 's>,
    sink: Rc<RefCell<S>>,
    policy: &'static str,
    number: u32,
}

/// A simulation of any kind.
trait Simulated {
    fn run(&mut self, until: Instant) -> Outcome;
    fn mark(&mut self, now: Instant);
    fn set_recording(&mut self, on: bool);
    fn dump(&self) -> String;
    fn policy_state(&self) -> StateRows;
    fn policy_timer(&self, pcpu: PcpuId, slot: u8) -> Option<Instant>;
    fn events(&self) -> u64;
    fn devices(&self) -> &[DeviceModel];
    fn kernel_times(&self, domain: DomainId) -> KernelTimes;
    fn vcpu_times(&self) -> Vec<(VcpuName, RunstateTimes)>;
    fn passes(&self) -> u64;
}

impl<S: Sink> Simulated for Simulation<S, DeviceModel> {
    fn run(&mut self, until: Instant) -> Outcome {
        let outcome = Simulation::run(self, until);
        self.host_mut().flush();
        outcome
    }

    fn mark(&mut self, now: Instant) {
        self.host_mut().mark(now);
        self.host_mut().flush();
    }

    fn set_recording(&mut self, on: bool) {
        self.host_mut().set_recording(on);
    }

    fn dump(&self) -> String {
        self.host().dump()
    }

    fn policy_state(&self) -> StateRows {
        self.host().policy_state()
    }

    fn policy_timer(&self, pcpu: PcpuId, slot: u8) -> Option<Instant> {
        Simulation::policy_timer(self, pcpu, slot)
    }

    fn events(&self) -> u64 {
        Simulation::events(self)
    }

    fn devices(&self) -> &[DeviceModel] {
        self.host().devices()
    }

    fn kernel_times(&self, domain: DomainId) -> KernelTimes {
        self.host().kernel_times(domain)
    }

    fn vcpu_times(&self) -> Vec<(VcpuName, RunstateTimes)> {
        let host = self.host();
        let vcpus = 0..host.vcpu_count();
        vcpus
            .map(|v| (host.vcpu_name(v), host.vcpu_times(v)))
            .collect()
    }

    fn passes(&self) -> u64 {
        self.host().passes()
    }
}

/// A host that makes no records. Compiled here, for all callers.
fn silent(built: &Built, number: u32) -> Box<dyn Simulated> {
    simulation(built, number, NullSink)
}

/// A host that makes records. Compiled here, for all callers and all sinks.
fn recorded<'s>(built: &Built, number: u32, sink: Erased<'s>) -> Box<dyn Simulated + 's> {
    simulation(built, number, sink)
}

/// A host that continues from `snapshot`. Compiled here, for all callers and all sinks.
fn resumed<'s>(
    config: &HostConfig,
    scheduler: Box<dyn Scheduler>,
    snapshot: &Snapshot,
    sink: Erased<'s>,
) -> Box<dyn Simulated + 's> {
    let host: Simulation<_, DeviceModel> =
        Simulation::from_snapshot(config, scheduler, sink, 0, snapshot);
    Box::new(host)
}

/// A host without devices is simulated by the same code: a kind of its own was no faster.
fn simulation<'s, S: Sink + 's>(built: &Built, number: u32, sink: S) -> Box<dyn Simulated + 's> {
    let (config, scheduler, seed) = (&built.host, built.scheduler(), built.seed);
    let attach = |bus: &mut Assembly<'_, DeviceModel>| built.attach(bus, number);
    Box::new(Simulation::with_devices(
        config, scheduler, attach, sink, seed, number,
    ))
}

impl<'s, S: Sink + 's> Replication<'s, S> {
    /// Replication `number` of `built`, at time zero. All records go to `sink`.
    pub fn new(built: &Built, number: u32, sink: S) -> Self {
        let sink = Rc::new(RefCell::new(sink));
        let host = if S::ENABLED {
            recorded(built, number, Erased::of(&sink))
        } else {
            silent(built, number)
        };
        Replication {
            host,
            sink,
            policy: built.policy.descriptor.name,
            number,
        }
    }

    /// The host that `config` describes, without devices, which continues from `snapshot` under
    /// `scheduler`, as of seed 0. All records go to `sink`. See [`Simulation::from_snapshot`].
    ///
    /// # Panics
    /// As [`Simulation::from_snapshot`].
    pub fn resumed(
        config: &HostConfig,
        scheduler: Box<dyn Scheduler>,
        snapshot: &Snapshot,
        sink: S,
    ) -> Self {
        let policy = scheduler.descriptor().name;
        let sink = Rc::new(RefCell::new(sink));
        Replication {
            host: resumed(config, scheduler, snapshot, Erased::of(&sink)),
            sink,
            policy,
            number: 0,
        }
    }

    /// Continues until `time`.
    ///
    /// # Errors
    /// When the policy breaks its contract or the run does not progress.
    pub fn until(&mut self, time: Instant) -> Result<(), RunFault> {
        match self.host.run(time) {
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
    /// records from `now` on, or until `now`, can close its accounts. Driver domains say for whom
    /// they worked until then.
    pub fn mark(&mut self, now: Instant) {
        self.host.mark(now);
    }

    /// Whether records are made from now on. They are from the beginning on.
    pub fn set_recording(&mut self, on: bool) {
        self.host.set_recording(on);
    }

    /// What gets the records. To be given back before the replication continues.
    pub fn sink_mut(&mut self) -> RefMut<'_, S> {
        self.sink.borrow_mut()
    }

    /// Ends the replication and gives the sink back.
    pub fn into_sink(self) -> S {
        drop(self.host);
        let sink = Rc::into_inner(self.sink).expect("the host alone had the sink, too");
        sink.into_inner()
    }

    /// State of host and policy, for people.
    pub fn dump(&self) -> String {
        self.host.dump()
    }

    /// What the policy has in its books.
    pub fn policy_state(&self) -> StateRows {
        self.host.policy_state()
    }

    /// When the timer that the policy keeps in `slot` of `pcpu` expires, if it is set.
    ///
    /// # Panics
    /// If there is no such pcpu or slot.
    pub fn policy_timer(&self, pcpu: PcpuId, slot: u8) -> Option<Instant> {
        self.host.policy_timer(pcpu, slot)
    }

    /// Events delivered so far.
    pub fn events(&self) -> u64 {
        self.host.events()
    }

    /// The host's devices, in the order in which they came to the bus.
    pub fn devices(&self) -> &[DeviceModel] {
        self.host.devices()
    }

    /// What the vcpus of `domain` have executed up to the last [`Replication::mark`], by kind,
    /// where the sink wants to know for whom domains work.
    pub fn kernel_times(&self, domain: DomainId) -> KernelTimes {
        self.host.kernel_times(domain)
    }

    /// How long each vcpu was in which runstate, up to its last change of state or the last
    /// [`Replication::mark`].
    pub fn vcpu_times(&self) -> Vec<(VcpuName, RunstateTimes)> {
        self.host.vcpu_times()
    }

    /// How often the policy was asked so far who runs next.
    pub fn passes(&self) -> u64 {
        self.host.passes()
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
