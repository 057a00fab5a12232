//! Where packets wait and where they are lost: bounded queues, and the books that have to balance.
//!
//! Every packet that anybody sends is delivered, was dropped at a place that has a name, or is
//! still under way. Each part of the network keeps [`Counts`] and says in [`Accounted::account`]
//! what it did; [`Ledger::check`] adds up.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;

/// A place where packets are dropped, named for people: "NIC receive ring", "link queue".
///
/// Parts of the same kind share a place; whoever needs to distinguish them asks each part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DropPlace(pub &'static str);

impl fmt::Display for DropPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// What went through one place. `entered = left + dropped + inside`, at any time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Packets handed to the place, those that it dropped included.
    pub entered: u64,
    /// Packets that continued from here.
    pub left: u64,
    /// Packets lost here.
    pub dropped: u64,
}

impl Counts {
    /// Packets that are here now.
    #[inline]
    pub const fn inside(&self) -> u64 {
        self.entered - self.left - self.dropped
    }
}

/// A queue, first in first out, that drops what does not fit and counts everything.
///
/// Its memory grows to the largest number that ever waited and stays; nothing is allocated for a
/// packet after that.
#[derive(Clone, Debug)]
pub struct Queue<T> {
    place: DropPlace,
    limit: usize,
    items: VecDeque<T>,
    counts: Counts,
}

impl<T> Queue<T> {
    /// An empty queue for `limit` packets. One with a limit of 0 drops everything.
    pub fn new(place: DropPlace, limit: usize) -> Self {
        Queue {
            place,
            limit,
            items: VecDeque::new(),
            counts: Counts::default(),
        }
    }

    /// Puts `item` at the end, or drops it when the queue is full. Says whether it went in.
    #[inline]
    #[must_use = "a packet that was dropped must not be waited for"]
    pub fn push(&mut self, item: T) -> bool {
        self.counts.entered += 1;
        let fits = self.items.len() < self.limit;
        if fits {
            self.items.push_back(item);
        } else {
            self.counts.dropped += 1;
        }
        fits
    }

    /// Takes the first.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let item = self.items.pop_front()?;
        self.counts.left += 1;
        Some(item)
    }

    /// Takes the one at `index`, counted from the front.
    pub fn take(&mut self, index: usize) -> Option<T> {
        let item = self.items.remove(index)?;
        self.counts.left += 1;
        Some(item)
    }

    /// The first, which stays.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.items.front()
    }

    /// The one at `index`, counted from the front.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        self.items.get(index)
    }

    /// What is in it, the next one first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }

    /// How many wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether the next packet would be dropped.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.items.len() >= self.limit
    }

    /// How many fit.
    #[inline]
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// What went through.
    #[inline]
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

impl<T> Accounted for Queue<T> {
    fn account(&self, ledger: &mut Ledger) {
        ledger.holds(self.len() as u64);
        ledger.dropped(self.place, self.counts.dropped);
    }
}

/// A part of the network that can say where its packets are.
pub trait Accounted {
    /// Adds this part's packets to `ledger`: each packet that it made, consumed, dropped or holds,
    /// once.
    fn account(&self, ledger: &mut Ledger);
}

/// The books of a network at one instant.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Ledger {
    sent: u64,
    delivered: u64,
    held: u64,
    dropped: Vec<(DropPlace, u64)>,
}

impl Ledger {
    /// Empty books.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `part`'s packets.
    pub fn add(&mut self, part: &impl Accounted) -> &mut Self {
        part.account(self);
        self
    }

    /// Adds `n` packets that came into being.
    pub fn sent(&mut self, n: u64) {
        self.sent += n;
    }

    /// Adds `n` packets that reached whom they were for.
    pub fn delivered(&mut self, n: u64) {
        self.delivered += n;
    }

    /// Adds `n` packets that are under way.
    pub fn holds(&mut self, n: u64) {
        self.held += n;
    }

    /// Adds `n` packets that were dropped at `place`.
    pub fn dropped(&mut self, place: DropPlace, n: u64) {
        if n == 0 {
            return;
        }
        match self.dropped.iter_mut().find(|(p, _)| *p == place) {
            Some((_, total)) => *total += n,
            None => self.dropped.push((place, n)),
        }
    }

    /// Packets dropped at `place`.
    pub fn dropped_at(&self, place: DropPlace) -> u64 {
        let found = self.dropped.iter().find(|(p, _)| *p == place);
        found.map_or(0, |(_, n)| *n)
    }

    /// Places where packets were dropped, with how many, in the order of the places' names.
    pub fn drops(&self) -> Vec<(DropPlace, u64)> {
        let mut drops = self.dropped.clone();
        drops.sort_unstable();
        drops
    }

    /// Packets that are under way.
    pub fn in_flight(&self) -> u64 {
        self.held
    }

    /// Whether each packet is somewhere.
    ///
    /// # Errors
    /// When there are more packets than were sent, or fewer.
    pub fn check(&self) -> Result<(), Imbalance> {
        let lost: u64 = self.dropped.iter().map(|(_, n)| n).sum();
        if self.sent == self.delivered + lost + self.held {
            Ok(())
        } else {
            Err(Imbalance(self.clone()))
        }
    }
}

/// Books that do not balance: a packet vanished or came from nowhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Imbalance(Ledger);

impl fmt::Display for Imbalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ledger {
            sent,
            delivered,
            held,
            dropped,
        } = &self.0;
        write!(
            f,
            "{sent} packets were sent, but {delivered} were delivered, {held} are under way"
        )?;
        for (place, n) in dropped {
            write!(f, ", {n} were dropped at {place}")?;
        }
        f.write_str("; a part drops or copies packets without counting them")
    }
}

impl core::error::Error for Imbalance {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    const HERE: DropPlace = DropPlace("here");

    #[test]
    fn a_full_queue_drops_and_says_so() {
        let mut queue = Queue::new(HERE, 2);
        assert_eq!(
            [queue.push('a'), queue.push('b'), queue.push('c')],
            [true, true, false]
        );
        assert!(queue.is_full());
        assert_eq!(queue.pop(), Some('a'));
        assert!(queue.push('d'));
        assert_eq!(
            (queue.pop(), queue.pop(), queue.pop()),
            (Some('b'), Some('d'), None)
        );
        let counts = queue.counts();
        assert_eq!((counts.entered, counts.left, counts.dropped), (4, 3, 1));
        assert_eq!(counts.inside(), 0);
    }

    #[test]
    fn a_queue_without_room_takes_nothing() {
        let mut queue = Queue::new(HERE, 0);
        assert!(!queue.push(1));
        assert_eq!((queue.pop(), queue.counts().dropped), (None, 1));
    }

    #[test]
    fn books_that_do_not_balance_are_shown() {
        let mut queue = Queue::new(HERE, 1);
        let _ = (queue.push(1), queue.push(2));
        let mut ledger = Ledger::new();
        ledger.add(&queue).sent(3);
        ledger.delivered(1);
        assert_eq!(ledger.check(), Ok(()));
        assert_eq!((ledger.dropped_at(HERE), ledger.in_flight()), (1, 1));
        ledger.delivered(1);
        let told = ledger.check().unwrap_err().to_string();
        assert!(told.contains("3 packets were sent, but 2 were delivered, 1 are under way"));
        assert!(told.contains("1 were dropped at here"));
    }
}
