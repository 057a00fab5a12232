//! Parameters of the credit scheduler: their declaration, and the settings that follow from them.

use super::rules::{RateLimit, Rules};
use alloc::format;
use core::fmt;
use domio_contract::{Conflict, Descriptor, Dispatching, Needs, Promises};
use domio_core::cpuset::MAX_PCPUS;
use domio_core::{Duration, ParamKind, ParamSpec, ParamValues, XenVersion};

/// Releases that `version` can name, oldest first.
pub(super) const VERSIONS: &[&str] = XenVersion::NAMES.split_at(XenVersion::V3_0_3 as usize).1;

// Positions in `PARAMS`.
const VERSION: usize = 0;
const TSLICE: usize = 1;
const RATELIMIT: usize = 2;
const MIGRATION_DELAY: usize = 3;
const SMT_POWER_SAVINGS: usize = 4;
const BOOST: usize = 5;
const TICKLE: usize = 6;
const RUNQ_SORT: usize = 7;
const BOOST_BALANCE: usize = 8;
const DISPATCH_VECTOR: usize = 9;
const DISPATCH_HOLD: usize = 10;

// Positions in `DOMAIN_PARAMS`.
pub(super) const WEIGHT: usize = 0;
pub(super) const CAP: usize = 1;

const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "version",
        unit: "",
        kind: ParamKind::Choice(VERSIONS),
        default: XenVersion::V4_17 as i64 - XenVersion::V3_0_3 as i64,
        doc: "Release of Xen whose rules apply (xen-spec 3.1 to 3.4); 3.0.3 is the first credit \
              scheduler of all, and 3.0.4 has the rules of 3.1.",
    },
    ParamSpec {
        name: "tslice_ms",
        unit: "ms",
        kind: ParamKind::Int {
            min: 1,
            max: 1000,
            or_zero: false,
        },
        default: 30,
        doc: "Time slice and accounting period (sched_credit_tslice_ms; since 4.2, 30 before).",
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
        doc: "Time for which a vcpu that was switched in is not preempted, 0 for none (in 4.2 for \
              the default); at most tslice_ms (sched_ratelimit_us; since 4.2).",
    },
    ParamSpec {
        name: "migration_delay_us",
        unit: "us",
        kind: ParamKind::Int {
            min: 0,
            max: 100_000,
            or_zero: false,
        },
        default: 0,
        doc: "A vcpu that ran less than this ago is not stolen by another pcpu \
              (vcpu_migration_delay; since 3.4).",
    },
    ParamSpec {
        name: "smt_power_savings",
        unit: "",
        kind: ParamKind::Flag,
        default: 0,
        doc: "Gather vcpus on few cores and sockets instead of spreading them \
              (sched_smt_power_savings; since 3.4).",
    },
    ParamSpec {
        name: "boost",
        unit: "",
        kind: ParamKind::Flag,
        default: 1,
        doc: "Whether a vcpu with credit that wakes goes before all others (Ongaro 2008, 3.4).",
    },
    ParamSpec {
        name: "tickle",
        unit: "",
        kind: ParamKind::Flag,
        default: 1,
        doc: "Whether a wake-up may preempt the vcpu that runs; idle pcpus are woken in any case \
              (Ongaro 2008, 4.2).",
    },
    ParamSpec {
        name: "runq_sort",
        unit: "",
        kind: ParamKind::Flag,
        default: 0,
        doc: "Whether vcpus are queued by remaining credit inside a priority (Ongaro 2008, 4.3).",
    },
    ParamSpec {
        name: "boost_balance",
        unit: "",
        kind: ParamKind::Flag,
        default: 0,
        doc: "Whether a boosted vcpu that wakes behind another boosted one goes to the pcpu where \
              it runs soonest, and run queues are always in order (Zeng 2015, IV.A).",
    },
    ParamSpec {
        name: "dispatch_vector",
        unit: "",
        kind: ParamKind::Choice(Dispatching::NAMES),
        default: Dispatching::Untold as i64,
        doc: "How driver domains tell of packets for others that they have at hand, for which they \
              are not preempted: by a bit a pcpu or by a counter (Zeng 2015, IV.B and IV.D).",
    },
    ParamSpec {
        name: "dispatch_hold_us",
        unit: "us",
        kind: ParamKind::Int {
            min: 1,
            max: 1_000_000,
            or_zero: true,
        },
        default: 0,
        doc: "How long a driver domain may go on for such packets once it was due to be preempted, \
              0 for as long as it has some.",
    },
];

