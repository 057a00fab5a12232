//! Steps of tasks, sleeping and waking.
//!
//! A call is a stack of frames. The top frame continues until it returns, calls another frame, or
//! waits; bios that it made meanwhile are submitted before the task sleeps.

use super::cache::NONE;
use super::contract::{FsStep, QueueCongestion};
use super::frames::{Flow, Frame};
use super::task::Task;
use super::wait::{Event, Lock, Wait};
use super::{FileSystem, InFlight};
use crate::elevator::{Bio, IoWay, Submitter};
use crate::fs::config::PAGE_SECTORS;
use domio_core::{Duration, Instant};

impl FileSystem {
    /// Makes sure that there is a task `t`.
    pub(super) fn need_task(&mut self, t: u32) {
        if self.tasks.len() <= t as usize {
            self.tasks.resize_with(t as usize + 1, Task::default);
        }
    }

    pub(super) fn task(&mut self, t: u32) -> &mut Task {
        &mut self.tasks[t as usize]
    }

    /// The first frame of task `t`, which is in no call.
    ///
    /// # Panics
    /// When the task is in a call.
    #[track_caller]
    pub(super) fn enter(&mut self, t: u32, frame: Frame) {
        let task = self.task(t);
        assert!(task.stack.is_empty(), "task {t} is in a call already");
        task.stack.push(frame);
    }

    /// The next step of a task that is in a call and not asleep.
    ///
    /// # Panics
    /// When the task sleeps or is in no call.
    #[track_caller]
    pub fn step(&mut self, now: Instant, task: Submitter, congestion: QueueCongestion) -> FsStep {
        let t = task.0;
        self.now = now;
        self.congestion = congestion;
        assert!(!self.task(t).asleep, "task {t} sleeps");
        loop {
            let task = self.task(t);
            if !task.cost.is_zero() {
                return FsStep::Run(core::mem::take(&mut task.cost));
            }
            if let Some(bio) = task.bios.pop_front() {
                return FsStep::Submit(bio);
            }
            if let Some(wait) = task.wait {
                if self.is_over(t, wait) {
                    self.task(t).wait = None;
                    continue;
                }
                let task = self.task(t);
                if wait.is_for_data() && !core::mem::replace(&mut task.unplugged, true) {
                    return FsStep::Unplug;
                }
                self.sleep(t, wait);
                return FsStep::Sleep;
            }
            if let Some(value) = self.advance(t) {
                return FsStep::Done(value);
            }
        }
    }

    /// Has the top frame of a task continue. Returns what the call returns, at its end.
    fn advance(&mut self, t: u32) -> Option<u64> {
        let mut frame = self.task(t).stack.pop().expect("the task is in a call");
        let flow = match &mut frame {
            Frame::Call(call) => self.call(t, call),
            Frame::Touch { at, join } => self.touch(t, at, *join),
            Frame::Start(credits) => self.start(t, *credits),
            Frame::Space(space) => self.space(t, space),
            Frame::Pass(pass) => self.pass(t, pass),
            Frame::Balance(balance) => self.balance(t, balance),
            Frame::Commit(commit) => self.commit(t, commit),
            Frame::Pdflush(flush) => self.pdflush(t, flush),
        };
        let task = self.task(t);
        match flow {
            Flow::Again => task.stack.push(frame),
            Flow::Wait(wait) => {
                task.stack.push(frame);
                task.unplugged = false;
                task.wait = Some(wait);
            }
            Flow::Call(called) => task.stack.extend([frame, called]),
            Flow::Return => {}
            Flow::Done(value) => {
                assert!(
                    task.stack.is_empty() && task.credits == 0,
                    "task {t} ends inside"
                );
                return Some(value);
            }
        }
        None
    }

    fn is_over(&self, t: u32, wait: Wait) -> bool {
        let page = |block| self.cache.find(block).map(|slot| self.cache[slot]);
        match wait {
            Wait::Read(block) => page(block).is_none_or(|p| !p.is(super::cache::READING)),
            Wait::Written(block) => page(block).is_none_or(|p| !p.is(super::cache::WRITEBACK)),
            Wait::Own => self.tasks[t as usize].own == 0,
            Wait::Held(lock) => self.holder(lock) == NONE,
            Wait::NextTransaction(id) => self.journal.running.as_ref().is_none_or(|r| r.id != id),
            Wait::NoHandles => self.journal.running.as_ref().is_none_or(|r| r.handles == 0),
            Wait::Committed(id) => id < self.cache.uncommitted,
            Wait::Logged => self.journal.committing.as_ref().is_none_or(|c| !c.logging),
            Wait::FileWritten(file) => self.files[file].written_pages == 0,
            Wait::Through(serial) => self.flight.first() > serial,
            Wait::Room(until) => self.now >= until,
            Wait::Work => self.has_work(t),
        }
    }

