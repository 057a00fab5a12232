//! The event queue.
//!
//! Pending events come in two kinds, and each has the structure that suits it:
//!
//! - **Timers** belong to an entity (a processor, a device) that has one of them for as long as it
//!   lives, and re-arms it all the time, mostly before it fires. Those with a usual delay queue up
//!   in lanes, the others compete in a tournament (`timers.rs`, `tournament.rs`).
//! - **Posts** are fired and forgotten. Those due next are in order (`near.rs`, `arrivals.rs`), all
//!   others in buckets by the digits of their time (`far.rs`), which are looked at only when their
//!   turn comes. While only a few dozen posts wait, there are no others.
//!
//! Delivery takes the earlier of the two. Every post and every arm draws a number from one
//! sequence, and of two events at the same time the one with the lower number goes first.
//!
//! # Cost
//!
//! Arming and delivering a timer with a usual delay costs a few nanoseconds whatever the number of
//! timers; with another delay, one comparison of four deadlines for every factor of four in that
//! number. Putting a timer off costs one store. A post is moved a few times from bucket to bucket,
//! in sequential memory, and sorted among a few dozen others, whatever the number that waits.
//!
//! Nothing allocates per event: the parts keep their memory, and it grows with the largest number
//! of events that ever waited at a time, never with the number delivered.

use alloc::vec::Vec;
use core::fmt;

use domio_core::Instant;

use crate::far::Far;
use crate::near::{Entry, First, Near};
use crate::timers::Timers;
use crate::tournament::{Key, SEQ_LIMIT, is_armed, time_of};

/// A timer of one [`EventQueue`]; see [`EventQueue::timer`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TimerId(u32);

/// Pending events in the order of time, first in first out on equal times.
///
/// `E` should be small (8 to 16 bytes): an index and a kind, not the data itself.
///
/// The queue is a value: a clone delivers what the original delivers.
#[derive(Clone)]
pub struct EventQueue<E: Copy> {
    now: u64,
    /// Number of posts and arms so far.
    seq: u64,
    popped: u64,
    /// `popped` before the first event at `now`.
    popped_before_now: u64,
    timers: Timers<E>,
    near: Near<E>,
    /// Posts up to this time go to `near`, later ones to `far`.
    near_until: u64,
    far: Far<E>,
    /// Number of posts, in `near` and `far`.
    posts: usize,
    /// Posts on their way from `near` to `far`; empty in between.
    moving: Vec<Entry<E>>,
}

/// Posts go from `near` back to `far` when it holds more than this many outside its run: one less
/// than three levels of its tournament have room for.
const ARRIVALS_MAX: usize = 63;
/// Buckets with more entries are spread before they are taken, unless all are due at one instant.
const TAKE_MAX: usize = 64;
/// Buckets are taken until `near` has this many entries.
const TAKE_MIN: usize = 16;

impl<E: Copy> EventQueue<E> {
    /// An empty queue at [`Instant::ZERO`].
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// An empty queue with room for about `n` posts. It grows by itself, too.
    pub fn with_capacity(n: usize) -> Self {
        EventQueue {
            now: 0,
            seq: 0,
            popped: 0,
            popped_before_now: 0,
            timers: Timers::new(),
            near: Near::new(),
            near_until: u64::MAX,
            far: Far::with_capacity(n),
            posts: 0,
            moving: Vec::new(),
        }
    }

    /// The time of the event delivered last, [`Instant::ZERO`] before the first.
    #[inline]
    pub fn now(&self) -> Instant {
        Instant::from_nanos(self.now)
    }

    /// Number of events delivered so far. A [row](Self::pop_in_row) counts once.
    #[inline]
    pub fn popped(&self) -> u64 {
        self.popped
    }

    /// Number of events delivered at the instant [`now`](Self::now), the latest one included.
    #[inline]
    pub fn popped_now(&self) -> u64 {
        self.popped - self.popped_before_now
    }

    /// Number of pending events: posts not yet delivered and armed timers. Looks at every timer.
    pub fn len(&self) -> usize {
        self.posts + self.timers.armed()
    }

    /// Whether no event is pending. Looks at every timer.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Schedules `event` for delivery at `at`, behind everything already scheduled for that time.
    /// It cannot be taken back; what may be cancelled is a [timer](Self::timer).
    ///
    /// # Panics
    /// When `at` is earlier than [`now`](Self::now).
    #[inline]
    #[track_caller]
    pub fn post(&mut self, at: Instant, event: E) {
        let entry = Entry {
            time: self.not_in_the_past(at),
            seq: self.next_seq(),
            event,
        };
        self.posts += 1;
        if entry.time <= self.near_until {
            self.near.insert(entry);
            if self.near.arrivals() > ARRIVALS_MAX {
                self.shorten_near();
            }
        } else {
            self.far.push(entry);
        }
    }

