//! Timers: one for each thing that an entity waits for, armed and put off all the time.
//!
//! An armed timer has an *entry* somewhere, a key that is never later than its deadline. There are
//! three kinds of places:
//!
//! - The **express place**, for one entry that is earlier than all others when it is made. A model
//!   that does one thing after the other arms a timer for the end of each, and nothing comes
//!   between: such a timer costs a store to arm and a store to fire.
//! - **Lanes.** Most timers are armed with the same delay again and again: ticks, time slices,
//!   periods. As time only continues, entries with one delay are in order as they come. So each of
//!   the most usual delays has a lane, a list that is extended at its end and read from its front,
//!   whatever the number of timers. What is due at the same time as the last entry of a lane goes
//!   there, too, such as what many guests do at the full second.
//! - The **tournament**, for all others.
//!
//! The earliest of the express place, the front entries and the tournament's champion is due next.
//! If the deadline of its timer is later by now, or gone, it is dropped or moved; so a timer that
//! is put off again and again, such as the end of a time slice, costs one store each time.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::hint::select_unpredictable;

use crate::tournament::{
    DISARMED, Key, SLOTS_MAX, Tournament, index_of, is_armed, key, seq_of, time_of,
};

/// Number of lanes.
const LANES: usize = 3;
/// Room for lanes, a power of two.
const LANE_ROOM: usize = 4;
/// No slot.
const NONE: u32 = u32::MAX;

#[derive(Clone)]
#[repr(align(64))] // a cache line each
struct Timer<E> {
    /// When it fires; [`DISARMED`] for not at all.
    deadline: Key,
    /// Its earliest entry, [`DISARMED`] for none. There may be later ones, which mean nothing.
    entry: Key,
    event: E,
    /// The delay with which it was armed last when it got an entry.
    delay: u64,
    /// Its slot in the tournament, [`NONE`] without one.
    slot: u32,
    /// The lane that it used last.
    lane: u32,
}

impl<E: Copy> Timer<E> {
    /// Disarms it and returns its event.
    #[inline]
    fn fire(&mut self) -> E {
        self.deadline = DISARMED;
        self.entry = DISARMED;
        self.event
    }
}

/// Entries of one delay, in order.
#[derive(Clone)]
struct Lane {
    /// In nanoseconds. Changes only while the lane is empty.
    delay: u64,
    /// Time of the last entry that was made with this delay or at the same time as such a one.
    last: u64,
    /// All but the first: a ring, as long as a power of two.
    ring: Box<[Key]>,
    /// Numbers of the oldest entry in the ring and of the next one, counted on without end.
    head: usize,
    tail: usize,
}

impl Lane {
    fn new() -> Self {
        Lane {
            delay: u64::MAX,
            last: 0,
            ring: vec![DISARMED; 8].into_boxed_slice(),
            head: 0,
            tail: 0,
        }
    }

    #[inline]
    fn len(&self) -> usize {
        self.tail - self.head
    }

    /// Adds an entry; there has to be room.
    #[inline]
    fn push(&mut self, key: Key) {
        let mask = self.ring.len() - 1;
        self.ring[self.tail & mask] = key;
        self.tail += 1;
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.len() == self.ring.len()
    }

    /// Takes the oldest entry out; [`DISARMED`] when there is none.
    #[inline]
    fn next(&mut self) -> Key {
        if self.head == self.tail {
            return DISARMED;
        }
        let key = self.ring[self.head & (self.ring.len() - 1)];
        self.head += 1;
        key
    }

    /// Keeps the entries that `mean` something, and makes the ring longer unless it is half empty
    /// then.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, mean: impl Fn(Key) -> bool) {
        let mask = self.ring.len() - 1;
        let entries = (self.head..self.tail).map(|n| self.ring[n & mask]);
        let mut kept: Vec<Key> = entries.filter(|&key| mean(key)).collect();
        (self.head, self.tail) = (0, kept.len());
        let double = kept.len() > self.ring.len() / 2;
        kept.resize(self.ring.len() << u32::from(double), DISARMED);
        self.ring = kept.into_boxed_slice();
    }
}

/// The timers of one queue, numbered densely from 0.
#[derive(Clone)]
pub(crate) struct Timers<E> {
    timers: Vec<Timer<E>>,
    tournament: Tournament,
    /// Slots of the tournament that have ever been used.
    slots: u32,
    /// Those of them that are not in use, and do not compete.
    free: Vec<u32>,
    /// The slot of a timer that was the champion and has fired, [`NONE`] for none: it competes
    /// still, so that the next entry takes its place at the price of one play.
    vacant: u32,
    lanes: [Lane; LANE_ROOM],
    /// The first entry of each lane, [`DISARMED`] for an empty one.
    fronts: [Key; LANE_ROOM],
    /// The earliest of those and the champion, if it is known.
    first: Key,
    is_known: bool,
    /// The entry in the express place, [`DISARMED`] for none.
    express: Key,
    /// The key that was popped last, and its lane ([`LANES`] for none).
    row: (Key, usize),
}

