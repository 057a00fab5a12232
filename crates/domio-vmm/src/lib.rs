//! The simulated host: pcpus that run a [`domio_contract::Scheduler`], domains with vcpus, a guest
//! operating system with processes on each vcpu, and a bus for device models.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | what a host is made of: plain data |
//! | [`simulation`] | a host with its event queue |
//! | [`host`] | what an event does: guests execute, interrupts reach them, domains come and go |
//! | `hypervisor` | pcpus, vcpus and the policy: timers, wake-ups, passes, switches |
//! | [`profile`] | what the hypervisor's work costs |
//! | [`guest`] | the operating system on a vcpu: upcalls, softirqs, kernel threads, processes |
//! | [`process`] | processes, the steps of their programs, the programs that ship |
//! | [`bus`] | device models, and on whose behalf driver domains work |
//! | [`evtchn`], [`grant`], [`ring`] | what drivers of different domains share |
//!
//! # A wake-up from top to bottom
//!
//! A guest sleeps until a time, and somebody else executes on its pcpu. These are the calls, in
//! order, from the timer that expires to the process that sleeps again. Each file is visited once.
//! A file in brackets is called on the way, and the call returns.
//!
//! ```text
//!  no. file                   call
//!   1  host/mod.rs            Host::handle          the event queue delivers Event::GuestTimer
//!   2  host/interrupt.rs      guest_timer           does the timer run now, or after the slop?
//!                             (hypervisor/timer.rs guest_expiry: the softirq of timers says,
//!                             xen-spec 0.3)
//!   3  host/interrupt.rs      interrupt, give_tick  the guest has an interrupt; raise_timer: with
//!                                                   devices it is the timer's virq
//!   4  host/interrupt.rs      kick                  it is blocked, so it is woken
//!   5  hypervisor/wake.rs     wake                  runstate runnable, then the policy
//!   6  domio-sched              Scheduler::wake     queues the vcpu, tickles a pcpu (its Cx)
//!   7  hypervisor/effects.rs  apply_effects, tickle the pcpu to ask; by IPI if not the waker's own
//!   8  hypervisor/softirq.rs  raise, halt           who executes there stops; phase Entering, as
//!                                                   long as the profile says
//!   9  host/passes.rs         stage_over, run_due   timers of this instant first, then the pass
//!  10  hypervisor/pass.rs     pass                  what ran for how long, and why it stops
//!                             (domio-sched Scheduler::schedule: the answer is a Pick, the next
//!                             vcpu and its time slice)
//!  11  hypervisor/pass.rs     switch, switched      phase Switching; both runstates, the trace
//!  12  hypervisor/pass.rs     back_to_guest         phase Guest; caches are refilled first
//!  13  host/execute.rs        go_on, guest_done     when the vcpu is back, or has executed what it
//!                                                   was to, it is asked what it does from now on
//!  14  host/kernel.rs         step_kernel           a guest with devices: its kernel goes first
//!  15  guest/devices.rs       Guest::step_kernel    (guest/kernel.rs step: upcall, scan, the
//!                                                   timer's handler, softirqs), then who is due
//!  16  guest/due.rs           wake_tasks            (process/task.rs wake_due: ready from now on)
//!  17  host/processes.rs      step_processes        who executes, and what:
//!  18  guest/mod.rs             Guest::step         hands over to
//!  19  guest/tasks.rs           step_tasks          the process of the highest priority, or
//!      process/order.rs           choose            the process that Linux 2.6.18 would run
//!  20  guest/program.rs         Guest::advance      a process that runs a program goes on:
//!  21  process/run.rs           Task::advance       the switch to it, then its next step:
//!  22  process/programs/*.rs      Program::next     compute, call, wait, sleep ...
//!  23  hypervisor/block.rs    block                 all sleep: the block hypercall (xen-spec 0.7)
//! ```
//!
//! Two things come back, and both are natural. A process that computes ends the way at 22 and comes
//! back at 13, when [`Event::Done`](host::Event::Done) says that its time has been executed: that
//! is another event. And who blocks raises the scheduler's softirq, as from 8 on: that is the way
//! of the next vcpu.
//!
//! Where nothing takes time ([`Profile::is_free`]), each phase ends at the instant in which the
//! phase began. A guest without devices has no upcalls: 14 and 15 fall away, and 18 spends the time
//! of the timer's handler and of its softirq before 16. A process of the workloads that only
//! compute has no program: `process/task.rs` knows the next step instead of 20 to 22. A
//! controller's process makes hypercalls (`host/control.rs`) at 22.
//!
//! Other causes come in at 4. An **event** of another domain: `KernelIo::send` (`bus/io.rs`) sets
//! the pending bit (`evtchn/channels.rs`), `deliver` (`host/interrupt.rs`) kicks who is to be told.
//! A **device**: `device_event` (`host/io.rs`) calls [`Device::event`], which raises a physical
//! interrupt, and then `deliver`. An **operator** who unpauses (`host/operator.rs`) comes in at 5.
//!
//! # A host
//!
//! [`HostConfig`] says what a host is made of, [`Simulation`] runs it:
//!
//! ```
//! use domio_core::{DomainId, Duration, Instant, NullSink, ParamValues, Topology, XenVersion};
//! use domio_vmm::config::{DomainConfig, DomainKind, GuestConfig, HostConfig};
//! use domio_vmm::config::{VcpuConfig, Workload};
//! use domio_vmm::{Profile, Simulation};
//!
//! let policy = domio_sched::find("round-robin").unwrap();
//! let topology = Topology::flat(1).unwrap();
//! let burner = |id: u16| DomainConfig {
//!     id: DomainId(id),
//!     name: format!("g{id}"),
//!     params: ParamValues::defaults(policy.descriptor.domain_params),
//!     guest: GuestConfig::IDEAL,
//!     vcpus: vec![VcpuConfig::anywhere([Workload::Burn])],
//!     start: Instant::ZERO,
//!     stop: None,
//!     kind: DomainKind::Guest,
//! };
//! let scheduler = (policy.make)(&ParamValues::defaults(policy.descriptor.params), &topology);
//! let config = HostConfig {
//!     topology,
//!     version: XenVersion::V4_17,
//!     profile: Profile::IDEAL,
//!     domains: vec![burner(1), burner(2)],
//!     groups: Vec::new(),
//!     pools: Vec::new(),
//!     actions: vec![],
//!     controllers: vec![],
//! };
//! let mut simulation = Simulation::new(&config, scheduler, NullSink, 1, 0);
//! let outcome = simulation.run(Instant::ZERO + Duration::from_secs(1));
//! assert!(matches!(outcome, domio_sim::Outcome::Completed { .. }));
//! let ran = simulation.host().vcpu_times(0).running;
//! assert_eq!(ran, Duration::from_millis(510)); // 30 ms slices: 17 of 34, the last one cut short
//! ```
#![no_std]
#![warn(clippy::float_arithmetic)]

extern crate alloc;

pub mod bus;
pub mod config;
mod event;
pub mod evtchn;
pub mod grant;
pub mod guest;
pub mod hardware;
pub mod host;
mod hypervisor;
pub mod process;
pub mod profile;
pub mod ring;
pub mod simulation;

pub use bus::{Device, NoDevices};
pub use config::HostConfig;
// For `device_models!`.
#[doc(hidden)]
pub use domio_core::DomainId;
pub use hardware::Hardware;
pub use host::Host;
pub use hypervisor::siblings;
pub use hypervisor::taken;
pub use process::Finished;
pub use profile::{PolicyCosts, Profile, TimerSoftirq};
pub use simulation::Simulation;
