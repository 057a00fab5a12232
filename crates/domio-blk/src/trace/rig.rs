//! Queue and drive, and what became of each request.

use super::turns::{Turns, WINDOW};
use super::{Happened, LoopKind, TraceAct, TraceIo};
use crate::drive::{Command, Drive, FinishedCommand};
use crate::elevator::{Bio, ElevatorInfo, IoPrio, IoWay, RequestId, Submitter, Tuning};
use crate::queue::{ClockedQueue, QueueLimits, QueueRig, Submitted};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use domio_core::{Duration, Instant};

/// Sectors of a page, which a segment of memory has at most here.
const PAGE: u32 = 8;

/// What a trace is run against.
#[derive(Debug)]
pub struct RigConfig {
    /// The request layer. Its depth is cut to what the drive holds.
    pub limits: QueueLimits,
    /// The elevator.
    pub elevator: &'static ElevatorInfo,
    /// Its tunables.
    pub tuning: Tuning,
    /// The drive.
    pub drive: Box<dyn Drive>,
    /// When requests go.
    pub kind: LoopKind,
}

/// Runs requests of a trace.
pub struct TraceRig {
    clocked: ClockedQueue,
    /// Most sectors of a request.
    most: u32,
    drive: Box<dyn Drive>,
    /// Sectors of the drive.
    sectors: u64,
    kind: LoopKind,
    turns: Turns,
    /// Requests in the drive, by the tags of their commands.
    commands: Vec<Option<RequestId>>,
    done: Vec<FinishedCommand>,
    /// Bios under way, by their tags, and tags that are free.
    going: Vec<TraceIo>,
    free: Vec<u32>,
    /// The bio with which each submitter sleeps, by the number of the submitter.
    slept: Vec<u32>,
    happened: VecDeque<Happened>,
    wrapped: u64,
    late: u64,
}

impl TraceRig {
    /// An idle rig.
    pub fn new(config: RigConfig) -> Self {
        let RigConfig {
            mut limits,
            elevator,
            tuning,
            drive,
            kind,
        } = config;
        limits.depth = limits.depth.min(drive.depth());
        let sectors = drive.sectors();
        TraceRig {
            clocked: ClockedQueue::new(limits, elevator, &tuning),
            most: limits.sectors.min(sectors.try_into().unwrap_or(u32::MAX)),
            sectors,
            drive,
            kind,
            turns: Turns::new(kind),
            commands: Vec::new(),
            done: Vec::new(),
            going: Vec::new(),
            free: Vec::new(),
            slept: Vec::new(),
            happened: VecDeque::new(),
            wrapped: 0,
            late: 0,
        }
    }

    /// Requests that lay beyond the end of the drive, and were laid down from its beginning.
    pub fn wrapped(&self) -> u64 {
        self.wrapped
    }

    /// Requests that went later than at their time because [`WINDOW`] others waited.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Requests that wait for their turn now.
    pub fn waiting(&self) -> usize {
        self.turns.waiting()
    }

    /// The next thing that happened.
    pub fn take(&mut self) -> Option<Happened> {
        self.happened.pop_front()
    }

    /// The next request of the trace, and everything that happens before its time. One that is
    /// larger than a request may be is cut; its submitter waits for the last piece.
    pub fn offer(&mut self, io: TraceIo) {
        if self.kind == LoopKind::Open {
            while self.next().is_some_and(|next| next < io.at) {
                self.step();
            }
        }
        while self.turns.waiting() >= WINDOW {
            self.step();
        }
        if self.kind == LoopKind::Open && io.at < self.clocked.now {
            self.late += 1;
        }
        let most = self.most;
        let mut rest = io;
        while rest.sectors > most {
            let piece = TraceIo {
                sectors: most,
                awaited: false,
                ..rest
            };
            self.add(piece);
            rest.sector = rest.sector.saturating_add(u64::from(most));
            rest.sectors -= most;
            rest.gap = Duration::ZERO;
        }
        self.add(rest);
    }

    /// Everything that is left happens.
    pub fn finish(&mut self) {
        while self.step() {}
    }

    fn add(&mut self, mut io: TraceIo) {
        let last = self.sectors - u64::from(io.sectors);
        if io.sector > last {
            io.sector %= last + 1;
            self.wrapped += 1;
        }
        self.turns.add(self.clocked.now, io);
    }

