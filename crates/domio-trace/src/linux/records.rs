//! Events of a Linux trace, as records.

mod disks;
mod extra;
mod wakes;

use std::collections::VecDeque;

use domio_core::{ActorId, Instant, Kind, Names, PcpuId, Record, Runstate, Says, VcpuName};
use domio_core::{ClassId, DomainId};
use domio_linux::groups::Groups;
use domio_linux::{Left, LinuxEvent, LinuxWhat, Tasks, Tid};

use super::class::{LINUX, Linux};
use super::host::LinuxHost;
use super::label::LinuxThread;
use super::limits::Limit;
use super::requests::Disks;
use super::threads::{State, Threads};

/// Most cpus of a host, as kernels are built ("NR_CPUS").
const CPUS_MAX: u32 = 1 << 13;

/// From a wake-up to the switch that it caused: within this time the woken thread is taken to have
/// preempted the one that ran. A tick is later in most cases.
const PREEMPTS_WITHIN: u64 = 200_000;

/// The least time that a thread waits beside an idle cpu for a new period of its limit: shorter
/// waits may be for the cpu to wake up.
const LIMITED_FROM: u64 = 1_000_000;

/// Times in guest mode are recorded when there is so much of one run.
const GUEST_MODE_MAX: u64 = 1_000_000_000;

/// Turns events into records of the common class and of [`LINUX`]. Memory does not grow with the
/// length of the trace.
///
/// - A run begins and ends with `sched_switch`. One without a recorded end ends when the next event
///   of its cpu has another current thread, and is counted ([`LinuxRecords::missing`]); what its
///   thread does is unknown from then on, until its next event.
/// - A thread that was there before the trace has no state until its first event. One that is
///   first seen when it is switched in has not waited; one that is woken first was asleep; the
///   first one of a cpu ran there since the begin.
/// - Threads that leave runnable ("R", "R+") wait, "S", "D" and "I" block, "T", "P" and the dead
///   are offline.
/// - `sched_waking` is the wake-up until there is a `sched_wakeup`: `perf sched record` has none.
#[derive(Debug)]
pub struct LinuxRecords {
    names: Names,
    class: ClassId,
    threads: Threads,
    cpus: Vec<Cpu>,
    out: VecDeque<Record>,
    now: u64,
    /// Whether `sched_wakeup` is recorded.
    has_wakeups: bool,
    missing: u64,
    ignored: u64,
    ended: bool,
    limits: Vec<(String, Limit)>,
    disks: Disks,
    /// When the first thread that a limit holds back may run again.
    next_end: u64,
}

/// A cpu.
#[derive(Debug)]
struct Cpu {
    /// Place of its idle task.
    idle: usize,
    /// Place of who runs there, if that is known.
    current: Option<usize>,
    /// Interrupts and softirqs that are served: whether it is a softirq, its number, when it began,
    /// and the time of others within.
    serves: Vec<(bool, u32, u64, u64)>,
    /// Since when the current thread is in guest mode.
    guest_since: Option<u64>,
}

/// Nested interrupts and softirqs of a cpu that are followed: more are a damaged file's.
const NESTED_MAX: usize = 8;

impl LinuxRecords {
    /// No event seen yet. Threads are grouped by `rules`; `host` says what events do not.
    pub fn new(rules: Groups, host: LinuxHost) -> Self {
        let mut names = Names::new();
        let class = names.add_class(&LINUX);
        LinuxRecords {
            names,
            class,
            threads: Threads::new(rules, host),
            cpus: Vec::new(),
            out: VecDeque::new(),
            now: 0,
            has_wakeups: false,
            missing: 0,
            ignored: 0,
            ended: false,
            limits: Vec::new(),
            disks: Disks::default(),
            next_end: u64::MAX,
        }
    }

    /// What the numbers of the records that were handed out stand for.
    #[inline]
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Names of the groups that threads were put into, by the number of their domain.
    pub fn domains(&self) -> impl Iterator<Item = (DomainId, &str)> {
        let groups = self.threads.groups().iter();
        groups.map(|group| (group.id, group.name.as_str()))
    }

    /// How many groups there are.
    #[inline]
    pub fn groups(&self) -> usize {
        self.threads.groups().len()
    }

