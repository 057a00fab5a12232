//! Private tables: what the policy keeps for each vcpu, pcpu and domain.
//!
//! Times are nanoseconds as signed numbers, as in Xen: the begin of a period may lie before the
//! start of the host.

use super::params::Setting;

/// Length of a turn of extra time; a shorter gap before the next period is left idle.
pub(super) const EXTRA_QUANTUM: i64 = 500_000;

/// No vcpu, in a link.
pub(super) const NIL: u32 = u32::MAX;

/// A time that never came.
pub(super) const NEVER: i64 = i64::MIN;

/// Flags of a vcpu, as bits of [`Vcpu::flags`].
pub(super) mod flag {
    /// Shares extra time: it is in [`super::Queue::Utilisation`] whenever it is runnable. Set and
    /// cleared by an operator.
    pub const AWARE: u8 = 1;
    /// Runs a turn of extra time out of [`super::Queue::Penalty`]. Set by the pass that picks it,
    /// cleared by the next one.
    pub const RUN_PENALTY: u8 = 2;
    /// Likewise, out of [`super::Queue::Utilisation`].
    pub const RUN_UTILISATION: u8 = 4;
    /// Is owed a turn for a short block. Set by a wake-up, cleared when it has had the turn. It is
    /// in [`super::Queue::Penalty`] then, unless it slept meanwhile.
    pub const WANT_PENALTY: u8 = 8;
    /// Exists. Set by `insert`, cleared by `remove`.
    pub const PRESENT: u8 = 16;
    /// Is on record as one whose slice is used up ([`super::Vcpu::is_held`]). Set and cleared by
    /// whatever writes that record.
    pub const HELD: u8 = 64;
    /// Belongs to a pcpu. Set by the first `pick_pcpu`, cleared by `remove`.
    pub const PLACED: u8 = 32;
}

/// The queues of a pcpu.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Queue {
    /// Vcpus in a period of theirs, by deadline. The vcpu that runs by reservation stays in it.
    Run = 0,
    /// Vcpus whose next period is still to begin, by that time.
    Wait = 1,
    /// Vcpus that are owed a turn of extra time for a short block, by score (Xen's L0). They are
    /// in one of the first two as well.
    Penalty = 2,
    /// Vcpus that share extra time, by score (Xen's L1). Likewise.
    Utilisation = 3,
}

impl Queue {
    /// All of them.
    pub const ALL: [Queue; 4] = [Queue::Run, Queue::Wait, Queue::Penalty, Queue::Utilisation];

    /// Which of [`Vcpu::links`] it uses: a vcpu is in one of the first two at a time.
    #[inline]
    pub const fn link(self) -> usize {
        match self {
            Queue::Run | Queue::Wait => 0,
            Queue::Penalty => 1,
            Queue::Utilisation => 2,
        }
    }
}

/// Place of a vcpu in a queue of its pcpu.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub next: u32,
    pub prev: u32,
    /// The queue that it is in.
    pub queue: Option<Queue>,
}

impl Link {
    pub const NOWHERE: Link = Link {
        next: NIL,
        prev: NIL,
        queue: None,
    };
}

