//! One domain's view of its event channels: the shared state, and the kernel's upcalls.

use crate::evtchn::abi::{Abi, Raised, Unmasked};
use crate::evtchn::fifo::{Fifo, FifoPriority};
use crate::evtchn::port::Port;
use crate::evtchn::scan::fifo::FifoPass;
use crate::evtchn::scan::{BitmapPass, Scan};
use crate::evtchn::two_level::TwoLevel;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// What is shared with Xen, and the scan of each vcpu over it.
#[derive(Clone, Debug)]
enum Shared {
    TwoLevel(Box<TwoLevel>, Vec<Scan<BitmapPass>>),
    Fifo(Fifo, Vec<Scan<FifoPass>>),
}

/// What one domain shares with Xen, and its kernel's part of event channels.
///
/// An upcall goes like this; other operations may come at any point in between, since handlers take
/// time:
///
/// ```text
/// if begin_upcall(v) {
///     loop {
///         while let Some(port) = next_port(v) { enter(port); …handler…; leave(port, v) }
///         if !end_upcall(v) { break }
///     }
/// }
/// ```
///
/// # Panics
///
/// All methods panic for a vcpu that the domain does not have, or a port beyond the last (in the
/// FIFO ABI: beyond the pages that allocated ports are in).
#[derive(Clone, Debug)]
pub struct EvtchnGuest {
    shared: Shared,
    /// Of each vcpu: the kernel has interrupts off, and a due upcall waits.
    upcall_mask: Vec<bool>,
}

impl EvtchnGuest {
    /// A domain that has just booted: nothing pending, everything masked.
    ///
    /// # Panics
    ///
    /// If `vcpus` is 0.
    pub fn new(abi: Abi, vcpus: u16) -> EvtchnGuest {
        let shared = match abi {
            Abi::TwoLevel { width, scan } => {
                let scan = Scan::new(BitmapPass::new(scan, width));
                Shared::TwoLevel(
                    Box::new(TwoLevel::new(width, vcpus)),
                    vec![scan; vcpus as usize],
                )
            }
            Abi::Fifo => {
                let scan = Scan::new(FifoPass::default());
                Shared::Fifo(Fifo::new(vcpus), vec![scan; vcpus as usize])
            }
        };
        EvtchnGuest {
            shared,
            upcall_mask: vec![false; vcpus as usize],
        }
    }

    /// Number of vcpus.
    pub fn vcpus(&self) -> u16 {
        self.upcall_mask.len() as u16
    }

    /// Number of ports that the ABI has, port 0 included.
    pub fn ports(&self) -> u32 {
        match &self.shared {
            Shared::TwoLevel(two_level, _) => two_level.width().ports(),
            Shared::Fifo(..) => Fifo::PORTS,
        }
    }

    /// The timer's virq of `vcpu` is at `port`, which some scans serve before all others
    /// ([`ScanForm::timer_first`](crate::evtchn::ScanForm::timer_first)).
    pub(super) fn set_timer(&mut self, vcpu: u16, port: Option<Port>) {
        match &mut self.shared {
            Shared::TwoLevel(_, scans) => scans[vcpu as usize].set_timer(port),
            Shared::Fifo(_, scans) => scans[vcpu as usize].set_timer(port),
        }
    }

    /// Makes room for `port`.
    pub(super) fn expand(&mut self, port: Port) {
        if let Shared::Fifo(fifo, _) = &mut self.shared {
            fifo.expand(port);
        }
    }

    /// Sends to `port`, which notifies `vcpu`.
    #[inline]
    pub(super) fn set_pending(&mut self, port: Port, vcpu: u16) -> Raised {
        match &mut self.shared {
            Shared::TwoLevel(two_level, _) => two_level.set_pending(port, vcpu),
            Shared::Fifo(fifo, _) => fifo.set_pending(port),
        }
    }

    /// Has `port` notify `vcpu`.
    pub(super) fn bind(&mut self, port: Port, vcpu: u16) {
        match &mut self.shared {
            Shared::TwoLevel(two_level, _) => two_level.bind(port, vcpu),
            Shared::Fifo(fifo, _) => fifo.bind(port, vcpu),
        }
    }

    /// Gives `port` a priority, which the two-level ABI does not have.
    pub(super) fn set_priority(&mut self, port: Port, priority: FifoPriority) {
        if let Shared::Fifo(fifo, _) = &mut self.shared {
            fifo.set_priority(port, priority);
        }
    }

    /// Forgets that somebody sent to `port`.
    #[inline]
    pub fn clear_pending(&mut self, port: Port) {
        match &mut self.shared {
            Shared::TwoLevel(two_level, _) => two_level.clear_pending(port),
            Shared::Fifo(fifo, _) => fifo.clear_pending(port),
        }
    }

    /// Whether somebody sent to `port` since its handler was entered.
    #[inline]
    pub fn is_pending(&self, port: Port) -> bool {
        match &self.shared {
            Shared::TwoLevel(two_level, _) => two_level.is_pending(port),
            Shared::Fifo(fifo, _) => fifo.is_pending(port),
        }
    }

