//! Elevators of Linux 2.6.24 and 6.1: what orders the requests of a disk.
//!
//! | module | holds |
//! |---|---|
//! | [`contract`] | the trait [`Elevator`], and what is said of each |
//! | [`cx`] | what an elevator sees and may ask for |
//! | [`request`], [`list`], [`sorted`] | bios and requests, and how they are kept |
//! | [`tunables`], [`registry`] | what can be set; every elevator by name |
//! | [`history`] | decaying averages of think times and seek distances |
//! | [`choice`] | which of two requests of a process is served first |
//! | `noop`, `deadline`, `anticipatory`, `cfq` | the elevators of 2.6.24 |
//! | `none`, `mq_deadline`, `kyber`, `bfq` | those of the multi-queue layer (6.1) |
//! | `lease` | one for the layer below virtual disks, ours |
//!
//! An elevator depends on `domio-core` and on this folder alone, so that the same one runs in a
//! guest, in the driver domain and against a recording.

#[macro_use]
pub mod tunables;

pub mod anticipatory;
pub mod bfq;
pub mod cfq;
pub mod choice;
pub mod contract;
pub mod cx;
pub mod deadline;
pub mod history;
pub mod kyber;
pub mod lease;
pub mod list;
pub mod mq_deadline;
pub mod none;
pub mod noop;
pub mod registry;
pub mod request;
pub mod sorted;

pub use contract::{Elevator, ElevatorInfo, Layer, MayQueue, Merge, MergeIn, Promise};
pub use cx::{Core, ElevatorCx, QueueAction, QueueTimer, QueueWork};
pub use registry::{elevators, find_elevator};
pub use request::{Bio, IoPrio, IoWay, Jiffies, Request, RequestId, Requests, Submitter};
pub use tunables::{Tunable, Tuning, jiffies_of_ms};
