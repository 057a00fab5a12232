//! Makes the calls of a recording: each at its time, or a gap after the one before.

use crate::process::{Context, FileId, Op, Program, What};
use alloc::sync::Arc;
use domio_core::{Duration, Instant};

/// A call of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordedCall {
    /// Time since the begin of the recording; never before the one before.
    pub at: Duration,
    /// Whether the call writes.
    pub writes: bool,
    /// Where in the file (bytes).
    pub offset: u64,
    /// How many bytes, over 0.
    pub bytes: u64,
}

/// When calls are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplayLoop {
    /// At their times. A call whose time has passed, because the one before took long, is made
    /// immediately: a process has one call at a time.
    Open,
    /// As long after the end of the one before as there was between the two in the recording.
    Closed,
}

/// Makes the calls on a file, and ends. Each call is reported as a job, in an open loop from the
/// time at which it was to be made.
#[derive(Clone, Debug)]
pub struct IoReplay {
    file: FileId,
    calls: Arc<[RecordedCall]>,
    kind: ReplayLoop,
    made: usize,
    began: Option<Instant>,
    /// When the next call is due.
    due: Instant,
    calling: bool,
}

impl IoReplay {
    /// Makes `calls` on `file`.
    pub fn new(file: FileId, calls: Arc<[RecordedCall]>, kind: ReplayLoop) -> Self {
        IoReplay {
            file,
            calls,
            kind,
            made: 0,
            began: None,
            due: Instant::ZERO,
            calling: false,
        }
    }

    /// When the next call is due, after one that ended at `now`.
    fn plan(&mut self, now: Instant, began: Instant) {
        let Some(next) = self.calls.get(self.made) else {
            return;
        };
        self.due = match (self.kind, self.made.checked_sub(1)) {
            (ReplayLoop::Closed, Some(before)) => {
                now.saturating_add(next.at.saturating_sub(self.calls[before].at))
            }
            _ => began.saturating_add(next.at),
        };
    }
}

impl Program for IoReplay {
    fn name(&self) -> &'static str {
        "block-replay"
    }

    fn next(&mut self, cx: &Context) -> Op {
        let Some(began) = self.began else {
            self.began = Some(cx.now);
            self.plan(cx.now, cx.now);
            return Op::SleepUntil(self.due);
        };
        if core::mem::take(&mut self.calling) {
            let released = self.due;
            self.plan(cx.now, began);
            let work = Duration::ZERO;
            return Op::Report { released, work };
        }
        let Some(call) = self.calls.get(self.made) else {
            return Op::Exit;
        };
        if self.due > cx.now {
            return Op::SleepUntil(self.due);
        }
        self.made += 1;
        self.calling = true;
        let (offset, bytes) = (call.offset, call.bytes);
        self.file.does(match call.writes {
            true => What::Write { offset, bytes },
            false => What::Read { offset, bytes },
        })
    }
}
