//! The bench: a file system on a request layer and a plain drive, with processes above.

use domio_blk::elevator::{Bio, IoWay, QueueAction, QueueTimer, RequestId, Submitter};
use domio_blk::elevator::{Tuning, elevators, find_elevator};
use domio_blk::fs::FileSystem;
use domio_blk::fs::config::FsConfig;
use domio_blk::fs::contract::{FIRST_PROCESS, FileOp, FsStep, QueueCongestion};
use domio_blk::queue::{DiskQueue, QueueLimits, Submitted};
use domio_core::{Duration, Instant};
use domio_vmm::process::{Context, Op, Program, What};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const HZ: i64 = 250;

/// What takes requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plain {
    /// One request after the other, each in this time.
    Serial(Duration),
    /// So many requests a second of each direction, one direction beside the other.
    Capped(u64),
}

/// What is wrong with a bench that is made to fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    None,
    /// A write is told to be done when the drive takes it.
    EarlyDone,
    /// The wake-up with this number is lost.
    LostWake(u32),
}

/// Something that happened to a bio or a request.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    Submitted(Bio),
    /// The drive has done the request with this bio.
    OnDisk(u64),
    /// The drive takes a request.
    Sent(Sent),
}

/// A request as the drive gets it.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub way: IoWay,
    pub sector: u64,
    pub sectors: u32,
    pub meta: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Due {
    Served(usize),
    Queue(u8),
    Files,
    Process(u32),
}

/// The whole of it.
pub struct Bench {
    pub fs: FileSystem,
    pub now: Instant,
    /// What calls have returned, by task, of tasks without a program.
    pub returned: BTreeMap<u32, u64>,
    /// Sectors that the drive was asked for, by direction.
    pub sectors: [u64; 2],
    pub most_dirty: u32,
    /// What happened, if that is kept.
    pub events: Option<Vec<(Instant, Event)>>,
    /// Reports of programs.
    pub reports: u64,
    queue: DiskQueue,
    drive: Plain,
    fault: Fault,
    wakes: u32,
    /// Requests at the drive by direction, the one that is served first in front.
    held: [VecDeque<RequestId>; 2],
    due: BTreeSet<(Instant, Due)>,
    timers: [Option<Instant>; 3],
    files_at: Option<Instant>,
    /// Tasks that can go on, in turn.
    ready: VecDeque<Submitter>,
    /// Tasks that sleep for a request.
    asleep: BTreeSet<u32>,
    processes: Vec<Box<dyn Program>>,
    /// The first of the files that all processes find.
    prepared: Option<u32>,
}

impl Bench {
    pub fn new(config: FsConfig, elevator: &str, drive: Plain) -> Self {
        let info = find_elevator(elevators(), elevator).unwrap();
        let tuning = Tuning::defaults(info.tunables, HZ);
        let limits = QueueLimits::disk(HZ, 31);
        Bench {
            fs: FileSystem::new(config),
            now: Instant::ZERO,
            returned: BTreeMap::new(),
            sectors: [0; 2],
            most_dirty: 0,
            events: None,
            reports: 0,
            queue: DiskQueue::new(limits, (info.make)(&tuning, 0)),
            drive,
            fault: Fault::None,
            wakes: 0,
            held: Default::default(),
            due: BTreeSet::new(),
            timers: [None; 3],
            files_at: None,
            ready: VecDeque::new(),
            asleep: BTreeSet::new(),
            processes: Vec::new(),
            prepared: None,
        }
    }

    /// The same, with something wrong.
    pub fn with(self, fault: Fault) -> Self {
        Bench { fault, ..self }
    }

    /// From the next request on, the drive takes this long.
    pub fn slow_down(&mut self, each: Duration) {
        self.drive = Plain::Serial(each);
    }

    /// Adds a process that runs `program`.
    pub fn add(&mut self, program: impl Program + 'static) {
        let task = FIRST_PROCESS.0 + self.processes.len() as u32;
        self.processes.push(Box::new(program));
        self.due.insert((self.now, Due::Process(task)));
    }

    fn jiffies(&self) -> i64 {
        (self.now.as_nanos() / (1_000_000_000 / HZ as u64)) as i64
    }

    fn at(jiffies: i64) -> Instant {
        Instant::from_nanos(jiffies as u64 * (1_000_000_000 / HZ as u64))
    }

    fn congestion(&self) -> QueueCongestion {
        QueueCongestion {
            read: self.queue.is_congested(IoWay::Read),
            write: self.queue.is_congested(IoWay::Write),
        }
    }

    fn log(&mut self, event: Event) {
        let now = self.now;
        if let Some(events) = &mut self.events {
            events.push((now, event));
        }
    }

