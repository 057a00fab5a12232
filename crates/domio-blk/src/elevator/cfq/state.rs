//! What CFQ keeps: its queues, the tree of those that wait for a slice, and a context for each
//! process.

use super::super::history::Average;
use super::super::list::List;
use super::super::request::{Bio, IoPrio, Jiffies, RequestId, Submitter};
use super::super::sorted::Sorted;
use super::Tunables;
use alloc::vec::Vec;

/// Level of a process without one.
const NORMAL: u8 = 4;

/// Number of levels of a class.
const LEVELS: usize = 8;

/// Classes in the order in which the tree serves them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Class {
    RealTime,
    BestEffort,
    Idle,
}

/// Class and level of a process's own queue: without a class, the level follows from nice.
fn own(prio: IoPrio) -> (Class, u8) {
    match prio {
        IoPrio::None { nice } => (Class::BestEffort, ((i16::from(nice) + 20) / 5) as u8),
        IoPrio::RealTime(level) => (Class::RealTime, level),
        IoPrio::BestEffort(level) => (Class::BestEffort, level),
        IoPrio::Idle => (Class::Idle, 7),
    }
}

/// A queue of requests: of one process (sync), or of all processes of a class and level (async).
#[derive(Default)]
pub(super) struct Line {
    pub sorted: Sorted,
    pub fifo: List,
    /// The best request to continue with.
    pub next: Option<RequestId>,
    pub sync: bool,
    pub class: Option<Class>,
    pub level: u8,
    /// Whether the disk may be kept waiting for the process.
    pub idle_window: bool,
    /// The disk is being kept waiting. Set when the timer is armed; cleared by a dispatch and by
    /// the end of the slice.
    pub waiting: bool,
    /// The slice began and nothing was completed in it.
    pub slice_new: bool,
    /// The oldest request was looked at in this slice.
    pub fifo_checked: bool,
    /// A request beyond the queue's limits was granted in this slice.
    pub granted: bool,
    /// Waits in the tree, as a queue with requests does.
    pub busy: bool,
    pub slice_end: Jiffies,
    /// What was left of the last slice, or is owed when negative.
    pub residual: Jiffies,
    /// Requests handed on and not completed.
    pub dispatched: i64,
    /// Metadata requests queued.
    pub meta: u32,
    /// Requests that exist, and the processes that have this queue.
    pub refs: u32,
    key: Jiffies,
}

/// A process's I/O context on this disk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    pub alive: bool,
    /// Queues by type: async, sync.
    pub lines: [Option<u32>; 2],
    pub last_end: Jiffies,
    pub last_pos: u64,
    pub think: Average,
    pub seek: Average,
}

/// All queues, contexts and the tree.
#[derive(Default)]
pub(super) struct Lines {
    pub lines: Vec<Line>,
    free: Vec<u32>,
    contexts: Vec<Option<Context>>,
    /// Queues that are shared: real time by level, best effort by level, idle.
    shared: [[Option<u32>; LEVELS]; 3],
    /// Class, key and number of each busy queue, in order of service.
    tree: Vec<(Class, Jiffies, u32)>,
}

impl Lines {
    pub fn context(&self, who: Submitter) -> Option<&Context> {
        self.contexts.get(who.index())?.as_ref()
    }

    /// The context of a submitter that has made a request.
    pub fn known(&mut self, who: Submitter) -> &mut Context {
        let context = self.contexts[who.index()].as_mut();
        context.expect("a submitter with requests has a context")
    }

    /// The queue that `bio` would go to; `sync` says which of the two.
    pub fn of(&self, who: Submitter, sync: bool) -> Option<u32> {
        self.context(who)?.lines[usize::from(sync)]
    }

    pub fn of_bio(&self, bio: &Bio) -> Option<u32> {
        self.of(bio.submitter, bio.is_sync())
    }

    /// The queue for a new request, made if need be.
    pub fn get(&mut self, who: Submitter, prio: IoPrio, sync: bool, now: Jiffies) -> u32 {
        if self.contexts.len() <= who.index() {
            self.contexts.resize(who.index() + 1, None);
        }
        let context = self.contexts[who.index()].get_or_insert(Context {
            alive: true,
            lines: [None; 2],
            last_end: now,
            last_pos: 0,
            think: Average::default(),
            seek: Average::default(),
        });
        if let Some(line) = context.lines[usize::from(sync)] {
            return line;
        }
        let line = if sync {
            self.make(prio, true)
        } else {
            self.shared(prio)
        };
        self.lines[line as usize].refs += 1;
        self.known(who).lines[usize::from(sync)] = Some(line);
        line
    }

