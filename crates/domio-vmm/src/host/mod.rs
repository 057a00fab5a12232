//! The simulated host of a scheduling policy.
//!
//! A pcpu is always in one of three phases ([`Phase`]):
//!
//! ```text
//!   Guest ──cause: timer, wake-up, block, IPI──▶ Entering ──policy decides──▶ Switching ──▶ Guest
//! ```
//!
//! In `Guest` the current vcpu executes (or the pcpu idles). `Entering` lasts from the cause to
//! the scheduler pass, `Switching` from the decision until the next vcpu runs; both are as long as
//! the hardware profile says, possibly zero. The order of softirqs is Xen's: timers that are due
//! at the instant of a pass run before it.
//!
//! | file | holds |
//! |---|---|
//! | [`mod@self`] | the tables of the host and what an event does |
//! | `timer` | timers that expire: of guests, of the policy, of slices; ticks |
//! | `domain_timer` | the policy's timers of domains |
//! | `interrupt` | interrupts and events for guests |
//! | `wake` | waking, pausing, migrating; runstates and their records |
//! | `effects` | what the policy asks for in a call |
//! | `softirq` | from a cause to the pass: raising, IPIs, what puts a pass off |
//! | `pass` | the scheduler pass and the context switch |
//! | `execute` | guests executing, and how far they have come |
//! | `kernel` | kernels of guests with devices |
//! | `processes` | processes of guests |
//! | `roam` | processes that go from one vcpu to another |
//! | `block` | blocking and yielding |
//! | `control` | what processes of controllers read and set |
//! | `counting` | for whom driver domains work, estimated by counting packets |
//! | `io` | device models: plugging in, calls from outside of guests, work for others |
//! | `domains` | creation and destruction of domains, operator actions, pcpus on and off |
//! | `tell` | what the policy is told of single vcpus and of groups of domains |
//! | `snapshot` | starting in the middle of a run |
//! | `hold` | time that something outside the model takes from timers |
//! | `inspect` | what can be seen of a host from outside |

mod block;
mod control;
mod counting;
mod domain_timer;
mod domains;
mod effects;
mod execute;
mod hold;
mod inspect;
mod interrupt;
mod io;
mod kernel;
mod pass;
mod processes;
mod roam;
mod snapshot;
mod softirq;
mod tell;
mod timer;
mod wake;

pub use hold::Hold;
pub use snapshot::{PcpuSnapshot, Snapshot, VcpuSnapshot};

use crate::bus::{Bus, Device, NoDevices};
use crate::config::{Action, GroupConfig, HostConfig};
use crate::guest::{Guest, Job};
use crate::profile::{PolicyCosts, Profile};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use control::{Busy, Controlled};
use domains::Domain;
use domio_core::{
    DomainId, Duration, Instant, PcpuId, PcpuTable, Record, Runstate, Sink, VcpuId, VcpuName,
    XenVersion,
};
use domio_sched::{Cx, Descriptor, Effect, Scheduler, Stop, Tables};
use domio_sim::{EventQueue, Flow, Model, TimerId};

/// Scheduler passes that one pcpu may make at one instant before the run is ended as stalled, and
/// those that each vcpu of the host adds.
///
/// A correct policy needs a handful for each vcpu that wakes at that instant: a pass may tickle its
/// own pcpu once or twice, and where nothing takes time all vcpus may have their turns at once.
pub const MAX_PASSES_AT_ONE_INSTANT: u32 = 1000;
/// See [`MAX_PASSES_AT_ONE_INSTANT`].
pub const MAX_PASSES_OF_A_VCPU: u32 = 100;

/// An event of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The slice timer of a pcpu expired.
    Slice(PcpuId),
    /// The policy's timer expired.
    Policy(PcpuId, u8),
    /// The policy's timer of a domain expired.
    DomainTimer(DomainId),
    /// A pcpu's phase `Entering` or `Switching` is over.
    Stage(PcpuId),
    /// The current vcpu of a pcpu has executed what its guest asked for.
    Done(PcpuId),
    /// A rescheduling IPI arrived.
    Ipi(PcpuId),
    /// The timer that a guest set expired.
    GuestTimer(VcpuId),
    /// The periodic tick of a running vcpu is due.
    GuestTick(VcpuId),
    /// The host-wide guest tick of Xen up to 3.0 on one pcpu.
    HostTick(PcpuId),
    /// A timer of a device model fired, by its number on the bus.
    Device(u32),
    /// The next [`Hold`] begins.
    Hold,
    /// An operator's action, by index.
    Action(u32),
    /// A domain is created, by index.
    Start(u32),
    /// A domain is destroyed, by index.
    Destroy(u32),
    /// A run that starts from a snapshot begins.
    Begin,
}

