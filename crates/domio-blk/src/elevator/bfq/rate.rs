//! Sectors that the device does in a turn, from what it has done.

/// Completions of an observation, and its length, at least.
const SAMPLES: u32 = 32;
const LONG_NS: i64 = 300_000_000;

/// A pause after which an observation starts anew.
const PAUSE_NS: i64 = 100_000_000;

/// Sectors of a turn before anything is known.
const UNKNOWN: u64 = 16 * 1024;

/// The rate, and the observation that continues.
pub struct DeviceRate {
    timeout_ns: i64,
    peak: u64,
    since_ns: i64,
    last_ns: i64,
    samples: u32,
    sequential: u32,
    sectors: u64,
    end: u64,
}

impl DeviceRate {
    pub fn new(timeout_ns: i64) -> Self {
        DeviceRate {
            timeout_ns,
            peak: UNKNOWN,
            since_ns: 0,
            last_ns: 0,
            samples: 0,
            sequential: 0,
            sectors: 0,
            end: 0,
        }
    }

    /// Sectors of a turn.
    pub fn sectors(&self) -> u64 {
        self.peak.max(1)
    }

    /// A request from `sector` on was completed. An observation counts when it is faster than
    /// what is known, or when three quarters of the requests were sequential.
    pub fn completed(&mut self, ns: i64, sector: u64, sectors: u64) {
        if self.samples == 0 || ns - self.last_ns > PAUSE_NS {
            self.since_ns = ns;
            (self.samples, self.sequential, self.sectors) = (1, 1, 0);
        } else {
            self.samples += 1;
            self.sequential += u32::from(sector == self.end);
            self.sectors += sectors;
        }
        self.last_ns = ns;
        self.end = sector + sectors;
        let elapsed = ns - self.since_ns;
        if self.samples < SAMPLES || elapsed < LONG_NS {
            return;
        }
        let seen =
            (i128::from(self.sectors) * i128::from(self.timeout_ns) / i128::from(elapsed)) as u64;
        if seen > self.peak || self.sequential * 4 >= self.samples * 3 {
            self.peak = (7 * self.peak + seen) / 8;
        }
        self.samples = 0;
    }
}
