//! A guest's file system on a request layer and a disk, without a host around them: nothing is
//! lost, nobody sleeps for ever, and limits hold, whatever processes do.

use domio_blk::elevator::IoWay;
use domio_blk::elevator::{QueueAction, QueueTimer, RequestId, Submitter, Tuning, find_elevator};
use domio_blk::fs::FileSystem;
use domio_blk::fs::config::FsConfig;
use domio_blk::fs::contract::{FIRST_PROCESS, FileOp, FsStep, QueueCongestion};
use domio_blk::queue::{DiskQueue, QueueLimits, Submitted};
use domio_core::{Duration, Instant};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const HZ: i64 = 250;
/// What the disk needs for a request.
const LATENCY: Duration = Duration::from_micros(500);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Due {
    Served(usize),
    Queue(u8),
    Files,
}

/// The whole of it.
struct Bench {
    fs: FileSystem,
    queue: DiskQueue,
    now: Instant,
    /// Requests at the disk, the one that is served first.
    held: VecDeque<RequestId>,
    due: BTreeSet<(Instant, Due)>,
    timers: [Option<Instant>; 3],
    files_at: Option<Instant>,
    /// Tasks that can go on, in turn.
    ready: VecDeque<Submitter>,
    /// Tasks that sleep for a request.
    asleep: BTreeSet<u32>,
    /// What calls have returned, by task.
    returned: BTreeMap<u32, u64>,
    sectors: [u64; 2],
    most_dirty: u32,
}

