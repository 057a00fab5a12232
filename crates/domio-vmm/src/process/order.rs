//! Which process runs next under Linux 2.6.18, the last of the O(1) scheduler (`kernel/sched.c`).
//!
//! Each process has a priority from 100 to 139, the smaller the sooner: its nice value, corrected
//! by up to five either way by how much the process has slept of late. A process that sleeps most
//! of the time goes before one that computes. A process that has used up its slice waits until all
//! others have had theirs, unless the process is interactive. The thread of the softirqs
//! (`ksoftirqd`) is a process like the others, of nice 19.
//!
//! Left out: slices are counted in executed time and not in ticks, and interactive processes of
//! equal priority take turns of a whole slice and not of a part of it
//! (`TIMESLICE_GRANULARITY`).

use super::roam;
use alloc::vec::Vec;
use domio_core::{Duration, Instant};

/// Steps by which sleeping changes a priority (`MAX_BONUS`).
const MAX_BONUS: u64 = 10;
/// Slice of nice 0 (`DEF_TIMESLICE`).
const DEFAULT_SLICE: Duration = Duration::from_millis(100);
/// The shortest slice (`MIN_TIMESLICE`).
const LEAST_SLICE: Duration = Duration::from_millis(5);
/// Most sleep that counts (`NS_MAX_SLEEP_AVG`).
const MAX_SLEEP: u64 = DEFAULT_SLICE.as_nanos() * MAX_BONUS;
/// How much better than its nice value a priority has to be to count as interactive, at nice 0
/// (`INTERACTIVE_DELTA`).
const INTERACTIVE_DELTA: i64 = 2;
/// Nice value of the thread of the softirqs.
const THREAD_NICE: i64 = 19;

/// A process, as the scheduler sees it.
#[derive(Clone, Debug)]
pub struct Process {
    nice: i64,
    /// From 100 to 139.
    priority: i64,
    /// How much the process has slept of late, in ns.
    slept: u64,
    /// One long sleep has raised `slept` to its value: more long sleeps do not raise it further.
    long_sleeper: bool,
    slice: Duration,
    ready: bool,
    /// The process has used up its slice and waits for the others (in the expired array).
    expired: bool,
    /// Place among the processes of equal priority.
    place: u64,
    /// When the process began to sleep, or was last kept from executing further.
    since: Instant,
    /// What the process has executed since it was chosen.
    ran: Duration,
}

/// Who is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChosenProcess {
    /// The process with this number.
    Process(usize),
    /// The thread of the softirqs.
    Thread,
}

/// The scheduler of one vcpu.
#[derive(Clone, Debug)]
pub struct LinuxOrder {
    /// The guest's processes, and the thread as the last.
    processes: Vec<Process>,
    current: Option<usize>,
    /// Nobody but the first process wants to execute.
    first_is_alone: bool,
    next_place: u64,
    /// When the first process came into the expired array.
    first_expired: Option<Instant>,
    /// From this number on, processes may go to other vcpus; none of them need be here.
    roam_from: usize,
    /// When the watchdog's thread wakes; [`Instant::MAX`] where nobody may go anywhere.
    watchdog_at: Instant,
    /// The last that wanted to execute has ceased to.
    newly_idle: bool,
    /// A tick has come, and nobody has looked at other vcpus since.
    ticked: bool,
    /// Not before this time does it look while it is busy.
    look_at: Instant,
}

impl Process {
    fn new(nice: i64, start: Instant) -> Self {
        let nice = nice.clamp(-20, 19);
        let mut process = Process {
            nice,
            priority: 0,
            slept: 0,
            long_sleeper: false,
            slice: Duration::ZERO,
            ready: false,
            expired: false,
            place: 0,
            since: start,
            ran: Duration::ZERO,
        };
        process.slice = process.full_slice();
        process.set_priority();
        process
    }

    fn bonus(&self) -> u64 {
        self.slept * MAX_BONUS / MAX_SLEEP
    }

    fn static_priority(&self) -> i64 {
        120 + self.nice
    }

    /// `effective_prio`.
    fn set_priority(&mut self) {
        let corrected = self.static_priority() - (self.bonus() as i64 - MAX_BONUS as i64 / 2);
        self.priority = corrected.clamp(100, 139);
    }

    /// `task_timeslice`: from 800 ms at nice -20 over 100 ms at 0 to 5 ms at 19.
    fn full_slice(&self) -> Duration {
        let base = match self.nice < 0 {
            true => DEFAULT_SLICE * 4,
            false => DEFAULT_SLICE,
        };
        let scaled = base * (140 - self.static_priority()) as u64 / 20;
        scaled.max(LEAST_SLICE)
    }