    /// The async queue of a class and level, where nice does not count; the queue keeps the level
    /// of the process that came first, where nice does.
    fn shared(&mut self, prio: IoPrio) -> u32 {
        let (class, level) = match prio {
            IoPrio::None { .. } => (Class::BestEffort, NORMAL),
            IoPrio::Idle => (Class::Idle, 0),
            _ => own(prio),
        };
        let (class, level) = (class as usize, usize::from(level));
        if let Some(line) = self.shared[class][level] {
            return line;
        }
        let line = self.make(prio, false);
        self.lines[line as usize].refs += 1;
        self.shared[class][level] = Some(line);
        line
    }

    fn make(&mut self, prio: IoPrio, sync: bool) -> u32 {
        let at = self.free.pop().unwrap_or_else(|| {
            self.lines.push(Line::default());
            self.lines.len() as u32 - 1
        });
        let (class, level) = own(prio);
        let line = &mut self.lines[at as usize];
        // The vector of the queue before is used again.
        let mut sorted = core::mem::take(&mut line.sorted);
        sorted.clear();
        *line = Line {
            sorted,
            sync,
            class: Some(class),
            level,
            idle_window: sync && class != Class::Idle,
            ..Line::default()
        };
        at
    }

    /// Gives a reference back. Says whether this was the last one, and the queue is gone.
    pub fn put(&mut self, line: u32) -> bool {
        let refs = &mut self.lines[line as usize].refs;
        *refs -= 1;
        let gone = *refs == 0;
        if gone {
            assert!(
                !self.lines[line as usize].busy,
                "a queue goes with requests"
            );
            self.free.push(line);
        }
        gone
    }

    /// Number of queues that have requests.
    pub fn busy(&self) -> usize {
        self.tree.len()
    }

    /// The queue that is served next.
    pub fn first(&self) -> Option<u32> {
        self.tree.first().map(|(_, _, line)| *line)
    }

    /// Puts a queue in the tree.
    pub fn add(&mut self, line: u32, tunables: &Tunables, now: Jiffies) {
        assert!(!core::mem::replace(
            &mut self.lines[line as usize].busy,
            true
        ));
        let busy = self.tree.len() + 1;
        let key = self.key(line, busy, tunables, now);
        self.place(line, key);
    }

    /// Takes a queue out of the tree.
    pub fn remove(&mut self, line: u32) {
        self.lines[line as usize].busy = false;
        self.tree.retain(|(_, _, other)| *other != line);
    }

    /// Gives a queue a place anew, if it waits: where it belongs, or in front of its class.
    pub fn resort(&mut self, line: u32, front: bool, tunables: &Tunables, now: Jiffies) {
        if !self.lines[line as usize].busy {
            return;
        }
        let key = if front {
            0
        } else {
            self.key(line, self.tree.len(), tunables, now)
        };
        if key != self.lines[line as usize].key {
            self.tree.retain(|(_, _, other)| *other != line);
            self.place(line, key);
        }
    }

    /// When a queue is to be served: later the more queues there are and the shorter its slice.
    /// 2.6.24 *adds* what was left of the last slice.
    fn key(&mut self, line: u32, busy: usize, tunables: &Tunables, now: Jiffies) -> Jiffies {
        let line = &mut self.lines[line as usize];
        let longest = super::slice(tunables, true, 0);
        let offset = (busy as i64 - 1) * (longest - super::slice(tunables, line.sync, line.level));
        now + offset + core::mem::take(&mut line.residual)
    }

    fn place(&mut self, at: u32, key: Jiffies) {
        let line = &mut self.lines[at as usize];
        line.key = key;
        let rank = (line.class.unwrap_or(Class::BestEffort), key);
        let place = self.tree.partition_point(|(c, k, _)| (*c, *k) <= rank);
        self.tree.insert(place, (rank.0, key, at));
    }
}