    /// Keeps what is sent to `port` from the guest until it is unmasked.
    #[inline]
    pub fn mask(&mut self, port: Port) {
        match &mut self.shared {
            Shared::TwoLevel(two_level, _) => two_level.mask(port),
            Shared::Fifo(fifo, _) => fifo.mask(port),
        }
    }

    /// Whether `port` is masked.
    #[inline]
    pub fn is_masked(&self, port: Port) -> bool {
        match &self.shared {
            Shared::TwoLevel(two_level, _) => two_level.is_masked(port),
            Shared::Fifo(fifo, _) => fifo.is_masked(port),
        }
    }

    /// Unmasks `port`, on vcpu `caller` (xen-spec 5.3).
    #[inline]
    pub fn unmask(&mut self, port: Port, caller: u16) -> Unmasked {
        match &mut self.shared {
            Shared::TwoLevel(two_level, _) => two_level.unmask(port, caller),
            Shared::Fifo(fifo, _) => fifo.unmask(port),
        }
    }

    /// Enters the handler of `port`: what is sent from now on makes it pending again, but it is
    /// served again only after [`EvtchnGuest::leave`].
    #[inline]
    pub fn enter(&mut self, port: Port) {
        self.mask(port);
        self.clear_pending(port);
    }

    /// Leaves the handler of `port`, on vcpu `caller`. For a port that a driver has disabled
    /// meanwhile, leave this out.
    #[inline]
    pub fn leave(&mut self, port: Port, caller: u16) -> Unmasked {
        self.unmask(port, caller)
    }

    /// Turns the kernel's interrupts off or on. Xen turns them off when it calls up, and the kernel
    /// turns them on again in most handlers.
    #[inline]
    pub fn set_upcall_mask(&mut self, vcpu: u16, masked: bool) {
        self.upcall_mask[vcpu as usize] = masked;
    }

    /// Whether an upcall of `vcpu` has become due and nothing has begun it.
    #[inline]
    pub fn upcall_pending(&self, vcpu: u16) -> bool {
        match &self.shared {
            Shared::TwoLevel(two_level, _) => two_level.upcall_pending(vcpu),
            Shared::Fifo(fifo, _) => fifo.upcall_pending(vcpu),
        }
    }

    /// Whether Xen calls up `vcpu` when it next returns to it.
    #[inline]
    pub fn upcall_due(&self, vcpu: u16) -> bool {
        self.upcall_pending(vcpu) && !self.upcall_mask[vcpu as usize]
    }

    /// The vcpu asks to block (xen-spec 0.7), which turns its interrupts on; whether it may, since
    /// no upcall is due.
    #[inline]
    pub fn block(&mut self, vcpu: u16) -> bool {
        self.upcall_mask[vcpu as usize] = false;
        !self.upcall_pending(vcpu)
    }

    /// Begins an upcall. False if it is nested in another one: the kernel makes a note and returns,
    /// and the outer upcall goes over the ports once more when it is done. A kernel whose scan
    /// [nests](crate::evtchn::ScanForm::nests) begins it all the same, and the pass of the outer
    /// upcall continues after this one's [end](Self::end_upcall).
    #[inline]
    pub fn begin_upcall(&mut self, vcpu: u16) -> bool {
        self.clear_upcall(vcpu);
        match &mut self.shared {
            Shared::TwoLevel(_, scans) => scans[vcpu as usize].begin::<TwoLevel>(),
            Shared::Fifo(_, scans) => scans[vcpu as usize].begin::<Fifo>(),
        }
    }

    /// The port whose handler the kernel enters next; none when the pass is over.
    ///
    /// A scan may look at a word once and work from what it saw, so the port may have been masked,
    /// moved to another vcpu or served there since. A kernel comes to it all the same, and finds
    /// that it is disabled, being handled elsewhere, or that there is nothing to do.
    #[inline]
    pub fn next_port(&mut self, vcpu: u16) -> Option<Port> {
        match &mut self.shared {
            Shared::TwoLevel(events, scans) => scans[vcpu as usize].next(&mut **events, vcpu),
            Shared::Fifo(events, scans) => scans[vcpu as usize].next(events, vcpu),
        }
    }

    /// Ends a pass, after [`EvtchnGuest::next_port`] said none. True if another one begins
    /// immediately, because of nested upcalls: ask for its ports. False: the upcall returns.
    #[inline]
    pub fn end_upcall(&mut self, vcpu: u16) -> bool {
        let due = self.upcall_pending(vcpu);
        let again = match &mut self.shared {
            Shared::TwoLevel(_, scans) => scans[vcpu as usize].end::<TwoLevel>(due),
            Shared::Fifo(_, scans) => scans[vcpu as usize].end::<Fifo>(due),
        };
        if again {
            self.clear_upcall(vcpu);
        }
        again
    }

    #[inline]
    fn clear_upcall(&mut self, vcpu: u16) {
        match &mut self.shared {
            Shared::TwoLevel(two_level, _) => two_level.clear_upcall(vcpu),
            Shared::Fifo(fifo, _) => fifo.clear_upcall(vcpu),
        }
    }
}
