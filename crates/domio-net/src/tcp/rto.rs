//! The retransmission timeout (RFC 6298).
//!
//! Times are exact: no clock granularity is modelled. RFC 6298 takes the longer of the clock's
//! granularity and four times the mean deviation as the margin above the smoothed round-trip time;
//! Linux takes `TCP_RTO_MIN` for the former, so that its timeout is never below round trip plus
//! 200 ms (`tcp_rtt_estimator`, `tcp_set_rto` in `net/ipv4/tcp_input.c`).

use domio_core::Duration;

use super::TcpConfig;

/// Estimates the round-trip time and says how long to wait for an acknowledgement.
#[derive(Clone, Debug)]
pub struct Rto {
    min: Duration,
    max: Duration,
    /// Timeout without back-off.
    base: Duration,
    /// Smoothed round-trip time and mean deviation, since the first sample.
    estimate: Option<Estimate>,
    /// How often the timeout has doubled.
    backoff: u32,
}

#[derive(Clone, Copy, Debug)]
struct Estimate {
    srtt: Duration,
    deviation: Duration,
}

impl Rto {
    pub fn new(config: &TcpConfig) -> Self {
        Rto {
            min: config.rto_min,
            max: config.rto_max,
            base: config.rto_initial.min(config.rto_max),
            estimate: None,
            backoff: 0,
        }
    }

    /// A round trip was measured, on a segment that was sent once (RFC 6298 2.2 and 2.3).
    pub fn sample(&mut self, rtt: Duration) {
        let estimate = match self.estimate {
            None => Estimate {
                srtt: rtt,
                deviation: rtt / 2,
            },
            Some(old) => {
                let error = if rtt > old.srtt {
                    rtt - old.srtt
                } else {
                    old.srtt - rtt
                };
                Estimate {
                    srtt: (old.srtt * 7 + rtt) / 8,
                    deviation: (old.deviation * 3 + error) / 4,
                }
            }
        };
        self.estimate = Some(estimate);
        self.base = (estimate.srtt + (estimate.deviation * 4).max(self.min)).min(self.max);
    }

    /// The timeout has passed: the next one is twice as long (RFC 6298 5.5).
    pub fn back_off(&mut self) {
        if self.current() < self.max {
            self.backoff += 1;
        }
    }

    /// Something new was acknowledged: the path works and the back-off ends. With timestamps every
    /// acknowledgement measures a round trip, after which RFC 6298 5.7 lets the timeout recover.
    pub fn progress(&mut self) {
        self.backoff = 0;
    }

    /// How often the timeout has doubled since something was acknowledged.
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// How long to wait now.
    pub fn current(&self) -> Duration {
        let doubled = self
            .base
            .as_nanos()
            .saturating_mul(1 << self.backoff.min(63));
        Duration::from_nanos(doubled).min(self.max)
    }

    /// Smoothed round-trip time.
    pub fn srtt(&self) -> Option<Duration> {
        self.estimate.map(|estimate| estimate.srtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn rto() -> Rto {
        Rto::new(&TcpConfig::default())
    }

    #[test]
    fn the_estimator_follows_rfc_6298() {
        let mut rto = rto();
        assert_eq!(rto.current(), ms(3_000));
        // SRTT 400, RTTVAR 200.
        rto.sample(ms(400));
        assert_eq!(rto.current(), ms(400 + 4 * 200));
        // RTTVAR 3/4 * 200 + 1/4 * 400 = 250; SRTT 7/8 * 400 + 1/8 * 800 = 450.
        rto.sample(ms(800));
        assert_eq!(
            (rto.srtt(), rto.current()),
            (Some(ms(450)), ms(450 + 4 * 250))
        );
        // RTTVAR 3/4 * 250 + 1/4 * 400 = 287.5; SRTT 7/8 * 450 + 1/8 * 50 = 400.
        rto.sample(ms(50));
        assert_eq!(rto.current(), ms(400 + 1_150));
    }

    #[test]
    fn a_steady_short_path_waits_200_ms_more() {
        let mut rto = rto();
        for _ in 0..100 {
            rto.sample(ms(1));
        }
        assert_eq!(rto.current(), ms(201));
    }

    #[test]
    fn it_doubles_up_to_its_limit_until_there_is_progress() {
        let mut rto = rto();
        rto.sample(ms(1));
        let mut waits = Vec::new();
        for _ in 0..12 {
            waits.push(rto.current().as_nanos() / 1_000_000);
            rto.back_off();
        }
        let expected = [
            201, 402, 804, 1_608, 3_216, 6_432, 12_864, 25_728, 51_456, 102_912, 120_000, 120_000,
        ];
        assert_eq!(waits, expected);
        rto.progress();
        assert_eq!((rto.backoff(), rto.current()), (0, ms(201)));
    }
}
