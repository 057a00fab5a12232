//! What a simulated host is made of: plain data, validated by whoever builds it.

use crate::profile::Profile;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use domio_core::{CpuSet, DomainId, Duration, Instant, ParamValues, PcpuId, Topology, XenVersion};

/// A host with everything that runs on it.
#[derive(Clone, Debug)]
pub struct HostConfig {
    /// Sockets, cores, threads.
    pub topology: Topology,
    /// The release whose softirq order, timer slop and trace order the host follows. The policy
    /// has a version of its own.
    pub version: XenVersion,
    /// What things cost.
    pub profile: Profile,
    /// Domains, in the order in which they are created; ids are unique.
    pub domains: Vec<DomainConfig>,
    /// What an operator does during the run, in order of time.
    pub actions: Vec<(Instant, Action)>,
}

/// A domain.
#[derive(Clone, Debug)]
pub struct DomainConfig {
    /// Xen's domid, below 32752.
    pub id: DomainId,
    /// Name for people, unique on the host.
    pub name: String,
    /// The policy's parameters of the domain (weight, cap).
    pub params: ParamValues,
    /// The operating system inside.
    pub guest: GuestConfig,
    /// Its vcpus, at least one.
    pub vcpus: Vec<VcpuConfig>,
    /// When it is created; zero for before the run starts.
    pub start: Instant,
    /// When it is destroyed, if ever.
    pub stop: Option<Instant>,
}

/// A vcpu and the tasks that live on it.
#[derive(Clone, Debug)]
pub struct VcpuConfig {
    /// Pcpus that it may run on; at least one exists.
    pub hard: CpuSet,
    /// Pcpus that it prefers.
    pub soft: CpuSet,
    /// Tasks of the guest that run on this vcpu, in the order of creation; none means idle.
    pub tasks: Vec<TaskConfig>,
    /// The tick that the guest's kernel gives itself with a one-shot timer while the vcpu has
    /// something to run; `None` for none.
    pub kernel_tick: Option<KernelTick>,
}

/// The tick of a guest kernel: Linux with paravirt_ops stops Xen's periodic tick and programs a
/// one-shot timer for the next multiple of its own tick while it is busy (`CONFIG_NO_HZ_IDLE`).
///
/// Xen sees a timer on the pcpu, which by the timer slop (xen-spec 0.3) delays others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelTick {
    /// 1 / `CONFIG_HZ`: 4 ms in Debian's kernels.
    pub period: Duration,
    /// Time of one tick; all others are multiples of the period away.
    pub phase: Instant,
    /// The least time from when the guest executes again to a tick that it sets then: one that is
    /// due sooner comes so late. Linux on Xen sets no timer nearer than 100 us (`TIMER_SLOP` of its
    /// `arch/x86/xen/time.c`), and takes some time until it sets it.
    pub least: Duration,
}

/// The small operating system inside a guest.
///
/// It has three levels on each vcpu: interrupts run first, then softirqs, then tasks. Costs are
/// processor time of the vcpu.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuestConfig {
    /// Period of the tick that Xen sends while the vcpu runs (xen-spec 0.9: 10 ms for a
    /// paravirtual guest that keeps Xen's default); `None` for a tickless guest that has stopped
    /// it, as Linux with paravirt_ops does.
    pub tick: Option<Duration>,
    /// Time that the interrupt handler of a timer or tick takes.
    pub irq_cost: Duration,
    /// Time that the timer softirq takes, which wakes tasks.
    pub softirq_cost: Duration,
    /// How long a task runs before another of the same priority gets its turn.
    pub task_slice: Duration,
}

/// A task inside a guest.
#[derive(Clone, Debug)]
pub struct TaskConfig {
    /// Name for people.
    pub name: String,
    /// Tasks of a higher priority run first; equal ones take turns.
    pub priority: i8,
    /// What it does.
    pub workload: Workload,
}

