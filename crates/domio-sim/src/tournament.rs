//! Deadlines that change often: a tournament over the slots that hold them.
//!
//! Slots compete in groups of four, a cache line each; the earliest of a group competes in a group
//! one level up, and the winner of the single group at the top is the champion. Arming, re-arming
//! or disarming a slot plays the groups on its way up again, as far as that makes a difference.
//! Nothing is ever stale, nothing moves, and no branch depends on which deadline is earlier: with
//! few slots, a mispredicted branch would cost more than everything else.
//!
//! Whoever handles a timer that fired usually arms it again at once. So its way up is played not
//! when it fires but when it is armed again, or when somebody else needs the champion.

/// Competitors in a group, and its binary logarithm.
const ARITY: usize = 1 << ARITY_BITS;
const ARITY_BITS: u32 = 2;
/// Slots are numbered with at most this many bits.
const MAX_INDEX_BITS: u32 = 18;
/// Sequence numbers are lower than this, so that one fits into a key with the longest index. As it
/// is lower by one than it could be, no deadline is mistaken for [`DISARMED`].
pub(crate) const SEQ_LIMIT: u64 = u64::MAX >> MAX_INDEX_BITS;

/// Deadline, sequence number and slot in one number, so that one comparison gives time order,
/// first in first out. From the top: 64 bits of time, then the sequence number, then as many bits
/// of slot index as the present number of slots needs.
pub(crate) type Key = u128;

/// The key of a disarmed slot, behind every key of a deadline.
pub(crate) const DISARMED: Key = Key::MAX;

/// Time above, sequence number below: what decides between keys of different tournaments.
pub(crate) type Rank = u128;

/// The rank of a time and a sequence number.
#[inline]
pub(crate) fn rank(time: u64, seq: u64) -> Rank {
    u128::from(time) << 64 | u128::from(seq)
}

