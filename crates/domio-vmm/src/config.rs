//! What a simulated host is made of: plain data, validated by whoever builds it.

use crate::evtchn::abi::Abi;
use crate::evtchn::port::Width;
use crate::evtchn::scan::form::ScanForm;
use crate::process::{JobPlan, Program};
use crate::profile::Profile;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use domio_contract::control::Entry;
use domio_contract::control::accounting::SendWeight;
use domio_contract::{GroupId, WorksFor};
pub use domio_core::keys::Distribution;
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
    /// Nested groups of domains, each after the one that it is in: none under a policy that has no
    /// groups.
    pub groups: Vec<GroupConfig>,
    /// Cpupools, Pool-0 first; none for a host that has all of its pcpus in one. A policy for them
    /// is [`domio_contract::Pools`].
    pub pools: Vec<PoolConfig>,
    /// What an operator does during the run, in order of time.
    pub actions: Vec<(Instant, Action)>,
    /// Controllers, each with its process among the domains' ([`HostConfig::add_controller`]).
    pub controllers: Vec<ControllerConfig>,
}

/// A cpupool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolConfig {
    /// Name, unique on the host; "Pool-0" of the first.
    pub name: String,
    /// Its pcpus, at least one, which no other pool has. The hard affinity of its vcpus is within.
    pub pcpus: CpuSet,
    /// Its domains; those that no pool names are in Pool-0.
    pub domains: Vec<DomainId>,
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
    /// It is told, to the nanosecond, as no real host could say.
    Exact,
    /// All the time of each driver domain is [divided](domio_contract::control::accounting) by the
    /// packets that pass its backends, with this weight of those that guests send.
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
    /// What its vcpus are to the host.
    pub kind: DomainKind,
}

impl DomainConfig {
    /// Whether softirqs of the host are left to one of its threads.
    pub fn has_softirqs(&self) -> bool {
        match &self.kind {
            DomainKind::Threads(threads) => threads.iter().any(|one| one.softirqs.is_some()),
            DomainKind::Guest | DomainKind::Kvm(_) => false,
        }
    }
}

/// What the vcpus of a domain are to its host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DomainKind {
    /// Vcpus of a guest, which sleep when they halt.
    Guest,
    /// Vcpu threads of a guest of KVM: a thread polls before it sleeps.
    Kvm(HaltPolling),
    /// Threads of a host with KVM that are no vcpus of guests: each vcpu of the domain stands for
    /// one, in this order.
    Threads(Vec<KvmThread>),
}

/// A thread of a host with KVM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KvmThread {
    /// Its name, as Linux shows it.
    pub name: String,
    /// The guest that it works for, whose weight and limits hold for the thread too; `None` for a
    /// thread of the host's kernel.
    pub of: Option<DomainId>,
    /// It is the thread `ksoftirqd` of the pcpu that it is pinned to: interrupts for it, and their
    /// softirqs, take the time of whatever runs there, and the thread does what is left of them.
    pub softirqs: Option<HostSoftirqs>,
}

/// How softirqs of a host with KVM make way for others (linux-spec 9.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostSoftirqs {
    /// Length of a tick, more than zero: jiffies count ticks, all at multiples of this.
    pub tick: Duration,
    /// Softirqs that interrupts raise are left to the thread while the thread is runnable, as in
    /// Linux 6.1; Linux 6.12 runs them when the interrupt ends all the same.
    pub left_to_thread: bool,
}

impl HostSoftirqs {
    /// For how many jiffies a run of softirqs begins again (`MAX_SOFTIRQ_TIME`): 2 ms, rounded up.
    pub fn restart_ticks(&self) -> u64 {
        2_000_000u64.div_ceil(self.tick.as_nanos().max(1))
    }

    /// The tick with which so many jiffies are over that are counted from `now` on.
    pub fn ticks_after(&self, now: Instant, ticks: u64) -> Instant {
        let tick = self.tick.as_nanos().max(1);
        Instant::from_nanos((now.as_nanos() / tick + ticks) * tick)
    }
}