/// What a task demands from the processor. It demands processor time; only sleeping blocks it.
#[derive(Clone, Debug)]
pub enum Workload {
    /// Computes for ever.
    Burn,
    /// Sleeps for ever.
    Idle,
    /// Releases a job at `phase`, `phase + period`, ...; each computes for a time drawn from
    /// `burst`. Jobs that come while an earlier one is unfinished queue up.
    Periodic {
        /// Time between releases, over zero.
        period: Duration,
        /// Time of the first release after the guest's start.
        phase: Duration,
        /// Processor time of a job.
        burst: Distribution,
    },
    /// Computes for a time drawn from `on`, then sleeps for a time drawn from `off`, for ever.
    OnOff {
        /// Processor time of a burst.
        on: Distribution,
        /// Length of the sleep after it.
        off: Distribution,
    },
    /// Computes for a time drawn from `burst`, then yields the processor (as a guest does that
    /// spins on a lock), for ever.
    Yielding {
        /// Processor time between two yields.
        burst: Distribution,
    },
    /// Computes for `work` in all, then sleeps for ever; the trace tells the turnaround.
    Compute {
        /// Processor time, over zero.
        work: Duration,
    },
    /// What somebody knows of a vcpu's demand, step by step.
    Replay(Arc<[Demand]>),
}

/// One step of a demand that is known: at `at` the vcpu is woken, spins for `spin` by the clock and
/// then has `work` to do.
///
/// Wake times are absolute, so that a slower host does not slow the world outside it down. What
/// happens when the earlier work is not done by then is up to `arrival`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demand {
    /// Time of the wake-up since the start of the run: that at which its interrupt is delivered to
    /// a vcpu that sleeps. What may delay a timer, such as the slop, is over by then; only a
    /// hypervisor that is switching holds it back.
    pub at: Instant,
    /// How long it executes by the clock before its `work`, counted from when it first executes:
    /// it polls or busy-waits until that time. While it is preempted the time goes on, so that it
    /// takes less of the processor; if the time has passed when it executes again, `work` is all
    /// that is left. Zero for demand that is processor time alone; never [`Duration::MAX`].
    pub spin: Duration,
    /// Processor time, after `spin`, until it blocks; [`Duration::MAX`] when it does
    /// not.
    pub work: Duration,
    /// Where the wake-up comes from.
    pub arrival: Arrival,
}

/// Where the wake-up of a [`Demand`] comes from.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Arrival {
    /// From outside, at its time whatever the vcpu does: when the earlier work is not done by
    /// then, the new work is added to it and the vcpu does not block in between.
    #[default]
    Outside,
    /// From a timer that the guest sets when the earlier work is done, no nearer than `least`
    /// after that. When more than the next demand is due by then, all that are due, of this kind
    /// or ticks, are one; but a job that [spins](Demand::spin) sets its timer when it is done,
    /// and nothing is one with it.
    Timer {
        /// Shortest time from the block to the wake-up.
        least: Duration,
    },
    /// From a timer that a loop sets at the end of each turn, no nearer than `least` after that: as
    /// [`Timer`](Self::Timer), but nothing is one with it, however late it is.
    Loop {
        /// Shortest time from the block to the wake-up.
        least: Duration,
    },
    /// From the first tick of the guest's kernel after the earlier work is done: at its time, or
    /// any number of `period`s before or after it. A tick leaves the timers of sleeping tasks as
    /// they are: a job [in turn](Demand::in_turn) whose timer expires before the tick's work is
    /// done follows it without a block, and one whose timer comes no later than the tick does
    /// takes its place.
    Tick {
        /// Period of the ticks, over zero.
        period: Duration,
        /// Shortest time from the block to the wake-up: a tick that is nearer comes then.
        least: Duration,
        /// How much less its work and that of a job in turn take together, when the job's timer has
        /// expired before the tick is handled: the guest wakes and idles once for both. A job that
        /// spins ends by the clock, whatever was before it.
        saved: Duration,
    },
}