    /// Registers a timer, disarmed, that delivers `event` whenever it fires. Timers are meant to
    /// be registered once per entity and to stay; they are numbered densely from 0.
    ///
    /// # Panics
    /// When there are 2¹⁸ - 1 timers already.
    pub fn timer(&mut self, event: E) -> TimerId {
        TimerId(self.timers.add(event))
    }

    /// Changes what timer `t` delivers from now on, whether or not it is armed.
    ///
    /// # Panics
    /// When `t` belongs to another queue and this one has no such timer; so do all other calls
    /// that take a timer.
    pub fn set_timer_event(&mut self, t: TimerId, event: E) {
        self.timers.set_event(t.0, event);
    }

    /// Arms timer `t` to fire once at `at`, behind everything already scheduled for that time. A
    /// former deadline is dropped.
    ///
    /// # Panics
    /// When `at` is earlier than [`now`](Self::now).
    #[inline(always)]
    #[track_caller]
    pub fn arm(&mut self, t: TimerId, at: Instant) {
        let (time, seq) = (self.not_in_the_past(at), self.next_seq());
        self.timers.arm(t.0, time - self.now, time, seq);
    }

    /// Disarms timer `t`; does nothing when it is not armed.
    #[inline]
    pub fn disarm(&mut self, t: TimerId) {
        self.timers.disarm(t.0);
    }

    /// When timer `t` will fire; `None` when it is not armed.
    #[inline]
    pub fn deadline(&self, t: TimerId) -> Option<Instant> {
        let key = self.timers.get(t.0);
        is_armed(key).then(|| Instant::from_nanos(time_of(key)))
    }

    /// The time of the earliest pending event.
    #[inline]
    pub fn peek_time(&mut self) -> Option<Instant> {
        let timer = self.timers.earliest();
        let post = if let Some((key, _)) = self.near.first() {
            time_of(key)
        } else if !self.far.is_empty() {
            self.far.min_time()
        } else if !is_armed(timer) {
            return None;
        } else {
            u64::MAX
        };
        Some(Instant::from_nanos(post.min(time_of(timer))))
    }

    /// Whether another event is due at the instant [`now`](Self::now).
    #[inline(always)]
    pub fn is_due_now(&mut self) -> bool {
        self.timers.is_due(self.now) || (self.posts > 0 && self.peek_time() == Some(self.now()))
    }

    /// Delivers the earliest event if it is due at `until` or before, and moves
    /// [`now`](Self::now) to its time. A timer is disarmed by being delivered.
    ///
    /// Returns `None`, and changes nothing, when no event is due by then.
    #[inline(always)]
    pub fn pop(&mut self, until: Instant) -> Option<(Instant, E)> {
        let timer = self.timers.earliest();
        let (time, event) = if self.posts > 0
            && let Some((time, first)) = self.first_post(until, timer)
        {
            self.posts -= 1;
            (time, self.near.take(first))
        } else {
            let time = time_of(timer);
            if time > until.as_nanos() || !is_armed(timer) {
                return None;
            }
            (time, self.timers.pop(timer))
        };
        if time != self.now {
            // Far away: at 20 million events a second a run gets there after forty days.
            assert!(self.seq < SEQ_LIMIT, "too many events in one run");
            self.now = time;
            self.popped_before_now = self.popped;
        }
        self.popped += 1;
        Some((Instant::from_nanos(time), event))
    }

    /// Delivers another timer at [`now`](Self::now), if it was armed right after the one that was
    /// delivered last, and if the model `wants` its event.
    ///
    /// Timers that are armed in a row for the same time, as the ticks of many processors are, can
    /// be handled in a row like this: nothing else is due in between.
    #[inline(always)]
    pub fn pop_in_row(&mut self, wants: impl Fn(E) -> bool) -> Option<E> {
        self.timers.pop_in_row(wants)
    }

    /// Where the earliest post is and its time, if it goes before `timer` and is due at `until`.
    #[inline]
    fn first_post(&mut self, until: Instant, timer: Key) -> Option<(u64, First)> {
        if self.near.is_empty() {
            // Buckets are opened only for an event that is delivered immediately. So their base is
            // never later than `now`, which is what later posts rely on.
            let next = self.far.min_time();
            if next > until.as_nanos() || next > time_of(timer) {
                return None;
            }
            self.refill_near();
        }
        let (key, first) = self.near.first()?;
        (key < timer && time_of(key) <= until.as_nanos()).then_some((time_of(key), first))
    }