    pub fn begin(&mut self, task: u32, op: FileOp) {
        self.fs.begin(self.now, Submitter(task), op);
        self.ready.push_back(Submitter(task));
    }

    /// What the queue asks for.
    fn act(&mut self) {
        while let Some(action) = self.queue.take_action() {
            match action {
                QueueAction::Start(rq) => self.start(rq),
                QueueAction::Work(work) => self.queue.work(self.jiffies(), work),
                QueueAction::Wake(who) => {
                    assert!(self.asleep.remove(&who.0), "{who:?} does not sleep");
                    self.resume(who);
                }
                QueueAction::Arm(timer, at) => {
                    self.disarm(timer);
                    let at = Self::at(at).max(self.now);
                    self.timers[timer as usize] = Some(at);
                    self.due.insert((at, Due::Queue(timer as u8)));
                }
                QueueAction::Cancel(timer) => self.disarm(timer),
            }
        }
    }

    /// The drive takes a request.
    fn start(&mut self, rq: RequestId) {
        let request = self.queue.requests()[rq];
        self.sectors[request.way.index()] += u64::from(request.sectors);
        self.log(Event::Sent(Sent {
            way: request.way,
            sector: request.sector,
            sectors: request.sectors,
            meta: request.meta,
        }));
        let (line, _) = self.serves(request.way);
        self.held[line].push_back(rq);
        if self.held[line].len() == 1 {
            self.serve(line);
        }
        if self.fault == Fault::EarlyDone && request.way == IoWay::Write {
            let tags: Vec<u64> = self.queue.requests().tags(rq).collect();
            for tag in tags {
                let congestion = self.congestion();
                self.fs.bio_done(self.now, tag, congestion);
            }
        }
    }

    /// In which line a request of this direction is served, and how long each takes.
    fn serves(&self, way: IoWay) -> (usize, Duration) {
        match self.drive {
            Plain::Serial(time) => (0, time),
            Plain::Capped(iops) => (way.index(), Duration::from_nanos(1_000_000_000 / iops)),
        }
    }

    fn serve(&mut self, line: usize) {
        let way = self.queue.requests()[self.held[line][0]].way;
        let (_, time) = self.serves(way);
        self.due.insert((self.now + time, Due::Served(line)));
    }

    fn served(&mut self, line: usize) {
        let rq = self.held[line].pop_front().expect("a request is served");
        let early = self.fault == Fault::EarlyDone;
        let told = early && self.queue.requests()[rq].way == IoWay::Write;
        let tags: Vec<u64> = self.queue.requests().tags(rq).collect();
        self.queue.complete(self.jiffies(), rq);
        if !self.held[line].is_empty() {
            self.serve(line);
        }
        for tag in tags {
            self.log(Event::OnDisk(tag));
            if !told {
                let congestion = self.congestion();
                self.fs.bio_done(self.now, tag, congestion);
            }
        }
    }

    fn disarm(&mut self, timer: QueueTimer) {
        if let Some(at) = self.timers[timer as usize].take() {
            self.due.remove(&(at, Due::Queue(timer as u8)));
        }
    }

    fn resume(&mut self, who: Submitter) {
        match self.queue.resume(self.jiffies(), who) {
            Submitted::Asleep => {
                self.asleep.insert(who.0);
            }
            _ => self.ready.push_back(who),
        }
    }

    /// Has all tasks go on that can.
    pub fn settle(&mut self) {
        loop {
            while let Some(woken) = self.fs.take_woken() {
                self.wakes += 1;
                if self.fault != Fault::LostWake(self.wakes) {
                    self.ready.push_back(woken);
                }
            }
            let Some(task) = self.ready.pop_front() else {
                break;
            };
            self.go_on(task);
            self.most_dirty = self.most_dirty.max(self.fs.used().dirty);
        }
        let next = self.fs.next_timer();
        let next = (next != Instant::MAX).then(|| next.max(self.now + Duration::from_millis(4)));
        if next != self.files_at {
            if let Some(at) = self.files_at.take() {
                self.due.remove(&(at, Due::Files));
            }
            if let Some(at) = next {
                self.due.insert((at, Due::Files));
            }
            self.files_at = next;
        }
    }