    /// A bio is in the queue, or its submitter sleeps. Who waits for data has the queue unplugged.
    fn went(&mut self, tag: u32, submitted: Submitted) {
        let io = self.going[tag as usize];
        let asleep = submitted == Submitted::Asleep;
        match submitted {
            Submitted::Merged => self.tell(TraceAct::Merged, &io),
            Submitted::Queued => {}
            Submitted::Asleep => {
                self.tell(TraceAct::Asleep, &io);
                let at = io.submitter.index();
                if self.slept.len() <= at {
                    self.slept.resize(at + 1, 0);
                }
                self.slept[at] = tag;
            }
        }
        if io.awaited && !asleep {
            self.clocked.queue.unplug(self.clocked.jiffies());
        }
        self.turns.went(self.clocked.now, &io, asleep);
    }

    fn tell(&mut self, act: TraceAct, io: &TraceIo) {
        self.happened.push_back(Happened {
            at: self.clocked.now,
            act,
            way: io.way,
            sync: io.sync,
            meta: io.meta,
            sector: io.sector,
            sectors: io.sectors,
            word: io.word,
        });
    }

    fn tell_request(&mut self, act: TraceAct, id: RequestId) {
        let requests = self.clocked.queue.requests();
        let rq = requests[id];
        let first = requests.tags(id).next().unwrap_or_default();
        let io = TraceIo {
            way: rq.way,
            sync: rq.sync,
            meta: rq.meta,
            sector: rq.sector,
            sectors: rq.sectors,
            ..self.going[first as usize]
        };
        self.tell(act, &io);
    }
}

impl QueueRig for TraceRig {
    fn clocked(&mut self) -> &mut ClockedQueue {
        &mut self.clocked
    }

    fn next_outside(&self) -> [Option<Instant>; 2] {
        [self.drive.next(), self.turns.next()]
    }

    fn advance(&mut self) {
        self.drive.advance(self.clocked.now, &mut self.done);
    }

    fn submit(&mut self) {
        let Some(io) = self.turns.take() else {
            return;
        };
        let tag = match self.free.pop() {
            Some(tag) => {
                self.going[tag as usize] = io;
                tag
            }
            None => {
                self.going.push(io);
                self.going.len() as u32 - 1
            }
        };
        self.tell(TraceAct::Queued, &io);
        let bio = Bio {
            sector: io.sector,
            sectors: io.sectors,
            segments: io.sectors.div_ceil(PAGE),
            way: io.way,
            sync: io.sync && io.way == IoWay::Write,
            meta: io.meta,
            submitter: io.submitter,
            prio: IoPrio::None { nice: 0 },
            tag: tag.into(),
        };
        let submitted = self.clocked.queue.submit(self.clocked.jiffies(), &bio);
        self.went(tag, submitted);
    }

    fn start(&mut self, id: RequestId) {
        let rq = self.clocked.queue.requests()[id];
        let tag = id.index();
        if self.commands.len() <= tag {
            self.commands.resize(tag + 1, None);
        }
        self.commands[tag] = Some(id);
        self.tell_request(TraceAct::Issued, id);
        self.drive.advance(self.clocked.now, &mut self.done);
        self.drive.start(
            self.clocked.now,
            Command {
                tag: tag as u32,
                sector: rq.sector,
                sectors: rq.sectors,
                way: rq.way,
            },
        );
    }

    fn complete(&mut self) -> bool {
        if self.done.is_empty() {
            return false;
        }
        let finished = self.done.remove(0);
        let command = self.commands[finished.tag as usize].take();
        let id = command.expect("a drive finishes what was started, once");
        let FinishedCommand { spent, cached, .. } = finished;
        self.tell_request(TraceAct::Completed { spent, cached }, id);
        let tags: Vec<u64> = self.clocked.queue.requests().tags(id).collect();
        self.clocked.queue.complete(self.clocked.jiffies(), id);
        for tag in tags {
            let io = self.going[tag as usize];
            self.free.push(tag as u32);
            if io.awaited {
                self.turns.ended(self.clocked.now, io.submitter);
            }
        }
        true
    }

    fn resumed(&mut self, submitter: Submitter, submitted: Submitted) {
        self.went(self.slept[submitter.index()], submitted);
    }
}
