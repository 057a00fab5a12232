//! The remote host's card: when it raises its interrupt, and when the host handles that.

use domio_core::{Duration, Instant};
use domio_sim::RandomStream;

/// When the remote host gets to the packets that its card has. Between an interrupt and the next
/// one is at least the card's gap; the host takes another time to handle each.
#[derive(Clone, Debug)]
pub(super) struct RemoteCard {
    gap: Duration,
    /// Most that the host takes from an interrupt to its handler.
    latency: Duration,
    random: RandomStream,
    /// When the next interrupt may come.
    quiet_until: Instant,
    /// What the host will take for that one.
    takes: Duration,
}

impl RemoteCard {
    /// A card that has been quiet for long.
    pub fn new(gap: Duration, latency: Duration, mut random: RandomStream) -> Self {
        let takes = random.duration_uniform(Duration::ZERO, latency);
        RemoteCard {
            gap,
            latency,
            random,
            quiet_until: Instant::ZERO,
            takes,
        }
    }

    /// When the host handles the interrupt for a packet that comes at `arrival` and is the next.
    pub fn handled(&self, arrival: Instant) -> Instant {
        arrival.max(self.quiet_until) + self.takes
    }

    /// The host handles an interrupt at `now`, as [`handled`](Self::handled) told.
    pub fn handle(&mut self, now: Instant) {
        let raised = now - self.takes;
        self.quiet_until = raised + self.gap;
        self.takes = self.random.duration_uniform(Duration::ZERO, self.latency);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const GAP: Duration = Duration::from_micros(125);

    fn card(latency: Duration) -> RemoteCard {
        RemoteCard::new(GAP, latency, RandomStream::new(1, 0, "card"))
    }

    fn us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    #[test]
    fn interrupts_keep_their_distance() {
        let mut card = card(Duration::ZERO);
        assert_eq!(card.handled(us(10)), us(10));
        card.handle(us(10));
        assert_eq!(card.handled(us(20)), us(135), "the gap is not over");
        assert_eq!(card.handled(us(300)), us(300));
    }

    #[test]
    fn the_host_takes_another_time_for_each() {
        let most = Duration::from_micros(90);
        let mut card = card(most);
        let mut times = Vec::new();
        for i in 1..=1000 {
            let arrival = us(1000 * i);
            let at = card.handled(arrival);
            assert_eq!(at, card.handled(arrival), "asking again changes nothing");
            card.handle(at);
            times.push(at.since(arrival));
            // From interrupt to interrupt, not from handler to handler.
            let next = card.handled(arrival).since(arrival);
            assert!(next >= GAP && next <= GAP + most, "{next}");
        }
        times.sort_unstable();
        let part = |percent: usize| times[percent * 10 - 1].as_nanos() / 1000;
        assert!(times[999] <= most);
        let quarters = [part(25), part(50), part(75)];
        let even = [22, 45, 67];
        let near = quarters.iter().zip(even).all(|(a, b)| a.abs_diff(b) <= 4);
        assert!(near, "{quarters:?}");
    }
}
