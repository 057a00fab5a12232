//! Parameters of RTDS: their declaration and their check.

use crate::contract::{Conflict, Descriptor, Needs, Promises};
use alloc::format;
use domio_core::{ParamKind, ParamSpec, ParamValues};

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
    kind: ParamKind::Choice(&["4.17"]),
    default: 0,
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
              reserved (xl sched-rtds -e).",
    },
];

/// What this policy is.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "rtds",
    summary: "Xen's real-time scheduler: earliest deadline first over all pcpus, with budgets",
    source: "Xen 4.17, sched/rt.c",
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
    /// That of `params`; a budget over the period is cut to it.
    pub fn new(params: &ParamValues) -> Reservation {
        let (period, budget) = (params.get(PERIOD), params.get(BUDGET));
        Reservation {
            period: period * 1_000,
            budget: budget.min(period) * 1_000,
            extratime: params.get(EXTRATIME) != 0,
        }
    }

    pub fn unknown() -> Reservation {
        Reservation::new(&ParamValues::defaults(RESERVATION))
    }
}
