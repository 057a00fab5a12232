//! [`Cx`]: everything that a policy can see of its host and ask of it.
//!
//! Reads come from [`Tables`], which the host keeps. Requests are appended to a list of
//! [`Effect`]s, which the host carries out in order when the call returns. Some requests also show
//! in the tables immediately, because a policy continues to act on them: [`Cx::park`],
//! [`Cx::unpark`], [`Cx::migrate`] and [`Cx::move_to`].

use crate::work::{Work, WorkReport};
use alloc::vec::Vec;
use domio_core::{
    CpuSet, DomainId, Duration, Instant, PcpuId, PcpuTable, Topology, VcpuId, VcpuName,
};

/// Reasons for which a vcpu is not runnable (Xen's `_VPF_*` flags and pause counts), as bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pause(u8);

impl Pause {
    /// Waits for an event. Set by block, cleared by wake.
    pub const BLOCKED: u8 = 1;
    /// Is to change its pcpu. Set by [`Cx::migrate`], cleared by the host when it has moved.
    pub const MIGRATING: u8 = 2;
    /// Not brought up yet, or shut down.
    pub const DOWN: u8 = 4;
    /// Paused by the policy (a cap). Set by [`Cx::park`], cleared by [`Cx::unpark`].
    pub const PARKED: u8 = 8;
    /// Paused by the operator.
    pub const PAUSED: u8 = 16;

    /// No reason: runnable.
    pub const NONE: Pause = Pause(0);

    /// The flags as bits.
    #[inline]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether `flag` is set.
    #[inline]
    pub const fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }

    /// Sets `flag`.
    #[inline]
    pub fn set(&mut self, flag: u8) {
        self.0 |= flag;
    }

    /// Clears `flag`.
    #[inline]
    pub fn clear(&mut self, flag: u8) {
        self.0 &= !flag;
    }
}

/// What a policy sees of a vcpu.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VcpuView {
    /// Domain and index.
    pub name: VcpuName,
    /// The pcpu that it belongs to (Xen's `processor`): where it runs, ran last, or is queued.
    pub pcpu: PcpuId,
    /// Why it is not runnable.
    pub pause: Pause,
    /// Whether a pcpu holds its state (Xen's `is_running`): set when switched in, cleared when its
    /// state is saved after the switch out.
    pub on_pcpu: bool,
}

impl VcpuView {
    /// Whether it wants to execute (it may be executing already).
    #[inline]
    pub const fn runnable(&self) -> bool {
        self.pause.0 == 0
    }
}

/// Where a vcpu may run and where it prefers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(align(64))] // a cache line each
pub struct Affinity {
    /// It never runs elsewhere. Holds at least one online pcpu.
    pub hard: CpuSet,
    /// It prefers these (Xen 4.5 and later).
    pub soft: CpuSet,
}

/// What a policy sees of a pcpu.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PcpuView {
    /// The vcpu that is current there, `None` when it idles.
    pub current: Option<VcpuId>,
}

/// The host's tables, as far as a policy may read them. Owned and kept by the host.
#[derive(Clone, Debug)]
pub struct Tables {
    /// By [`VcpuId`].
    pub vcpus: Vec<VcpuView>,
    /// By [`VcpuId`].
    pub affinity: Vec<Affinity>,
    /// By [`PcpuId`].
    pub pcpus: PcpuTable<PcpuView>,
    /// Pcpus that take part in scheduling.
    pub online: CpuSet,
    /// How they share cores and sockets.
    pub topology: Topology,
    /// Whether the host promises that no vcpu ever has a soft affinity but [`CpuSet::ALL`], so that
    /// a policy need not look. A host that does not know leaves it false.
    pub no_soft_affinity: bool,
    /// Whether the host promises that every vcpu may always run on every pcpu, so that nobody need
    /// look at its hard affinity. A host that does not know leaves it false.
    pub no_hard_affinity: bool,
    /// See [`Cx::here`].
    pub here: PcpuId,
    /// See [`Cx::any_pcpu`].
    pub any_pcpu: PcpuId,
    /// Index of the [pool](crate::Pools) whose policy is called; 0 where there are no pools.
    pub pool: u8,
    /// What the policy has reported by [`Cx::did`] since the host last cleared this.
    pub work: WorkReport,
}

