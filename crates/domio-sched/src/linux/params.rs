//! Parameters of both policies: their declarations, and the rules that follow from them.

use super::release::Release;
use super::state::LEVELS;
use super::weights::Load;
use domio_contract::{Descriptor, Needs, Promises, ShareBy};
use domio_core::ParamValues;
use domio_core::params::{ByWord, Params, choice, flag, int};

pub(super) const US: i64 = 1_000;
pub(super) const MS: i64 = 1_000_000;

/// Releases with CFS.
#[derive(Clone, Copy, Debug)]
struct CfsRelease(Release);

impl ByWord for CfsRelease {
    const WORDS: &'static [&'static str] = &["6.1"];
    const ALL: &'static [CfsRelease] = &[CfsRelease(Release::V6_1)];
}

/// Releases with EEVDF.
#[derive(Clone, Copy, Debug)]
struct EevdfRelease(Release);

impl ByWord for EevdfRelease {
    const WORDS: &'static [&'static str] = &["6.12", "6.18", "7.0", "7.2", "7.3"];
    const ALL: &'static [EevdfRelease] = &[
        EevdfRelease(Release::V6_12),
        EevdfRelease(Release::V6_18),
        EevdfRelease(Release::V7_0),
        EevdfRelease(Release::V7_2),
        EevdfRelease(Release::V7_3),
    ];
}

/// How the weight of a group on each pcpu follows from its shares, since 7.3 (`cgroup_mode`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GroupMode {
    /// All of the shares on each pcpu.
    Up,
    /// The shares, divided by load; as all releases before have it.
    Smp,
    /// As many shares as pcpus run threads of the group, divided by load.
    Concur,
    /// As many shares as pcpus, divided by load.
    Max,
    /// As many shares as threads run, divided by load.
    Tasks,
}

impl ByWord for GroupMode {
    const WORDS: &'static [&'static str] = &["up", "smp", "concur", "max", "tasks"];
    const ALL: &'static [GroupMode] = &[
        GroupMode::Up,
        GroupMode::Smp,
        GroupMode::Concur,
        GroupMode::Max,
        GroupMode::Tasks,
    ];
}

/// Ticks a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Hz(i64);

impl ByWord for Hz {
    const WORDS: &'static [&'static str] = &["100", "250", "300", "1000"];
    const ALL: &'static [Hz] = &[Hz(100), Hz(250), Hz(300), Hz(1000)];
}

impl Hz {
    /// Length of a tick.
    fn tick(self) -> i64 {
        (1_000_000_000 + self.0 / 2) / self.0
    }

    /// So many milliseconds in ticks, rounded up.
    fn ticks_of(self, ms: i64) -> i64 {
        (ms * self.0 + 999) / 1_000
    }
}

/// `P` where nobody said anything.
fn defaults<P: Params + for<'a> From<&'a ParamValues>>() -> P {
    P::from(&ParamValues::defaults(P::SPECS))
}

/// Classes of threads (`SCHED_OTHER`, `SCHED_BATCH`, `SCHED_IDLE`, `SCHED_FIFO`, `SCHED_RR`,
/// `SCHED_DEADLINE`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    Other,
    Batch,
    Idle,
    Fifo,
    RoundRobin,
    Deadline,
}

impl ByWord for Class {
    const WORDS: &'static [&'static str] = &["other", "batch", "idle", "fifo", "rr", "deadline"];
    const ALL: &'static [Class] = &[
        Class::Other,
        Class::Batch,
        Class::Idle,
        Class::Fifo,
        Class::RoundRobin,
        Class::Deadline,
    ];
}

/// Groups inside a domain's group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Layout {
    /// None.
    Flat,
    /// Those of libvirt: `libvirt/vcpuN`, `libvirt/iothreadN`, `libvirt/emulator`.
    Libvirt,
}

impl ByWord for Layout {
    const WORDS: &'static [&'static str] = &["flat", "libvirt"];
    const ALL: &'static [Layout] = &[Layout::Flat, Layout::Libvirt];
}

/// Which group inside that of its domain a vcpu is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seat {
    Vcpu,
    Emulator,
    Iothread,
}