/// What a pcpu does at the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// The current vcpu executes, or the pcpu idles.
    Guest,
    /// The hypervisor works towards a scheduler pass.
    Entering,
    /// The pass decided; the switch (or the return to the same vcpu) is under way.
    Switching,
}

/// Why a scheduler pass comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cause {
    Slice,
    Wake,
    Block,
    Yield,
    Ipi,
    PolicyTimer,
    Operator,
}

/// What every pass looks at comes first, so that it shares a cache line.
#[derive(Clone, Copy)]
#[repr(C, align(128))]
struct Pcpu {
    /// When guest code of the current vcpu began or will begin to execute; `MAX` when none does.
    exec_from: Instant,
    /// Time of the pass that switched the current vcpu in.
    entered: Instant,
    last_pass: Instant,
    /// End of the phase `Entering` or `Switching`.
    stage_at: Instant,
    /// Slice of the pick being carried out, `MAX` for none.
    slice: Duration,
    passes_at_instant: u32,
    stage: TimerId,
    slice_timer: TimerId,
    done: TimerId,
    phase: Phase,
    /// The scheduler softirq is pending although a pass is under way: another pass follows.
    again: bool,
    why: Stop,
    /// Policy timers that have expired and whose handlers are about to run, as bits: one for each
    /// slot, and [`domain_timer::OF_DOMAINS`] for those of domains.
    handling: u8,
    /// The pcpu was taken offline and has to tell the policy once it idles.
    leaving: bool,

    policy: [TimerId; Cx::TIMER_SLOTS as usize],
    ipi: TimerId,
    /// Ticks of [`Event::HostTick`] so far, counted modulo its range.
    host_ticks: u32,
    /// Who is being switched out; valid in `Switching`.
    prev: Option<VcpuId>,
    last_vcpu: Option<VcpuId>,
    /// Timers that expire before this time run with the last one that fired.
    timer_batch: Instant,
    /// When the handlers of those timers are done.
    softirq_end: Instant,
    /// No hardware timer before this time (xen-spec 0.3, 4.x).
    timer_floor: Instant,
}

impl Pcpu {
    /// `pcpu` idling, with timers in `queue`.
    fn new(pcpu: PcpuId, queue: &mut Queue) -> Self {
        let policy = core::array::from_fn(|slot| queue.timer(Event::Policy(pcpu, slot as u8)));
        Pcpu {
            phase: Phase::Guest,
            again: false,
            why: Stop::Tickled,
            exec_from: Instant::MAX,
            entered: Instant::ZERO,
            stage_at: Instant::ZERO,
            prev: None,
            slice: Duration::MAX,
            timer_batch: Instant::ZERO,
            softirq_end: Instant::ZERO,
            handling: 0,
            timer_floor: Instant::ZERO,
            last_pass: Instant::ZERO,
            passes_at_instant: 0,
            last_vcpu: None,
            host_ticks: 0,
            leaving: false,
            stage: queue.timer(Event::Stage(pcpu)),
            slice_timer: queue.timer(Event::Slice(pcpu)),
            done: queue.timer(Event::Done(pcpu)),
            ipi: queue.timer(Event::Ipi(pcpu)),
            policy,
        }
    }
}

/// What every switch looks at comes first, so that it shares a cache line; the next one is what the
/// guest looks at whenever it executes.
#[repr(C, align(64))]
struct Vcpu {
    times: [Duration; 4],
    /// Since when it is in `state`.
    since: Instant,
    /// Up to when `times` count.
    accounted: Instant,
    /// Time to which `timer` is set; `MAX` for not set.
    timer_at: Instant,
    timer: TimerId,
    state: Runstate,
    alive: bool,
    /// Whether it has a `tick`.
    ticks: bool,

    guest: Guest,
    /// Period and timer of the tick that Xen gives it, with the time of the last one.
    tick: Option<Tick>,
    /// When it was created.
    created: Instant,
    name: VcpuName,
    ran_on: Option<PcpuId>,
}

const _: () = assert!(size_of::<Pcpu>() == 128 && size_of::<Vcpu>() == 256);

impl Vcpu {
    /// Brings the runstate sums up to `now` and puts it into `state`.
    #[inline]
    fn account(&mut self, state: Runstate, now: Instant) {
        self.times[self.state as usize] += now.since(self.accounted);
        self.accounted = now;
        if state != self.state {
            self.since = now;
            self.state = state;
        }
    }

