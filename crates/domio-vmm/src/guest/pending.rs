//! Work that interrupt handlers leave for later on one vcpu: softirqs, tasklets, work items, woken
//! processes, kernel timers.

use crate::bus::lines::{KernelTimer, SoftirqLine, Tasklet, WorkItem};
use crate::bus::locks::Section;
use crate::bus::owner::WorkShare;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use domio_core::{Duration, Instant};

/// What is asked for on one vcpu.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    /// Softirqs raised. Seldom more than two.
    softirqs: Vec<SoftirqLine>,
    /// Softirqs of the round under way that have not run, the next one last.
    round: Vec<SoftirqLine>,
    /// Tasklets scheduled. The last one runs first: Linux 2.6.18 pushes to the head of its list.
    tasklets: Vec<Tasklet>,
    /// Tasklets of the run under way, the next one last.
    running: Vec<Tasklet>,
    /// Work items, the next one first.
    work: VecDeque<WorkItem>,
    /// Processes woken that have not been told.
    woken: Vec<u32>,
    /// Kernel timers that are set.
    timers: Vec<(KernelTimer, Instant)>,
    /// The earliest of them; meaningless without any.
    first: Instant,
    /// Who has part in the piece of work that is named next.
    shares: Vec<WorkShare>,
    /// The end of that piece that one vcpu at a time may be in.
    section: Option<Section>,
    /// How much of that piece is copies and grant operations.
    moving: Duration,
    /// What the cache line of a lock takes to come from another vcpu, where the domain has any.
    neighbors: Option<Duration>,
}

impl Pending {
    /// Nothing is asked for yet. The domain has other vcpus, from which the cache line of a lock
    /// comes in `neighbors`, or none.
    pub fn new(neighbors: Option<Duration>) -> Self {
        Pending {
            neighbors,
            ..Pending::default()
        }
    }

    /// Whether the domain has other vcpus.
    #[inline]
    pub fn has_neighbors(&self) -> bool {
        self.neighbors.is_some()
    }

    /// What the cache line of a lock takes to come from another vcpu.
    #[inline]
    pub fn lock_line(&self) -> Duration {
        self.neighbors.unwrap_or(Duration::ZERO)
    }

    /// The end of the piece of work that is named next is such a section. A vcpu that is alone
    /// needs no lock.
    #[inline]
    pub(crate) fn set_section(&mut self, section: Section) {
        if self.neighbors.is_some() {
            self.section = Some(section);
        }
    }

    /// The section of the piece that was just named.
    #[inline]
    pub(crate) fn take_section(&mut self) -> Option<Section> {
        self.section.take()
    }

    /// So much of the piece of work that is named next is copies and grant operations.
    #[inline]
    pub fn set_moving(&mut self, time: Duration) {
        self.moving = time;
    }

    /// How much of the piece that was just named is.
    #[inline]
    pub fn take_moving(&mut self) -> Duration {
        core::mem::take(&mut self.moving)
    }

    /// Raises a softirq, which is nothing new if it is raised already.
    #[inline]
    pub fn raise(&mut self, softirq: SoftirqLine) {
        if !self.softirqs.contains(&softirq) {
            self.softirqs.push(softirq);
        }
    }

    /// Schedules a tasklet, and raises the softirq of tasklets.
    #[inline]
    pub fn schedule(&mut self, tasklet: Tasklet) {
        // One that waits in the run under way is scheduled as well.
        if !self.tasklets.contains(&tasklet) && !self.running.contains(&tasklet) {
            self.tasklets.push(tasklet);
            self.raise(SoftirqLine::TASKLET);
        }
    }

    /// Puts a work item behind the others, unless it waits already.
    #[inline]
    pub fn queue(&mut self, item: WorkItem) {
        if !self.work.contains(&item) {
            self.work.push_back(item);
        }
    }

    /// Wakes the process of this number.
    #[inline]
    pub fn wake(&mut self, process: u32) {
        self.woken.push(process);
    }

    /// Whether any softirq is raised.
    #[inline]
    pub fn any(&self) -> bool {
        !self.softirqs.is_empty()
    }

    /// Whether a process that executes has to make way, or look who else may: a softirq is raised,
    /// or a process was woken.
    #[inline]
    pub fn concerns_processes(&self) -> bool {
        !self.softirqs.is_empty() || !self.woken.is_empty()
    }

    /// Whether there is no softirq, no work item and no woken process. A tasklet comes with its
    /// softirq.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.softirqs.is_empty() && self.work.is_empty() && self.woken.is_empty()
    }

    /// Begins a round: those raised by now run, each once, lower ones first.
    #[inline]
    pub fn begin_round(&mut self) {
        core::mem::swap(&mut self.softirqs, &mut self.round);
        self.softirqs.clear();
        if self.round.len() > 1 {
            self.round.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// The next softirq of the round.
    #[inline]
    pub fn next_softirq(&mut self) -> Option<SoftirqLine> {
        self.round.pop()
    }

    /// Begins a run of the tasklets: those scheduled by now, last first.
    #[inline]
    pub fn begin_tasklets(&mut self) {
        core::mem::swap(&mut self.tasklets, &mut self.running);
        self.tasklets.clear();
    }

    /// The next tasklet of the run. From now on it can be scheduled again.
    #[inline]
    pub fn next_tasklet(&mut self) -> Option<Tasklet> {
        self.running.pop()
    }

    /// The next work item. From now on it can be queued again.
    #[inline]
    pub fn next_work(&mut self) -> Option<WorkItem> {
        self.work.pop_front()
    }

    /// A process that was woken.
    #[inline]
    pub fn next_woken(&mut self) -> Option<u32> {
        self.woken.pop()
    }

    /// Sets `timer`, in place of a former time.
    #[inline]
    pub fn set_timer(&mut self, timer: KernelTimer, at: Option<Instant>) {
        let found = self.timers.iter().position(|(t, _)| *t == timer);
        match (found, at) {
            (Some(i), Some(at)) => self.timers[i].1 = at,
            (Some(i), None) => {
                self.timers.remove(i);
            }
            (None, Some(at)) => self.timers.push((timer, at)),
            (None, None) => return,
        }
        self.find_first();
    }

    fn find_first(&mut self) {
        let times = self.timers.iter().map(|(_, at)| *at);
        self.first = times.min().unwrap_or(Instant::MAX);
    }

    /// When the first timer expires; [`Instant::MAX`] for never.
    #[inline]
    pub fn first_timer(&self) -> Instant {
        if self.timers.is_empty() {
            Instant::MAX
        } else {
            self.first
        }
    }

    /// Takes a timer out that has expired by `now`, in the order in which they were set first.
    pub fn expired(&mut self, now: Instant) -> Option<KernelTimer> {
        if self.first_timer() > now {
            return None;
        }
        let due = self.timers.iter().position(|(_, at)| *at <= now)?;
        let (timer, _) = self.timers.remove(due);
        self.find_first();
        Some(timer)
    }

    /// Somebody has part in the piece of work that is named next.
    #[inline]
    pub fn share(&mut self, share: WorkShare) {
        self.shares.push(share);
    }

    /// Moves the shares of the piece that was just named to `work`, in place of what that has.
    #[inline]
    pub fn take_shares(&mut self, work: &mut Vec<WorkShare>) {
        work.clear();
        work.append(&mut self.shares);
    }
}