impl Tables {
    /// Tables of a host of this shape, with no pcpu online and no vcpu.
    pub fn new(topology: Topology) -> Self {
        Tables {
            vcpus: Vec::new(),
            affinity: Vec::new(),
            pcpus: PcpuTable::new(topology.pcpus(), PcpuView::default()),
            online: CpuSet::EMPTY,
            topology,
            no_soft_affinity: false,
            no_hard_affinity: false,
            here: PcpuId(0),
            any_pcpu: PcpuId(0),
            pool: 0,
            work: WorkReport::NOTHING,
        }
    }

    /// Whether `pcpu` is online and `vcpu` may run there.
    #[inline]
    pub fn may_run_on(&self, vcpu: VcpuId, pcpu: PcpuId) -> bool {
        // The promise spares a look at a table that large hosts do not have in their cache.
        self.online.contains(pcpu)
            && (self.no_hard_affinity || self.affinity[vcpu.index()].hard.contains(pcpu))
    }
}

/// A request of a policy to its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Raise the scheduler softirq on this pcpu (an IPI when it is another one).
    Tickle(PcpuId),
    /// Set timer `slot` of `pcpu` to expire at `at`, replacing its former time; `None` stops it.
    Timer {
        /// Where the timer's softirq runs.
        pcpu: PcpuId,
        /// Which of the policy's timers there.
        slot: u8,
        /// When, or never.
        at: Option<Instant>,
    },
    /// Set the timer of `domain` to expire at `at`, replacing its former time; `None` stops it.
    DomainTimer {
        /// Whose.
        domain: DomainId,
        /// When, or never.
        at: Option<Instant>,
    },
    /// This vcpu was parked: the tables show it, runstate and trace have to follow.
    Park(VcpuId),
    /// This vcpu was unparked, likewise.
    Unpark(VcpuId),
    /// This vcpu was flagged to migrate: once it is not running, pick its pcpu anew and wake it.
    Migrate(VcpuId),
    /// This vcpu, which is on no pcpu, belongs to this pcpu: the tables show it already.
    Move(VcpuId, PcpuId),
    /// A private trace record.
    Note {
        /// Index of the [pool](crate::Pools) whose policy it is of.
        pool: u8,
        /// Buffer that it goes to.
        pcpu: PcpuId,
        /// Number in the policy's [class](crate::Descriptor::class), 0 to 63.
        number: u8,
        /// The vcpu that it is about.
        about: Option<VcpuId>,
        /// The words; those that the class does not declare are zero.
        words: [u32; 4],
    },
}

/// A policy's view of its host during one call.
pub struct Cx<'a> {
    now: Instant,
    tables: &'a mut Tables,
    effects: &'a mut Vec<Effect>,
    tracing: bool,
}

impl<'a> Cx<'a> {
    /// Timer slots that each pcpu offers to the policy.
    pub const TIMER_SLOTS: u8 = 4;

    /// A context for one call at `now`; used by hosts. `tracing` says whether notes are wanted.
    #[inline]
    pub fn new(
        now: Instant,
        tables: &'a mut Tables,
        effects: &'a mut Vec<Effect>,
        tracing: bool,
    ) -> Self {
        Cx {
            now,
            tables,
            effects,
            tracing,
        }
    }

