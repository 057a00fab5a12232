//! Parameters of SEDF: their declaration, their check, and what an operator wants by them.

use super::rules::Rules;
use alloc::format;
use core::fmt;
use domio_contract::{Conflict, Descriptor, Needs, Releases, ShareBy, releases};
use domio_core::params::{ByWord, Params as _, TypedParam, choice, flag, int, version};
use domio_core::{DomainId, ParamValues, XenVersion};

/// Shortest and longest period that Xen takes (since March 2006), in microseconds.
const PERIOD_MIN_US: i64 = 10;
const PERIOD_MAX_US: i64 = 10_000_000;
/// Shortest slice that Xen takes (likewise).
const SLICE_MIN_US: i64 = 5;

const US: i64 = 1_000;

/// The parameter `version` with this default.
pub(super) const fn release(default: XenVersion) -> TypedParam<XenVersion> {
    version(XenVersion::V3_0, XenVersion::V4_5, default)
}

/// What the parameter `version` means.
pub(super) const RELEASE: &str =
    "Release of Xen whose rules apply (xen-spec 2); 3.0 is 3.0.0 to 3.0.2.";

params! {
    /// Parameters of the policy as a whole.
    struct Params {
        version: XenVersion = release(XenVersion::V4_5), RELEASE;
        unblock: Unblock = choice(Unblock::ExtraSupport as usize),
            "What a wake-up does to the deadline: Xen's choice, or another one that could be \
             compiled in until 3.0.2 (UNBLOCK of sched_sedf.c 3.0.0).";
    }
}

params! {
    /// Parameters of a domain.
    pub(super) struct DomainParams {
        period_us: i64 = int("us", (PERIOD_MIN_US, PERIOD_MAX_US), 0).or_zero(),
            "Length of a period; 0 for the one that Xen creates the domain with: 100 ms, for dom0 \
             until 4.1 20 ms (xl sched-sedf -p, there in ms).";
        slice_us: i64 = int("us", (SLICE_MIN_US, PERIOD_MAX_US), 0).or_zero(),
            "Time reserved for each vcpu in each period, at most the period; 0 for what Xen \
             creates the domain with: nothing, for dom0 until 4.1 15 ms (xl sched-sedf -s, there \
             in ms).";
        latency_us: i64 = int("us", (PERIOD_MIN_US, PERIOD_MAX_US), 0).or_zero(),
            "Period that a vcpu wakes with after a long block, under unblock = \"atropos\" only; \
             0 for none (xl sched-sedf -l, there in ms).";
        extratime: bool = flag(true),
            "Whether the domain gets a share of the time that nobody has reserved (xl sched-sedf \
             -e); without it the slice is all that it gets.";
        weight: i64 = int("", (0, 65_535), 0),
            "Instead of a slice: with extratime and no period, the share of extra time in \
             proportion to the others' (1 without a weight); otherwise that of \
             95 ms in every 100 ms (xl sched-sedf -w). 0 for none.";
    }
}

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
    params: Params::SPECS,
    domain_params: DomainParams::SPECS,
    held_by: Some(ShareBy::InPeriod {
        time: "slice_us",
        period: "period_us",
        extra: "extratime",
    }),
    shared_by: Some(ShareBy::Weight("weight")),
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

impl ByWord for Unblock {
    const WORDS: &'static [&'static str] = &[
        "extra-support",
        "isochronous-edf",
        "edf",
        "atropos",
        "short-resume",
    ];
    const ALL: &'static [Unblock] = &[
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
                expected: format!("\"{}\", or version 3.0", Unblock::WORDS[0]),
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
    pub fn new(rules: &Rules, domain: DomainId, values: &ParamValues) -> Result<Self, Invalid> {
        if values.are_defaults() {
            return Ok(Setting::CREATED);
        }
        let params = DomainParams::from(values);
        let (weight, extratime) = (params.weight, params.extratime);
        let want = if weight > 0 && extratime && params.period_us == 0 {
            Want::BestEffort { weight }
        } else if weight > 0 {
            Want::Weighted { weight }
        } else {
            reservation(rules, domain, &params)?
        };
        Ok(Setting {
            want,
            latency: params.latency_us * US,
            extratime,
        })
    }
}

fn reservation(rules: &Rules, domain: DomainId, params: &DomainParams) -> Result<Want, Invalid> {
    let created = rules.created(domain);
    let given = |us, created| match us {
        0 => created,
        us => us * US,
    };
    let period = given(params.period_us, created.period);
    let slice = given(params.slice_us, created.slice);
    let period_us = period / US;
    if slice == 0 {
        let because_of = match (params.period_us, params.extratime, params.latency_us) {
            (0, false, _) => "extratime",
            (0, true, 1..) => "latency_us",
            _ => "period_us",
        };
        return Err(Invalid::NoSlice {
            because_of,
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

/// The rules and the way to wake of `params`. A way that the release lacks, which [`validate`]
/// refuses, is replaced by the one that it has.
pub(super) fn rules_and_unblock(params: &ParamValues) -> (Rules, Unblock) {
    let params = Params::from(params);
    let rules = Rules::of(params.version);
    let unblock = match rules.unblock_variants {
        true => params.unblock,
        false => Unblock::ExtraSupport,
    };
    (rules, unblock)
}

/// Checks that the release has the way to wake that was asked for.
///
/// # Errors
/// [`Invalid::NoSuchUnblock`].
pub fn validate(params: &ParamValues) -> Result<(), Invalid> {
    let Params { version, unblock } = params.into();
    if unblock != Unblock::ExtraSupport && !Rules::of(version).unblock_variants {
        return Err(Invalid::NoSuchUnblock {
            unblock: Unblock::WORDS[unblock as usize],
            version,
        });
    }
    Ok(())
}

/// Checks what Xen checks when an operator adjusts `domain`, whose parameters are `params`, in a
/// host with the parameters `policy`, of SEDF or of a policy made of it.
///
/// # Errors
/// The first [`Invalid`] combination. Xen refuses it and leaves the domain as it was; so does
/// [`super::Sedf`].
pub fn validate_domain(
    policy: &ParamValues,
    domain: DomainId,
    params: &ParamValues,
) -> Result<(), Invalid> {
    let version = releases::version(policy).expect("the family of SEDF has a version");
    Setting::new(&Rules::of(version), domain, params).map(drop)
}
