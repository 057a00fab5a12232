//! A thread of FFSB 6.0, the Flexible File System Benchmark: operations chosen by weight, on files
//! that were made before (rules after its source, disk-spec 4.2).
//!
//! All threads of a run choose from one list of files (`filelist.c`): a file that was created
//! joins the list when it has been written, one that is deleted leaves the list before. A
//! deletion chooses a file that no thread reads or writes; an append counts as over once the file
//! is open. How far a file goes is the file system's to say. Operations on directories alone
//! (`meta`), `stat`, `open_close` and `writeall` are left out.

use crate::process::{Context, Directories, FileId, FileSizes, Op, Prepare, Program, What};
use domio_core::{Duration, Instant};
use domio_sim::RandomStream;

/// How often each operation is chosen, against the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FfsbWeights {
    /// Reads a part of a file.
    pub read: u64,
    /// Reads a file from beginning to end.
    pub readall: u64,
    /// Writes over a part of a file.
    pub write: u64,
    /// Appends to a file.
    pub append: u64,
    /// Makes a file, and writes all of it.
    pub create: u64,
    /// As `create`, with an `fsync` at the end.
    pub create_fsync: u64,
    /// Deletes a file.
    pub delete: u64,
}

/// A profile of FFSB: one file system, one group of threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FfsbConfig {
    /// Threads of the group (`num_threads`).
    pub threads: u32,
    /// Files that are there before (`num_files`).
    pub files: u32,
    /// Directories that files are spread over (`num_dirs`), at least 1.
    pub dirs: u32,
    /// Sizes of files (`min_filesize` and `max_filesize`, or `size_weight`).
    pub sizes: FileSizes,
    /// Weights of operations (`read_weight` and the others).
    pub weights: FfsbWeights,
    /// Whether each block that is read is at a place of its own (`read_random`).
    pub read_random: bool,
    /// Bytes of a read operation (`read_size`), and of a call (`read_blocksize`).
    pub read: (u64, u64),
    /// Whether each block that is written is at a place of its own (`write_random`).
    pub write_random: bool,
    /// Bytes of a write or append operation (`write_size`), and of a call (`write_blocksize`).
    pub write: (u64, u64),
    /// Whether a write operation ends with `fsync` (`fsync_file`).
    pub fsync: bool,
    /// Whether places of operations are multiples of 4 KiB instead of any byte (`alignio`).
    pub alignio: bool,
    /// Whether the newest of the files are in memory, as after their creation.
    pub cached: bool,
    /// How long a thread sleeps after each operation (`op_delay`).
    pub delay: Duration,
}

impl FfsbConfig {
    /// Half of the operations read and half write: 16 KiB at one place, in blocks of 4 KiB, of a
    /// thousand files of 10 MB. FFSB has defaults for the order of blocks (one after the other),
    /// `alignio`, `fsync` and the delay; it has none for weights, sizes and files.
    pub const DEFAULT: FfsbConfig = FfsbConfig {
        threads: 1,
        files: 1000,
        dirs: 10,
        sizes: FileSizes::Between(10 << 20, 10 << 20),
        weights: FfsbWeights {
            read: 1,
            readall: 0,
            write: 1,
            append: 0,
            create: 0,
            create_fsync: 0,
            delete: 0,
        },
        read_random: false,
        read: (16 << 10, 4 << 10),
        write_random: false,
        write: (16 << 10, 4 << 10),
        fsync: false,
        alignio: false,
        cached: false,
        delay: Duration::ZERO,
    };

    /// The files that are there before.
    pub const fn prepare(&self) -> Prepare {
        Prepare {
            files: self.files,
            directories: Directories::Inside(self.dirs),
            sizes: self.sizes,
            series: 0,
            cached: self.cached,
        }
    }
}

/// What `alignio` aligns to, whatever the block (`get_random_offset`).
const ALIGNED: u64 = 4096;

/// An operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operation {
    Read,
    ReadAll,
    Write,
    Append,
    Delete,
}

/// What ends an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Close {
    /// Nothing: the file was released when it was open.
    Released,
    /// The file is released.
    Release,
    /// The new file joins the list.
    Enlist,
}

/// A file that the thread works on.
#[derive(Clone, Copy, Debug)]
struct Open {
    file: u32,
    size: u64,
}

/// Calls of an operation that are still to come.
#[derive(Clone, Copy, Debug)]
struct Run {
    open: Open,
    writes: bool,
    random: bool,
    /// Bytes of a call.
    block: u64,
    /// Where the next call is, if the places are one after the other.
    at: u64,
    /// Bytes to come.
    left: u64,
    /// An `fsync` follows.
    syncs: bool,
    /// What follows in the end.
    close: Close,
}