/// What the policy keeps for a vcpu. Lengths and times are in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vcpu {
    /// By [`Queue::link`].
    pub links: [Link; 3],
    /// The pcpu that it belongs to.
    pub pcpu: u16,
    pub domain: u16,
    /// Bits of [`flag`].
    pub flags: u8,
    /// The reservation in force: `slice` in every `period`.
    pub period: i64,
    pub slice: i64,
    /// The reservation as it was given, to which a shortened one returns.
    pub period_orig: i64,
    pub slice_orig: i64,
    /// The period to wake with, 0 for none.
    pub latency: i64,
    /// Share of what others leave, from which `slice` follows; 0 for none.
    pub weight: i64,
    /// Share of extra time; 0 to share by the reservation.
    pub extraweight: i64,
    /// End of its period; [`NEVER`] until it first wakes.
    pub deadline: i64,
    /// Time of this period's slice that it has used.
    pub cputime: i64,
    /// The last pass that picked it.
    pub started: i64,
    /// The last pass that found it asleep, or [`NEVER`].
    pub slept: i64,
    /// Time of the last slice that it lost by a short block.
    pub lost: i64,
    /// What it owes for work that others did on its behalf, none under plain SEDF.
    pub debt: i64,
    /// The part of `debt` that a period is charged at most.
    pub quota: i64,
    /// The part of `debt` that may still be taken off the slice of the period that ends at
    /// `due_in`.
    pub due: i64,
    pub due_in: i64,
    /// Rank for extra time, by queue ([`Queue::Penalty`], [`Queue::Utilisation`]): less is better.
    pub score: [i64; 2],
}

impl Vcpu {
    pub const ABSENT: Vcpu = Vcpu {
        links: [Link::NOWHERE; 3],
        pcpu: 0,
        domain: 0,
        flags: 0,
        period: super::rules::WEIGHT_PERIOD,
        slice: 0,
        period_orig: super::rules::WEIGHT_PERIOD,
        slice_orig: 0,
        latency: 0,
        weight: 0,
        extraweight: 1,
        deadline: NEVER,
        cputime: 0,
        started: 0,
        slept: NEVER,
        lost: 0,
        debt: 0,
        quota: 0,
        due: 0,
        due_in: NEVER,
        score: [0; 2],
    };

    /// What is left of its slice.
    #[inline]
    pub fn remaining(&self) -> i64 {
        self.slice - self.cputime
    }

    /// When its period began, or begins.
    #[inline]
    pub fn begin(&self) -> i64 {
        self.deadline - self.period
    }

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

    /// Whether it is runnable as far as the policy has been told: in the run or the wait queue.
    #[inline]
    pub fn linked(&self) -> bool {
        self.links[0].queue.is_some()
    }

    /// Whether it is in `queue`.
    #[inline]
    pub fn is_in(&self, queue: Queue) -> bool {
        self.links[queue.link()].queue == Some(queue)
    }

    /// Whether it is runnable and may not run before its next period begins: its slice is used up,
    /// and it is in no queue for extra time.
    #[inline]
    pub fn is_held(&self) -> bool {
        let extra = [Queue::Penalty, Queue::Utilisation];
        self.is_in(Queue::Wait) && !extra.into_iter().any(|queue| self.is_in(queue))
    }

    /// The queue out of which it runs a turn of extra time, if it does.
    #[inline]
    pub fn extra_turn(&self) -> Option<Queue> {
        if self.has(flag::RUN_PENALTY) {
            Some(Queue::Penalty)
        } else if self.has(flag::RUN_UTILISATION) {
            Some(Queue::Utilisation)
        } else {
            None
        }
    }
}

/// What the policy keeps for a pcpu.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pcpu {
    /// First and last vcpu of each [`Queue`].
    pub heads: [u32; 4],
    pub tails: [u32; 4],
    /// End of the slice that the last pass gave (Xen's `current_slice_expires`).
    pub expires: i64,
    /// Sums over its vcpus, of use while weights are being turned into slices: weights, and time
    /// that those without a weight reserve in 100 ms.
    pub weights: i64,
    pub reserved: i64,
}

impl Pcpu {
    pub const IDLE: Pcpu = Pcpu {
        heads: [NIL; 4],
        tails: [NIL; 4],
        expires: 0,
        weights: 0,
        reserved: 0,
    };

    /// The first vcpu of `queue`, or [`NIL`].
    #[inline]
    pub fn head(&self, queue: Queue) -> u32 {
        self.heads[queue as usize]
    }
}

/// What the policy keeps for a domain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Domain {
    pub setting: Setting,
}

impl Domain {
    pub const UNKNOWN: Domain = Domain {
        setting: Setting::CREATED,
    };
}
