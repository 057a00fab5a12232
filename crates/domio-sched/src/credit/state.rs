//! Private tables: what the policy keeps for each vcpu, pcpu and domain, and their lists.
//!
//! Lists are intrusive and doubly linked by index, so that nothing is allocated after the tables
//! have grown to the size of the host.

use domio_core::{PcpuId, VcpuId};

/// Priority of a vcpu: higher runs first. The numbers are Xen's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(i8)]
pub enum Priority {
    /// Lower than every vcpu: the priority of an idle pcpu.
    Idle = -64,
    /// Has used more than its share.
    Over = -2,
    /// Has credit left.
    Under = -1,
    /// Had credit left when it woke, and was not yet seen running at a tick.
    Boost = 0,
}

impl Priority {
    const ALL: [Priority; 4] = [
        Priority::Idle,
        Priority::Over,
        Priority::Under,
        Priority::Boost,
    ];

    /// Its name in rows of the state.
    pub const fn word(self) -> &'static str {
        match self {
            Priority::Idle => "Idle",
            Priority::Over => "Over",
            Priority::Under => "Under",
            Priority::Boost => "Boost",
        }
    }

    /// The priority with this name.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.word() == word)
    }
}

/// Timer slot of the tick, on each pcpu.
pub(super) const TICK: u8 = 0;
/// Timer slot of accounting, on the master pcpu (3.4 and later).
pub const ACCOUNTING: u8 = 1;

/// No vcpu, no domain or no pcpu, in a link.
pub(super) const NIL: u32 = u32::MAX;
/// Not in a run queue.
pub(super) const NOWHERE: u16 = u16::MAX;

/// Flags of a vcpu, as bits of [`Vcpu::flags`].
pub(super) mod flag {
    /// Earns credit: it is in its domain's list. Set at a tick, cleared by accounting.
    pub const ACTIVE: u8 = 1;
    /// Paused because its domain is over its cap. Set and cleared by accounting.
    pub const PARKED: u8 = 2;
    /// Yielded and not passed over yet. Set by `yielded`, cleared by the pass that queues it.
    pub const YIELD: u8 = 4;
    /// A pcpu was chosen for it since it was last queued by a wake-up. Set by `pick_pcpu`,
    /// cleared by `wake`.
    pub const MIGRATING: u8 = 8;
    /// Its first pcpu has yet to be chosen. Set by `insert`, cleared by `pick_pcpu`.
    pub const UNPLACED: u8 = 16;
    /// Exists. Set by `insert`, cleared by `remove`.
    pub const PRESENT: u8 = 32;
}

/// What the policy keeps for a vcpu.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))] // a cache line each
pub(super) struct Vcpu {
    /// Neighbours in the run queue of `queue`.
    pub next: u32,
    pub prev: u32,
    /// The pcpu in whose run queue it is, or [`NOWHERE`].
    pub queue: u16,
    pub domain: u16,
    pub priority: Priority,
    pub flags: u8,
    pub credit: i64,
    /// Time that was burned but is under one credit, in ten-thousandths of a credit's 0.1 ms
    /// (Xen's `residual`: nanoseconds times credits per millisecond).
    pub residual: u32,
    /// While it is current: the time from which it has not been debited. Otherwise the same,
    /// relative to the pass that took it off, so that the remainder survives (never positive by
    /// more than the rounding of a debit).
    pub start: i64,
    /// The last pass at which it was current, in nanoseconds.
    pub last_ran: u64,
    /// Neighbours in its domain's list of active vcpus.
    pub active_next: u32,
    pub active_prev: u32,
}

impl Vcpu {
    pub const ABSENT: Vcpu = Vcpu {
        next: NIL,
        prev: NIL,
        queue: NOWHERE,
        domain: 0,
        priority: Priority::Under,
        flags: 0,
        credit: 0,
        residual: 0,
        start: 0,
        last_ran: 0,
        active_next: NIL,
        active_prev: NIL,
    };

    #[inline]
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    #[inline]
    pub fn set(&mut self, flag: u8) {
        self.flags |= flag;
    }

    #[inline]
    pub fn clear(&mut self, flag: u8) {
        self.flags &= !flag;
    }

    /// The pcpu whose run queue it is the first of, if it is.
    #[inline]
    pub fn heads_queue(&self) -> Option<PcpuId> {
        (self.queued() && self.prev == NIL).then_some(PcpuId(self.queue))
    }

    #[inline]
    pub fn queued(&self) -> bool {
        self.queue != NOWHERE
    }
}

/// What the policy keeps for a pcpu. Xen's queue ends in the idle vcpu; here that end is implicit.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Pcpu {
    /// First and last vcpu of the run queue.
    pub head: u32,
    pub tail: u32,
    /// Runnable vcpus that belong here: those queued and the current one.
    pub runnable: u32,
    /// Last of the vcpus with credit that come first in the run queue, [`NIL`] when the head has
    /// none. Known while the queue has been sorted since the last accounting.
    pub credit_end: u32,
    /// Value of [`super::Credit::sort_epoch`] when the queue was last sorted.
    pub sorted: u32,
    /// Ticks so far; accounting before 3.4 comes at every third one of the master.
    pub ticks: u32,
    /// Last choice among equally good idle pcpus that began here.
    pub idle_bias: PcpuId,
    /// Last idle pcpu that was tickled from here.
    pub last_tickled: PcpuId,
    /// Whether the tick timer is set.
    pub ticking: bool,
    /// Whom the run queue is of interest to.
    pub interest: Interest,
}

/// Who may find something to steal in a run queue, by its head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Interest {
    /// Nobody: it is empty.
    None,
    /// Pcpus that would idle otherwise.
    Idlers,
    /// Those that would run somebody without credit, too.
    All,
}

impl Interest {
    /// That in a queue whose head has `priority`; of idling when it is empty.
    #[inline]
    pub fn in_head(priority: Priority) -> Self {
        match priority {
            Priority::Idle => Interest::None,
            Priority::Over => Interest::Idlers,
            Priority::Under | Priority::Boost => Interest::All,
        }
    }
}

impl Pcpu {
    pub const OFFLINE: Pcpu = Pcpu {
        head: NIL,
        tail: NIL,
        runnable: 0,
        credit_end: NIL,
        sorted: 0,
        ticks: 0,
        idle_bias: PcpuId(0),
        last_tickled: PcpuId(0),
        ticking: false,
        interest: Interest::None,
    };
}

/// What the policy keeps for a domain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Domain {
    pub weight: i64,
    /// Percent of one pcpu, 0 for none.
    pub cap: i64,
    /// Head of its list of active vcpus, and their number. It is in the list of active domains
    /// exactly while this is not zero.
    pub active_head: u32,
    pub active_count: u32,
    /// Neighbours in the list of active domains.
    pub next: u32,
    pub prev: u32,
    /// The vcpu that was placed last, from whose pcpu the search for the next one's begins.
    pub placed_last: Option<VcpuId>,
}

impl Domain {
    /// What it adds to the sum of weights with `count` active vcpus: its weight, or `per_vcpu` its
    /// weight for each of them.
    #[inline]
    pub fn weight_in_sum(&self, per_vcpu: bool, count: u32) -> i64 {
        match (per_vcpu, count) {
            (_, 0) => 0,
            (true, n) => self.weight * i64::from(n),
            (false, _) => self.weight,
        }
    }

    pub const UNKNOWN: Domain = Domain {
        weight: 256,
        cap: 0,
        active_head: NIL,
        active_count: 0,
        next: NIL,
        prev: NIL,
        placed_last: None,
    };
}