/// What `xl sched-credit -s` changes: the time slice, the rate limit and the migration delay, which
/// follow each other.
const CHANGEABLE: &[ParamSpec] = PARAMS
    .split_at(TSLICE)
    .1
    .split_at(MIGRATION_DELAY + 1 - TSLICE)
    .0;

static DOMAIN_PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "weight",
        unit: "",
        kind: ParamKind::Int {
            min: 1,
            max: 65_535,
            or_zero: false,
        },
        default: 256,
        doc: "Share of processor time in proportion to the other domains' (xl sched-credit -w).",
    },
    ParamSpec {
        name: "cap",
        unit: "% of one pcpu",
        kind: ParamKind::Int {
            min: 0,
            max: MAX_PCPUS as i64 * 100,
            or_zero: false,
        },
        default: 0,
        doc: "Most that the domain may use even of idle time, all its vcpus together; 0 for no \
              limit (xl sched-credit -c).",
    },
];

/// What this policy is.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "credit",
    summary: "Xen's proportional share scheduler from 3.0.3 to 4.20, with wake-up boost and caps",
    source: "Xen 3.0.3 to 4.20, sched_credit.c, since 4.14 sched/credit.c",
    class: Some(&super::event::CLASS_WITH_XCOLLOPTS),
    params: PARAMS,
    changeable: CHANGEABLE,
    domain_params: DOMAIN_PARAMS,
    needs: Needs {
        tickle: true,
        timers: true,
        park: true,
        ..Needs::NOTHING
    },
    promises: Promises {
        work_conserving: true,
        balances: true,
        starvation_free: true,
        weights: true,
        caps: true,
        ..Promises::NOTHING
    },
    ..Descriptor::PLAIN
};

/// Why a set of parameters describes no configuration of that Xen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// `ratelimit_us` is longer than `tslice_ms`, in microseconds both.
    RateLimitOverSlice {
        /// The rate limit.
        ratelimit_us: u64,
        /// The time slice.
        tslice_us: u64,
    },
    /// This parameter is not at its default, and `version` does not have it.
    NotInVersion {
        /// The parameter.
        name: &'static str,
        /// The release that was asked for.
        version: XenVersion,
        /// The first release that has it.
        since: XenVersion,
    },
    /// This parameter is to change in a run, for which `version` has no call.
    FixedInVersion {
        /// The parameter.
        name: &'static str,
        /// The release that was asked for.
        version: XenVersion,
        /// The first release that can.
        since: XenVersion,
    },
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Invalid::RateLimitOverSlice {
                ratelimit_us,
                tslice_us,
            } => write!(
                f,
                "ratelimit_us is {ratelimit_us}, but must not be longer than the time slice of \
                 {tslice_us} us: lower it or raise tslice_ms"
            ),
            Invalid::NotInVersion {
                name,
                version,
                since,
            } => write!(
                f,
                "{name} does not exist in Xen {version}: leave it at its default, or choose \
                 version {since} or later"
            ),
            Invalid::FixedInVersion {
                name,
                version,
                since,
            } => write!(
                f,
                "{name} cannot be changed in a run of Xen {version}: set it at the start, or \
                 choose version {since} or later"
            ),
        }
    }
}

impl core::error::Error for Invalid {}

