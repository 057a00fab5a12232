//! The [`Scheduler`] trait: what a policy implements and what it may rely on.
//!
//! # Life of a vcpu
//!
//! ```text
//! set_group(g)  join(d, g)         groups of domains, for a policy that has them
//! host_thread(v, works)            a vcpu that is a thread of the host
//! set_domain(d)                    parameters of the domain, before its first vcpu
//! charge(d)                        others have worked for d, at any time in its life
//! packets(moved)                   a driver domain has moved packets of a guest, at any time
//! dispatching(v, n)                v, of a driver domain, runs and has n packets to pass on
//! insert(v)  pick_pcpu(v)          v is known, not runnable yet; the host assigns the pcpu
//! set_vcpu(v)                      parameters of v alone, at any time in its life
//! wake(v)                          v became runnable: queue it, tickle whoever should run it
//!   schedule(p) -> Pick            softirq on p; v leaves the queue and runs
//!     yielded(v)                   v asked to be passed over; schedule(p) follows
//!   schedule(p)                    v is `prev`: still runnable (queue it again) or blocked (don't)
//!   context_saved(v)               v's state is saved: another pcpu may run it from now on
//!   pick_pcpu(v)  wake(v)          v was flagged to migrate: new pcpu, then an ordinary wake-up
//! sleep(v)                         v was paused by the host: unqueue it, or tickle its pcpu
//! remove(v)                        v is gone; it is neither queued nor running
//! ```
//!
//! Calls come one at a time, with time standing still inside a call. Those that name no pcpu are
//! made by code that runs on [`Cx::here`]: the waker's pcpu, or the operator's. The order of
//! simultaneous work is Xen's (xen-spec 0.2): timers first, then `schedule`.

use crate::allocation::ShareBy;
use crate::cx::Cx;
use crate::state::StateRows;
use alloc::vec::Vec;
use core::fmt;
pub use domio_core::Conflict;
use domio_core::params::ByWord;
use domio_core::{
    Class, CpuSet, DomainId, Duration, Instant, ParamSpec, ParamValues, PcpuId, VcpuId,
};

/// Why a vcpu became runnable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    /// It waited for an event (or was just created) and the event came.
    Event,
    /// The host's pause ended.
    Unpause,
    /// It moves to another pcpu (xen-spec 0.8): the policy sees migration as a wake-up.
    Migrate,
}

/// Why the vcpu that ran until now stopped, as far as the host knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// Its time slice ended.
    Slice,
    /// It blocked, was paused, or is to migrate: it is not runnable.
    NotRunnable,
    /// It yielded.
    Yielded,
    /// Somebody tickled the pcpu.
    Tickled,
}

/// The vcpu that ran until this pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prev {
    /// The vcpu, `None` when the pcpu idled.
    pub vcpu: Option<VcpuId>,
    /// Time since it was switched in (not since the last pass); zero when the pcpu idled.
    pub ran: Duration,
    /// Why this pass happens.
    pub why: Stop,
}

/// A decision: who runs next on a pcpu, and for how long at most.
///
/// A valid pick is runnable, not running elsewhere, and allowed on the pcpu by its hard affinity.
/// The host refuses any other and ends the run with a policy fault. Picking a vcpu that belongs to
/// another pcpu moves it here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pick {
    /// The vcpu to run; `None` to idle.
    pub next: Option<VcpuId>,
    /// When the host calls `schedule` again at the latest; `None` for no limit. Never zero.
    pub time_slice: Option<Duration>,
}

impl Pick {
    /// Idle until something happens.
    pub const IDLE: Pick = Pick {
        next: None,
        time_slice: None,
    };
}

/// What a policy needs from its host. A host that cannot give it refuses the policy by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// [`Cx::tickle`].
    pub tickle: bool,
    /// [`Cx::set_timer`], [`Cx::set_domain_timer`].
    pub timers: bool,
    /// [`Cx::park`].
    pub park: bool,
    /// Calls of [`Scheduler::context_saved`]; to a policy that does without, a host need not make
    /// them.
    pub context_saved: bool,
    /// Calls of [`Scheduler::packets`]. For a policy that does without, a host need not count.
    pub packets: bool,
    /// Passes that pcpus make together ([`Scheduler::together`]).
    pub together: bool,
    /// How driver domains report packets that they have at hand ([`Scheduler::dispatching`]).
    pub dispatching: Dispatching,
}

