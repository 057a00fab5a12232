//! Queues of processes, and what is known of each.

use super::super::history::Average;
use super::super::list::List;
use super::super::request::{Bio, IoPrio, Request, RequestId, Submitter};
use super::super::sorted::Sorted;
use alloc::vec::Vec;

/// Real time, best effort, idle.
pub const CLASSES: usize = 3;

/// The idle class's place.
pub const IDLE_CLASS: usize = 2;

/// Distance (sectors) beyond which a request is far from the one before.
const FAR: u64 = 800;

/// Far requests among the last 32 beyond which a queue is a random one.
const MANY: u32 = 19;

/// A queue.
#[derive(Default)]
pub struct BfqQueue {
    /// Requests that wait, by sector.
    pub sorted: Sorted,
    /// The same, by arrival.
    pub fifo: List,
    /// Which is served next.
    pub next: Option<RequestId>,
    /// Of a process; the others are of a class and level.
    pub sync: bool,
    pub class: usize,
    pub weight: u64,
    /// Has requests, or is served.
    pub busy: bool,
    /// The process is there.
    pub alive: bool,
    /// Requests made and not given back.
    pub refs: u32,
    /// Requests handed on and not completed.
    pub dispatched: u32,
    /// Virtual times of the turn.
    pub start: u64,
    pub finish: u64,
    /// Sectors of the turn, and those used so far.
    pub budget: u64,
    pub service: u64,
    /// Sectors of the next turn.
    pub max_budget: u64,
    /// The oldest request was looked at in this turn.
    pub fifo_seen: bool,
    /// The last 32 requests: 1 for far from the one before.
    far: u32,
    last_end: u64,
    think: Average,
    /// When a request was completed last (ns).
    pub last_done_ns: Option<i64>,
}

impl BfqQueue {
    /// Whether requests are far from each other.
    pub fn is_seeky(&self) -> bool {
        self.far.count_ones() > MANY
    }

    /// Whether the process comes back within the time that the disk is kept waiting.
    pub fn thinks_shortly(&self, idle_ns: i64) -> bool {
        !self.think.is_valid() || self.think.mean <= idle_ns as u64
    }

    /// Learns from a request that arrives.
    pub fn arrived(&mut self, rq: &Request, ns: i64, idle_ns: i64) {
        if self.sync
            && self.dispatched == 0
            && self.fifo.is_empty()
            && let Some(done) = self.last_done_ns
        {
            self.think.think((ns - done).clamp(0, 2 * idle_ns) as u64);
        }
        let distance = match self.last_end {
            0 => 0,
            last => rq.sector.abs_diff(last),
        };
        self.far = self.far << 1 | u32::from(distance > FAR);
        self.last_end = rq.end();
    }
}

/// All queues. Places are used again once process and requests are gone.
#[derive(Default)]
pub struct Queues {
    all: Vec<BfqQueue>,
    free: Vec<u32>,
    /// By submitter.
    sync: Vec<Option<u32>>,
    /// By class and level.
    shared: [[Option<u32>; 8]; CLASSES],
}

/// Class and level.
fn class(prio: IoPrio) -> (usize, u8) {
    match prio {
        IoPrio::None { nice } => (1, ((i16::from(nice) + 20) / 5) as u8),
        IoPrio::RealTime(level) => (0, level),
        IoPrio::BestEffort(level) => (1, level),
        IoPrio::Idle => (IDLE_CLASS, 7),
    }
}

impl Queues {
    /// Every queue with its place.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &BfqQueue)> {
        (0..).zip(&self.all)
    }

    /// Those that are busy.
    pub fn busy(&self) -> impl Iterator<Item = (u32, &BfqQueue)> {
        self.iter().filter(|(_, queue)| queue.busy)
    }

    /// The queue that `bio` would join, if there is one.
    pub fn of_bio(&self, bio: &Bio) -> Option<u32> {
        if bio.is_sync() {
            return *self.sync.get(bio.submitter.index())?;
        }
        let (class, level) = class(bio.prio);
        self.shared[class][usize::from(level)]
    }

    /// The same; there is one afterwards.
    pub fn get(&mut self, bio: &Bio, max_budget: u64) -> u32 {
        if let Some(at) = self.of_bio(bio) {
            return at;
        }
        let (class, level) = class(bio.prio);
        let sync = bio.is_sync();
        let queue = BfqQueue {
            sync,
            class,
            weight: (8 - u64::from(level)) * 10,
            alive: true,
            max_budget: if sync { 2 * max_budget / 3 } else { max_budget },
            ..BfqQueue::default()
        };
        let at = match self.free.pop() {
            Some(at) => {
                self[at] = queue;
                at
            }
            None => {
                self.all.push(queue);
                self.all.len() as u32 - 1
            }
        };
        if sync {
            let place = bio.submitter.index();
            if self.sync.len() <= place {
                self.sync.resize(place + 1, None);
            }
            self.sync[place] = Some(at);
        } else {
            self.shared[class][usize::from(level)] = Some(at);
        }
        at
    }

    /// A process is gone: its queue serves what is left.
    pub fn leave(&mut self, submitter: Submitter) -> Option<u32> {
        let at = self.sync.get_mut(submitter.index())?.take()?;
        self[at].alive = false;
        Some(at)
    }

    /// Uses the place of a queue again, if nobody needs the queue.
    pub fn tidy(&mut self, at: u32) {
        let queue = &mut self[at];
        if !queue.alive && queue.refs == 0 && !queue.busy && queue.sync {
            // Once only.
            queue.sync = false;
            self.free.push(at);
        }
    }
}

impl core::ops::Index<u32> for Queues {
    type Output = BfqQueue;

    fn index(&self, at: u32) -> &BfqQueue {
        &self.all[at as usize]
    }
}

impl core::ops::IndexMut<u32> for Queues {
    fn index_mut(&mut self, at: u32) -> &mut BfqQueue {
        &mut self.all[at as usize]
    }
}
