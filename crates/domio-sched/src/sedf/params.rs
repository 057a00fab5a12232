//! Parameters of SEDF: their declaration, their check, and what an operator wants by them.

use super::rules::Rules;
use alloc::format;
use core::fmt;
use domio_contract::{Conflict, Descriptor, Needs, Releases};
use domio_core::{DomainId, ParamKind, ParamSpec, ParamValues, XenVersion};

/// Releases that `version` can name, oldest first.
pub(super) const VERSIONS: &[&str] = {
    let until = XenVersion::NAMES.split_at(XenVersion::V4_5 as usize + 1).0;
    until.split_at(XenVersion::V3_0 as usize).1
};

/// Ways to wake that `unblock` can name, in the order of [`Unblock`].
pub(super) const UNBLOCKS: &[&str] = &[
    "extra-support",
    "isochronous-edf",
    "edf",
    "atropos",
    "short-resume",
];

// Positions in `PARAMS`.
const VERSION: usize = 0;
const UNBLOCK: usize = 1;

// Positions in `DOMAIN_PARAMS`.
const PERIOD: usize = 0;
const SLICE: usize = 1;
const LATENCY: usize = 2;
const EXTRATIME: usize = 3;
const WEIGHT: usize = 4;

/// Shortest and longest period that Xen takes (since March 2006), in microseconds.
const PERIOD_MIN_US: i64 = 10;
const PERIOD_MAX_US: i64 = 10_000_000;
/// Shortest slice that Xen takes (likewise).
const SLICE_MIN_US: i64 = 5;

const US: i64 = 1_000;

/// The parameter `version` with this default.
pub(super) const fn version_spec(default: i64) -> ParamSpec {
    ParamSpec {
        name: "version",
        unit: "",
        kind: ParamKind::Choice(VERSIONS),
        default,
        doc: "Release of Xen whose rules apply (xen-spec 2); 3.0 is 3.0.0 to 3.0.2.",
    }
}

static PARAMS: &[ParamSpec] = &[
    version_spec(VERSIONS.len() as i64 - 1),
    ParamSpec {
        name: "unblock",
        unit: "",
        kind: ParamKind::Choice(UNBLOCKS),
        default: 0,
        doc: "What a wake-up does to the deadline: Xen's choice, or another one that could be \
              compiled in until 3.0.2 (UNBLOCK of sched_sedf.c 3.0.0).",
    },
];

pub(super) static DOMAIN_PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "period_us",
        unit: "us",
        kind: ParamKind::Int {
            min: PERIOD_MIN_US,
            max: PERIOD_MAX_US,
            or_zero: true,
        },
        default: 0,
        doc: "Length of a period; 0 for the one that Xen creates the domain with: 100 ms, for dom0 \
              until 4.1 20 ms (xl sched-sedf -p, there in ms).",
    },
    ParamSpec {
        name: "slice_us",
        unit: "us",
        kind: ParamKind::Int {
            min: SLICE_MIN_US,
            max: PERIOD_MAX_US,
            or_zero: true,
        },
        default: 0,
        doc: "Time reserved for each vcpu in each period, at most the period; 0 for what Xen \
              creates the domain with: nothing, for dom0 until 4.1 15 ms (xl sched-sedf -s, there \
              in ms).",
    },
    ParamSpec {
        name: "latency_us",
        unit: "us",
        kind: ParamKind::Int {
            min: PERIOD_MIN_US,
            max: PERIOD_MAX_US,
            or_zero: true,
        },
        default: 0,
        doc: "Period that a vcpu wakes with after a long block, under unblock = \"atropos\" only; \
              0 for none (xl sched-sedf -l, there in ms).",
    },
    ParamSpec {
        name: "extratime",
        unit: "",
        kind: ParamKind::Flag,
        default: 1,
        doc: "Whether the domain gets a share of the time that nobody has reserved (xl sched-sedf \
              -e); without it the slice is all that it gets.",
    },
    ParamSpec {
        name: "weight",
        unit: "",
        kind: ParamKind::Int {
            min: 0,
            max: 65_535,
            or_zero: false,
        },
        default: 0,
        doc: "Instead of a slice: with extratime and no period, the share of extra time in \
              proportion to the others' (1 without a weight); otherwise that of \
              95 ms in every 100 ms (xl sched-sedf -w). 0 for none.",
    },
];

