//! Parameters of credit2: their declaration, and the settings that follow from them.

use super::rules::Rules;
use alloc::format;
use alloc::string::String;
use domio_contract::{Conflict, Descriptor, Needs, Promises, ShareBy};
use domio_core::cpuset::MAX_PCPUS;
use domio_core::params::{ByWord, Params as _, choice, flag, int, version};
use domio_core::{ParamValues, XenVersion};

/// A microsecond and a millisecond.
pub(super) const US: i64 = 1_000;
pub(super) const MS: i64 = 1_000_000;

/// Shortest slice without a rate limit (`CSCHED2_MIN_TIMER`), and the least that a capped vcpu
/// takes from its domain's budget.
pub(super) const MIN_TIMER: i64 = 500 * US;
/// Longest slice (`CSCHED2_MAX_TIMER`), in nanoseconds.
pub const MAX_TIMER: i64 = 10 * MS;
/// What a vcpu begins with and what a reset adds (`CSCHED2_CREDIT_INIT`), in nanoseconds.
pub const CREDIT_INIT: i64 = 10 * MS;
/// Least credit (`CSCHED2_CREDIT_MIN`), in nanoseconds.
pub const CREDIT_MIN: i64 = -CREDIT_INIT;
/// Credit of idling: under the least of all.
pub(super) const IDLE_CREDIT: i64 = CREDIT_MIN - 1;
/// Credit of idling where credit has no end ([`Rules::credit_ends`]).
pub(super) const IDLE_CREDIT_WITHOUT_END: i64 = -(1 << 30);
/// Most credit after a reset: the initial credit and `CSCHED2_CARRYOVER_MAX`.
pub(super) const CREDIT_MAX: i64 = CREDIT_INIT + 500 * US;
/// What a move to another pcpu of the run queue is paid with (`CSCHED2_MIGRATE_COMPENSATION`).
pub(super) const COMPENSATION: i64 = 50 * US;
/// A vcpu that is that close to the end of its rate limit counts as past it
/// (`CSCHED2_RATELIMIT_TICKLE_TOLERANCE`).
pub(super) const TICKLE_TOLERANCE: i64 = 50 * US;
/// Load is worked out in units of 2^10 ns (`LOADAVG_GRANULARITY_SHIFT`).
pub(super) const GRANULARITY: u32 = 10;

params! {
    /// Parameters of the policy as a whole. What `xl sched-credit2 -s` changes can change in a run.
    struct Params {
        version: XenVersion = version(XenVersion::V4_8, XenVersion::V4_20, XenVersion::V4_17),
            "Release of Xen whose rules apply; 4.8 and 4.9 have those of 4.10 without soft \
             affinity and caps.";
        runqueue: Arrangement = choice(Arrangement::Socket as usize),
            "Which pcpus share a run queue; a socket is a node here (credit2_runqueue).";
        max_cpus_runqueue: usize = int("pcpus", (1, MAX_PCPUS as i64), 16),
            "Most pcpus in one run queue; threads of a core always stay together \
             (sched_credit2_max_cpus_runqueue; since 4.14).";
        ratelimit_us: i64 = int("us", (100, 500_000), 1000).or_zero().changeable(),
            "Time for which a vcpu that was switched in is not preempted, 0 for none \
             (xl sched-credit2 -s -r).";
        migrate_resist_us: i64 = int("us", (0, 1_000_000), 500),
            "Credit that a vcpu needs beyond another's to take a pcpu on which it did not run \
             last (sched_credit2_migrate_resist).";
        load_window_shift: u32 = int("", (11, 35), 30),
            "Window of the average of load, 2 to the power of this, in ns \
             (credit2_load_window_shift).";
        load_precision_shift: u32 = int("", (4, 20), 18),
            "Bits behind the point in averages of load (credit2_load_precision_shift).";
        balance_under: i64 = int("", (-4, 10), 0),
            "Difference in load that is evened out on a host with time to spare, 2 to the power \
             of this (credit2_balance_under).";
        balance_over: i64 = int("", (-4, 10), -3),
            "Like `balance_under`, on a host with more work than pcpus (credit2_balance_over).";
        cap_period_ms: i64 = int("ms", (1, 1000), 10),
            "How often the budget of a domain with a cap is filled up (credit2_cap_period_ms).";
        smt_power_savings: bool = flag(false),
            "Wake idle threads of busy cores before idle cores (sched_smt_power_savings).";
    }
}

