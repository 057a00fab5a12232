//! Posts that are due soon, in no order: slots that come and go, and compete for the first place.

use crate::tournament::{DISARMED, Key, Tournament, index_of, key};
use alloc::vec::Vec;

#[derive(Clone)]
struct Slot<E> {
    /// The deadline, [`DISARMED`] for a slot that is not in use.
    deadline: Key,
    event: E,
}

/// Events by slot, the earliest first.
#[derive(Clone)]
pub(crate) struct Arrivals<E> {
    tournament: Tournament,
    slots: Vec<Slot<E>>,
    /// Slots that are not in use, the one freed last on top: the groups hold its former deadline
    /// still, so that it is filled again at the lowest price.
    free: Vec<u32>,
}

impl<E: Copy> Arrivals<E> {
    pub fn new() -> Self {
        Arrivals {
            tournament: Tournament::new(),
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Number of events.
    #[inline]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Slots that there is memory for.
    #[cfg(test)]
    pub fn room(&self) -> usize {
        self.tournament.room()
    }

    /// The key of the earliest event, [`DISARMED`] without any.
    #[inline]
    pub fn earliest(&mut self) -> Key {
        let mut champion = self.tournament.champion();
        // `DISARMED` names no slot.
        while let Some(slot) = self.slots.get(index_of(champion)) {
            if slot.deadline as u64 == champion as u64 {
                break;
            }
            self.tournament
                .play(index_of(champion) as u32, slot.deadline);
            champion = self.tournament.champion();
        }
        champion
    }

    /// Adds an event.
    #[inline]
    pub fn insert(&mut self, time: u64, seq: u64, event: E) {
        let index = match self.free.pop() {
            Some(index) => index,
            None => self.add(event),
        };
        let key = key(time, seq) | u128::from(index);
        self.slots[index as usize] = Slot {
            deadline: key,
            event,
        };
        if key < self.tournament.bound(index) {
            self.tournament.play(index, key);
        }
    }

    /// Adds a slot that is not in use.
    fn add(&mut self, event: E) -> u32 {
        if self.slots.len() == self.tournament.room() {
            self.tournament.grow();
        }
        self.slots.push(Slot {
            deadline: DISARMED,
            event,
        });
        self.slots.len() as u32 - 1
    }

    /// Takes the event with this key, which is in here.
    #[inline]
    pub fn take(&mut self, key: Key) -> E {
        let slot = &mut self.slots[index_of(key)];
        slot.deadline = DISARMED;
        self.free.push(index_of(key) as u32);
        slot.event
    }

    /// The keys of all events, in no order.
    pub fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        let keys = self.slots.iter().map(|slot| slot.deadline);
        keys.filter(|&key| key != DISARMED)
    }
}