/// The releases of Xen that have it.
pub static RELEASES: Releases = Releases {
    first: XenVersion::V3_0,
    last: Some(XenVersion::V4_5),
    changes: None,
    began: &[],
};

/// What this policy is.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "sedf",
    summary: "Xen's simple EDF from 3.0 to 4.5: a slice in each period, and extra time by weight",
    source: "Xen 3.0 to 4.5, sched_sedf.c",
    class: Some(&super::event::CLASS),
    params: PARAMS,
    domain_params: DOMAIN_PARAMS,
    needs: Needs {
        tickle: true,
        ..Needs::NOTHING
    },
    // Each is broken by some setting that Xen accepts; the page of the policy tells by which.
    ..Descriptor::PLAIN
};

/// How a vcpu that wakes is treated, before the end of its period ("short") or after it ("long").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unblock {
    /// Short: the next period, and a turn of extra time before others. Long: a period begins now.
    ExtraSupport,
    /// Short: the next period. Long: the second next one, on the old grid of periods.
    IsochronousEdf,
    /// Short: the next period. Long: a period begins now.
    Edf,
    /// Short: the next period. Long: a period as long as the latency, which doubles up to the own.
    Atropos,
    /// Short: the time asleep counts as used, and what is left may be used. Long: a period begins
    /// now.
    ShortResume,
}

impl Unblock {
    const ALL: [Unblock; 5] = [
        Unblock::ExtraSupport,
        Unblock::IsochronousEdf,
        Unblock::Edf,
        Unblock::Atropos,
        Unblock::ShortResume,
    ];
}

/// Why a set of parameters describes no configuration of that Xen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// This way to wake is not in this release.
    NoSuchUnblock {
        /// The way, as `unblock` names it.
        unblock: &'static str,
        /// The release that was asked for.
        version: XenVersion,
    },
    /// The slice, given or as created, is longer than the period, in microseconds.
    SliceOverPeriod {
        /// The slice.
        slice_us: i64,
        /// The period.
        period_us: i64,
    },
    /// This parameter makes sense for a domain with a slice only, and there is none.
    NoSlice {
        /// The parameter.
        because_of: &'static str,
        /// Longest slice that would do.
        period_us: i64,
    },
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let conflict = Conflict::from(*self);
        conflict.fmt(f)
    }
}

impl core::error::Error for Invalid {}

impl From<Invalid> for Conflict {
    fn from(invalid: Invalid) -> Self {
        match invalid {
            Invalid::NoSuchUnblock { unblock, version } => Conflict {
                param: "unblock",
                with: "version",
                problem: format!("Xen {version} cannot be built with unblock = \"{unblock}\""),
                expected: format!("\"{}\", or version 3.0", UNBLOCKS[0]),
                hint: "the other ways to wake were deleted from Xen before 3.0.3",
            },
            Invalid::SliceOverPeriod {
                slice_us,
                period_us,
            } => Conflict {
                param: "slice_us",
                with: "period_us",
                problem: format!(
                    "the slice of {slice_us} us is longer than the period of {period_us} us"
                ),
                expected: format!("slice_us of {period_us} at most"),
                hint: "a vcpu cannot run for longer than the time that passes",
            },
            Invalid::NoSlice {
                because_of,
                period_us,
            } => Conflict {
                param: because_of,
                with: "slice_us",
                problem: format!("`{because_of}` is of no use to a domain without a slice"),
                expected: format!("slice_us of {SLICE_MIN_US} to {period_us}, or a weight"),
                hint: "Xen refuses it too: give it a slice_us, or leave all of them out and the \
                       domain runs on extra time alone",
            },
        }
    }
}

/// What an operator wants for each vcpu of a domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Want {
    /// Nothing was said: what Xen creates it with.
    Created,
    /// Extra time alone, by this weight.
    BestEffort { weight: i64 },
    /// A reservation in proportion to this weight.
    Weighted { weight: i64 },
    /// This reservation, in nanoseconds.
    Reserved { period: i64, slice: i64 },
}

