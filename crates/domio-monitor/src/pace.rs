//! How fast samples are shown: as they come, or as fast as the host's own clock, times a factor.

use domio_core::Instant;
use std::thread::sleep;
use std::time::{self, Duration};

/// Longest sleep at a time, in seconds: nobody waits for longer, and a sum never overflows.
const LONGEST: f64 = 86_400.0;

/// Keeps samples to a speed.
#[derive(Debug)]
pub struct PlaySpeed {
    /// Seconds of the host in a second; as fast as possible without.
    speed: Option<f64>,
    /// When the first sample began: by the host's clock, and by that on the wall.
    begin: Option<(Instant, time::Instant)>,
}

impl PlaySpeed {
    /// `speed` seconds of the host in a second; `None` for as fast as possible.
    pub fn new(speed: Option<f64>) -> Self {
        PlaySpeed { speed, begin: None }
    }

    /// Waits until it is time for a sample of the host's time from `start` to `end`.
    pub fn wait(&mut self, start: Instant, end: Instant) {
        let now = time::Instant::now();
        sleep(self.due(start, end, now));
    }

    /// How long after `now` a sample is due.
    fn due(&mut self, start: Instant, end: Instant, now: time::Instant) -> Duration {
        let Some(speed) = self.speed else {
            return Duration::ZERO;
        };
        let (first, begun) = *self.begin.get_or_insert((start, now));
        let seconds = end.saturating_since(first).as_nanos() as f64 / 1e9 / speed;
        let due = Duration::from_secs_f64(seconds.clamp(0.0, LONGEST));
        due.saturating_sub(now.saturating_duration_since(begun))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_due_by_the_hosts_clock() {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let now = time::Instant::now();
        let ms = Duration::from_millis;
        let mut pace = PlaySpeed::new(Some(10.0));
        assert_eq!(pace.due(at(500), at(600), now), ms(10));
        // What took time itself is not waited for again.
        assert_eq!(pace.due(at(600), at(700), now + ms(15)), ms(5));
        assert_eq!(pace.due(at(700), at(800), now + ms(99)), Duration::ZERO);
        let mut fastest = PlaySpeed::new(None);
        assert_eq!(fastest.due(at(0), at(9_000), now), Duration::ZERO);
    }
}
