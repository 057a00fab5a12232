//! Decaying averages: how long a process thinks between requests, and how far its requests are
//! apart.
//!
//! Fixed point with 256 for 1; each sample counts an eighth. Samples grow as 0, 32, 60, 84, ...
//! towards 256 and say how much the mean is worth.

/// A decaying average.
#[derive(Clone, Copy, Default, Debug)]
pub struct Average {
    /// Weight of the samples so far, 256 at most.
    pub samples: u64,
    total: u64,
    /// The average, 0 without samples.
    pub mean: u64,
}

/// A history is taken for valid from the third sample on.
const VALID: u64 = 80;

impl Average {
    /// No sample yet.
    pub const NONE: Average = Average {
        samples: 0,
        total: 0,
        mean: 0,
    };

    /// Whether there are samples enough for the mean to be relied on.
    pub fn is_valid(&self) -> bool {
        self.samples > VALID
    }

    /// Counts a think time.
    pub fn think(&mut self, ticks: u64) {
        self.count(ticks);
        self.mean = (self.total + 128) / self.samples;
    }

    /// Counts a distance in sectors. One far from the mean counts as less, so that a single odd
    /// request does not spoil the history; less so among the first three.
    pub fn seek(&mut self, sectors: u64) {
        let slack = if self.samples <= 60 {
            2 * 1024 * 1024
        } else {
            2 * 1024 * 64
        };
        self.count(sectors.min(self.mean * 4 + slack));
        self.mean = (self.total + self.samples / 2) / self.samples;
    }

    /// Counts what the first request of a new process did; all of these weigh alike.
    pub fn newcomer(&mut self, value: u64) {
        self.total = (7 * self.total + 256 * value) / 8;
        self.mean = self.total / 256;
    }

    fn count(&mut self, value: u64) {
        self.samples = (7 * self.samples + 256) / 8;
        self.total = (7 * self.total + 256 * value) / 8;
    }
}
