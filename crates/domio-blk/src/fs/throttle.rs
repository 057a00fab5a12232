//! Holding up writers while too much is dirty (`balance_dirty_pages` of `mm/page-writeback.c`).

use super::FileSystem;
use super::pdflush::Job;
use super::task::{Flow, Frame, Wait};
use super::write_back::{PassFrame, Which};
use domio_core::Duration;

/// Pages of the guest for each page that is dirtied between two looks at the limits.
const RATELIMIT_PART: u64 = 32;

/// Most pages between two looks: 4 MiB.
const RATELIMIT_MOST: u64 = 1024;

/// Fewest pages between two looks.
const RATELIMIT_LEAST: u64 = 16;

/// Pages between two looks once too much was dirty.
const RATELIMIT_EXCEEDED: u32 = 8;

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
    since: u32,
    /// Too much was dirty at the last look.
    exceeded: bool,
}

/// Where a writer is that looks at the limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct BalanceFrame {
    written: u32,
    passed: bool,
}

impl FileSystem {
    /// A writer has dirtied a page: every so often it looks at the limits
    /// (`balance_dirty_pages_ratelimited`).
    pub(super) fn balance_now(&mut self) -> Option<Frame> {
        self.throttle.since += 1;
        let every = match self.throttle.exceeded {
            true => RATELIMIT_EXCEEDED,
            false => self.limits.ratelimit,
        };
        if self.throttle.since < every {
            return None;
        }
        self.throttle.since = 0;
        Some(Frame::Balance(BalanceFrame {
            written: 0,
            passed: false,
        }))
    }

    /// Goes on with a look at the limits.
    pub(super) fn balance(&mut self, t: u32, frame: &mut BalanceFrame) -> Flow {
        let chunk = self.limits.ratelimit + self.limits.ratelimit / 2;
        let pages = self.dirty.pages + self.dirty.written;
        if core::mem::take(&mut frame.passed) {
            frame.written += chunk - self.task(t).pass.left;
            if pages <= self.limits.throttle || frame.written >= chunk {
                return self.balanced();
            }
            return Flow::Wait(Wait::Room(self.tick_after(CONGESTION)));
        }
        let middle = (self.limits.background + self.limits.throttle) / 2;
        if pages <= self.limits.throttle || pages < middle {
            return self.balanced();
        }
        self.throttle.exceeded = true;
        frame.passed = true;
        Flow::Call(PassFrame::frame(Which::Throttled, chunk))
    }

    fn balanced(&mut self) -> Flow {
        if self.dirty.pages + self.dirty.written < self.limits.throttle {
            self.throttle.exceeded = false;
        }
        if !self.is_flushed() && self.dirty.pages > self.limits.background {
            self.give_job(Job::Background);
        }
        Flow::Return
    }
}
