//! The simulated host of a scheduling policy: the hypervisor, the domains on it, the device bus.
//!
//! The hypervisor knows pcpus, vcpus and the policy. Guests execute on vcpus,
//! devices serve guests, and controllers set what the hypervisor obeys: where these meet is here.
//!
//! | part | file | holds |
//! |---|---|---|
//! | `xen` | `hypervisor/` | pcpus, vcpus, the policy, the trace |
//! | `domains` | `domain` | the configuration, and what became of each domain |
//! | `bus` | `bus/models` | device models, and what they share with the host |
//! | `controls` | `controlled` | controllers, and what they have read and decided |
//! | | `counting` | for whom driver domains work, estimated by counting packets |
//!
//! | file | what happens |
//! |---|---|
//! | [`mod@self`] | an event |
//! | `passes` | passes come when they are due, and lead back to guests |
//! | `execute` | guests execute |
//! | `kernel` | kernels of guests with devices continue |
//! | `processes` | processes of guests continue |
//! | `hardirq` | interrupts and softirqs of the host's own kernel (KVM) |
//! | `interrupt` | timers, ticks, interrupts and events reach guests |
//! | `neighbors` | what vcpus of one domain have for each other |
//! | `io` | domains are plugged in, devices act from outside of guests |
//! | `domains` | domains are created and destroyed |
//! | `operator` | an operator acts |
//! | `tell` | the policy is notified of single vcpus and of groups of domains |
//! | `control` | processes of controllers read and set |
//! | `snapshot` | a run begins in the middle |
//! | `inspect` | what can be seen of a host from outside |

mod control;
mod controlled;
mod counting;
mod domain;
mod domains;
mod execute;
mod hardirq;
mod inspect;
mod interrupt;
mod io;
mod kernel;
mod neighbors;
mod operator;
mod passes;
mod processes;
mod snapshot;
mod tell;

pub use crate::event::Event;
pub use crate::hypervisor::hold::TimerHold;
pub use crate::hypervisor::vcpu::RunstateTimes;
pub use crate::hypervisor::{MAX_PASSES_AT_ONE_INSTANT, MAX_PASSES_OF_A_VCPU};
pub use snapshot::{PcpuSnapshot, Snapshot, VcpuSnapshot};

use crate::bus::at_hand::AtHand;
use crate::bus::device::{Device, NoDevices};
use crate::bus::models::Bus;
use crate::config::HostConfig;
use crate::event::Queue;
use crate::guest::Job;
use crate::hypervisor::Hypervisor;
use crate::hypervisor::halt_polls::HaltPolls;
use crate::hypervisor::interrupts::Interrupts;
use crate::hypervisor::pcpu::{Cause, Pcpus};
use crate::hypervisor::policy::Policy;
use crate::hypervisor::refills::Refills;
use crate::hypervisor::release::Release;
use crate::hypervisor::served::ServedAccounts;
use crate::hypervisor::siblings::Siblings;
use crate::hypervisor::together::Meetings;
use crate::hypervisor::trace::{Classes, Trace};
use crate::hypervisor::vcpu::Vcpus;
use alloc::boxed::Box;
use alloc::vec::Vec;
use controlled::Controlled;
use domain::{Domains, says_nothing};
use domio_contract::{Descriptor, Scheduler, Tables};
use domio_core::{Instant, Sink};
use domio_sim::{Flow, Model};

/// A host, a policy, device models and a trace sink.
///
/// Made and driven by [`crate::Simulation`].
pub struct Host<S: Sink, D: Device = NoDevices> {
    xen: Hypervisor<S>,
    domains: Domains,
    bus: Bus<D>,
    controls: Vec<Controlled>,
    /// Jobs that guests have finished in the step under way.
    jobs: Vec<Job>,
}