#[inline]
fn earlier(a: Key, b: Key) -> Key {
    select_unpredictable(a < b, a, b)
}

impl<E: Copy> Timers<E> {
    pub fn new() -> Self {
        Timers {
            timers: Vec::new(),
            tournament: Tournament::new(),
            slots: 0,
            free: Vec::new(),
            vacant: NONE,
            lanes: [(); LANE_ROOM].map(|()| Lane::new()),
            fronts: [DISARMED; LANE_ROOM],
            first: DISARMED,
            is_known: true,
            express: DISARMED,
            row: (DISARMED, LANES),
        }
    }

    /// Adds a disarmed timer; returns its index.
    pub fn add(&mut self, event: E) -> u32 {
        assert!(self.timers.len() < SLOTS_MAX, "too many timers");
        self.timers.push(Timer {
            deadline: DISARMED,
            entry: DISARMED,
            event,
            delay: u64::MAX,
            slot: NONE,
            lane: 0,
        });
        self.timers.len() as u32 - 1
    }

    /// Number of armed timers. Looks at each.
    pub fn armed(&self) -> usize {
        let armed = self.timers.iter().filter(|t| is_armed(t.deadline));
        armed.count()
    }

    /// Entries that there is memory for.
    #[cfg(test)]
    pub fn room(&self) -> usize {
        let lanes = self.lanes.iter().map(|lane| lane.ring.len());
        self.tournament.room() + lanes.sum::<usize>()
    }

    pub fn set_event(&mut self, timer: u32, event: E) {
        self.timers[timer as usize].event = event;
    }

    /// The key of `timer`, [`DISARMED`] without a deadline.
    #[inline]
    pub fn get(&self, timer: u32) -> Key {
        self.timers[timer as usize].deadline
    }

    /// Whether a timer is due at `now`, which no deadline is earlier than.
    #[inline(always)]
    pub fn is_due(&mut self, now: u64) -> bool {
        if !self.is_known {
            self.find_first();
        }
        // No entry is later than its deadline.
        time_of(earlier(self.express, self.first)) <= now && time_of(self.earliest()) <= now
    }

    /// The earliest deadline, [`DISARMED`] when no timer is armed.
    #[inline(always)]
    pub fn earliest(&mut self) -> Key {
        if !self.is_known {
            self.find_first();
        }
        let mut first = earlier(self.express, self.first);
        // `DISARMED` names no timer.
        while let Some(timer) = self.timers.get(index_of(first)) {
            if timer.deadline as u64 == first as u64 {
                break;
            }
            self.clear_up(first);
            first = earlier(self.express, self.first);
        }
        first
    }

    #[inline(always)]
    fn find_first(&mut self) {
        let [a, b, c, _] = self.fronts;
        self.first = earlier(earlier(a, b), earlier(c, self.tournament.champion()));
        self.is_known = true;
    }

    /// Takes the entry `first`, the earliest of all, away: its timer was put off, disarmed or has
    /// fired.
    #[inline(never)]
    fn clear_up(&mut self, first: Key) {
        // None of these, if another entry of its timer has taken its place meanwhile.
        if self.express as u64 == first as u64 {
            self.express = DISARMED;
        }
        self.leave_lane(first);
        let in_tournament = self.tournament.champion() as u64 == first as u64;
        if in_tournament && self.vacant != NONE {
            // Nothing is earlier than what fired last.
            let slot = core::mem::replace(&mut self.vacant, NONE);
            self.leave_slot(slot);
            return self.find_first();
        }
        let timer = &mut self.timers[index_of(first)];
        let mut rest = DISARMED;
        if timer.entry as u64 == first as u64 {
            timer.entry = timer.deadline;
            rest = timer.entry;
        }
        if is_armed(rest) {
            self.compete(index_of(first), rest);
        } else if in_tournament {
            let slot = core::mem::replace(&mut timer.slot, NONE);
            self.leave_slot(slot);
        }
        self.find_first();
    }

    /// Takes `key` away if it is the front of a lane, and says which.
    #[inline]
    fn leave_lane(&mut self, key: Key) -> Option<usize> {
        for (at, lane) in self.lanes[..LANES].iter_mut().enumerate() {
            if self.fronts[at] as u64 == key as u64 {
                self.fronts[at] = lane.next();
                return Some(at);
            }
        }
        None
    }

    /// Gives `timer` a deadline, `delay` after now.
    #[inline(always)]
    #[track_caller]
    pub fn arm(&mut self, timer: u32, delay: u64, time: u64, seq: u64) {
        let key = key(time, seq) | u128::from(timer);
        let own = self.timers.get_mut(timer as usize).expect("no such timer");
        own.deadline = key;
        if key > own.entry {
            return;
        }
        let at = own.lane as usize % LANE_ROOM;
        own.entry = key;
        if self.is_known && self.goes_first(timer, key) {
            return;
        }
        if self.lanes[at].delay == delay {
            self.enter_lane(at, key);
        } else {
            self.enter(timer, delay, key);
        }
    }

