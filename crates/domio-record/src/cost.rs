//! What recording itself takes.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Processor time that recording took, and the time that passed meanwhile. All in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// Processor time of this process.
    pub process: u64,
    /// Time in the programs in the kernel, estimated from one event in 61; `None` for tracefs,
    /// whose part of the kernel is not measured.
    pub kernel: Option<u64>,
    /// Time that passed.
    pub passed: u64,
}

impl Cost {
    /// Percent of one cpu that went to recording.
    pub fn percent(&self) -> f64 {
        let spent = self.process + self.kernel.unwrap_or(0);
        100.0 * spent as f64 / self.passed.max(1) as f64
    }
}

/// Since when costs are counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since {
    process: u64,
    at: u64,
}

impl Since {
    pub fn now() -> Since {
        Since {
            process: read(ClockId::ProcessCPUTime),
            at: read(ClockId::Monotonic),
        }
    }

    pub fn cost(self, kernel: Option<u64>) -> Cost {
        let now = Since::now();
        Cost {
            process: now.process.saturating_sub(self.process),
            kernel,
            passed: now.at.saturating_sub(self.at),
        }
    }
}

/// Nanoseconds of a clock.
pub(crate) fn read(clock: ClockId) -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    u64::try_from(tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(tv_nsec).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_takes_is_counted() {
        let since = Since::now();
        let mut sum = 1u64;
        while read(ClockId::ProcessCPUTime) - since.process < 5_000_000 {
            sum = std::hint::black_box(sum * 3 + 1) % 1_000_003;
        }
        let cost = since.cost(Some(1_000_000));
        assert!(cost.process >= 5_000_000 && cost.passed > 0, "{cost:?}");
        let cost = Cost {
            process: 30,
            kernel: Some(20),
            passed: 1_000,
        };
        assert_eq!(cost.percent(), 5.0);
    }
}
