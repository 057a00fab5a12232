//! Parameters of the credit scheduler: their declaration, and the settings that follow from them.

use super::rules::{Debit, RELEASES, RateLimit, Rules};
use alloc::format;
use core::fmt;
use domio_contract::{Conflict, Credits, Descriptor, Dispatching, Needs, Promises, ShareBy};
use domio_core::cpuset::MAX_PCPUS;
use domio_core::params::{ByWord, Params as _, choice, flag, int, version};
use domio_core::{Duration, ParamValues, XenVersion};

/// Time slice of releases in which no operator can set another.
const TSLICE_MS: u64 = 30;
/// Rate limit of releases in which zero stands for the default.
const RATELIMIT_US: u64 = 1000;

/// States of the first credit scheduler, in the order of their dates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Changeset {
    /// Xen 3.0.3, of 15 October 2006.
    Release,
    /// 87410b08dc: ten credits a millisecond. Since three days before (59f9d8ef44) a vcpu with
    /// credit that wakes is boosted.
    October30,
    /// c62ecba43f: a vcpu is parked once its debt is over its part of the cap.
    November1,
}

impl ByWord for Changeset {
    const WORDS: &'static [&'static str] = &["release", "2006-10-30", "2006-11-01"];
    const ALL: &'static [Changeset] = &[
        Changeset::Release,
        Changeset::October30,
        Changeset::November1,
    ];
}

params! {
    /// Parameters of the policy as a whole. What `xl sched-credit -s` changes can change in a run.
    pub(super) struct Params {
        version: XenVersion = version(XenVersion::V3_0_3, XenVersion::V4_20, XenVersion::V4_17),
            "Release of Xen whose rules apply (xen-spec 3.1 to 3.4); 3.0.3 is the first credit \
             scheduler of all, and 3.0.4 has the rules of 3.1.";
        changeset: Changeset = choice(Changeset::Release as usize),
            "State of the development tree between 3.0.3 and 3.0.4; with version 3.0.3 alone.";
        tslice_ms: u64 = int("ms", (1, 1000), TSLICE_MS as i64).changeable(),
            "Time slice and accounting period (sched_credit_tslice_ms; since 4.2, 30 before).";
        ratelimit_us: u64 = int("us", (100, 500_000), RATELIMIT_US as i64).or_zero().changeable(),
            "Time for which a vcpu that was switched in is not preempted, 0 for none (in 4.2 for \
             the default); at most tslice_ms (sched_ratelimit_us; since 4.2).";
        migration_delay_us: u64 = int("us", (0, 100_000), 0).changeable(),
            "A vcpu that ran less than this ago is not stolen by another pcpu \
             (vcpu_migration_delay; since 3.4).";
        smt_power_savings: bool = flag(false),
            "Gather vcpus on few cores and sockets instead of spreading them \
             (sched_smt_power_savings; since 3.4).";
        boost: bool = flag(true),
            "Whether a vcpu with credit that wakes goes before all others (Ongaro 2008, 3.4).";
        tickle: bool = flag(true),
            "Whether a wake-up may preempt the vcpu that runs; idle pcpus are woken in any case \
             (Ongaro 2008, 4.2).";
        runq_sort: bool = flag(false),
            "Whether vcpus are queued by remaining credit inside a priority (Ongaro 2008, 4.3).";
        boost_balance: bool = flag(false),
            "Whether a boosted vcpu that wakes behind another boosted one goes to the pcpu where \
             it runs soonest, and run queues are always in order (Zeng 2015, IV.A).";
        dispatch_vector: Dispatching = choice(Dispatching::Untold as usize),
            "How driver domains announce packets for others that they have at hand, for which they \
             are not preempted: by a bit a pcpu or by a counter (Zeng 2015, IV.B and IV.D).";
        dispatch_hold_us: u64 = int("us", (1, 1_000_000), 0).or_zero(),
            "How long a driver domain may continue for such packets once it was due to be \
             preempted, 0 for as long as it has some.";
    }
}

params! {
    /// Parameters of a domain.
    pub(super) struct DomainParams {
        weight: i64 = int("", (1, 65_535), 256),
            "Share of processor time in proportion to the other domains' (xl sched-credit -w).";
        cap: i64 = int("% of one pcpu", (0, MAX_PCPUS as i64 * 100), 0),
            "Most that the domain may use even of idle time, all its vcpus together; 0 for no \
             limit (xl sched-credit -c).";
    }
}