    /// Puts an entry for `timer` into the express place, if it may go there. What is earliest of
    /// all others has to be known.
    #[inline(always)]
    fn goes_first(&mut self, timer: u32, key: Key) -> bool {
        // An older entry of the same timer means nothing any more.
        let is_free = !is_armed(self.express) || index_of(self.express) == timer as usize;
        let goes = is_free && key < self.first;
        if goes {
            self.express = key;
        }
        goes
    }

    /// Makes an entry for `timer`, which did not use the lane of `delay` last.
    #[inline(never)]
    fn enter(&mut self, timer: u32, delay: u64, key: Key) {
        if !self.is_known {
            if self.vacant != NONE {
                // Nothing is earlier than what fired last.
                let slot = core::mem::replace(&mut self.vacant, NONE);
                self.leave_slot(slot);
            }
            self.find_first();
            if self.goes_first(timer, key) {
                return;
            }
        }
        let own = &mut self.timers[timer as usize];
        let again = core::mem::replace(&mut own.delay, delay) == delay;
        let of_this_delay = self.lanes[..LANES]
            .iter()
            .position(|lane| lane.delay == delay);
        let unused = || {
            self.fronts[..LANES]
                .iter()
                .position(|&front| !is_armed(front))
        };
        // In order as well: the next entry of the lane's delay is not due before its last one.
        let of_this_time = || {
            self.lanes[..LANES]
                .iter()
                .position(|lane| lane.last == time_of(key))
        };
        if let Some(at) = of_this_delay.or_else(|| unused().filter(|_| again)) {
            own.lane = at as u32;
            self.lanes[at].delay = delay;
            self.enter_lane(at, key);
        } else if let Some(at) = of_this_time() {
            own.lane = at as u32;
            self.enter_lane(at, key);
        } else {
            self.compete(timer as usize, key);
            self.first = earlier(self.first, key);
        }
    }

    /// Puts an entry at the end of a lane.
    #[inline]
    fn enter_lane(&mut self, at: usize, key: Key) {
        self.lanes[at].last = time_of(key);
        if !is_armed(self.fronts[at]) {
            self.fronts[at] = key;
            self.first = earlier(self.first, key);
            return;
        }
        let lane = &mut self.lanes[at];
        if lane.is_full() {
            return self.enter_full_lane(at, key);
        }
        lane.push(key);
    }

    #[cold]
    #[inline(never)]
    fn enter_full_lane(&mut self, at: usize, key: Key) {
        let lane = &mut self.lanes[at];
        lane.make_room(|key| self.timers[index_of(key)].entry as u64 == key as u64);
        lane.push(key);
    }

    /// Puts an entry into the tournament, in the place of an older one of its timer.
    #[inline]
    fn compete(&mut self, timer: usize, key: Key) {
        let slot = &mut self.timers[timer].slot;
        if *slot == NONE {
            *slot = match core::mem::replace(&mut self.vacant, NONE) {
                NONE => self.free.pop().unwrap_or_else(|| {
                    if self.slots as usize == self.tournament.room() {
                        self.tournament.grow();
                    }
                    self.slots += 1;
                    self.slots - 1
                }),
                vacant => vacant,
            };
        }
        self.tournament.play(*slot, key);
    }

    /// Gives a slot back.
    #[inline]
    fn leave_slot(&mut self, slot: u32) {
        self.tournament.play(slot, DISARMED);
        self.free.push(slot);
    }

    /// Takes the deadline of `timer` away.
    #[inline]
    pub fn disarm(&mut self, timer: u32) {
        self.timers[timer as usize].deadline = DISARMED;
    }

    /// Disarms the timer whose key is `earliest` and returns its event.
    #[inline(always)]
    pub fn pop(&mut self, earliest: Key) -> E {
        if self.express as u64 == earliest as u64 {
            self.express = DISARMED;
            self.row = (earliest, LANES);
            return self.timers[index_of(earliest)].fire();
        }
        self.is_known = false;
        let lane = self.leave_lane(earliest);
        self.row = (earliest, lane.unwrap_or(LANES));
        let timer = &mut self.timers[index_of(earliest)];
        if lane.is_none() {
            self.vacant = core::mem::replace(&mut timer.slot, NONE);
        }
        timer.fire()
    }

    /// Disarms the timer that was armed right after the one that was popped last, for the same
    /// time, if the model `wants` its event; returns that.
    #[inline(always)]
    pub fn pop_in_row(&mut self, wants: impl Fn(E) -> bool) -> Option<E> {
        let (last, at) = self.row;
        let front = self.fronts[at % LANE_ROOM];
        if time_of(front) != time_of(last) || seq_of(front) != seq_of(last) + 1 {
            return None;
        }
        let own = self.timers.get_mut(index_of(front))?;
        if own.deadline as u64 != front as u64 || !wants(own.event) {
            return None;
        }
        let event = own.fire();
        self.fronts[at % LANE_ROOM] = self.lanes[at % LANE_ROOM].next();
        self.row.0 = front;
        self.is_known = false;
        Some(event)
    }
}
