//! Job files of fio: sections in brackets, with `key=value` or a `key` alone in each line. What
//! `[global]` says holds for the jobs behind.

use super::FioConfig;
use super::units::{size, time};
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
    /// The job.
    pub config: FioConfig,
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
    /// Whether it is a key of fio, which is not modelled; otherwise nobody knows it.
    pub is_known: bool,
}

impl fmt::Display for FioNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.is_known {
            true => "is not modelled, and changes nothing",
            false => "is no key that domio knows, and changes nothing",
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

/// Keys of fio that change nothing that is modelled, or nothing at all here.
const UNMODELLED: [&str; 34] = [
    "allow_file_create",
    "bwavgtime",
    "clocksource",
    "create_on_open",
    "create_serialize",
    "description",
    "directory",
    "disable_clat",
    "disable_lat",
    "disable_slat",
    "exitall",
    "fallocate",
    "filename",
    "gtod_reduce",
    "group_reporting",
    "invalidate",
    "iodepth_batch",
    "log_avg_msec",
    "lat_percentiles",
    "loops",
    "name",
    "new_group",
    "nice",
    "norandommap",
    "per_job_logs",
    "prio",
    "ramp_time",
    "randrepeat",
    "refill_buffers",
    "stonewall",
    "thread",
    "unlink",
    "wait_for",
    "write_bw_log",
];

/// Engines that wait for each call, and those that keep several in flight.
const WAITING: [&str; 5] = ["sync", "psync", "vsync", "pvsync", "pvsync2"];
const IN_FLIGHT: [&str; 3] = ["libaio", "io_uring", "posixaio"];

/// A job as far as it was read.
#[derive(Clone, Copy)]
struct Draft {
    config: FioConfig,
    /// Percent of reads where both ways are wanted.
    mix: u32,
    /// Whether both ways are wanted.
    mixed: bool,
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
        };
        let mut open: Option<(usize, String, Draft)> = None;
        let mut is_global = false;
        for (i, line) in text.lines().enumerate() {
            let number = i + 1;
            let line = line.trim();
            if line.is_empty() || line.starts_with(['#', ';']) {
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
            match draft.set(key, value) {
                Ok(true) => {}
                Ok(false) => file.notes.push(FioNote {
                    line: number,
                    key: key.to_owned(),
                    is_known: UNMODELLED.contains(&key),
                }),
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
        match config.fault() {
            Some(fault) => problems.push(FioProblem {
                line,
                why: format!("[{name}]: {fault}"),
            }),
            None => self.jobs.push(FioJob { name, config }),
        }
    }
}

/// Whether a key was used; an error is what was expected.
type Set = Result<bool, &'static str>;

const SIZE: &str = "a size, as 4096, 4k or 1g";
const NUMBER: &str = "a whole number";
const TIME: &str = "a time, as 30s, 100ms or 50us";

impl Draft {
    fn set(&mut self, key: &str, value: &str) -> Set {
        if value.contains("${") {
            return Err("a value without variables of the environment");
        }
        let config = &mut self.config;
        match key {
            "rw" | "readwrite" => return self.ways(value),
            "bs" | "blocksize" => config.block = both(value, size).ok_or(SIZE)?,
            "size" => config.size = size(value).ok_or(SIZE)?,
            "io_size" | "io_limit" => config.io_size = Some(size(value).ok_or(SIZE)?),
            "offset" => config.offset.0 = size(value).ok_or(SIZE)?,
            "offset_increment" => config.offset.1 = size(value).ok_or(SIZE)?,
            "iodepth" => config.iodepth = number(value)?,
            "numjobs" => config.numjobs = number(value)?,
            "rwmixread" => self.mix = percent(value)?,
            "rwmixwrite" => self.mix = 100 - percent(value)?,
            "rate" => config.rate = Some(size(value).ok_or(SIZE)?),
            "rate_iops" => config.rate_iops = Some(number(value)?.into()),
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

    fn ways(&mut self, value: &str) -> Set {
        let (random, reads) = match value {
            "read" => (false, Some(100)),
            "write" => (false, Some(0)),
            "rw" | "readwrite" => (false, None),
            "randread" => (true, Some(100)),
            "randwrite" => (true, Some(0)),
            "randrw" => (true, None),
            _ => return Err("read, write, rw, randread, randwrite or randrw"),
        };
        self.mixed = reads.is_none();
        self.config.random = random;
        self.config.reads = reads.unwrap_or(self.mix);
        Ok(true)
    }
}

/// A value for reads and one for writes; one alone is for both.
fn both(value: &str, of: fn(&str) -> Option<u64>) -> Option<(u64, u64)> {
    let mut values = value.split(',').map(str::trim);
    let first = of(values.next()?)?;
    let second = match values.next() {
        Some(second) => of(second)?,
        None => first,
    };
    Some((first, second))
}

fn number(value: &str) -> Result<u32, &'static str> {
    value.parse().map_err(|_| NUMBER)
}

fn percent(value: &str) -> Result<u32, &'static str> {
    let percent = number(value).ok().filter(|percent| *percent <= 100);
    percent.ok_or("a percentage from 0 to 100")
}

fn flag(value: &str) -> Result<bool, &'static str> {
    match value {
        "" | "1" => Ok(true),
        "0" => Ok(false),
        _ => Err("0 or 1"),
    }
}

/// Whether the engine waits for each call.
fn engine(value: &str) -> Result<bool, &'static str> {
    if WAITING.contains(&value) {
        return Ok(true);
    }
    match IN_FLIGHT.contains(&value) {
        true => Ok(false),
        false => Err("sync, psync, vsync, pvsync, pvsync2, libaio, io_uring or posixaio"),
    }
}