/// Where the thread is.
#[derive(Clone, Copy, Debug)]
enum Doing {
    Begin,
    Preparing,
    Between,
    /// A file is chosen for an operation.
    Choosing(Operation),
    /// The file is asked for its end.
    Measuring(Operation, u32),
    Running(Run),
    /// A call of the run has been made, to be counted as a transaction.
    Called(Run),
    /// A file is being made, of so many bytes; whether an `fsync` ends the operation.
    Creating(u64, bool),
    /// A file is being removed, to be counted as a transaction.
    Deleting,
    /// The file is to be released, or to join the list.
    Closing(u32, Close),
    /// A call that is followed by no other one.
    Last,
}

/// A thread.
#[derive(Clone, Debug)]
pub struct Ffsb {
    config: FfsbConfig,
    disk: FileId,
    /// Number of the first prepared file, the name of the list.
    first: u32,
    doing: Doing,
    /// When the call under way began.
    since: Instant,
    random: RandomStream,
}

impl Ffsb {
    /// A thread in the file system of `disk`. All threads of a run have the same `config`.
    ///
    /// # Panics
    /// When blocks, files, directories or all weights are zero, or a file has no more than a block.
    #[track_caller]
    pub fn new(disk: FileId, config: FfsbConfig) -> Self {
        let low = config.sizes.smallest();
        assert!(config.read.1 > 0 && config.write.1 > 0 && config.files > 0 && config.dirs > 0);
        assert!(
            low >= config.read.1.max(config.write.1),
            "a file has at least a block"
        );
        assert!(
            Self::total(&config.weights) > 0,
            "some operation has a weight"
        );
        Ffsb {
            config,
            disk,
            first: 0,
            doing: Doing::Begin,
            since: Instant::ZERO,
            random: RandomStream::new(0, 0, "ffsb"),
        }
    }

    fn total(weights: &FfsbWeights) -> u64 {
        let w = weights;
        w.read + w.readall + w.write + w.append + w.create + w.create_fsync + w.delete
    }

    fn does(&self, file: u32, what: What) -> Op {
        let device = self.disk.device;
        FileId { device, file }.does(what)
    }

    /// A place before `range`, or 0 where there is none (`get_random_offset`).
    fn place(&mut self, range: u64) -> u64 {
        match self.config.alignio {
            true => self.random.below((range / ALIGNED).max(1)) * ALIGNED,
            false => self.random.below(range.max(1)),
        }
    }

    /// A part of `open`: `bytes` in blocks, at one place or at several.
    fn part(&mut self, open: Open, (bytes, block): (u64, u64), random: bool, writes: bool) -> Run {
        // One place is where all of it fits.
        let bytes = bytes.min(open.size);
        let at = match random {
            true => 0,
            false => self.place(open.size - bytes),
        };
        Run {
            open,
            writes,
            random,
            block,
            at,
            left: bytes,
            syncs: writes && self.config.fsync,
            close: Close::Release,
        }
    }

    /// All of `open` from `at` on.
    fn whole(&self, open: Open, (at, end): (u64, u64), writes: bool, close: Close) -> Run {
        let block = if writes {
            self.config.write.1
        } else {
            self.config.read.1
        };
        Run {
            open,
            writes,
            random: false,
            block,
            at,
            left: end - at,
            syncs: writes && self.config.fsync,
            close,
        }
    }

    /// Chooses an operation.
    fn choose(&mut self) -> Op {
        let w = self.config.weights;
        let mut draw = self.random.below(Self::total(&w));
        let mut is = |weight: u64| {
            let hit = draw < weight;
            draw = draw.wrapping_sub(weight);
            hit
        };
        let operation = if is(w.read) {
            Operation::Read
        } else if is(w.readall) {
            Operation::ReadAll
        } else if is(w.write) {
            Operation::Write
        } else if is(w.append) {
            Operation::Append
        } else if is(w.create) {
            return self.create(false);
        } else if is(w.create_fsync) {
            return self.create(true);
        } else {
            Operation::Delete
        };
        self.doing = Doing::Choosing(operation);
        let (alone, draw) = (operation == Operation::Delete, self.random.next_u64());
        self.does(self.first, What::Choose { alone, draw })
    }

    fn create(&mut self, syncs: bool) -> Op {
        let bytes = match self.config.sizes {
            FileSizes::Between(low, high) => low + self.random.below(high - low + 1),
            sizes => sizes.drawn(self.random.next_u64()),
        };
        let place = self.random.below(u64::from(self.config.dirs)) as u32;
        let directory = Directories::Inside(self.config.dirs).number(place);
        self.doing = Doing::Creating(bytes, syncs || self.config.fsync);
        self.disk.does(What::Create { directory })
    }