impl ByWord for Seat {
    const WORDS: &'static [&'static str] = &["vcpu", "emulator", "iothread"];
    const ALL: &'static [Seat] = &[Seat::Vcpu, Seat::Emulator, Seat::Iothread];
}

/// Classes of the kernel, the lowest first: fair is the one of `SCHED_OTHER`, `SCHED_BATCH` and
/// `SCHED_IDLE`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Level {
    Fair,
    RealTime,
    Deadline,
}

impl Class {
    pub const fn level(self) -> Level {
        match self {
            Class::Other | Class::Batch | Class::Idle => Level::Fair,
            Class::Fifo | Class::RoundRobin => Level::RealTime,
            Class::Deadline => Level::Deadline,
        }
    }
}

/// Longest time that a tunable can be.
const TUNABLE_MAX: i64 = 1_000 * MS;

params! {
    /// Parameters of CFS as a whole.
    struct CfsParams {
        release: CfsRelease = choice(0),
            "Release of Linux whose rules apply.";
        hz: Hz = choice(1),
            "Ticks a second (CONFIG_HZ).";
        sched_latency_ns: i64 = int("ns", (100_000, TUNABLE_MAX), 0).or_zero(),
            "Time in which every thread is to run once; 0 for the kernel's own, 6 ms on one pcpu \
             and 24 ms on eight.";
        min_granularity_ns: i64 = int("ns", (100_000, TUNABLE_MAX), 0).or_zero(),
            "Shortest slice; 0 for the kernel's own, 0.75 ms on one pcpu and 3 ms on eight.";
        wakeup_granularity_ns: i64 = int("ns", (1, TUNABLE_MAX), 0).or_zero(),
            "What a thread that wakes must be behind to preempt; 0 for the kernel's own, 1 ms on \
             one pcpu and 4 ms on eight.";
        idle_min_granularity_ns: i64 = int("ns", (100_000, TUNABLE_MAX), 750_000),
            "Shortest slice of an idle thread or group beside others.";
        migration_cost_ns: i64 = int("ns", (0, TUNABLE_MAX), 500_000),
            "How long a thread that ran counts as hot in the cache of its pcpu.";
        bandwidth_slice_us: i64 = int("us", (1_000, 1_000_000), 5_000),
            "What a pcpu fetches each time from the pool of a group's quota \
             (sched_cfs_bandwidth_slice_us).";
        gentle_fair_sleepers: bool = flag(true),
            "Whether a thread that wakes gets half of the latency as credit, and not all \
             (GENTLE_FAIR_SLEEPERS).";
        start_debit: bool = flag(true),
            "Whether a new thread begins a slice behind (START_DEBIT).";
        wakeup_preemption: bool = flag(true),
            "Whether threads that wake can preempt at all (WAKEUP_PREEMPTION).";
        ni_random: bool = flag(true),
            "Whether a pcpu that runs out of work draws whether to look for more (NI_RANDOM).";
        sched_rt_runtime_us: i64 = int("us", (-1, 1_000_000), 950_000),
            "Time in each sched_rt_period_us that fifo and rr may have on a pcpu, -1 for no \
             limit; also the part of the host that deadlines may reserve.";
        sched_rt_period_us: i64 = int("us", (1_000, 1_000_000), 1_000_000),
            "Period of sched_rt_runtime_us.";
        rr_timeslice_ms: i64 = int("ms", (1, 10_000), 100),
            "Quantum of threads of the class rr (sched_rr_timeslice_ms).";
    }
}

