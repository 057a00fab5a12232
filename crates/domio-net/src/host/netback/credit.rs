//! `rate=` of an interface: what the guest may send still (xen-spec 6.3).

use domio_core::{Duration, Instant};

use super::super::config::VifRate;

/// What a guest may send still, under a limit (xen-spec 6.3).
#[derive(Clone, Debug)]
pub(super) struct Credit {
    rate: Option<VifRate>,
    /// Bytes left.
    remaining: u64,
    /// Begin of the interval.
    since: Instant,
    /// More comes at this time, for a packet that waits.
    pub timer: Option<Instant>,
}

/// Most that piles up for one large packet.
const CREDIT_BURST_MAX: u64 = 128 * 1024;

impl Credit {
    pub fn new(rate: Option<VifRate>) -> Self {
        Credit {
            rate,
            remaining: rate.map_or(0, |rate| rate.bytes),
            since: Instant::ZERO,
            timer: None,
        }
    }

    /// Another limit from now on; what is left of the interval is at most the new limit's.
    pub fn set_rate(&mut self, rate: Option<VifRate>) {
        if self.rate != rate {
            self.rate = rate;
            let most = rate.map_or(0, |rate| rate.bytes);
            // Without a limit before, nothing was counted.
            self.remaining = match self.remaining {
                0 => most,
                left => left.min(most),
            };
            self.timer = None;
        }
    }

    /// Takes `bytes`, if there are as many; otherwise the interface waits for [`Credit::timer`].
    pub fn take(&mut self, now: Instant, bytes: u64) -> bool {
        let Some(rate) = self.rate else { return true };
        if bytes > self.remaining {
            if self.timer.is_some() {
                return false;
            }
            let next = self.since + rate.interval;
            if now >= next {
                self.since = now;
                self.add(rate, bytes);
            }
            if bytes > self.remaining {
                self.timer = Some(self.since + rate.interval);
                return false;
            }
        }
        self.remaining -= bytes;
        true
    }

    /// The timer has fired, for a packet of `bytes`.
    pub fn refill(&mut self, now: Instant, bytes: u64) {
        self.timer = None;
        self.since = now;
        if let Some(rate) = self.rate {
            self.add(rate, bytes);
        }
    }

    /// One interval's worth, however long it was.
    fn add(&mut self, rate: VifRate, bytes: u64) {
        let burst = bytes.min(CREDIT_BURST_MAX).max(rate.bytes);
        self.remaining = self.remaining.saturating_add(rate.bytes).min(burst);
    }
}

/// The rate of `mbit` Mb/s at the default interval of 50 ms.
impl VifRate {
    /// `rate=` with xl's default interval of 50 ms (xen-spec 6.3): `bits` per second.
    pub fn bits_per_second(bits: u64) -> Self {
        VifRate {
            bytes: bits / 8 / 20,
            interval: Duration::from_millis(50),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_18_10_megabits_are_62500_bytes_in_50_ms() {
        let rate = VifRate::bits_per_second(10_000_000);
        assert_eq!(
            (rate.bytes, rate.interval),
            (62_500, Duration::from_millis(50))
        );
    }

    #[test]
    fn credit_of_one_interval_only() {
        let ms = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut credit = Credit::new(Some(VifRate::bits_per_second(10_000_000)));
        assert!(credit.take(ms(0), 62_500));
        assert!(!credit.take(ms(1), 1_500));
        assert_eq!(credit.timer, Some(ms(50)));
        assert!(!credit.take(ms(2), 1_500), "the timer is set already");
        credit.refill(ms(50), 1_500);
        assert!(credit.take(ms(50), 62_500));
        // Idle for a long time: one interval's worth and not twenty.
        assert!(credit.take(ms(1_000), 62_500));
        assert!(!credit.take(ms(1_000), 1));
    }
}
