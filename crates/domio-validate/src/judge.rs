//! Which recordings can be judged, and how.

use crate::agreement::{self, Agreement, usable};
use crate::linux;
use crate::net;
use crate::policy::PolicyState;
use crate::policy::credit::CreditState;
use crate::policy::credit2::Credit2State;
use crate::recording::{Description, Recording, RecordingError};
use domio_contract::Descriptor;

/// How recordings of one policy are judged.
#[derive(Clone, Copy)]
pub struct Judge {
    /// The policy.
    pub descriptor: &'static Descriptor,
    /// Those of its parameters that `xl sched-NAME -s` shows: whoever records a host knows them.
    pub shown_by_xl: &'static [&'static str],
    /// Compares with an ensemble of simulations ([`Agreement::check`]).
    pub check: fn(&Recording) -> Result<Agreement, RecordingError>,
}

static JUDGES: &[Judge] = &[
    Judge {
        descriptor: CreditState::DESCRIPTOR,
        shown_by_xl: &["tslice_ms", "ratelimit_us", "migration_delay_us"],
        check: agreement::check::<CreditState>,
    },
    Judge {
        descriptor: Credit2State::DESCRIPTOR,
        shown_by_xl: &["ratelimit_us"],
        check: agreement::check::<Credit2State>,
    },
];

/// Every policy whose recordings can be judged.
pub fn judges() -> &'static [Judge] {
    JUDGES
}

/// How recordings of a host that `description` describes are judged.
///
/// # Errors
/// Why they are not, which are, and what to do.
pub fn judge(description: &Description) -> Result<&'static Judge, String> {
    let name = &description.scheduler;
    let found = judges().iter().find(|j| j.descriptor.name == name);
    found.ok_or_else(|| {
        let others: Vec<&str> = judges().iter().map(|j| j.descriptor.name).collect();
        let others = others.join(" and ");
        let known = domio_sched::find(name).is_some();
        match known {
            true => format!(
                "recorded under the scheduler {name:?}, whose recordings cannot be judged: no host \
                 can begin in the state in which its trace begins; expected {others}. Boot Xen \
                 with sched=credit2 and record the same guests again, or look at this trace alone \
                 with domio trace summary"
            ),
            false => format!(
                "recorded under the scheduler {name:?}, which domio does not have; expected \
                 {others}, as `xl info xen_scheduler` shows it"
            ),
        }
    })
}

impl Agreement {
    /// Simulates an ensemble of simulations of `recording` and compares: the recording has to lie
    /// within what the simulations show together, as nearly as two recordings of one host agree.
    ///
    /// # Errors
    /// [`RecordingError::Unusable`] when its description cannot be simulated.
    pub fn check(recording: &Recording) -> Result<Agreement, RecordingError> {
        if let Some(described) = &recording.linux {
            return linux::check(recording, described);
        }
        let judge = usable(recording, judge(&recording.description))?;
        match (&recording.description.network, &recording.truth) {
            (Some(described), Some(truth)) => net::check(recording, described, truth),
            _ => (judge.check)(recording),
        }
    }
}