params! {
    /// Parameters of EEVDF as a whole.
    struct EevdfParams {
        release: EevdfRelease = choice(0),
            "Release of Linux whose rules apply.";
        hz: Hz = choice(1),
            "Ticks a second (CONFIG_HZ).";
        base_slice_ns: i64 = int("ns", (100_000, TUNABLE_MAX), 0).or_zero(),
            "Length of a request; 0 for the kernel's own, 0.7 ms on one pcpu and 2.8 ms on eight.";
        migration_cost_ns: i64 = int("ns", (0, TUNABLE_MAX), 500_000),
            "How long a thread that ran counts as hot in the cache of its pcpu.";
        bandwidth_slice_us: i64 = int("us", (1_000, 1_000_000), 5_000),
            "What a pcpu fetches each time from the pool of a group's quota \
             (sched_cfs_bandwidth_slice_us).";
        run_to_parity: bool = flag(true),
            "Whether the running thread keeps its pcpu to the end of its request \
             (RUN_TO_PARITY).";
        preempt_short: bool = flag(true),
            "Whether a thread with a shorter slice preempts one that keeps its pcpu \
             (PREEMPT_SHORT).";
        place_lag: bool = flag(true),
            "Whether a thread that wakes has the lag with which it went to sleep (PLACE_LAG).";
        delay_dequeue: bool = flag(true),
            "Whether a thread that is ahead when it goes to sleep stays on the queue \
             (DELAY_DEQUEUE).";
        wakeup_preemption: bool = flag(true),
            "Whether threads that wake can preempt at all (WAKEUP_PREEMPTION).";
        ni_random: bool = flag(true),
            "Whether a pcpu that runs out of work draws whether to look for more (NI_RANDOM).";
        hrtick: bool = flag(true),
            "Whether a timer ends each request, and not the next tick: since 7.2, without effect \
             before (HRTICK).";
        ni_rate: bool = flag(true),
            "Whether a pcpu that runs out of work looks for more the more often the longer ago it \
             did: since 7.2, without effect before (NI_RATE).";
        cgroup_mode: GroupMode = choice(2),
            "How the weight of a group on each pcpu follows from its shares: since 7.3, without \
             effect before (cgroup_mode).";
        "sched_rt_runtime_us" = int::<i64>("us", (-1, 1_000_000), 950_000),
            "Part of sched_rt_period_us that deadlines may reserve of the host, -1 for no limit.";
        "sched_rt_period_us" = int::<i64>("us", (1_000, 1_000_000), 1_000_000),
            "What sched_rt_runtime_us is a part of.";
        rr_timeslice_ms: i64 = int("ms", (1, 10_000), 100),
            "Quantum of threads of the class rr (sched_rr_timeslice_ms).";
        fair_server_runtime_us: i64 = int("us", (1, 1_000_000), 50_000).or_zero(),
            "Time in each fair_server_period_us that threads of the fair class get on a pcpu \
             beside those of higher classes, 0 for none (fair_server/cpuN/runtime).";
        fair_server_period_us: i64 = int("us", (100, 4_000_000), 1_000_000),
            "Period of fair_server_runtime_us (fair_server/cpuN/period).";
    }
}

/// Shortest period of the class deadline in microseconds (`sched_deadline_period_min_us`).
pub(super) const LEAST_PERIOD_US: i64 = 100;

/// Longest runtime, deadline and period of the class deadline in microseconds (`2^22`).
const DEADLINE_MAX_US: i64 = 4_194_304;

/// Largest `cpu.max` in microseconds: more than all pcpus in the longest period.
const QUOTA_MAX_US: i64 = 1_000_000_000;

