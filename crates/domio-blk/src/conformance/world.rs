//! Runs a history: a queue with an elevator, a clock, and a device that does as it is told.

use super::history::{HistoryStep, IoHistory, PROCESSES};
use crate::elevator::{
    Bio, ElevatorInfo, IoWay, Jiffies, QueueAction, QueueTimer, QueueWork, RequestId, Submitter,
    Tuning,
};
use crate::queue::{DiskQueue, QueueLimits, Submitted};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;

/// A request as the device sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldRequest {
    /// Place in the slab.
    pub rq: u32,
    /// Direction.
    pub way: IoWay,
    /// First sector.
    pub sector: u64,
    /// Sectors.
    pub sectors: u32,
    /// Tags of the bios in it, by sector.
    pub tags: Vec<u64>,
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IoEvent {
    /// A bio was submitted.
    Submit(Bio, Submitted),
    /// Who slept continued.
    Resume(Submitter, Submitted),
    /// The device got a request.
    Start(HeldRequest),
    /// The device has finished a request.
    Complete(HeldRequest),
    /// The device has given a request back.
    Requeue(HeldRequest),
    /// A timer was armed for a jiffy.
    Arm(QueueTimer, Jiffies),
    /// A timer was stopped.
    Cancel(QueueTimer),
    /// A timer has fired.
    Timer(QueueTimer),
    /// A process has exited.
    Exit(Submitter),
}

/// An event with its time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IoEntry {
    /// When (us).
    pub us: u64,
    /// What.
    pub event: IoEvent,
}

impl fmt::Display for IoEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} us {:?}", self.us, self.event)
    }
}

/// What a run has left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IoRun {
    /// All that happened.
    pub log: Vec<IoEntry>,
    /// Bios by tag.
    pub bios: Vec<Bio>,
    /// Bios had been submitted and not completed, the device had nothing to do, and no timer was
    /// armed: the number of entries at that time.
    pub stuck: Option<usize>,
    /// Timers were still being armed long after everything was done.
    pub restless: bool,
}

struct World<'a> {
    history: &'a IoHistory,
    queue: DiskQueue,
    us: u64,
    held: Vec<RequestId>,
    /// When the first of `held` is finished, for a device that works by itself.
    done_us: Option<u64>,
    service_us: Option<u64>,
    timers: [Option<Jiffies>; 3],
    work: VecDeque<QueueWork>,
    woken: VecDeque<Submitter>,
    asleep: Vec<Submitter>,
    /// I/O context of each process; another one after an exit.
    contexts: Vec<u32>,
    open: usize,
    run: IoRun,
}

/// How long the device is given to serve what is left (us).
const DRAIN_US: u64 = 120_000_000;

/// Time after which a queue without requests needs no timer any more (us).
const REST_US: u64 = 20_000_000;

/// Jiffy at the start.
const FIRST: Jiffies = 1000;

/// Runs `history` with the elevator at its defaults.
pub fn run(elevator: &ElevatorInfo, history: &IoHistory) -> IoRun {
    let limits = QueueLimits {
        requests: history.requests,
        sectors: history.sectors,
        rotational: history.rotational,
        ..QueueLimits::disk(history.hz, history.depth)
    };
    let tuning = Tuning::defaults(elevator.tunables, history.hz);
    let mut world = World {
        history,
        queue: DiskQueue::new(limits, (elevator.make)(&tuning, FIRST)),
        us: 0,
        held: Vec::new(),
        done_us: None,
        service_us: history.service_us,
        timers: [None; 3],
        work: VecDeque::new(),
        woken: VecDeque::new(),
        asleep: Vec::new(),
        contexts: (0..PROCESSES).collect(),
        open: 0,
        run: IoRun {
            log: Vec::new(),
            bios: Vec::new(),
            stuck: None,
            restless: false,
        },
    };
    world.tell();
    for step in &history.steps {
        world.step(step);
        world.settle();
    }
    world.drain();
    world.run
}

