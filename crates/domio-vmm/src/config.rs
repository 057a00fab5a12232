//! What a simulated host is made of: plain data, validated by whoever builds it.

use crate::evtchn::{Abi, ScanForm, Width};
use crate::process::Program;
use crate::process::programs::ControllerProcess;
use crate::profile::Profile;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use domio_control::Entry;
use domio_control::accounting::SendWeight;
use domio_core::{CpuSet, DomainId, Duration, Instant, ParamValues, PcpuId, Topology, XenVersion};
use domio_sched::GroupId;

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
    /// Nested groups of domains, each after the one that it is in: none under a policy that has no
    /// groups.
    pub groups: Vec<GroupConfig>,
    /// What an operator does during the run, in order of time.
    pub actions: Vec<(Instant, Action)>,
    /// Controllers, each with its process among the domains' ([`HostConfig::add_controller`]).
    pub controllers: Vec<ControllerConfig>,
}

impl HostConfig {
    /// Has a controller run as a process of one of the domains, from when the domain is created.
    ///
    /// # Panics
    /// When the domain or its vcpu does not exist.
    #[track_caller]
    pub fn add_controller(&mut self, config: ControllerConfig) {
        let number = self.controllers.len() as u16;
        let domain = self.domains.iter_mut().find(|d| d.id == config.domain);
        let domain = domain.expect("a controller runs in a domain of the host");
        let process = ControllerProcess::new(number, &config, domain.start);
        let vcpu = &mut domain.vcpus[usize::from(config.vcpu)];
        vcpu.tasks.push(TaskConfig {
            name: String::from(config.entry.descriptor.name),
            priority: TaskConfig::IO_BOUND,
            roams: false,
            workload: Workload::program(process),
        });
        self.controllers.push(config);
    }
}

/// A group of domains. Its [`GroupId`] is its place in [`HostConfig::groups`].
#[derive(Clone, Debug)]
pub struct GroupConfig {
    /// The group that it is in.
    pub parent: Option<GroupId>,
    /// The policy's parameters of the group (weight, quota).
    pub params: ParamValues,
    /// The domains that are in it from when they are created; each is in one group at most.
    pub domains: Vec<DomainId>,
}

/// A controller that runs in a domain.
#[derive(Clone, Debug)]
pub struct ControllerConfig {
    /// Which controller.
    pub entry: Entry,
    /// Its parameters.
    pub params: ParamValues,
    /// Its parameters of domains; its defaults for those that are not named.
    pub domain_params: Vec<(DomainId, ParamValues)>,
    /// From one observation to the next, over zero.
    pub interval: Duration,
    /// The domain that its process runs in: dom0, where the toolstack is.
    pub domain: DomainId,
    /// The vcpu of the domain.
    pub vcpu: u16,
    /// What its process pays for.
    pub costs: ControllerCosts,
    /// How it knows for whom driver domains work.
    pub accounting: Accounting,
}

/// How a controller knows for whom driver domains work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accounting {
    /// It is told, to the nanosecond, as no real host could tell.
    Exact,
    /// All the time of each driver domain is [divided](domio_control::accounting) by the packets
    /// that pass its backends, with this weight of those that guests send.
    Packets(SendWeight),
}

/// What the process of a controller takes, in processor time of its domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ControllerCosts {
    /// Reading what the hypervisor knows: the call, whatever there is to read.
    pub read: Duration,
    /// Reading it for one vcpu.
    pub read_vcpu: Duration,
    /// Deciding.
    pub decide: Duration,
    /// Carrying out one adjustment.
    pub adjust: Duration,
}

impl ControllerCosts {
    /// No cost anywhere.
    pub const FREE: ControllerCosts = ControllerCosts {
        read: Duration::ZERO,
        read_vcpu: Duration::ZERO,
        decide: Duration::ZERO,
        adjust: Duration::ZERO,
    };

