//! Whose request goes when.

use super::{LoopKind, TraceIo};
use crate::elevator::Submitter;
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Reverse;
use domio_core::Instant;

/// Requests that wait for their turn, at most. When there are more, time advances before further
/// ones are read, and those go late.
pub const WINDOW: usize = 1 << 16;

/// What keeps a submitter from its next request.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Turn {
    /// Nothing: there is none, or it has its place in the order.
    #[default]
    Free,
    /// Its next request is in the order.
    Due,
    /// The submitter sleeps for want of a request.
    Asleep,
    /// The submitter waits for the end of its last request.
    Awaits,
}

#[derive(Default, Debug)]
struct Line {
    ios: VecDeque<TraceIo>,
    turn: Turn,
    /// Since when its gap counts; `None` before its first request.
    base: Option<Instant>,
}

/// The requests that wait, by submitter, and the order in which they go.
#[derive(Debug)]
pub(super) struct Turns {
    kind: LoopKind,
    lines: Vec<Line>,
    /// Times of submitters whose next request is due, with the order of their coming.
    order: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    numbered: u64,
    waiting: usize,
}

impl Turns {
    /// Nobody waits.
    pub fn new(kind: LoopKind) -> Self {
        Turns {
            kind,
            lines: Vec::new(),
            order: BinaryHeap::new(),
            numbered: 0,
            waiting: 0,
        }
    }

    /// Requests that wait.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// When the next one goes.
    pub fn next(&self) -> Option<Instant> {
        self.order.peek().map(|Reverse((at, _, _))| *at)
    }

    /// Another request, at time `now`.
    pub fn add(&mut self, now: Instant, io: TraceIo) {
        let at = io.submitter.index();
        if self.lines.len() <= at {
            self.lines.resize_with(at + 1, Line::default);
        }
        self.lines[at].ios.push_back(io);
        self.waiting += 1;
        self.schedule(now, io.submitter);
    }

    /// Gives the submitter's next request its place in the order, if nothing keeps it.
    fn schedule(&mut self, now: Instant, submitter: Submitter) {
        let line = &mut self.lines[submitter.index()];
        if line.turn != Turn::Free {
            return;
        }
        let Some(io) = line.ios.front() else {
            return;
        };
        let due = match (self.kind, line.base) {
            (LoopKind::Closed, Some(base)) => base.saturating_add(io.gap),
            _ => io.at,
        };
        line.turn = Turn::Due;
        self.numbered += 1;
        let entry = (due.max(now), self.numbered, submitter.0);
        self.order.push(Reverse(entry));
    }

    /// Takes the next request out. Its submitter does nothing until [`Turns::went`].
    pub fn take(&mut self) -> Option<TraceIo> {
        let Reverse((_, _, submitter)) = self.order.pop()?;
        self.waiting -= 1;
        self.lines[submitter as usize].ios.pop_front()
    }

    /// The request that was taken out is in the queue, or its submitter sleeps for want of a
    /// request.
    pub fn went(&mut self, now: Instant, io: &TraceIo, asleep: bool) {
        let waits = self.kind == LoopKind::Closed && io.awaited;
        let line = &mut self.lines[io.submitter.index()];
        line.base = Some(now);
        line.turn = match (asleep, waits) {
            (true, _) => Turn::Asleep,
            (false, true) => Turn::Awaits,
            (false, false) => Turn::Free,
        };
        self.schedule(now, io.submitter);
    }

    /// An awaited request has ended.
    pub fn ended(&mut self, now: Instant, submitter: Submitter) {
        let line = &mut self.lines[submitter.index()];
        if line.turn == Turn::Awaits {
            line.turn = Turn::Free;
            line.base = Some(now);
            self.schedule(now, submitter);
        }
    }
}