    /// What threads are called, by the vcpu that they are in records; vcpus of guests have no
    /// name beside their number.
    pub fn labels(&self, tasks: &Tasks) -> Vec<(VcpuName, String)> {
        self.threads.labels(tasks)
    }

    /// Whether [`LinuxRecords::take_news`] has anything to hand out.
    #[inline]
    pub fn has_news(&self) -> bool {
        self.threads.has_news()
    }

    /// The part of [`LinuxRecords::labels`] that is new since this was asked last, or has changed:
    /// for readers who show names while events come.
    pub fn take_news(&mut self, tasks: &Tasks) -> Vec<(VcpuName, String)> {
        self.threads.take_news(tasks)
    }

    /// Release of the kernel as the file beside the trace says; empty when it does not.
    pub fn kernel(&self) -> &str {
        self.threads.kernel()
    }

    /// Threads by the vcpu that they are in records.
    pub fn threads(&self, tasks: &Tasks) -> Vec<LinuxThread> {
        self.threads.known_threads(tasks)
    }

    /// Threads that there was no room for, or whose id no kernel gives.
    pub fn left_out(&self) -> u64 {
        self.threads.left_out
    }

    /// Threads of vcpus of which neither a process nor a control group is known.
    pub fn alone(&self) -> u64 {
        self.threads.alone
    }

    /// Runs that ended without a recorded switch.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// Events that no host can have written: of a cpu or thread whose number is too large.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// Cpus that any event came from, up to the last.
    pub fn cpus(&self) -> usize {
        self.cpus.len()
    }

    /// The next record that is ready.
    #[inline]
    pub fn take(&mut self) -> Option<Record> {
        self.out.pop_front()
    }

    /// Takes an event. Those of a trace come in the order of time; one that is late counts as now.
    pub fn event(&mut self, event: &LinuxEvent, tasks: &Tasks) {
        if event.cpu >= CPUS_MAX {
            self.ignored += 1;
            return;
        }
        if event.time >= self.next_end {
            self.release(event.time);
        }
        self.now = self.now.max(event.time);
        let cpu = event.cpu as usize;
        self.make_cpus(cpu);
        if let LinuxWhat::Lost { events } = event.what {
            return self.lost(cpu, events);
        }
        let is_switch = matches!(event.what, LinuxWhat::Switch { .. });
        if let Some(current) = event.current.filter(|_| !is_switch) {
            self.sees(cpu, current, tasks);
        }
        match event.what {
            LinuxWhat::Switch {
                prev,
                prev_prio,
                left,
                next,
                next_prio,
            } => self.switch(cpu, (prev, prev_prio), left, (next, next_prio), tasks),
            LinuxWhat::Waking {
                tid,
                prio,
                target_cpu,
            } => {
                if !self.has_wakeups {
                    self.wake(cpu, (tid, prio), target_cpu, false, tasks);
                }
            }
            LinuxWhat::Wakeup {
                tid,
                prio,
                target_cpu,
            } => {
                self.has_wakeups = true;
                self.wake(cpu, (tid, prio), target_cpu, false, tasks);
            }
            LinuxWhat::WakeupNew {
                tid,
                prio,
                target_cpu,
            } => self.wake(cpu, (tid, prio), target_cpu, true, tasks),
            LinuxWhat::Migrate { tid, from: _, to } => self.migrate(cpu, tid, to, tasks),
            LinuxWhat::Fork { child, .. } => self.forked(cpu, child, tasks),
            LinuxWhat::Attach { tid } => {
                if let Some(place) = self.threads.known(tid) {
                    self.threads.get_mut(place).young = true;
                }
            }
            LinuxWhat::IrqEntry { irq } => self.enters(cpu, false, irq),
            LinuxWhat::IrqExit { irq } => self.exits(cpu, false, irq),
            LinuxWhat::SoftirqEntry { vec } => self.enters(cpu, true, vec),
            LinuxWhat::SoftirqExit { vec } => self.exits(cpu, true, vec),
            LinuxWhat::KvmEntry { .. } => {
                let cpu = &mut self.cpus[cpu];
                cpu.guest_since = cpu.guest_since.or(Some(self.now));
            }
            LinuxWhat::KvmExit { .. } => self.leaves_guest(cpu),
            LinuxWhat::KvmWakeup { ns, waited: false } => self.polled(cpu, ns),
            LinuxWhat::Disk(request) => self.request(cpu, &request),
            LinuxWhat::KvmWakeup { waited: true, .. }
            | LinuxWhat::Exit { .. }
            | LinuxWhat::Runtime { .. }
            | LinuxWhat::SoftirqRaise { .. }
            | LinuxWhat::HaltPoll { .. }
            | LinuxWhat::NapiPoll { .. }
            | LinuxWhat::Lost { .. }
            | LinuxWhat::Other => {}
        }
    }

