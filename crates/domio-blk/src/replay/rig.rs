//! Processes, device, and what is written of both.

use super::device::Disk;
use super::script::{IoScript, IoStep, When};
use crate::elevator::{Bio, IoPrio, IoWay, RequestId, Submitter};
use crate::queue::{ClockedQueue, QueueRig, Submitted};
use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt::{self, Write};
use domio_core::Instant;

/// A process of the script.
struct Process {
    pid: u32,
    prio: IoPrio,
    /// Its I/O context; another one after an exit.
    submitter: Submitter,
    /// Its lines, in order, and how many have gone.
    lines: Vec<u32>,
    gone: usize,
    /// When the last line was submitted (µs).
    submitted_us: u64,
    /// Waits for the completion of this line.
    awaits: Option<u32>,
}

struct Rig<'a> {
    script: &'a IoScript,
    out: &'a mut dyn Write,
    /// What came of writing so far.
    written: fmt::Result,
    clocked: ClockedQueue,
    disk: Disk,
    processes: Vec<Process>,
    /// The process of each I/O context.
    of_submitter: Vec<usize>,
    /// The process of each line.
    of_line: Vec<usize>,
    /// Lines that go at a time, by time and name.
    due: BinaryHeap<Reverse<(u64, u32)>>,
}

/// Runs a script and writes the answer.
///
/// # Errors
/// Those of `out`.
pub fn replay(script: &IoScript, out: &mut dyn Write) -> fmt::Result {
    let mut rig = Rig {
        script,
        out,
        written: Ok(()),
        clocked: ClockedQueue::new(script.limits, script.elevator, &script.tuning),
        disk: Disk::new(script.times, script.pick),
        processes: Vec::new(),
        of_submitter: Vec::new(),
        of_line: Vec::new(),
        due: BinaryHeap::new(),
    };
    rig.populate();
    while rig.written.is_ok() && rig.step() {}
    rig.written
}

impl Rig<'_> {
    fn populate(&mut self) {
        let mut known = BTreeMap::new();
        for (i, line) in self.script.lines.iter().enumerate() {
            let at = *known.entry(line.pid).or_insert_with(|| {
                self.processes.push(Process {
                    pid: line.pid,
                    prio: self.script.prio(line.pid),
                    submitter: Submitter(self.of_submitter.len() as u32),
                    lines: Vec::new(),
                    gone: 0,
                    submitted_us: 0,
                    awaits: None,
                });
                self.of_submitter.push(self.processes.len() - 1);
                self.processes.len() - 1
            });
            self.processes[at].lines.push(i as u32);
            self.of_line.push(at);
        }
        for at in 0..self.processes.len() {
            self.schedule(at, Some(0));
        }
    }

    /// Lets the process's next line go when it is due. `ended_us` is when the line before was
    /// completed, if it was.
    fn schedule(&mut self, at: usize, ended_us: Option<u64>) {
        let process = &mut self.processes[at];
        let Some(line) = process.lines.get(process.gone).copied() else {
            return;
        };
        let due = match self.script.lines[line as usize].when {
            When::At(us) => us,
            When::AfterSubmit(us) => process.submitted_us + us,
            When::AfterEnd(us) => match ended_us {
                Some(ended) => ended + us,
                None => {
                    process.awaits = process.gone.checked_sub(1).map(|i| process.lines[i]);
                    return;
                }
            },
        };
        self.due.push(Reverse((due.max(self.now_us()), line)));
    }

    fn now_us(&self) -> u64 {
        self.clocked.now.as_nanos() / 1000
    }

    /// Writes a line about what happens now.
    fn tell(&mut self, line: fmt::Arguments<'_>) {
        let us = self.now_us();
        if self.written.is_ok() {
            self.written = writeln!(self.out, "{us} {line}");
        }
    }

    fn bio(&self, line: u32) -> Option<Bio> {
        let process = &self.processes[self.of_line[line as usize]];
        match self.script.lines[line as usize].step {
            IoStep::Exit => None,
            IoStep::Io {
                way,
                sync,
                sector,
                sectors,
                segments,
                meta,
            } => Some(Bio {
                sector,
                sectors,
                segments,
                way,
                sync: sync && way == IoWay::Write,
                meta,
                submitter: process.submitter,
                prio: process.prio,
                tag: u64::from(line) + 1,
            }),
        }
    }

    /// A process has submitted, and sleeps or continues. A reader who waits for the data has the
    /// queue unplugged.
    fn went(&mut self, at: usize, submitted: Submitted) {
        if submitted == Submitted::Asleep {
            self.carry_out();
            let pid = self.processes[at].pid;
            return self.tell(format_args!("sleep {pid}"));
        }
        let process = &self.processes[at];
        let line = self.script.lines[process.lines[process.gone - 1] as usize];
        if let IoStep::Io {
            way: IoWay::Read,
            sync: true,
            ..
        } = line.step
        {
            self.clocked.queue.unplug(self.clocked.jiffies());
        }
        self.schedule(at, None);
    }
}

