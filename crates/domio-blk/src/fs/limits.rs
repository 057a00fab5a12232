//! Limits of dirty pages (`mm/page-writeback.c`).

use domio_core::Duration;

/// Pages of the guest for each page that is dirtied between two looks at the limits.
const RATELIMIT_PART: u64 = 32;

/// Most pages between two looks: 4 MiB.
const RATELIMIT_MOST: u64 = 1024;

/// Fewest pages between two looks.
const RATELIMIT_LEAST: u64 = 16;

/// Pages between two looks once too much was dirty.
pub(super) const RATELIMIT_EXCEEDED: u32 = 8;

/// How long a writer waits for room in the queue at most.
pub(super) const CONGESTION: Duration = Duration::from_millis(100);

/// Limits of dirty pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// From here on pages are written in the background.
    pub background: u32,
    /// From here on writers are held up.
    pub throttle: u32,
    /// Pages between two looks at the limits.
    pub ratelimit: u32,
}

impl Limits {
    /// Limits of a guest with so many pages of memory, and so many of cache.
    pub fn new(memory: u64, cache: u32, background: u32, throttle: u32) -> Self {
        let part = |percent: u32| (u64::from(cache) * u64::from(percent) / 100) as u32;
        let ratelimit = memory / RATELIMIT_PART;
        Limits {
            background: part(background),
            throttle: part(throttle),
            ratelimit: ratelimit.clamp(RATELIMIT_LEAST, RATELIMIT_MOST) as u32,
        }
    }
}

/// What writers are held up by.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    /// Pages that were dirtied since the last look.
    pub since: u32,
    /// Too much was dirty at the last look.
    pub exceeded: bool,
}