impl<S: Sink, D: Device> Host<S, D> {
    /// A host as `config` describes it, switched off.
    ///
    /// # Panics
    /// When `config` contradicts itself (a domain without vcpus, an affinity outside the topology
    /// or outside of the domain's pool),
    /// or has groups of domains under a policy that has none: whoever builds it has to check.
    pub fn new(
        config: &HostConfig,
        scheduler: Box<dyn Scheduler>,
        mut bus: Bus<D>,
        sink: S,
        seed: u64,
        replication: u32,
        queue: &mut Queue,
    ) -> Self {
        let Descriptor {
            name, group_params, ..
        } = scheduler.descriptor();
        assert!(
            config.groups.is_empty() || !group_params.is_empty(),
            "{name} has no groups of domains"
        );
        let controlled = !config.controllers.is_empty();
        let wires = &mut bus.wires;
        wires.recording = S::ENABLED;
        wires.stages = sink.stages();
        wires.owners = sink.owners() || controlled;
        wires.tells_packets = scheduler.needs().packets;
        wires.at_hand = AtHand::new(scheduler.needs().dispatching);
        let names = core::mem::take(&mut wires.names);
        let mut tables = Tables::new(config.topology.clone());
        let pooled = !config.pools.is_empty();
        tables.no_hard_affinity = !pooled && says_nothing(config, |hard, _| hard);
        tables.no_soft_affinity = says_nothing(config, |_, soft| soft);
        let owners = D::present() && wires.owners;
        let siblings = Siblings::new(&config.profile, &config.topology);
        let classes = Classes {
            policies: scheduler.classes(),
            slows: siblings.any(),
            interrupts: config.domains.iter().any(|domain| domain.has_softirqs()),
        };
        Host {
            xen: Hypervisor {
                policy: Policy::new(scheduler, tables),
                release: Release::new(config),
                pcpus: Pcpus::new(config.topology.pcpus(), controlled, queue),
                vcpus: Vcpus::default(),
                served: ServedAccounts::new(owners, controlled),
                siblings,
                refills: Refills::new(&config.profile),
                meetings: Meetings::default(),
                halt_polls: HaltPolls::default(),
                interrupts: Interrupts::default(),
                trace: Trace::new(sink, names, config.topology.pcpus(), classes),
                fault: None,
            },
            domains: Domains::new(config, seed, replication),
            bus,
            controls: config.controllers.iter().map(Controlled::new).collect(),
            jobs: Vec::with_capacity(8),
        }
    }

    /// Puts the creation and destruction of the domains and the operator's actions into `queue`.
    pub(crate) fn post_plan(&self, queue: &mut Queue) {
        self.domains.post_plan(queue);
    }

    /// Switches every pcpu on.
    pub(crate) fn power_on(&mut self, queue: &mut Queue, now: Instant) {
        self.xen.power_on(queue, now);
        self.tell_groups(queue, now);
    }
}

impl<S: Sink, D: Device> Model for Host<S, D> {
    type Event = Event;

    #[inline(always)]
    fn handle(&mut self, queue: &mut Queue, event: Event) -> Flow {
        let now = queue.now();
        match event {
            Event::Slice(pcpu) => self.xen.slice_expired(queue, pcpu, now),
            Event::Policy(..) => {
                let is_policy = |event| matches!(event, Event::Policy(..));
                let mut next = Some(event);
                while let Some(Event::Policy(pcpu, slot)) = next {
                    self.xen.policy_timer(queue, pcpu, slot, now);
                    next = queue.pop_in_row(is_policy);
                }
            }
            Event::DomainTimer(domain) => self.xen.domain_timer(queue, domain, now),
            Event::Stage(pcpu) => self.stage_over(queue, pcpu, now),
            Event::Done(pcpu) => self.guest_done(queue, pcpu, now),
            Event::Ipi(pcpu) => self.xen.raise(queue, pcpu, now, Cause::Ipi),
            Event::GuestTimer(vcpu) => self.guest_timer(queue, vcpu, now),
            Event::GuestTick(vcpu) => self.guest_tick(queue, vcpu, now),
            Event::Kick { vcpu, by } => self.kicked(queue, vcpu, by, now),
            Event::HostTick(pcpu) => self.host_tick(queue, pcpu, now),
            Event::Device(token) => self.device_event(queue, token, now),
            Event::TimerHold => self.xen.pcpus.hold(queue),
            Event::Action(action) => self.operator(queue, action as usize, now),
            Event::Start(domain) => self.create_domain(queue, domain as usize, now),
            Event::Destroy(domain) => self.destroy_domain(queue, domain as usize, now),
            Event::Begin => {}
        }
        if !self.xen.pcpus.due.is_empty() {
            self.run_due(queue, now);
        }
        match self.xen.fault.take() {
            None => Flow::Continue,
            Some(fault) => Flow::Stop(fault),
        }
    }
}
