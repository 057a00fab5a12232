//! Back-ends: threads that take requests from rings, and what they have under way.
//!
//! A thread of blkback looks once at what is in the ring, takes all of that, one request after the
//! other, and takes the plug out of the disk's queue at the end. What comes later is told by a
//! notification or found with a response. A thread that finds no pending entry sleeps, and all
//! sleepers are woken when the empty pool gets an entry (`drivers/xen/blkback/blkback.c` of Linux
//! 2.6.18).

use super::config::{BackKind, PendingPool, VbdConfig, WakeOrder};
use super::disk::Issuing;
use super::front::Entry;
use crate::elevator::{Bio, IoPrio, IoWay, Submitter};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use domio_sim::RandomStream;
use domio_vmm::bus::WorkItem;

/// Where a thread is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Serving {
    /// Waits for something to do.
    Idle,
    /// Has so many requests left of those that it saw.
    Batch(u32),
    /// The request with this number is being taken, with so many left.
    Taking(u32, u32),
    /// Hands commands on, with so many left.
    Issuing(Issuing, u32),
    /// Hands commands on, as the last thing.
    Last(Issuing),
    /// A response is being made for the entry with this number.
    Answering(u32),
    /// The guest is being notified.
    Notifying,
}

/// A thread that serves a disk of a guest.
pub(super) struct Thread {
    /// Index of that disk.
    pub vbd: usize,
    pub submitter: Submitter,
    pub item: WorkItem,
    pub at: Serving,
    /// Somebody has said that there are requests in the ring.
    pub wanted: bool,
    /// Waits for a request of the disk's queue.
    pub asleep: bool,
    /// The disk's queue has one.
    pub woken: bool,
    /// Requests under way.
    pub has: u32,
    /// Entries whose I/O is over, for threads that answer themselves.
    pub over: VecDeque<u32>,
}

impl Thread {
    /// A thread of disk `vbd` that has nothing to do.
    pub fn new(vbd: usize, submitter: Submitter, item: WorkItem) -> Self {
        Thread {
            vbd,
            submitter,
            item,
            at: Serving::Idle,
            wanted: false,
            asleep: false,
            woken: false,
            has: 0,
            over: VecDeque::new(),
        }
    }
}

impl Thread {
    /// It is gone. Returns the commands that it was handing on.
    pub fn end(&mut self) -> Option<Issuing> {
        match core::mem::replace(&mut self.at, Serving::Idle) {
            Serving::Issuing(issuing, _) | Serving::Last(issuing) => Some(issuing),
            _ => None,
        }
    }
}

/// A request of a guest that is under way in the driver domain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub thread: usize,
    pub entry: Entry,
}

/// All requests under way.
pub(super) struct Backlog {
    slots: Vec<Option<Pending>>,
    free: Vec<u32>,
    /// Entries of the pool that are free.
    pool: u32,
    order: WakeOrder,
    random: RandomStream,
    /// Threads that wait for an entry of the pool.
    waiting: Vec<usize>,
    /// Fewest free entries of the pool so far.
    least: u32,
}

impl Backlog {
    /// Nothing under way.
    pub fn new(pool: PendingPool, random: RandomStream) -> Self {
        Backlog {
            slots: Vec::new(),
            free: Vec::new(),
            pool: pool.entries,
            order: pool.order,
            random,
            waiting: Vec::new(),
            least: pool.entries,
        }
    }

    /// Whether `thread`, which has `has` requests under way and is of the kind `back`, may take one
    /// more. A thread that finds the pool empty waits.
    pub fn may_take(&mut self, thread: usize, has: u32, back: BackKind) -> bool {
        match back.own_limit() {
            Some(limit) => has < limit,
            None if self.pool > 0 => true,
            None => {
                if !self.waiting.contains(&thread) {
                    self.waiting.push(thread);
                }
                false
            }
        }
    }

    /// Notes a request. Returns its number.
    pub fn begin(&mut self, pending: Pending, back: BackKind) -> u32 {
        if back.own_limit().is_none() {
            self.pool -= 1;
            self.least = self.least.min(self.pool);
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize] = Some(pending);
        slot
    }

    /// The request with this number.
    ///
    /// # Panics
    /// When it is over.
    #[track_caller]
    pub fn get(&self, number: u32) -> Pending {
        self.slots[number as usize].expect("a request is under way once")
    }

    /// A request is over. Returns the threads to be woken, in their order.
    pub fn end(&mut self, number: u32, back: BackKind) -> Vec<usize> {
        let over = self.slots[number as usize].take();
        assert!(over.is_some(), "a request is answered once");
        self.free.push(number);
        if back.own_limit().is_some() {
            return Vec::new();
        }
        self.pool += 1;
        if self.pool > 1 {
            return Vec::new();
        }
        let mut woken = core::mem::take(&mut self.waiting);
        if self.order == WakeOrder::Random {
            for last in (1..woken.len()).rev() {
                let other = self.random.below(last as u64 + 1) as usize;
                woken.swap(last, other);
            }
        }
        woken
    }

    /// Most entries of a pool of `entries` that were in use at a time.
    pub fn most_used(&self, entries: u32) -> u32 {
        entries - self.least
    }
}

/// The I/O of `entry`, in the name of `submitter`, with the tag `tag`.
pub(super) fn bio(entry: &Entry, vbd: &VbdConfig, submitter: Submitter, tag: u32) -> Bio {
    let way = match entry.writes {
        true => IoWay::Write,
        false => IoWay::Read,
    };
    Bio {
        sector: vbd.start + entry.sector,
        sectors: entry.sectors,
        segments: entry.sectors.div_ceil(8),
        way,
        sync: entry.writes && vbd.back.is_direct(),
        meta: false,
        submitter,
        prio: IoPrio::None { nice: 0 },
        tag: u64::from(tag),
    }
}