/// All that the parameters of a domain say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Setting {
    pub want: Want,
    /// In nanoseconds.
    pub latency: i64,
    pub extratime: bool,
}

impl Setting {
    /// Of a domain of which nothing is known.
    pub const CREATED: Setting = Setting {
        want: Want::Created,
        latency: 0,
        extratime: true,
    };

    /// What `params` say of `domain`. A period or slice of 0 stands for the one that the domain is
    /// created with, as `xm sched-sedf` sends what it was not told.
    pub fn new(rules: &Rules, domain: DomainId, params: &ParamValues) -> Result<Self, Invalid> {
        if (0..DOMAIN_PARAMS.len()).all(|i| params.get(i) == DOMAIN_PARAMS[i].default) {
            return Ok(Setting::CREATED);
        }
        let extratime = params.get(EXTRATIME) != 0;
        let weight = params.get(WEIGHT);
        let want = if weight > 0 && extratime && params.get(PERIOD) == 0 {
            Want::BestEffort { weight }
        } else if weight > 0 {
            Want::Weighted { weight }
        } else {
            reservation(rules, domain, params)?
        };
        Ok(Setting {
            want,
            latency: params.get(LATENCY) * US,
            extratime,
        })
    }
}

fn reservation(rules: &Rules, domain: DomainId, params: &ParamValues) -> Result<Want, Invalid> {
    let created = rules.created(domain);
    let given = |index, created| match params.get(index) {
        0 => created,
        us => us * US,
    };
    let (period, slice) = (given(PERIOD, created.period), given(SLICE, created.slice));
    let period_us = period / US;
    if slice == 0 {
        let said = |i: &usize| params.get(*i) != DOMAIN_PARAMS[*i].default;
        let because = [PERIOD, EXTRATIME, LATENCY].into_iter().find(said);
        return Err(Invalid::NoSlice {
            because_of: DOMAIN_PARAMS[because.unwrap_or(PERIOD)].name,
            period_us,
        });
    }
    if slice > period {
        return Err(Invalid::SliceOverPeriod {
            slice_us: slice / US,
            period_us,
        });
    }
    Ok(Want::Reserved { period, slice })
}

fn version(params: &ParamValues) -> XenVersion {
    let name = VERSIONS[params.get(VERSION) as usize];
    XenVersion::from_name(name).expect("every version offered is a release")
}

/// The rules of `params`, whose first one is the version.
pub(super) fn rules(params: &ParamValues) -> Rules {
    Rules::of(version(params))
}

/// The rules and the way to wake of `params`. A way that the release lacks, which [`validate`]
/// refuses, is replaced by the one that it has.
pub(super) fn rules_and_unblock(params: &ParamValues) -> (Rules, Unblock) {
    let rules = Rules::of(version(params));
    let unblock = match rules.unblock_variants {
        true => Unblock::ALL[params.get(UNBLOCK) as usize],
        false => Unblock::ExtraSupport,
    };
    (rules, unblock)
}

/// Checks that the release has the way to wake that was asked for.
///
/// # Errors
/// [`Invalid::NoSuchUnblock`].
pub fn validate(params: &ParamValues) -> Result<(), Invalid> {
    let version = version(params);
    let index = params.get(UNBLOCK);
    if index != PARAMS[UNBLOCK].default && !Rules::of(version).unblock_variants {
        return Err(Invalid::NoSuchUnblock {
            unblock: UNBLOCKS[index as usize],
            version,
        });
    }
    Ok(())
}

/// Checks what Xen checks when an operator adjusts `domain`, whose parameters are `params`, in a
/// host with the parameters `policy`.
///
/// # Errors
/// The first [`Invalid`] combination. Xen refuses it and leaves the domain as it was; so does
/// [`super::Sedf`].
pub fn validate_domain(
    policy: &ParamValues,
    domain: DomainId,
    params: &ParamValues,
) -> Result<(), Invalid> {
    Setting::new(&Rules::of(version(policy)), domain, params).map(drop)
}