    /// Has one task go on until it sleeps, or its call is over.
    fn go_on(&mut self, task: Submitter) {
        loop {
            match self.fs.step(self.now, task, self.congestion()) {
                FsStep::Run(_) => {}
                FsStep::Submit(bio) => {
                    self.log(Event::Submitted(bio));
                    let became = self.queue.submit(self.jiffies(), &bio);
                    if became == Submitted::Asleep {
                        self.asleep.insert(task.0);
                    }
                    self.act();
                    if became == Submitted::Asleep {
                        return;
                    }
                }
                FsStep::Unplug => {
                    self.queue.unplug(self.jiffies());
                    self.act();
                }
                FsStep::Sleep => return,
                FsStep::Done(value) => {
                    self.over(task.0, value);
                    return;
                }
            }
        }
    }

    /// A call is over.
    fn over(&mut self, task: u32, value: u64) {
        match self.processes.len() as u32 > task - FIRST_PROCESS.0 {
            true => self.program(task, value),
            false => {
                self.returned.insert(task, value);
            }
        }
    }

    /// A program goes on until its next call.
    fn program(&mut self, task: u32, mut returned: u64) {
        loop {
            let program = &mut self.processes[(task - FIRST_PROCESS.0) as usize];
            let now = self.now;
            match program.next(&Context { now, returned }) {
                Op::Exit => return,
                Op::Report { .. } => {
                    self.reports += 1;
                    returned = 0;
                }
                Op::SleepUntil(at) => {
                    self.due.insert((at.max(now), Due::Process(task)));
                    return;
                }
                Op::Compute(time) => {
                    self.due.insert((now + time, Due::Process(task)));
                    return;
                }
                Op::Call(call) => {
                    let file = call.file.file;
                    let Some(op) = self.file_op(call.what, file, &mut returned) else {
                        continue;
                    };
                    self.begin(task, op);
                    return;
                }
                other => panic!("{} does {other:?}", program.name()),
            }
        }
    }

    /// The operation for a call; none for files that are there before the run.
    fn file_op(&mut self, what: What, file: u32, returned: &mut u64) -> Option<FileOp> {
        Some(match what {
            What::Prepare(prepare) => {
                if self.prepared.is_none() {
                    let all = 0..prepare.files;
                    let make = |i| {
                        let directory = prepare.directories.number(i);
                        self.fs.populate(directory, prepare.size(i), i)
                    };
                    self.prepared = all.map(make).min();
                    self.fs.list(self.prepared.unwrap_or(0), prepare.files);
                }
                *returned = self.prepared.map_or(0, u64::from);
                return None;
            }
            What::Choose { alone, draw } => {
                *returned = self.fs.choose(file, alone, draw).into();
                return None;
            }
            What::Release { first } => {
                self.fs.leave(first, file);
                *returned = 0;
                return None;
            }
            What::Enlist { first } => {
                self.fs.enlist(first, file);
                *returned = 0;
                return None;
            }
            What::Create { directory } => FileOp::Create { directory },
            What::Remove => FileOp::Remove { file },
            What::Read { offset, bytes } => FileOp::Read {
                file,
                offset,
                bytes,
            },
            What::Write { offset, bytes } => FileOp::Write {
                file,
                offset,
                bytes,
            },
            What::Sync => FileOp::Flush { file },
            What::SyncAll => FileOp::Sync,
            What::Size => FileOp::Size { file },
            other => panic!("no file does {other:?}"),
        })
    }

    /// Goes on to what is due next; `false` when nothing is.
    pub fn next(&mut self) -> bool {
        let Some((at, due)) = self.due.pop_first() else {
            return false;
        };
        self.now = at;
        match due {
            Due::Served(line) => self.served(line),
            Due::Queue(timer) => {
                let all = QueueTimer::ALL;
                let timer = all[usize::from(timer)];
                self.timers[timer as usize] = None;
                self.queue.timer(self.jiffies(), timer);
            }
            Due::Files => {
                self.files_at = None;
                self.fs.timer(self.now);
            }
            Due::Process(task) => self.program(task, 0),
        }
        self.act();
        self.settle();
        true
    }

    /// Runs the call of one task to its end; `None` when the task sleeps for ever.
    pub fn try_call(&mut self, task: u32, op: FileOp) -> Option<u64> {
        self.begin(task, op);
        self.settle();
        let limit = self.now + Duration::from_secs(600);
        while !self.returned.contains_key(&task) {
            if self.now > limit || !self.next() {
                return None;
            }
        }
        self.returned.remove(&task)
    }

    /// Runs the call of one task to its end.
    pub fn call(&mut self, task: u32, op: FileOp) -> u64 {
        let value = self.try_call(task, op);
        value.unwrap_or_else(|| panic!("{op:?} of task {task} sleeps for ever"))
    }

    /// Goes on until this time.
    pub fn until(&mut self, end: Instant) {
        while self.due.first().is_some_and(|(at, _)| *at <= end) && self.next() {}
        self.now = self.now.max(end);
    }
}
