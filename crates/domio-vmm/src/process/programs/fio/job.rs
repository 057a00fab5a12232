//! Job files of fio: sections in brackets, with `key=value` or a `key` alone in each line. What
//! `[global]` says holds for the jobs behind.

use super::FioConfig;
use super::keys::{Other, other};
use super::mix::BlockMix;
use super::units::{percent_of, size, time};
use super::words::{NUMBER, engine, flag, is_sync, number, percent};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use domio_core::Duration;

/// A job, with the name of its section.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FioJob {
    /// Name of the section.
    pub name: String,
    /// The job. Before [`FioJob::on_disk`] what is given in percent of the disk is as by default.
    pub config: FioConfig,
    /// What is given in percent of the disk.
    of_disk: OfDisk,
}

/// `size`, `offset` and `offset_increment` in percent of the disk, where they are given so.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct OfDisk {
    size: Option<u32>,
    offset: Option<u32>,
    increment: Option<u32>,
    /// Percent of the size that are read and written in all, where it is given so.
    io_size: Option<u32>,
    /// Line of the first of them.
    line: usize,
}

impl FioJob {
    /// The job on a disk of so many bytes, of which `size` and `offset` may be parts. As in fio,
    /// both are whole blocks, and a part of the disk ends where the disk does.
    pub fn on_disk(&self, bytes: u64) -> FioConfig {
        let mut config = self.config;
        let of = self.of_disk;
        let block = match config.reads {
            100 => config.block.0,
            0 => config.block.1,
            _ => config.block.0.max(config.block.1),
        };
        let whole = |bytes: u64| bytes / block * block;
        if let Some(percent) = of.offset {
            config.offset.0 = whole(percent_of(percent, bytes));
        }
        if let Some(percent) = of.increment {
            config.offset.1 = whole(percent_of(percent, bytes));
        }
        if let Some(percent) = of.size {
            let (read, write) = config.largest();
            let room = bytes.saturating_sub(config.offset.0);
            let part = percent_of(percent, bytes).min(room);
            config.size = whole(part).max(read.max(write));
            if let Some(percent) = of.io_size {
                config.io_size = Some(percent_of(percent, config.size));
            }
        }
        config
    }
}

/// What a job file says.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FioFile {
    /// The jobs, in order.
    pub jobs: Vec<FioJob>,
    /// Keys that change nothing here, in the order of their lines.
    pub notes: Vec<FioNote>,
}

/// A key that changes nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FioNote {
    /// Line, from 1.
    pub line: usize,
    /// The key.
    pub key: String,
    /// What becomes of it.
    pub why: FioLeftOut,
}

/// Why a key changes nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FioLeftOut {
    /// It is of fio's report, and of no request.
    OfReport,
    /// It is not modelled: what a job does instead.
    Instead(&'static str),
    /// It is no key of fio that is known here.
    Unknown,
}

impl fmt::Display for FioNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.why {
            FioLeftOut::OfReport => "is of fio's report, and changes no request",
            FioLeftOut::Instead(what) => {
                return write!(f, "line {}: {} is left out: {what}", self.line, self.key);
            }
            FioLeftOut::Unknown => "is no key that domio knows, and changes nothing",
        };
        write!(f, "line {}: {} {what}", self.line, self.key)
    }
}

/// What is wrong with a job file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FioProblem {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong, and what was expected.
    pub why: String,
}

impl fmt::Display for FioProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

/// A job as far as it was read.
#[derive(Clone, Copy)]
struct Draft {
    config: FioConfig,
    /// Percent of reads where both ways are wanted.
    mix: u32,
    /// Whether both ways are wanted.
    mixed: bool,
    of_disk: OfDisk,
    /// Rates of reads and of writes: bytes a second, calls a second.
    rates: [Rates; 2],
    /// Line of the ways.
    step_line: usize,
    /// Line of what flushes each write.
    sync: Option<usize>,
    /// Line of a part of random calls, and the percentage.
    random: Option<(usize, u32)>,
}

/// Rates of reads and of writes.
#[derive(Clone, Copy, Default)]
struct Rates {
    line: usize,
    of: [Option<u64>; 2],
}

impl Rates {
    /// The rate of a job of such ways.
    fn of_job(self, reads: bool, writes: bool) -> Result<Option<u64>, (usize, &'static str)> {
        match (reads, writes, self.of) {
            (true, false, [rate, _]) | (false, _, [_, rate]) => Ok(rate),
            (true, true, [read, write]) if read == write => Ok(read),
            _ => Err((
                self.line,
                "a mixed job has one rate for both ways; write a job that reads and one that \
                 writes, each with its own rate",
            )),
        }
    }
}

