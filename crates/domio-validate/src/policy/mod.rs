//! What differs from policy to policy when a recording is judged.
//!
//! A policy that can be judged brings a [`PolicyState`]: what a trace shows of the policy's own
//! state when it begins, what it leaves open, and how the simulated policy is put into such a
//! state. The rest of a simulation, the machine and the guests, is the same for all. The list of
//! policies is [`judges`](crate::judge::judges).

pub mod credit;
pub mod credit2;

use crate::recording::Recording;
use crate::simulated::SimulatedHost;
use crate::start::Start;
use core::fmt;
use domio_contract::{Descriptor, StateRows};
use domio_core::{Duration, ParamValues, Topology};
use domio_replay::Demand;
use domio_replay::demand::Recorded;
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

    /// What the simulations of an ensemble ask for in place of what was `recorded` of a vcpu: the
    /// demands as they came, at their times.
    fn demands(recorded: Recorded) -> Vec<Demand> {
        recorded.demands
    }

    /// State `number` of the ensemble of `simulation`.
    fn draw(host: &SimulatedHost<Self>, number: u32) -> Self::Hidden;

    /// The rows from which the policy of `simulation` takes over the state `hidden`.
    fn state(host: &SimulatedHost<Self>, hidden: &Self::Hidden) -> StateRows;
}