    /// The trace is over: sums that are recorded where a state ends are recorded now.
    pub fn finish(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        for place in self.threads.places() {
            let thread = *self.threads.get(place);
            let cpu = usize::from(thread.cpu);
            match thread.state {
                State::Is(Runstate::Running)
                    if self
                        .cpus
                        .get(cpu)
                        .is_some_and(|cpu| cpu.current == Some(place)) =>
                {
                    self.leaves_guest(cpu);
                    self.sums(place);
                    // The trace lasts until its last event.
                    let (at, pcpu) = (self.at(), PcpuId(thread.cpu));
                    let [old, new] = [Runstate::Running; 2];
                    self.put(Record::runstate(at, pcpu, thread.actor, old, new));
                }
                State::Is(Runstate::Runnable) if thread.is_vcpu => self.ready(place),
                _ => {}
            }
        }
        // Any vcpu of a group that is skewed records for how long.
        for place in self.threads.places() {
            let thread = *self.threads.get(place);
            if thread.is_vcpu
                && let Some(since) = self.threads.group_at(thread.group).skewed.take()
            {
                self.skew(place, since);
            }
        }
    }

    fn make_cpus(&mut self, cpu: usize) {
        while self.cpus.len() <= cpu {
            let id = PcpuId(self.cpus.len() as u16);
            let idle = self.threads.add_idle(&mut self.names, id);
            self.cpus.push(Cpu {
                idle,
                current: None,
                serves: Vec::new(),
                guest_since: None,
            });
        }
    }

    fn at(&self) -> Instant {
        Instant::from_nanos(self.now)
    }

    /// The place of a thread that an event of `cpu` names.
    #[inline]
    fn place(&mut self, cpu: usize, tid: Tid, tasks: &Tasks) -> Option<usize> {
        if tid == Tid::IDLE {
            return Some(self.cpus[cpu].idle);
        }
        let place = self.threads.place(&mut self.names, tasks, tid);
        self.ignored += u64::from(place.is_none());
        place
    }

    fn put(&mut self, record: Record) {
        if record.actor != ActorId::NONE {
            self.out.push_back(record);
        }
    }

    /// Puts a record of [`LINUX`] about the thread in `place`.
    fn note(&mut self, cpu: usize, place: usize, number: Linux, words: [u32; 4]) {
        let actor = self.threads.get(place).actor;
        let class = (self.class, number as u8);
        self.put(Record::of(
            self.at(),
            PcpuId(cpu as u16),
            class,
            actor,
            words,
        ));
    }

    fn note_time(&mut self, cpu: usize, place: usize, number: Linux, ns: u64) {
        if ns > 0 {
            self.note(cpu, place, number, [ns as u32, (ns >> 32) as u32, 0, 0]);
        }
    }

    /// What is said of a thread in its first record: whether it executes a vcpu, and the cpus that
    /// it may use.
    fn introduce(&mut self, cpu: usize, place: usize, tasks: &Tasks) {
        if self.threads.get(place).is_vcpu {
            self.note(cpu, place, Linux::OfGuest, [0; 4]);
        }
        if let Some((path, quota, period)) = self.threads.limit(tasks, place) {
            let known = self.limits.iter().position(|(other, _)| other == path);
            let path = path.to_owned();
            let limit = known.unwrap_or_else(|| {
                self.limits.push((path, Limit::new(quota, period)));
                self.limits.len() - 1
            });
            let thread = self.threads.get_mut(place);
            thread.limit = limit as u32;
            let runs = thread.is(Runstate::Running);
            if runs {
                self.limits[limit].1.runs(self.now, true);
            }
        }
        let Some(mask) = self.threads.allowed(tasks, place) else {
            return;
        };
        for (word, bits) in mask.into_iter().enumerate() {
            let words = [word as u32 * 64, bits as u32, (bits >> 32) as u32, 0];
            self.note(cpu, place, Linux::MayUse, words);
        }
    }

