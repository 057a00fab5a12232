//! The FIFO ABI (xen-spec 5.7), since Xen 4.4: a word for each port, and queues by priority.
//!
//! A queue is a list through the words themselves: each linked word names the next port, 0 ends the
//! list. Xen appends at the tail, the guest takes from the head, and the ready bitmap tells it
//! which queues have anything. Within a priority ports are served in the order in which they were
//! sent to, so none starves another.
//!
//! The BUSY bit, by which Xen holds off a guest that unmasks a word on another pcpu at the same
//! moment, is never set: here one operation follows the other.

use crate::evtchn::abi::{Raised, Unmasked};
use crate::evtchn::port::Port;
use alloc::vec::Vec;

/// Somebody sent since a handler was entered.
const PENDING: u32 = 1 << 31;
/// What is sent is kept from the guest.
const MASKED: u32 = 1 << 30;
/// The port is in a queue.
const LINKED: u32 = 1 << 29;
/// The next port of the queue, 0 for none.
const LINK: u32 = (1 << 17) - 1;
/// Words in a page; the array of words grows by pages.
const PAGE: usize = 4096 / 4;

/// How urgent a port is: 0 is served first, 15 last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FifoPriority(u8);

impl FifoPriority {
    /// Number of priorities.
    pub const COUNT: usize = 16;
    /// Served first.
    pub const HIGHEST: FifoPriority = FifoPriority(0);
    /// What a port has if nobody sets it.
    pub const DEFAULT: FifoPriority = FifoPriority(7);
    /// Served last.
    pub const LOWEST: FifoPriority = FifoPriority(15);

    /// The priority of this number, if it is one (0 to 15).
    pub const fn new(number: u8) -> Option<FifoPriority> {
        if number < FifoPriority::COUNT as u8 {
            Some(FifoPriority(number))
        } else {
            None
        }
    }

    /// The number, 0 to 15.
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// Which queue a port goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    vcpu: u16,
    priority: FifoPriority,
}

/// What Xen keeps for each port.
#[derive(Clone, Copy, Debug)]
struct Channel {
    /// Where it goes when it is sent to next.
    place: Place,
    /// Where it was queued last, and may still be.
    last: Place,
}

/// One vcpu's control block.
#[derive(Clone, Debug, Default)]
struct Control {
    /// Bit `p`: the queue of priority `p` has ports. Set by Xen, cleared by the guest.
    ready: u32,
    /// First port of each queue, when Xen found it empty.
    head: [u32; FifoPriority::COUNT],
    /// Xen's own: last port of each queue, 0 for none.
    tail: [u32; FifoPriority::COUNT],
    /// Xen is to call up the guest.
    upcall_pending: bool,
}

/// What a domain with the FIFO ABI shares with Xen.
///
/// # Panics
///
/// The methods panic for a port that was never allocated, or a vcpu that the domain does not have;
/// [`Channels`](super::Channels) refuses both before it comes here.
#[derive(Clone, Debug)]
pub(super) struct Fifo {
    words: Vec<u32>,
    channels: Vec<Channel>,
    controls: Vec<Control>,
}

impl Fifo {
    /// Number of ports, 2^17.
    pub(super) const PORTS: u32 = LINK + 1;

    /// Nothing pending, nothing queued, no page of words yet.
    ///
    /// # Panics
    ///
    /// If `vcpus` is 0.
    pub(super) fn new(vcpus: u16) -> Fifo {
        assert!(vcpus > 0, "a domain has at least one vcpu");
        Fifo {
            words: Vec::new(),
            channels: Vec::new(),
            controls: (0..vcpus).map(|_| Control::default()).collect(),
        }
    }

    /// Makes room for `port`, a page of words at a time. New ports are masked, of the default
    /// priority and bound to vcpu 0.
    ///
    /// # Panics
    ///
    /// If `port` is beyond the last.
    pub(super) fn expand(&mut self, port: Port) {
        assert!(port.0 < Fifo::PORTS, "{port} of {}", Fifo::PORTS);
        let words = (port.index() / PAGE + 1) * PAGE;
        if words > self.words.len() {
            let place = Place {
                vcpu: 0,
                priority: FifoPriority::DEFAULT,
            };
            self.words.resize(words, MASKED);
            let channel = Channel { place, last: place };
            self.channels.resize(words, channel);
        }
    }

    /// Has `port` notify `vcpu`, from when it is queued next.
    pub(super) fn bind(&mut self, port: Port, vcpu: u16) {
        self.channels[port.index()].place.vcpu = vcpu;
    }

