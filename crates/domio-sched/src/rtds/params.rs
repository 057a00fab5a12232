//! Parameters of RTDS: their declaration and their check.

use super::rules::Rules;
use alloc::format;
use domio_contract::{Conflict, Descriptor, Needs, Promises};
use domio_core::{ParamKind, ParamSpec, ParamValues, XenVersion};

/// Releases that `version` can name, oldest first.
pub(super) const VERSIONS: &[&str] = XenVersion::NAMES.split_at(XenVersion::V4_5 as usize).1;

// Position in `PARAMS`.
const VERSION: usize = 0;

// Positions in `RESERVATION`.
const PERIOD: usize = 0;
const BUDGET: usize = 1;
const EXTRATIME: usize = 2;

/// Longest period that can be set: an hour.
const LONGEST_US: i64 = 3_600_000_000;

const fn microseconds(default: i64, name: &'static str, doc: &'static str) -> ParamSpec {
    ParamSpec {
        name,
        unit: "us",
        kind: ParamKind::Int {
            min: 10,
            max: LONGEST_US,
            or_zero: false,
        },
        default,
        doc,
    }
}

static PARAMS: &[ParamSpec] = &[ParamSpec {
    name: "version",
    unit: "",
    kind: ParamKind::Choice(VERSIONS),
    default: XenVersion::V4_17 as i64 - XenVersion::V4_5 as i64,
    doc: "Release of Xen whose rules apply (xen-spec 4.2).",
}];

/// Of each vcpu. What a domain has holds for all of its vcpus.
static RESERVATION: &[ParamSpec] = &[
    microseconds(
        10_000,
        "period_us",
        "Period of each vcpu, at whose end its budget is due (xl sched-rtds -p).",
    ),
    microseconds(
        4_000,
        "budget_us",
        "Time that each vcpu has in a period, at most that period (xl sched-rtds -b).",
    ),
    ParamSpec {
        name: "extratime",
        unit: "",
        kind: ParamKind::Flag,
        default: 1,
        doc: "Whether a vcpu that has used its budget up takes part in time that nobody has \
              reserved (xl sched-rtds -e; since 4.10, nobody does before).",
    },
];

/// What this policy is.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "rtds",
    summary: "Xen's real-time scheduler: earliest deadline first over all pcpus, with budgets",
    source: "Xen 4.5 to 4.20, sched_rt.c, since 4.14 sched/rt.c",
    class: Some(&super::event::CLASS),
    params: PARAMS,
    domain_params: RESERVATION,
    vcpu_params: RESERVATION,
    needs: Needs {
        tickle: true,
        timers: true,
        context_saved: true,
        ..Needs::NOTHING
    },
    promises: Promises {
        reservations: true,
        ..Promises::NOTHING
    },
    ..Descriptor::PLAIN
};

/// Checks what no single range can tell: that the budget fits in the period.
///
/// # Errors
/// A budget over the period, which Xen refuses.
pub fn validate(params: &ParamValues) -> Result<(), Conflict> {
    let (period, budget) = (params.get(PERIOD), params.get(BUDGET));
    if budget <= period {
        return Ok(());
    }
    Err(Conflict {
        param: "budget_us",
        with: "period_us",
        problem: format!("the budget of {budget} us is longer than the period of {period} us"),
        expected: format!("budget_us of {period} at most"),
        hint: "Xen refuses it too: no vcpu can run for longer than its period",
    })
}

/// A reservation, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Reservation {
    pub period: i64,
    pub budget: i64,
    pub extratime: bool,
}

impl Reservation {
    /// That of `params` under `rules`; a budget over the period is cut to it.
    pub fn new(params: &ParamValues, rules: &Rules) -> Reservation {
        let (period, budget) = (params.get(PERIOD), params.get(BUDGET));
        Reservation {
            period: period * 1_000,
            budget: budget.min(period) * 1_000,
            extratime: rules.extratime && params.get(EXTRATIME) != 0,
        }
    }

    pub fn unknown(rules: &Rules) -> Reservation {
        Reservation::new(&ParamValues::defaults(RESERVATION), rules)
    }
}

/// The rules that the policy's parameters ask for.
pub(super) fn rules(params: &ParamValues) -> Rules {
    let name = VERSIONS[params.get(VERSION) as usize];
    Rules::of(XenVersion::from_name(name).expect("every version offered is a release"))
}
