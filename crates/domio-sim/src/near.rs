//! The near future: the posted events that are due next, in delivery order.
//!
//! Two parts hold them. The *run* is a sorted list that is read from the front and only ever
//! extended at its end; what comes out of the buckets of the far future goes there, and so do
//! posts that are in order anyway, such as those with a constant delay. Posts that are due before
//! the end of the run are [`Arrivals`] instead, which is quick as long as they are few;
//! [`EventQueue`](crate::EventQueue) sees to that.

use crate::arrivals::Arrivals;
use crate::tournament::{Key, key, seq_of, time_of};
use alloc::vec::Vec;

/// One posted event.
#[derive(Clone, Copy)]
pub(crate) struct Entry<E> {
    /// When it is due, in nanoseconds.
    pub time: u64,
    /// Its place among all posts and arms; decides between equal times.
    pub seq: u64,
    pub event: E,
}

impl<E> Entry<E> {
    #[inline]
    pub fn key(&self) -> Key {
        key(self.time, self.seq)
    }
}

#[derive(Clone)]
pub(crate) struct Near<E> {
    /// Sorted; entries before `head` have been delivered.
    run: Vec<Entry<E>>,
    head: usize,
    arrivals: Arrivals<E>,
    /// Memory for [`split_off`](Self::split_off); empty in between.
    keys: Vec<Key>,
}

/// Where the earliest event of a [`Near`] is.
#[derive(Clone, Copy)]
pub(crate) enum First {
    Run,
    Arrival(Key),
}

impl<E: Copy> Near<E> {
    /// Delivered entries of the run are cleared away once there are this many of them and they
    /// outnumber the live ones.
    const RECLAIM: usize = 256;

    pub fn new() -> Self {
        Near {
            run: Vec::new(),
            head: 0,
            arrivals: Arrivals::new(),
            keys: Vec::new(),
        }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.run.len() - self.head + self.arrivals.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of events that are not in the run.
    #[inline]
    pub fn arrivals(&self) -> usize {
        self.arrivals.len()
    }

    /// The earliest event: its key and where it is.
    #[inline]
    pub fn first(&mut self) -> Option<(Key, First)> {
        let run = self
            .run
            .get(self.head)
            .map(|entry| (entry.key(), First::Run));
        if self.arrivals.len() == 0 {
            return run;
        }
        let key = self.arrivals.earliest();
        let arrival = (key, First::Arrival(key));
        Some(run.filter(|run| run.0 < arrival.0).unwrap_or(arrival))
    }

    /// Takes the event that [`first`](Self::first) has shown.
    #[inline]
    pub fn take(&mut self, first: First) -> E {
        match first {
            First::Run => {
                let event = self.run[self.head].event;
                self.head += 1;
                if self.head == self.run.len() {
                    self.run.clear();
                    self.head = 0;
                }
                event
            }
            First::Arrival(key) => self.arrivals.take(key),
        }
    }

    /// Adds `entry`, whose sequence number is higher than any here.
    #[inline]
    pub fn insert(&mut self, entry: Entry<E>) {
        match self.run.last() {
            Some(last) if last.time > entry.time => {
                self.arrivals.insert(entry.time, entry.seq, entry.event);
            }
            _ => {
                if self.head >= Self::RECLAIM && self.head >= self.run.len() / 2 {
                    self.run.drain(..self.head);
                    self.head = 0;
                }
                self.run.push(entry);
            }
        }
    }

    /// Where sorted entries can be appended that are later than all those here.
    #[inline]
    pub fn tail(&mut self) -> &mut Vec<Entry<E>> {
        &mut self.run
    }

    /// Moves the later part to `out`, in delivery order: everything from some time on, such that
    /// about `keep` arrivals stay. The earliest instant always stays; when it is the only one,
    /// nothing is moved.
    pub fn split_off(&mut self, keep: usize, out: &mut Vec<Entry<E>>) {
        let mut keys = core::mem::take(&mut self.keys);
        keys.extend(self.arrivals.keys());
        keys.sort_unstable();
        if let Some(from) = self.cut(keep, &keys) {
            let run = &self.run[self.head..];
            let cut = run.partition_point(|entry| entry.time < from);
            out.extend(self.run.drain(self.head + cut..));
            for &key in keys.iter().filter(|&&key| time_of(key) >= from) {
                out.push(self.take_arrival(key));
            }
            out.sort_unstable_by_key(Entry::key);
        }
        keys.clear();
        self.keys = keys;
    }

    /// The time from which on [`split_off`](Self::split_off) moves everything; `keys` are those of
    /// the arrivals, sorted.
    fn cut(&self, keep: usize, keys: &[Key]) -> Option<u64> {
        let run = &self.run[self.head..];
        let arrival = keys.first().map(|&key| time_of(key));
        let in_run = run.first().map(|entry| entry.time);
        let first = arrival.into_iter().chain(in_run).min()?;
        // The time of the `keep`-th arrival, if that is not the earliest instant; or else the next
        // later one among the arrivals, or in the run.
        let later = keys.iter().skip(keep).map(|&key| time_of(key));
        later.into_iter().find(|&time| time > first).or_else(|| {
            let after = run.partition_point(|entry| entry.time <= first);
            run.get(after).map(|entry| entry.time)
        })
    }

    /// Takes the arrival with this key.
    fn take_arrival(&mut self, key: Key) -> Entry<E> {
        Entry {
            time: time_of(key),
            seq: seq_of(key),
            event: self.arrivals.take(key),
        }
    }
}

#[cfg(test)]
impl<E: Copy> Near<E> {
    /// Entries that there is memory for.
    pub fn room(&self) -> usize {
        self.run.capacity() + self.arrivals.room()
    }
}
