//! What a domain is to have, in the terms of a policy: by which parameters a policy is told an
//! allocation, and how a policy that pays in credits counts.

use domio_core::Duration;

/// By which parameters of a domain a policy learns how much of the pcpus the domain is to have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShareBy {
    /// A number of percent of one pcpu, for all vcpus together.
    Percent(&'static str),
    /// A time in every period, both in microseconds and for each vcpu.
    InPeriod {
        /// The time.
        time: &'static str,
        /// The period.
        period: &'static str,
        /// Whether the domain takes part in what nobody has reserved.
        extra: &'static str,
    },
    /// A time in every frame of a table, both in microseconds; the time is for each vcpu.
    InFrame {
        /// The time.
        time: &'static str,
        /// The length of the frame, a parameter of the policy as a whole.
        frame: &'static str,
    },
    /// A weight, in proportion to which domains share what they compete for.
    Weight(&'static str),
    /// A number in inverse proportion to which they share.
    Inverse(&'static str),
}

/// How a policy that pays vcpus in credits counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Credits {
    /// How often vcpus are paid.
    pub period: Duration,
    /// What one pcpu's time costs in a period, which is also the largest debt.
    pub credits: i64,
    /// The time that a vcpu pays for when a tick finds it running; `None` where vcpus pay for what
    /// they ran.
    pub tick: Option<Duration>,
}