    /// A 1.6 GHz Opteron 242 under Xen 3.1. No figure is known: all are engineering estimates.
    pub const OPTERON_242: ControllerCosts = ControllerCosts {
        // A system call and a hypercall through `privcmd` ("PV guest syscall 0.55 us", "PV
        // hypercall 0.2-0.5 us", xen-spec 9), with the pages for the answer locked before and
        // unlocked afterwards.
        read: Duration::from_micros(5),
        // `getvcpuinfo` for each vcpu, a call of its own.
        read_vcpu: Duration::from_micros(3),
        // A few hundred instructions for each of a few domains.
        decide: Duration::from_micros(10),
        // As a read: `domctl` with its locked pages.
        adjust: Duration::from_micros(5),
    };
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

impl DomainConfig {
    /// Whether any of its tasks may go from one of its vcpus to another.
    pub fn roams(&self) -> bool {
        let mut tasks = self.vcpus.iter().flat_map(|vcpu| &vcpu.tasks);
        let moves = self.vcpus.len() > 1 && self.guest.order == ProcessOrder::Linux26;
        moves && tasks.any(|task| task.roams)
    }
}

/// A vcpu and the tasks that live on it.
#[derive(Clone, Debug)]
pub struct VcpuConfig {
    /// Pcpus that it may run on; at least one exists.
    pub hard: CpuSet,
    /// Pcpus that it prefers.
    pub soft: CpuSet,
    /// The policy's parameters of this vcpu, where it has its own; else its domain's hold.
    pub params: Option<ParamValues>,
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

/// The operating system inside a guest.
///
/// It has three levels on each vcpu: interrupts run first, then softirqs, then processes. A guest
/// that a device model serves has event channels, and its interrupts come by way of upcalls; one
/// without knows no interrupt but its timer's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuestConfig {
    /// Its event channels, where it has any.
    pub abi: Abi,
    /// Period of the tick that Xen sends while the vcpu runs (xen-spec 0.9: 10 ms for a
    /// paravirtual guest that keeps Xen's default); `None` for a tickless guest that has stopped
    /// it, as Linux with paravirt_ops does.
    pub tick: Option<Duration>,
    /// What its kernel's work costs.
    pub costs: KernelCosts,
    /// How its processes take turns.
    pub order: ProcessOrder,
    /// How long a task runs before another of the same priority gets its turn, under
    /// [`ProcessOrder::Turns`].
    pub task_slice: Duration,
}

/// How the processes of a vcpu take turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessOrder {
    /// The highest priority runs; equals take turns of [`GuestConfig::task_slice`]. The thread of
    /// the softirqs goes before all of them.
    Turns,
    /// Linux 2.6.18: who sleeps most of the time goes before who computes, and the thread of the
    /// softirqs is a process of nice 19. A priority is a nice value with the sign turned.
    Linux26,
}

/// What a kernel's own work costs, in processor time of the vcpu.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelCosts {
    /// Entering an upcall, and leaving it.
    pub upcall: Duration,
    /// An upcall that finds another one under way.
    pub nested: Duration,
    /// Each interrupt, besides its driver's handler.
    pub irq: Duration,
    /// The handler of the timer's virq.
    pub timer_irq: Duration,
    /// The timer softirq, which wakes processes and expires kernel timers.
    pub timer_softirq: Duration,
    /// From one process to another that was woken from a call, a wait or a sleep.
    pub switch: Duration,
    /// Going idle, before the hypercall that blocks, with interrupts off.
    pub idle: Duration,
}

impl KernelCosts {
    /// No cost anywhere.
    pub const FREE: KernelCosts = KernelCosts {
        upcall: Duration::ZERO,
        nested: Duration::ZERO,
        irq: Duration::ZERO,
        timer_irq: Duration::ZERO,
        timer_softirq: Duration::ZERO,
        switch: Duration::ZERO,
        idle: Duration::ZERO,
    };

    /// A 1.6 GHz Opteron 242 under Xen 3.1 with Linux 2.6.18. No measurement of these is known:
    /// all are engineering estimates, none fitted to a result.
    pub const OPTERON_242: KernelCosts = KernelCosts {
        // 800 cycles to save and restore the registers, through the hypervisor's return path, as
        // a system call of a paravirtual guest takes (0.55 us, xen-spec 9).
        upcall: Duration::from_nanos(500),
        // The same without the way into the kernel, in which it is.
        nested: Duration::from_nanos(300),
        // 500 cycles for `do_IRQ` and what a handler is found by.
        irq: Duration::from_nanos(300),
        // 1,600 cycles: reading the clock of Xen, the time of day, what the process has used.
        timer_irq: Duration::from_nanos(1_000),
        // 800 cycles for a wheel of timers that are seldom due.
        timer_softirq: Duration::from_nanos(500),
        // A switch of processes under Xen takes 2 us (Barham et al. 2003, at 2.4 GHz; remembered,
        // it could not be checked), a system call 0.5 (xen-spec 9).
        switch: Duration::from_nanos(2_000),
        // `stop_hz_timer` on each way into idle: a search for the next timer and two hypercalls,
        // 1.5 to 2.5 us (arch/i386/kernel/time-xen.c).
        idle: Duration::from_nanos(2_000),
    };