    /// Makes `call` with a context in which `pcpus` are all that is online, for the policy of the
    /// pool with index `pool`.
    pub(crate) fn in_pool<R>(
        &mut self,
        pool: u8,
        pcpus: CpuSet,
        call: impl FnOnce(&mut Cx<'_>) -> R,
    ) -> R {
        let within = self.tables.online & pcpus;
        let online = core::mem::replace(&mut self.tables.online, within);
        let before = core::mem::replace(&mut self.tables.pool, pool);
        let answer = call(self);
        self.tables.online = online;
        self.tables.pool = before;
        answer
    }

    /// Makes `call` at the same time with a context of these tables, and has its requests put into
    /// `effects`. The work that it reports is reported here.
    pub(crate) fn within<R>(
        &mut self,
        tables: &mut Tables,
        effects: &mut Vec<Effect>,
        call: impl FnOnce(&mut Cx<'_>) -> R,
    ) -> R {
        core::mem::swap(&mut self.tables.work, &mut tables.work);
        let answer = call(&mut Cx::new(self.now, tables, effects, self.tracing));
        core::mem::swap(&mut self.tables.work, &mut tables.work);
        answer
    }

    /// The host's tables.
    pub(crate) fn tables(&self) -> &Tables {
        self.tables
    }

    /// The time of this call.
    #[inline]
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Number of pcpus, online or not.
    #[inline]
    pub fn pcpus(&self) -> usize {
        self.tables.pcpus.len()
    }

    /// Pcpus that take part in scheduling.
    #[inline]
    pub fn online(&self) -> CpuSet {
        self.tables.online
    }

    /// The pcpu whose hypervisor code makes this call, in a wake-up the waker's. Known in the calls
    /// that name no pcpu of their own.
    #[inline]
    pub fn here(&self) -> PcpuId {
        self.tables.here
    }

    /// An online pcpu that the host drew at random for the domain whose first vcpu is placed (Xen's
    /// `cpumask_any()`); of no meaning in other calls.
    #[inline]
    pub fn any_pcpu(&self) -> PcpuId {
        self.tables.any_pcpu
    }

    /// How pcpus share cores and sockets.
    #[inline]
    pub fn topology(&self) -> &Topology {
        &self.tables.topology
    }

    /// The state of `vcpu`.
    #[inline]
    pub fn vcpu(&self, vcpu: VcpuId) -> &VcpuView {
        &self.tables.vcpus[vcpu.index()]
    }

    /// The online pcpus on which `vcpu` may run. Never empty.
    #[inline]
    pub fn hard(&self, vcpu: VcpuId) -> CpuSet {
        self.tables.affinity[vcpu.index()].hard & self.tables.online
    }

    /// Whether `pcpu` is in [`Cx::hard`] of `vcpu`.
    #[inline]
    pub fn may_run_on(&self, vcpu: VcpuId, pcpu: PcpuId) -> bool {
        self.tables.may_run_on(vcpu, pcpu)
    }

    /// Whether the hard affinity of `vcpu` is one pcpu alone, be others online or not.
    #[inline]
    pub fn is_pinned(&self, vcpu: VcpuId) -> bool {
        self.tables.affinity[vcpu.index()].hard.len() == 1
    }

    /// Where `vcpu` prefers to run.
    #[inline]
    pub fn soft(&self, vcpu: VcpuId) -> CpuSet {
        self.tables.affinity[vcpu.index()].soft
    }

    /// Whether some vcpu of this host may have a soft affinity that says anything.
    #[inline]
    pub fn soft_affinity_matters(&self) -> bool {
        !self.tables.no_soft_affinity
    }

    /// The vcpu that is current on `pcpu`, `None` when it idles.
    #[inline]
    pub fn current(&self, pcpu: PcpuId) -> Option<VcpuId> {
        self.tables.pcpus[pcpu].current
    }

    /// Whether `vcpu` is current on the pcpu that it belongs to.
    #[inline]
    pub fn is_current(&self, vcpu: VcpuId) -> bool {
        self.current(self.vcpu(vcpu).pcpu) == Some(vcpu)
    }

    /// Asks for a scheduler pass on `pcpu`: immediately when this call runs there, after an IPI
    /// otherwise. Idempotent until the pass has begun.
    #[inline]
    pub fn tickle(&mut self, pcpu: PcpuId) {
        self.effects.push(Effect::Tickle(pcpu));
    }

    /// Sets timer `slot` (below [`Cx::TIMER_SLOTS`]) of `pcpu` to `at`.
    #[inline]
    pub fn set_timer(&mut self, pcpu: PcpuId, slot: u8, at: Instant) {
        assert!(
            slot < Self::TIMER_SLOTS,
            "a pcpu offers {} timer slots",
            Self::TIMER_SLOTS
        );
        self.effects.push(Effect::Timer {
            pcpu,
            slot,
            at: Some(at),
        });
    }

    /// Sets timer `slot` of `pcpu` to `delay` from now.
    #[inline]
    pub fn set_timer_in(&mut self, pcpu: PcpuId, slot: u8, delay: Duration) {
        self.set_timer(pcpu, slot, self.now + delay);
    }

    /// Stops timer `slot` of `pcpu`, if it is set.
    #[inline]
    pub fn stop_timer(&mut self, pcpu: PcpuId, slot: u8) {
        self.effects.push(Effect::Timer {
            pcpu,
            slot,
            at: None,
        });
    }

    /// Sets the timer that the policy has for `domain` to `at`. Each domain has one, on the lowest
    /// pcpu that is online; of timers that expire at one instant the one that was set first comes
    /// first.
    #[inline]
    pub fn set_domain_timer(&mut self, domain: DomainId, at: Instant) {
        let at = Some(at);
        self.effects.push(Effect::DomainTimer { domain, at });
    }

    /// Stops the timer of `domain`, if it is set.
    #[inline]
    pub fn stop_domain_timer(&mut self, domain: DomainId) {
        let at = None;
        self.effects.push(Effect::DomainTimer { domain, at });
    }

    /// Pauses `vcpu` on the policy's behalf. It is not runnable from this moment. The host does
    /// not call `sleep` for it: if it is current, tickle its pcpu; if it is queued, take it out.
    pub fn park(&mut self, vcpu: VcpuId) {
        self.tables.vcpus[vcpu.index()].pause.set(Pause::PARKED);
        self.effects.push(Effect::Park(vcpu));
    }

    /// Ends [`Cx::park`]. Returns whether `vcpu` is runnable now; the host does not call `wake`
    /// for it, so the policy queues it and tickles.
    #[must_use]
    pub fn unpark(&mut self, vcpu: VcpuId) -> bool {
        let view = &mut self.tables.vcpus[vcpu.index()];
        view.pause.clear(Pause::PARKED);
        self.effects.push(Effect::Unpark(vcpu));
        view.runnable()
    }

    /// Flags `vcpu`, which is current somewhere, to move: it is not runnable until the host has
    /// asked `pick_pcpu` and called `wake` with [`crate::Wake::Migrate`]. Tickle its pcpu as well.
    pub fn migrate(&mut self, vcpu: VcpuId) {
        self.tables.vcpus[vcpu.index()].pause.set(Pause::MIGRATING);
        self.effects.push(Effect::Migrate(vcpu));
    }

    /// Has `vcpu`, which no pcpu holds, belong to `pcpu` from this moment, which is online and in
    /// its hard affinity. Nobody is woken by that: the policy queues the vcpu there, if it waits,
    /// and tickles.
    pub fn move_to(&mut self, vcpu: VcpuId, pcpu: PcpuId) {
        self.tables.vcpus[vcpu.index()].pcpu = pcpu;
        self.effects.push(Effect::Move(vcpu, pcpu));
    }

    /// Reports that the policy did `work` so many `times`. A host that knows its price lets time
    /// pass for it where that shows, before timers that the same call sets relative to now.
    #[inline]
    pub fn did(&mut self, work: Work, times: u32) {
        self.tables.work.add(work, times);
    }

    /// Whether [`Cx::note`] is kept; lets a policy skip work for it.
    #[inline]
    pub fn tracing(&self) -> bool {
        self.tracing
    }

    /// Writes a private trace record: `number` of the policy's
    /// [class](crate::Descriptor::class), about that vcpu, with at most four words.
    #[inline]
    pub fn note(&mut self, pcpu: PcpuId, number: u8, about: Option<VcpuId>, words: &[u32]) {
        if self.tracing {
            let mut kept = [0; 4];
            kept[..words.len()].copy_from_slice(words);
            self.effects.push(Effect::Note {
                pool: self.tables.pool,
                pcpu,
                number,
                about,
                words: kept,
            });
        }
    }
}
