//! Puts the events of the cpus of a recording in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Event;

/// Most queues. Events of further cpus share the last one.
const QUEUES_MAX: usize = 1 << 13;

/// Holds events of a recording that goes on back until no earlier one can come, and merges cpus.
///
/// A round takes all that the kernel had written. What comes in the next round was written after
/// the take of this one began, and so is not earlier than the latest event of the round before.
/// What is held back is bounded by the kernel's buffer: as much as two rounds have.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// Of each cpu.
    queues: Vec<Queue>,
    /// The latest time so far.
    latest: u64,
    /// Events up to this time are ready at the next round.
    limit: u64,
    /// Events up to this time are ready.
    ready: u64,
}

/// Events of a cpu, which come in the order of time as a rule.
#[derive(Debug, Default)]
struct Queue {
    events: Vec<Event>,
    /// Whether one came earlier than the one before.
    is_mixed: bool,
    /// How many were handed out.
    taken: usize,
}

impl Window {
    /// Takes an event.
    #[inline]
    pub fn push(&mut self, event: Event) {
        self.latest = self.latest.max(event.time);
        let queue = (event.cpu as usize).min(QUEUES_MAX - 1);
        if queue >= self.queues.len() {
            self.queues.resize_with(queue + 1, Queue::default);
        }
        let queue = &mut self.queues[queue];
        let before = queue.events.last().map_or(0, |last| last.time);
        queue.is_mixed |= event.time < before;
        queue.events.push(event);
    }

    /// A round has ended: no event that comes later is earlier than the latest one of the round
    /// before. Those up to there are ready.
    pub fn round(&mut self) {
        self.ready = self.limit;
        self.limit = self.latest;
    }

    /// No more events come: all are ready.
    pub fn finish(&mut self) {
        self.ready = u64::MAX;
    }

    /// Hands out the events that are ready, in the order of time; of one time by cpu.
    pub fn hand_out(&mut self, each: &mut dyn FnMut(Event)) {
        let ready = self.ready;
        // Of each queue that has any, the time of its first one.
        let mut firsts = BinaryHeap::with_capacity(self.queues.len());
        for (place, queue) in self.queues.iter_mut().enumerate() {
            if std::mem::take(&mut queue.is_mixed) {
                queue.events.sort_by_key(|event| event.time);
            }
            let first = queue.events.first().filter(|event| event.time <= ready);
            firsts.extend(first.map(|event| Reverse((event.time, place))));
        }
        while let Some(Reverse((_, place))) = firsts.pop() {
            let next = firsts.peek().map(|Reverse(next)| *next);
            let next = next.unwrap_or((u64::MAX, usize::MAX));
            let queue = &mut self.queues[place];
            while let Some(event) = queue.events.get(queue.taken) {
                if event.time > ready {
                    break;
                }
                if (event.time, place) > next {
                    firsts.push(Reverse((event.time, place)));
                    break;
                }
                queue.taken += 1;
                each(*event);
            }
        }
        for queue in &mut self.queues {
            queue.events.drain(..queue.taken);
            queue.taken = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::What;

    fn event(time: u64) -> Event {
        Event {
            time,
            cpu: 0,
            current: None,
            what: What::Other,
        }
    }

    fn handed_out(window: &mut Window) -> Vec<(u64, u32)> {
        let mut out = Vec::new();
        window.hand_out(&mut |event| out.push((event.time, event.cpu)));
        out
    }

    fn times(window: &mut Window) -> Vec<u64> {
        let out = handed_out(window);
        out.into_iter().map(|(time, _)| time).collect()
    }

    #[test]
    fn a_round_releases_what_no_later_event_can_precede() {
        let mut window = Window::default();
        [10, 30, 20]
            .map(event)
            .into_iter()
            .for_each(|e| window.push(e));
        window.round();
        assert!(times(&mut window).is_empty());
        [25, 40].map(event).into_iter().for_each(|e| window.push(e));
        window.round();
        assert_eq!(times(&mut window), [10, 20, 25, 30]);
        window.finish();
        assert_eq!(times(&mut window), [40]);
    }

    #[test]
    fn cpus_are_merged_by_time() {
        let mut window = Window::default();
        let mut all = Vec::new();
        for (cpu, step) in [(0, 7), (2, 3), (5, 11), (u32::MAX, 5)] {
            for n in 0..100 {
                let time = n * step;
                window.push(Event { cpu, ..event(time) });
                all.push((time, cpu));
            }
        }
        window.round();
        window.round();
        all.sort_unstable();
        assert_eq!(handed_out(&mut window), all);
        assert!(handed_out(&mut window).is_empty());
    }
}