impl Needs {
    /// Nothing.
    pub const NOTHING: Needs = Needs {
        tickle: false,
        timers: false,
        park: false,
        context_saved: false,
        packets: false,
        together: false,
        dispatching: Dispatching::Untold,
    };

    /// What two policies need together.
    pub const fn and(self, other: Needs) -> Needs {
        Needs {
            tickle: self.tickle || other.tickle,
            timers: self.timers || other.timers,
            park: self.park || other.park,
            context_saved: self.context_saved || other.context_saved,
            packets: self.packets || other.packets,
            together: self.together || other.together,
            dispatching: match self.dispatching {
                Dispatching::Untold => other.dispatching,
                told => told,
            },
        }
    }
}

/// How a driver domain reports packets that it has at hand (Zeng 2015, IV.B and IV.D).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Dispatching {
    /// It does not.
    #[default]
    Untold,
    /// By a bit of the pcpu that the vcpu runs on: a hypercall sets it when a second packet comes,
    /// and one clears it when none is left.
    Bit,
    /// By a number in a page that it shares with the hypervisor, which follows each packet.
    Counter,
}

impl Dispatching {
    /// All ways.
    pub const ALL: [Dispatching; 3] = [Dispatching::Untold, Dispatching::Bit, Dispatching::Counter];
}

impl ByWord for Dispatching {
    const WORDS: &'static [&'static str] = &["off", "bit", "counter"];
    const ALL: &'static [Dispatching] = &Dispatching::ALL;
}

/// Packets that a driver domain has moved for a guest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketsMoved {
    /// The domain whose backend moved them.
    pub driver: DomainId,
    /// The domain whose interface it is.
    pub guest: DomainId,
    /// Packets that the guest has sent: the backend took them from it.
    pub sent: u32,
    /// Packets that the backend has put in the guest's ring.
    pub received: u32,
}

/// What a policy promises. The conformance suite holds it to these.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Promises {
    /// No pcpu idles while a vcpu that it may run is runnable and belongs to it.
    pub work_conserving: bool,
    /// As `work_conserving`, for vcpus of any pcpu: an idle pcpu takes work from a busy one.
    pub balances: bool,
    /// Every runnable vcpu runs within a bounded time.
    pub starvation_free: bool,
    /// Burning domains share in proportion to the domain parameter `weight`.
    pub weights: bool,
    /// A domain stays under the domain parameter `cap` (percent of one pcpu).
    pub caps: bool,
    /// [`Scheduler::charge`] is taken, for domains that have a [`Scheduler::debt`]. A policy
    /// without the promise refuses all charges.
    pub charges: bool,
    /// A vcpu without the parameter `extratime` gets no more than `budget_us` in each `period_us`,
    /// as it was last told, for itself or for its whole domain.
    pub reservations: bool,
    /// Burning domains share in proportion to the weights of their groups, at each level of the
    /// tree, and a group stays under its `cap` (percent of one pcpu). The parameters are `weight`
    /// and `cap` of groups.
    pub groups: bool,
}

impl Promises {
    /// Nothing.
    pub const NOTHING: Promises = Promises {
        work_conserving: false,
        balances: false,
        starvation_free: false,
        weights: false,
        caps: false,
        charges: false,
        reservations: false,
        groups: false,
    };
}

/// A group of domains, for policies that have groups. A group may be in another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct GroupId(pub u16);

impl GroupId {
    /// The group as an index of tables.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "g{}", self.0)
    }
}

/// What a thread of the host, which is no guest's vcpu, works for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorksFor {
    /// The host's kernel: no group limits it.
    Kernel,
    /// A guest: the emulator thread, a worker, a vhost thread. The guest's weight and limits hold
    /// for the thread too.
    Emulator(DomainId),
    /// As `Emulator`, in the guest's I/O thread of this number: up to 65535 that in its name, from
    /// [`WorksFor::UNNUMBERED`] on one for a thread without a number.
    Iothread(DomainId, u32),
}

impl WorksFor {
    /// The first number of I/O threads whose names have none; there are 65536 of these numbers.
    pub const UNNUMBERED: u32 = 1 << 16;
}