    /// The thread in `place` has this priority.
    #[inline]
    fn ranks(&mut self, cpu: usize, place: usize, prio: i16) {
        let rank = rank(prio);
        self.threads.get_mut(place).prio = Some(prio);
        if self.threads.get(place).rank != rank {
            self.threads.get_mut(place).rank = rank;
            self.note(cpu, place, Linux::Rank, [u32::from(rank), 0, 0, 0]);
        }
    }

    /// The thread goes from the state that `old` says to `new`, on `cpu`.
    fn change(&mut self, cpu: usize, place: usize, [old, new]: [Runstate; 2], tasks: &Tasks) {
        let thread = self.threads.get(place);
        let (actor, is_new) = (thread.actor, thread.state == State::Unheard);
        let pcpu = PcpuId(cpu as u16);
        self.put(Record::runstate(self.at(), pcpu, actor, old, new));
        self.enter(cpu, place, new);
        if is_new {
            self.introduce(cpu, place, tasks);
        }
    }

    /// Keeps that the thread is in `new` from now on.
    fn enter(&mut self, cpu: usize, place: usize, new: Runstate) {
        let now = self.now;
        let thread = self.threads.get_mut(place);
        let before = thread.state;
        if thread.home == u16::MAX || new == Runstate::Running {
            thread.home = cpu as u16;
        }
        if new == Runstate::Running {
            thread.cpu = cpu as u16;
        }
        thread.state = State::Is(new);
        thread.since = now;
        thread.uninterruptible = false;
        let [ran, runs] = [before, State::Is(new)].map(|s| s == State::Is(Runstate::Running));
        let thread = *thread;
        if ran != runs
            && let Some((_, limit)) = self.limits.get_mut(thread.limit as usize)
        {
            limit.runs(now, runs);
        }
        if thread.is_vcpu {
            self.counts(place, before, State::Is(new));
        }
    }

    /// An event of `cpu` has this current thread.
    #[inline]
    fn sees(&mut self, cpu: usize, tid: Tid, tasks: &Tasks) {
        let current = self.cpus[cpu].current;
        let is_it = current.is_some_and(|place| {
            let thread = self.threads.get(place);
            thread.tid == tid
        });
        if !is_it {
            self.found(cpu, tid, tasks);
        }
    }

    /// Another thread is found on `cpu` than was known to be there.
    #[cold]
    fn found(&mut self, cpu: usize, tid: Tid, tasks: &Tasks) {
        let Some(place) = self.place(cpu, tid, tasks) else {
            return;
        };
        let first = self.cpus[cpu].current.is_none();
        if let Some(other) = self.cpus[cpu].current.take() {
            self.missing += 1;
            self.lose(cpu, other, tasks);
        }
        self.leave_elsewhere(cpu, place, tasks);
        match self.threads.get(place).state {
            // Since the trace began, as far as any event of the cpu says.
            State::Unheard | State::Lost if first => {
                self.change(cpu, place, [Runstate::Running; 2], tasks);
            }
            _ => self.comes(cpu, place, tasks),
        }
        self.cpus[cpu].current = Some(place);
    }

    /// The thread in `place`, which does not run, runs on `cpu` from now on.
    fn comes(&mut self, cpu: usize, place: usize, tasks: &Tasks) {
        let thread = self.threads.get(place);
        let waits = thread.is(Runstate::Runnable);
        if waits && thread.is_vcpu {
            self.ready(place);
        }
        let old = match self.threads.get(place).state {
            // Nobody knows whether it waited.
            State::Unheard => Runstate::Offline,
            // Whatever is not known contradicts what was recorded, and is unknown for readers, too.
            State::Lost | State::Is(_) => Runstate::Runnable,
        };
        self.change(cpu, place, [old, Runstate::Running], tasks);
    }