params! {
    /// Parameters of a domain, which is a task group.
    pub(super) struct DomainParams {
        "weight" = int::<i64>("", (1, 10_000), 100),
            "Share of the domain beside others (cpu.weight).";
        "idle" = flag(false),
            "Whether the domain runs only where nobody else wants to, almost (cpu.idle).";
        "cap" = int::<i64>("% of one pcpu", (0, 1_000_000), 0),
            "Most that the domain may have, 0 for no limit: a quota for its period (cpu.max).";
        "quota_us" = int::<i64>("us", (1_000, QUOTA_MAX_US), 0).or_zero(),
            "Most that the domain may have in each period, 0 for no limit (cpu.max, first number).";
        "period_us" = int::<i64>("us", (1_000, 1_000_000), 100_000),
            "Period of the quota (cpu.max, second number).";
        "burst_us" = int::<i64>("us", (0, QUOTA_MAX_US), 0),
            "What may be saved of unused quota for later (cpu.max.burst).";
        layout: Layout = choice(0),
            "Groups inside the domain's: flat, none (QEMU alone, Proxmox); libvirt, one of weight \
             100 for each vcpu (vcpuN), for each I/O thread (iothreadN), and for all others \
             (emulator).";
        vcpu_quota_us: i64 = int("us", (1_000, QUOTA_MAX_US), 0).or_zero(),
            "Most that each vcpu may have in each period, 0 for no limit; with layout libvirt \
             (cpu.max of vcpuN; quota of libvirt's cputune).";
        vcpu_period_us: i64 = int("us", (1_000, 1_000_000), 100_000),
            "Period of vcpu_quota_us (period of libvirt's cputune).";
        emulator_quota_us: i64 = int("us", (1_000, QUOTA_MAX_US), 0).or_zero(),
            "Most that the emulator thread, workers and vhost threads may have together in each \
             period, 0 for no limit; with layout libvirt (cpu.max of emulator; emulator_quota).";
        emulator_period_us: i64 = int("us", (1_000, 1_000_000), 100_000),
            "Period of emulator_quota_us (emulator_period).";
        iothread_quota_us: i64 = int("us", (1_000, QUOTA_MAX_US), 0).or_zero(),
            "Most that each I/O thread may have in each period, 0 for no limit; with layout \
             libvirt (cpu.max of iothreadN; iothread_quota).";
        iothread_period_us: i64 = int("us", (1_000, 1_000_000), 100_000),
            "Period of iothread_quota_us (iothread_period).";
        nice: i64 = int("", (-20, 19), 0),
            "Nice value of all vcpus of the domain.";
        class: Class = choice(0),
            "Class of all vcpus of the domain: other (SCHED_OTHER), batch, idle, fifo, rr or \
             deadline.";
        slice_us: i64 = int("us", (100, 100_000), 0).or_zero(),
            "Length of a request of each vcpu, 0 for the base slice; without effect in cfs \
             (sched_setattr, sched_runtime).";
        rt_priority: i64 = int("", (1, 99), 0).or_zero(),
            "Priority of each vcpu in the classes fifo and rr, 1 to 99 (sched_priority).";
        dl_runtime_us: i64 = int("us", (2, DEADLINE_MAX_US), 0).or_zero(),
            "Time that each vcpu reserves in each period, in the class deadline (sched_runtime).";
        dl_deadline_us: i64 = int("us", (2, DEADLINE_MAX_US), 0).or_zero(),
            "Time from the begin of a period within which each vcpu gets that, in the class \
             deadline; 0 for the period (sched_deadline).";
        dl_period_us: i64 = int("us", (LEAST_PERIOD_US, DEADLINE_MAX_US), 0).or_zero(),
            "Period, in the class deadline; 0 for the deadline (sched_period).";
    }
}

params! {
    /// Parameters of a group of domains, which is a task group around theirs.
    pub(super) struct GroupParams {
        weight: i64 = int("", (1, 10_000), 100),
            "Share of the group beside others (cpu.weight).";
        idle: bool = flag(false),
            "Whether the group runs only where nobody else wants to, almost (cpu.idle).";
        cap: i64 = int("% of one pcpu", (0, 1_000_000), 0),
            "Most that all in the group may have together, 0 for no limit: a quota for its period \
             (cpu.max).";
        quota_us: i64 = int("us", (1_000, QUOTA_MAX_US), 0).or_zero(),
            "Most that all in the group may have together in each period, 0 for no limit \
             (cpu.max, first number).";
        period_us: i64 = int("us", (1_000, 1_000_000), 100_000),
            "Period of the quota (cpu.max, second number).";
        burst_us: i64 = int("us", (0, QUOTA_MAX_US), 0),
            "What may be saved of unused quota for later (cpu.max.burst).";
    }
}

params! {
    /// Parameters of a vcpu, which is a thread.
    pub(super) struct VcpuParams {
        nice: i64 = int("", (-20, 19), 0),
            "Nice value of the vcpu.";
        class: Class = choice(0),
            "Class of the vcpu: other (SCHED_OTHER), batch, idle, fifo, rr or deadline.";
        slice_us: i64 = int("us", (100, 100_000), 0).or_zero(),
            "Length of a request of the vcpu, 0 for the base slice; without effect in cfs \
             (sched_setattr, sched_runtime).";
        rt_priority: i64 = int("", (1, 99), 0).or_zero(),
            "Priority of the vcpu in the classes fifo and rr, 1 to 99 (sched_priority).";
        dl_runtime_us: i64 = int("us", (2, DEADLINE_MAX_US), 0).or_zero(),
            "Time that the vcpu reserves in each period, in the class deadline (sched_runtime).";
        dl_deadline_us: i64 = int("us", (2, DEADLINE_MAX_US), 0).or_zero(),
            "Time from the begin of a period within which the vcpu gets that, in the class \
             deadline; 0 for the period (sched_deadline).";
        dl_period_us: i64 = int("us", (LEAST_PERIOD_US, DEADLINE_MAX_US), 0).or_zero(),
            "Period, in the class deadline; 0 for the deadline (sched_period).";
        "seat" = choice::<Seat>(0),
            "Group of the vcpu with layout libvirt: its own (libvirt/vcpuN), the emulator's, or \
             one of its own with the limits of I/O threads; for recorded threads that are vcpus \
             here.";
    }
}