/// Everything that is to be known about a policy without running it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Descriptor {
    /// Name in scenarios and on the command line.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Where the rules come from.
    pub source: &'static str,
    /// All trace records that it writes ([`Cx::note`]), whatever its settings are, so that readers
    /// of files know each; `None` if it writes none. Of one instance it is
    /// [`Scheduler::classes`] that tells.
    pub class: Option<&'static Class>,
    /// Parameters of the policy as a whole.
    pub params: &'static [ParamSpec],
    /// Those of `params` that an operator can change in a run ([`Scheduler::set_params`]).
    pub changeable: &'static [ParamSpec],
    /// Parameters of each domain.
    pub domain_params: &'static [ParamSpec],
    /// Parameters of each vcpu. One that the domain has by the same name is the domain's word for
    /// all of its vcpus. Without any, nobody calls [`Scheduler::set_vcpu`].
    pub vcpu_params: &'static [ParamSpec],
    /// Parameters of each group of domains. A policy without any has no groups: hosts refuse them
    /// for it.
    pub group_params: &'static [ParamSpec],
    /// How it learns what a domain is to have and is held to, even when nobody else wants the time;
    /// `None` of a policy that holds nobody.
    pub held_by: Option<ShareBy>,
    /// How it learns what a domain is to have of what all compete for; `None` of a policy that
    /// shares by nothing that can be set.
    pub shared_by: Option<ShareBy>,
    /// What it needs.
    pub needs: Needs,
    /// What it promises.
    pub promises: Promises,
}

impl Descriptor {
    /// A policy without a name, parameters, needs and promises: what a descriptor does not say.
    pub const PLAIN: Descriptor = Descriptor {
        summary: "",
        name: "",
        source: "",
        class: None,
        params: &[],
        changeable: &[],
        domain_params: &[],
        vcpu_params: &[],
        group_params: &[],
        held_by: None,
        shared_by: None,
        needs: Needs::NOTHING,
        promises: Promises::NOTHING,
    };

    /// Values of [`Descriptor::vcpu_params`] for a vcpu of which nothing was told, of a domain with
    /// the values `domain`.
    pub fn vcpu_values(&self, domain: &ParamValues) -> ParamValues {
        let mut values = ParamValues::defaults(self.vcpu_params);
        self.inherit(&mut values, domain);
        values
    }

    /// The domain of a vcpu with the values `own` was told `domain`.
    pub fn inherit(&self, own: &mut ParamValues, domain: &ParamValues) {
        for spec in self.vcpu_params {
            if let Some(value) = domain.by_name(spec.name) {
                // A value that the vcpu cannot have leaves it as it was.
                let _ = own.set(spec.name, value);
            }
        }
    }

    /// Whether a run can continue with `wanted` where it had `now`: only what is changeable
    /// differs.
    ///
    /// # Errors
    /// The first other difference.
    pub fn check_change(&self, now: &ParamValues, wanted: &ParamValues) -> Result<(), Conflict> {
        let differs = |name: &&str| now.by_name(name) != wanted.by_name(name);
        for name in self.params.iter().map(|spec| spec.name).filter(differs) {
            if !self.changeable.iter().any(|spec| spec.name == name) {
                return Err(Conflict::fixed(name));
            }
        }
        Ok(())
    }
}

/// A CPU scheduling policy. See the [module page](self) for the order of calls.
///
/// The host owns runstates, time accounting, affinity, timers and the trace. The policy owns its
/// run queues and private tables, and touches only itself and the context.
pub trait Scheduler: Send {
    /// What this policy is.
    fn descriptor(&self) -> &'static Descriptor;

    /// What it needs from its host. Default: what its descriptor says.
    fn needs(&self) -> Needs {
        self.descriptor().needs
    }