impl FioFile {
    /// Reads a job file.
    ///
    /// # Errors
    /// All that is wrong, in the order of the lines.
    pub fn read(text: &str) -> Result<FioFile, Vec<FioProblem>> {
        let mut file = FioFile::default();
        let mut problems = Vec::new();
        let mut global = Draft {
            config: FioConfig::DEFAULT,
            mix: 50,
            mixed: false,
            of_disk: OfDisk::default(),
            rates: [Rates::default(); 2],
            step_line: 1,
            sync: None,
            random: None,
        };
        let mut open: Option<(usize, String, Draft)> = None;
        let mut is_global = false;
        for (i, line) in text.lines().enumerate() {
            let number = i + 1;
            // A comment ends a value, too.
            let line = line.split(['#', ';']).next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            if let Some(name) = line.strip_prefix('[') {
                file.close(open.take(), &mut problems);
                let Some(name) = name.strip_suffix(']') else {
                    let why = format!("expected ] at the end of the section {line:?}");
                    problems.push(FioProblem { line: number, why });
                    continue;
                };
                is_global = name.trim() == "global";
                open = (!is_global).then(|| (number, name.trim().to_owned(), global));
                continue;
            }
            let draft = match &mut open {
                Some((_, _, draft)) => draft,
                None if is_global => &mut global,
                None => {
                    let why = format!("expected a section as [global] or [job] before {line:?}");
                    problems.push(FioProblem { line: number, why });
                    continue;
                }
            };
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            let (key, value) = (key.trim(), value.trim());
            let mut note = |why| {
                let key = key.to_owned();
                file.notes.push(FioNote {
                    line: number,
                    key,
                    why,
                });
            };
            match draft.set(number, key, value) {
                Ok(true) => {}
                Ok(false) => match other(key) {
                    Other::OfReport => note(FioLeftOut::OfReport),
                    Other::LeftOut(what) => note(FioLeftOut::Instead(what)),
                    Other::Unknown => note(FioLeftOut::Unknown),
                    Other::Refused(instead) => {
                        let why = format!("{key} is not modelled; {instead}");
                        problems.push(FioProblem { line: number, why });
                    }
                },
                Err(expected) => {
                    let why = format!("{key}={value}: expected {expected}");
                    problems.push(FioProblem { line: number, why });
                }
            }
        }
        file.close(open, &mut problems);
        if file.jobs.is_empty() && problems.is_empty() {
            let why =
                "there is no job; expected a section as [job] with rw, bs and size".to_owned();
            problems.push(FioProblem { line: 1, why });
        }
        match problems.is_empty() {
            true => Ok(file),
            false => Err(problems),
        }
    }

    /// The section of a job has ended.
    fn close(&mut self, open: Option<(usize, String, Draft)>, problems: &mut Vec<FioProblem>) {
        let Some((line, name, draft)) = open else {
            return;
        };
        let mut config = draft.config;
        if draft.mixed {
            config.reads = draft.mix;
        }
        if let Some(percent) = draft.of_disk.io_size {
            config.io_size = Some(percent_of(percent, config.size));
        }
        for problem in draft.finish(&mut config) {
            let (line, why) = problem;
            let why = format!("[{name}]: {why}");
            problems.push(FioProblem { line, why });
        }
        match config.fault() {
            Some(fault) => problems.push(FioProblem {
                line,
                why: format!("[{name}]: {fault}"),
            }),
            None => self.jobs.push(FioJob {
                name,
                config,
                of_disk: draft.of_disk,
            }),
        }
    }
}

/// Whether a key was used; an error is what was expected.
type Set = Result<bool, &'static str>;

const SIZE: &str = "a size, as 4096, 4k or 1g";
const TIME: &str = "a time, as 30s, 100ms or 50us";

