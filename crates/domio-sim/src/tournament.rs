//! Deadlines that change often: a tournament over the slots that hold them.
//!
//! Slots compete in groups of four, a cache line each; the earliest of a group competes in a group
//! one level up, and the winner of the single group at the top is the champion. Arming, re-arming
//! or disarming a slot plays the groups on its way up again, as far as that makes a difference.
//! Nothing is ever stale, nothing moves, and no branch depends on which deadline is earlier: with
//! few slots, a mispredicted branch would cost more than everything else.
//!
//! The groups may lag behind: they hold, for each slot, a time that is never later than its
//! deadline. A slot that gets a later deadline, or none, or was delivered, is not played again
//! until it turns up as the champion. Timers that are put off again and again, such as the end of
//! a time slice, then cost one store each time; and a timer that fires and is armed again at once
//! goes its way up once, not twice.

use std::hint::select_unpredictable;

/// Competitors in a group.
const ARITY: usize = 4;
/// Slots are numbered with this many bits.
const INDEX_BITS: u32 = 18;
/// Most slots: one less than there are numbers, because the last one is that of [`DISARMED`].
pub(crate) const SLOTS_MAX: usize = (1 << INDEX_BITS) - 1;
/// Sequence numbers are lower than this, so that one fits into a key. As it is lower by one than
/// it could be, no deadline is mistaken for [`DISARMED`].
pub(crate) const SEQ_LIMIT: u64 = u64::MAX >> INDEX_BITS;

/// Deadline, sequence number and slot in one number, so that one comparison gives time order,
/// first in first out. From the top: 64 bits of time, then the sequence number, then the slot.
/// Keys of different tournaments can be compared, as sequence numbers are drawn only once.
pub(crate) type Key = u128;

/// The key of a disarmed slot, behind every key of a deadline.
pub(crate) const DISARMED: Key = Key::MAX;

/// The key of a deadline without a slot.
#[inline]
pub(crate) fn key(time: u64, seq: u64) -> Key {
    u128::from(time) << 64 | u128::from(seq << INDEX_BITS)
}

/// The time in a key.
#[inline]
pub(crate) fn time_of(key: Key) -> u64 {
    (key >> 64) as u64
}

/// The sequence number in a key.
#[inline]
pub(crate) fn seq_of(key: Key) -> u64 {
    key as u64 >> INDEX_BITS
}