    /// The trace records that it writes, by [pool](crate::Pools). Default: those of its descriptor,
    /// as of the only pool.
    fn classes(&self) -> Vec<Option<&'static Class>> {
        Vec::from([self.descriptor().class])
    }

    /// `pcpu` joins, idle. Called for each pcpu in ascending order before anything else, and again
    /// when one is plugged in later.
    fn pcpu_online(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId);

    /// `pcpu` leaves. It idles, and no vcpu belongs to it any more.
    fn pcpu_offline(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId);

    /// `domain` has these parameters from now on (values of [`Descriptor::domain_params`]).
    /// Called before the first `insert` of a domain and whenever an operator changes them. What a
    /// vcpu has by the same name is the domain's from then on.
    fn set_domain(&mut self, cx: &mut Cx<'_>, domain: DomainId, params: &ParamValues);

    /// `vcpu` has these parameters from now on (values of [`Descriptor::vcpu_params`]; Xen's
    /// `XEN_DOMCTL_SCHEDOP_putvcpuinfo`). Called for a vcpu with values of its own once it is
    /// inserted and placed, and whenever an operator changes them; if the policy declares
    /// parameters of vcpus. A vcpu of which nothing was told has the domain's values where the
    /// domain has a parameter of that name, and the defaults elsewhere. Default: nothing.
    fn set_vcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, params: &ParamValues) {
        let _ = (cx, vcpu, params);
    }

    /// `group` is in `parent` (`None`: at the top) for good, and has these parameters from now on
    /// (values of [`Descriptor::group_params`]). Called for each group before [`Scheduler::join`]
    /// names it, for parents before what is in them, and whenever an operator changes parameters.
    /// Only for a policy that declares parameters of groups. Default: nothing.
    fn set_group(
        &mut self,
        cx: &mut Cx<'_>,
        group: GroupId,
        parent: Option<GroupId>,
        params: &ParamValues,
    ) {
        let _ = (cx, group, parent, params);
    }

    /// `domain` is in `group` from now on, and in no other; `None`: at the top, where it was before
    /// the first call. Called as [`Scheduler::set_group`], after `set_domain`, at any time in the
    /// domain's life. Default: nothing.
    fn join(&mut self, cx: &mut Cx<'_>, domain: DomainId, group: Option<GroupId>) {
        let _ = (cx, domain, group);
    }

    /// `vcpu`, which is inserted next, is a thread of the host and no guest's vcpu; `works` says
    /// for whom. Default: nothing, so that it is a vcpu of its domain.
    fn host_thread(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, works: WorksFor) {
        let _ = (cx, vcpu, works);
    }

    /// Values of [`Descriptor::params`] in force (Xen's `XEN_SYSCTL_SCHEDOP_getinfo`); `None` from
    /// a policy of whose parameters none can change.
    fn params(&self) -> Option<&ParamValues> {
        None
    }

    /// An operator changes parameters of the policy as a whole (Xen's `adjust_global`): all of
    /// `params` are in force from now on, or none if it refuses. A slice or timer that runs already
    /// keeps its length; the next one has the new. Default: refuses.
    ///
    /// # Errors
    /// What is wrong with `params`: something that cannot change does, or values do not go
    /// together.
    fn set_params(&mut self, cx: &mut Cx<'_>, params: &ParamValues) -> Result<(), Conflict> {
        let _ = (cx, params);
        let first = self.descriptor().params.first();
        Err(Conflict::fixed(
            first.map_or("parameters", |spec| spec.name),
        ))
    }

    /// `done` was executed on behalf of `domain` by others (driver domains) since the last call: an
    /// increment, which the policy takes off what the domain gets. Returns whether it does; a
    /// charge that is refused changes nothing. Default: refuses.
    ///
    /// Nobody is tickled. A charge shows when the policy next counts what the domain has used.
    fn charge(&mut self, cx: &mut Cx<'_>, domain: DomainId, done: Duration) -> bool {
        let _ = (cx, domain, done);
        false
    }

    /// What `domain` still owes of its charges; `None` when none are taken for it. Default: `None`.
    fn debt(&self, domain: DomainId) -> Option<Duration> {
        let _ = domain;
        None
    }

    /// Packets were moved since the last call: an increment, told before the next pass on any pcpu
    /// at the latest. Nobody is tickled, as nobody is in a hypervisor that reads what backends have
    /// counted in a page of theirs. Called if [`Needs::packets`] says so. Default: nothing.
    fn packets(&mut self, cx: &mut Cx<'_>, moved: PacketsMoved) {
        let _ = (cx, moved);
    }

    /// The kernel of `vcpu`, which is current and of a driver domain, has so many packets at hand
    /// from now on that it has yet to pass on; zero for none. Told as [`Needs::dispatching`] says,
    /// from the pcpu of `vcpu`, and at the instant at which it changes. What was told stays true
    /// while the vcpu does not run. Default: nothing.
    fn dispatching(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, packets: u32) {
        let _ = (cx, vcpu, packets);
    }

    /// `vcpu` exists. It is not runnable: `wake` follows when it is. `cx.vcpu(vcpu)` has its name
    /// and affinity already, but no pcpu: `pick_pcpu` follows immediately.
    fn insert(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId);

    /// `vcpu` is about to go. It is neither runnable, running nor queued.
    fn remove(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId);

    /// Where `vcpu`, which is neither queued nor running, should go. Called after `insert`, when a
    /// flagged migration is carried out, and when its affinity changes or its pcpu goes away. The
    /// pcpu that it belongs to is a valid answer where it may stay. In any case the answer must
    /// be online and in its hard affinity (the host guarantees that one exists).
    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let allowed = cx.hard(vcpu) & cx.online();
        allowed
            .test_or_cycle(cx.vcpu(vcpu).pcpu)
            .expect("the host keeps an allowed pcpu online")
    }

    /// `vcpu` became runnable on the pcpu that it belongs to. It may still be running there
    /// (it blocked and was woken before the pass that would have switched it out), or be queued
    /// already; the policy ignores the call then.
    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, why: Wake);

    /// `vcpu` stopped being runnable without asking for it (paused by the host). If it is current
    /// somewhere, tickle that pcpu; if it is queued, take it out.
    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId);

    /// `vcpu`, which is current, yielded; a pass follows. Default: nothing, as in Xen before 4.1.
    fn yielded(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let _ = (cx, vcpu);
    }

    /// The pcpus that make the pass that begins on `pcpu`, which is one of them. Where there are
    /// more, the host has all of them come, by an IPI, and wait for each other. It then calls
    /// [`Scheduler::schedule`] for each at one instant, `pcpu` first and the others in ascending
    /// order, and all of them return to their guests when the slowest is done. What was asked for
    /// on any of them until then is served by that pass. Called if [`Needs::together`] says so, for
    /// a pcpu that nobody waits for. Default: `pcpu` alone.
    fn together(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) -> CpuSet {
        let _ = cx;
        CpuSet::of(pcpu)
    }

    /// The scheduler softirq on `pcpu`: who runs next? `prev` is current until the answer is
    /// carried out; if it is still runnable and not picked, the policy has queued it.
    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick;

    /// `vcpu` was switched out and its state is saved. Until then only the same pcpu can pick it.
    /// Called if [`Needs::context_saved`] says so.
    fn context_saved(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let _ = (cx, vcpu);
    }

    /// The timer `slot` that the policy set on `pcpu` expired, in the timer softirq there. Returns
    /// when it is to expire again, if so; the host sets it after everything that was asked for.
    fn timer(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, slot: u8) -> Option<Instant> {
        let _ = (cx, pcpu, slot);
        None
    }

    /// The timer that the policy set for `domain` expired, in the timer softirq of [`Cx::here`].
    /// Returns when it is to expire again, as [`Scheduler::timer`] does.
    fn domain_timer(&mut self, cx: &mut Cx<'_>, domain: DomainId) -> Option<Instant> {
        let _ = (cx, domain);
        None
    }

    /// The host starts in the middle of a run: its tables show who is current, runnable, parked or
    /// blocked already, and nobody was woken. Called once, at the time of the start, when every
    /// vcpu is inserted and placed, and before the first pass. `runnable` are those that want to
    /// execute, the current ones among them.
    ///
    /// `state` is what is in the books then, in rows as [`Scheduler::state`] tells them: what no
    /// row has stays as it is. Times at which timers are to expire can be among the values,
    /// although these are the host's and not told. Without a row the policy takes everybody for
    /// whoever they seem to be. Hosts with pools, or with core scheduling, have no state to hand
    /// on. Default: the vcpu that is runnable wakes now.
    fn resume(&mut self, cx: &mut Cx<'_>, runnable: &[VcpuId], state: &StateRows) {
        let _ = state;
        for &vcpu in runnable {
            self.wake(cx, vcpu, Wake::Event);
        }
    }

    /// Says what the policy has in its books, for programs and people (Xen's debug key `r`).
    /// Default: nothing.
    fn state(&self, out: &mut StateRows) {
        let _ = out;
    }
}
