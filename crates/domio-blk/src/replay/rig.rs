//! Clock, processes, and the order of what happens at one time.
//!
//! At one µs: timers, then completions, then lines of the script. After each of these, the work
//! that was asked for runs, then the processes that were woken.

use super::device::Disk;
use super::script::{IoScript, IoStep, When};
use crate::elevator::{Bio, IoPrio, IoWay, Jiffies, QueueAction, QueueWork, RequestId, Submitter};
use crate::queue::{DiskQueue, QueueTimers, Submitted};
use alloc::collections::{BTreeMap, BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt::{self, Write};

/// The clock's tick at the start.
const FIRST_TICK: Jiffies = 1_000_000;

const US_PER_SECOND: i64 = 1_000_000;

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
    queue: DiskQueue,
    disk: Disk,
    now_us: u64,
    processes: Vec<Process>,
    /// The process of each I/O context.
    of_submitter: Vec<usize>,
    /// The process of each line.
    of_line: Vec<usize>,
    /// Lines that go at a time, by time and name.
    due: BinaryHeap<Reverse<(u64, u32)>>,
    timers: QueueTimers,
    work: VecDeque<QueueWork>,
    woken: VecDeque<Submitter>,
}

/// Runs a script and writes the answer.
///
/// # Errors
/// Those of `out`.
pub fn replay(script: &IoScript, out: &mut dyn Write) -> fmt::Result {
    let elevator = (script.elevator.make)(&script.tuning, FIRST_TICK);
    let mut rig = Rig {
        script,
        out,
        queue: DiskQueue::new(script.limits, elevator),
        disk: Disk::new(script.times, script.pick),
        now_us: 0,
        processes: Vec::new(),
        of_submitter: Vec::new(),
        of_line: Vec::new(),
        due: BinaryHeap::new(),
        timers: QueueTimers::default(),
        work: VecDeque::new(),
        woken: VecDeque::new(),
    };
    rig.populate();
    while rig.step()? {
        rig.settle()?;
    }
    Ok(())
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
        self.due.push(Reverse((due.max(self.now_us), line)));
    }

    fn jiffies(&self) -> Jiffies {
        let ticks = i128::from(self.now_us) * i128::from(self.script.limits.hz);
        FIRST_TICK + (ticks / i128::from(US_PER_SECOND)) as Jiffies
    }

    /// The time in nanoseconds, from jiffy 0.
    fn ns(&self) -> i64 {
        FIRST_TICK * (1_000_000_000 / self.script.limits.hz) + self.now_us as i64 * 1000
    }

    /// The time (µs) at which a jiffy begins.
    fn begin_of(&self, jiffy: Jiffies) -> u64 {
        ((jiffy - FIRST_TICK) * (US_PER_SECOND / self.script.limits.hz)) as u64
    }

    /// The next thing that happens. Says whether there was one.
    fn step(&mut self) -> Result<bool, fmt::Error> {
        let tick = self.timers.next();
        let tick = tick.map(|jiffy| self.begin_of(jiffy));
        let end = self.disk.next_end();
        let line = self.due.peek().map(|Reverse((us, _))| *us);
        let Some(next) = [tick, end, line].into_iter().flatten().min() else {
            return Ok(false);
        };
        self.now_us = next;
        self.queue.tell_ns(self.ns());
        if tick == Some(next) {
            self.tick()?;
        } else if end == Some(next) {
            self.complete()?;
        } else if let Some(Reverse((_, line))) = self.due.pop() {
            self.line(line)?;
        }
        Ok(true)
    }

    /// All timers of this tick fire, by expiry, then by arming.
    fn tick(&mut self) -> fmt::Result {
        let now = self.jiffies();
        for due in self.timers.due(now) {
            if self.timers.take(due) {
                self.queue.timer(now, due.timer);
                self.carry_out()?;
            }
        }
        Ok(())
    }

    fn complete(&mut self) -> fmt::Result {
        let Some(rq) = self.disk.finish(self.now_us) else {
            return Ok(());
        };
        let ids: Vec<u64> = self.queue.requests().tags(rq).collect();
        writeln!(self.out, "{} complete {}", self.now_us, ids[0])?;
        self.queue.complete(self.jiffies(), rq);
        for id in ids {
            let line = id as u32 - 1;
            let at = self.of_line[line as usize];
            if self.processes[at].awaits == Some(line) {
                self.processes[at].awaits = None;
                self.schedule(at, Some(self.now_us));
            }
        }
        Ok(())
    }

    fn line(&mut self, line: u32) -> fmt::Result {
        let at = self.of_line[line as usize];
        let now = self.jiffies();
        self.processes[at].gone += 1;
        self.processes[at].submitted_us = self.now_us;
        let Process { pid, submitter, .. } = self.processes[at];
        let Some(bio) = self.bio(line) else {
            self.queue.exit(now, submitter);
            writeln!(self.out, "{} exit {pid}", self.now_us)?;
            self.processes[at].submitter = Submitter(self.of_submitter.len() as u32);
            self.of_submitter.push(at);
            self.schedule(at, Some(self.now_us));
            return Ok(());
        };
        let us = self.now_us;
        let kind = kind(bio.way, bio.is_sync());
        writeln!(
            self.out,
            "{us} submit {} {pid} {kind} {} {}",
            bio.tag, bio.sector, bio.sectors
        )?;
        let submitted = self.queue.submit(now, &bio);
        self.went(at, submitted)
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

    /// A process has submitted, and sleeps or goes on. A reader who waits for the data has the
    /// queue unplugged.
    fn went(&mut self, at: usize, submitted: Submitted) -> fmt::Result {
        if submitted == Submitted::Asleep {
            self.carry_out()?;
            return writeln!(self.out, "{} sleep {}", self.now_us, self.processes[at].pid);
        }
        let process = &self.processes[at];
        let line = self.script.lines[process.lines[process.gone - 1] as usize];
        if let IoStep::Io {
            way: IoWay::Read,
            sync: true,
            ..
        } = line.step
        {
            self.queue.unplug(self.jiffies());
        }
        self.schedule(at, None);
        Ok(())
    }

    /// Runs what was asked for, until nothing is left.
    fn settle(&mut self) -> fmt::Result {
        loop {
            self.carry_out()?;
            if let Some(work) = self.work.pop_front() {
                self.queue.work(self.jiffies(), work);
            } else if let Some(submitter) = self.woken.pop_front() {
                let at = self.of_submitter[submitter.index()];
                writeln!(self.out, "{} wake {}", self.now_us, self.processes[at].pid)?;
                let submitted = self.queue.resume(self.jiffies(), submitter);
                self.went(at, submitted)?;
            } else {
                return Ok(());
            }
        }
    }

    /// Carries out what the queue asks for.
    fn carry_out(&mut self) -> fmt::Result {
        while let Some(action) = self.queue.take_action() {
            match action {
                QueueAction::Arm(timer, jiffy) => {
                    let jiffy = jiffy.max(self.jiffies() + 1);
                    self.timers.arm(timer, jiffy);
                }
                QueueAction::Cancel(timer) => self.timers.cancel(timer),
                QueueAction::Work(work) => self.work.push_back(work),
                QueueAction::Start(rq) => self.start(rq)?,
                QueueAction::Wake(submitter) => self.woken.push_back(submitter),
            }
        }
        Ok(())
    }

    fn start(&mut self, id: RequestId) -> fmt::Result {
        let requests = self.queue.requests();
        let rq = requests[id];
        let first = requests.tags(id).next().unwrap_or_default();
        let kind = kind(rq.way, rq.is_sync());
        write!(
            self.out,
            "{} dispatch {first} {kind} {} {} ",
            self.now_us, rq.sector, rq.sectors
        )?;
        for (i, tag) in requests.tags(id).enumerate() {
            write!(self.out, "{}{tag}", if i == 0 { "" } else { "," })?;
        }
        writeln!(self.out)?;
        self.disk.take(self.now_us, id, rq.sector, rq.sectors);
        Ok(())
    }
}

fn kind(way: IoWay, sync: bool) -> &'static str {
    match (way, sync) {
        (IoWay::Read, _) => "RS",
        (IoWay::Write, true) => "WS",
        (IoWay::Write, false) => "WA",
    }
}
