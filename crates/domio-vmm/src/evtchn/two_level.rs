//! The two-level ABI (xen-spec 5.1 to 5.3): a bit for each port, and above it a bit for each word
//! of such bits, so that a guest finds the few set ones fast.

use super::port::{Port, Width};
use crate::evtchn::abi::{Raised, Unmasked};
use alloc::vec;
use alloc::vec::Vec;

const WORDS: usize = 64;

/// One vcpu's part.
#[derive(Clone, Debug)]
struct VcpuInfo {
    /// Bit `w`: look at word `w`. Set by who sets a pending bit, cleared by the scan.
    selector: u64,
    /// Xen is to call up the guest. Set with a selector bit, cleared by the scan.
    upcall_pending: bool,
    /// Ports that notify this vcpu.
    bound: [u64; WORDS],
}

/// What a domain with the two-level ABI shares with Xen.
///
/// A 32-bit guest uses the low half of each word, and half of the words.
///
/// # Panics
///
/// The methods panic for a port beyond the last, or a vcpu that the domain does not have;
/// [`Channels`](super::Channels) refuses both before it comes here.
#[derive(Clone, Debug)]
pub(super) struct TwoLevel {
    width: Width,
    pending: [u64; WORDS],
    mask: [u64; WORDS],
    /// The vcpu that each port notifies; kept by the guest, as are the vcpus' own bitmaps.
    home: Vec<u16>,
    vcpus: Vec<VcpuInfo>,
}

impl TwoLevel {
    /// Nothing pending, every port masked (a kernel masks all when it boots) and bound to vcpu 0.
    ///
    /// # Panics
    ///
    /// If `vcpus` is 0.
    pub(super) fn new(width: Width, vcpus: u16) -> TwoLevel {
        assert!(vcpus > 0, "a domain has at least one vcpu");
        let info = |index| VcpuInfo {
            selector: 0,
            upcall_pending: false,
            bound: [if index == 0 { u64::MAX } else { 0 }; WORDS],
        };
        TwoLevel {
            width,
            pending: [0; WORDS],
            mask: [u64::MAX; WORDS],
            home: vec![0; width.ports() as usize],
            vcpus: (0..vcpus).map(info).collect(),
        }
    }

    /// Bits in a word.
    #[inline]
    pub(super) fn width(&self) -> Width {
        self.width
    }

    #[inline]
    fn place(&self, port: Port) -> (usize, u64) {
        let (word, bit) = self.width.locate(port);
        (word as usize, 1 << bit)
    }

    /// Sends to `port`, which notifies `vcpu` (xen-spec 5.2).
    #[inline]
    pub(super) fn set_pending(&mut self, port: Port, vcpu: u16) -> Raised {
        let (word, bit) = self.place(port);
        if self.pending[word] & bit != 0 {
            return Raised::Coalesced;
        }
        self.pending[word] |= bit;
        if self.mask[word] & bit != 0 {
            return Raised::Masked;
        }
        if self.select(word, vcpu) {
            Raised::Kick
        } else {
            Raised::Latched
        }
    }

    /// Has `vcpu` look at `word`; true if that takes an upcall that was not due yet. A selector bit
    /// that is set already comes with a due upcall, or with a scan that has yet to read it.
    #[inline]
    fn select(&mut self, word: usize, vcpu: u16) -> bool {
        let info = &mut self.vcpus[vcpu as usize];
        if info.selector >> word & 1 != 0 {
            return false;
        }
        info.selector |= 1 << word;
        !core::mem::replace(&mut info.upcall_pending, true)
    }

    /// Forgets that somebody sent. The selector keeps its bit: a word is looked at in vain then.
    #[inline]
    pub(super) fn clear_pending(&mut self, port: Port) {
        let (word, bit) = self.place(port);
        self.pending[word] &= !bit;
    }

    /// Whether somebody sent since a handler was entered.
    #[inline]
    pub(super) fn is_pending(&self, port: Port) -> bool {
        let (word, bit) = self.place(port);
        self.pending[word] & bit != 0
    }

    /// Keeps what is sent to `port` from the guest until it is unmasked.
    #[inline]
    pub(super) fn mask(&mut self, port: Port) {
        let (word, bit) = self.place(port);
        self.mask[word] |= bit;
    }

    /// Whether `port` is masked.
    #[inline]
    pub(super) fn is_masked(&self, port: Port) -> bool {
        let (word, bit) = self.place(port);
        self.mask[word] & bit != 0
    }

    /// Unmasks `port` on vcpu `caller` (xen-spec 5.3). If it is pending, the guest does itself what
    /// a send would have done; a port of another vcpu takes a hypercall.
    #[inline]
    pub(super) fn unmask(&mut self, port: Port, caller: u16) -> Unmasked {
        let (word, bit) = self.place(port);
        self.mask[word] &= !bit;
        let vcpu = self.home[port.index()];
        let upcall = self.pending[word] & bit != 0 && self.select(word, vcpu);
        Unmasked {
            vcpu,
            hypercall: vcpu != caller,
            upcall,
        }
    }

    /// Has the scan of `vcpu`, and no other, serve `port`.
    pub(super) fn bind(&mut self, port: Port, vcpu: u16) {
        let (word, bit) = self.place(port);
        let before = core::mem::replace(&mut self.home[port.index()], vcpu);
        self.vcpus[before as usize].bound[word] &= !bit;
        self.vcpus[vcpu as usize].bound[word] |= bit;
    }

    /// Ports of `word` that are pending, not masked and bound to `vcpu`, at this moment.
    #[inline]
    pub(super) fn active(&self, word: u32, vcpu: u16) -> u64 {
        let word = word as usize;
        self.pending[word] & !self.mask[word] & self.vcpus[vcpu as usize].bound[word]
    }

    /// Whether an upcall of `vcpu` is due.
    #[inline]
    pub(super) fn upcall_pending(&self, vcpu: u16) -> bool {
        self.vcpus[vcpu as usize].upcall_pending
    }

    /// The guest has noticed the upcall.
    #[inline]
    pub(super) fn clear_upcall(&mut self, vcpu: u16) {
        self.vcpus[vcpu as usize].upcall_pending = false;
    }

    /// Reads and clears the selector of `vcpu`.
    #[inline]
    pub(super) fn take_selector(&mut self, vcpu: u16) -> u64 {
        core::mem::take(&mut self.vcpus[vcpu as usize].selector)
    }
}