impl KvmThread {
    /// The main thread of QEMU, in which devices without an I/O thread are served.
    pub const MAIN: &str = "qemu-system-x86";

    /// Name of the thread that softirqs of `pcpu` are left to.
    pub fn softirqd(pcpu: PcpuId) -> String {
        format!("ksoftirqd/{}", pcpu.0)
    }

    /// Whether `name` is that of an I/O thread of QEMU (linux-spec 9.5).
    pub fn is_io(name: &str) -> bool {
        name.starts_with("IO ") || name.starts_with("iothread")
    }

    /// What it works for. The number of an I/O thread is the one at the end of its name. Without
    /// such a number, or with one over 65535, the number follows from `place`, the place of the
    /// thread among those of its domain: no name has that one.
    pub fn works(&self, place: u16) -> WorksFor {
        let Some(guest) = self.of else {
            return WorksFor::Kernel;
        };
        if !KvmThread::is_io(&self.name) {
            return WorksFor::Emulator(guest);
        }
        let digits = self.name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = self.name[digits.len()..].parse().map(u16::into);
        let other = WorksFor::UNNUMBERED + u32::from(place);
        WorksFor::Iothread(guest, number.unwrap_or(other))
    }
}

/// How KVM polls before the thread of a vcpu that halts sleeps: the parameters of its module
/// (linux-spec 9.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HaltPolling {
    /// `halt_poll_ns`: the longest time; zero for no polling.
    pub max: Duration,
    /// `halt_poll_ns_grow`: by which factor the time grows.
    pub grow: u32,
    /// `halt_poll_ns_grow_start`: what it grows to at least.
    pub grow_start: Duration,
    /// `halt_poll_ns_shrink`: what it is divided by; 0: it begins anew.
    pub shrink: u32,
}

impl HaltPolling {
    /// The defaults on x86 since Linux 6.12. Linux 6.1 has `shrink` 0.
    pub const X86: HaltPolling = HaltPolling {
        max: Duration::from_micros(200),
        grow: 2,
        grow_start: Duration::from_micros(10),
        shrink: 2,
    };

    /// How long the next halt polls, after one that polled for `window` at most and was over after
    /// `halted`, its sleep included.
    #[must_use]
    pub fn next(&self, window: Duration, halted: Duration) -> Duration {
        let window = window.min(self.max);
        if halted <= window {
            return window;
        }
        if !window.is_zero() && halted > self.max {
            let less = match self.shrink {
                0 => Duration::ZERO,
                shrink => window / u64::from(shrink),
            };
            return match less < self.grow_start {
                true => Duration::ZERO,
                false => less,
            };
        }
        if window < self.max && halted < self.max && self.grow > 0 {
            let more = (window * u64::from(self.grow)).max(self.grow_start);
            return more.min(self.max);
        }
        window
    }
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
    /// Each interrupt, in addition to its driver's handler.
    pub irq: Duration,
    /// The handler of the timer's virq.
    pub timer_irq: Duration,
    /// The timer softirq, which wakes processes and expires kernel timers.
    pub timer_softirq: Duration,
    /// From one process to another that was woken from a call, a wait or a sleep.
    pub switch: Duration,
    /// Going idle, before the hypercall that blocks, with interrupts off.
    pub idle: Duration,
    /// The hypercall that sends an interrupt to another vcpu of the domain.
    pub send_ipi: Duration,
    /// Entering a section that another vcpu of the domain was in last: the cache line of its lock
    /// comes from there.
    pub lock_line: Duration,
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
        send_ipi: Duration::ZERO,
        lock_line: Duration::ZERO,
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
    /// Computes for `work` altogether, then sleeps for ever; the trace tells the turnaround.
    Compute {
        /// Processor time, over zero.
        work: Duration,
    },
    /// Jobs that somebody plans.
    Jobs(Arc<dyn JobPlan>),
    /// A program in steps, which may use sockets and files.
    Program(Arc<dyn Program>),
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
            Workload::Jobs(jobs) => jobs.name(),
            Workload::Program(program) => program.name(),
        }
    }
}
