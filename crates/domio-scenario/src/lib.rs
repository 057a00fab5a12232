//! Scenarios: TOML texts that say which machine, which policy and which domains a run has.
//!
//! ```text
//! text --parse, validate--> Scenario --set, with--> Scenario --build--> Built --> simulation
//!                               \-- plan(): plain data
//! ```
//!
//! [`Scenario::parse`] reports everything that is wrong at once, each [`Problem`] with its place,
//! what was expected and what to do. One declaration of each key drives the checks, [`schema()`],
//! [`reference()`] and the reading of its value. Nothing here reads a file, except
//! [`Scenario::load`].
//!
//! ```
//! use domio_scenario::{NoReplay, Scenario};
//!
//! let text = r#"
//!     run.duration_s = 1
//!     scheduler.policy = "round-robin"
//!     [[domain]]
//!     name = "g"
//!     count = 3
//!     workload = "burn"
//! "#;
//! let mut scenario = Scenario::parse("burn3.toml", text.as_bytes(), domio_sched::policies())?;
//! scenario.set("scheduler.tslice_ms", "10")?;
//! let built = scenario.build(&NoReplay)?;
//! assert_eq!(built.host.domains.len(), 3);
//!
//! let refused = scenario.with(&[("domain.g2.wieght", "512")]).unwrap_err();
//! assert_eq!(refused.problems()[0].source, "--set");
//! # Ok::<(), domio_scenario::ScenarioErrors>(())
//! ```

#[macro_use]
mod declare;

mod alike;
mod amount;
mod build;
mod check;
mod devices;
mod examples;
mod limits;
mod overrides;
mod parts;
mod plan;
mod problem;
mod put;
mod rate;
mod recorded;
mod reference;
mod render;
mod resolve;
mod scenario;
mod schema;
mod source;
mod suggest;
mod value;
mod vary;
mod walk;
mod written;
mod xl;

pub use build::Built;
pub use devices::{DeviceConfig, DeviceModel, OwnDevice, attach};
pub use examples::{example, examples};
pub use limits::{MAX_ACTIONS, MAX_BYTES, MAX_TASKS, MAX_VCPUS};
pub use parts::{AddedPart, DeviceEntry, NameTaken, Parts, WorkloadEntry};
pub use plan::{Input, Plan, Replay, Vary};
pub use problem::{MAX_SHOWN, Problem, ScenarioErrors};
pub use recorded::{NoReplay, ReplaySource};
pub use reference::reference;
pub use scenario::Scenario;
pub use schema::schema;
pub use suggest::unmodelled_policy;

pub use domio_core::keys::Code;
pub use domio_vmm::bus::side::{InputFiles, NoDemands, RecordedCalls, RecordedRequests};