impl Draft {
    fn set(&mut self, line: usize, key: &str, value: &str) -> Set {
        if value.contains("${") {
            return Err("a value without variables of the environment");
        }
        let config = &mut self.config;
        match key {
            "rw" | "readwrite" => return self.ways(line, value),
            "bs" | "blocksize" => config.block = both(value, config.block).ok_or(SIZE)?,
            "bssplit" => (config.block, config.mix) = split(value, config)?,
            "bsrange" | "blocksize_range" => config.block = one_size(value)?,
            "size" => {
                self.of_disk.size = self.of_disk.percent(line, value)?;
                if self.of_disk.size.is_none() {
                    config.size = size(value).ok_or(SIZE)?;
                }
            }
            "io_size" | "io_limit" => match value.strip_suffix('%') {
                Some(of_size) => self.of_disk.io_size = Some(percent(of_size)?),
                None => {
                    self.of_disk.io_size = None;
                    config.io_size = Some(size(value).ok_or(SIZE)?);
                }
            },
            "offset" => {
                self.of_disk.offset = self.of_disk.percent(line, value)?;
                if self.of_disk.offset.is_none() {
                    config.offset.0 = size(value).ok_or(SIZE)?;
                }
            }
            "offset_increment" => {
                self.of_disk.increment = self.of_disk.percent(line, value)?;
                if self.of_disk.increment.is_none() {
                    config.offset.1 = size(value).ok_or(SIZE)?;
                }
            }
            "iodepth" => config.iodepth = number(value)?,
            "numjobs" => config.numjobs = number(value)?,
            "rwmixread" => self.mix = percent(value)?,
            "rwmixwrite" => self.mix = 100 - percent(value)?,
            "rate" => self.rates[0] = rates(line, value, size).ok_or(SIZE)?,
            "rate_iops" => {
                let of = |value: &str| value.parse::<u32>().ok().map(u64::from);
                self.rates[1] = rates(line, value, of).ok_or(NUMBER)?;
            }
            "sync" | "dsync" => self.sync = is_sync(value)?.then_some(line),
            "percentage_random" => self.random = Some((line, percent(value)?)),
            "random_distribution" => {
                if !(value == "random" || value.starts_with("random:")) {
                    return Err(
                        "random: places are drawn evenly, and no other distribution is \
                                modelled; a job of its own for the part that is asked for often \
                                (offset, size) comes nearest",
                    );
                }
            }
            "random_generator" => {}
            "thinktime" => {
                config.think.0 = time(value, Duration::from_micros(1)).ok_or(TIME)?;
            }
            "thinktime_blocks" => config.think.1 = number(value)?.into(),
            "runtime" => {
                let runtime = time(value, Duration::from_secs(1)).ok_or(TIME)?;
                config.runtime = (!runtime.is_zero()).then_some(runtime);
            }
            "startdelay" => config.delay = time(value, Duration::from_secs(1)).ok_or(TIME)?,
            "time_based" => config.time_based = flag(value)?,
            "direct" => config.direct = flag(value)?,
            "buffered" => config.direct = !flag(value)?,
            "fsync" | "fdatasync" => config.fsync = number(value)?.into(),
            "end_fsync" => config.end_fsync = flag(value)?,
            "ioengine" => config.waits = engine(value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What the keys of a job come to together; what is wrong, with lines.
    fn finish(&self, config: &mut FioConfig) -> Vec<(usize, &'static str)> {
        let (reads, writes) = (config.reads > 0, config.reads < 100);
        let mut wrong = Vec::new();
        let [bytes, calls] = self.rates.map(|rates| rates.of_job(reads, writes));
        for (rate, found) in [(&mut config.rate, bytes), (&mut config.rate_iops, calls)] {
            match found {
                Ok(found) => *rate = found,
                Err(problem) => wrong.push(problem),
            }
        }
        if let Some(line) = self.sync.filter(|_| writes) {
            wrong.push((
                line,
                "writes that end on the disk (O_SYNC) are not modelled; fsync=1 flushes the file \
                 behind each write, which comes nearest",
            ));
        }
        if let Some((line, percent)) = self.random {
            let is_all = percent == 100;
            if config.random != is_all && (percent != 0 || config.random) {
                wrong.push((
                    line,
                    "a job is random or not: write percentage_random=100 or none, and a job for \
                     each part",
                ));
            }
        }
        for (way, mix) in config.mix.iter_mut().enumerate() {
            let block = if way == 0 {
                &mut config.block.0
            } else {
                &mut config.block.1
            };
            // What `bs` says as well counts for nothing beside a mix.
            *block = mix.map_or(*block, |mix| mix.smallest());
        }
        let is_mixed = config.mix.iter().any(Option::is_some);
        if is_mixed && !config.random && (config.step != 0 || config.lanes() > 1) {
            wrong.push((
                self.step_line,
                "a sequential job with calls of several sizes (bssplit) has one call under way, \
                 and leaves nothing out: iodepth=1, or randread and randwrite",
            ));
        }
        let of_disk = self.of_disk;
        let parts = [of_disk.size, of_disk.offset, of_disk.increment];
        if parts.iter().any(Option::is_some) && !config.direct {
            wrong.push((
                of_disk.line,
                "a size in bytes: a percentage is one of the disk, and the job works on a file \
                 (direct=0)",
            ));
        }
        let largest = config.block.0.max(config.block.1);
        let back = config.step.unsigned_abs();
        if config.step < 0 && (back <= largest || back > config.size) {
            wrong.push((
                self.step_line,
                "rw=read:-8k has to go back by more than a block (bs), and by no more than size",
            ));
        }
        wrong
    }

    fn ways(&mut self, line: usize, value: &str) -> Set {
        let (ways, step) = value.split_once(':').unwrap_or((value, ""));
        let (random, reads) = match ways.trim() {
            "read" => (false, Some(100)),
            "write" => (false, Some(0)),
            "rw" | "readwrite" => (false, None),
            "randread" => (true, Some(100)),
            "randwrite" => (true, Some(0)),
            "randrw" => (true, None),
            _ => return Err("read, write, rw, randread, randwrite or randrw"),
        };
        self.config.step = match (step.trim(), random) {
            ("", _) | ("1", true) => 0,
            (_, true) => {
                return Err("randread, randwrite or randrw alone: each call draws its place");
            }
            (step, false) => {
                let (sign, bytes) = match step.strip_prefix('-') {
                    Some(bytes) => (-1, bytes),
                    None => (1, step),
                };
                let bytes = size(bytes).and_then(|bytes| i64::try_from(bytes).ok());
                sign * bytes.ok_or("a size behind the colon, as rw=read:8k or rw=read:-8k")?
            }
        };
        self.step_line = line;
        self.mixed = reads.is_none();
        self.config.random = random;
        self.config.reads = reads.unwrap_or(self.mix);
        Ok(true)
    }
}

/// Sizes of reads and of writes: one alone is for both, and one that is left out stays what it was.
/// A third one, of trims, has no calls.
fn both(value: &str, before: (u64, u64)) -> Option<(u64, u64)> {
    let values: Vec<&str> = value.split(',').map(str::trim).collect();
    let or = |text: &str, before| match text {
        "" => Some(before),
        text => size(text),
    };
    match values[..] {
        [one] => size(one).map(|size| (size, size)),
        [read, write] => Some((or(read, before.0)?, or(write, before.1)?)),
        [read, write, trim] => {
            or(trim, 0)?;
            Some((or(read, before.0)?, or(write, before.1)?))
        }
        _ => None,
    }
}

/// Rates of reads and of writes, likewise; one that is left out is no limit.
fn rates(line: usize, value: &str, of: fn(&str) -> Option<u64>) -> Option<Rates> {
    let values: Vec<&str> = value.split(',').map(str::trim).collect();
    let rate = |text: &str| match text {
        "" => Some(None),
        text => of(text).map(Some),
    };
    let of = match values[..] {
        [one] => [Some(of(one)?); 2],
        [read, write] => [rate(read)?, rate(write)?],
        [read, write, trim] => {
            rate(trim)?;
            [rate(read)?, rate(write)?]
        }
        _ => return None,
    };
    Some(Rates { line, of })
}

impl OfDisk {
    /// The percentage that `value`, in `line`, is; `None` for one that is none.
    fn percent(&mut self, line: usize, value: &str) -> Result<Option<u32>, &'static str> {
        let Some(part) = value.strip_suffix('%') else {
            return Ok(None);
        };
        if self.line == 0 {
            self.line = line;
        }
        percent(part).map(Some)
    }
}

/// Sizes of calls that read and of calls that write: the smallest of each way, and the mix of the
/// ways that have several.
type Split = ((u64, u64), [Option<BlockMix>; 2]);

/// The sizes of `bssplit`: a mix for both ways, or one for each; a third one, of trims, has no
/// calls.
fn split(value: &str, before: &FioConfig) -> Result<Split, &'static str> {
    let (mut block, mut mix) = (before.block, before.mix);
    let mut set = |way: usize, read: BlockMix| {
        let of = if way == 0 { &mut block.0 } else { &mut block.1 };
        *of = read.smallest();
        mix[way] = read.one().is_none().then_some(read);
    };
    let parts: Vec<&str> = value.split(',').map(str::trim).collect();
    match parts[..] {
        [both] => {
            let read = BlockMix::read(both)?;
            (0..2).for_each(|way| set(way, read));
        }
        [_, _] | [_, _, _] => {
            for (way, part) in parts.iter().take(2).enumerate() {
                // One that is left out stays what it was.
                if !part.is_empty() {
                    set(way, BlockMix::read(part)?);
                }
            }
        }
        _ => return Err("a mix of sizes for both ways, or one for reads and one for writes"),
    }
    Ok((block, mix))
}

/// The one size that a range of sizes has; others are refused.
fn one_size(value: &str) -> Result<(u64, u64), &'static str> {
    let one = |part: &str| -> Option<u64> {
        let mut sizes = part.split('-').map(|bytes| size(bytes.trim()));
        let first = sizes.next()??;
        sizes.all(|other| other == Some(first)).then_some(first)
    };
    let sizes: Option<Vec<u64>> = value.split(',').map(one).collect();
    match sizes.as_deref() {
        Some([both]) => Ok((*both, *both)),
        Some([read, write] | [read, write, _]) => Ok((*read, *write)),
        _ => Err(
            "one size (bs): calls of any size of a range are not modelled; a mix of sizes \
                  (bssplit=4k/50:64k/50) comes nearest",
        ),
    }
}
