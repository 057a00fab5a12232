//! A job of fio, the flexible I/O tester, in fio's own words. Source: `fio(1)` of version 3.33.
//!
//! | file | holds |
//! |---|---|
//! | `mod` | what a job is, and the program |
//! | `job` | the reader of job files |
//! | `keys` | keys that are left out or refused |
//! | `mix` | calls of several sizes |
//! | `units` | sizes and times as fio writes them |
//!
//! A process has one call under way. A job that keeps several in flight (`iodepth`, with an
//! asynchronous engine) is so many processes, its *lanes*: each makes every `iodepth`-th call of
//! the job, and has its part of the rate. Lanes of a sequential job so ask for neighbouring blocks
//! at the same time, as fio does; but a lane that is ahead does not take over calls of a slow one.
//! Each lane thinks on its own. Random jobs draw each place anew (`norandommap`).
//!
//! A job that passes the page cache by (`direct`) works on the disk itself. Other jobs have a file
//! for each clone, of a length that all of the job fits in, which is there before
//! ([`Fio::on_a_file`]): fio lays its files down before the time of a job begins.

mod job;
mod keys;
mod mix;
mod units;
mod words;

pub use job::{FioFile, FioJob, FioLeftOut, FioNote, FioProblem};
pub use mix::BlockMix;

use crate::process::{Context, Directories, FileId, FileSizes, Op, Prepare, Program, What};
use domio_core::{Duration, Instant};
use domio_sim::RandomStream;

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

/// A job, with the defaults of fio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FioConfig {
    /// Percent of the calls that read: 100 with `rw=read`, 0 with `rw=write`, `rwmixread` with
    /// both.
    pub reads: u32,
    /// Whether each call is at a place of its own (`rw=randread` and others).
    pub random: bool,
    /// Bytes from the end of a call to the begin of the next one where they are not random
    /// (`rw=read:8k`); with less than 0 calls go from the end to the begin (`rw=read:-8k`).
    pub step: i64,
    /// Bytes of a call that reads, and of one that writes (`bs`), over 0; the smallest of a mix.
    pub block: (u64, u64),
    /// Sizes of calls that read, and of those that write, where there are several (`bssplit`).
    pub mix: [Option<BlockMix>; 2],
    /// First byte (`offset`), and how much further on each clone begins (`offset_increment`).
    pub offset: (u64, u64),
    /// Bytes of the file that are used, from the first (`size`).
    pub size: u64,
    /// Bytes that are read and written in all; `None` for as many as [`FioConfig::size`]
    /// (`io_size`).
    pub io_size: Option<u64>,
    /// When the job ends at the latest (`runtime`).
    pub runtime: Option<Duration>,
    /// Whether the job begins anew until then (`time_based`).
    pub time_based: bool,
    /// Calls that are kept in flight (`iodepth`), where the engine is asynchronous.
    pub iodepth: u32,
    /// Whether the engine waits for each call (`ioengine=psync`), and knows no depth.
    pub waits: bool,
    /// Clones of the job (`numjobs`).
    pub numjobs: u32,
    /// Most bytes a second (`rate`).
    pub rate: Option<u64>,
    /// Most calls a second (`rate_iops`).
    pub rate_iops: Option<u64>,
    /// How long the job sleeps (`thinktime`), and after how many calls (`thinktime_blocks`).
    pub think: (Duration, u64),
    /// How long the job sleeps before it begins (`startdelay`).
    pub delay: Duration,
    /// Whether the page cache is passed by (`direct`): the caller chooses the file accordingly.
    pub direct: bool,
    /// Writes after which the file is flushed; 0 for never (`fsync`).
    pub fsync: u64,
    /// Whether the file is flushed at the end (`end_fsync`).
    pub end_fsync: bool,
}

impl FioConfig {
    /// What fio does when nothing is said, with a file of 1 GiB (fio has no default for `size`).
    pub const DEFAULT: FioConfig = FioConfig {
        reads: 100,
        random: false,
        step: 0,
        block: (4096, 4096),
        mix: [None; 2],
        offset: (0, 0),
        size: 1 << 30,
        io_size: None,
        runtime: None,
        time_based: false,
        iodepth: 1,
        waits: true,
        numjobs: 1,
        rate: None,
        rate_iops: None,
        think: (Duration::ZERO, 1),
        delay: Duration::ZERO,
        direct: false,
        fsync: 0,
        end_fsync: false,
    };

    /// Processes that keep the calls of one clone in flight.
    pub fn lanes(&self) -> u32 {
        match self.waits {
            true => 1,
            false => self.iodepth.max(1),
        }
    }

    /// First byte behind all that the clones use.
    pub fn end(&self) -> u64 {
        let (offset, increment) = self.offset;
        let clones = u64::from(self.numjobs.max(1) - 1);
        let last = offset.saturating_add(increment.saturating_mul(clones));
        last.saturating_add(self.size)
    }