const BOTH: Descriptor = Descriptor {
    domain_params: DomainParams::SPECS,
    group_params: GroupParams::SPECS,
    vcpu_params: VcpuParams::SPECS,
    held_by: Some(ShareBy::Percent("cap")),
    shared_by: Some(ShareBy::Weight("weight")),
    needs: Needs {
        tickle: true,
        timers: true,
        park: true,
        ..Needs::NOTHING
    },
    promises: Promises {
        work_conserving: true,
        balances: true,
        weights: true,
        caps: true,
        groups: true,
        // Nice values, idle classes and long periods keep others waiting for as long as they say.
        ..Promises::NOTHING
    },
    ..Descriptor::PLAIN
};

/// What CFS is.
pub static CFS: Descriptor = Descriptor {
    name: "cfs",
    summary: "Linux' completely fair scheduler: the least virtual time runs, in groups with quotas",
    source: "Linux 6.1, kernel/sched/fair.c",
    class: Some(&super::event::CFS),
    params: CfsParams::SPECS,
    ..BOTH
};

/// What EEVDF is.
pub static EEVDF: Descriptor = Descriptor {
    name: "eevdf",
    summary: "Linux' scheduler since 6.6: the earliest eligible virtual deadline runs, in groups \
              with quotas",
    source: "Linux 6.12 to 7.3, kernel/sched/fair.c",
    class: Some(&super::event::EEVDF),
    params: EevdfParams::SPECS,
    ..BOTH
};

/// Tunables that follow the number of pcpus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tunables {
    pub latency: i64,
    pub min_granularity: i64,
    pub wakeup_granularity: i64,
    pub base_slice: i64,
    /// The base slice of a host of one pcpu.
    pub unscaled_slice: i64,
    /// Threads with which the latency is divided; with more, each has the shortest slice.
    pub threads_in_latency: u32,
}

/// What the parameters say, without what follows from the number of pcpus.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub release: Release,
    /// Length of a tick.
    pub tick: i64,
    /// As given; 0 for the kernel's own.
    given: Tunables,
    pub idle_min_granularity: i64,
    pub migration_cost: i64,
    pub bandwidth_slice: i64,
    pub gentle_fair_sleepers: bool,
    pub start_debit: bool,
    pub wakeup_preemption: bool,
    pub run_to_parity: bool,
    pub preempt_short: bool,
    pub place_lag: bool,
    pub delay_dequeue: bool,
    pub ni_random: bool,
    /// EEVDF: deadlines decide.
    pub eevdf: bool,
    /// A timer ends requests.
    pub hrtick: bool,
    pub ni_rate: bool,
    pub group_mode: GroupMode,
    /// Time that fifo and rr may have on a pcpu in each period, without a limit `None` (6.1).
    pub rt_runtime: Option<i64>,
    pub rt_period: i64,
    /// Quantum of rr in ticks.
    pub rr_ticks: i64,
    /// Time of the fair server in each of its periods, 0 for none (since 6.12).
    pub server_runtime: i64,
    pub server_period: i64,
}

