//! Scenarios: TOML texts that say which machine, which policy and which domains a run has.
//!
//! ```text
//! text --parse, validate--> Scenario --set, with--> Scenario --build--> Built --> simulation
//!                               \-- plan(): plain data
//! ```
//!
//! [`Scenario::parse`] reports all that is wrong together, each [`Problem`] with its place,
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
//!
//! # A key from its text to its effect
//!
//! `nr_requests` of `[guests]` says how many requests a guest's disk has in each direction. These
//! are the calls, in order, from the text of a scenario to the process that sleeps for a request. A
//! key of a device is declared and read in the device's own folder: files from 6 to 11 and from 15
//! on are those of `domio_blk`. A file in brackets is called on the way, and the call returns.
//!
//! ```text
//!  no. file               call
//!   1  scenario.rs        parse_with              the text, within limits, as UTF-8
//!   2  value.rs           read                    a tree of values, each with its place
//!   3  resolve/mod.rs     resolve                 the tables in turn; one Mistake for each fault
//!   4  check/fields.rs    table                   the document's keys against their declarations
//!                                                 (check/value.rs key: the kind of each value)
//!   5  disks/mod.rs       virtual_disks           `open`: what disks ask of the document
//!   6  disks/host.rs      read, table             the table `guests` against GUESTS, likewise
//!   7  split/keys.rs      guests                  the field `nr_requests` is a number: LayerConfig
//!      -- back in resolve, which resolves the domains with their disks: resolve/domain.rs --
//!   8  resolve/equip.rs   devices                 asks each kind for its devices
//!   9  disks/host.rs      place, put              each disk gets its place, and the LayerConfig
//!  10  disks/mod.rs       groups, put             disks by driver domain (disks/kinds.rs add_to)
//!  11  split/keys.rs      add, equip              a SplitConfig, with the disk's own keys before
//!                                                 those of `[guests]`
//!      -- the Plan is whole, and the Scenario with it --
//!  12  build.rs           build, attach           a run begins: the Plan with recordings
//!  13  devices.rs         attach                  DeviceConfig makes the model on the bus
//!  14  split/mod.rs       Split::new              a model with request layers
//!  15  split/config.rs    LayerConfig::make       limits of the layer: a DiskQueue
//!  16  queue/room.rs      try_room                no request is left: the process sleeps
//! ```
//!
//! 9 to 11 visit three files again. What a disk asks of the host is read before any domain, for a
//! domain's disks name disks of the host; devices are made when all domains are known.

#[macro_use]
mod declare;

mod alike;
mod amount;
mod build;
mod check;
mod declarations;
mod devices;
mod document;
mod examples;
mod inline;
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
mod swap;
mod value;
mod vary;
mod walk;
mod workloads;
mod written;
mod xl;

pub use build::Built;
pub use declarations::{Declarations, check_declarations};
pub use devices::{DeviceConfig, DeviceModel, OwnDevice, attach};
pub use document::read_document;
pub use examples::{example, examples};
pub use limits::{MAX_ACTIONS, MAX_BYTES, MAX_TASKS, MAX_VCPUS};
pub use parts::{AddedPart, DeviceEntry, NameTaken, Parts};
pub use plan::{Input, Plan, Replay, Vary};
pub use problem::{MAX_SHOWN, Problem, ScenarioErrors};
pub use recorded::{NoReplay, ReplaySource};
pub use reference::reference;
pub use scenario::Scenario;
pub use schema::schema;
pub use suggest::unmodelled_policy;
pub use workloads::WorkloadEntry;

pub use domio_core::keys::Code;
pub use domio_vmm::bus::side::{InputFiles, NoDemands, RecordedCalls, RecordedRequests};