/// The time in a key or in a rank.
#[inline]
pub(crate) fn time_of(key: Key) -> u64 {
    (key >> 64) as u64
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Group([Key; ARITY]);

impl Group {
    /// Replaces one competitor; returns the winner.
    ///
    /// Inlined into the loop on the way up, the comparisons would be compiled to branches; by
    /// itself this function has none. That is worth the call.
    #[inline(never)]
    fn play(&mut self, place: usize, key: Key) -> Key {
        let group = &mut self.0;
        // Those that wait for nothing compete first, `key` comes from the level below.
        let [b, c, d] = [1, 2, 3].map(|i| group[(place ^ i) % ARITY]);
        group[place % ARITY] = key;
        key.min(b.min(c.min(d)))
    }
}

#[derive(Clone)]
pub(crate) struct Tournament<E> {
    /// The group at the top, then those below it, level by level: competitor `p` of group `g` is
    /// the winner of group `ARITY * g + p + 1`.
    groups: Vec<Group>,
    /// Index of the first group of slots: the others are the winners of groups.
    first_leaf: usize,
    /// The winner of group 0, unless `unsettled`.
    champion: Key,
    /// The slot that was popped while the groups on its way up have not been played again.
    unsettled: Option<u32>,
    /// Bits of a slot index in a key; there is room for `1 << index_bits` slots.
    index_bits: u32,
    armed: usize,
    events: Vec<E>,
}

impl<E: Copy> Tournament<E> {
    pub fn new() -> Self {
        Tournament {
            groups: vec![Group([DISARMED; ARITY])],
            first_leaf: 0,
            champion: DISARMED,
            unsettled: None,
            index_bits: ARITY_BITS,
            armed: 0,
            events: Vec::new(),
        }
    }

    /// Number of armed slots.
    #[inline]
    pub fn armed(&self) -> usize {
        self.armed
    }

    #[inline]
    fn key(&self, time: u64, seq: u64, slot: u32) -> Key {
        u128::from(time) << 64 | u128::from(seq << self.index_bits | u64::from(slot))
    }

    /// What `key`, which is not [`DISARMED`], says of time and sequence number.
    #[inline]
    pub fn rank_of(&self, key: Key) -> Rank {
        rank(time_of(key), key as u64 >> self.index_bits)
    }

    /// The slot whose key, not [`DISARMED`], this is.
    #[inline]
    pub fn slot_of(&self, key: Key) -> u32 {
        key as u32 & ((1 << self.index_bits) - 1)
    }

    /// The earliest key, [`DISARMED`] when no slot is armed.
    #[inline]
    pub fn earliest(&mut self) -> Key {
        self.settle();
        self.champion
    }

    /// Adds a disarmed slot and returns its index.
    pub fn add(&mut self, event: E) -> u32 {
        if self.events.len() == 1 << self.index_bits {
            self.grow();
        }
        let slot = self.events.len() as u32;
        self.events.push(event);
        slot
    }

    /// Makes room for `ARITY` times as many slots: another level, and wider indices in the keys.
    fn grow(&mut self) {
        assert!(self.index_bits < MAX_INDEX_BITS, "too many timers or posts");
        let armed: Vec<(u32, u64, u64)> = (0..self.events.len() as u32)
            .map(|slot| (slot, self.get(slot)))
            .filter(|&(_, key)| key != DISARMED)
            .map(|(slot, key)| (slot, time_of(key), key as u64 >> self.index_bits))
            .collect();
        self.first_leaf = ARITY * self.first_leaf + 1;
        self.index_bits += ARITY_BITS;
        let groups = ARITY * self.first_leaf + 1;
        self.groups = vec![Group([DISARMED; ARITY]); groups];
        self.champion = DISARMED;
        self.unsettled = None;
        for (slot, time, seq) in armed {
            let key = self.key(time, seq, slot);
            self.replay(slot, key);
        }
    }

    /// Number of slots.
    pub fn slots(&self) -> u32 {
        self.events.len() as u32
    }

    pub fn event(&self, slot: u32) -> E {
        self.events[slot as usize]
    }

    #[inline]
    pub fn set_event(&mut self, slot: u32, event: E) {
        self.events[slot as usize] = event;
    }

    /// The key of `slot`, [`DISARMED`] without a deadline.
    #[inline]
    pub fn get(&self, slot: u32) -> Key {
        let (group, place) = self.leaf(slot);
        self.groups[group].0[place]
    }

    /// Gives `slot` a deadline.
    #[inline]
    pub fn arm(&mut self, slot: u32, time: u64, seq: u64) {
        assert!((slot as usize) < self.events.len(), "no such timer");
        if self.unsettled == Some(slot) {
            self.unsettled = None;
            self.armed += 1;
        } else {
            self.settle();
            self.armed += usize::from(self.get(slot) == DISARMED);
        }
        self.replay(slot, self.key(time, seq, slot));
    }

    /// Takes the deadline of `slot` away.
    #[inline]
    pub fn disarm(&mut self, slot: u32) {
        if self.get(slot) != DISARMED {
            self.settle();
            self.armed -= 1;
            self.replay(slot, DISARMED);
        }
    }

    /// Disarms the slot whose key is `earliest` and returns its event.
    #[inline]
    pub fn pop(&mut self, earliest: Key) -> E {
        let slot = self.slot_of(earliest);
        let (group, place) = self.leaf(slot);
        self.groups[group].0[place] = DISARMED;
        self.armed -= 1;
        self.unsettled = Some(slot);
        self.events[slot as usize]
    }

    /// Group and place of a slot.
    #[inline]
    fn leaf(&self, slot: u32) -> (usize, usize) {
        let slot = slot as usize;
        (self.first_leaf + slot / ARITY, slot % ARITY)
    }

    #[inline]
    fn settle(&mut self) {
        if let Some(slot) = self.unsettled.take() {
            self.replay(slot, DISARMED);
        }
    }

    /// Gives `slot` a new key and plays the groups on its way up.
    #[inline]
    fn replay(&mut self, slot: u32, key: Key) {
        let (mut group, place) = self.leaf(slot);
        let mut winner = self.groups[group].play(place, key);
        let mut may_stop = false;
        while group > 0 {
            let place = (group - 1) % ARITY;
            group = (group - 1) / ARITY;
            // Whether the way up ends early is hard to foresee at the first level, where it
            // depends on three others, and easy from the second level on.
            if may_stop && self.groups[group].0[place] == winner {
                return;
            }
            may_stop = true;
            winner = self.groups[group].play(place, winner);
        }
        self.champion = winner;
    }
}

#[cfg(test)]
impl<E> Tournament<E> {
    /// Slots that there is memory for.
    pub fn room(&self) -> usize {
        self.groups.capacity() * ARITY
    }
}
