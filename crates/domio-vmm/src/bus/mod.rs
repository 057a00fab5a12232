//! The device bus: what a host has in addition to processors.
//!
//! The host knows time, vcpus and event channels. A network or a disk is a **device model**: the
//! drivers inside the guests' kernels, and the world outside of the host. Device models plug in
//! here and meet nowhere else. No model names another, and no model knows a number that the bus did
//! not give out.
//!
//! ```text
//!   world: lines, platters ──Device::event──▶ raises a physical interrupt of a driver domain
//!   kernel of a vcpu ──Device::irq, softirq, tasklet, work, timer──▶ drivers: work, sends
//!   process of a guest ──Device::call──▶ sockets and files
//! ```
//!
//! The bus hands out everything that a model is called by: timers, physical interrupts, softirqs,
//! tasklets, work items and kernel timers when the model [attaches](Attach), event channels when a
//! domain is [plugged in](Device::plug). For each the model chooses a [`Token`]. The call brings
//! the token back.
//!
//! Driver code takes processor time of its vcpu, and can be interrupted or preempted in the middle.
//! So a driver is asked for one piece of work at a time. Its answer says how long the piece takes
//! and for whom the piece is done ([`Progress::Run`]). When that time has been executed, the next
//! call does what the piece was for and names the next piece, until there is none
//! ([`Progress::Done`]). Between two calls the driver's place is state of its own: an enum whose
//! variants name the steps.
//!
//! | file | holds |
//! |---|---|
//! | `device` | [`Device`], the contract of a model |
//! | `models` | [`Bus`], all models of a host |
//! | `wires` | what the host and its models share |
//! | [`at_hand`] | packets that driver domains have at hand, as the policy is told |
//! | `attach` | what a model is made of, and asks for when it comes to the bus |
//! | `io` | what a model may do when it is called |
//! | [`lines`] | whom the host calls for an interrupt, softirq, timer |
//! | [`locks`] | sections of kernels that one vcpu at a time may be in |
//! | [`owner`] | on whose behalf driver domains work |
//! | [`side`] | what a kind of device brings, so that scenarios can ask for it |

pub mod at_hand;
pub(crate) mod attach;
pub(crate) mod device;
pub(crate) mod io;
pub mod lines;
pub mod locks;
pub(crate) mod models;
pub mod owner;
pub mod side;
pub(crate) mod wires;

pub use attach::{Assembly, Attach, Blueprint};
pub use device::{Device, NoDevices, Passed, Progress};
pub use io::{Io, KernelIo};
pub use lines::{KernelTimer, Softirq, SoftirqLine, Tasklet, Token, TokenKind, WorkItem};
pub use locks::KernelLock;
pub use models::Bus;
pub use owner::Owner;

pub use domio_contract::PacketsMoved;
pub use domio_contract::control::accounting::Counted;
pub use domio_contract::control::{Guard, Traffic};