impl Demand {
    /// Whether the job before sets its timer when it is done, so that no other demand is one with
    /// it: it is of a loop, or works by the clock.
    pub fn in_turn(&self) -> bool {
        !self.spin.is_zero() || matches!(self.arrival, Arrival::Loop { .. })
    }

    /// Whether a timer of its own wakes it, and no tick.
    pub fn has_timer(&self) -> bool {
        matches!(self.arrival, Arrival::Timer { .. } | Arrival::Loop { .. })
    }

    /// When the wake-up comes if the work of the demand before was done at `done`; `None` when
    /// it comes whether that is done or not.
    pub fn after(&self, done: Instant) -> Option<Instant> {
        match self.arrival {
            Arrival::Outside => None,
            Arrival::Timer { least } | Arrival::Loop { least } => Some(self.at.max(done + least)),
            Arrival::Tick { period, least, .. } => {
                let period = period.as_nanos();
                let phase = self.at.as_nanos() % period;
                let into = (done.as_nanos() + period - phase) % period;
                Some(done + Duration::from_nanos(period - into).max(least))
            }
        }
    }
}

/// How a length of time is drawn. All parameters are processor time or real time in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Distribution {
    /// Always this.
    Constant(Duration),
    /// Uniform between two values, both included.
    Uniform(Duration, Duration),
    /// Exponential with this mean.
    Exponential(Duration),
    /// Normal with mean and standard deviation, cut off at zero.
    Normal(Duration, Duration),
}

/// What an operator can do to a running host.
#[derive(Clone, Debug)]
pub enum Action {
    /// `xl pause`.
    Pause(DomainId),
    /// `xl unpause`.
    Unpause(DomainId),
    /// `xl sched-credit -d` and its like: new parameters for a domain.
    SetParams(DomainId, ParamValues),
    /// `xl sched-credit -s` and its like: new parameters for the policy as a whole. Changes that
    /// the policy refuses change nothing, as in Xen; whoever builds the host has to check them.
    SetPolicy(ParamValues),
    /// `xl vcpu-pin`: new affinity for one vcpu.
    Pin {
        /// Domain.
        domain: DomainId,
        /// Index of the vcpu in it.
        vcpu: u16,
        /// New hard affinity; at least one pcpu of it is online.
        hard: CpuSet,
        /// New soft affinity.
        soft: CpuSet,
    },
    /// `xen-hptool cpu-offline`: the pcpu leaves; not the last one.
    PcpuOffline(PcpuId),
    /// `xen-hptool cpu-online`.
    PcpuOnline(PcpuId),
}

impl GuestConfig {
    /// A guest without any overhead of its own.
    pub const IDEAL: GuestConfig = GuestConfig {
        tick: None,
        irq_cost: Duration::ZERO,
        softirq_cost: Duration::ZERO,
        task_slice: Duration::from_millis(100),
    };
}

impl VcpuConfig {
    /// A vcpu that may run anywhere and has these workloads as tasks of equal priority.
    pub fn anywhere(workloads: impl IntoIterator<Item = Workload>) -> Self {
        VcpuConfig {
            hard: CpuSet::ALL,
            soft: CpuSet::ALL,
            tasks: workloads.into_iter().map(TaskConfig::from).collect(),
            kernel_tick: None,
        }
    }
}

impl From<Workload> for TaskConfig {
    fn from(workload: Workload) -> Self {
        TaskConfig {
            name: String::from(workload.name()),
            priority: 0,
            workload,
        }
    }
}

impl Workload {
    /// The word for it in scenarios.
    pub const fn name(&self) -> &'static str {
        match self {
            Workload::Burn => "burn",
            Workload::Idle => "idle",
            Workload::Periodic { .. } => "periodic",
            Workload::OnOff { .. } => "on-off",
            Workload::Yielding { .. } => "yield",
            Workload::Compute { .. } => "compute",
            Workload::Replay(_) => "replay",
        }
    }
}
