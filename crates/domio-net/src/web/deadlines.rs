//! Many timers behind one: a heap that knows the place of each, so that setting one again moves it.

use alloc::vec::Vec;
use domio_core::Instant;

/// Timers by number. Equal times come in the order of numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Deadlines {
    /// A binary heap, the earliest first.
    heap: Vec<(Instant, u32)>,
    /// By number: place in the heap, counted from 1; 0 for a timer that is not set.
    places: Vec<u32>,
}

impl Deadlines {
    /// When the first one expires.
    #[inline]
    pub fn next(&self) -> Option<Instant> {
        self.heap.first().map(|(at, _)| *at)
    }

    /// Sets `timer` for `at`, or stops it.
    pub fn set(&mut self, timer: u32, at: Option<Instant>) {
        let number = timer as usize;
        if number >= self.places.len() {
            self.places.resize((number + 1).next_power_of_two(), 0);
        }
        match (self.places[number], at) {
            (0, None) => {}
            (0, Some(at)) => {
                self.heap.push((at, timer));
                self.rise(self.heap.len() - 1);
            }
            (place, None) => self.remove(place as usize - 1),
            (place, Some(at)) => {
                let place = place as usize - 1;
                self.heap[place].0 = at;
                let place = self.rise(place);
                self.sink(place);
            }
        }
    }

    /// Takes the first timer that has expired at `now`, if there is one.
    pub fn expired(&mut self, now: Instant) -> Option<u32> {
        let (at, timer) = *self.heap.first()?;
        (at <= now).then(|| {
            self.remove(0);
            timer
        })
    }

    fn remove(&mut self, place: usize) {
        let (_, timer) = self.heap.swap_remove(place);
        self.places[timer as usize] = 0;
        if place < self.heap.len() {
            let place = self.rise(place);
            self.sink(place);
        }
    }

    /// Moves what is at `place` towards the first. Returns where it is then.
    fn rise(&mut self, mut place: usize) -> usize {
        while place > 0 {
            let above = (place - 1) / 2;
            if self.heap[above] <= self.heap[place] {
                break;
            }
            self.heap.swap(above, place);
            self.note(place);
            place = above;
        }
        self.note(place);
        place
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let below = [2 * place + 1, 2 * place + 2];
            let below = below.into_iter().filter(|i| *i < self.heap.len());
            let Some(least) = below.min_by_key(|i| self.heap[*i]) else {
                break;
            };
            if self.heap[place] <= self.heap[least] {
                break;
            }
            self.heap.swap(place, least);
            self.note(place);
            place = least;
        }
        self.note(place);
    }

    fn note(&mut self, place: usize) {
        let (_, timer) = self.heap[place];
        self.places[timer as usize] = place as u32 + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use domio_sim::RandomStream;

    fn at(n: u64) -> Instant {
        Instant::from_nanos(n)
    }

    /// Against a table in which everything is looked for.
    #[test]
    fn the_first_is_the_earliest_whatever_was_set_before() {
        let mut random = RandomStream::new(1, 0, "deadlines");
        let (mut heap, mut table) = (Deadlines::default(), BTreeMap::new());
        for _ in 0..20_000 {
            let timer = random.below(40) as u32;
            match random.below(4) {
                0 => {
                    heap.set(timer, None);
                    table.remove(&timer);
                }
                1 => {
                    let now = at(random.below(1000));
                    let first = table.iter().map(|(t, at)| (*at, *t)).min();
                    let first = first.filter(|(due, _)| *due <= now);
                    assert_eq!(heap.expired(now), first.map(|(_, timer)| timer));
                    if let Some((_, timer)) = first {
                        table.remove(&timer);
                    }
                }
                _ => {
                    let due = at(random.below(1000));
                    heap.set(timer, Some(due));
                    table.insert(timer, due);
                }
            }
            assert_eq!(heap.next(), table.values().min().copied());
        }
    }
}
