//! The threads that write in the background (`mm/pdflush.c`, `wb_kupdate`, `background_writeout`).

use super::FileSystem;
use super::cache::NONE;
use super::contract::{KJOURNALD, PDFLUSH};
use super::flushers::Job;
use super::frames::{Flow, Frame, PassFrame, PdflushFrame, Which};
use super::limits::CONGESTION;
use super::wait::Wait;
use domio_core::{Duration, Instant};

/// Pages that a thread writes before it looks again (`MAX_WRITEBACK_PAGES`).
const CHUNK: u32 = 1024;

/// When the next look for old pages is tried, if no thread is free now, and the shortest time
/// between two looks.
const RETRY: Duration = Duration::from_secs(1);

impl FileSystem {
    /// Whether a thread of `pdflush` writes to the disk.
    pub(super) fn is_flushed(&self) -> bool {
        self.flushers.working != NONE
    }

    /// Whether a thread that sleeps for work has some.
    pub(super) fn has_work(&self, t: u32) -> bool {
        match t.checked_sub(PDFLUSH[0].0) {
            Some(i) => self.flushers.jobs[i as usize].is_some(),
            None => t == KJOURNALD.0 && self.commit_is_due(),
        }
    }

    /// Gives a job to a thread that has none (`pdflush_operation`). Says whether there was one.
    pub(super) fn give_job(&mut self, job: Job) -> bool {
        let free = self.flushers.jobs.iter().position(Option::is_none);
        let Some(free) = free else {
            return false;
        };
        self.flushers.jobs[free] = Some(job);
        self.wake_thread(PDFLUSH[free].0);
        true
    }

    /// The time to look for old pages has come.
    pub(super) fn look_for_old(&mut self) {
        self.flushers.next_old = match self.give_job(Job::Old) {
            true => Instant::MAX,
            false => self.tick_after(RETRY),
        };
    }

    /// Continues with a thread.
    pub(super) fn pdflush(&mut self, t: u32, frame: &mut PdflushFrame) -> Flow {
        match *frame {
            PdflushFrame::Idle => match *self.flushers.job(t) {
                None => return Flow::Wait(Wait::Work),
                Some(Job::Background) => *frame = PdflushFrame::Background,
                Some(Job::Old) => {
                    let files = self.files.numbers().count() as u32;
                    *frame = PdflushFrame::Old(self.now, self.dirty.pages + files);
                }
            },
            PdflushFrame::Old(began, most) => {
                let before = began.saturating_sub(self.config.expire);
                // A file that is not yet that old stays, at the start of time too.
                let young = began.saturating_since(Instant::ZERO) < self.config.expire;
                if most == 0 || young || !self.take_disk(t) {
                    return self.old_done(t, frame, began);
                }
                *frame = PdflushFrame::OldPassed(began, most);
                return Flow::Call(Frame::Pass(PassFrame::new(Which::Old(before), CHUNK)));
            }
            PdflushFrame::OldPassed(began, most) => {
                self.flushers.working = NONE;
                let pass = self.task(t).pass;
                if pass.left > 0 && !pass.congested {
                    return self.old_done(t, frame, began);
                }
                *frame = PdflushFrame::Old(began, most.saturating_sub(CHUNK - pass.left));
                if pass.left > 0 {
                    return Flow::Wait(Wait::Room(self.tick_after(CONGESTION)));
                }
            }
            PdflushFrame::Background => {
                if self.dirty.pages < self.limits.background {
                    return self.idle(t, frame);
                }
                if !self.take_disk(t) {
                    *frame = PdflushFrame::BackgroundWaited(false);
                    return Flow::Wait(Wait::Room(self.tick_after(CONGESTION)));
                }
                *frame = PdflushFrame::BackgroundPassed;
                return Flow::Call(Frame::Pass(PassFrame::new(Which::Background, CHUNK)));
            }
            PdflushFrame::BackgroundPassed => {
                self.flushers.working = NONE;
                let pass = self.task(t).pass;
                *frame = PdflushFrame::Background;
                if pass.left > 0 {
                    *frame = PdflushFrame::BackgroundWaited(pass.congested);
                    return Flow::Wait(Wait::Room(self.tick_after(CONGESTION)));
                }
            }
            PdflushFrame::BackgroundWaited(true) => *frame = PdflushFrame::Background,
            PdflushFrame::BackgroundWaited(false) => return self.idle(t, frame),
        }
        Flow::Again
    }

    fn take_disk(&mut self, t: u32) -> bool {
        let free = self.flushers.working == NONE;
        if free {
            self.flushers.working = t;
        }
        free
    }

    /// A look for old pages is over; the next one is due an interval after the look began.
    fn old_done(&mut self, t: u32, frame: &mut PdflushFrame, began: Instant) -> Flow {
        let next = began + self.config.writeback;
        self.flushers.next_old = self.tick(next.max(self.now + RETRY));
        self.idle(t, frame)
    }

    fn idle(&mut self, t: u32, frame: &mut PdflushFrame) -> Flow {
        *self.flushers.job(t) = None;
        *frame = PdflushFrame::Idle;
        Flow::Again
    }
}
