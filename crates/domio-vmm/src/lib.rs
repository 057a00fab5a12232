//! The simulated host: pcpus that run a [`domio_sched::Scheduler`], domains with vcpus, a guest
//! operating system with processes on each vcpu, and a bus for device models.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | what a host is made of: plain data |
//! | [`simulation`] | a host with its event queue |
//! | [`host`] | what an event does: timers, wake-ups, passes, switches, guests that execute |
//! | [`profile`] | what the hypervisor's work costs |
//! | [`guest`] | the operating system on a vcpu: upcalls, softirqs, kernel threads, processes |
//! | [`process`] | processes, the steps of their programs, the programs that ship |
//! | [`bus`] | device models, and on whose behalf driver domains work |
//! | [`evtchn`], [`grant`], [`ring`] | what drivers of different domains share |
//!
//! # A wake-up from top to bottom
//!
//! A guest sleeps until a time, and somebody else executes on its pcpu. These are the calls, in
//! order, from the timer that expires to the process that sleeps again.
//!
//! ```text
//!  no. file                   call
//!   1  host/mod.rs            Host::handle          the event queue delivers Event::GuestTimer
//!   2  host/execute.rs        guest_timer           does the timer run now, or after the slop?
//!   3  host/softirq.rs          expire              the softirq of timers says (xen-spec 0.3)
//!   4  host/execute.rs        interrupt, give_tick  the guest has an interrupt: with devices
//!                                                   the timer's virq (host/io.rs raise_timer)
//!   5  host/execute.rs        kick                  it is blocked, so it is woken
//!   6  host/wake.rs           wake                  runstate runnable, then the policy
//!   7  domio-sched              Scheduler::wake     queues the vcpu, tickles a pcpu (its Cx)
//!   8  host/softirq.rs        apply_effects, tickle the pcpu to ask; by IPI if not the waker's own
//!   9  host/softirq.rs        raise                 who executes there stops (execute.rs halt);
//!                                                   phase Entering, as long as the profile says
//!  10  host/softirq.rs        stage_over, run_due   timers of this instant first, then the pass
//!  11  host/pass.rs           pass                  what ran for how long, and why it stops
//!  12  domio-sched              Scheduler::schedule the answer: a Pick, next vcpu and time slice
//!  13  host/pass.rs           switch, switched      phase Switching; both runstates, the trace
//!  14  host/pass.rs           back_to_guest         phase Guest; caches are refilled first
//!  15  host/execute.rs        go_on, next_step      asks the guest what it does from now on
//!  16  host/io.rs             step_kernel           a guest with devices: its kernel goes first
//!  17  guest/kernel.rs        step                  upcall, scan, the timer's handler, softirqs
//!  18  guest/mod.rs           step, wake_tasks      the softirq wakes processes that are due
//!  19  process/task.rs        wake_due              ready from now on
//!  20  guest/mod.rs           step_tasks            the process of the highest priority, or
//!      process/order.rs         choose              the process that Linux 2.6.18 would run
//!  21  host/io.rs             step_program          a process that runs a program
//!  22  process/run.rs         advance               the switch to it, then its next step:
//!  23  process/programs/*.rs    Program::next       compute, call, wait, sleep ...
//!  24  host/execute.rs        guest_done            computed; back to 15, until all sleep:
//!  25  host/execute.rs        block                 the block hypercall (xen-spec 0.7), then
//!                                                   raise and a pass, as from 9 on
//! ```
//!
//! Where nothing takes time ([`Profile::is_free`]), each phase ends at the instant in which the
//! phase began. A guest without devices has no upcalls: 16 and 17 fall away, and 18 spends the time
//! of the timer's handler and of its softirq. A process of the workloads that only compute has no
//! program: `process/task.rs` knows the next step instead of 21 to 23. A controller's process makes
//! hypercalls (`host/control.rs`) at 22.
//!
//! Other causes come in at 5. An **event** of another domain: `KernelIo::send` (`bus/io.rs`) sets
//! the pending bit (`evtchn/channels.rs`), `deliver` (`host/io.rs`) kicks who is to be told. A
//! **device**: `device_event` (`host/io.rs`) calls [`Device::event`], which raises a physical
//! interrupt. An **operator** who unpauses (`host/domains.rs`) comes in at 6.
//!
//! # A host
//!
//! [`HostConfig`] says what a host is made of, [`Simulation`] runs it:
//!
//! ```
//! use domio_core::{DomainId, Duration, Instant, NullSink, ParamValues, Topology, XenVersion};
//! use domio_vmm::config::{DomainConfig, GuestConfig, HostConfig, VcpuConfig, Workload};
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
//! };
//! let scheduler = (policy.make)(&ParamValues::defaults(policy.descriptor.params), &topology);
//! let config = HostConfig {
//!     topology,
//!     version: XenVersion::V4_17,
//!     profile: Profile::IDEAL,
//!     domains: vec![burner(1), burner(2)],
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

extern crate alloc;

pub mod bus;
pub mod config;
pub mod evtchn;
pub mod grant;
pub mod guest;
pub mod host;
pub mod process;
pub mod profile;
pub mod ring;
pub mod simulation;

pub use bus::{Device, NoDevices};
pub use config::HostConfig;
// For `device_models!`.
#[doc(hidden)]
pub use domio_core::DomainId;
pub use host::Host;
pub use process::Finished;
pub use profile::{PolicyCosts, Profile, TimerSoftirq};
pub use simulation::Simulation;
