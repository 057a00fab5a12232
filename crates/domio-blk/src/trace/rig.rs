//! Clock, queue and drive.
//!
//! At one time: timers, then ends of commands, then requests of the trace. After each of these, the
//! work that was asked for runs, then the submitters that were woken.

use super::turns::{Turns, WINDOW};
use super::{Happened, LoopKind, TraceAct, TraceIo};
use crate::drive::{Command, Drive, FinishedCommand};
use crate::elevator::{
    Bio, ElevatorInfo, IoPrio, IoWay, Jiffies, QueueAction, QueueWork, RequestId, Submitter, Tuning,
};
use crate::queue::{DiskQueue, QueueLimits, QueueTimers, Submitted};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use domio_core::{Duration, Instant};

/// The kernel's tick at time zero.
const FIRST_TICK: Jiffies = 1_000_000;

const NS_PER_SECOND: u64 = 1_000_000_000;

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
    queue: DiskQueue,
    limits: QueueLimits,
    drive: Box<dyn Drive>,
    /// Sectors of the drive.
    sectors: u64,
    kind: LoopKind,
    turns: Turns,
    now: Instant,
    timers: QueueTimers,
    work: VecDeque<QueueWork>,
    woken: VecDeque<Submitter>,
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
        TraceRig {
            queue: DiskQueue::new(limits, (elevator.make)(&tuning, FIRST_TICK)),
            limits,
            sectors: drive.sectors(),
            drive,
            kind,
            turns: Turns::new(kind),
            now: Instant::ZERO,
            timers: QueueTimers::default(),
            work: VecDeque::new(),
            woken: VecDeque::new(),
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
        if self.kind == LoopKind::Open && io.at < self.now {
            self.late += 1;
        }
        let most = self
            .limits
            .sectors
            .min(self.sectors.try_into().unwrap_or(u32::MAX));
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
        while self.next().is_some() {
            self.step();
        }
    }

    fn add(&mut self, mut io: TraceIo) {
        let last = self.sectors - u64::from(io.sectors);
        if io.sector > last {
            io.sector %= last + 1;
            self.wrapped += 1;
        }
        self.turns.add(self.now, io);
    }

    fn tick(&self) -> Option<Instant> {
        let jiffy = self.timers.next();
        jiffy.map(|jiffy| self.begin_of(jiffy))
    }

    /// When something happens next.
    fn next(&self) -> Option<Instant> {
        let times = [self.tick(), self.drive.next(), self.turns.next()];
        times.into_iter().flatten().min()
    }

    fn jiffies(&self) -> Jiffies {
        let ticks = u128::from(self.now.as_nanos()) * self.limits.hz as u128;
        FIRST_TICK + (ticks / u128::from(NS_PER_SECOND)) as Jiffies
    }

    /// The time in nanoseconds, from jiffy 0.
    fn ns(&self) -> i64 {
        let ns = FIRST_TICK as u128 * u128::from(NS_PER_SECOND) / self.limits.hz as u128;
        ns as i64 + self.now.as_nanos() as i64
    }

    /// The time at which a jiffy begins.
    fn begin_of(&self, jiffy: Jiffies) -> Instant {
        let ticks = (jiffy - FIRST_TICK) as u128 * u128::from(NS_PER_SECOND);
        Instant::from_nanos(ticks.div_ceil(self.limits.hz as u128) as u64)
    }

    /// The next thing happens, with what follows at the same time.
    fn step(&mut self) {
        let Some(next) = self.next() else {
            return;
        };
        self.now = next.max(self.now);
        self.queue.tell_ns(self.ns());
        if self.tick().is_some_and(|tick| tick <= self.now) {
            self.fire();
        } else if self.drive.next().is_some_and(|end| end <= self.now) {
            self.drive.advance(self.now, &mut self.done);
        } else if let Some(io) = self.turns.take() {
            self.submit(io);
        }
        self.settle();
    }

    /// All timers of this tick fire, by expiry, then by arming.
    fn fire(&mut self) {
        let now = self.jiffies();
        for due in self.timers.due(now) {
            if self.timers.take(due) {
                self.queue.timer(now, due.timer);
                self.carry_out();
            }
        }
    }

    fn submit(&mut self, io: TraceIo) {
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
        let submitted = self.queue.submit(self.jiffies(), &bio);
        self.went(tag, submitted);
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
            self.queue.unplug(self.jiffies());
        }
        self.turns.went(self.now, &io, asleep);
    }

    /// Runs what was asked for, until nothing is left.
    fn settle(&mut self) {
        loop {
            self.carry_out();
            if let Some(work) = self.work.pop_front() {
                self.queue.work(self.jiffies(), work);
            } else if !self.done.is_empty() {
                let finished = self.done.remove(0);
                self.complete(&finished);
            } else if let Some(submitter) = self.woken.pop_front() {
                let tag = self.slept[submitter.index()];
                let submitted = self.queue.resume(self.jiffies(), submitter);
                self.went(tag, submitted);
            } else {
                return;
            }
        }
    }

    /// Carries out what the queue asks for.
    fn carry_out(&mut self) {
        while let Some(action) = self.queue.take_action() {
            match action {
                QueueAction::Arm(timer, jiffy) => {
                    let jiffy = jiffy.max(self.jiffies() + 1);
                    self.timers.arm(timer, jiffy);
                }
                QueueAction::Cancel(timer) => self.timers.cancel(timer),
                QueueAction::Work(work) => self.work.push_back(work),
                QueueAction::Start(rq) => self.start(rq),
                QueueAction::Wake(submitter) => self.woken.push_back(submitter),
            }
        }
    }

    fn start(&mut self, id: RequestId) {
        let rq = self.queue.requests()[id];
        let tag = id.index();
        if self.commands.len() <= tag {
            self.commands.resize(tag + 1, None);
        }
        self.commands[tag] = Some(id);
        self.tell_request(TraceAct::Issued, id);
        self.drive.advance(self.now, &mut self.done);
        self.drive.start(
            self.now,
            Command {
                tag: tag as u32,
                sector: rq.sector,
                sectors: rq.sectors,
                way: rq.way,
            },
        );
    }

    fn complete(&mut self, finished: &FinishedCommand) {
        let command = self.commands[finished.tag as usize].take();
        let id = command.expect("a drive finishes what was started, once");
        let FinishedCommand { spent, cached, .. } = *finished;
        self.tell_request(TraceAct::Completed { spent, cached }, id);
        let tags: Vec<u64> = self.queue.requests().tags(id).collect();
        self.queue.complete(self.jiffies(), id);
        for tag in tags {
            let io = self.going[tag as usize];
            self.free.push(tag as u32);
            if io.awaited {
                self.turns.ended(self.now, io.submitter);
            }
        }
    }

    fn tell(&mut self, act: TraceAct, io: &TraceIo) {
        self.happened.push_back(Happened {
            at: self.now,
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
        let requests = self.queue.requests();
        let rq = requests[id];
        let first = requests.tags(id).next().unwrap_or_default();
        self.happened.push_back(Happened {
            at: self.now,
            act,
            way: rq.way,
            sync: rq.sync,
            meta: rq.meta,
            sector: rq.sector,
            sectors: rq.sectors,
            word: self.going[first as usize].word,
        });
    }
}
