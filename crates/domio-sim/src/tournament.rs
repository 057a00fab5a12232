//! Who is first: a tournament over slots whose keys change often.
//!
//! Slots compete in groups of four, a cache line each; the earliest of a group competes in a group
//! one level up, and the winner of the single group at the top is the champion. Giving a slot
//! another key plays the groups on its way up again. Nothing moves, and no branch depends on which
//! key is earlier: a mispredicted branch would cost more than everything else.
//!
//! What a slot stands for is its owner's business ([`crate::timers`], [`crate::arrivals`]). Both
//! owners let the groups lag behind: a slot competes with a *bound*, a key that is never later than
//! its deadline, and is not played again for a later deadline until it turns up as the champion. A
//! timer that is put off again and again, such as the end of a time slice, then costs one store
//! each time; and one that fires and is armed again immediately goes its way up once, not twice.

use alloc::vec;
use alloc::vec::Vec;
use core::hint::select_unpredictable;

/// Competitors in a group.
const ARITY: usize = 4;
/// Slots and timers are numbered with this many bits.
const INDEX_BITS: u32 = 18;
/// Levels above the lowest with as many slots as there may be.
const LEVELS_MAX: u32 = INDEX_BITS.div_ceil(ARITY.ilog2()) - 1;
/// Most slots: one less than there are numbers, because the last one is that of [`DISARMED`].
pub(crate) const SLOTS_MAX: usize = (1 << INDEX_BITS) - 1;
/// Sequence numbers are lower than this, so that one fits into a key. As it is lower by one than
/// it could be, no deadline is mistaken for [`DISARMED`].
pub(crate) const SEQ_LIMIT: u64 = u64::MAX >> INDEX_BITS;

/// Deadline, sequence number and index in one number, so that one comparison gives time order,
/// first in first out. From the top: 64 bits of time, then the sequence number, then the index of
/// what is due. Keys from different places can be compared, as sequence numbers are drawn only
/// once, and the lower half alone distinguishes keys.
pub(crate) type Key = u128;

/// The key of nothing, behind every key of a deadline.
pub(crate) const DISARMED: Key = Key::MAX;

/// Whether `key` is that of a deadline. The lower half tells.
#[inline]
pub(crate) fn is_armed(key: Key) -> bool {
    key as u64 != DISARMED as u64
}

/// The key of a deadline with index 0.
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

/// The index in a key; that of [`DISARMED`] does not exist.
#[inline]
pub(crate) fn index_of(key: Key) -> usize {
    key as usize & ((1 << INDEX_BITS) - 1)
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
        let (b, c) = (group[(place ^ 1) % ARITY], group[(place ^ 2) % ARITY]);
        let d = group[(place ^ 3) % ARITY];
        group[place % ARITY] = key;
        earlier(key, earlier(b, earlier(c, d)))
    }
}

#[inline]
fn earlier(a: Key, b: Key) -> Key {
    select_unpredictable(a < b, a, b)
}

#[derive(Clone)]
pub(crate) struct Tournament {
    /// The group at the top, then those below it, level by level: competitor `p` of group `g` is
    /// the winner of group `ARITY * g + p + 1`.
    groups: Vec<Group>,
    /// Index of the first group of slots: the others are the winners of groups.
    first_leaf: usize,
    /// The winner of group 0.
    champion: Key,
}

impl Tournament {
    pub fn new() -> Self {
        Tournament {
            groups: vec![Group([DISARMED; ARITY])],
            first_leaf: 0,
            champion: DISARMED,
        }
    }

    /// The earliest bound, [`DISARMED`] when no slot competes.
    #[inline]
    pub fn champion(&self) -> Key {
        self.champion
    }

    /// Slots that there is room for.
    pub fn room(&self) -> usize {
        (self.groups.len() - self.first_leaf) * ARITY
    }

    /// Makes room for `ARITY` times as many slots: another level.
    #[cold]
    #[inline(never)]
    pub fn grow(&mut self) {
        assert!(self.room() <= SLOTS_MAX, "too many timers or posts");
        let first_leaf = ARITY * self.first_leaf + 1;
        let empty = vec![Group([DISARMED; ARITY]); ARITY * first_leaf + 1];
        let groups = core::mem::replace(&mut self.groups, empty);
        let leaves = &groups[core::mem::replace(&mut self.first_leaf, first_leaf)..];
        self.champion = DISARMED;
        for (slot, &bound) in leaves.iter().flat_map(|group| &group.0).enumerate() {
            if is_armed(bound) {
                self.play(slot as u32, bound);
            }
        }
    }

    /// The bound of `slot`.
    #[inline]
    pub fn bound(&self, slot: u32) -> Key {
        let (group, place) = self.leaf(slot);
        self.groups[group].0[place]
    }

    /// Group and place of a slot.
    #[inline]
    fn leaf(&self, slot: u32) -> (usize, usize) {
        let slot = slot as usize;
        (self.first_leaf + slot / ARITY, slot % ARITY)
    }

    /// Gives `slot` the bound `key` and plays the groups on its way up.
    ///
    /// All the way, though an unchanged winner could end it earlier: where it ends is hard to
    /// foresee, how long the way is is not. The loop has a constant limit so that it is unrolled;
    /// in a loop that stays one, the compiler takes branches for selections after all.
    #[inline(never)]
    pub fn play(&mut self, slot: u32, key: Key) {
        let (mut group, place) = self.leaf(slot);
        let mut winner = self.groups[group].play(place, key);
        for _ in 0..LEVELS_MAX {
            if group == 0 {
                break;
            }
            let place = (group - 1) % ARITY;
            group = (group - 1) / ARITY;
            winner = self.groups[group].play(place, winner);
        }
        self.champion = winner;
    }
}
