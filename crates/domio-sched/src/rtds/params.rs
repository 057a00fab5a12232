//! Parameters of RTDS: their declaration and their check.

use super::rules::Rules;
use alloc::format;
use domio_contract::{Conflict, Descriptor, Needs, Promises, ShareBy};
use domio_core::params::{Params as _, flag, int, version};
use domio_core::{ParamValues, XenVersion};

/// Longest period that can be set: an hour.
const LONGEST_US: i64 = 3_600_000_000;

params! {
    /// Parameters of the policy as a whole.
    struct Params {
        version: XenVersion = version(XenVersion::V4_5, XenVersion::V4_20, XenVersion::V4_17),
            "Release of Xen whose rules apply (xen-spec 4.2).";
    }
}

params! {
    /// Parameters of a vcpu. What a domain has holds for all of its vcpus.
    struct VcpuParams {
        period_us: i64 = int("us", (10, LONGEST_US), 10_000),
            "Period of each vcpu, at whose end its budget is due (xl sched-rtds -p).";
        budget_us: i64 = int("us", (10, LONGEST_US), 4_000),
            "Time that each vcpu has in a period, at most that period (xl sched-rtds -b).";
        extratime: bool = flag(true),
            "Whether a vcpu that has used its budget up takes part in time that nobody has \
             reserved (xl sched-rtds -e; since 4.10, nobody does before).";
    }
}

const RESERVED: ShareBy = ShareBy::InPeriod {
    time: "budget_us",
    period: "period_us",
    extra: "extratime",
};

/// What this policy is.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "rtds",
    summary: "Xen's real-time scheduler: earliest deadline first over all pcpus, with budgets",
    source: "Xen 4.5 to 4.20, sched_rt.c, since 4.14 sched/rt.c",
    class: Some(&super::event::CLASS),
    params: Params::SPECS,
    domain_params: VcpuParams::SPECS,
    vcpu_params: VcpuParams::SPECS,
    held_by: Some(RESERVED),
    shared_by: Some(RESERVED),
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

/// Checks what no single range can say: that the budget fits in the period.
///
/// # Errors
/// A budget over the period, which Xen refuses.
pub fn validate(params: &ParamValues) -> Result<(), Conflict> {
    let params = VcpuParams::from(params);
    let (period, budget) = (params.period_us, params.budget_us);
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
        let params = VcpuParams::from(params);
        Reservation {
            period: params.period_us * 1_000,
            budget: params.budget_us.min(params.period_us) * 1_000,
            extratime: rules.extratime && params.extratime,
        }
    }

    pub fn unknown(rules: &Rules) -> Reservation {
        Reservation::new(&ParamValues::defaults(VcpuParams::SPECS), rules)
    }
}

/// The rules that the policy's parameters ask for.
pub(super) fn rules(params: &ParamValues) -> Rules {
    Rules::of(Params::from(params).version)
}
