//! The processes of a vcpu, with a table of which of them want to execute and when the others want
//! to be woken, so that nobody looks at a hundred sleepers to find the one that is awake.

use crate::process::task::Task;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::{Deref, DerefMut, Index};
use domio_core::{Duration, Instant};

/// The processes. A vcpu with one alone has no table.
#[derive(Debug)]
pub(super) struct Tasks {
    all: Box<[Task]>,
    table: Option<Box<Table>>,
}

#[derive(Debug)]
struct Table {
    /// A bit for each process that wants to execute.
    ready: Box<[u64]>,
    /// When each wants to be woken; [`Instant::MAX`] for never.
    wakes: Box<[Instant]>,
    /// Processes that want to be woken at a time.
    timed: usize,
    /// How long the current process has executed since it got its turn.
    turn: Duration,
    /// The priority of all of them, if they have one and the same.
    priority: Option<i8>,
}

impl Table {
    /// Notes what became of process `i`.
    fn note(&mut self, i: usize, task: &Task) {
        let at = core::mem::replace(&mut self.wakes[i], task.wakes_at());
        self.timed -= usize::from(at != Instant::MAX);
        self.timed += usize::from(task.wakes_at() != Instant::MAX);
        self.priority = self.priority.filter(|alike| *alike == task.priority());
        let (word, bit) = (&mut self.ready[i / 64], 1 << (i % 64));
        match task.ready() {
            true => *word |= bit,
            false => *word &= !bit,
        }
    }
}

impl Tasks {
    pub fn new(all: Vec<Task>) -> Self {
        let count = all.len();
        let priority = all.first().map(Task::priority);
        let table = || Table {
            priority,
            ready: vec![0; count.div_ceil(64)].into_boxed_slice(),
            wakes: vec![Instant::MAX; count].into_boxed_slice(),
            timed: 0,
            turn: Duration::ZERO,
        };
        let mut tasks = Tasks {
            all: all.into_boxed_slice(),
            table: (count > 1).then(|| Box::new(table())),
        };
        (0..count).for_each(|i| tasks.note(i));
        tasks
    }

    /// Takes all of them out.
    pub fn take(&mut self) -> Vec<Task> {
        core::mem::replace(self, Tasks::new(Vec::new()))
            .all
            .into_vec()
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn iter(&self) -> core::slice::Iter<'_, Task> {
        self.all.iter()
    }

    pub fn get(&self, i: usize) -> Option<&Task> {
        self.all.get(i)
    }

    /// The process of a vcpu that has one alone.
    #[inline(always)]
    pub fn only(&mut self) -> Option<&mut Task> {
        match &mut *self.all {
            [task] => Some(task),
            _ => None,
        }
    }

    /// Process `i`, to be changed.
    #[inline]
    pub fn edit(&mut self, i: usize) -> TaskEdit<'_> {
        TaskEdit { tasks: self, i }
    }

    /// Process `i`, the current one, has executed for `time`.
    #[inline(always)]
    pub fn execute(&mut self, i: usize, time: Duration) {
        self.all[i].execute(time);
        // An only task has no turns.
        if let Some(table) = &mut self.table {
            table.turn += time;
        }
    }

    /// How long the current process has executed since it got its turn.
    pub fn turn(&self) -> Duration {
        let table = self.table.as_deref();
        table.map_or(Duration::ZERO, |table| table.turn)
    }

    /// A process gets its turn.
    pub fn begin_turn(&mut self) {
        if let Some(table) = &mut self.table {
            table.turn = Duration::ZERO;
        }
    }

    /// What process `i` has left to execute from `now` on.
    #[inline(always)]
    pub fn left(&mut self, i: usize, now: Instant) -> Duration {
        self.all[i].left(now)
    }

    /// Notes what became of process `i`.
    #[inline]
    fn note(&mut self, i: usize) {
        if let Some(table) = &mut self.table {
            table.note(i, &self.all[i]);
        }
    }

    /// Wakes those whose time has come, in their order.
    pub fn wake_due(&mut self, now: Instant) {
        if let Some(task) = self.only() {
            return task.wake_due(now);
        }
        let timed = |table: &Table| table.timed > 0;
        for i in 0..self.all.len() {
            if self.table.as_deref().is_some_and(timed) && self.all[i].wakes_at() <= now {
                self.edit(i).wake_due(now);
            }
        }
    }

    /// The earliest time at which one wants to be woken; [`Instant::MAX`] for never.
    #[inline]
    pub fn wakes_at(&self) -> Instant {
        match (&self.table, &*self.all) {
            (Some(table), _) if table.timed > 0 => {
                let wakes = table.wakes.iter().copied();
                wakes.min().unwrap_or(Instant::MAX)
            }
            (None, [task]) => task.wakes_at(),
            _ => Instant::MAX,
        }
    }

    /// Whether any wants to execute.
    pub fn any_ready(&self) -> bool {
        match (&self.table, &*self.all) {
            (Some(table), _) => table.ready.iter().any(|word| *word != 0),
            (None, all) => all.iter().any(Task::ready),
        }
    }

    /// The highest priority of those that want to execute, of a vcpu with several processes.
    pub fn top(&self) -> Option<i8> {
        let table = self.table.as_deref()?;
        match table.priority {
            Some(alike) => self.any_ready().then_some(alike),
            None => self.ready().map(|i| self.all[i].priority()).max(),
        }
    }

    /// The first from `start` on, counted round, that wants to execute and has the priority `top`.
    pub fn next(&self, start: usize, top: i8) -> Option<usize> {
        let eligible = || self.ready().filter(|i| self.all[*i].priority() == top);
        eligible()
            .find(|i| *i >= start)
            .or_else(|| eligible().next())
    }

    /// Those that want to execute, of a vcpu with several processes.
    pub fn ready(&self) -> impl Iterator<Item = usize> + '_ {
        let words = self.table.iter().flat_map(|table| table.ready.iter());
        words.enumerate().flat_map(|(at, &word)| {
            let mut left = word;
            core::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(at * 64 + bit)
            })
        })
    }
}

impl Index<usize> for Tasks {
    type Output = Task;

    #[inline(always)]
    fn index(&self, i: usize) -> &Task {
        &self.all[i]
    }
}

/// A process that is being changed.
pub(super) struct TaskEdit<'t> {
    tasks: &'t mut Tasks,
    i: usize,
}

impl Deref for TaskEdit<'_> {
    type Target = Task;

    #[inline(always)]
    fn deref(&self) -> &Task {
        &self.tasks.all[self.i]
    }
}

impl DerefMut for TaskEdit<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Task {
        &mut self.tasks.all[self.i]
    }
}

impl Drop for TaskEdit<'_> {
    #[inline]
    fn drop(&mut self) {
        self.tasks.note(self.i);
    }
}
