//! Event channels (xen-spec 5): Xen's virtual interrupt lines, as data structures without time.
//!
//! [`Channels`] is the hypervisor's part for all domains of a host: who is bound to what, and which
//! vcpu a send has to wake. [`Guest`] is what one domain shares with Xen, pending bits and masks, and
//! the kernel's scan of them. Neither takes any time or wakes anybody: each operation returns what
//! the host has to do, and the host charges for it.
//!
//! ```text
//!  sender                  hypervisor                     receiving guest
//!  Channels::send ──▶ sets the pending bit ──▶ Raised::Kick: wake the vcpu, or interrupt it
//!                     of the other end's port             │ it runs, and its upcalls are not masked
//!                                                         ▼
//!                                              Guest::begin_upcall
//!                                              Guest::next_port ──▶ a port ──▶ Guest::enter
//!                                                   ▲                     handler takes its time
//!                                                   └──────────────────── Guest::leave
//!                                              no port left: Guest::end_upcall
//! ```
//!
//! Handlers take time, in which others send. So a scan is a state machine that reads live state
//! whenever the kernel's code does, and only then: which ports it serves first, and which it
//! starves, follows from that ([`ScanForm`]).
//!
//! Nothing here allocates memory except when domains, vcpus and ports are added.

mod channels;
mod domain;
mod error;
mod fifo;
mod guest;
mod port;
mod scan;
mod two_level;

use fifo::Fifo;
use two_level::TwoLevel;

pub use channels::{Bound, Channels, Sent};
pub use domain::{Binding, Virq};
pub use error::EvtchnError;
pub use fifo::Priority;
pub use guest::{Abi, Guest, Raised, Unmasked};
pub use port::{Port, Width};
pub use scan::ScanForm;