impl QueueRig for Rig<'_> {
    fn clocked(&mut self) -> &mut ClockedQueue {
        &mut self.clocked
    }

    fn next_outside(&self) -> [Option<Instant>; 2] {
        let line = self.due.peek().map(|Reverse((us, _))| *us);
        [self.disk.next_end(), line].map(|us| Some(Instant::from_nanos(us? * 1000)))
    }

    fn submit(&mut self) {
        let Some(Reverse((_, line))) = self.due.pop() else {
            return;
        };
        let at = self.of_line[line as usize];
        let now = self.clocked.jiffies();
        self.processes[at].gone += 1;
        self.processes[at].submitted_us = self.now_us();
        let Process { pid, submitter, .. } = self.processes[at];
        let Some(bio) = self.bio(line) else {
            self.clocked.queue.exit(now, submitter);
            self.tell(format_args!("exit {pid}"));
            self.processes[at].submitter = Submitter(self.of_submitter.len() as u32);
            self.of_submitter.push(at);
            return self.schedule(at, Some(self.now_us()));
        };
        let kind = kind(bio.way, bio.is_sync());
        self.tell(format_args!(
            "submit {} {pid} {kind} {} {}",
            bio.tag, bio.sector, bio.sectors
        ));
        let submitted = self.clocked.queue.submit(now, &bio);
        self.went(at, submitted);
    }

    fn start(&mut self, id: RequestId) {
        let requests = self.clocked.queue.requests();
        let rq = requests[id];
        let kind = kind(rq.way, rq.is_sync());
        let tags: Vec<String> = requests.tags(id).map(|tag| tag.to_string()).collect();
        self.tell(format_args!(
            "dispatch {} {kind} {} {} {}",
            tags[0],
            rq.sector,
            rq.sectors,
            tags.join(",")
        ));
        self.disk.take(self.now_us(), id, rq.sector, rq.sectors);
    }

    fn advance(&mut self) {
        let Some(rq) = self.disk.finish(self.now_us()) else {
            return;
        };
        let ids: Vec<u64> = self.clocked.queue.requests().tags(rq).collect();
        self.tell(format_args!("complete {}", ids[0]));
        self.clocked.queue.complete(self.clocked.jiffies(), rq);
        for id in ids {
            let line = id as u32 - 1;
            let at = self.of_line[line as usize];
            if self.processes[at].awaits == Some(line) {
                self.processes[at].awaits = None;
                self.schedule(at, Some(self.now_us()));
            }
        }
    }

    fn resumed(&mut self, submitter: Submitter, submitted: Submitted) {
        let at = self.of_submitter[submitter.index()];
        let pid = self.processes[at].pid;
        self.tell(format_args!("wake {pid}"));
        self.went(at, submitted);
    }
}

fn kind(way: IoWay, sync: bool) -> &'static str {
    match (way, sync) {
        (IoWay::Read, _) => "RS",
        (IoWay::Write, true) => "WS",
        (IoWay::Write, false) => "WA",
    }
}