    /// Makes the timer that the guest has set at the hypervisor agree with what it wants.
    #[inline(always)]
    fn set_timer<D: Device>(&mut self, queue: &mut Queue, now: Instant) {
        let wanted = if D::PRESENT {
            self.guest.next_wake_of_any()
        } else {
            self.guest.next_wake()
        };
        if wanted != self.timer_at {
            self.timer_at = wanted;
            match wanted {
                Instant::MAX => queue.disarm(self.timer),
                at => queue.arm(self.timer, at.max(now)),
            }
        }
    }

    #[inline]
    fn stop_tick(&self, queue: &mut Queue) {
        if self.ticks
            && let Some(tick) = &self.tick
        {
            queue.disarm(tick.timer);
        }
    }
}

struct Tick {
    period: Duration,
    last: Instant,
    timer: TimerId,
    /// Value of the pcpu's `host_ticks` that it has seen (Xen up to 3.0).
    seen: u32,
}

/// Time that a vcpu spent in each runstate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RunstateTimes {
    /// Executing on a pcpu.
    pub running: Duration,
    /// Waiting for a pcpu.
    pub runnable: Duration,
    /// Waiting for an event.
    pub blocked: Duration,
    /// Paused, parked or not brought up.
    pub offline: Duration,
}

/// A host, a policy, device models and a trace sink.
///
/// Made and driven by [`crate::Simulation`].
pub struct Host<S: Sink, D: Device = NoDevices> {
    version: XenVersion,
    profile: Profile,
    /// Nothing takes time ([`Profile::is_free`]): `enter`, `expire`, `policy_timer` and
    /// `program_slice` leave out what would add up to nothing. Without these shortcuts `host-1cpu`
    /// of the benchmarks makes 17 % fewer decisions a second, `host-8cpu` 22 % (five runs each).
    free: bool,
    /// Work of the policy takes time.
    prices_work: bool,
    /// Caches have to be filled again.
    has_caches: bool,
    /// Some processes go from one vcpu of their domain to another.
    roams: bool,
    /// The policy wants to know when a vcpu that was switched out may run elsewhere.
    tells_saved: bool,
    /// The policy's id in trace records.
    trace_id: u16,
    scheduler: Box<dyn Scheduler>,
    tables: Tables,
    effects: Vec<Effect>,
    pcpus: PcpuTable<Pcpu>,
    vcpus: Vec<Vcpu>,
    domains: Vec<Domain>,
    /// The policy's timers of domains, by domain id.
    domain_timers: Vec<Option<domain_timer::DomainTimer>>,
    groups: Vec<GroupConfig>,
    actions: Vec<(Instant, Action)>,
    sink: S,
    /// Controllers, and what only they want to know: for how long driver domains have worked for
    /// each domain, by domain id, and how long each pcpu has been busy.
    controls: Vec<control::Controlled>,
    served: Vec<Duration>,
    busy: Vec<control::Busy>,
    jobs: Vec<Job>,
    bus: Bus<D>,
    /// First vcpu of each domain, by domain id.
    first_vcpu: Vec<Option<VcpuId>>,
    /// Pcpus whose pass is due at this very instant, in order, and how many of them have made it.
    due: Vec<PcpuId>,
    due_done: usize,
    fault: Option<Box<domio_sim::StopCause>>,
    /// Those that have not begun, the next one last.
    holds: Vec<Hold>,
    passes: u64,
    seed: u64,
    replication: u32,
}

type Queue = EventQueue<Event>;

impl<S: Sink, D: Device> Host<S, D> {
    /// A host as `config` describes it, switched off.
    ///
    /// # Panics
    /// When `config` contradicts itself (a domain without vcpus, an affinity outside the topology),
    /// or has groups of domains under a policy that has none: whoever builds it has to check.
    pub fn new(
        config: &HostConfig,
        scheduler: Box<dyn Scheduler>,
        mut bus: Bus<D>,
        sink: S,
        seed: u64,
        replication: u32,
        queue: &mut Queue,
    ) -> Self {
        let Descriptor {
            name, group_params, ..
        } = scheduler.descriptor();
        assert!(
            config.groups.is_empty() || !group_params.is_empty(),
            "{name} has no groups of domains"
        );
        let wires = &mut bus.wires;
        wires.recording = S::ENABLED;
        wires.stages = S::STAGES;
        wires.owners = S::OWNERS || !config.controllers.is_empty();
        wires.tells_packets = scheduler.descriptor().needs.packets;
        let mut host = Host {
            version: config.version,
            profile: config.profile,
            has_caches: config.profile.has_caches()
                || config.profile.idle_switch != config.profile.switch,
            free: config.profile.is_free(),
            prices_work: config.profile.policy != PolicyCosts::FREE,
            roams: false,
            tells_saved: scheduler.descriptor().needs.context_saved,
            trace_id: scheduler.descriptor().trace_id,
            scheduler,
            tables: Tables::new(config.topology.clone()),
            effects: Vec::with_capacity(64),
            pcpus: PcpuTable::new(config.topology.pcpus(), Pcpu::new(PcpuId(0), queue)),
            vcpus: Vec::new(),
            domains: Vec::new(),
            domain_timers: Vec::new(),
            groups: config.groups.clone(),
            actions: config.actions.clone(),
            sink,
            controls: config.controllers.iter().map(Controlled::new).collect(),
            served: Vec::new(),
            busy: match config.controllers.is_empty() {
                true => Vec::new(),
                false => vec![Busy::default(); config.topology.pcpus()],
            },
            jobs: Vec::with_capacity(8),
            bus,
            first_vcpu: Vec::new(),
            due: Vec::with_capacity(config.topology.pcpus()),
            due_done: 0,
            fault: None,
            holds: Vec::new(),
            passes: 0,
            seed,
            replication,
        };
        host.tables.no_hard_affinity = domains::says_nothing(config, |hard, _| hard);
        host.tables.no_soft_affinity = domains::says_nothing(config, |_, soft| soft);
        for domain in &config.domains {
            host.domains.push(Domain::new(domain.clone()));
        }
        host
    }