    #[inline]
    #[track_caller]
    fn not_in_the_past(&self, at: Instant) -> u64 {
        if at.as_nanos() < self.now {
            self.complain_of_the_past(at);
        }
        at.as_nanos()
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn complain_of_the_past(&self, at: Instant) -> ! {
        panic!("event scheduled for {at}, but it is {} already", self.now());
    }

    #[inline]
    fn next_seq(&mut self) -> u64 {
        let seq = self.seq;
        self.seq += 1;
        seq
    }

    /// Moves later posts from `near` to `far` when too many of them are outside the run.
    #[cold]
    fn shorten_near(&mut self) {
        self.near.split_off(ARRIVALS_MAX / 2, &mut self.moving);
        let Some(earliest) = self.moving.first() else {
            return;
        };
        // Something stays that is earlier, so this is not below zero.
        self.near_until = earliest.time - 1;
        if self.far.is_empty() {
            self.far.set_base(self.now);
        }
        for entry in self.moving.drain(..) {
            self.far.push(entry);
        }
    }

    /// Fills `near`, which is empty, from `far`, which is not.
    #[inline(never)]
    fn refill_near(&mut self) {
        let mut front = self.far.front();
        while front.len > TAKE_MAX && !front.is_one_instant() {
            self.far.spread(&front);
            front = self.far.front();
        }
        loop {
            self.far.take(&front, &mut self.near);
            self.near_until = front.last_time;
            if self.far.is_empty() {
                self.near_until = u64::MAX;
                return;
            }
            front = self.far.front();
            if self.near.len() >= TAKE_MIN || front.len > TAKE_MAX {
                return;
            }
        }
    }
}

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Copy> fmt::Debug for EventQueue<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventQueue")
            .field("now", &self.now())
            .field("popped", &self.popped)
            .field("posts", &self.posts)
            .field("timers_armed", &self.timers.armed())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RandomStream;
    use domio_core::Duration;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    fn room(queue: &EventQueue<u64>) -> usize {
        queue.near.room() + queue.far.room() + queue.moving.capacity() + queue.timers.room()
    }

    /// Takes an event and posts it again up to `spread` nanoseconds later, `ops` times.
    fn hold(queue: &mut EventQueue<u64>, random: &mut RandomStream, spread: u64, ops: u64) {
        for _ in 0..ops {
            let (now, event) = queue.pop(Instant::MAX).expect("events are waiting");
            queue.post(now + Duration::from_nanos(random.below(spread)), event);
        }
    }

    #[test]
    fn events_at_one_time_are_delivered_in_the_order_of_the_calls() {
        let mut queue = EventQueue::new();
        let (a, b) = (queue.timer(100), queue.timer(101));
        queue.arm(b, at(5));
        queue.post(at(5), 1);
        queue.arm(a, at(5));
        queue.post(at(5), 2);
        queue.arm(b, at(5)); // again, so behind all others
        let order: Vec<i32> = core::iter::from_fn(|| queue.pop(at(5)).map(|(_, e)| e)).collect();
        assert_eq!(order, [1, 100, 2, 101]);
        assert_eq!(queue.popped_now(), 4);
    }

    #[test]
    fn what_is_due_at_this_instant_is_told() {
        let mut queue = EventQueue::new();
        let (a, b) = (queue.timer(1), queue.timer(2));
        queue.arm(a, at(5));
        queue.arm(b, at(5));
        assert!(!queue.is_due_now());
        queue.pop(at(5));
        assert!(queue.is_due_now());
        queue.arm(b, at(6));
        assert!(!queue.is_due_now(), "it was put off");
        queue.post(at(5), 3);
        assert!(queue.is_due_now());
        assert_eq!(queue.pop(at(5)), Some((at(5), 3)));
        queue.disarm(b);
        assert_eq!((queue.is_due_now(), queue.pop(at(9))), (false, None));
    }

    #[test]
    fn a_fired_timer_is_disarmed_and_can_be_armed_again() {
        let mut queue = EventQueue::new();
        let timer = queue.timer('a');
        queue.disarm(timer);
        queue.arm(timer, at(3));
        queue.arm(timer, at(7));
        assert_eq!((queue.deadline(timer), queue.len()), (Some(at(7)), 1));
        assert_eq!(queue.pop(at(6)), None);
        assert_eq!(queue.now(), Instant::ZERO);
        queue.set_timer_event(timer, 'b');
        assert_eq!(queue.pop(at(7)), Some((at(7), 'b')));
        assert_eq!((queue.deadline(timer), queue.len()), (None, 0));
        assert_eq!(queue.pop(Instant::MAX), None);
        queue.arm(timer, Instant::MAX);
        assert_eq!(queue.peek_time(), Some(Instant::MAX));
        assert_eq!(queue.pop(Instant::MAX), Some((Instant::MAX, 'b')));
    }

