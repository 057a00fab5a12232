//! Parameters of both policies: their declarations, and the rules that follow from them.

use super::state::LEVELS;
use super::weights::{IDLE_SHARES, Load, shares};
use alloc::format;
use domio_contract::{Conflict, Descriptor, Needs, Promises, ShareBy};
use domio_core::ParamValues;
use domio_core::params::{ByWord, Params as _, choice, flag, int};

const US: i64 = 1_000;
const MS: i64 = 1_000_000;

/// Releases of Linux whose rules are modelled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Release {
    V6_1,
    V6_12,
    V6_18,
}

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
    const WORDS: &'static [&'static str] = &["6.12", "6.18"];
    const ALL: &'static [EevdfRelease] =
        &[EevdfRelease(Release::V6_12), EevdfRelease(Release::V6_18)];
}

/// Ticks a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Hz(i64);

impl ByWord for Hz {
    const WORDS: &'static [&'static str] = &["100", "250", "300", "1000"];
    const ALL: &'static [Hz] = &[Hz(100), Hz(250), Hz(300), Hz(1000)];
}

/// Classes of threads (`SCHED_OTHER`, `SCHED_BATCH`, `SCHED_IDLE`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    Other,
    Batch,
    Idle,
}

impl ByWord for Class {
    const WORDS: &'static [&'static str] = &["other", "batch", "idle"];
    const ALL: &'static [Class] = &[Class::Other, Class::Batch, Class::Idle];
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
    }
}

/// Largest `cpu.max` in microseconds: more than all pcpus in the longest period.
const QUOTA_MAX_US: i64 = 1_000_000_000;

params! {
    /// Parameters of a domain, which is a task group.
    struct DomainParams {
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
        nice: i64 = int("", (-20, 19), 0),
            "Nice value of all vcpus of the domain.";
        class: Class = choice(0),
            "Class of all vcpus of the domain: other (SCHED_OTHER), batch or idle.";
        slice_us: i64 = int("us", (100, 100_000), 0).or_zero(),
            "Length of a request of each vcpu, 0 for the base slice; without effect in cfs \
             (sched_setattr, sched_runtime).";
    }
}

params! {
    /// Parameters of a group of domains, which is a task group around theirs.
    struct GroupParams {
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
    struct VcpuParams {
        nice: i64 = int("", (-20, 19), 0),
            "Nice value of the vcpu.";
        class: Class = choice(0),
            "Class of the vcpu: other (SCHED_OTHER), batch or idle.";
        slice_us: i64 = int("us", (100, 100_000), 0).or_zero(),
            "Length of a request of the vcpu, 0 for the base slice; without effect in cfs \
             (sched_setattr, sched_runtime).";
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
    source: "Linux 6.12 and 6.18, kernel/sched/fair.c",
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
    /// Protection is a virtual time of its own, and whoever has none is resched at any update.
    pub vprot: bool,
    /// Quotas take effect where a thread returns to user mode.
    pub throttles_threads: bool,
}

impl Rules {
    pub fn cfs(values: &ParamValues) -> Rules {
        let p = CfsParams::from(values);
        Rules {
            given: Tunables {
                latency: p.sched_latency_ns,
                min_granularity: p.min_granularity_ns,
                wakeup_granularity: p.wakeup_granularity_ns,
                base_slice: 0,
                threads_in_latency: 0,
            },
            idle_min_granularity: p.idle_min_granularity_ns,
            migration_cost: p.migration_cost_ns,
            bandwidth_slice: p.bandwidth_slice_us * US,
            gentle_fair_sleepers: p.gentle_fair_sleepers,
            start_debit: p.start_debit,
            wakeup_preemption: p.wakeup_preemption,
            ni_random: p.ni_random,
            ..Rules::of(p.release.0, p.hz)
        }
    }

    pub fn eevdf(values: &ParamValues) -> Rules {
        let p = EevdfParams::from(values);
        let plain = Rules::of(p.release.0, p.hz);
        Rules {
            given: Tunables {
                base_slice: p.base_slice_ns,
                ..plain.given
            },
            migration_cost: p.migration_cost_ns,
            bandwidth_slice: p.bandwidth_slice_us * US,
            run_to_parity: p.run_to_parity,
            preempt_short: p.preempt_short,
            place_lag: p.place_lag,
            delay_dequeue: p.delay_dequeue,
            wakeup_preemption: p.wakeup_preemption,
            ni_random: p.ni_random,
            ..plain
        }
    }

    fn of(release: Release, hz: Hz) -> Rules {
        Rules {
            release,
            tick: (1_000_000_000 + hz.0 / 2) / hz.0,
            given: Tunables {
                latency: 0,
                min_granularity: 0,
                wakeup_granularity: 0,
                base_slice: 0,
                threads_in_latency: 0,
            },
            idle_min_granularity: 750_000,
            migration_cost: 500_000,
            bandwidth_slice: 5 * MS,
            gentle_fair_sleepers: true,
            start_debit: true,
            wakeup_preemption: true,
            run_to_parity: true,
            preempt_short: true,
            place_lag: true,
            delay_dequeue: true,
            ni_random: true,
            eevdf: release >= Release::V6_12,
            vprot: release >= Release::V6_18,
            throttles_threads: release >= Release::V6_18,
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
            threads_in_latency: threads as u32,
        }
    }
}

/// What the parameters of a domain say of its group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct GroupSetting {
    pub shares: u64,
    pub idle: bool,
    /// Nanoseconds; 0 for none.
    pub quota: i64,
    pub period: i64,
    pub burst: i64,
}

impl GroupSetting {
    /// Of a domain or of a group of domains: both have these parameters.
    pub fn new(values: &ParamValues) -> GroupSetting {
        let p = GroupParams::from(values);
        let period = p.period_us * US;
        // Where the two are given, the smaller one holds; whatever is too short is the shortest.
        let of_cap = (period / 100 * p.cap).max(MS);
        let quota = match (p.cap, p.quota_us) {
            (0, quota) => quota * US,
            (_, 0) => of_cap,
            (_, quota) => of_cap.min(quota * US),
        };
        GroupSetting {
            shares: match p.idle {
                true => IDLE_SHARES,
                false => shares(p.weight),
            },
            idle: p.idle,
            quota,
            period,
            burst: (p.burst_us * US).min(quota),
        }
    }
}

/// What the parameters of a vcpu say of its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ThreadSetting {
    pub load: Load,
    pub class: Class,
    /// Nanoseconds; 0 for the base slice.
    pub slice: i64,
}