    fn switch(
        &mut self,
        cpu: usize,
        (prev, prev_prio): (Tid, i16),
        left: Left,
        (next, next_prio): (Tid, i16),
        tasks: &Tasks,
    ) {
        self.sees(cpu, prev, tasks);
        let (Some(from), Some(to)) = (self.cpus[cpu].current, self.place(cpu, next, tasks)) else {
            self.cpus[cpu].current = None;
            return;
        };
        if from == to {
            return;
        }
        let idle = self.cpus[cpu].idle;
        if from != idle {
            self.ranks(cpu, from, prev_prio);
        }
        self.leave_elsewhere(cpu, to, tasks);
        self.leaves_guest(cpu);
        if from == idle {
            self.may_begin(to);
        }
        let renews = self.renews(from, tasks);
        let left_to = match left {
            _ if from == idle => Runstate::Runnable,
            _ if renews => Runstate::Blocked,
            Left::Runnable | Left::Preempted => Runstate::Runnable,
            Left::Sleeping | Left::Uninterruptible | Left::Dead => Runstate::Blocked,
            Left::Stopped => Runstate::Offline,
        };
        self.sums(from);
        let (leaves, comes) = (*self.threads.get(from), *self.threads.get(to));
        let is_known = comes.is(Runstate::Runnable)
            && leaves.actor != ActorId::NONE
            && comes.actor != ActorId::NONE;
        if is_known {
            if comes.is_vcpu {
                self.ready(to);
            }
            let times = [leaves.since, comes.since].map(|since| {
                let ns = self.now.saturating_sub(since);
                u32::try_from(ns).unwrap_or(u32::MAX)
            });
            self.put(Record::switch(
                self.at(),
                PcpuId(cpu as u16),
                (leaves.actor, left_to),
                comes.actor,
                [times[0], times[1], u32::MAX],
            ));
            self.enter(cpu, from, left_to);
            self.enter(cpu, to, Runstate::Running);
        } else {
            self.change(cpu, from, [Runstate::Running, left_to], tasks);
            self.comes(cpu, to, tasks);
        }
        self.cpus[cpu].current = Some(to);
        if to != idle {
            self.ranks(cpu, to, next_prio);
        }
        if left == Left::Dead && from != idle {
            self.ends(cpu, from, tasks);
            self.threads.remove(from);
        } else if renews {
            self.renew(cpu, from, left.wants_cpu(), tasks);
        } else if left_to == Runstate::Runnable && from != idle {
            self.why(cpu, from, to);
        } else if left == Left::Uninterruptible && from != idle {
            self.threads.get_mut(from).uninterruptible = true;
            self.note(cpu, from, Linux::Uninterruptible, [0; 4]);
        }
    }

    /// Says why the thread in `from`, which is runnable, gave its cpu to the one in `to`.
    fn why(&mut self, cpu: usize, from: usize, to: usize) {
        // An idle cpu would rather run it, if it might.
        if to == self.cpus[cpu].idle || self.is_used_up(from) {
            return self.held_back(cpu, from);
        }
        let (leaves, comes) = (self.threads.get(from), self.threads.get(to));
        let woken = comes.woken.map(|woken| self.now.saturating_sub(woken));
        let was_woken = woken.is_some_and(|ago| ago <= PREEMPTS_WITHIN);
        if comes.rank >= leaves.rank && !was_woken {
            self.note(cpu, from, Linux::TurnOver, [0; 4]);
        }
    }

    /// Events of `cpu` are missing before now.
    #[cold]
    fn lost(&mut self, cpu: usize, events: u64) {
        let actor = self.threads.get(self.cpus[cpu].idle).actor;
        let count = u32::try_from(events.max(1)).unwrap_or(u32::MAX);
        let (at, pcpu) = (self.at(), PcpuId(cpu as u16));
        self.put(Record::with(at, pcpu, Kind::Lost, actor, [count, 0, 0, 0]));
        let cpu = &mut self.cpus[cpu];
        cpu.serves.clear();
        cpu.guest_since = None;
        // Any of them may have been done.
        self.disks = Disks::default();
        if let Some(place) = cpu.current.take() {
            self.forget(place);
        }
    }
}

/// The rank of a kernel priority: stop and deadline, real time, fair.
fn rank(prio: i16) -> u8 {
    match prio {
        ..=0 => 0,
        1..=99 => 1,
        _ => Says::RANK,
    }
}
