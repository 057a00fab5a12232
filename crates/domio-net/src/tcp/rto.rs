//! The retransmission timeout: RFC 6298 as Linux has it.
//!
//! Times are exact: no clock granularity is modelled. Every acknowledgement of something new
//! measures a round trip, for segments carry timestamps (RFC 7323). With as many samples RFC 6298's
//! mean deviation would forget a long round trip within one window of short ones; Linux lets the
//! margin above the smoothed round-trip time grow with a sample and shrink once a round trip, and
//! keeps it at `TCP_RTO_MIN` at least (`tcp_rtt_estimator`, `tcp_set_rto` in `net/ipv4/tcp_input.c`
//! of 2.6.18).

use domio_core::Duration;

use super::config::TcpConfig;

/// Estimates the round-trip time and says how long to wait for an acknowledgement.
#[derive(Clone, Debug)]
pub struct Rto {
    min: Duration,
    max: Duration,
    /// Timeout without back-off.
    base: Duration,
    /// Since the first sample.
    estimate: Option<Estimate>,
    /// How often the timeout has doubled.
    backoff: u32,
}

/// What Linux keeps of the samples.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    srtt: Duration,
    /// Four times the mean deviation (`mdev`).
    deviation: Duration,
    /// The largest `deviation` of this round trip, or the least margin (`mdev_max`).
    largest: Duration,
    /// How far the timeout is above `srtt` (`rttvar`).
    margin: Duration,
    /// A round trip is over when this number is acknowledged (`rtt_seq`).
    turn: u64,
}

impl Estimate {
    fn first(rtt: Duration, min: Duration, nxt: u64) -> Self {
        let deviation = rtt * 2;
        let margin = deviation.max(min);
        Estimate {
            srtt: rtt,
            deviation,
            largest: margin,
            margin,
            turn: nxt,
        }
    }

    fn add(&mut self, rtt: Duration, min: Duration, una: u64, nxt: u64) {
        let mean_deviation = self.deviation / 4;
        let (srtt, longer) = (self.srtt, rtt > self.srtt);
        let error = if longer { rtt - srtt } else { srtt - rtt };
        self.srtt = (srtt * 7 + rtt) / 8;
        if error <= mean_deviation {
            self.deviation -= mean_deviation - error;
        } else {
            let grows = error - mean_deviation;
            // A round trip that gets shorter should not make the timeout longer.
            self.deviation += if longer { grows } else { grows / 8 };
        }
        self.largest = self.largest.max(self.deviation);
        self.margin = self.margin.max(self.largest);
        if una > self.turn {
            self.margin -= (self.margin - self.largest) / 4;
            self.turn = nxt;
            self.largest = min;
        }
    }
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

    /// An acknowledgement that leaves `una` as first unacknowledged number and `nxt` as next to
    /// send has measured a round trip.
    pub fn sample(&mut self, rtt: Duration, una: u64, nxt: u64) {
        let min = self.min;
        match &mut self.estimate {
            None => self.estimate = Some(Estimate::first(rtt, min, nxt)),
            Some(estimate) => estimate.add(rtt, min, una, nxt),
        }
        if let Some(Estimate { srtt, margin, .. }) = self.estimate {
            self.base = (srtt + margin).min(self.max);
        }
    }

    /// The timeout has passed: the next one is twice as long (RFC 6298 5.5).
    pub fn back_off(&mut self) {
        if self.current() < self.max {
            self.backoff += 1;
        }
    }

    /// Something new was acknowledged: the path works and the back-off ends, for it has measured a
    /// round trip (RFC 6298 5.7).
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
    use alloc::vec::Vec;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn rto() -> Rto {
        Rto::new(&TcpConfig::default())
    }

    /// Round trips with one acknowledgement each.
    fn sample(rto: &mut Rto, samples: &[u64]) {
        for &rtt in samples {
            let turn = rto.estimate.map_or(0, |e| e.turn);
            rto.sample(ms(rtt), turn + 1, turn + 2);
        }
    }

    #[test]
    fn the_estimator_follows_linux() {
        let mut rto = rto();
        assert_eq!(rto.current(), ms(3_000));
        // mdev 800, four times the deviation of half a round trip, which is RFC 6298's start too.
        sample(&mut rto, &[400]);
        assert_eq!(rto.current(), ms(400 + 800));
        // Error 400, of which 200 are the mean deviation: mdev 1000. SRTT 7/8 * 400 + 1/8 * 800.
        sample(&mut rto, &[800]);
        assert_eq!(
            (rto.srtt(), rto.current()),
            (Some(ms(450)), ms(450 + 1_000))
        );
        // Error -400, 150 beyond the mean deviation of 250, an eighth of which counts: mdev
        // 1018.75. SRTT 7/8 * 450 + 1/8 * 50 = 400.
        sample(&mut rto, &[50]);
        assert_eq!(rto.current(), Duration::from_micros(400_000 + 1_018_750));
        // Error 0: mdev 764.0625; the margin loses a quarter of the difference.
        sample(&mut rto, &[400]);
        let margin = Duration::from_nanos(1_018_750_000 - (1_018_750_000 - 764_062_500) / 4);
        assert_eq!(rto.current(), ms(400) + margin);
    }

    #[test]
    fn a_long_round_trip_is_remembered_for_some_short_ones() {
        let mut rto = rto();
        sample(&mut rto, &[1; 100]);
        assert_eq!(
            rto.current(),
            ms(201),
            "a steady short path waits 200 ms more"
        );
        sample(&mut rto, &[1_000]);
        let after = rto.current();
        assert!(after > ms(1_000), "{after:?}");
        // A window of acknowledgements within one round trip.
        let turn = rto.estimate.unwrap().turn;
        for _ in 0..22 {
            rto.sample(ms(1), turn, turn);
        }
        assert!(rto.srtt().unwrap() < ms(10));
        assert!(rto.current() > after - ms(130), "{:?}", rto.current());
        sample(&mut rto, &[1; 50]);
        assert!(rto.current() < ms(202), "{:?}", rto.current());
    }

    #[test]
    fn it_doubles_up_to_its_limit_until_there_is_progress() {
        let mut rto = rto();
        sample(&mut rto, &[1]);
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
