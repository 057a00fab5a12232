//! Puts events in order that come almost in order.

use std::collections::VecDeque;

use crate::LinuxEvent;

/// Most events that are held back. Beyond this, the earlier half is released.
const MOST: usize = 4 << 20;

/// Holds events back until no earlier one can come.
///
/// `perf record` takes in rounds all that the kernel had written. What comes in the next round was
/// written after the take of this one began, and so is not earlier than the latest event of the
/// round before.
#[derive(Debug, Default)]
pub(crate) struct EventWindow {
    /// Events that wait, in the order in which they came.
    waiting: Vec<LinuxEvent>,
    /// Events in the order of time.
    ready: VecDeque<LinuxEvent>,
    /// The latest time so far.
    latest: u64,
    /// Events up to this time are released at the next round.
    limit: u64,
}

impl EventWindow {
    /// Takes an event.
    #[inline]
    pub fn push(&mut self, event: LinuxEvent) {
        self.latest = self.latest.max(event.time);
        self.waiting.push(event);
        if self.waiting.len() >= MOST {
            self.release(MOST / 2);
        }
    }

    /// A round has ended: no event that comes later is earlier than the latest one of the round
    /// before. Those up to there are ready.
    pub fn round(&mut self) {
        self.waiting.sort_by_key(|e| e.time);
        let n = self.waiting.partition_point(|e| e.time <= self.limit);
        self.ready.extend(self.waiting.drain(..n));
        self.limit = self.latest;
    }

    /// No more events come: all are ready.
    pub fn finish(&mut self) {
        self.release(self.waiting.len());
    }

    fn release(&mut self, n: usize) {
        self.waiting.sort_by_key(|e| e.time);
        self.ready.extend(self.waiting.drain(..n));
    }

    /// The next event that is ready, in the order of time.
    #[inline]
    pub fn pop(&mut self) -> Option<LinuxEvent> {
        self.ready.pop_front()
    }
}

/// Gives events that come too late to be put in order the time of the one before.
#[derive(Clone, Copy, Debug, Default)]
pub struct InOrder {
    latest: u64,
}

impl InOrder {
    /// Whether `event` came too late, and got another time.
    #[inline]
    pub fn moves(&mut self, event: &mut LinuxEvent) -> bool {
        let is_late = event.time < self.latest;
        self.latest = self.latest.max(event.time);
        event.time = self.latest;
        is_late
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinuxWhat;

    fn event(time: u64) -> LinuxEvent {
        LinuxEvent {
            time,
            cpu: 0,
            current: None,
            what: LinuxWhat::Other,
        }
    }

    fn popped(window: &mut EventWindow) -> Vec<u64> {
        std::iter::from_fn(|| window.pop())
            .map(|e| e.time)
            .collect()
    }

    #[test]
    fn a_round_releases_what_no_later_event_can_precede() {
        let mut window = EventWindow::default();
        [10, 30, 20]
            .map(event)
            .into_iter()
            .for_each(|e| window.push(e));
        window.round();
        assert!(popped(&mut window).is_empty());
        [25, 40].map(event).into_iter().for_each(|e| window.push(e));
        window.round();
        assert_eq!(popped(&mut window), [10, 20, 25, 30]);
        window.finish();
        assert_eq!(popped(&mut window), [40]);
    }

    #[test]
    fn events_that_come_too_late_are_no_earlier_than_the_one_before() {
        let mut window = EventWindow::default();
        let mut order = InOrder::default();
        let mut round = |times: &[u64]| -> Vec<(u64, bool)> {
            times.iter().for_each(|time| window.push(event(*time)));
            window.round();
            let ready = std::iter::from_fn(|| window.pop());
            ready
                .map(|mut event| {
                    let moved = order.moves(&mut event);
                    (event.time, moved)
                })
                .collect()
        };
        assert!(round(&[10, 30, 20]).is_empty());
        round(&[25, 40]);
        assert_eq!(round(&[]), [(40, false)]);
        // Earlier than what is out.
        assert_eq!(round(&[35, 50]), [(40, true)]);
    }

    #[test]
    fn what_is_held_back_is_bounded() {
        let mut window = EventWindow::default();
        for time in (0..MOST as u64 + 2).rev() {
            window.push(event(time));
        }
        assert_eq!(window.ready.len(), MOST / 2);
        assert_eq!(window.waiting.len(), MOST / 2 + 2);
    }
}