    fn sleep(&mut self, t: u32, wait: Wait) {
        self.task(t).asleep = true;
        if let Some(event) = wait.event() {
            self.sleepers[event as usize].push(t);
        } else if let Wait::Read(block) | Wait::Written(block) = wait {
            let slot = self
                .cache
                .find(block)
                .expect("a process that waits for a page has seen it");
            self.task(t).next_waiter = NONE;
            let mut at = self.cache[slot].waiter;
            if at == NONE {
                self.cache[slot].waiter = t;
                return;
            }
            while self.task(at).next_waiter != NONE {
                at = self.task(at).next_waiter;
            }
            self.task(at).next_waiter = t;
        }
    }

    fn rouse(&mut self, t: u32) {
        self.task(t).asleep = false;
        self.woken.push_back(Submitter(t));
    }

    /// Wakes all who sleep for an event; each looks again whether it has what it wants.
    pub(super) fn wake(&mut self, event: Event) {
        let mut sleepers = core::mem::take(&mut self.sleepers[event as usize]);
        for t in sleepers.drain(..) {
            if event == Event::Room {
                self.task(t).wait = None;
            }
            self.rouse(t);
        }
        self.sleepers[event as usize] = sleepers;
    }

    /// Wakes the sleepers whose time has come.
    pub(super) fn wake_late(&mut self) {
        let (now, mut i) = (self.now, 0);
        while let Some(&t) = self.sleepers[Event::Room as usize].get(i) {
            match self.task(t).wait {
                Some(Wait::Room(until)) if until <= now => {
                    self.sleepers[Event::Room as usize].remove(i);
                    self.rouse(t);
                }
                _ => i += 1,
            }
        }
    }

    /// When the first sleeper's time comes.
    pub(super) fn first_late(&self) -> Instant {
        let sleepers = self.sleepers[Event::Room as usize].iter();
        let times = sleepers.filter_map(|t| match self.tasks[*t as usize].wait {
            Some(Wait::Room(until)) => Some(until),
            _ => None,
        });
        times.min().unwrap_or(Instant::MAX)
    }

    /// Wakes all who wait for a page.
    pub(super) fn wake_page(&mut self, slot: u32) {
        let mut t = core::mem::replace(&mut self.cache[slot].waiter, NONE);
        while t != NONE {
            let next = self.task(t).next_waiter;
            self.rouse(t);
            t = next;
        }
    }

    /// Wakes a thread that sleeps for work.
    pub(super) fn wake_thread(&mut self, t: u32) {
        if self.task(t).asleep && self.task(t).wait == Some(Wait::Work) {
            self.rouse(t);
        }
    }

    /// One of the task's own bios is done.
    pub(super) fn own_done(&mut self, t: u32) {
        let task = self.task(t);
        task.own -= 1;
        if task.own == 0 && task.asleep && task.wait == Some(Wait::Own) {
            self.rouse(t);
        }
    }

    /// Adds processor time to what the task does next.
    pub(super) fn spend(&mut self, t: u32, cost: Duration) {
        let task = self.task(t);
        task.cost = task.cost.saturating_add(cost);
    }

    /// Has the task submit a bio of whole blocks.
    pub(super) fn emit(&mut self, t: u32, way: IoWay, first: InFlight, meta: bool) {
        let (block, pages) = match first {
            InFlight::Read { block, pages } => (block, pages),
            InFlight::Page { block } => (block, 1),
            InFlight::Own { block, .. } => {
                self.task(t).own += 1;
                (block, 1)
            }
        };
        let tag = self.flight.push(first);
        let prio = self.config.prio;
        self.spend(t, self.config.costs.bio);
        self.task(t).bios.push_back(Bio {
            sector: u64::from(block) * PAGE_SECTORS,
            sectors: pages * PAGE_SECTORS as u32,
            segments: pages,
            way,
            sync: false,
            meta,
            submitter: Submitter(t),
            prio,
            tag,
        });
    }

    pub(super) fn holder(&self, lock: Lock) -> u32 {
        match lock {
            Lock::Directory(number) => self.files.directory_holder(number),
            Lock::File(file) => self.files[file].holder,
            Lock::Checkpoint => self.journal.freeing,
        }
    }

    fn set_holder(&mut self, lock: Lock, t: u32) {
        match lock {
            Lock::Directory(number) => self.files.at(number).holder = t,
            Lock::File(file) => self.files[file].holder = t,
            Lock::Checkpoint => self.journal.freeing = t,
        }
    }

    /// Takes a lock, or says what to wait for.
    pub(super) fn hold(&mut self, t: u32, lock: Lock) -> Result<(), Flow> {
        if self.holder(lock) != NONE {
            return Err(Flow::Wait(Wait::Held(lock)));
        }
        self.set_holder(lock, t);
        Ok(())
    }

    pub(super) fn release(&mut self, lock: Lock) {
        self.set_holder(lock, NONE);
        self.wake(Event::Released);
    }
}
