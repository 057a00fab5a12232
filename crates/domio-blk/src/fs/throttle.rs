//! Holding up writers while too much is dirty (`balance_dirty_pages` of `mm/page-writeback.c`).

use super::FileSystem;
use super::flushers::Job;
use super::frames::{BalanceFrame, Flow, Frame, PassFrame, Which};
use super::limits::{CONGESTION, RATELIMIT_EXCEEDED};
use super::wait::Wait;

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
        Some(Frame::Balance(BalanceFrame::new()))
    }

    /// Continues with a look at the limits.
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
        Flow::Call(Frame::Pass(PassFrame::new(Which::Throttled, chunk)))
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