    /// Puts the creation and destruction of the domains and the operator's actions into `queue`.
    pub(crate) fn post_plan(&self, queue: &mut Queue) {
        for (i, domain) in self.domains.iter().enumerate() {
            queue.post(domain.config.start, Event::Start(i as u32));
            if let Some(stop) = domain.config.stop {
                queue.post(stop, Event::Destroy(i as u32));
            }
        }
        for (i, (at, _)) in self.actions.iter().enumerate() {
            queue.post(*at, Event::Action(i as u32));
        }
    }

    /// Whether records are made; with a sink that takes none the compiler knows.
    #[inline(always)]
    fn records(&self) -> bool {
        S::ENABLED && self.bus.wires.recording
    }

    #[inline]
    fn trace(&mut self, record: Record) {
        if self.records() {
            self.sink.record(&record);
        }
    }

    /// Calls the policy with a context and carries out its requests. `on` is the pcpu whose
    /// hypervisor code runs.
    #[inline]
    fn ask<R>(
        &mut self,
        queue: &mut Queue,
        on: PcpuId,
        now: Instant,
        cause: Cause,
        call: impl FnOnce(&mut dyn Scheduler, &mut Cx<'_>) -> R,
    ) -> R {
        let records = self.records();
        self.tables.here = on;
        let mut cx = Cx::new(now, &mut self.tables, &mut self.effects, records);
        let answer = call(&mut *self.scheduler, &mut cx);
        if !self.effects.is_empty() {
            self.apply_effects(queue, on, now, cause);
        }
        answer
    }

    fn policy_fault(&mut self, message: String) {
        if self.fault.is_none() {
            self.fault = Some(Box::new(domio_sim::StopCause::PolicyFault {
                fault: message,
            }));
        }
    }
}

impl<S: Sink, D: Device> Model for Host<S, D> {
    type Event = Event;

    #[inline(always)]
    fn handle(&mut self, queue: &mut Queue, event: Event) -> Flow {
        let now = queue.now();
        match event {
            Event::Slice(pcpu) => self.slice_expired(queue, pcpu, now),
            Event::Policy(..) => {
                let is_policy = |event| matches!(event, Event::Policy(..));
                let mut next = Some(event);
                while let Some(Event::Policy(pcpu, slot)) = next {
                    self.policy_timer(queue, pcpu, slot, now);
                    next = queue.pop_in_row(is_policy);
                }
            }
            Event::DomainTimer(domain) => self.domain_timer(queue, domain, now),
            Event::Stage(pcpu) => self.stage_over(queue, pcpu, now),
            Event::Done(pcpu) => self.guest_done(queue, pcpu, now),
            Event::Ipi(pcpu) => self.raise(queue, pcpu, now, Cause::Ipi),
            Event::GuestTimer(vcpu) => self.guest_timer(queue, vcpu, now),
            Event::GuestTick(vcpu) => self.guest_tick(queue, vcpu, now),
            Event::HostTick(pcpu) => self.host_tick(queue, pcpu, now),
            Event::Device(token) => self.device_event(queue, token, now),
            Event::Hold => self.hold(queue),
            Event::Action(action) => self.operator(queue, action as usize, now),
            Event::Start(domain) => self.create_domain(queue, domain as usize, now),
            Event::Destroy(domain) => self.destroy_domain(queue, domain as usize, now),
            Event::Begin => {}
        }
        if !self.due.is_empty() {
            self.run_due(queue, now);
        }
        match self.fault.take() {
            None => Flow::Continue,
            Some(fault) => Flow::Stop(fault),
        }
    }
}
