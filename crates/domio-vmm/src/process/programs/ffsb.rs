//! A thread of FFSB 6.0, the Flexible File System Benchmark: operations chosen by weight, on files
//! that were made before (rules after its source, disk-spec 4.2).
//!
//! All threads of a run read, write and append to the prepared files; how far a file goes is the
//! file system's to say. A thread deletes files that the thread itself has created, so that threads
//! need no list in common. Operations on directories alone (`meta`) are left out.

use crate::process::{Context, FileId, Op, Prepare, Program, What};
use alloc::vec::Vec;
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
    /// Smallest and largest size of a file (`min_filesize`, `max_filesize`; bytes).
    pub size: (u64, u64),
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
    /// How long a thread sleeps after each operation (`op_delay`).
    pub delay: Duration,
}

impl FfsbConfig {
    /// Half of the operations read and half write: 16 KiB at one place, in blocks of 4 KiB, of a
    /// thousand files of 10 MB. FFSB has defaults for the order of blocks (one after the other),
    /// the block, `fsync` and the delay; it has none for weights, sizes and files.
    pub const DEFAULT: FfsbConfig = FfsbConfig {
        threads: 1,
        files: 1000,
        dirs: 10,
        size: (10 << 20, 10 << 20),
        weights: FfsbWeights {
            read: 1,
            readall: 0,
            write: 1,
            append: 0,
            create: 0,
            delete: 0,
        },
        read_random: false,
        read: (16 << 10, 4 << 10),
        write_random: false,
        write: (16 << 10, 4 << 10),
        fsync: false,
        delay: Duration::ZERO,
    };

    /// The files that are there before.
    pub const fn prepare(&self) -> Prepare {
        Prepare {
            files: self.files,
            directories: self.dirs,
            low: self.size.0,
            high: self.size.1,
            series: 0,
        }
    }
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
}

/// Where the thread is.
#[derive(Clone, Copy, Debug)]
enum Doing {
    Begin,
    Preparing,
    Between,
    Running(Run),
    /// A call of the run has been made, to be counted as a transaction.
    Called(Run),
    /// A file is being made, of so many bytes.
    Creating(u64),
    /// The end of a file that is appended to is asked for.
    Measuring(u32),
    /// A call that is followed by no other one.
    Last,
}

