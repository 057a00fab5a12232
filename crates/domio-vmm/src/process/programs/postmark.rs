//! PostMark 1.53: small files that are read, appended to, created and deleted, as a mail server
//! does (Katcher 1997; rules after its source, disk-spec 4.1).

use crate::process::{Context, Directories, FileId, FileSizes, Op, Prepare, Program, What};
use alloc::vec::Vec;
use domio_core::{Duration, Instant};
use domio_sim::RandomStream;

/// What PostMark is told by `set`. Defaults are the program's own, but for the number of
/// transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PostMarkConfig {
    /// Files at the beginning (`set number`).
    pub files: u32,
    /// Transactions; `None` for as many as there is time for (`set transactions`).
    pub transactions: Option<u64>,
    /// Smallest and largest size of a file (bytes; `set size`).
    pub size: (u64, u64),
    /// Directories that files are spread over, at least 1 (`set subdirectories`).
    pub subdirectories: u32,
    /// Bytes of a read: stdio's, whatever `set read` says, as long as buffering is on.
    pub read: u64,
    /// Bytes of a write, likewise.
    pub write: u64,
    /// Of 10 transactions, so many read; the others append (`set bias read`).
    pub bias_read: u64,
    /// Of 10 transactions, so many create; the others delete (`set bias create`).
    pub bias_create: u64,
    /// Whether the files of the beginning are there before the process starts, on the disk.
    pub prepared: bool,
    /// Whether memory holds of prepared files what their creation has left there: names, inodes and
    /// the newest data.
    pub cached: bool,
}

impl PostMarkConfig {
    /// What PostMark does when nothing is set.
    pub const DEFAULT: PostMarkConfig = PostMarkConfig {
        files: 500,
        transactions: None,
        size: (500, 10_000),
        subdirectories: 1,
        read: 4096,
        write: 4096,
        bias_read: 5,
        bias_create: 5,
        prepared: false,
        cached: false,
    };

    /// The directories of all files: those in the one that PostMark is told to work in (`set
    /// location`), the root of a disk of its own, or that one.
    const fn directories(&self) -> Directories {
        match self.subdirectories {
            1 => Directories::Root,
            count => Directories::InRoot(count),
        }
    }

    /// The files of the beginning, as they are where they are there before.
    pub const fn prepare(&self) -> Prepare {
        Prepare {
            files: self.files,
            directories: self.directories(),
            sizes: FileSizes::Between(self.size.0, self.size.1),
            series: 0,
            cached: self.cached,
        }
    }
}

/// A file in PostMark's table.
#[derive(Clone, Copy, Debug)]
struct Entry {
    file: u32,
    size: u64,
}

/// Where the process is within a transaction, or between two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// Nothing has begun.
    Begin,
    /// The prepared files are being asked for.
    Preparing,
    /// A file is made: the number is to come. It gets so many bytes.
    Creating { bytes: u64 },
    /// The rest of a write of `slot`, from `at` on.
    Writing { slot: usize, at: u64, end: u64 },
    /// The rest of a read.
    Reading { slot: usize, at: u64 },
    /// A file is removed.
    Removing,
}

/// What comes after the part under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Files of the beginning, so many to come.
    Filling(u32),
    /// The second half of a transaction, which creates or deletes.
    SecondHalf,
    /// The next transaction.
    Transactions,
    /// Files are deleted, until none is left.
    Emptying,
}

/// The process.
#[derive(Clone, Debug)]
pub struct PostMark {
    config: PostMarkConfig,
    disk: FileId,
    table: Vec<Entry>,
    part: Part,
    phase: Phase,
    done: u64,
    /// When the transaction began.
    since: Instant,
    /// A transaction is over, and to be reported.
    over: bool,
    random: RandomStream,
}

impl PostMark {
    /// PostMark in the file system of `disk`.
    ///
    /// # Panics
    /// When sizes, blocks or directories are zero, or the largest size is under the smallest.
    #[track_caller]
    pub fn new(disk: FileId, config: PostMarkConfig) -> Self {
        let (low, high) = config.size;
        assert!(low > 0 && low <= high, "sizes go from small to large");
        assert!(config.read > 0 && config.write > 0 && config.subdirectories > 0);
        PostMark {
            config,
            disk,
            table: Vec::with_capacity(2 * config.files as usize),
            part: Part::Begin,
            phase: Phase::Filling(config.files),
            done: 0,
            since: Instant::ZERO,
            over: false,
            random: RandomStream::new(0, 0, "postmark"),
        }
    }

    fn file(&self, slot: usize) -> FileId {
        FileId {
            device: self.disk.device,
            file: self.table[slot].file,
        }
    }

    /// Creates a file of a random size.
    fn create(&mut self) -> Op {
        let (low, high) = self.config.size;
        let bytes = low + self.random.below(high - low + 1);
        self.part = Part::Creating { bytes };
        let place = self.random.below(u64::from(self.config.subdirectories)) as u32;
        let directory = self.config.directories().number(place);
        self.disk.does(What::Create { directory })
    }

