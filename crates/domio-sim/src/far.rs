//! The far future: posted events in buckets by the digits of their time, not sorted.
//!
//! Times are read as numbers in base 64. An event lies on the *level* of the highest digit in
//! which its time differs from `base`, in the *bucket* of the value of that digit. `base` is never
//! later than any event here, so a lower level is earlier than a higher one and a lower bucket
//! earlier than a higher one of the same level: the earliest event is always in the first bucket
//! that is not empty, and two bit masks find that bucket.
//!
//! When its turn comes, a bucket is either small enough to be taken whole, or it is spread:
//! `base` moves to its earliest event and its entries go to lower levels. An event is moved at
//! most once a level, and far fewer times in practice, since spreading stops as soon as buckets
//! are small. Unlike in a heap the moves are sequential reads and writes.
//!
//! Equal times are always in the same bucket, and a bucket keeps the order of arrival; so events
//! at equal times never overtake each other.
//!
//! Buckets are chains of chunks from one pool, so memory follows the number of entries and no
//! bucket holds on to what it once needed.

use crate::near::{Entry, Near};
use alloc::vec;
use alloc::vec::Vec;

const DIGIT_BITS: u32 = 6;
const BUCKETS: usize = 1 << DIGIT_BITS;
const LEVELS: usize = u64::BITS.div_ceil(DIGIT_BITS) as usize;
/// Entries per chunk: long enough for sequential access, short enough that a sparse queue wastes
/// little.
const CHUNK: usize = 16;
/// No chunk.
const NONE: u32 = u32::MAX;

#[derive(Clone)]
struct Chunk<E> {
    entries: [Entry<E>; CHUNK],
    /// The next chunk of the bucket, or of the free list.
    next: u32,
}

#[derive(Clone, Copy)]
struct Bucket {
    /// Time of the earliest entry.
    min: u64,
    len: u32,
    first: u32,
    last: u32,
}

const EMPTY: Bucket = Bucket {
    min: u64::MAX,
    len: 0,
    first: NONE,
    last: NONE,
};

/// The first bucket, see [`Far::front`].
pub(crate) struct Front {
    index: usize,
    level: u32,
    pub len: usize,
    /// The latest time that belongs into this bucket, whether or not an entry has it.
    pub last_time: u64,
}

impl Front {
    /// Whether all entries of this bucket are due at the same instant.
    pub fn is_one_instant(&self) -> bool {
        self.level == 0
    }
}

#[derive(Clone)]
pub(crate) struct Far<E> {
    /// Not later than any entry.
    base: u64,
    /// One bit per level that is not empty.
    levels: u32,
    /// One bit per bucket that is not empty.
    occupied: [u64; LEVELS],
    /// Level by level, lowest first.
    buckets: Vec<Bucket>,
    pool: Vec<Chunk<E>>,
    /// The first chunk that is not in use; the others follow it.
    free: u32,
}

