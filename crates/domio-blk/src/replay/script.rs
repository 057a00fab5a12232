//! The script, and the reader.

use super::device::{DiskPick, ServiceTimes};
use crate::elevator::{ElevatorInfo, IoPrio, IoWay, Tuning, find_elevator};
use crate::queue::QueueLimits;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// Latest time and longest pause (µs) that a script may name: three hours.
const LONGEST_US: u64 = 10_000_000_000;

/// First sector beyond any disk.
const SECTORS: u64 = 1 << 40;

/// Most sectors of a line.
const LONGEST: u64 = 1 << 16;

/// Sectors of a segment: a page has eight.
const SEGMENT: u32 = 8;

/// What is wrong with a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IoScriptError {
    /// Line, from 1; 0 for the script as a whole.
    pub line: usize,
    /// What is wrong and what would be right, without a full stop.
    pub problem: String,
}

impl fmt::Display for IoScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        f.write_str(&self.problem)
    }
}

impl core::error::Error for IoScriptError {}

/// When a line goes (µs).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// From the start.
    At(u64),
    /// After the process's line before was completed.
    AfterEnd(u64),
    /// After the process's line before was submitted.
    AfterSubmit(u64),
}

/// What a process does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IoStep {
    /// Asks for sectors.
    Io {
        /// Direction.
        way: IoWay,
        /// A read is waited for; a write goes past the page cache.
        sync: bool,
        /// First sector.
        sector: u64,
        /// Number of sectors.
        sectors: u32,
        /// Segments of memory.
        segments: u32,
        /// Metadata flag.
        meta: bool,
    },
    /// Exits.
    Exit,
}

/// A line of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScriptLine {
    /// When.
    pub when: When,
    /// The process.
    pub pid: u32,
    /// What.
    pub step: IoStep,
}

/// A script that was read.
#[derive(Clone, Debug)]
pub struct IoScript {
    /// The elevator.
    pub elevator: &'static ElevatorInfo,
    /// Its tunables.
    pub tuning: Tuning,
    /// Limits of the queue, the clock's ticks among them.
    pub limits: QueueLimits,
    /// How long the device takes.
    pub times: ServiceTimes,
    /// Which command the device serves next.
    pub pick: DiskPick,
    /// Processes that have a class or a nice value.
    pub prios: Vec<(u32, IoPrio)>,
    /// What is done; a line's name is its place here, from 1.
    pub lines: Vec<ScriptLine>,
}