impl From<Invalid> for Conflict {
    fn from(invalid: Invalid) -> Self {
        match invalid {
            Invalid::NotInVersion {
                name,
                version,
                since,
            } => Conflict {
                param: name,
                with: "version",
                problem: format!("Xen {version} has no `{name}`"),
                expected: format!("version {since} or later"),
                hint: "leave it out, or choose a later `version`",
            },
            Invalid::FixedInVersion {
                name,
                version,
                since,
            } => Conflict {
                param: name,
                with: "version",
                problem: format!("Xen {version} cannot change `{name}` in a run"),
                expected: format!("version {since} or later"),
                hint: "set it in [scheduler], or choose a later `version`",
            },
            Invalid::RateLimitOverSlice {
                ratelimit_us,
                tslice_us,
            } => Conflict {
                param: "ratelimit_us",
                with: "tslice_ms",
                problem: format!(
                    "the rate limit of {ratelimit_us} us is longer than the time slice of \
                     {tslice_us} us"
                ),
                expected: format!("ratelimit_us of {tslice_us} at most"),
                hint: "Xen refuses it too: a vcpu may not be held longer than its slice",
            },
        }
    }
}

/// Parameters that some releases do not have, and the first that has them.
const SINCE: [(usize, XenVersion); 7] = [
    (TSLICE, XenVersion::V4_2),
    (RATELIMIT, XenVersion::V4_2),
    (MIGRATION_DELAY, XenVersion::V3_4),
    (SMT_POWER_SAVINGS, XenVersion::V3_4),
    (BOOST_BALANCE, XenVersion::V3_0_4),
    (DISPATCH_VECTOR, XenVersion::V3_0_4),
    (DISPATCH_HOLD, XenVersion::V3_0_4),
];

/// Checks what no single range can tell: that the release has every parameter that was set, and
/// that the rate limit fits in the time slice.
///
/// Xen's tool stack refuses such a setting at run time; at boot Xen itself repairs it, and so does
/// [`super::Credit::new`].
///
/// # Errors
/// The first [`Invalid`] combination.
pub fn validate(params: &ParamValues) -> Result<(), Invalid> {
    let version = version(params);
    for (index, since) in SINCE {
        let spec = &PARAMS[index];
        if version < since && params.get(index) != spec.default {
            return Err(Invalid::NotInVersion {
                name: spec.name,
                version,
                since,
            });
        }
    }
    let ratelimit_us = params.get(RATELIMIT) as u64;
    let tslice_us = params.get(TSLICE) as u64 * 1000;
    if version >= XenVersion::V4_2 && ratelimit_us > tslice_us {
        return Err(Invalid::RateLimitOverSlice {
            ratelimit_us,
            tslice_us,
        });
    }
    Ok(())
}

/// Checks a change in a run from parameters `now` to `wanted`, as Xen's `csched_sys_cntl` does: the
/// call changes the time slice and the rate limit since 4.2, and the migration delay since 4.11,
/// when that became one of the pool's parameters.
///
/// # Errors
/// What Xen would refuse.
pub fn validate_change(now: &ParamValues, wanted: &ParamValues) -> Result<(), Conflict> {
    DESCRIPTOR.check_change(now, wanted)?;
    let version = version(now);
    for (index, since) in [
        (TSLICE, XenVersion::V4_2),
        (RATELIMIT, XenVersion::V4_2),
        (MIGRATION_DELAY, XenVersion::V4_11),
    ] {
        if version < since && now.get(index) != wanted.get(index) {
            let name = PARAMS[index].name;
            let fixed = Invalid::FixedInVersion {
                name,
                version,
                since,
            };
            return Err(fixed.into());
        }
    }
    validate(wanted).map_err(Conflict::from)
}

pub(super) fn version(params: &ParamValues) -> XenVersion {
    let name = VERSIONS[params.get(VERSION) as usize];
    XenVersion::from_name(name).expect("every version offered is a release")
}