    /// Removes a random file.
    fn remove(&mut self) -> Op {
        let slot = self.random.below(self.table.len() as u64) as usize;
        let file = self.file(slot);
        self.table.swap_remove(slot);
        self.part = Part::Removing;
        file.does(What::Remove)
    }

    /// Continues with the part under way; `None` when it is over.
    fn go_on(&mut self) -> Option<Op> {
        match self.part {
            Part::Writing { slot, at, end } if at < end => {
                let bytes = self.config.write.min(end - at);
                self.part = Part::Writing {
                    slot,
                    at: at + bytes,
                    end,
                };
                Some(self.file(slot).does(What::Write { offset: at, bytes }))
            }
            Part::Reading { slot, at } if at < self.table[slot].size => {
                let bytes = self.config.read;
                self.part = Part::Reading {
                    slot,
                    at: at + bytes,
                };
                Some(self.file(slot).does(What::Read { offset: at, bytes }))
            }
            Part::Writing { slot, end, .. } => {
                self.table[slot].size = end;
                None
            }
            _ => None,
        }
    }

    /// The first half of a transaction: reads a file, or appends to one.
    fn first_half(&mut self) -> Option<Op> {
        if self.table.is_empty() {
            return None;
        }
        let reads = self.random.below(10) < self.config.bias_read;
        let slot = self.random.below(self.table.len() as u64) as usize;
        let (size, high) = (self.table[slot].size, self.config.size.1);
        if reads {
            self.part = Part::Reading { slot, at: 0 };
        } else if size < high {
            let end = size + self.random.below(high - size) + 1;
            self.part = Part::Writing {
                slot,
                at: size,
                end,
            };
        }
        self.go_on()
    }

    /// The second half: creates a file, or deletes one. The table has room for twice as many as at
    /// the beginning.
    fn second_half(&mut self) -> Option<Op> {
        let creates = self.random.below(10) < self.config.bias_create;
        match creates {
            true if self.table.len() < 2 * self.config.files as usize => Some(self.create()),
            false if !self.table.is_empty() => Some(self.remove()),
            _ => None,
        }
    }

    /// What comes next; `None` to be asked again.
    fn next_part(&mut self, now: Instant) -> Option<Op> {
        match self.phase {
            Phase::Filling(0) => {
                self.phase = Phase::Transactions;
                None
            }
            Phase::Filling(left) if self.config.prepared => {
                self.phase = Phase::Filling(0);
                self.part = Part::Preparing;
                assert!(left == self.config.files, "all are prepared together");
                Some(self.disk.does(What::Prepare(self.config.prepare())))
            }
            Phase::Filling(left) => {
                self.phase = Phase::Filling(left - 1);
                Some(self.create())
            }
            Phase::Transactions if self.config.transactions == Some(self.done) => {
                self.phase = Phase::Emptying;
                None
            }
            Phase::Transactions => {
                self.since = now;
                self.phase = Phase::SecondHalf;
                self.first_half()
            }
            Phase::SecondHalf => {
                self.phase = Phase::Transactions;
                self.over = true;
                self.second_half()
            }
            Phase::Emptying if self.table.is_empty() => Some(Op::Exit),
            Phase::Emptying => Some(self.remove()),
        }
    }

    /// Takes what the step before has returned.
    fn took(&mut self, returned: u64) {
        match self.part {
            // The disk is full.
            Part::Creating { .. } if returned as u32 == self.disk.file => {
                self.part = Part::Begin;
            }
            Part::Creating { bytes } => {
                self.table.push(Entry {
                    file: returned as u32,
                    size: 0,
                });
                self.part = Part::Writing {
                    slot: self.table.len() - 1,
                    at: 0,
                    end: bytes,
                };
            }
            Part::Preparing => {
                let prepared = self.config.prepare();
                let entry = |i| Entry {
                    file: returned as u32 + i,
                    size: prepared.size(i),
                };
                self.table.extend((0..prepared.files).map(entry));
                self.part = Part::Begin;
            }
            _ => {}
        }
    }
}

impl Program for PostMark {
    fn name(&self) -> &'static str {
        "postmark"
    }

    fn next(&mut self, cx: &Context) -> Op {
        self.took(cx.returned);
        if let Some(op) = self.go_on() {
            return op;
        }
        if matches!(self.part, Part::Writing { .. } | Part::Reading { .. }) {
            self.part = Part::Begin;
        }
        // A half that finds nothing to do is followed by what comes next.
        for _ in 0..4 {
            if core::mem::take(&mut self.over) {
                self.done += 1;
                return Op::Report {
                    released: self.since,
                    work: Duration::ZERO,
                };
            }
            if let Some(op) = self.next_part(cx.now) {
                return op;
            }
        }
        unreachable!("PostMark always has something to do")
    }

    fn seed(&mut self, random: RandomStream) {
        self.random = random;
    }
}