    /// `DELTA`.
    fn delta(&self) -> i64 {
        let scaled = (self.nice + 20) * MAX_BONUS as i64 / 40;
        scaled - 20 * MAX_BONUS as i64 / 40 + INTERACTIVE_DELTA
    }

    /// `TASK_INTERACTIVE`.
    fn is_interactive(&self) -> bool {
        self.priority <= self.static_priority() - self.delta()
    }

    /// `recalc_task_prio`: it wakes after a sleep of `slept` ns.
    fn wake(&mut self, slept: u64) {
        // What a sleep of any length brings at once (`INTERACTIVE_SLEEP`): just interactive.
        let steps = MAX_BONUS as i64 / 2 + self.delta() + 1;
        let ceiling = (MAX_SLEEP / MAX_BONUS * steps.max(0) as u64).saturating_sub(1);
        if slept > ceiling && self.slept < ceiling {
            self.slept = ceiling;
            self.long_sleeper = true;
        } else if self.long_sleeper {
            self.slept = self.slept.max(ceiling.min(self.slept + slept));
        } else {
            self.slept += slept;
        }
        self.slept = self.slept.min(MAX_SLEEP);
        self.set_priority();
    }

    /// What `schedule` does with who gives the processor away: the more it has slept, the less
    /// executing takes from that.
    fn leave(&mut self) {
        let ran = core::mem::take(&mut self.ran).as_nanos().min(MAX_SLEEP);
        self.slept = self.slept.saturating_sub(ran / self.bonus().max(1));
        if ran > 0 {
            self.long_sleeper = false;
        }
    }
}

impl LinuxOrder {
    /// The scheduler of processes of these nice values, at `start`.
    pub fn new(nice: impl Iterator<Item = i64>, start: Instant) -> Self {
        let all = nice.chain([THREAD_NICE]);
        LinuxOrder {
            processes: all.map(|nice| Process::new(nice, start)).collect(),
            current: None,
            first_is_alone: false,
            next_place: 0,
            first_expired: None,
            roam_from: usize::MAX,
            watchdog_at: Instant::MAX,
            newly_idle: false,
            ticked: false,
            look_at: start,
        }
    }

    /// As [`LinuxOrder::new`] for one vcpu of several. Its processes from number `first` on may go
    /// from one vcpu to another.
    pub fn roaming(nice: impl Iterator<Item = i64>, first: usize, start: Instant) -> Self {
        LinuxOrder {
            roam_from: first,
            watchdog_at: start + roam::WATCHDOG,
            ..LinuxOrder::new(nice, start)
        }
    }

    /// The number of the first process that may go to another vcpu.
    #[inline]
    pub fn roam_from(&self) -> usize {
        self.roam_from
    }

    /// Whether any process may.
    #[inline]
    pub fn roams(&self) -> bool {
        self.roam_from != usize::MAX
    }

    /// When the watchdog's thread wakes; [`Instant::MAX`] for never.
    #[inline]
    pub fn watchdog_at(&self) -> Instant {
        self.watchdog_at
    }

    /// The timer softirq has run.
    pub fn tick(&mut self, now: Instant) {
        if self.roams() {
            self.ticked = true;
            if self.watchdog_at <= now {
                self.watchdog_at = now + roam::WATCHDOG;
            }
        }
    }

    /// Whether it looks now whether other vcpus have processes to spare: this vcpu is `idle`, or
    /// busy.
    pub fn looks(&mut self, idle: bool, now: Instant) -> bool {
        let ticked = core::mem::take(&mut self.ticked);
        let newly = core::mem::take(&mut self.newly_idle);
        if idle {
            return ticked || newly;
        }
        let looks = ticked && now >= self.look_at;
        if looks {
            self.look_at = now + roam::BUSY_INTERVAL;
        }
        looks
    }

    /// The process that another vcpu would pull, of those of whom `ready` says that they want to
    /// execute: from the expired array first, the best priority first, the last of equals.
    pub fn to_spare(&self, now: Instant, ready: impl Fn(usize) -> bool) -> Option<usize> {
        let all = self.processes.iter().enumerate();
        let own = all.skip(self.roam_from).filter(|(i, process)| {
            let hot = now.saturating_since(process.since) < roam::CACHE_HOT;
            ready(*i) && self.current != Some(*i) && !hot
        });
        let best = own.min_by_key(|(_, p)| {
            // Who was just woken has no place yet, and gets the last one.
            let place = if p.ready { p.place } else { u64::MAX };
            let expired = p.ready && p.expired;
            (!expired, p.priority, u64::MAX - place)
        });
        best.map(|(i, _)| i)
    }

