//! A guest's file system: page cache, ext3 with its ordered journal, threads that write back.
//!
//! ```text
//!  call ─▶ page cache ──▶ miss: bios, the process waits for the data
//!               │
//!               ▼ dirty pages and metadata belong to the running transaction
//!            journal ───▶ kjournald: data, log, commit block, every 5 s
//!               │
//!               ▼ what is dirty for long, or too much of it
//!            pdflush, or the writer itself
//! ```
//!
//! The file system is free of the simulator: it is told the time, says what to submit to the
//! request layer, and who sleeps until what. [`contract`] says how its owner drives it. The rules
//! are those of Linux 2.6.24; `docs/file-system.md` says what is simpler here.
//!
//! | module | holds |
//! |---|---|
//! | [`contract`] | how a file system is driven |
//! | [`config`] | what a file system is made with |
//! | [`keys`] | how a scenario asks for one |
//! | `task`, `frames`, `wait` | what a task keeps: its call in frames, what it sleeps for |
//! | `steps` | steps of tasks, sleeping and waking |
//! | `call`, `read`, `write`, `remove` | the calls |
//! | [`cache`], [`readahead`] | cached pages, and how many a read takes in |
//! | [`layout`], [`files`], [`orlov`] | what is where on the disk |
//! | [`room`] | how much fits |
//! | `lists` | files that several processes choose from |
//! | `journal`, `dirty`, `flushers`, `limits` | transactions, dirty pages, jobs, limits |
//! | `transactions`, `commit`, `checkpoint` | handles, `kjournald`, room in the log |
//! | `write_back`, `throttle`, `pdflush` | passes over dirty pages, who is held up, who writes |
//! | `flight` | bios on their way |

pub mod cache;
mod call;
mod checkpoint;
mod commit;
pub mod config;
pub mod contract;
mod dirty;
pub mod files;
mod flight;
mod flushers;
mod frames;
mod journal;
pub mod keys;
pub mod layout;
mod limits;
mod lists;
pub mod orlov;
mod pdflush;
mod read;
pub mod readahead;
mod remove;
pub mod room;
mod steps;
mod task;
mod throttle;
mod transactions;
mod wait;
mod write;
mod write_back;

use crate::elevator::Submitter;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use cache::{Cache, META, READING, WRITEBACK};
use config::{FsConfig, PAGE};
use contract::{FileOp, KJOURNALD, PDFLUSH, QueueCongestion};
use dirty::Dirty;
use domio_core::{Duration, Instant};
use files::Files;
use flight::{Flight, InFlight};
use flushers::Flushers;
use frames::{CallFrame, CommitFrame, Frame, PdflushFrame};
use journal::Journal;
use layout::Layout;
use limits::{Limits, Throttle};
use lists::FileLists;
use task::Task;
use wait::{Event, Wait};

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

/// How full memory and log are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FsUse {
    /// Pages that are cached.
    pub cached: u32,
    /// Pages that differ from the disk and may be written.
    pub dirty: u32,
    /// Pages that are being written.
    pub written: u32,
    /// Pages from which on writers are held up.
    pub throttle: u32,
    /// Free blocks of the log.
    pub log: u32,
    /// Free blocks of the disk.
    pub free: u64,
}

/// Caches a block as used just now.
fn keep(cache: &mut Cache, block: u32, file: u32) {
    match cache.find(block) {
        Some(slot) => cache.touch(slot),
        None => {
            cache.add(block, file, 0);
        }
    }
}

/// A file system.
pub struct FileSystem {
    config: FsConfig,
    /// Time between two ticks.
    tick: Duration,
    now: Instant,
    congestion: QueueCongestion,
    layout: Layout,
    cache: Cache,
    files: Files,
    lists: FileLists,
    journal: Journal,
    dirty: Dirty,
    limits: Limits,
    throttle: Throttle,
    flushers: Flushers,
    flight: Flight,
    tasks: Vec<Task>,
    sleepers: [Vec<u32>; Event::COUNT],
    woken: VecDeque<Submitter>,
}