impl Bench {
    fn new(config: FsConfig, elevator: &str) -> Self {
        let info = find_elevator(elevator).unwrap();
        let tuning = Tuning::defaults(info.tunables, HZ);
        let limits = QueueLimits::disk(HZ, 31);
        Bench {
            fs: FileSystem::new(config),
            queue: DiskQueue::new(limits, (info.make)(&tuning, 0)),
            now: Instant::ZERO,
            held: VecDeque::new(),
            due: BTreeSet::new(),
            timers: [None; 3],
            files_at: None,
            ready: VecDeque::new(),
            asleep: BTreeSet::new(),
            returned: BTreeMap::new(),
            sectors: [0; 2],
            most_dirty: 0,
        }
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

    fn begin(&mut self, task: u32, op: FileOp) {
        self.fs.begin(self.now, Submitter(task), op);
        self.ready.push_back(Submitter(task));
    }

    /// What the queue asks for.
    fn act(&mut self) {
        while let Some(action) = self.queue.take_action() {
            match action {
                QueueAction::Start(rq) => {
                    self.held.push_back(rq);
                    let rq = &self.queue.requests()[rq];
                    self.sectors[rq.way.index()] += u64::from(rq.sectors);
                    if self.held.len() == 1 {
                        self.due.insert((self.now + LATENCY, Due::Served(0)));
                    }
                }
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
    fn settle(&mut self) {
        loop {
            while let Some(woken) = self.fs.take_woken() {
                self.ready.push_back(woken);
            }
            let Some(task) = self.ready.pop_front() else {
                break;
            };
            loop {
                let step = self.fs.step(self.now, task, self.congestion());
                match step {
                    FsStep::Run(_) => {}
                    FsStep::Submit(bio) => {
                        let became = self.queue.submit(self.jiffies(), &bio);
                        if became == Submitted::Asleep {
                            self.asleep.insert(task.0);
                        }
                        self.act();
                        if became == Submitted::Asleep {
                            break;
                        }
                    }
                    FsStep::Unplug => {
                        self.queue.unplug(self.jiffies());
                        self.act();
                    }
                    FsStep::Sleep => break,
                    FsStep::Done(value) => {
                        self.returned.insert(task.0, value);
                        break;
                    }
                }
            }
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

    /// Goes on to what is due next; `false` when nothing is.
    fn next(&mut self) -> bool {
        let Some((at, due)) = self.due.pop_first() else {
            return false;
        };
        self.now = at;
        match due {
            Due::Served(_) => {
                let rq = self.held.pop_front().expect("a request is served");
                if !self.held.is_empty() {
                    self.due.insert((self.now + LATENCY, Due::Served(0)));
                }
                let tags: Vec<u64> = self.queue.requests().tags(rq).collect();
                self.queue.complete(self.jiffies(), rq);
                for tag in tags {
                    let congestion = self.congestion();
                    self.fs.bio_done(self.now, tag, congestion);
                }
            }
            Due::Queue(timer) => {
                let all = [QueueTimer::Unplug, QueueTimer::First, QueueTimer::Second];
                let timer = all[usize::from(timer)];
                self.timers[timer as usize] = None;
                self.queue.timer(self.jiffies(), timer);
            }
            Due::Files => {
                self.files_at = None;
                self.fs.timer(self.now);
            }
        }
        self.act();
        self.settle();
        true
    }

    /// Runs the call of one task to its end.
    fn call(&mut self, task: u32, op: FileOp) -> u64 {
        self.begin(task, op);
        self.settle();
        let limit = self.now + Duration::from_secs(600);
        while !self.returned.contains_key(&task) {
            assert!(self.now < limit, "{op:?} of task {task} does not return");
            assert!(self.next(), "{op:?} of task {task} sleeps for ever");
        }
        self.returned.remove(&task).unwrap()
    }
}

/// A disk of 2 GB and little memory, so that limits are met.
fn small() -> FsConfig {
    FsConfig {
        memory: 32 << 20,
        kernel: 8 << 20,
        ..FsConfig::guest(2 << 30)
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % n
    }
}

#[test]
fn after_a_sync_nothing_is_dirty_and_reads_come_from_memory() {
    let mut bench = Bench::new(small(), "cfq");
    let task = FIRST_PROCESS.0;
    let file = bench.call(task, FileOp::Create { directory: 0 }) as u32;
    let bytes = 1 << 20;
    let write = FileOp::Write {
        file,
        offset: 0,
        bytes,
    };
    assert_eq!(bench.call(task, write), bytes);
    assert_eq!(bench.call(task, FileOp::Size { file }), bytes);
    assert!(bench.fs.used().dirty >= 256);
    bench.call(task, FileOp::Sync);
    let used = bench.fs.used();
    assert_eq!((used.dirty, used.written), (0, 0));
    // The data, the log and its commit block are on the disk.
    assert!(bench.sectors[1] > bytes / 512);
    let reads = bench.sectors[0];
    let read = FileOp::Read {
        file,
        offset: 4096,
        bytes: 64 << 10,
    };
    assert_eq!(bench.call(task, read), 64 << 10);
    assert_eq!(bench.sectors[0], reads, "it was in memory");
    let behind = FileOp::Read {
        file,
        offset: bytes,
        bytes: 4096,
    };
    assert_eq!(bench.call(task, behind), 0);
}

/// Six processes do what they like; in the end all have got what the sizes say, no two files share
/// a block, and everything reaches the disk.
fn processes_do_what_they_like(seed: u64, elevator: &str) {
    let mut bench = Bench::new(small(), elevator);
    let mut random = Random(seed);
    let tasks: Vec<u32> = (0..6).map(|i| FIRST_PROCESS.0 + i).collect();
    let mut files: BTreeMap<u32, u64> = BTreeMap::new();
    // What each task is doing, with the file that nobody else may touch meanwhile.
    let mut busy: BTreeMap<u32, FileOp> = BTreeMap::new();
    let mut calls = 0;
    let throttle = bench.fs.used().throttle;
    while calls < 600 || !busy.is_empty() {
        for task in &tasks {
            if let Some(value) = bench.returned.remove(task) {
                match busy.remove(task).expect("it was in a call") {
                    FileOp::Create { .. } => {
                        assert!(files.insert(value as u32, 0).is_none(), "{value} is there");
                    }
                    FileOp::Write {
                        file,
                        offset,
                        bytes,
                    } => {
                        assert_eq!(value, bytes);
                        let size = files.get_mut(&file).unwrap();
                        *size = (*size).max(offset + bytes);
                    }
                    FileOp::Read {
                        file,
                        offset,
                        bytes,
                    } => assert_eq!(value, bytes.min(files[&file].saturating_sub(offset))),
                    FileOp::Size { file } => assert_eq!(value, files[&file]),
                    _ => {}
                }
            }
            if calls >= 600 || busy.contains_key(task) {
                continue;
            }
            let taken: Vec<u32> = busy.values().filter_map(file_of).collect();
            let free: Vec<u32> = files
                .keys()
                .copied()
                .filter(|f| !taken.contains(f))
                .collect();
            let file = free
                .get(random.below(free.len().max(1) as u64) as usize)
                .copied();
            let op = some_call(&mut random, &mut files, file);
            calls += 1;
            busy.insert(*task, op);
            bench.begin(*task, op);
        }
        bench.settle();
        if busy.keys().all(|task| !bench.returned.contains_key(task)) {
            assert!(
                bench.next(),
                "{elevator}, seed {seed}: {busy:?} sleep for ever"
            );
        }
        assert!(
            bench.now < Instant::from_nanos(3_600_000_000_000),
            "{busy:?} take for ever"
        );
    }
    let mut owner: BTreeMap<u32, u32> = BTreeMap::new();
    for file in files.keys() {
        for (first, count) in bench.fs.blocks(*file) {
            for block in first..first + count {
                let other = owner.insert(block, *file);
                assert_eq!(other, None, "block {block} has two files");
            }
        }
    }
    // Each of the writers may go over by what it dirties between two looks.
    assert!(
        bench.most_dirty < throttle + 6 * 1024,
        "{} {throttle}",
        bench.most_dirty
    );
    bench.call(FIRST_PROCESS.0, FileOp::Sync);
    let used = bench.fs.used();
    assert_eq!((used.dirty, used.written), (0, 0));
}

/// Some call, on `file` if there is one; a file that is removed leaves `files`.
fn some_call(random: &mut Random, files: &mut BTreeMap<u32, u64>, file: Option<u32>) -> FileOp {
    match (random.below(12), file) {
        (0..=1, _) | (_, None) => FileOp::Create {
            directory: random.below(4) as u32,
        },
        (2..=5, Some(file)) => FileOp::Write {
            file,
            offset: random.below(files[&file] + 1),
            bytes: 1 + random.below(300_000),
        },
        (6..=8, Some(file)) => FileOp::Read {
            file,
            offset: random.below(files[&file] + 1),
            bytes: 1 + random.below(200_000),
        },
        (9, Some(file)) => FileOp::Size { file },
        (10, Some(file)) => FileOp::Flush { file },
        (_, Some(file)) => {
            files.remove(&file);
            FileOp::Remove { file }
        }
    }
}

/// The file that a call is on.
fn file_of(op: &FileOp) -> Option<u32> {
    match op {
        FileOp::Write { file, .. }
        | FileOp::Read { file, .. }
        | FileOp::Size { file }
        | FileOp::Flush { file }
        | FileOp::Remove { file } => Some(*file),
        FileOp::Create { .. } | FileOp::Sync => None,
    }
}

#[test]
fn whatever_processes_do_nothing_is_lost() {
    for seed in 0..12 {
        for elevator in ["noop", "deadline", "anticipatory", "cfq"] {
            processes_do_what_they_like(seed, elevator);
        }
    }
}

#[test]
fn blocks_of_removed_files_are_used_again() {
    let mut bench = Bench::new(small(), "noop");
    let task = FIRST_PROCESS.0;
    let free = bench.fs.used().free;
    for _ in 0..40 {
        let file = bench.call(task, FileOp::Create { directory: 1 }) as u32;
        let write = FileOp::Write {
            file,
            offset: 0,
            bytes: 200_000,
        };
        bench.call(task, write);
        bench.call(task, FileOp::Remove { file });
        bench.call(task, FileOp::Sync);
    }
    // A directory keeps its block.
    assert!(free - bench.fs.used().free <= 4);
}