    /// Process `i` goes to another vcpu.
    pub fn give(&mut self, i: usize) -> Process {
        let gone = Process::new(0, Instant::ZERO);
        self.first_is_alone = false;
        core::mem::replace(&mut self.processes[i], gone)
    }

    /// Process `i` comes from another vcpu.
    pub fn take(&mut self, i: usize, mut process: Process) {
        process.place = self.next_place;
        self.next_place += 1;
        self.first_is_alone = false;
        self.processes[i] = process;
    }

    /// Who was chosen has executed for `time`.
    #[inline]
    pub fn ran(&mut self, time: Duration) {
        if let Some(current) = self.current {
            let process = &mut self.processes[current];
            process.ran += time;
            process.slice = process.slice.saturating_sub(time);
        }
    }

    /// Who was chosen yields: it goes behind all others (`sys_sched_yield`).
    pub fn yields(&mut self, now: Instant) {
        if let Some(current) = self.current.take() {
            let process = &mut self.processes[current];
            process.leave();
            process.since = now;
            process.expired = true;
            process.place = self.next_place;
            self.next_place += 1;
            self.first_expired.get_or_insert(now);
        }
    }

    /// Whether the first process was chosen, and nobody else wanted to execute then.
    #[inline]
    pub fn runs_only(&self) -> bool {
        self.first_is_alone && self.current == Some(0)
    }

    /// Chooses who executes from `now` on among those of whom `ready` says that they want to, with
    /// the thread as the last. `None` when nobody does.
    pub fn choose(&mut self, now: Instant, ready: impl Fn(usize) -> bool) -> Option<ChosenProcess> {
        let executed = self.current.is_some();
        for i in 0..self.processes.len() {
            let place = self.next_place;
            let process = &mut self.processes[i];
            match (process.ready, ready(i)) {
                (false, true) => {
                    process.ready = true;
                    process.expired = false;
                    process.wake(now.saturating_since(process.since).as_nanos());
                    process.place = place;
                    self.next_place += 1;
                }
                (true, false) => {
                    process.leave();
                    process.ready = false;
                    process.since = now;
                    if self.current == Some(i) {
                        self.current = None;
                    }
                }
                _ => {}
            }
        }
        self.first_is_alone = !self.processes[1..].iter().any(|p| p.ready);
        if let Some(current) = self.current
            && self.processes[current].slice.is_zero()
        {
            self.end_slice(current, now);
        }
        let next = self.first(false).or_else(|| {
            // Everybody has had a turn: the arrays change places.
            self.first_expired = None;
            for process in &mut self.processes {
                process.expired = false;
            }
            self.first(false)
        });
        let Some(next) = next else {
            self.newly_idle |= executed;
            return None;
        };
        if self.current != Some(next) {
            if let Some(before) = self.current.replace(next) {
                self.processes[before].leave();
                self.processes[before].since = now;
            }
            self.processes[next].ran = Duration::ZERO;
        }
        Some(match next + 1 == self.processes.len() {
            true => ChosenProcess::Thread,
            false => ChosenProcess::Process(next),
        })
    }

    /// How long who was chosen may continue; [`Duration::MAX`] when nobody else wants to.
    pub fn turn(&self) -> Duration {
        let Some(current) = self.current else {
            return Duration::MAX;
        };
        let mut others = self.processes.iter().enumerate();
        match others.any(|(i, p)| i != current && p.ready) {
            true => self.processes[current].slice,
            false => Duration::MAX,
        }
    }

    /// The slice of `i` is used up.
    fn end_slice(&mut self, i: usize, now: Instant) {
        let starving = self.is_starving(now);
        let process = &mut self.processes[i];
        process.leave();
        process.since = now;
        process.set_priority();
        process.slice = process.full_slice();
        process.expired = !process.is_interactive() || starving;
        process.place = self.next_place;
        self.next_place += 1;
        if process.expired {
            self.first_expired.get_or_insert(now);
        }
        self.current = None;
    }

    /// `EXPIRED_STARVING`: whether those in the expired array wait for too long because others are
    /// interactive.
    fn is_starving(&self, now: Instant) -> bool {
        let ready = self.processes.iter().filter(|p| p.ready).count() as u64;
        let limit = Duration::from_nanos(MAX_SLEEP * ready);
        self.first_expired
            .is_some_and(|first| now.saturating_since(first) >= limit)
    }

    /// The first of those that are ready, in the active array or in the expired one.
    fn first(&self, expired: bool) -> Option<usize> {
        let all = self.processes.iter().enumerate();
        let ready = all.filter(|(_, p)| p.ready && p.expired == expired);
        let first = ready.min_by_key(|(_, p)| (p.priority, p.place));
        first.map(|(i, _)| i)
    }
}
