//! Lots of events of each cpu: those that the ring buffers bring, and what is in the ones that are
//! not full yet.

use std::collections::BTreeMap;

use crate::window::Window;

use crate::raw::{self, LotHead};
use crate::{Event, What};

/// How far the events of a cpu were taken.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// The lot to come next.
    number: u32,
    /// How many of its events were taken before it was full.
    taken: u32,
    /// How many of the events that it says are lost were told.
    told: u32,
    /// Events that were taken of lots that had no room later.
    rescued: u64,
}

/// What the callback of the ring buffers fills.
#[derive(Default)]
pub(crate) struct Taken {
    pub window: Window,
    /// Events with names and paths, in their bytes.
    pub named: Vec<Vec<u8>>,
    pub refused: u64,
    progress: Vec<Progress>,
}

impl Taken {
    /// Takes what the ring buffer of a cpu brings.
    pub fn bytes(&mut self, cpu: u32, bytes: &[u8]) {
        if bytes.len() == raw::LOT {
            match LotHead::of(bytes) {
                Some(head) => self.lot(cpu, head, bytes, true),
                None => self.refused += 1,
            }
            return;
        }
        self.event(raw::decode(bytes));
        if raw::is_named(bytes) {
            self.named.push(bytes.to_vec());
        }
    }

    fn event(&mut self, event: Option<Event>) {
        match event {
            Some(event) => self.window.push(event),
            None => self.refused += 1,
        }
    }

    /// Takes the events of a lot that were not taken yet: of one that is handed over, or that fills
    /// up.
    pub fn lot(&mut self, cpu: u32, head: LotHead, lot: &[u8], is_whole: bool) {
        let place = cpu as usize;
        if place >= self.progress.len() {
            self.progress.resize_with(place + 1, Progress::default);
        }
        let mut known = self.progress[place];
        let ahead = head.number.wrapping_sub(known.number);
        if ahead > u32::MAX / 2 {
            // Taken since it was looked at.
            return;
        }
        if ahead > 0 {
            // There was no room for the one that was to come.
            known.rescued += u64::from(known.taken);
            known.told = known.told.saturating_add(known.taken);
            known.taken = 0;
        }
        let mut lost = head.lost.saturating_sub(known.told);
        for event in raw::of_lot(lot, known.taken, head.used) {
            if let Some(event) = event.filter(|_| lost > 0) {
                self.window.push(Event {
                    current: None,
                    what: What::Lost {
                        events: u64::from(std::mem::take(&mut lost)),
                    },
                    ..event
                });
                known.told = head.lost;
            }
            self.event(event);
        }
        (known.number, known.taken) = (head.number, known.taken.max(head.used));
        if is_whole {
            (known.number, known.taken, known.told) = (head.number.wrapping_add(1), 0, 0);
        }
        self.progress[place] = known;
    }

    /// Corrects the counts of the kernel: of a lot without room, events were taken before.
    pub fn without_rescued(&self, lost: &mut BTreeMap<u32, u64>) {
        for (cpu, known) in self.progress.iter().enumerate() {
            if let Some(lost) = lost.get_mut(&(cpu as u32)) {
                *lost = lost.saturating_sub(known.rescued);
            }
        }
        lost.retain(|_, lost| *lost > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tid;

    /// The bytes of a lot whose event `n` is at the time of `from` + `n`.
    fn lot(head: LotHead, from: u64) -> Vec<u8> {
        let mut lot = Vec::new();
        for word in [head.number, head.used, head.lost, 0] {
            lot.extend(word.to_ne_bytes());
        }
        for n in 0..64 {
            let mut event = (from + n).to_ne_bytes().to_vec();
            // An exit on cpu 1.
            event.extend([1, 0, 6, 0]);
            event.extend((n as u32).to_ne_bytes());
            event.resize(24, 0);
            lot.extend(event);
        }
        lot
    }

    fn head(number: u32, used: u32, lost: u32) -> LotHead {
        LotHead { number, used, lost }
    }

    /// Times of the events so far, and how many were lost before each.
    fn out(taken: &mut Taken) -> (Vec<u64>, Vec<(u64, u64)>) {
        let (mut times, mut lost) = (Vec::new(), Vec::new());
        taken.window.finish();
        taken.window.hand_out(&mut |event| match event.what {
            What::Lost { events } => lost.push((event.time, events)),
            What::Exit { tid } => {
                assert_eq!(event.time % 64, u64::from(tid.0));
                assert_ne!(tid, Tid::UNKNOWN);
                times.push(event.time);
            }
            _ => panic!("{event:?}"),
        });
        (times, lost)
    }

    #[test]
    fn events_of_a_lot_that_fills_up_are_taken_once() {
        let mut taken = Taken::default();
        for used in [3, 3, 10] {
            taken.lot(1, head(0, used, 0), &lot(head(0, used, 0), 64), false);
        }
        assert_eq!(out(&mut taken).0, (64..74).collect::<Vec<_>>());
        taken.bytes(1, &lot(head(0, 64, 0), 64));
        // It was looked at before the ring buffer was.
        taken.lot(1, head(0, 20, 0), &lot(head(0, 20, 0), 64), false);
        taken.lot(1, head(1, 2, 0), &lot(head(1, 2, 0), 128), false);
        assert_eq!(out(&mut taken), ((74..130).collect(), Vec::new()));
    }

    #[test]
    fn losses_are_told_once_and_without_what_was_taken() {
        let mut taken = Taken::default();
        taken.lot(1, head(0, 10, 0), &lot(head(0, 10, 0), 64), false);
        // The lots 0 and 1 had no room, and another event had none before that.
        taken.lot(1, head(2, 1, 129), &lot(head(2, 1, 129), 192), false);
        assert_eq!(out(&mut taken).1, [(192, 119)]);
        // Two more without room while the lot filled up.
        taken.bytes(1, &lot(head(2, 64, 131), 192));
        taken.bytes(1, &lot(head(3, 64, 5), 256));
        assert_eq!(out(&mut taken).1, [(193, 2), (256, 5)]);
        let mut lost = BTreeMap::from([(0, 7), (1, 136)]);
        taken.without_rescued(&mut lost);
        assert_eq!(lost, BTreeMap::from([(0, 7), (1, 126)]));
    }
}
