//! Pools of pages for small packets of an interface (Zeng 2015 V.B).
//!
//! Without pools each packet has a grant of its own: netback maps and unmaps what a guest sends,
//! and what a guest gets is transferred or copied by Xen. With a pool the pages of one direction
//! are granted once, when the interface comes up, and whoever sends copies small packets there:
//!
//! | direction | pages of | copied there by | free again |
//! |---|---|---|---|
//! | from the guest | the driver domain | netfront | when netback answers: the card reads them |
//! | to the guest | the guest | netback | when netfront has copied the packet out |
//!
//! The paper says who copies to the pool. That netfront copies a packet out of the guest's pool is
//! an assumption: the page could not be used again before a process has read, otherwise. So is what
//! happens to a packet that finds no page: the packet has a grant of its own, as large ones. The
//! paper's 256 pages are as many as a ring has slots, and never run out.

use alloc::collections::VecDeque;

use domio_vmm::grant::PAGE_BYTES;

use super::pairs::SmallPackets;
use crate::packet::Packet;

/// Whether a pool takes `packet`: one page is enough.
pub(super) fn is_small(packet: &Packet) -> bool {
    packet.frame_bytes() <= PAGE_BYTES
}

/// How packets of one direction went.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ByPath {
    /// Through the pool.
    pub pooled: u64,
    /// With grants of their own.
    pub granted: u64,
    /// Small ones among the latter, which found no page.
    pub no_page: u64,
    /// Pages of the pool.
    pub pages: u32,
    /// Most of them that were in use at a time.
    pub most: u32,
}

impl ByPath {
    /// Both together. Pages are of two interfaces, so that they add up.
    #[must_use]
    pub fn plus(self, other: ByPath) -> ByPath {
        ByPath {
            pooled: self.pooled + other.pooled,
            granted: self.granted + other.granted,
            no_page: self.no_page + other.no_page,
            pages: self.pages + other.pages,
            most: self.most + other.most,
        }
    }
}

/// The pool of one direction of an interface, and which packets of the ring are in its pages.
pub(super) struct Pool {
    free: u32,
    /// By packet in the ring, the first one first: slots that it takes, and whether it is pooled.
    ring: VecDeque<(u16, bool)>,
    counted: ByPath,
}

impl Pool {
    fn new(pages: u16) -> Self {
        let pages = u32::from(pages);
        Pool {
            free: pages,
            ring: VecDeque::new(),
            counted: ByPath {
                pages,
                ..ByPath::default()
            },
        }
    }

    /// Takes a page for `packet`, if it is small and there is one; whether it got one.
    fn take(&mut self, packet: &Packet) -> bool {
        let small = is_small(packet);
        let pooled = small && self.free > 0;
        if pooled {
            self.free -= 1;
            self.counted.pooled += 1;
            let used = self.counted.pages - self.free;
            self.counted.most = self.counted.most.max(used);
        } else {
            self.counted.granted += 1;
            self.counted.no_page += u64::from(small);
        }
        pooled
    }
}

/// One direction of an interface, with a pool or without.
pub(super) struct Lending(Option<Pool>);

impl Lending {
    /// Both directions, from the guest and to the guest, of an interface with these pools.
    pub fn both(small: &SmallPackets) -> (Lending, Lending) {
        let one = |there: bool| Lending(there.then(|| Pool::new(small.pages)));
        (one(small.out), one(small.inward))
    }

    /// Takes a page for `packet`, if there is one; whether it got one.
    pub fn take(&mut self, packet: &Packet) -> bool {
        self.0.as_mut().is_some_and(|pool| pool.take(packet))
    }

    /// A packet goes to the ring, where it takes so many slots.
    pub fn put(&mut self, slots: u16, pooled: bool) {
        if let Some(pool) = &mut self.0 {
            pool.ring.push_back((slots, pooled));
        }
    }

    /// The first packet leaves the ring; whether it is in a page of the pool.
    pub fn leave(&mut self) -> bool {
        let first = self.0.as_mut().and_then(|pool| pool.ring.pop_front());
        first.is_some_and(|(_, pooled)| pooled)
    }

    /// A page is free again, if `pooled` says that it was the pool's.
    pub fn give_back(&mut self, pooled: bool) {
        if let Some(pool) = self.0.as_mut().filter(|_| pooled) {
            pool.free += 1;
            debug_assert!(
                pool.free <= pool.counted.pages,
                "each page is given back once"
            );
        }
    }

    /// Bytes of those among `packets`, in their order, for which pages are free now.
    pub fn bytes<'a>(&self, packets: impl Iterator<Item = &'a Packet>) -> u64 {
        let free = self.0.as_ref().map_or(0, |pool| pool.free as usize);
        let small = packets.filter(|packet| is_small(packet)).take(free);
        small.map(|packet| u64::from(packet.frame_bytes())).sum()
    }

    /// How many packets among the next `slots` slots of the ring are in pages of the pool.
    pub fn pooled_ahead(&self, slots: u32) -> u32 {
        let Some(pool) = &self.0 else {
            return 0;
        };
        let (mut left, mut pooled) = (slots, 0);
        for (taken, is_pooled) in &pool.ring {
            let Some(rest) = left.checked_sub(u32::from(*taken)) else {
                break;
            };
            left = rest;
            pooled += u32::from(*is_pooled);
        }
        pooled
    }

    /// How packets went so far.
    pub fn counted(&self) -> Option<ByPath> {
        self.0.as_ref().map(|pool| pool.counted)
    }

    /// Pages that are in use.
    pub fn used(&self) -> u32 {
        let used = |pool: &Pool| pool.counted.pages - pool.free;
        self.0.as_ref().map_or(0, used)
    }
}
