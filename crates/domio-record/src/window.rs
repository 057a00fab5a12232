//! Events of all cpus in the order of time.

use crate::Event;

/// Most events that are held back. Beyond this, the earlier half is released.
const MOST: usize = 4 << 20;

/// Holds events back until no earlier one can come.
///
/// Each round takes all that the kernel had written. What comes in the next round was written after
/// this one's take began, and so is not earlier than the latest event of the round before this one.
#[derive(Debug, Default)]
pub struct EventWindow {
    waiting: Vec<Event>,
    /// The latest time so far.
    latest: u64,
    /// Events up to this time are released at the next round.
    limit: u64,
    /// The time of the latest event that was released.
    released: u64,
    disorder: u64,
}

impl EventWindow {
    /// Takes an event.
    #[inline]
    pub fn push(&mut self, event: Event) {
        self.latest = self.latest.max(event.time);
        self.waiting.push(event);
    }

    /// Takes all of `events`.
    #[cfg(feature = "bpf")]
    pub(crate) fn append(&mut self, events: &mut Vec<Event>) {
        let latest = events.iter().map(|event| event.time).max();
        self.latest = self.latest.max(latest.unwrap_or(0));
        self.waiting.append(events);
    }

    /// Ends a round: `each` gets the events that no later one can precede, in the order of time.
    pub fn round(&mut self, each: &mut dyn FnMut(Event)) {
        self.waiting.sort_by_key(|event| event.time);
        let limit = self.limit;
        let mut n = self.waiting.partition_point(|event| event.time <= limit);
        if self.waiting.len() - n > MOST {
            n = self.waiting.len() - MOST / 2;
        }
        self.release(n, each);
        self.limit = self.latest;
    }

    /// Hands out all that is left.
    pub fn finish(&mut self, each: &mut dyn FnMut(Event)) {
        self.waiting.sort_by_key(|event| event.time);
        self.release(self.waiting.len(), each);
    }

    /// Events that came later than any in the order could, and got the time of the one before.
    pub fn disorder(&self) -> u64 {
        self.disorder
    }

    fn release(&mut self, n: usize, each: &mut dyn FnMut(Event)) {
        for mut event in self.waiting.drain(..n) {
            if event.time < self.released {
                self.disorder += 1;
                event.time = self.released;
            }
            self.released = event.time;
            each(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::What;

    fn round(window: &mut EventWindow, times: &[u64]) -> Vec<u64> {
        for time in times {
            window.push(Event {
                time: *time,
                cpu: 0,
                current: None,
                what: What::Other,
            });
        }
        let mut out = Vec::new();
        window.round(&mut |event| out.push(event.time));
        out
    }

    #[test]
    fn rounds_release_what_no_later_event_can_precede() {
        let mut window = EventWindow::default();
        assert!(round(&mut window, &[10, 30, 20]).is_empty());
        assert_eq!(round(&mut window, &[25, 40]), [10, 20, 25, 30]);
        assert!(round(&mut window, &[]).contains(&40));
        // Earlier than what is out.
        assert_eq!(round(&mut window, &[35, 50]), [40]);
        assert_eq!(window.disorder(), 1);
        let mut rest = Vec::new();
        window.finish(&mut |event| rest.push(event.time));
        assert_eq!(rest, [50]);
    }

    #[test]
    fn what_is_held_back_is_bounded() {
        let mut window = EventWindow::default();
        let times: Vec<u64> = (1..MOST as u64 + 3).rev().collect();
        let out = round(&mut window, &times);
        assert_eq!(out.len(), MOST / 2 + 2);
        assert!(out.is_sorted());
    }
}
