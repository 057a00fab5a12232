//! Elevators of Linux 2.6.24: what orders the requests of a disk.
//!
//! | module | holds |
//! |---|---|
//! | [`contract`] | the trait [`Elevator`], and what is said of each |
//! | [`cx`] | what an elevator sees and may ask for |
//! | [`request`], [`list`], [`sorted`] | bios and requests, and how they are kept |
//! | [`tunables`], [`registry`] | what can be set; every elevator by name |
//! | [`history`] | decaying averages of think times and seek distances |
//! | `noop`, `deadline`, `anticipatory`, `cfq` | the elevators of Linux 2.6.24 |
//! | `lease` | one for the layer below virtual disks, ours |
//!
//! An elevator depends on `domio-core` and on this folder alone, so that the same one runs in a
//! guest, in the driver domain and against a recording.

pub mod anticipatory;
pub mod cfq;
pub mod contract;
pub mod cx;
pub mod deadline;
pub mod history;
pub mod lease;
pub mod list;
pub mod noop;
pub mod registry;
pub mod request;
pub mod sorted;
pub mod tunables;

pub use contract::{Elevator, ElevatorInfo, MayQueue, Merge};
pub use cx::{Core, ElevatorCx, QueueAction, QueueTimer, QueueWork};
pub use registry::{elevators, find_elevator};
pub use request::{Bio, IoPrio, IoWay, Jiffies, Request, RequestId, Requests, Submitter};
pub use tunables::{Tunable, Tuning, jiffies_of_ms};