impl<E: Copy> Far<E> {
    /// With room for `n` entries.
    pub fn with_capacity(n: usize) -> Self {
        Far {
            base: 0,
            levels: 0,
            occupied: [0; LEVELS],
            buckets: vec![EMPTY; LEVELS * BUCKETS],
            pool: Vec::with_capacity(n.div_ceil(CHUNK)),
            free: NONE,
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.levels == 0
    }

    /// Time of the earliest entry. There must be one.
    #[inline]
    pub fn min_time(&self) -> u64 {
        self.buckets[self.front_index()].min
    }

    /// Sets the time from which on entries will be pushed. There must be no entry.
    pub fn set_base(&mut self, base: u64) {
        assert!(self.is_empty(), "the base moved under waiting events");
        self.base = base;
    }

    /// Adds `entry`, not earlier than the base, and behind every entry with its time.
    #[inline]
    pub fn push(&mut self, entry: Entry<E>) {
        assert!(entry.time >= self.base, "event before the base");
        self.place(entry);
    }

    #[inline]
    fn place(&mut self, entry: Entry<E>) {
        // The lowest bit is set so that the base itself has a level: the lowest.
        let differs = (entry.time ^ self.base) | 1;
        let level = (u64::BITS - 1 - differs.leading_zeros()) / DIGIT_BITS;
        let digit = (entry.time >> (level * DIGIT_BITS)) as usize % BUCKETS;
        self.levels |= 1 << level;
        self.occupied[level as usize] |= 1 << digit;

        let bucket = &mut self.buckets[level as usize * BUCKETS + digit];
        bucket.min = bucket.min.min(entry.time);
        let place = bucket.len as usize % CHUNK;
        bucket.len += 1;
        if place != 0 {
            self.pool[bucket.last as usize].entries[place] = entry;
            return;
        }
        let chunk = if self.free != NONE {
            let chunk = self.free;
            let reused = &mut self.pool[chunk as usize];
            self.free = reused.next;
            reused.entries[0] = entry;
            reused.next = NONE;
            chunk
        } else {
            let chunk = self.pool.len() as u32;
            assert!(chunk != NONE, "too many events are waiting");
            self.pool.push(Chunk {
                // Only the first is in use; the others are overwritten before they are read.
                entries: [entry; CHUNK],
                next: NONE,
            });
            chunk
        };
        if bucket.last == NONE {
            bucket.first = chunk;
        } else {
            self.pool[bucket.last as usize].next = chunk;
        }
        bucket.last = chunk;
    }

    #[inline]
    fn front_index(&self) -> usize {
        let level = self.levels.trailing_zeros() as usize;
        level * BUCKETS + self.occupied[level].trailing_zeros() as usize
    }

    /// The bucket that holds the earliest entry. There must be one.
    pub fn front(&self) -> Front {
        let index = self.front_index();
        let level = (index / BUCKETS) as u32;
        let bucket = &self.buckets[index];
        let low_bits = (1u64 << (level * DIGIT_BITS)) - 1;
        // All times of a bucket agree in the digits from its level up.
        Front {
            index,
            level,
            len: bucket.len as usize,
            last_time: bucket.min | low_bits,
        }
    }

    /// Marks the first bucket as empty and returns what it held.
    fn detach(&mut self, front: &Front) -> Bucket {
        let level = front.level as usize;
        self.occupied[level] &= !(1 << (front.index % BUCKETS));
        if self.occupied[level] == 0 {
            self.levels &= !(1 << level);
        }
        core::mem::replace(&mut self.buckets[front.index], EMPTY)
    }

    /// Puts a chunk that has been read on the free list; returns the next one of its bucket.
    fn release(&mut self, chunk: u32) -> u32 {
        let next = core::mem::replace(&mut self.pool[chunk as usize].next, self.free);
        self.free = chunk;
        next
    }

    /// Moves all entries of the first bucket to the end of `near`, in delivery order.
    pub fn take(&mut self, front: &Front, near: &mut Near<E>) {
        let out = near.tail();
        let start = out.len();
        let bucket = self.detach(front);
        let mut left = bucket.len as usize;
        let mut at = bucket.first;
        while at != NONE {
            let used = left.min(CHUNK);
            out.extend_from_slice(&self.pool[at as usize].entries[..used]);
            left -= used;
            at = self.release(at);
        }
        if !front.is_one_instant() {
            out[start..].sort_unstable_by_key(Entry::key);
        }
    }

    /// Moves the base to the earliest entry and spreads the first bucket over lower levels.
    pub fn spread(&mut self, front: &Front) {
        let bucket = self.detach(front);
        self.base = bucket.min;
        let mut left = bucket.len as usize;
        let mut at = bucket.first;
        while at != NONE {
            let used = left.min(CHUNK);
            for place in 0..used {
                let entry = self.pool[at as usize].entries[place];
                self.place(entry);
            }
            left -= used;
            at = self.release(at);
        }
    }
}

#[cfg(test)]
impl<E> Far<E> {
    /// Entries that there is memory for.
    pub fn room(&self) -> usize {
        self.pool.capacity() * CHUNK
    }
}
