//! Puts events in order that come almost in order.

use std::collections::VecDeque;

use crate::LinuxEvent;

/// Most events that are held back. Beyond this, the earlier half is released.
const MOST: usize = 4 << 20;

/// Holds events back until no earlier one can come.
#[derive(Default)]
pub(crate) struct Window {
    /// Events that wait, in the order in which they came.
    waiting: Vec<LinuxEvent>,
    /// Events in the order of time.
    ready: VecDeque<LinuxEvent>,
    /// The latest time so far.
    latest: u64,
    /// Events up to this time are released at the next round.
    limit: u64,
}

impl Window {
    #[inline]
    pub fn push(&mut self, event: LinuxEvent) {
        self.latest = self.latest.max(event.time);
        self.waiting.push(event);
        if self.waiting.len() >= MOST {
            self.release(MOST / 2);
        }
    }

    /// A round has ended: no event that comes later is earlier than the latest one of the round
    /// before.
    pub fn round(&mut self) {
        self.waiting.sort_by_key(|e| e.time);
        let n = self.waiting.partition_point(|e| e.time <= self.limit);
        self.ready.extend(self.waiting.drain(..n));
        self.limit = self.latest;
    }

    /// No more events come.
    pub fn finish(&mut self) {
        self.release(self.waiting.len());
    }

    fn release(&mut self, n: usize) {
        self.waiting.sort_by_key(|e| e.time);
        self.ready.extend(self.waiting.drain(..n));
    }

    #[inline]
    pub fn pop(&mut self) -> Option<LinuxEvent> {
        self.ready.pop_front()
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

    fn popped(window: &mut Window) -> Vec<u64> {
        std::iter::from_fn(|| window.pop())
            .map(|e| e.time)
            .collect()
    }

    #[test]
    fn a_round_releases_what_no_later_event_can_precede() {
        let mut window = Window::default();
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
    fn what_is_held_back_is_bounded() {
        let mut window = Window::default();
        for time in (0..MOST as u64 + 2).rev() {
            window.push(event(time));
        }
        assert_eq!(window.ready.len(), MOST / 2);
        assert_eq!(window.waiting.len(), MOST / 2 + 2);
    }
}