    /// The operation on its file, whose end is known.
    fn begin(&mut self, operation: Operation, open: Open) -> Run {
        let config = self.config;
        match operation {
            Operation::Read => self.part(open, config.read, config.read_random, false),
            Operation::Write => self.part(open, config.write, config.write_random, true),
            Operation::ReadAll | Operation::Delete => {
                self.whole(open, (0, open.size), false, Close::Release)
            }
            Operation::Append => {
                let end = open.size + config.write.0;
                self.whole(open, (open.size, end), true, Close::Released)
            }
        }
    }

    /// The next call of the run under way, or the one that ends the operation; `None` when the
    /// operation is over.
    fn go_on(&mut self) -> Option<Op> {
        if let Doing::Closing(file, close) = self.doing {
            self.doing = Doing::Last;
            let first = self.first;
            return match close {
                Close::Released => None,
                Close::Release => Some(self.does(file, What::Release { first })),
                Close::Enlist => Some(self.does(file, What::Enlist { first })),
            };
        }
        let Doing::Running(mut run) = self.doing else {
            return None;
        };
        let file = run.open.file;
        if run.left == 0 {
            self.doing = Doing::Closing(file, run.close);
            return match run.syncs {
                true => Some(self.does(file, What::Sync)),
                false => self.go_on(),
            };
        }
        let bytes = run.block.min(run.left);
        let offset = match run.random {
            true => self.place(run.open.size.saturating_sub(run.block)),
            false => run.at,
        };
        run.at += bytes;
        run.left -= bytes;
        self.doing = Doing::Called(run);
        Some(self.does(
            file,
            match run.writes {
                true => What::Write { offset, bytes },
                false => What::Read { offset, bytes },
            },
        ))
    }

    /// The step after the one that has returned `returned`, as far as there is only one.
    fn follows(&mut self, returned: u64, now: Instant) -> Option<Op> {
        let file = returned as u32;
        match self.doing {
            Doing::Begin => {
                self.doing = Doing::Preparing;
                Some(self.disk.does(What::Prepare(self.config.prepare())))
            }
            Doing::Preparing => {
                self.first = file;
                self.doing = Doing::Between;
                None
            }
            // There is no such file.
            Doing::Choosing(_) if file == self.disk.file => {
                self.doing = Doing::Between;
                Some(Op::Compute(Duration::from_micros(1)))
            }
            Doing::Choosing(Operation::Delete) => {
                self.since = now;
                self.doing = Doing::Deleting;
                Some(self.does(file, What::Remove))
            }
            Doing::Choosing(operation) => {
                self.doing = Doing::Measuring(operation, file);
                Some(self.does(file, What::Size))
            }
            Doing::Measuring(operation, file) => {
                let open = Open {
                    file,
                    size: returned,
                };
                let run = self.begin(operation, open);
                self.doing = Doing::Running(run);
                let first = self.first;
                (run.close == Close::Released).then(|| self.does(file, What::Release { first }))
            }
            Doing::Called(run) => {
                self.doing = Doing::Running(run);
                Some(self.counts())
            }
            Doing::Deleting => {
                self.doing = Doing::Last;
                Some(self.counts())
            }
            // The disk is full.
            Doing::Creating(..) if file == self.disk.file => {
                self.doing = Doing::Between;
                None
            }
            Doing::Creating(bytes, syncs) => {
                let open = Open { file, size: 0 };
                let run = self.whole(open, (0, bytes), true, Close::Enlist);
                self.doing = Doing::Running(Run { syncs, ..run });
                None
            }
            Doing::Between | Doing::Running(_) | Doing::Closing(..) | Doing::Last => None,
        }
    }

    /// A transaction is over.
    fn counts(&self) -> Op {
        Op::Report {
            released: self.since,
            work: Duration::ZERO,
        }
    }
}

impl Program for Ffsb {
    fn name(&self) -> &'static str {
        "ffsb"
    }

    fn next(&mut self, cx: &Context) -> Op {
        if let Some(op) = self.follows(cx.returned, cx.now) {
            return op;
        }
        self.since = cx.now;
        if let Some(op) = self.go_on() {
            return op;
        }
        if matches!(self.doing, Doing::Last) {
            self.doing = Doing::Between;
            if !self.config.delay.is_zero() {
                return Op::SleepUntil(cx.now + self.config.delay);
            }
        }
        self.choose()
    }

    fn seed(&mut self, random: RandomStream) {
        self.random = random;
    }
}