impl FileSystem {
    /// An empty file system, mounted at time zero. Its threads are to be asked for steps first
    /// ([`FileSystem::take_woken`] names them).
    ///
    /// # Panics
    /// When the disk has no room beside the journal (groups of 128 MiB: one for the superblock,
    /// one for every 128 MiB of journal, one for data), or has over 16 TiB.
    #[track_caller]
    pub fn new(config: FsConfig) -> Self {
        let blocks = u32::try_from(config.disk / PAGE).expect("the disk has at most 16 TiB");
        let journal = config.journal_blocks();
        let pages = config.pages();
        let memory = config.memory / PAGE;
        let tick = Duration::from_nanos(SECOND / u64::from(config.hz));
        let mut fs = FileSystem {
            config,
            tick,
            now: Instant::ZERO,
            congestion: QueueCongestion::default(),
            layout: Layout::new(blocks, journal),
            cache: Cache::new(pages),
            files: Files::new(config.seed),
            lists: FileLists::default(),
            journal: Journal::new(journal),
            dirty: Dirty::default(),
            limits: Limits::new(memory, pages, config.background, config.throttle),
            throttle: Throttle::default(),
            flushers: Flushers::new(Instant::ZERO + config.writeback),
            flight: Flight::default(),
            tasks: Vec::new(),
            sleepers: Default::default(),
            woken: VecDeque::new(),
        };
        fs.need_task(PDFLUSH[PDFLUSH.len() - 1].0);
        fs.enter(KJOURNALD.0, Frame::Commit(CommitFrame::default()));
        for thread in PDFLUSH {
            fs.enter(thread.0, Frame::Pdflush(PdflushFrame::default()));
        }
        fs.woken.push_back(KJOURNALD);
        fs.woken.extend(PDFLUSH);
        fs
    }

    /// Makes a file of `bytes` that is on the disk and not cached, at no time: what was there
    /// before the run. Returns its number. `colour` stands for the process that made the file.
    ///
    /// # Panics
    /// When the disk is full.
    #[track_caller]
    pub fn populate(&mut self, directory: u32, bytes: u64, colour: u32) -> u32 {
        let (entry, _) = self.files.free_entry(&mut self.layout, directory);
        let (group, _) = self.files.at(directory).place();
        let inode = self.layout.take_inode(group);
        let file = self.files.create(directory, entry, inode);
        let goal = self.layout.first_goal(group, colour);
        let pages = bytes.div_ceil(PAGE);
        let mut page = 0;
        while page < pages {
            let file = &mut self.files[file];
            page += file.extend_by(&mut self.layout, page, pages - page, goal).1;
        }
        self.files[file].size = bytes;
        file
    }

    /// Bytes that the cache holds.
    pub fn memory(&self) -> u64 {
        u64::from(self.config.pages()) * PAGE
    }

    /// Caches the name and the inode of `file`, and its data if `data` is set, as used just now.
    pub fn warm(&mut self, file: u32, data: bool) {
        let it = &self.files[file];
        let names = [self.files.entry_of(file), self.layout.table(it.inode)];
        for block in it.metadata().filter(|_| data).chain(names) {
            keep(&mut self.cache, block, META);
        }
        for (first, count) in it.runs().filter(|_| data) {
            for block in first..first + count {
                keep(&mut self.cache, block, file);
            }
        }
    }

    /// Files from `first` on, which were made before the run, are a list that processes share.
    pub fn list(&mut self, first: u32, files: u32) {
        self.lists.begin(first, files);
    }

    /// A file of the list with this first file, by a random number: for use together with others,
    /// or `alone`, out of the list and in use by nobody. 0 where there is none.
    pub fn choose(&mut self, first: u32, alone: bool, draw: u64) -> u32 {
        self.lists.choose(first, alone, draw).unwrap_or(0)
    }

    /// A process uses `file` of the list no more.
    pub fn leave(&mut self, first: u32, file: u32) {
        self.lists.release(first, file);
    }

    /// `file` joins the list, if it exists.
    pub fn enlist(&mut self, first: u32, file: u32) {
        if self.files.exists(file) {
            self.lists.add(first, file);
        }
    }