params! {
    /// Parameters of a domain.
    pub(super) struct DomainParams {
        weight: u32 = int("", (1, 65_535), 256),
            "Share of processor time of each vcpu, in proportion to the others' \
             (xl sched-credit2 -w).";
        cap: i64 = int("% of one pcpu", (0, MAX_PCPUS as i64 * 100), 0),
            "Most that the domain may use even of idle time, all its vcpus together; 0 for no \
             limit; of no effect over 100 for each vcpu (xl sched-credit2 -c).";
    }
}

/// What this policy is.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "credit2",
    summary: "Xen's default scheduler since 4.12: credit that burns by weight, shared run queues",
    source: "Xen 4.10 to 4.20, sched_credit2.c, since 4.14 sched/credit2.c",
    class: Some(&super::event::CLASS),
    params: Params::SPECS,
    changeable: Params::CHANGEABLE,
    domain_params: DomainParams::SPECS,
    held_by: Some(ShareBy::Percent("cap")),
    shared_by: Some(ShareBy::Weight("weight")),
    needs: Needs {
        tickle: true,
        timers: true,
        park: true,
        context_saved: true,
        ..Needs::NOTHING
    },
    promises: Promises {
        starvation_free: true,
        weights: true,
        caps: true,
        ..Promises::NOTHING
    },
    ..Descriptor::PLAIN
};

/// Which pcpus share a run queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrangement {
    Cpu,
    Core,
    Socket,
    /// A socket too: a host has no other nodes.
    Node,
    All,
}

impl ByWord for Arrangement {
    const WORDS: &'static [&'static str] = &["cpu", "core", "socket", "node", "all"];
    const ALL: &'static [Arrangement] = &[
        Arrangement::Cpu,
        Arrangement::Core,
        Arrangement::Socket,
        Arrangement::Node,
        Arrangement::All,
    ];
}

/// Everything that the parameters decide, in the units in which it is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Settings {
    pub arrangement: Arrangement,
    pub max_cpus: usize,
    pub ratelimit: i64,
    pub resist: i64,
    /// Shift of the window, in units of the granularity.
    pub window: u32,
    pub precision: u32,
    /// Differences in load that are evened out, in parts of 2^precision.
    pub under: i64,
    pub over: i64,
    pub cap_period: i64,
    pub power_savings: bool,
    pub rules: Rules,
}

/// Checks that the release has every parameter that was set.
///
/// # Errors
/// A limit of run queues before 4.14. The policy goes without.
pub fn validate(params: &ParamValues) -> Result<(), Conflict> {
    let version = Params::from(params).version;
    for began in super::RELEASES.began {
        if version < began.since && !params.is_default(began.param) {
            return Err(Conflict {
                param: began.param,
                with: "version",
                problem: format!("credit2 of Xen {version} has no `{}`", began.param),
                expected: format!("version {} or later", began.since),
                hint: "leave it out, or choose a later `version`",
            });
        }
    }
    Ok(())
}

/// Checks that the release has what the domain asks for.
///
/// # Errors
/// A cap before 4.10. The policy leaves the domain without one.
pub fn validate_domain(policy: &ParamValues, params: &ParamValues) -> Result<(), Conflict> {
    let version = Params::from(policy).version;
    if DomainParams::from(params).cap == 0 || Rules::of(version).caps {
        return Ok(());
    }
    Err(Conflict {
        param: "cap",
        with: "cap",
        problem: format!("credit2 of Xen {version} has no caps"),
        expected: String::from("no cap, or version 4.10 or later"),
        hint: "caps came to credit2 with Xen 4.10; credit had them before",
    })
}

impl Settings {
    pub fn new(values: &ParamValues) -> Settings {
        let params = Params::from(values);
        let precision = params.load_precision_shift;
        Settings {
            arrangement: params.runqueue,
            max_cpus: params.max_cpus_runqueue,
            ratelimit: params.ratelimit_us * US,
            resist: params.migrate_resist_us * US,
            window: params.load_window_shift - GRANULARITY,
            precision,
            under: 1 << (i64::from(precision) + params.balance_under),
            over: 1 << (i64::from(precision) + params.balance_over),
            cap_period: params.cap_period_ms * MS,
            power_savings: params.smt_power_savings,
            rules: Rules::of(params.version),
        }
    }
}