/// Everything that the parameters decide, in the units in which it is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Settings {
    pub tslice: Duration,
    pub tick: Duration,
    /// Ticks in one time slice; what [`Rules::accounting_timer`] counted before it had a timer.
    pub ticks_per_tslice: u32,
    /// Credit of one pcpu for one accounting period; also the bound of what a vcpu may hold.
    pub credits_per_tslice: i64,
    pub ratelimit: Duration,
    pub migration_delay: Duration,
    pub smt_power_savings: bool,
    pub boost: bool,
    pub preempt: bool,
    pub runq_sort: bool,
    pub boost_balance: bool,
    pub dispatching: Dispatching,
    /// [`Duration::MAX`] for no bound.
    pub dispatch_hold: Duration,
}

/// 10 credits are a millisecond of one pcpu.
pub(super) const CREDITS_PER_MS: i64 = 10;
/// Credit that a vcpu found at the tick paid before 4.0.
pub(super) const CREDITS_PER_TICK: i64 = 100;
const TICKS_PER_TSLICE: u32 = 3;

/// `params` with what is in force in place of what [`Settings::new`] repairs.
pub(super) fn repaired(params: &ParamValues) -> ParamValues {
    let mut repaired = *params;
    let version = version(params);
    let mut set = |index: usize, value: i64| {
        let set = repaired.set(PARAMS[index].name, value);
        set.expect("a default, or a rate limit as long as a slice, is in range");
    };
    for (index, _) in SINCE.into_iter().filter(|(_, since)| version < *since) {
        set(index, PARAMS[index].default);
    }
    let slice_us = params.get(TSLICE) * 1000;
    if version >= XenVersion::V4_2 && params.get(RATELIMIT) > slice_us {
        set(RATELIMIT, slice_us);
    }
    repaired
}

impl Settings {
    /// The rules and settings of `params`. Combinations that [`validate`] refuses are repaired as
    /// Xen does at boot: a parameter that the release lacks has its fixed value, and a rate limit
    /// over the time slice is cut to it.
    pub fn new(params: &ParamValues) -> (Rules, Settings) {
        let rules = Rules::of(version(params));
        let tslice_ms = if rules.tslice_tunable {
            params.get(TSLICE) as u64
        } else {
            PARAMS[TSLICE].default as u64
        };
        let tslice = Duration::from_millis(tslice_ms);
        let ticks_per_tslice = if tslice_ms < u64::from(TICKS_PER_TSLICE) {
            1
        } else {
            TICKS_PER_TSLICE
        };
        let ratelimit_us = match params.get(RATELIMIT) {
            0 if rules.zero_ratelimit_is_default => PARAMS[RATELIMIT].default,
            limit => limit,
        };
        let ratelimit = match rules.ratelimit {
            RateLimit::None => Duration::ZERO,
            RateLimit::Whole | RateLimit::Remaining => {
                Duration::from_micros(ratelimit_us as u64).min(tslice)
            }
        };
        let settings = Settings {
            tslice,
            // Whole microseconds, as Xen keeps the period: 4 ms in 3 ticks are 1333 us each.
            tick: Duration::from_micros(tslice_ms * 1000 / u64::from(ticks_per_tslice)),
            ticks_per_tslice,
            credits_per_tslice: CREDITS_PER_MS * tslice_ms as i64,
            ratelimit,
            migration_delay: if rules.migration_delay {
                Duration::from_micros(params.get(MIGRATION_DELAY) as u64)
            } else {
                Duration::ZERO
            },
            smt_power_savings: rules.smt_power_savings && params.get(SMT_POWER_SAVINGS) != 0,
            boost: params.get(BOOST) != 0,
            preempt: params.get(TICKLE) != 0,
            runq_sort: params.get(RUNQ_SORT) != 0,
            boost_balance: params.get(BOOST_BALANCE) != 0,
            dispatching: Dispatching::ALL[params.get(DISPATCH_VECTOR) as usize],
            dispatch_hold: match params.get(DISPATCH_HOLD) {
                0 => Duration::MAX,
                us => Duration::from_micros(us as u64),
            },
        };
        (rules, settings)
    }
}