    /// A process begins a call. Steps follow.
    ///
    /// # Panics
    /// When the task is a thread of the file system, or in a call.
    #[track_caller]
    pub fn begin(&mut self, now: Instant, task: Submitter, op: FileOp) {
        assert!(task.0 >= contract::FIRST_PROCESS.0, "{task:?} is a thread");
        self.now = now;
        self.need_task(task.0);
        self.enter(task.0, Frame::Call(CallFrame::new(op)));
        self.spend(task.0, self.config.costs.call);
    }

    /// A bio is done.
    ///
    /// # Panics
    /// When no bio on the way has this tag.
    #[track_caller]
    pub fn bio_done(&mut self, now: Instant, tag: u64, congestion: QueueCongestion) {
        self.now = now;
        self.congestion = congestion;
        match self.flight.take(tag) {
            InFlight::Read { block, pages } => {
                for block in block..block + pages {
                    self.page_done(block, READING);
                }
            }
            InFlight::Page { block } => {
                self.page_done(block, WRITEBACK);
                self.written(congestion);
            }
            InFlight::Own { task, .. } => {
                self.own_done(task);
                self.written(congestion);
            }
        }
        if !self.sleepers[Event::BioDone as usize].is_empty() {
            self.wake(Event::BioDone);
        }
    }

    /// A write is done: who waits for room continues if there is some.
    fn written(&mut self, congestion: QueueCongestion) {
        if !congestion.write {
            self.wake(Event::Room);
        }
    }

    fn page_done(&mut self, block: u32, flag: u8) {
        let slot = self
            .cache
            .find(block)
            .expect("a page on the way stays cached");
        self.cache[slot].flags &= !flag;
        let page = self.cache[slot];
        if flag == WRITEBACK {
            self.dirty.written -= 1;
            let file = &mut self.files[page.file];
            file.written_pages -= 1;
            if file.written_pages == 0 {
                self.wake(Event::FileWritten);
            }
            let at_home = !page.is(cache::DIRTY) && page.tx < self.cache.uncommitted;
            if page.checkpoint != 0 && at_home {
                self.journal.at_home(page.checkpoint);
                self.cache[slot].checkpoint = 0;
            }
        }
        self.wake_page(slot);
    }

    /// When [`FileSystem::timer`] is to be called at the latest.
    pub fn next_timer(&self) -> Instant {
        let commit = match &self.journal.running {
            Some(running) if self.journal.committing.is_none() && !running.locked => {
                running.expires.max(self.now)
            }
            _ => Instant::MAX,
        };
        let late = self.first_late();
        commit.min(self.flushers.next_old).min(late)
    }

    /// Time has come to this point.
    pub fn timer(&mut self, now: Instant) {
        self.now = now;
        if self.commit_is_due() {
            let id = self.journal.open().id;
            self.ask_commit(id);
        }
        if self.flushers.next_old <= now {
            self.look_for_old();
        }
        self.wake_late();
    }

    /// The next task that is to be asked for steps again.
    pub fn take_woken(&mut self) -> Option<Submitter> {
        self.woken.pop_front()
    }

    /// How full memory and log are.
    pub fn used(&self) -> FsUse {
        FsUse {
            cached: self.cache.len(),
            dirty: self.dirty.pages,
            written: self.dirty.written,
            throttle: self.limits.throttle,
            log: self.journal.free,
            free: self.layout.free(),
        }
    }

    /// The tag of the read that a task sleeps for; none for who sleeps for something else.
    pub fn read_of(&self, task: Submitter) -> Option<u64> {
        match self.tasks.get(task.index())?.wait? {
            Wait::Read(block) => self.flight.read_of(block),
            _ => None,
        }
    }

    /// Pages of `file` that differ from the disk: dirty, or being written.
    pub fn to_write(&self, file: u32) -> u32 {
        let file = &self.files[file];
        file.dirty_pages + file.written_pages
    }

    /// The blocks of the data of `file`, as runs: first block and number.
    pub fn blocks(&self, file: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.files[file].runs()
    }

    /// The first tick that is not before `at`.
    fn tick(&self, at: Instant) -> Instant {
        let since = at.saturating_since(Instant::ZERO);
        Instant::ZERO + since.next_multiple_of(self.tick)
    }

    /// The first tick after `wait`.
    fn tick_after(&self, wait: Duration) -> Instant {
        self.tick(self.now + wait)
    }
}
