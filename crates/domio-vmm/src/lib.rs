//! The simulated host: pcpus that run a [`domio_sched::Scheduler`], domains with vcpus, and a small
//! guest operating system with CPU workloads on each vcpu.
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