/// The slot in a key; that of [`DISARMED`] does not exist.
#[inline]
pub(crate) fn slot_of(key: Key) -> u32 {
    key as u32 & ((1 << INDEX_BITS) - 1)
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Group([Key; ARITY]);

impl Group {
    /// Replaces one competitor; returns the winner.
    ///
    /// Nobody can foresee who wins, so it must not be branches that find out.
    #[inline]
    fn play(&mut self, place: usize, key: Key) -> Key {
        let group = &mut self.0;
        // Those that wait for nothing compete first, `key` comes from the level below.
        let [b, c, d] = [1, 2, 3].map(|i| group[(place ^ i) % ARITY]);
        group[place % ARITY] = key;
        earlier(key, earlier(b, earlier(c, d)))
    }
}

#[inline]
fn earlier(a: Key, b: Key) -> Key {
    select_unpredictable(a < b, a, b)
}

#[derive(Clone)]
struct Slot<E> {
    /// The deadline, which the groups may not know yet; [`DISARMED`] for none.
    deadline: Key,
    event: E,
}

#[derive(Clone)]
pub(crate) struct Tournament<E> {
    /// The group at the top, then those below it, level by level: competitor `p` of group `g` is
    /// the winner of group `ARITY * g + p + 1`.
    groups: Vec<Group>,
    /// Index of the first group of slots: the others are the winners of groups.
    first_leaf: usize,
    /// The winner of group 0; its deadline may be later by now.
    champion: Key,
    armed: usize,
    slots: Vec<Slot<E>>,
}

impl<E: Copy> Tournament<E> {
    pub fn new() -> Self {
        Tournament {
            groups: vec![Group([DISARMED; ARITY])],
            first_leaf: 0,
            champion: DISARMED,
            armed: 0,
            slots: Vec::new(),
        }
    }

    /// Number of armed slots.
    #[inline]
    pub fn armed(&self) -> usize {
        self.armed
    }

    /// The earliest deadline, [`DISARMED`] when no slot is armed.
    #[inline]
    pub fn earliest(&mut self) -> Key {
        // `DISARMED` names no slot.
        while let Some(slot) = self.slots.get(slot_of(self.champion) as usize) {
            // The lower half alone tells keys apart.
            if slot.deadline as u64 == self.champion as u64 {
                break;
            }
            self.replay(slot_of(self.champion), slot.deadline);
        }
        self.champion
    }

    /// Adds a disarmed slot and returns its index.
    pub fn add(&mut self, event: E) -> u32 {
        if self.slots.len() == self.room() {
            self.grow();
        }
        let slot = self.slots.len() as u32;
        self.slots.push(Slot {
            deadline: DISARMED,
            event,
        });
        slot
    }

    /// Slots that there is room for.
    pub fn room(&self) -> usize {
        (self.groups.len() - self.first_leaf) * ARITY
    }

    /// Makes room for `ARITY` times as many slots: another level.
    fn grow(&mut self) {
        assert!(self.slots.len() < SLOTS_MAX, "too many timers or posts");
        self.first_leaf = ARITY * self.first_leaf + 1;
        let groups = ARITY * self.first_leaf + 1;
        self.groups = vec![Group([DISARMED; ARITY]); groups];
        self.champion = DISARMED;
        for slot in 0..self.slots.len() as u32 {
            let deadline = self.get(slot);
            if deadline != DISARMED {
                self.replay(slot, deadline);
            }
        }
    }

    /// Number of slots.
    pub fn slots(&self) -> u32 {
        self.slots.len() as u32
    }

    pub fn event(&self, slot: u32) -> E {
        self.slots[slot as usize].event
    }

    #[inline]
    pub fn set_event(&mut self, slot: u32, event: E) {
        self.slots[slot as usize].event = event;
    }

    /// The key of `slot`, [`DISARMED`] without a deadline.
    #[inline]
    pub fn get(&self, slot: u32) -> Key {
        self.slots[slot as usize].deadline
    }

    /// Gives `slot` a deadline.
    #[inline]
    pub fn arm(&mut self, slot: u32, time: u64, seq: u64) {
        let key = key(time, seq) | u128::from(slot);
        let old = &mut self.slots[slot as usize].deadline;
        self.armed += usize::from(*old == DISARMED);
        *old = key;
        let (group, place) = self.leaf(slot);
        if key < self.groups[group].0[place] {
            self.replay(slot, key);
        }
    }

    /// Takes the deadline of `slot` away.
    #[inline]
    pub fn disarm(&mut self, slot: u32) {
        let deadline = &mut self.slots[slot as usize].deadline;
        self.armed -= usize::from(*deadline != DISARMED);
        *deadline = DISARMED;
    }

    /// Disarms the slot whose key is `earliest` and returns its event.
    #[inline]
    pub fn pop(&mut self, earliest: Key) -> E {
        self.armed -= 1;
        let slot = &mut self.slots[slot_of(earliest) as usize];
        slot.deadline = DISARMED;
        slot.event
    }

    /// Group and place of a slot.
    #[inline]
    fn leaf(&self, slot: u32) -> (usize, usize) {
        let slot = slot as usize;
        (self.first_leaf + slot / ARITY, slot % ARITY)
    }

    /// Gives `slot` a new key and plays the groups on its way up.
    #[inline(never)]
    fn replay(&mut self, slot: u32, key: Key) {
        let (mut group, place) = self.leaf(slot);
        let mut winner = self.groups[group].play(place, key);
        let mut may_stop = false;
        while group > 0 {
            let place = (group - 1) % ARITY;
            group = (group - 1) / ARITY;
            let up = &mut self.groups[group];
            // Whether the way up ends early is hard to foresee at the first level, where it
            // depends on three others, and easy from the second level on.
            if may_stop && up.0[place] == winner {
                return;
            }
            may_stop = true;
            winner = up.play(place, winner);
        }
        self.champion = winner;
    }
}
