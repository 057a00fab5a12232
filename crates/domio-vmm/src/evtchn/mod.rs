//! Event channels (xen-spec 5): Xen's virtual interrupt lines, as data structures without time.
//!
//! [`Channels`] is the hypervisor's part for all domains of a host: who is bound to what, and which
//! vcpu a send has to wake. [`EvtchnGuest`] is what one domain shares with Xen, pending bits and
//! masks, and the kernel's scan of them. Neither takes any time or wakes anybody: each operation
//! returns what the host has to do, and the host charges for it.
//!
//! ```text
//!  sender                  hypervisor                     receiving guest
//!  Channels::send ──▶ sets the pending bit ──▶ Raised::Kick: wake the vcpu, or interrupt it
//!                     of the other end's port             │ it runs, upcalls not masked
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
//! A guest sends to its backend in dom0, which serves it:
//!
//! ```
//! use domio_core::DomainId;
//! use domio_vmm::evtchn::{Abi, Channels, EvtchnError, Raised, ScanForm, Width};
//!
//! let (dom0, guest) = (DomainId::DOM0, DomainId(1));
//! let (width, scan) = (Width::Bits64, ScanForm::Resume);
//! let mut channels = Channels::new();
//! channels.add(dom0, Abi::TwoLevel { width, scan }, 1)?;
//! channels.add(guest, Abi::Fifo, 1)?;
//! let frontend = channels.offer(guest, dom0)?;
//! let backend = channels.connect(dom0, guest, frontend)?;
//!
//! let dom0s = channels.guest(dom0)?;
//! dom0s.clear_pending(backend.port); // the event that binding sends
//! let _ = dom0s.unmask(backend.port, 0);
//!
//! let sent = channels.send(guest, frontend)?.unwrap();
//! assert_eq!((sent.to.domain, sent.raised), (dom0, Raised::Kick));
//!
//! let dom0s = channels.guest(dom0)?;
//! assert!(dom0s.begin_upcall(0));
//! assert_eq!(dom0s.next_port(0), Some(backend.port));
//! dom0s.enter(backend.port);
//! let _ = dom0s.leave(backend.port, 0); // after the handler's time
//! assert_eq!(dom0s.next_port(0), None);
//! assert!(!dom0s.end_upcall(0));
//! # Ok::<(), EvtchnError>(())
//! ```
//!
//! Nothing here allocates memory except when domains, vcpus and ports are added.

pub(crate) mod abi;
pub(crate) mod binding;
pub(crate) mod channels;
mod domain;
pub(crate) mod error;
mod fifo;
pub(crate) mod guest;
pub(crate) mod port;
pub(crate) mod scan;
mod two_level;

pub use abi::{Abi, Raised, Unmasked};
pub use binding::{Binding, Virq};
pub use channels::{Bound, Channels, Sent};
pub use error::EvtchnError;
pub use fifo::FifoPriority;
pub use guest::EvtchnGuest;
pub use port::{Port, Width};
pub use scan::form::ScanForm;