    /// Gives `port` another priority, from when it is queued next.
    pub(super) fn set_priority(&mut self, port: Port, priority: FifoPriority) {
        self.channels[port.index()].place.priority = priority;
    }

    /// Sends to `port`. Unlike in the two-level ABI a port that is pending already is queued again
    /// if it is neither masked nor in a queue.
    #[inline]
    pub(super) fn set_pending(&mut self, port: Port) -> Raised {
        let word = &mut self.words[port.index()];
        let before = *word;
        *word |= PENDING;
        if before & MASKED == 0 && before & LINKED == 0 {
            if self.append(port) {
                Raised::Kick
            } else {
                Raised::Latched
            }
        } else if before & PENDING != 0 {
            Raised::Coalesced
        } else if before & MASKED != 0 {
            Raised::Masked
        } else {
            Raised::Latched
        }
    }

    /// Puts `port` at the end of its queue; true if that takes an upcall that was not due yet.
    fn append(&mut self, port: Port) -> bool {
        self.words[port.index()] |= LINKED;
        let channel = &mut self.channels[port.index()];
        let Place { vcpu, priority } = channel.place;
        let last = core::mem::replace(&mut channel.last, channel.place);
        // It is in no queue, so if it was the last of one, then that one is empty. Were it left as
        // the tail, the next port there would be linked behind this one, into another queue.
        let old_tail = &mut self.controls[last.vcpu as usize].tail[last.priority.0 as usize];
        if *old_tail == port.0 {
            *old_tail = 0;
        }
        let control = &mut self.controls[vcpu as usize];
        let queue = priority.0 as usize;
        let tail = core::mem::replace(&mut control.tail[queue], port.0);
        // A tail that the guest has taken is in no queue: then this one is empty, too.
        let tail_word = &mut self.words[tail as usize];
        if tail != 0 && *tail_word & LINKED != 0 {
            *tail_word = *tail_word & !LINK | port.0;
            return false;
        }
        control.head[queue] = port.0;
        if control.ready >> queue & 1 != 0 {
            return false;
        }
        control.ready |= 1 << queue;
        !core::mem::replace(&mut control.upcall_pending, true)
    }

    /// Forgets that somebody sent. A queued port stays in its queue, and is passed over there.
    #[inline]
    pub(super) fn clear_pending(&mut self, port: Port) {
        self.words[port.index()] &= !PENDING;
    }

    /// Whether somebody sent since a handler was entered.
    #[inline]
    pub(super) fn is_pending(&self, port: Port) -> bool {
        self.words[port.index()] & PENDING != 0
    }

    /// Keeps what is sent to `port` from the guest until it is unmasked.
    #[inline]
    pub(super) fn mask(&mut self, port: Port) {
        self.words[port.index()] |= MASKED;
    }

    /// Whether `port` is masked.
    #[inline]
    pub(super) fn is_masked(&self, port: Port) -> bool {
        self.words[port.index()] & MASKED != 0
    }

    /// Unmasks `port`. Only Xen can queue it, so a pending one takes a hypercall.
    #[inline]
    pub(super) fn unmask(&mut self, port: Port) -> Unmasked {
        let word = &mut self.words[port.index()];
        *word &= !MASKED;
        let (pending, linked) = (*word & PENDING != 0, *word & LINKED != 0);
        Unmasked {
            vcpu: self.channels[port.index()].place.vcpu,
            hypercall: pending,
            upcall: pending && !linked && self.append(port),
        }
    }

    /// Whether an upcall of `vcpu` is due.
    #[inline]
    pub(super) fn upcall_pending(&self, vcpu: u16) -> bool {
        self.controls[vcpu as usize].upcall_pending
    }

    /// The guest has noticed the upcall.
    #[inline]
    pub(super) fn clear_upcall(&mut self, vcpu: u16) {
        self.controls[vcpu as usize].upcall_pending = false;
    }

    /// Reads and clears the ready bitmap of `vcpu`.
    #[inline]
    pub(super) fn take_ready(&mut self, vcpu: u16) -> u32 {
        core::mem::take(&mut self.controls[vcpu as usize].ready)
    }

    /// First port of a queue, when Xen found it empty.
    #[inline]
    pub(super) fn head(&self, vcpu: u16, queue: usize) -> Port {
        Port(self.controls[vcpu as usize].head[queue])
    }

    /// Takes `port` off the front of its queue; the port behind it, if there is one.
    #[inline]
    pub(super) fn unlink(&mut self, port: Port) -> Option<Port> {
        let word = &mut self.words[port.index()];
        let link = *word & LINK;
        *word &= !(LINKED | LINK);
        (link != 0).then_some(Port(link))
    }
}
