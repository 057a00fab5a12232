//! Merges the streams of all cpus by time, in bounded memory.
//!
//! Xen keeps one buffer for each cpu. `xentrace` polls them in turn, every 100 ms, and writes what
//! each holds as one window: a *round* is one pass over all cpus, in ascending order. Windows
//! therefore overlap in time, inside a round and with the next one, but not further: whatever cpu
//! `c` writes into round `n + 2` happened after `c` was polled in round `n + 1`, hence after round
//! `n` was over. So once round `n + 1` is complete, everything up to the latest time of round `n`
//! can be handed on.
//!
//! A reader takes a round for over when a cpu number does not ascend. A cpu with nothing to say is
//! left out of a round, so what looks like one round may be several; the argument holds for these
//! too, since the next one still starts in a later round than this one ended.
//!
//! **Bound**: the records of two rounds, that is twice what Xen's buffers hold (32 pages a cpu by
//! default: some 13 000 records a cpu). Files that are put together differently (one window with a
//! whole hour, cpus in any order) would need more than any bound; then the earliest records held
//! are handed on when [`HELD_MAX`] is reached, and what comes late is delivered late and counted in
//! [`MergeStats::late`]. The order inside one cpu is kept in any case.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

use domio_core::{Instant, Record};

/// Most records held back, unless the caller says otherwise: 4 Mi, 128 MiB of memory.
pub(crate) const HELD_MAX: usize = 4 << 20;

/// What merging had to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MergeStats {
    /// Records whose time is before that of a record handed on earlier. Not 0 when the file is not
    /// in polling rounds, or a cpu's clock went back.
    pub late: u64,
    /// Records handed on before it was certain that no earlier one follows, to bound memory.
    pub forced: u64,
    /// Most records held at one time.
    pub held_max: u64,
}

/// The streams of all cpus, see the module's text.
pub(crate) struct Merge {
    queues: Vec<VecDeque<Record>>,
    /// Slot of a cpu in `queues` plus 1; 0 when the cpu was not seen.
    slots: Vec<u32>,
    /// Time and slot of the first record of each queue that has one.
    heads: BinaryHeap<Reverse<(Instant, u32)>>,
    current: Option<u16>,
    current_slot: usize,
    /// Records up to this time may go.
    horizon: Option<Instant>,
    /// Latest time in the round before, and in this one.
    previous_round: Option<Instant>,
    this_round: Option<Instant>,
    held: usize,
    held_max: usize,
    finished: bool,
    latest_out: Instant,
    stats: MergeStats,
}

impl Merge {
    pub(crate) fn new(held_max: usize) -> Self {
        Merge {
            queues: Vec::new(),
            slots: Vec::new(),
            heads: BinaryHeap::new(),
            current: None,
            current_slot: 0,
            horizon: None,
            previous_round: None,
            this_round: None,
            held: 0,
            held_max: held_max.max(1),
            finished: false,
            latest_out: Instant::ZERO,
            stats: MergeStats::default(),
        }
    }

    pub(crate) fn stats(&self) -> MergeStats {
        self.stats
    }

    /// A window of `cpu` starts: what is pushed from now on is its.
    pub(crate) fn window(&mut self, cpu: u16) {
        if self.current.is_some_and(|before| cpu <= before) {
            self.round();
        }
        self.current = Some(cpu);
        self.current_slot = self.slot(cpu);
    }

    /// Where the queue of `cpu` is.
    fn slot(&mut self, cpu: u16) -> usize {
        let index = usize::from(cpu);
        if self.slots.len() <= index {
            self.slots.resize(index + 1, 0);
        }
        if self.slots[index] == 0 {
            self.queues.push(VecDeque::new());
            self.slots[index] = self.queues.len() as u32;
        }
        self.slots[index] as usize - 1
    }

    /// A polling round is complete.
    pub(crate) fn round(&mut self) {
        self.horizon = self.horizon.max(self.previous_round);
        self.previous_round = self.this_round.take();
    }

    /// The next record of the current window. [`Merge::window`] has been called.
    #[inline]
    pub(crate) fn push(&mut self, record: Record) {
        self.push_into(self.current_slot, record);
    }

    /// Another record of `cpu`, outside its windows.
    pub(crate) fn push_to(&mut self, cpu: u16, record: Record) {
        let slot = self.slot(cpu);
        self.push_into(slot, record);
    }

