//! Times of traces whose clock is too coarse.
//!
//! Requests with one and the same time are spread over the step of the clock: each gets an equal
//! part of it, in the order of the trace, and goes at a random moment of that part.

use domio_core::{Duration, Instant};
use domio_trace::block::BlockEvent;
use std::collections::VecDeque;

/// Events of one time that are held back, at most.
const HELD_MAX: usize = 1 << 18;

/// Steps of clocks that are coarse enough to be spread.
const COARSE: Duration = Duration::from_millis(100);

/// Spreads times.
#[derive(Debug)]
pub struct TimeSpreader {
    /// Step of the clock; `None` where times stay as they are.
    step: Option<Duration>,
    held: VecDeque<BlockEvent>,
    ready: VecDeque<BlockEvent>,
    random: u64,
}

impl TimeSpreader {
    /// For a clock with steps of `resolution`.
    pub fn new(resolution: Duration, wanted: bool) -> Self {
        TimeSpreader {
            step: Some(resolution).filter(|step| wanted && *step >= COARSE),
            held: VecDeque::new(),
            ready: VecDeque::new(),
            random: 0,
        }
    }

    /// The next event whose time is known.
    pub fn take(&mut self) -> Option<BlockEvent> {
        self.ready.pop_front()
    }

    /// Another event, or the end of the trace.
    pub fn add(&mut self, event: Option<BlockEvent>) {
        let Some(step) = self.step else {
            self.ready.extend(event);
            return;
        };
        let begin = self.held.front().map(|first| first.at);
        let over = event.is_none_or(|event| Some(event.at) != begin);
        if over || self.held.len() == HELD_MAX {
            let count = self.held.len() as u64;
            for (i, mut event) in std::mem::take(&mut self.held).into_iter().enumerate() {
                let part = step.as_nanos() / count;
                let at = part * i as u64 + self.number() % part.max(1);
                event.at = Instant::from_nanos(event.at.as_nanos().saturating_add(at));
                self.ready.push_back(event);
            }
        }
        self.held.extend(event);
    }

    /// The next number of a fixed sequence (splitmix64).
    fn number(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}