/// A thread.
#[derive(Clone, Debug)]
pub struct Ffsb {
    config: FfsbConfig,
    disk: FileId,
    /// Number of the first prepared file.
    first: u32,
    /// Files that the thread has created.
    own: Vec<u32>,
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
        let (low, high) = config.size;
        assert!(low <= high, "sizes go from small to large");
        assert!(config.read.1 > 0 && config.write.1 > 0 && config.files > 0 && config.dirs > 0);
        assert!(
            low > config.read.1.max(config.write.1),
            "a file has more than a block"
        );
        assert!(
            Self::total(&config.weights) > 0,
            "some operation has a weight"
        );
        Ffsb {
            config,
            disk,
            first: 0,
            own: Vec::new(),
            doing: Doing::Begin,
            since: Instant::ZERO,
            random: RandomStream::new(0, 0, "ffsb"),
        }
    }

    fn total(weights: &FfsbWeights) -> u64 {
        let w = weights;
        w.read + w.readall + w.write + w.append + w.create + w.delete
    }

    fn does(&self, file: u32, what: What) -> Op {
        let device = self.disk.device;
        FileId { device, file }.does(what)
    }

    /// A prepared file.
    fn any(&mut self) -> Open {
        let i = self.random.below(u64::from(self.config.files)) as u32;
        Open {
            file: self.first + i,
            size: self.config.prepare().size(i),
        }
    }

    /// A part of `open`: `bytes` in blocks, at one place or at several.
    fn part(&mut self, open: Open, (bytes, block): (u64, u64), random: bool, writes: bool) -> Run {
        // One place is where all of it fits.
        let bytes = bytes.min(open.size);
        let at = match random {
            true => 0,
            false => self.random.below(open.size - bytes + 1) / block * block,
        };
        Run {
            open,
            writes,
            random,
            block,
            at,
            left: bytes,
            syncs: writes && self.config.fsync,
        }
    }

    /// All of `open` from `at` on.
    fn whole(&self, open: Open, (at, end): (u64, u64), writes: bool) -> Run {
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
        }
    }

    /// Chooses an operation; `None` when there is no file for it.
    fn choose(&mut self) -> Option<Op> {
        let w = self.config.weights;
        let mut draw = self.random.below(Self::total(&w));
        let mut is = |weight: u64| {
            let hit = draw < weight;
            draw = draw.wrapping_sub(weight);
            hit
        };
        if is(w.read) {
            let open = self.any();
            let run = self.part(open, self.config.read, self.config.read_random, false);
            self.doing = Doing::Running(run);
        } else if is(w.readall) {
            let open = self.any();
            self.doing = Doing::Running(self.whole(open, (0, open.size), false));
        } else if is(w.write) {
            let open = self.any();
            let run = self.part(open, self.config.write, self.config.write_random, true);
            self.doing = Doing::Running(run);
        } else if is(w.append) {
            let file = self.any().file;
            self.doing = Doing::Measuring(file);
            return Some(self.does(file, What::Size));
        } else if is(w.create) {
            let (low, high) = self.config.size;
            let bytes = low + self.random.below(high - low + 1);
            let directory = self.random.below(u64::from(self.config.dirs)) as u32;
            self.doing = Doing::Creating(bytes);
            return Some(self.disk.does(What::Create { directory }));
        } else {
            let count = self.own.len() as u64;
            let slot = (count > 0).then(|| self.random.below(count) as usize)?;
            let file = self.own.swap_remove(slot);
            self.doing = Doing::Last;
            return Some(self.does(file, What::Remove));
        }
        self.go_on()
    }

    /// The next call of the run under way; `None` when the run is over.
    fn go_on(&mut self) -> Option<Op> {
        let Doing::Running(mut run) = self.doing else {
            return None;
        };
        let file = run.open.file;
        if run.left == 0 {
            self.doing = Doing::Last;
            return run.syncs.then(|| self.does(file, What::Sync));
        }
        let bytes = run.block.min(run.left);
        let offset = match run.random {
            // The last block of a file is never hit.
            true => self.random.below(run.open.size / run.block - 1) * run.block,
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
    fn follows(&mut self, returned: u64) -> Option<Op> {
        match self.doing {
            Doing::Begin => {
                self.doing = Doing::Preparing;
                Some(self.disk.does(What::Prepare(self.config.prepare())))
            }
            Doing::Preparing => {
                self.first = returned as u32;
                self.doing = Doing::Between;
                None
            }
            Doing::Called(run) => {
                self.doing = Doing::Running(run);
                Some(Op::Report {
                    released: self.since,
                    work: Duration::ZERO,
                })
            }
            // The disk is full.
            Doing::Creating(_) if returned as u32 == self.disk.file => {
                self.doing = Doing::Between;
                None
            }
            Doing::Creating(bytes) => {
                let file = returned as u32;
                self.own.push(file);
                let open = Open { file, size: 0 };
                self.doing = Doing::Running(self.whole(open, (0, bytes), true));
                None
            }
            Doing::Measuring(file) => {
                let (size, bytes) = (returned, self.config.write.0);
                let open = Open { file, size };
                self.doing = Doing::Running(self.whole(open, (size, size + bytes), true));
                None
            }
            Doing::Between | Doing::Running(_) | Doing::Last => None,
        }
    }
}

impl Program for Ffsb {
    fn name(&self) -> &'static str {
        "ffsb"
    }

    fn next(&mut self, cx: &Context) -> Op {
        if let Some(op) = self.follows(cx.returned) {
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
        // An operation without a file is followed by another one.
        match (0..16).find_map(|_| self.choose()) {
            Some(op) => op,
            None => Op::Compute(Duration::from_micros(1)),
        }
    }

    fn seed(&mut self, random: RandomStream) {
        self.random = random;
    }
}