    #[inline]
    fn push_into(&mut self, slot: usize, record: Record) {
        let queue = &mut self.queues[slot];
        if queue.is_empty() {
            self.heads.push(Reverse((record.at, slot as u32)));
        }
        queue.push_back(record);
        self.this_round = self.this_round.max(Some(record.at));
        self.held += 1;
        self.stats.held_max = self.stats.held_max.max(self.held as u64);
    }

    /// How many more records may be held, at least one.
    pub(crate) fn room(&self) -> usize {
        self.held_max.saturating_sub(self.held).max(1)
    }

    /// Time of the latest record that was handed on; 0 before the first.
    pub(crate) fn latest_out(&self) -> Instant {
        self.latest_out
    }

    /// The file is over: everything may go.
    pub(crate) fn finish(&mut self) {
        self.finished = true;
    }

    /// The next record that may go.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Record> {
        let mut head = self.heads.peek_mut()?;
        let Reverse((at, slot)) = *head;
        if !self.finished && Some(at) > self.horizon {
            if self.held < self.held_max {
                return None;
            }
            self.stats.forced += 1;
        }
        let queue = &mut self.queues[slot as usize];
        let record = queue.pop_front()?;
        match queue.front() {
            // The queue's next record takes the place of this one, from where it sinks.
            Some(next) => *head = Reverse((next.at, slot)),
            None => {
                PeekMut::pop(head);
            }
        }
        self.held -= 1;
        self.stats.late += u64::from(record.at < self.latest_out);
        self.latest_out = self.latest_out.max(record.at);
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{ActorId, Kind, PcpuId};

    fn record(cpu: u16, ns: u64) -> Record {
        Record::new(Instant::from_nanos(ns), PcpuId(cpu), Kind::Wake, ActorId(0))
    }

    /// Feeds windows, pops after each, and returns times in order of delivery with the statistics.
    fn run(held_max: usize, windows: &[(u16, &[u64])]) -> (Vec<u64>, MergeStats) {
        let mut merge = Merge::new(held_max);
        let mut out = Vec::new();
        for (cpu, times) in windows {
            merge.window(*cpu);
            for ns in *times {
                merge.push(record(*cpu, *ns));
                while let Some(r) = merge.pop() {
                    out.push(r.at.as_nanos());
                }
            }
        }
        merge.finish();
        while let Some(r) = merge.pop() {
            out.push(r.at.as_nanos());
        }
        (out, merge.stats())
    }

    #[test]
    fn windows_that_overlap_into_the_next_round_come_out_in_order() {
        // cpu 1 is polled after cpu 0, so its window reaches into cpu 0's next one.
        let windows: &[(u16, &[u64])] = &[
            (0, &[1, 10]),
            (1, &[2, 13]),
            (0, &[11, 12, 20]),
            (1, &[14, 25]),
            (0, &[21, 22]),
            (1, &[26]),
        ];
        let (out, stats) = run(HELD_MAX, windows);
        assert!(out.is_sorted(), "{out:?}");
        assert_eq!(out.len(), 12);
        assert_eq!(stats.late, 0);
        assert!(stats.held_max <= 10, "two rounds at most: {stats:?}");
    }

    #[test]
    fn one_cpu_streams() {
        let times: Vec<u64> = (0..1000).collect();
        let windows: Vec<(u16, &[u64])> = times.chunks(10).map(|c| (3, c)).collect();
        let (out, stats) = run(HELD_MAX, &windows);
        assert_eq!(out, times);
        assert!(stats.held_max <= 30, "{stats:?}");
    }

    #[test]
    fn a_file_that_breaks_the_bound_stays_in_memory_and_is_told() {
        let first: Vec<u64> = (0..1000).map(|i| i * 2).collect();
        let second: Vec<u64> = (0..1000).map(|i| i * 2 + 1).collect();
        let (out, stats) = run(100, &[(0, &first), (1, &second)]);
        assert_eq!(out.len(), 2000);
        assert_eq!(stats.held_max, 100);
        assert!(stats.late > 0 && stats.forced > 0);
    }

    #[test]
    fn the_order_inside_a_cpu_survives_a_clock_that_steps_back() {
        let (out, stats) = run(HELD_MAX, &[(0, &[1, 900, 3, 4]), (1, &[2, 5])]);
        let position = |t| out.iter().position(|&o| o == t).unwrap();
        assert!(position(1) < position(900));
        assert!(position(900) < position(3));
        assert_eq!(stats.late, 2);
    }
}
