//! Processes that go from one vcpu of a guest to another.
//!
//! Every vcpu has a place for each of them, behind its own processes. The place holds the process
//! where the process is, and on all other vcpus nothing that wants to execute. So a process keeps
//! its number, and a vcpu looks at its processes alone.

use super::Guest;
use super::table::Tasks;
use crate::process::Pid;
use crate::process::order::{LinuxOrder, Process};
use crate::process::task::Task;
use alloc::boxed::Box;
use alloc::vec::Vec;
use domio_core::Instant;

/// A process on its way from one vcpu to another.
pub(crate) struct Moving {
    task: Task,
    process: Process,
}

impl Guest {
    /// Gives the vcpu places for the processes of its domain that go from one vcpu to another, in
    /// the order of their numbers. `None` is for a process that begins on another vcpu; the others
    /// come with their nice values. The guest started at `start`, and its own processes have the
    /// nice values `own`.
    ///
    /// # Panics
    /// When the processes of the guest do not take turns as under Linux.
    pub(crate) fn make_room(
        &mut self,
        own: impl Iterator<Item = i64>,
        processes: Vec<Option<(Task, i64)>>,
        start: Instant,
    ) {
        let first = self.tasks.len();
        let nice = processes.iter().map(|p| p.as_ref().map_or(0, |(_, n)| *n));
        let nice: Vec<i64> = own.chain(nice).collect();
        self.order = Some(Box::new(LinuxOrder::roaming(
            nice.into_iter(),
            first,
            start,
        )));
        let tasks = self.tasks.take();
        let processes = processes.into_iter();
        let more = processes.map(|p| p.map_or_else(Task::elsewhere, |(task, _)| task));
        self.tasks = Tasks::new(tasks.into_iter().chain(more).collect());
        self.find_task_wake();
        self.set_tick(start);
    }

    /// The process at `place` of this vcpu, which is number `vcpu` of its domain.
    #[inline]
    pub(super) fn pid(&self, vcpu: u16, place: u32) -> Pid {
        match self.roam_from() {
            Some(first) if place >= first => Pid {
                vcpu: Pid::ROAMS,
                index: place - first,
            },
            _ => Pid { vcpu, index: place },
        }
    }

    /// Whether any process may come or go.
    pub(crate) fn roams(&self) -> bool {
        self.roam_from().is_some()
    }

    /// The place of the first process that may go to another vcpu, if any may.
    fn roam_from(&self) -> Option<u32> {
        let order = self.order.as_ref().filter(|order| order.roams());
        order.map(|order| order.roam_from() as u32)
    }

    /// The place of the process with this number.
    fn place(&self, number: u32) -> usize {
        (self.roam_from().unwrap_or(0) + number) as usize
    }

    /// Whether the process with this number is on this vcpu.
    pub(crate) fn has(&self, number: u32) -> bool {
        let task = self.tasks.get(self.place(number));
        task.is_some_and(Task::is_here)
    }

    /// Whether the process with this number, which is here, wants to execute.
    pub(crate) fn is_ready(&self, number: u32) -> bool {
        self.tasks[self.place(number)].ready()
    }

    /// How many processes want to execute, the thread of the softirqs among them.
    pub(crate) fn load(&self) -> u32 {
        let ready = self.tasks.iter().filter(|task| task.ready()).count();
        let thread = self.kernel.as_ref().is_some_and(|k| k.wants_thread());
        ready as u32 + u32::from(thread)
    }

    /// Wakes the process with this number, which is here.
    pub(crate) fn wake_roaming(&mut self, number: u32) {
        let place = self.place(number);
        self.wake_process(place as u32);
    }

    /// Whether the vcpu, which is `idle` or busy, looks now whether others have processes to spare.
    pub(crate) fn looks(&mut self, idle: bool, now: Instant) -> bool {
        self.order.as_mut().is_some_and(|o| o.looks(idle, now))
    }

    /// The number of a process that another vcpu may pull, if there is one.
    pub(crate) fn to_spare(&self, now: Instant) -> Option<u32> {
        let order = self.order.as_ref()?;
        let tasks = &self.tasks;
        // Who is in a section of the kernel stays, or spins for one: Linux 2.6.18 preempts nobody
        // there, and the vcpu is the one that the section belongs to.
        let leaves = |task: &Task| task.ready() && !task.is_within();
        let place = order.to_spare(now, |i| tasks.get(i).is_some_and(leaves))?;
        Some((place - order.roam_from()) as u32)
    }

    /// The process with this number leaves.
    pub(crate) fn give(&mut self, number: u32) -> Option<Moving> {
        let place = self.place(number);
        let process = self.order.as_mut()?.give(place);
        let task = core::mem::replace(&mut *self.tasks.edit(place), Task::elsewhere());
        self.find_task_wake();
        Some(Moving { task, process })
    }

    /// The process with this number has come.
    pub(crate) fn take(&mut self, number: u32, moving: Moving) {
        let place = self.place(number);
        if let Some(order) = &mut self.order {
            order.take(place, moving.process);
        }
        *self.tasks.edit(place) = moving.task;
        self.steady = false;
        self.find_task_wake();
    }
}
