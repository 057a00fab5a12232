//! Parameters of credit2: their declaration, and the settings that follow from them.

use super::rules::Rules;
use alloc::format;
use alloc::string::String;
use domio_contract::{Conflict, Descriptor, Needs, Promises};
use domio_core::cpuset::MAX_PCPUS;
use domio_core::{ParamKind, ParamSpec, ParamValues, XenVersion};

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

/// Words of `runqueue`, in Xen's order.
const ARRANGEMENTS: &[&str] = &["cpu", "core", "socket", "node", "all"];
/// Releases that `version` can name, oldest first.
pub(super) const VERSIONS: &[&str] = XenVersion::NAMES.split_at(XenVersion::V4_8 as usize).1;

// Positions in `PARAMS`.
const VERSION: usize = 0;
const RUNQUEUE: usize = 1;
const MAX_CPUS: usize = 2;
const RATELIMIT: usize = 3;
const RESIST: usize = 4;
const WINDOW: usize = 5;
const PRECISION: usize = 6;
const UNDER: usize = 7;
const OVER: usize = 8;
const CAP_PERIOD: usize = 9;
const POWER_SAVINGS: usize = 10;

// Positions in `DOMAIN_PARAMS`.
pub(super) const WEIGHT: usize = 0;
pub(super) const CAP: usize = 1;

const fn int(min: i64, max: i64) -> ParamKind {
    ParamKind::Int {
        min,
        max,
        or_zero: false,
    }
}

const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "version",
        unit: "",
        kind: ParamKind::Choice(VERSIONS),
        default: XenVersion::V4_17 as i64 - XenVersion::V4_8 as i64,
        doc: "Release of Xen whose rules apply; 4.8 and 4.9 have those of 4.10 without soft \
              affinity and caps.",
    },
    ParamSpec {
        name: "runqueue",
        unit: "",
        kind: ParamKind::Choice(ARRANGEMENTS),
        default: 2,
        doc: "Which pcpus share a run queue; a socket is a node here (credit2_runqueue).",
    },
    ParamSpec {
        name: "max_cpus_runqueue",
        unit: "pcpus",
        kind: int(1, MAX_PCPUS as i64),
        default: 16,
        doc: "Most pcpus in one run queue; threads of a core stay together all the same \
              (sched_credit2_max_cpus_runqueue; since 4.14).",
    },
    ParamSpec {
        name: "ratelimit_us",
        unit: "us",
        kind: ParamKind::Int {
            min: 100,
            max: 500_000,
            or_zero: true,
        },
        default: 1000,
        doc: "Time for which a vcpu that was switched in is not preempted, 0 for none \
              (xl sched-credit2 -s -r).",
    },
    ParamSpec {
        name: "migrate_resist_us",
        unit: "us",
        kind: int(0, 1_000_000),
        default: 500,
        doc: "Credit that a vcpu needs beyond another's to take a pcpu on which it did not run \
              last (sched_credit2_migrate_resist).",
    },
    ParamSpec {
        name: "load_window_shift",
        unit: "",
        kind: int(11, 35),
        default: 30,
        doc: "Window of the average of load, 2 to the power of this, in ns \
              (credit2_load_window_shift).",
    },
    ParamSpec {
        name: "load_precision_shift",
        unit: "",
        kind: int(4, 20),
        default: 18,
        doc: "Bits behind the point in averages of load (credit2_load_precision_shift).",
    },
    ParamSpec {
        name: "balance_under",
        unit: "",
        kind: int(-4, 10),
        default: 0,
        doc: "Difference in load that is evened out on a host with time to spare, 2 to the power \
              of this (credit2_balance_under).",
    },
    ParamSpec {
        name: "balance_over",
        unit: "",
        kind: int(-4, 10),
        default: -3,
        doc: "The same on a host with more work than pcpus (credit2_balance_over).",
    },
    ParamSpec {
        name: "cap_period_ms",
        unit: "ms",
        kind: int(1, 1000),
        default: 10,
        doc: "How often the budget of a domain with a cap is filled up (credit2_cap_period_ms).",
    },
    ParamSpec {
        name: "smt_power_savings",
        unit: "",
        kind: ParamKind::Flag,
        default: 0,
        doc: "Wake idle threads of busy cores before idle cores (sched_smt_power_savings).",
    },
];

/// What `xl sched-credit2 -s` changes.
const CHANGEABLE: &[ParamSpec] = PARAMS.split_at(RATELIMIT).1.split_at(1).0;

static DOMAIN_PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "weight",
        unit: "",
        kind: int(1, 65_535),
        default: 256,
        doc: "Share of processor time of each vcpu, in proportion to the others' \
              (xl sched-credit2 -w).",
    },
    ParamSpec {
        name: "cap",
        unit: "% of one pcpu",
        kind: int(0, MAX_PCPUS as i64 * 100),
        default: 0,
        doc: "Most that the domain may use even of idle time, all its vcpus together; 0 for no \
              limit; of no effect over 100 for each vcpu (xl sched-credit2 -c).",
    },
];

/// What this policy is.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "credit2",
    summary: "Xen's default scheduler since 4.12: credit that burns by weight, shared run queues",
    source: "Xen 4.10 to 4.20, sched_credit2.c, since 4.14 sched/credit2.c",
    class: Some(&super::event::CLASS),
    params: PARAMS,
    changeable: CHANGEABLE,
    domain_params: DOMAIN_PARAMS,
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

fn version(params: &ParamValues) -> XenVersion {
    let name = VERSIONS[params.get(VERSION) as usize];
    XenVersion::from_name(name).expect("every version offered is a release")
}

/// Checks that the release has every parameter that was set.
///
/// # Errors
/// A limit of run queues before 4.14. The policy goes without.
pub fn validate(params: &ParamValues) -> Result<(), Conflict> {
    let version = version(params);
    for began in super::RELEASES.began {
        let spec = PARAMS.iter().find(|spec| spec.name == began.param);
        let set = spec.is_some_and(|s| params.by_name(s.name) != Some(s.default));
        if set && version < began.since {
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
    let version = version(policy);
    if params.get(CAP) == 0 || Rules::of(version).caps {
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
    pub fn new(params: &ParamValues) -> Settings {
        let precision = params.get(PRECISION) as u32;
        Settings {
            arrangement: match params.get(RUNQUEUE) {
                0 => Arrangement::Cpu,
                1 => Arrangement::Core,
                2 => Arrangement::Socket,
                3 => Arrangement::Node,
                _ => Arrangement::All,
            },
            max_cpus: params.get(MAX_CPUS) as usize,
            ratelimit: params.get(RATELIMIT) * US,
            resist: params.get(RESIST) * US,
            window: params.get(WINDOW) as u32 - GRANULARITY,
            precision,
            under: 1 << (i64::from(precision) + params.get(UNDER)),
            over: 1 << (i64::from(precision) + params.get(OVER)),
            cap_period: params.get(CAP_PERIOD) * MS,
            power_savings: params.get(POWER_SAVINGS) != 0,
            rules: Rules::of(version(params)),
        }
    }
}
