//! Private tables: what the policy keeps for each vcpu, run queue and domain, and their lists.
//!
//! Lists are intrusive and doubly linked by index, so that nothing is allocated after the tables
//! have grown to the size of the host. Times and credits are in nanoseconds.

use alloc::vec::Vec;
use domio_core::{CpuSet, PcpuId, VcpuId};

/// No vcpu, in a link.
pub(super) const NIL: u32 = u32::MAX;
/// No pcpu or no run queue.
pub(super) const NOWHERE: u16 = u16::MAX;
/// Budget of a vcpu whose domain has no cap.
pub(super) const NO_CAP: i64 = i64::MAX;

/// Flags of a vcpu, as bits of [`Vcpu::flags`].
pub(super) mod flag {
    /// A pcpu has it, or has not saved its state yet. Set by the pass that picks it, cleared by
    /// `context_saved`.
    pub const SCHEDULED: u8 = 1;
    /// It queues up as soon as its state is saved.
    pub const DELAYED_ADD: u8 = 2;
    /// Balancing wants it in the run queue [`super::Vcpu::target`]. Cleared by `pick_pcpu`.
    pub const REQUESTED: u8 = 4;
    /// Yielded and not passed over yet. Set by `yielded`, cleared by the pass.
    pub const YIELD: u8 = 8;
    /// Is in its run queue's list of those that wait.
    pub const QUEUED: u8 = 16;
    /// Balancing in the pass that picked it wants it elsewhere: it is flagged to migrate at the
    /// next pass of its pcpu, since a host does not switch to a vcpu that is flagged already.
    pub const MARKED: u8 = 32;
    /// Its first pcpu has yet to be chosen. Set by `insert`, cleared by `pick_pcpu`.
    pub const UNPLACED: u8 = 64;
}

/// What the policy keeps for a vcpu.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))] // two cache lines each
pub(super) struct Vcpu {
    pub credit: i64,
    /// Since when it has not been debited, while it is current.
    pub start: i64,
    pub weight: u32,
    /// What was burned and is under one credit, in parts of its weight.
    pub residual: u32,
    /// What it may still run before its domain is asked again; [`NO_CAP`] without a cap.
    pub budget: i64,
    /// When it was switched in.
    pub entered: i64,
    /// Neighbours in the list of those that wait.
    pub next: u32,
    pub prev: u32,
    /// Its run queue, or [`NOWHERE`].
    pub runq: u16,
    pub domain: u16,
    /// The pcpu that was tickled for it last and is to pick it up, or [`NOWHERE`].
    pub tickled: u16,
    /// Where balancing wants it, while it is [`flag::REQUESTED`].
    pub target: u16,
    pub flags: u8,
    /// What it takes from its domain's budget immediately.
    pub quota: i64,
    /// Its own load on average, in parts of 2^precision, and when that was worked out, in the
    /// granularity of load.
    pub average: i64,
    pub averaged: i64,
    /// Neighbours in the list of all vcpus of its run queue.
    pub member_next: u32,
    pub member_prev: u32,
}

impl Vcpu {
    pub const ABSENT: Vcpu = Vcpu {
        credit: 0,
        start: 0,
        weight: 1,
        residual: 0,
        budget: NO_CAP,
        entered: 0,
        next: NIL,
        prev: NIL,
        runq: NOWHERE,
        domain: 0,
        tickled: NOWHERE,
        target: NOWHERE,
        flags: 0,
        quota: 0,
        average: 0,
        averaged: 0,
        member_next: NIL,
        member_prev: NIL,
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

    /// Clears `flag` and says whether it was set.
    #[inline]
    pub fn take(&mut self, flag: u8) -> bool {
        let had = self.has(flag);
        self.clear(flag);
        had
    }

    #[inline]
    pub fn capped(&self) -> bool {
        self.budget != NO_CAP
    }
}

/// A run queue: pcpus that share the vcpus that wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Runq {
    /// First and last of those that wait, by credit.
    pub head: u32,
    pub tail: u32,
    /// Weight of the heaviest of its vcpus: whose credit burns at one a nanosecond.
    pub max_weight: u32,
    /// The pcpu that was chosen last in a placement; the search for the next one begins after it.
    pub pick_bias: PcpuId,
    /// Pcpus that belong here; none of them while the queue does not exist.
    pub active: CpuSet,
    /// Those of them that idle.
    pub idle: CpuSet,
    /// Those that were tickled and have not made their pass.
    pub tickled: CpuSet,
    /// Those in whose core every thread idles and was not tickled.
    pub smt_idle: CpuSet,
    /// Vcpus that run or wait.
    pub load: i64,
    /// The load on average, the same moved on by balancing, and when both were worked out.
    pub average: i64,
    pub balanced: i64,
    pub averaged: i64,
    /// First and last of all vcpus that belong here, in order of arrival.
    pub member_head: u32,
    pub member_tail: u32,
}

impl Runq {
    /// One that begins with `pcpu`.
    pub fn of(pcpu: PcpuId) -> Runq {
        Runq {
            head: NIL,
            tail: NIL,
            max_weight: 1,
            pick_bias: pcpu,
            active: CpuSet::EMPTY,
            idle: CpuSet::EMPTY,
            tickled: CpuSet::EMPTY,
            smt_idle: CpuSet::EMPTY,
            load: 0,
            average: 0,
            balanced: 0,
            averaged: 0,
            member_head: NIL,
            member_tail: NIL,
        }
    }

    #[inline]
    pub fn exists(&self) -> bool {
        !self.active.is_empty()
    }
}

/// What the policy keeps for a domain.
#[derive(Clone, Debug)]
pub(super) struct Domain {
    pub weight: u32,
    /// The cap in force, in percent of one pcpu; 0 for none.
    pub cap: i64,
    /// The cap that was asked for.
    pub wanted_cap: i64,
    /// Budget of a period, and what is left of it in the domain's pool.
    pub whole: i64,
    pub budget: i64,
    /// When the pool is filled next.
    pub refill_at: i64,
    /// Its vcpus, by number.
    pub vcpus: Vec<VcpuId>,
    /// Those that are parked, the latest one last.
    pub parked: Vec<VcpuId>,
}

impl Domain {
    pub const UNKNOWN: Domain = Domain {
        weight: 256,
        cap: 0,
        wanted_cap: 0,
        whole: 0,
        budget: 0,
        refill_at: 0,
        vcpus: Vec::new(),
        parked: Vec::new(),
    };
}
