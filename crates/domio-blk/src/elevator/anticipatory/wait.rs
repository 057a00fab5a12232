//! The wait after a read for the next one of the same process: when to begin, when to break it off,
//! and what is learnt about processes.

use super::super::cx::{ElevatorCx, QueueTimer};
use super::super::history::Average;
use super::super::request::{Jiffies, Request, RequestId, Submitter};
use super::{Anticipatory, Context, NEW};

/// Longest think time that is counted, as a part of a second.
const LONGEST_THOUGHT: i64 = 50;

/// Sectors around the last request that are close to it right after its completion.
const CLOSE: u64 = 8192;

/// Time (ms) after which any request is as good as one that is close.
const CLOSE_MS: i64 = 20;

/// Half, in the fixed point of probabilities.
const HALF: u64 = 128;

/// Where the wait is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Status {
    /// There is none.
    #[default]
    Off,
    /// The read is not completed yet; the time begins when it is.
    ForEnd,
    /// The time runs.
    ForNext,
    /// The wait has ended; the next request is handed on, whatever it is.
    Over,
}

/// The wait, and what all processes together have taught.
#[derive(Default)]
pub(super) struct Wait {
    pub status: Status,
    /// Whose request was handed on last, if it was a read.
    pub on: Option<Submitter>,
    /// A request of that process was completed since.
    pub finished: bool,
    /// When.
    pub since: Jiffies,
    /// How likely a process exits before its second read (256 for surely).
    exits: u64,
    /// How likely no other process reads close by after an exit (256 for surely).
    exits_alone: u64,
    /// Think times of processes before their second read.
    new_think: Average,
    /// Distances of processes' second reads.
    new_seek: Average,
}

impl Wait {
    /// Whether the disk is being kept waiting.
    pub fn is_on(&self) -> bool {
        matches!(self.status, Status::ForEnd | Status::ForNext)
    }
}

/// A probability after another event that speaks for the matter.
fn likelier(probability: u64) -> u64 {
    (7 * probability + 256) / 8
}

/// A probability after another event that speaks against.
fn less_likely(probability: u64) -> u64 {
    7 * probability / 8
}

impl Anticipatory {
    /// Learns think time and distance from a request, for the history of `who`, who need not be
    /// its submitter.
    pub(super) fn learn(&mut self, now: Jiffies, who: Submitter, request: &Request) {
        if !request.is_sync() {
            return;
        }
        let longest = self.hz / LONGEST_THOUGHT - 1;
        let context = *self.context(who);
        if context.started || context.completed {
            let idle = context.queued == 0 && context.dispatched == 0;
            let thought = if context.completed && idle {
                (now - context.last_end).min(longest) as u64
            } else {
                0
            };
            let way = context.last_pos.abs_diff(request.sector);
            if context.think.samples == 0 {
                self.wait.new_think.newcomer(thought);
                self.wait.exits = less_likely(self.wait.exits);
            }
            if context.seek.samples == 0 {
                self.wait.new_seek.newcomer(way);
            }
            let context = self.context(who);
            context.think.think(thought);
            context.seek.seek(way);
        }
        let context = self.context(who);
        context.last_pos = request.end();
        context.started = true;
    }

    fn awaited(&self) -> Context {
        let at = self.wait.on.map(Submitter::index);
        at.and_then(|at| self.contexts.get(at))
            .copied()
            .unwrap_or(NEW)
    }

    /// Whether to wait rather than to hand `rq` on.
    pub(super) fn may_wait(&mut self, cx: &ElevatorCx<'_>, rq: Option<RequestId>) -> bool {
        if self.wait.on.is_none() || self.wait.status == Status::Over {
            return false;
        }
        let request = rq.map(|rq| cx.view()[rq]);
        !self.breaks(cx.now, request.as_ref())
    }

    /// Whether there is no point in waiting (on): with `request` at hand, or from what is known of
    /// the process.
    pub(super) fn breaks(&mut self, now: Jiffies, request: Option<&Request>) -> bool {
        let Some(who) = self.wait.on else {
            return true;
        };
        let longest = self.tunables.antic_expire;
        if request.is_some_and(|request| request.submitter == who) {
            return true;
        }
        if self.wait.finished && now - self.wait.since >= longest {
            return true;
        }
        let context = self.awaited();
        if context.queued > 0 || context.dispatched > 0 {
            return true;
        }
        let unknown = context.think.samples == 0;
        if let Some(request) = request.filter(|request| request.is_sync())
            && self.is_close(now, request)
        {
            if !context.alive {
                if unknown {
                    self.wait.exits = likelier(self.wait.exits);
                }
                self.wait.exits_alone = less_likely(self.wait.exits_alone);
            }
            self.learn(now, who, request);
            return true;
        }
        if !context.alive {
            if unknown {
                self.wait.exits = likelier(self.wait.exits);
            }
            if self.wait.exits_alone > HALF {
                return true;
            }
        }
        if unknown {
            self.wait.new_think.mean > longest as u64
                || self.wait.exits * self.wait.exits_alone > HALF * 256
        } else {
            context.think.mean > longest as u64
        }
    }

    /// Whether a request is as close as one would expect from the awaited process. The longer the
    /// wait has lasted, the further away may it be.
    fn is_close(&self, now: Jiffies, request: &Request) -> bool {
        let last = self.last_sector[self.batch.kind()];
        let next = request.sector;
        let delay = if self.wait.status == Status::Off || !self.wait.finished {
            0
        } else {
            now - self.wait.since
        };
        let long = CLOSE_MS * self.hz / 1000;
        if delay > long || delay > self.tunables.antic_expire {
            return true;
        }
        let ahead = CLOSE << delay;
        if last <= next + ahead / 2 && next <= last + ahead {
            return true;
        }
        let context = self.awaited();
        let expected = if context.seek.samples == 0 {
            self.wait.new_seek.mean
        } else {
            context.seek.mean
        };
        expected > last.abs_diff(next)
    }

    /// Keeps the disk waiting.
    pub(super) fn start_waiting(&mut self, cx: &mut ElevatorCx<'_>) {
        if self.wait.status == Status::Off {
            if self.wait.on.is_none() || self.wait.finished {
                self.wait_for_next(cx);
            } else {
                self.wait.status = Status::ForEnd;
            }
        }
    }

    /// Lets the time run.
    pub(super) fn wait_for_next(&mut self, cx: &mut ElevatorCx<'_>) {
        let until = self.wait.since + self.tunables.antic_expire;
        cx.arm(QueueTimer::First, until);
        self.wait.status = Status::ForNext;
    }

    /// The time is over.
    pub(super) fn waited_enough(&mut self, cx: &mut ElevatorCx<'_>) {
        if !self.wait.is_on() {
            return;
        }
        let context = self.awaited();
        self.wait.status = Status::Over;
        cx.kick();
        if context.think.samples == 0 {
            self.wait.exits = likelier(self.wait.exits);
        }
        if !context.alive {
            self.wait.exits_alone = likelier(self.wait.exits_alone);
        }
    }
}