impl IoScript {
    /// Reads a script, which may name one of `elevators`. `elevator` takes the place of that one.
    ///
    /// # Errors
    /// What is wrong, with the line.
    pub fn read(
        text: &str,
        elevators: &[&'static ElevatorInfo],
        elevator: Option<&'static ElevatorInfo>,
    ) -> Result<Self, IoScriptError> {
        let mut reader = Reader {
            limits: QueueLimits::disk(250, 1),
            ..Reader::default()
        };
        for (i, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let read = match words.as_slice() {
                [] => Ok(()),
                [first, ..] if first.starts_with('#') => Ok(()),
                ["set", name, value] => reader.set(elevators, i + 1, name, value),
                ["set", ..] => Err(String::from("expected `set NAME VALUE`")),
                ["proc", rest @ ..] => reader.process(rest),
                words => reader.line(words),
            };
            read.map_err(|problem| IoScriptError {
                line: i + 1,
                problem,
            })?;
        }
        reader.finish(elevator)
    }

    /// Class and level of a process.
    pub fn prio(&self, pid: u32) -> IoPrio {
        let set = self.prios.iter().rev().find(|(p, _)| *p == pid);
        set.map_or(IoPrio::None { nice: 0 }, |(_, prio)| *prio)
    }
}

struct Reader {
    elevator: Option<&'static ElevatorInfo>,
    limits: QueueLimits,
    times: ServiceTimes,
    pick: DiskPick,
    tuned: Vec<(usize, String, i64)>,
    prios: Vec<(u32, IoPrio)>,
    lines: Vec<ScriptLine>,
}

impl Default for Reader {
    fn default() -> Self {
        Reader {
            elevator: None,
            limits: QueueLimits::disk(250, 1),
            times: ServiceTimes::default(),
            pick: DiskPick::Fifo,
            tuned: Vec::new(),
            prios: Vec::new(),
            lines: Vec::new(),
        }
    }
}

impl Reader {
    fn set(
        &mut self,
        elevators: &[&'static ElevatorInfo],
        line: usize,
        name: &str,
        value: &str,
    ) -> Result<(), String> {
        let count = |least: u64| number(value, least, 1_000_000).map(|n| n as u32);
        match name {
            "elevator" => self.elevator = Some(elevator_called(elevators, value)?),
            "hz" => {
                self.limits.hz = match value {
                    "100" => 100,
                    "250" => 250,
                    "1000" => 1000,
                    _ => return Err(format!("hz is `{value}`; expected 100, 250 or 1000")),
                }
            }
            "depth" => self.limits.depth = count(1)?,
            "svc_us" => self.times.base_us = number(value, 0, 1_000_000_000)?,
            "sec_ns" => self.times.sector_ns = number(value, 0, 1_000_000_000)?,
            "seek_us" => self.times.seek_us = number(value, 0, 1_000_000_000)?,
            "pick" => {
                self.pick = match value {
                    "fifo" => DiskPick::Fifo,
                    "near" => DiskPick::Near,
                    "parallel" => DiskPick::Parallel,
                    _ => {
                        let expected = "expected fifo, near or parallel";
                        return Err(format!("pick is `{value}`; {expected}"));
                    }
                }
            }
            "nr_requests" => self.limits.requests = count(4)?,
            "max_sectors" => self.limits.sectors = count(1)?,
            "max_segments" => self.limits.segments = count(1)?,
            _ => match name.strip_prefix("iosched.") {
                Some(tunable) => {
                    let value = value.parse();
                    let value = value.map_err(|_| String::from("expected a whole number"))?;
                    self.tuned.push((line, tunable.to_string(), value));
                }
                None => return Err(format!("there is nothing called `{name}` to set")),
            },
        }
        Ok(())
    }

    fn process(&mut self, words: &[&str]) -> Result<(), String> {
        let [pid, class, level] = words else {
            return Err(String::from("expected `proc PID none|rt|be|idle LEVEL`"));
        };
        let pid = number(pid, 0, u64::from(u32::MAX))? as u32;
        let of_class = || number(level, 0, 7).map(|level| level as u8);
        let prio = match *class {
            "none" => match level.parse() {
                Ok(nice @ -20..=19) => IoPrio::None { nice },
                _ => return Err(format!("nice is `{level}`; expected -20 to 19")),
            },
            "rt" => IoPrio::RealTime(of_class()?),
            "be" => IoPrio::BestEffort(of_class()?),
            "idle" => of_class().map(|_| IoPrio::Idle)?,
            _ => {
                let expected = "expected none, rt, be or idle";
                return Err(format!("the class is `{class}`; {expected}"));
            }
        };
        self.prios.push((pid, prio));
        Ok(())
    }

    fn line(&mut self, words: &[&str]) -> Result<(), String> {
        let (when, pid, step) = match words {
            [when, pid, "X"] => (when, pid, IoStep::Exit),
            [when, pid, way, sync, sector, sectors, meta @ ..] => {
                let way = match *way {
                    "R" => IoWay::Read,
                    "W" => IoWay::Write,
                    _ => return Err(format!("`{way}` is neither R, W nor X")),
                };
                let sync = match *sync {
                    "sync" => true,
                    "async" => false,
                    _ => return Err(format!("`{sync}` is neither sync nor async")),
                };
                let meta = match meta {
                    [] => false,
                    ["meta"] => true,
                    _ => return Err(String::from("only `meta` can follow the sectors")),
                };
                let sector = number(sector, 0, SECTORS - LONGEST)?;
                let sectors = number(sectors, 1, LONGEST)? as u32;
                let segments = sectors.div_ceil(SEGMENT);
                let step = IoStep::Io {
                    way,
                    sync,
                    sector,
                    sectors,
                    segments,
                    meta,
                };
                (when, pid, step)
            }
            _ => {
                let expected = "`TIME PID R|W sync|async SECTOR NR [meta]` or `TIME PID X`";
                return Err(format!("expected {expected}"));
            }
        };
        let time = |text: &str| number(text, 0, LONGEST_US);
        let when = if let Some(rest) = when.strip_prefix('+') {
            When::AfterEnd(time(rest)?)
        } else if let Some(rest) = when.strip_prefix('=') {
            When::AfterSubmit(time(rest)?)
        } else {
            When::At(time(when)?)
        };
        let pid = number(pid, 0, u64::from(u32::MAX))? as u32;
        self.lines.push(ScriptLine { when, pid, step });
        Ok(())
    }

    fn finish(self, elevator: Option<&'static ElevatorInfo>) -> Result<IoScript, IoScriptError> {
        let elevator = elevator.or(self.elevator).ok_or_else(|| IoScriptError {
            line: 0,
            problem: String::from("no `set elevator NAME`"),
        })?;
        let mut tuning = Tuning::defaults(elevator.tunables, self.limits.hz);
        for (line, name, value) in self.tuned {
            tuning.write(&name, value).map_err(|e| IoScriptError {
                line,
                problem: format!("{}: `{name}`: {e}", elevator.name),
            })?;
        }
        Ok(IoScript {
            elevator,
            tuning,
            limits: self.limits,
            times: self.times,
            pick: self.pick,
            prios: self.prios,
            lines: self.lines,
        })
    }
}

fn elevator_called(
    elevators: &[&'static ElevatorInfo],
    name: &str,
) -> Result<&'static ElevatorInfo, String> {
    find_elevator(elevators, name).ok_or_else(|| {
        let names: Vec<&str> = elevators.iter().map(|e| e.name).collect();
        format!("no elevator `{name}`; there are {}", names.join(", "))
    })
}

fn number(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let number = text.parse().ok().filter(|n| (least..=most).contains(n));
    number.ok_or_else(|| format!("`{text}` is no whole number from {least} to {most}"))
}