impl ThreadSetting {
    fn of(nice: i64, class: Class, slice_us: i64) -> ThreadSetting {
        ThreadSetting {
            load: match class {
                Class::Idle => Load::idle(),
                _ => Load::nice(nice),
            },
            class,
            slice: slice_us * US,
        }
    }

    pub fn new(values: &ParamValues) -> ThreadSetting {
        let p = VcpuParams::from(values);
        ThreadSetting::of(p.nice, p.class, p.slice_us)
    }

    /// Of the vcpus of a domain with these values.
    pub fn inherited(domain: &ParamValues) -> ThreadSetting {
        let p = DomainParams::from(domain);
        ThreadSetting::of(p.nice, p.class, p.slice_us)
    }

    pub fn unknown() -> ThreadSetting {
        ThreadSetting::new(&ParamValues::defaults(VcpuParams::SPECS))
    }
}

/// Checks what no single range can say of a domain or of a group of domains: quotas of a
/// millisecond at least, bursts within the quota.
///
/// # Errors
/// What Linux refuses.
pub fn validate_group(values: &ParamValues) -> Result<(), Conflict> {
    let p = GroupParams::from(values);
    let of_cap = p.period_us * p.cap / 100;
    if p.cap > 0 && p.quota_us > 0 {
        return Err(Conflict {
            param: "quota_us",
            with: "cap",
            problem: format!("a cap of {} % and a quota of {} us", p.cap, p.quota_us),
            expected: "one of the two".into(),
            hint: "the cap is a quota of so many percent of the period",
        });
    }
    if p.cap > 0 && of_cap < 1_000 {
        return Err(Conflict {
            param: "cap",
            with: "period_us",
            problem: format!(
                "{} % of a period of {} us is a quota of {of_cap} us",
                p.cap, p.period_us
            ),
            expected: format!(
                "a cap of {} at least",
                (100_000 + p.period_us - 1) / p.period_us
            ),
            hint: "Linux takes no quota below 1 ms",
        });
    }
    let quota = of_cap.max(p.quota_us);
    if p.burst_us > quota {
        return Err(Conflict {
            param: "burst_us",
            with: if p.cap > 0 { "cap" } else { "quota_us" },
            problem: format!("a burst of {} us with a quota of {quota} us", p.burst_us),
            expected: format!("burst_us of {quota} at most"),
            hint: "Linux takes no burst above the quota",
        });
    }
    Ok(())
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