    /// A kernel of which only this much is known: what a timer's interrupt takes in all until its
    /// handler returns, and what the softirq takes.
    pub const fn of_timer(irq: Duration, softirq: Duration) -> KernelCosts {
        KernelCosts {
            timer_irq: irq,
            timer_softirq: softirq,
            ..KernelCosts::FREE
        }
    }

    /// A timer's interrupt, from the upcall to the end of its handler.
    pub fn timer_interrupt(&self) -> Duration {
        self.upcall + self.irq + self.timer_irq
    }
}

/// A task inside a guest.
#[derive(Clone, Debug)]
pub struct TaskConfig {
    /// Name for people.
    pub name: String,
    /// Tasks of a higher priority run first; equal ones take turns.
    pub priority: i8,
    /// Whether the kernel may have it execute on other vcpus of the domain, too. It begins on that
    /// one to which it belongs. Only [`ProcessOrder::Linux26`] moves anybody.
    pub roams: bool,
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
    /// A program in steps, which may use sockets and files.
    Program(Arc<dyn Program>),
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
    /// `xl sched-rtds -d -v`: new parameters for one vcpu.
    SetVcpu {
        /// Domain.
        domain: DomainId,
        /// Index of the vcpu in it.
        vcpu: u16,
        /// All of them.
        params: ParamValues,
    },
    /// New parameters for a group of domains.
    SetGroup(GroupId, ParamValues),
    /// A domain goes into another group; `None`: into none.
    Join(DomainId, Option<GroupId>),
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
        abi: Abi::TwoLevel {
            width: Width::Bits64,
            scan: ScanForm::ResumeMainline,
        },
        tick: None,
        costs: KernelCosts::FREE,
        order: ProcessOrder::Turns,
        task_slice: Duration::from_millis(100),
    };
}

impl VcpuConfig {
    /// A vcpu that may run anywhere and has these workloads as tasks of equal priority.
    pub fn anywhere(workloads: impl IntoIterator<Item = Workload>) -> Self {
        VcpuConfig {
            hard: CpuSet::ALL,
            soft: CpuSet::ALL,
            params: None,
            tasks: workloads.into_iter().map(TaskConfig::from).collect(),
            kernel_tick: None,
        }
    }
}

impl Workload {
    /// A process that runs `program` from its beginning.
    pub fn program(program: impl Program + 'static) -> Self {
        Workload::Program(Arc::new(program))
    }
}

impl TaskConfig {
    /// For processes that sleep most of the time: a priority above that of all who compute, where
    /// priorities are fixed. Linux finds out by itself, and takes it for nice 0.
    pub const IO_BOUND: i8 = i8::MAX;

    /// The nice value that the priority stands for.
    pub(crate) fn nice(&self) -> i64 {
        match self.priority {
            TaskConfig::IO_BOUND => 0,
            priority => -i64::from(priority),
        }
    }
}

impl From<Workload> for TaskConfig {
    fn from(workload: Workload) -> Self {
        TaskConfig {
            name: String::from(workload.name()),
            priority: 0,
            roams: false,
            workload,
        }
    }
}

impl Workload {
    /// The word for it in scenarios.
    pub fn name(&self) -> &'static str {
        match self {
            Workload::Burn => "burn",
            Workload::Idle => "idle",
            Workload::Periodic { .. } => "periodic",
            Workload::OnOff { .. } => "on-off",
            Workload::Yielding { .. } => "yield",
            Workload::Compute { .. } => "compute",
            Workload::Replay(_) => "replay",
            Workload::Program(program) => program.name(),
        }
    }
}