impl World<'_> {
    fn now(&self) -> Jiffies {
        FIRST + (self.us as i64 * self.history.hz / 1_000_000)
    }

    fn tick_us(&self) -> u64 {
        (1_000_000 / self.history.hz) as u64
    }

    fn tell(&mut self) {
        let ns = FIRST * (1_000_000_000 / self.history.hz) + self.us as i64 * 1000;
        self.queue.tell_ns(ns);
    }

    fn log(&mut self, event: IoEvent) {
        let us = self.us;
        self.run.log.push(IoEntry { us, event });
    }

    fn step(&mut self, step: &HistoryStep) {
        match step {
            HistoryStep::Submit(bios) => {
                for bio in bios {
                    self.submit(bio);
                }
            }
            HistoryStep::Unplug => self.queue.unplug(self.now()),
            HistoryStep::Pass(us) => self.pass(*us),
            HistoryStep::Finish(_) | HistoryStep::Requeue(_) if self.held.is_empty() => {}
            HistoryStep::Finish(at) => self.finish(at % self.held.len()),
            HistoryStep::Requeue(at) => {
                let rq = self.held.remove(at % self.held.len());
                self.log(IoEvent::Requeue(self.command(rq)));
                self.queue.requeue(self.now(), rq);
            }
            HistoryStep::Exit(who) => {
                let at = who.index();
                let context = Submitter(self.contexts[at]);
                if !self.asleep.contains(&context) {
                    self.log(IoEvent::Exit(context));
                    self.queue.exit(self.now(), context);
                    self.contexts[at] += PROCESSES;
                }
            }
        }
    }

    fn submit(&mut self, bio: &Bio) {
        let submitter = Submitter(self.contexts[bio.submitter.index()]);
        if self.asleep.contains(&submitter) {
            return;
        }
        let tag = self.run.bios.len() as u64;
        let bio = Bio {
            submitter,
            tag,
            ..*bio
        };
        self.run.bios.push(bio);
        self.open += 1;
        let submitted = self.queue.submit(self.now(), &bio);
        self.log(IoEvent::Submit(bio, submitted));
        if submitted == Submitted::Asleep {
            self.asleep.push(submitter);
        }
        self.carry_out();
    }

    fn command(&self, rq: RequestId) -> HeldRequest {
        let request = self.queue.requests()[rq];
        HeldRequest {
            rq: rq.index() as u32,
            way: request.way,
            sector: request.sector,
            sectors: request.sectors,
            tags: self.queue.requests().tags(rq).collect(),
        }
    }

    fn finish(&mut self, at: usize) {
        let rq = self.held.remove(at);
        let command = self.command(rq);
        self.open = self.open.saturating_sub(command.tags.len());
        self.log(IoEvent::Complete(command));
        self.done_us = self.next_done();
        self.queue.complete(self.now(), rq);
    }

    fn next_done(&self) -> Option<u64> {
        let service = self.service_us.filter(|_| !self.held.is_empty())?;
        Some(self.us + service)
    }

    /// Time passes; timers fire, and a device that works by itself finishes requests.
    fn pass(&mut self, us: u64) {
        let end = self.us + us;
        loop {
            let begins = |jiffy: Jiffies| (jiffy - FIRST).max(0) as u64 * self.tick_us();
            let timer = (0..3)
                .filter_map(|i| Some((begins(self.timers[i]?), i)))
                .min();
            let timer = timer.filter(|(at, _)| *at <= end);
            let done = self.done_us.filter(|at| *at <= end);
            match (timer, done) {
                (Some((at, i)), done) if done.is_none_or(|done| at <= done) => {
                    self.us = self.us.max(at);
                    self.tell();
                    self.timers[i] = None;
                    self.log(IoEvent::Timer(QueueTimer::ALL[i]));
                    self.queue.timer(self.now(), QueueTimer::ALL[i]);
                }
                (_, Some(done)) => {
                    self.us = self.us.max(done);
                    self.tell();
                    self.finish(0);
                }
                _ => break,
            }
            self.settle();
        }
        self.us = end;
        self.tell();
    }

    fn carry_out(&mut self) {
        while let Some(action) = self.queue.take_action() {
            match action {
                QueueAction::Arm(timer, at) => {
                    self.log(IoEvent::Arm(timer, at));
                    self.timers[timer as usize] = Some(at.max(self.now() + 1));
                }
                QueueAction::Cancel(timer) => {
                    self.log(IoEvent::Cancel(timer));
                    self.timers[timer as usize] = None;
                }
                QueueAction::Work(work) => self.work.push_back(work),
                QueueAction::Wake(who) => self.woken.push_back(who),
                QueueAction::Start(rq) => {
                    self.log(IoEvent::Start(self.command(rq)));
                    self.held.push(rq);
                    if self.done_us.is_none() {
                        self.done_us = self.next_done();
                    }
                }
            }
        }
    }

    fn settle(&mut self) {
        loop {
            self.carry_out();
            if let Some(work) = self.work.pop_front() {
                self.queue.work(self.now(), work);
            } else if let Some(who) = self.woken.pop_front() {
                let submitted = self.queue.resume(self.now(), who);
                self.log(IoEvent::Resume(who, submitted));
                if submitted != Submitted::Asleep {
                    self.asleep.retain(|one| *one != who);
                }
            } else {
                break;
            }
        }
        let armed = self.timers.iter().any(Option::is_some);
        if self.open > 0 && self.held.is_empty() && !armed && self.run.stuck.is_none() {
            self.run.stuck = Some(self.run.log.len());
        }
    }

    /// The device serves what is left, then the queue comes to rest.
    fn drain(&mut self) {
        self.service_us = Some(1000);
        self.done_us = self.next_done();
        let end = self.us + DRAIN_US;
        while self.open > 0 && self.us < end && self.run.stuck.is_none() {
            self.pass(self.tick_us());
        }
        if self.open == 0 {
            self.pass(REST_US);
            self.run.restless = self.timers.iter().any(Option::is_some);
        }
    }
}