    /// First byte of sequential call `number` of one way, from the first that is used.
    fn place(&self, number: u64, block: u64) -> u64 {
        let step = self.step.unsigned_abs();
        if self.step >= 0 {
            let stride = block.saturating_add(step);
            let places = match step {
                0 => self.size / block,
                _ => self.size.saturating_sub(block) / stride + 1,
            };
            return number % places.max(1) * stride;
        }
        // From the last place down; a step back is longer than a block.
        let (last, stride) = (self.size.saturating_sub(step), step.saturating_sub(block));
        last - number % (last / stride.max(1) + 1) * stride
    }

    /// The files of all clones of a job that does not work on the disk itself, as job number
    /// `series` of its disk.
    pub fn prepare(&self, series: u32) -> Prepare {
        let bytes = self.end();
        Prepare {
            files: self.numjobs,
            directories: Directories::Root,
            sizes: FileSizes::Between(bytes, bytes),
            series,
            cached: false,
        }
    }

    /// Processes of the job: those of all clones.
    pub fn processes(&self) -> u32 {
        self.numjobs.saturating_mul(self.lanes())
    }

    /// Bytes of the largest call that reads, and of the largest one that writes.
    pub(super) fn largest(&self) -> (u64, u64) {
        let of = |way: usize, block| self.mix[way].map_or(block, |mix| mix.largest());
        (of(0, self.block.0), of(1, self.block.1))
    }

    /// Why there is no such job, if there is none.
    pub fn fault(&self) -> Option<&'static str> {
        let (read, write) = self.largest();
        let largest = match self.reads {
            100 => read,
            0 => write,
            _ => read.max(write),
        };
        if read == 0 || write == 0 {
            return Some("bs has to be over 0");
        }
        if self.size < largest {
            return Some("size has to be a block (bs) at least");
        }
        if self.reads > 100 {
            return Some("rwmixread is a percentage, up to 100");
        }
        if self.numjobs == 0 || self.iodepth == 0 || self.think.1 == 0 {
            return Some("numjobs, iodepth and thinktime_blocks have to be over 0");
        }
        if self.rate == Some(0) || self.rate_iops == Some(0) {
            return Some("rate and rate_iops have to be over 0");
        }
        if self.time_based && self.runtime.is_none() {
            return Some("time_based needs a runtime");
        }
        None
    }
}

/// What a lane is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Doing {
    Begin,
    /// The file is being looked for.
    Preparing,
    Between,
    /// A call is under way.
    Calling {
        since: Instant,
    },
    /// A call is to be reported.
    Called,
    Flushing,
    LastFlush,
    Over,
}

/// One lane of a clone of a job.
#[derive(Clone, Debug)]
pub struct Fio {
    config: FioConfig,
    file: FileId,
    lane: u32,
    clone: u32,
    /// The number of the job's files among those of all jobs, if it has some.
    series: Option<u32>,
    /// First byte of this clone.
    begin: u64,
    /// Bytes that this lane has still to read and write.
    left: u64,
    /// Calls of each way, of all lanes, before the lane's next one.
    calls: [u64; 2],
    /// Where the next sequential call of each way begins, where calls have several sizes.
    next: [u64; 2],
    since_think: u64,
    since_flush: u64,
    began: Instant,
    /// When the rate allows the next call.
    allowed: Instant,
    doing: Doing,
    random: RandomStream,
}

impl Fio {
    /// Process `index` of those of a job ([`FioConfig::processes`]) on `file`.
    ///
    /// # Panics
    /// When the job has a [`FioConfig::fault`].
    #[track_caller]
    pub fn new(file: FileId, config: FioConfig, index: u32) -> Self {
        if let Some(fault) = config.fault() {
            panic!("no such job of fio: {fault}");
        }
        let lanes = config.lanes();
        let (lane, clone) = (index % lanes, index / lanes);
        let (offset, increment) = config.offset;
        Fio {
            config,
            file,
            lane,
            clone,
            series: None,
            begin: offset.saturating_add(increment.saturating_mul(clone.into())),
            left: Fio::share(&config, lane),
            calls: [lane.into(); 2],
            next: [0; 2],
            since_think: 0,
            since_flush: 0,
            began: Instant::ZERO,
            allowed: Instant::ZERO,
            doing: Doing::Begin,
            random: RandomStream::new(0, 0, "fio"),
        }
    }

    /// Works on a file of its clone's in the file system of the disk. Jobs with one `series` and
    /// one shape have the same files.
    #[must_use]
    pub fn on_a_file(mut self, series: u32) -> Self {
        self.series = Some(series);
        self
    }

    /// Looks for the file of the job's clone, if it has one.
    fn prepare(&self) -> Option<Prepare> {
        self.series.map(|series| self.config.prepare(series))
    }

    /// The job begins: after its delay.
    fn begin(&mut self, now: Instant) -> Op {
        self.doing = Doing::Between;
        self.began = now.saturating_add(self.config.delay);
        match self.config.delay.is_zero() {
            true => self.go_on(now),
            false => Op::SleepUntil(self.began),
        }
    }