    #[test]
    fn timers_keep_their_deadlines_and_their_order_while_more_are_registered() {
        let mut queue = EventQueue::new();
        let mut expected = Vec::new();
        for event in 0..5_000u64 {
            let timer = queue.timer(event);
            if event % 3 != 0 {
                queue.arm(timer, at(event % 7));
                expected.push((event % 7, event));
            }
        }
        expected.sort_unstable();
        let delivered = core::iter::from_fn(|| queue.pop(Instant::MAX));
        let delivered: Vec<(u64, u64)> = delivered.map(|(at, e)| (at.as_nanos(), e)).collect();
        assert_eq!(delivered, expected);
    }

    #[test]
    fn an_entry_that_replaces_the_first_one_is_kept() {
        let mut queue = EventQueue::new();
        let (a, b) = (queue.timer('a'), queue.timer('b'));
        // Twice the same delay makes it a usual one.
        queue.arm(a, at(50));
        queue.pop(at(50));
        queue.arm(a, at(100));
        queue.pop(at(100));
        // An entry with an unusual delay is left behind when the timer fires by an earlier one.
        queue.arm(b, at(200));
        queue.arm(b, at(150));
        assert_eq!(queue.pop(at(150)), Some((at(150), 'b')));
        assert!(!queue.is_due_now());
        queue.arm(b, at(300));
        assert_eq!(queue.pop(Instant::MAX), Some((at(300), 'b')));
    }

    #[test]
    #[should_panic(expected = "event scheduled for 0.000000004 s, but it is 0.000000005 s already")]
    fn nothing_can_be_posted_into_the_past() {
        let mut queue = EventQueue::new();
        queue.post(at(5), ());
        queue.pop(at(5));
        queue.post(at(4), ());
    }

    #[test]
    #[should_panic(expected = "event scheduled for")]
    fn no_timer_can_be_armed_in_the_past() {
        let mut queue = EventQueue::new();
        let timer = queue.timer(());
        queue.post(at(5), ());
        queue.pop(at(5));
        queue.arm(timer, at(4));
    }

    #[test]
    #[should_panic(expected = "no such timer")]
    fn a_timer_of_a_larger_queue_is_refused() {
        let mut larger = EventQueue::new();
        larger.timer(());
        let timer = larger.timer(());
        let mut queue = EventQueue::new();
        queue.timer(());
        queue.arm(timer, at(4));
    }

    #[test]
    fn a_steady_queue_stops_growing() {
        for (n, spread) in [
            (10, 1_000),
            (1_000, 1_000_000),
            (20_000, 1 << 40),
            (5_000, 3),
        ] {
            let mut queue = EventQueue::new();
            let mut random = RandomStream::new(1, 0, "hold");
            for event in 0..n {
                queue.post(at(random.below(spread)), event);
            }
            hold(&mut queue, &mut random, spread, 300_000);
            let warm = room(&queue);
            hold(&mut queue, &mut random, spread, 300_000);
            assert_eq!(room(&queue), warm, "{n} events over {spread} ns");
            assert!(
                warm < 8 * n as usize + 15_000,
                "{n} events: room for {warm}"
            );
        }
    }

    #[test]
    fn memory_follows_the_events_that_wait_and_not_those_that_have_been() {
        let mut queue = EventQueue::new();
        let timer = queue.timer(0);
        for round in 0..2_000 {
            // A burst at one instant, a constant delay and a timer that never fires.
            let now = queue.now();
            for event in 0..100 {
                queue.post(now + Duration::from_nanos(50), event);
                queue.post(now + Duration::from_nanos(20 + event % 10), event);
                queue.post(now + Duration::from_micros(round), event);
                queue.arm(timer, now + Duration::from_secs(1 + event));
            }
            for _ in 0..300 {
                queue.pop(now + Duration::from_micros(round));
            }
        }
        assert!(queue.len() <= 400, "{queue:?}");
        assert!(room(&queue) < 20_000, "room for {}", room(&queue));
    }

    #[test]
    fn a_clone_delivers_what_the_original_delivers() {
        let mut queue = EventQueue::new();
        let mut random = RandomStream::new(1, 0, "clone");
        for event in 0..500 {
            queue.post(at(random.below(1_000)), event);
        }
        hold(&mut queue, &mut random, 1_000, 100);
        let mut clone = queue.clone();
        while let Some(delivered) = queue.pop(Instant::MAX) {
            assert_eq!(clone.pop(Instant::MAX), Some(delivered));
        }
        assert!(clone.is_empty());
    }
}
