//! Threads come to wait, go to other queues, begin and end.

use domio_core::Runstate;
use domio_linux::{Tasks, Tid};

use super::super::class::Linux;
use super::super::threads::State;
use super::{CPUS_MAX, LinuxRecords};

impl LinuxRecords {
    /// The run of the thread in `place` is over, and nothing says what it does from now on.
    pub(super) fn lose(&mut self, cpu: usize, place: usize, tasks: &Tasks) {
        self.leaves_guest(cpu);
        self.sums(place);
        let is_idle = place == self.cpus[cpu].idle;
        match is_idle {
            true => {
                let idles = [Runstate::Running, Runstate::Runnable];
                self.change(cpu, place, idles, tasks);
            }
            false => {
                self.ends(cpu, place, tasks);
                self.forget(place);
            }
        }
    }

    /// The thread in `place`, which runs or waits, is not there any more. One that goes offline
    /// from there is taken to be paused, and this one is not.
    pub(super) fn ends(&mut self, cpu: usize, place: usize, tasks: &Tasks) {
        use Runstate::{Blocked, Offline, Runnable, Running};
        if self.threads.get(place).is(Runnable) {
            return self.change(cpu, place, [Runnable, Offline], tasks);
        }
        if self.threads.get(place).is(Running) {
            self.change(cpu, place, [Running, Blocked], tasks);
        }
        self.change(cpu, place, [Blocked, Offline], tasks);
    }

    pub(super) fn forget(&mut self, place: usize) {
        let thread = self.threads.get_mut(place);
        let (before, is_vcpu) = (thread.state, thread.is_vcpu);
        thread.state = State::Lost;
        let limit = thread.limit as usize;
        if before == State::Is(Runstate::Running)
            && let Some((_, limit)) = self.limits.get_mut(limit)
        {
            limit.runs(self.now, false);
        }
        if is_vcpu {
            self.counts(place, before, State::Lost);
        }
    }

    /// If the thread in `place` is known to run on another cpu, that is over.
    pub(super) fn leave_elsewhere(&mut self, cpu: usize, place: usize, tasks: &Tasks) {
        let there = usize::from(self.threads.get(place).cpu);
        if there != cpu
            && self
                .cpus
                .get(there)
                .is_some_and(|c| c.current == Some(place))
        {
            self.missing += 1;
            self.cpus[there].current = None;
            self.lose(there, place, tasks);
        }
    }

    /// Whether a young thread's name or group has changed since it was put into a group, so that it
    /// belongs elsewhere.
    pub(super) fn renews(&mut self, place: usize, tasks: &Tasks) -> bool {
        let thread = self.threads.get(place);
        thread.young && thread.checked != tasks.changes() && self.threads.is_elsewhere(tasks, place)
    }

    /// A thread that is blocked is another actor from now on, which waits or is not heard of yet.
    pub(super) fn renew(&mut self, cpu: usize, place: usize, waits: bool, tasks: &Tasks) {
        self.ends(cpu, place, tasks);
        if self.threads.get(place).is_vcpu {
            self.counts(place, State::Is(Runstate::Offline), State::Unheard);
        }
        self.threads.renew(&mut self.names, tasks, place);
        if waits {
            self.change(cpu, place, [Runstate::Offline, Runstate::Runnable], tasks);
            self.note(cpu, place, Linux::TurnOver, [0; 4]);
        }
    }

    /// A thread is woken by code on `cpu`.
    pub(super) fn wake(
        &mut self,
        cpu: usize,
        (tid, prio): (Tid, i16),
        target: u32,
        is_new: bool,
        tasks: &Tasks,
    ) {
        if tid == Tid::IDLE || target >= CPUS_MAX {
            self.ignored += 1;
            return;
        }
        let Some(place) = self.place(cpu, tid, tasks) else {
            return;
        };
        let target = target as usize;
        let sleeps = self.threads.get(place).is(Runstate::Blocked);
        if sleeps && self.renews(place, tasks) {
            self.renew(cpu, place, false, tasks);
        }
        let thread = *self.threads.get(place);
        self.threads.get_mut(place).woken = Some(self.now);
        let old = match thread.state {
            State::Is(Runstate::Running) => return,
            State::Is(Runstate::Runnable) => return self.queues(cpu, place, target),
            State::Is(Runstate::Offline) => Runstate::Offline,
            State::Unheard if is_new || thread.young => Runstate::Offline,
            State::Unheard | State::Lost | State::Is(Runstate::Blocked) => Runstate::Blocked,
        };
        if is_new {
            self.threads.get_mut(place).young = true;
        }
        if thread.uninterruptible {
            self.waited_for_disk(cpu, place);
        }
        self.change(cpu, place, [old, Runstate::Runnable], tasks);
        self.ranks(cpu, place, prio);
        self.queues(cpu, place, target);
        let there = self.cpus.get(target);
        let is_free = there.is_some_and(|cpu| cpu.current == Some(cpu.idle));
        if self.is_used_up(place) {
            return self.held_back(cpu, place);
        }
        let why = match is_free {
            true => Linux::Pass,
            false => Linux::Queued,
        };
        self.note(cpu, place, why, [0; 4]);
    }

    /// The thread in `place` waits in the queue of the cpu `to`.
    pub(super) fn queues(&mut self, cpu: usize, place: usize, to: usize) {
        let thread = self.threads.get_mut(place);
        thread.cpu = to as u16;
        let home = thread.home;
        if usize::from(home) != to {
            thread.home = to as u16;
            self.note(
                cpu,
                place,
                Linux::QueuesOn,
                [to as u32, u32::from(home), 0, 0],
            );
        }
    }

    pub(super) fn migrate(&mut self, cpu: usize, tid: Tid, to: u32, tasks: &Tasks) {
        if to >= CPUS_MAX || tid == Tid::IDLE {
            self.ignored += 1;
            return;
        }
        let Some(place) = self.place(cpu, tid, tasks) else {
            return;
        };
        // Others say so when they run there.
        if self.threads.get(place).is(Runstate::Runnable) {
            self.queues(cpu, place, to as usize);
        }
    }

    pub(super) fn forked(&mut self, cpu: usize, child: Tid, tasks: &Tasks) {
        // The end of another thread with this id was not recorded.
        if let Some(old) = self.threads.known(child) {
            let thread = *self.threads.get(old);
            match thread.state {
                State::Is(Runstate::Runnable | Runstate::Blocked) => {
                    self.ends(cpu, old, tasks);
                }
                State::Is(Runstate::Running) => return,
                _ => {}
            }
            self.threads.remove(old);
        }
        if let Some(place) = self.place(cpu, child, tasks) {
            self.threads.get_mut(place).young = true;
        }
    }
}
