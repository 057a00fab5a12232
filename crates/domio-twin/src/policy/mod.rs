//! What differs from policy to policy when a recording is judged.
//!
//! A policy that can be judged brings a [`PolicyState`]: what a trace shows of the policy's own
//! state when it begins, what it leaves open, and how the simulated policy is put into such a
//! state. The rest of a twin, the machine and the guests, is the same for all. The list of policies
//! is [`judges`].

pub mod credit;
pub mod credit2;

use crate::agreement::{self, Agreement};
use crate::recording::{Description, Recording, RecordingError};
use crate::start::Start;
use crate::twin::Twin;
use core::fmt;
use domio_core::{Duration, ParamValues, Topology};
use domio_replay::Demand;
use domio_replay::demand::Recorded;
use domio_sched::Scheduler;
use domio_sched::contract::Descriptor;
use domio_vmm::Profile;

/// What a trace shows of a policy's own state at its first record, and what follows from that.
pub trait PolicyState: Sized + Send + Sync {
    /// A whole state of the policy in which the recorded host may have been: what the trace shows,
    /// and what it does not show, drawn or searched for.
    type Hidden: Clone + PartialEq + fmt::Debug + Send + Sync;

    /// The policy.
    const DESCRIPTOR: &'static Descriptor;

    /// Reads off `recording` what it shows of the policy's state. The policy runs with `params` on
    /// pcpus of `topology`; the trace finds the host in `start`.
    fn observe(
        recording: &Recording,
        params: &ParamValues,
        topology: &Topology,
        profile: &Profile,
        start: &Start,
    ) -> Self;

    /// How the recorded pcpus share cores and sockets, as far as it matters to the policy.
    ///
    /// # Errors
    /// A sentence that says why no such host can be simulated.
    fn topology(recording: &Recording, _: &ParamValues) -> Result<Topology, String> {
        Topology::flat(recording.description.pcpus).ok_or_else(|| "no pcpus".to_owned())
    }

    /// The longest slice that the policy gives.
    fn longest_slice(&self) -> Duration;

    /// What has to be added to the trace's times so that multiples of the second time are such
    /// multiples on Xen's own clock, too.
    fn clock(&self) -> (Duration, Duration);

    /// What the twins of an ensemble ask for in place of what was `recorded` of a vcpu: the demands
    /// as they came, at their times.
    fn demands(recorded: Recorded) -> Vec<Demand> {
        recorded.demands
    }

    /// State `number` of the ensemble of `twin`.
    fn draw(twin: &Twin<Self>, number: u32) -> Self::Hidden;

    /// The policy of `twin`, which resumes in the state `hidden`.
    fn resuming(twin: &Twin<Self>, hidden: &Self::Hidden) -> Box<dyn Scheduler>;
}

/// How recordings of one policy are judged.
#[derive(Clone, Copy)]
pub struct Judge {
    /// The policy.
    pub descriptor: &'static Descriptor,
    /// Those of its parameters that `xl sched-NAME -s` shows: whoever records a host knows them.
    pub shown_by_xl: &'static [&'static str],
    /// Compares with an ensemble of twins ([`Agreement::check`]).
    pub check: fn(&Recording) -> Result<Agreement, RecordingError>,
}

static JUDGES: &[Judge] = &[
    Judge {
        descriptor: credit::CreditState::DESCRIPTOR,
        shown_by_xl: &["tslice_ms", "ratelimit_us", "migration_delay_us"],
        check: agreement::check::<credit::CreditState>,
    },
    Judge {
        descriptor: credit2::Credit2State::DESCRIPTOR,
        shown_by_xl: &["ratelimit_us"],
        check: agreement::check::<credit2::Credit2State>,
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
                "recorded under the scheduler {name:?}, whose recordings cannot be judged: no twin \
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