/// What this policy is.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "credit",
    summary: "Xen's proportional share scheduler from 3.0.3 to 4.20, with wake-up boost and caps",
    source: "Xen 3.0.3 to 4.20, sched_credit.c, since 4.14 sched/credit.c",
    class: Some(&super::event::CLASS_WITH_XCOLLOPTS),
    params: Params::SPECS,
    changeable: Params::CHANGEABLE,
    domain_params: DomainParams::SPECS,
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
    /// `changeset` is given, and `version` is not the release that it follows.
    ChangesetOfAnother {
        /// The release that was asked for.
        version: XenVersion,
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
            Invalid::ChangesetOfAnother { version } => write!(
                f,
                "changeset is a state of credit after Xen 3.0.3, and version is {version}: leave \
                 changeset out, or set version to 3.0.3"
            ),
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
            Invalid::ChangesetOfAnother { version } => Conflict {
                param: "changeset",
                with: "version",
                problem: format!("Xen {version} is a release"),
                expected: "version of 3.0.3".into(),
                hint: "changesets are states of the development tree between 3.0.3 and 3.0.4",
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

/// Checks what no single range can say: that the release has every parameter that was set, and that
/// the rate limit fits in the time slice.
///
/// Xen's tool stack refuses such a setting at run time; at boot Xen itself repairs it, and so does
/// [`super::Credit::new`].
///
/// # Errors
/// The first [`Invalid`] combination.
pub fn validate(values: &ParamValues) -> Result<(), Invalid> {
    let params = Params::from(values);
    let version = params.version;
    for began in RELEASES.began {
        if version < began.since && !values.is_default(began.param) {
            return Err(Invalid::NotInVersion {
                name: began.param,
                version,
                since: began.since,
            });
        }
    }
    if version != XenVersion::V3_0_3 && params.changeset != Changeset::Release {
        return Err(Invalid::ChangesetOfAnother { version });
    }
    let (ratelimit_us, tslice_us) = (params.ratelimit_us, params.tslice_ms * 1000);
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
    let version = Params::from(now).version;
    for (name, since) in [
        ("tslice_ms", XenVersion::V4_2),
        ("ratelimit_us", XenVersion::V4_2),
        ("migration_delay_us", XenVersion::V4_11),
    ] {
        if version < since && now.by_name(name) != wanted.by_name(name) {
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
/// In 3.0.3: credits of one pcpu for one accounting, the most that a vcpu may have, and the deepest
/// debt.
pub(super) const FIRST_CREDITS: i64 = 30;

/// `values` with what is in force in place of what [`Settings::new`] repairs.
pub(super) fn repaired(values: &ParamValues) -> ParamValues {
    let mut repaired = *values;
    let params = Params::from(values);
    let lacks = |since| params.version < since;
    for began in RELEASES.began.iter().filter(|b| lacks(b.since)) {
        repaired.reset(began.param);
    }
    if params.version != XenVersion::V3_0_3 {
        repaired.reset("changeset");
    }
    let slice_us = params.tslice_ms * 1000;
    if !lacks(XenVersion::V4_2) && params.ratelimit_us > slice_us {
        let cut = repaired.set("ratelimit_us", slice_us as i64);
        cut.expect("a rate limit as long as a slice is in range");
    }
    repaired
}

/// How vcpus are paid under `params`.
pub fn credits(params: &ParamValues) -> Credits {
    let Params {
        version,
        changeset,
        tslice_ms,
        ..
    } = params.into();
    let tick = Duration::from_millis((CREDITS_PER_TICK / CREDITS_PER_MS) as u64);
    Credits {
        period: Duration::from_millis(tslice_ms),
        credits: match version {
            XenVersion::V3_0_3 if changeset == Changeset::Release => FIRST_CREDITS,
            _ => CREDITS_PER_MS * tslice_ms as i64,
        },
        tick: (Rules::of(version).debit == Debit::Sampled).then_some(tick),
    }
}

impl Settings {
    /// The rules and settings of `values`. Combinations that [`validate`] refuses are repaired as
    /// Xen does at boot: a parameter that the release lacks has its fixed value, and a rate limit
    /// over the time slice is cut to it.
    pub fn new(values: &ParamValues) -> (Rules, Settings) {
        let params = Params::from(values);
        let rules = Rules::of(params.version);
        let tslice_ms = match rules.tslice_tunable {
            true => params.tslice_ms,
            false => TSLICE_MS,
        };
        let tslice = Duration::from_millis(tslice_ms);
        let ticks_per_tslice = if tslice_ms < u64::from(TICKS_PER_TSLICE) {
            1
        } else {
            TICKS_PER_TSLICE
        };
        let ratelimit_us = match params.ratelimit_us {
            0 if rules.zero_ratelimit_is_default => RATELIMIT_US,
            limit => limit,
        };
        let ratelimit = match rules.ratelimit {
            RateLimit::None => Duration::ZERO,
            RateLimit::Whole | RateLimit::Remaining => {
                Duration::from_micros(ratelimit_us).min(tslice)
            }
        };
        let settings = Settings {
            tslice,
            // Whole microseconds, as Xen keeps the period: 4 ms in 3 ticks are 1333 us each.
            tick: Duration::from_micros(tslice_ms * 1000 / u64::from(ticks_per_tslice)),
            ticks_per_tslice,
            credits_per_tslice: CREDITS_PER_MS * tslice_ms as i64,
            ratelimit,
            migration_delay: match rules.migration_delay {
                true => Duration::from_micros(params.migration_delay_us),
                false => Duration::ZERO,
            },
            smt_power_savings: rules.smt_power_savings && params.smt_power_savings,
            boost: params.boost,
            preempt: params.tickle,
            runq_sort: params.runq_sort,
            boost_balance: params.boost_balance,
            dispatching: params.dispatch_vector,
            dispatch_hold: match params.dispatch_hold_us {
                0 => Duration::MAX,
                us => Duration::from_micros(us),
            },
        };
        (rules, settings)
    }
}