impl Rules {
    pub fn cfs(values: &ParamValues) -> Rules {
        let (c, e) = (CfsParams::from(values), defaults::<EevdfParams>());
        Rules {
            release: c.release.0,
            tick: c.hz.tick(),
            migration_cost: c.migration_cost_ns,
            bandwidth_slice: c.bandwidth_slice_us * US,
            wakeup_preemption: c.wakeup_preemption,
            ni_random: c.ni_random,
            eevdf: false,
            hrtick: false,
            ni_rate: false,
            group_mode: GroupMode::Smp,
            rt_runtime: rt_runtime(c.sched_rt_runtime_us, c.sched_rt_period_us),
            rt_period: c.sched_rt_period_us * US,
            rr_ticks: c.hz.ticks_of(c.rr_timeslice_ms),
            server_runtime: 0,
            ..Rules::of(&c, &e)
        }
    }

    pub fn eevdf(values: &ParamValues) -> Rules {
        Rules::of(&defaults(), &EevdfParams::from(values))
    }

    /// What either policy has alone, and the rest of EEVDF.
    fn of(c: &CfsParams, e: &EevdfParams) -> Rules {
        Rules {
            release: e.release.0,
            tick: e.hz.tick(),
            given: Tunables {
                latency: c.sched_latency_ns,
                min_granularity: c.min_granularity_ns,
                wakeup_granularity: c.wakeup_granularity_ns,
                base_slice: e.base_slice_ns,
                unscaled_slice: 0,
                threads_in_latency: 0,
            },
            idle_min_granularity: c.idle_min_granularity_ns,
            migration_cost: e.migration_cost_ns,
            bandwidth_slice: e.bandwidth_slice_us * US,
            gentle_fair_sleepers: c.gentle_fair_sleepers,
            start_debit: c.start_debit,
            wakeup_preemption: e.wakeup_preemption,
            run_to_parity: e.run_to_parity,
            preempt_short: e.preempt_short,
            place_lag: e.place_lag,
            delay_dequeue: e.delay_dequeue,
            ni_random: e.ni_random,
            eevdf: true,
            hrtick: e.hrtick && e.release.0.has_hrtick(),
            ni_rate: e.ni_rate && e.release.0.has_ni_rate(),
            group_mode: match e.release.0.is_flat() {
                true => e.cgroup_mode,
                false => GroupMode::Smp,
            },
            rt_runtime: None,
            rt_period: c.sched_rt_period_us * US,
            rr_ticks: e.hz.ticks_of(e.rr_timeslice_ms),
            server_runtime: e.fair_server_runtime_us * US,
            server_period: e.fair_server_period_us * US,
        }
    }

    /// `load` as times are scaled by it.
    pub fn load(&self, load: Load) -> Load {
        match self.release.is_exact() {
            true => load.exact(),
            false => load,
        }
    }

    /// The tunables on a host with so many pcpus online (`tunable_scaling` of 1).
    pub fn tunables(&self, pcpus: usize) -> Tunables {
        let factor = 1 + i64::from(pcpus.clamp(1, 8).ilog2());
        let or = |given: i64, own: i64| match given {
            0 => own * factor,
            given => given,
        };
        let g = &self.given;
        let latency = or(g.latency, 6 * MS);
        let min_granularity = or(g.min_granularity, 750_000);
        // Computed anew when somebody writes one of the two.
        let threads = match (g.latency, g.min_granularity) {
            (0, 0) => 8,
            _ => (latency + min_granularity - 1) / min_granularity,
        };
        Tunables {
            latency,
            min_granularity,
            wakeup_granularity: or(g.wakeup_granularity, MS),
            base_slice: or(g.base_slice, 700_000),
            unscaled_slice: match g.base_slice {
                0 => 700_000,
                given => given / factor,
            },
            threads_in_latency: threads as u32,
        }
    }
}

/// The limit of `runtime` in `period`, both in microseconds; `None` where that is none.
fn rt_runtime(runtime: i64, period: i64) -> Option<i64> {
    // Linux does not throttle where there is nothing to have.
    (1..period).contains(&runtime).then_some(runtime * US)
}

/// Shortest interval between two balancings of each domain of the topology, for so many pcpus in
/// it.
pub(super) fn min_interval(pcpus: usize) -> i64 {
    pcpus as i64 * MS
}

/// `imbalance_pct` of each domain of the topology.
pub(super) const IMBALANCE_PCT: [u64; LEVELS] = [110, 117, 117];

/// `cache_nice_tries` of each domain of the topology.
pub(super) const NICE_TRIES: [u32; LEVELS] = [0, 1, 2];