    /// Bytes of the job that a lane moves: whole blocks, the first lanes one more where they do not
    /// go up.
    fn share(config: &FioConfig, lane: u32) -> u64 {
        let (read, write) = config.block;
        let block = if config.reads == 0 { write } else { read };
        let total = config.io_size.unwrap_or(config.size);
        let (blocks, lanes) = (total.div_ceil(block), u64::from(config.lanes()));
        let mine = blocks / lanes + u64::from(u64::from(lane) < blocks % lanes);
        mine.saturating_mul(block)
    }

    /// The next call, of its bytes.
    fn call(&mut self) -> (What, u64) {
        let reads = match self.config.reads {
            0 => false,
            100 => true,
            percent => self.random.below(100) < percent.into(),
        };
        let (read, write) = self.config.block;
        let (way, unit) = if reads { (0, read) } else { (1, write) };
        let size = self.config.size;
        let mix = self.config.mix[way];
        let block = mix.map_or(unit, |mix| mix.draw(&mut self.random));
        let place = match self.config.random {
            true => {
                let place = self.random.below((size / unit).max(1)) * unit;
                // A long call has no room at the end.
                place.min(size.saturating_sub(block) / unit * unit)
            }
            false if mix.is_some() => {
                let next = &mut self.next[way];
                let place = if *next + block > size { 0 } else { *next };
                *next = place + block;
                place
            }
            false => {
                let calls = &mut self.calls[way];
                let place = self.config.place(*calls, unit);
                *calls += u64::from(self.config.lanes());
                place
            }
        };
        let offset = self.begin.saturating_add(place);
        let what = match reads {
            true => What::Read {
                offset,
                bytes: block,
            },
            false => What::Write {
                offset,
                bytes: block,
            },
        };
        self.since_flush += u64::from(!reads);
        (what, block)
    }

    /// Lets the next call wait as long as the rates want.
    fn pace(&mut self, now: Instant, bytes: u64) {
        let lanes = u64::from(self.config.lanes());
        let of_bytes = self.config.rate.map(|rate| (bytes, rate));
        let of_calls = self.config.rate_iops.map(|rate| (1, rate));
        let times = [of_bytes, of_calls].into_iter().flatten();
        let ns = times.map(|(amount, rate)| {
            let ns = u128::from(amount) * u128::from(SECOND) * u128::from(lanes);
            (ns / u128::from(rate)).min(u64::MAX.into()) as u64
        });
        if let Some(ns) = ns.max() {
            self.allowed = self
                .allowed
                .max(now)
                .saturating_add(Duration::from_nanos(ns));
        }
    }

    /// Whether the job is over for this lane.
    fn is_over(&mut self, now: Instant) -> bool {
        let runtime = self.config.runtime;
        if runtime.is_some_and(|runtime| now.since(self.began) >= runtime) {
            return true;
        }
        if self.left == 0 && self.config.time_based {
            self.left = Fio::share(&self.config, self.lane);
        }
        self.left == 0
    }

    /// What comes between two calls, or the next one.
    fn go_on(&mut self, now: Instant) -> Op {
        let config = self.config;
        if self.is_over(now) {
            self.doing = Doing::LastFlush;
            let written = config.reads < 100;
            if config.end_fsync && written && self.lane == 0 {
                return self.file.does(What::Sync);
            }
            self.doing = Doing::Over;
            return Op::Exit;
        }
        if config.fsync > 0 && self.since_flush >= config.fsync {
            self.since_flush = 0;
            self.doing = Doing::Flushing;
            return self.file.does(What::Sync);
        }
        let (think, blocks) = config.think;
        if !think.is_zero() && self.since_think >= blocks {
            self.since_think = 0;
            return Op::SleepUntil(now.saturating_add(think));
        }
        if self.allowed > now {
            return Op::SleepUntil(self.allowed);
        }
        let (what, bytes) = self.call();
        self.pace(now, bytes);
        self.left = self.left.saturating_sub(bytes);
        self.since_think += 1;
        self.doing = Doing::Calling { since: now };
        self.file.does(what)
    }
}

impl Program for Fio {
    fn name(&self) -> &'static str {
        "fio"
    }

    fn seed(&mut self, random: RandomStream) {
        self.random = random;
    }

    fn next(&mut self, cx: &Context) -> Op {
        match self.doing {
            Doing::Begin => match self.prepare() {
                Some(prepare) => {
                    self.doing = Doing::Preparing;
                    self.file.does(What::Prepare(prepare))
                }
                None => self.begin(cx.now),
            },
            Doing::Preparing => {
                self.file.file = cx.returned as u32 + self.clone;
                self.begin(cx.now)
            }
            Doing::Calling { since } => {
                self.doing = Doing::Called;
                // The end of the file ends the job.
                if cx.returned == 0 {
                    self.left = 0;
                    self.config.time_based = false;
                }
                Op::Report {
                    released: since,
                    work: Duration::ZERO,
                }
            }
            Doing::Between | Doing::Called | Doing::Flushing => {
                self.doing = Doing::Between;
                self.go_on(cx.now)
            }
            Doing::LastFlush | Doing::Over => Op::Exit,
        }
    }
}
