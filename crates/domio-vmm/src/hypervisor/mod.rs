//! The hypervisor of a host: pcpus, vcpus and a policy, and how they come together.
//!
//! A pcpu is always in one of three phases (`Phase`):
//!
//! ```text
//!   Guest ──cause: timer, wake-up, block, IPI──▶ Entering ──policy decides──▶ Switching ──▶ Guest
//! ```
//!
//! In `Guest` the current vcpu executes (or the pcpu idles). `Entering` lasts from the cause to
//! the scheduler pass, `Switching` from the decision until the next vcpu runs; both are as long as
//! the hardware profile says, possibly zero. The order of softirqs is Xen's: timers that are due
//! at the instant of a pass run before it.
//!
//! The hypervisor consists of parts, each with its own state. What takes several of them is a
//! method of the whole. It does not know what a guest executes, nor any device: where a guest is to
//! continue, it says so to the host ([`crate::host`]).
//!
//! | part | file | holds |
//! |---|---|---|
//! | `machine` | `machine` | the release and what its work costs |
//! | `policy` | `policy` | the policy, the tables that it sees, what it asks for |
//! | `pcpus` | `pcpu` | each pcpu with its timers, passes that are due |
//! | | `domain_timer`, `hold` | the policy's timers of domains; when timers do not come |
//! | `vcpus` | `vcpu` | each vcpu with its runstate and its guest |
//! | | `roam` | processes that go from one vcpu to another |
//! | `served` | `served` | for how long driver domains have worked for whom |
//! | `refills` | `refills` | vcpus that have moved fetch their working sets again |
//! | `siblings` | `siblings` | threads of a core that slow each other |
//! | `meetings` | `together` | pcpus that wait for others to make a pass together |
//! | `halt_polls` | `halt_polls` | vcpus of KVM guests that poll before they sleep |
//! | `trace` | `trace` | records |
//!
//! | file | what happens |
//! |---|---|
//! | `timer` | timers expire: of guests, of the policy, of slices; ticks |
//! | `wake` | vcpus are woken, paused, moved; they change their runstates |
//! | `effects` | what the policy asked for in a call is carried out |
//! | `softirq` | from a cause to the pass: raising, IPIs, what puts a pass off |
//! | `pass` | the scheduler pass and the context switch |
//! | `block` | a vcpu blocks or yields |
//! | `halt_poll` | a vcpu of a KVM guest polls |
//! | `irq`, `interrupts` | interrupts of devices and softirqs take the time of who runs (KVM) |
//! | `taken` | records of that time |
//! | `accounts` | accounts are brought up to date, and told |
//! | `life` | vcpus come and go, pcpus go on and off |

mod accounts;
mod block;
mod domain_timer;
mod effects;
mod halt_poll;
pub(crate) mod halt_polls;
pub(crate) mod hold;
pub(crate) mod interrupts;
mod irq;
pub(crate) mod life;
pub(crate) mod pass;
pub(crate) mod pcpu;
pub(crate) mod policy;
pub mod refills;
pub(crate) mod release;
mod roam;
pub(crate) mod served;
pub mod siblings;
mod softirq;
mod speeds;
pub mod taken;
pub(crate) mod timer;
pub(crate) mod together;
pub(crate) mod trace;
pub(crate) mod vcpu;
mod wake;

use crate::event::Queue;
use alloc::boxed::Box;
use alloc::string::String;
use domio_contract::{Cx, Scheduler};
use domio_core::{Instant, PcpuId, Sink};
use domio_sim::StopCause;
use halt_polls::HaltPolls;
use interrupts::Interrupts;
use pcpu::{Cause, Pcpus};
use policy::Policy;
use refills::Refills;
use release::Release;
use served::ServedAccounts;
use siblings::Siblings;
use together::Meetings;
use trace::Trace;
use vcpu::Vcpus;

/// Scheduler passes that one pcpu may make at one instant before the run is ended as stalled, and
/// those that each vcpu of the host adds.
///
/// A correct policy needs a handful for each vcpu that wakes at that instant: a pass may tickle its
/// own pcpu once or twice, and where nothing takes time all vcpus may have their turns immediately.
pub const MAX_PASSES_AT_ONE_INSTANT: u32 = 1000;
/// See [`MAX_PASSES_AT_ONE_INSTANT`].
pub const MAX_PASSES_OF_A_VCPU: u32 = 100;

/// The parts of a hypervisor.
pub(crate) struct Hypervisor<S: Sink> {
    pub policy: Policy,
    pub release: Release,
    pub pcpus: Pcpus,
    pub vcpus: Vcpus,
    pub served: ServedAccounts,
    pub siblings: Siblings,
    pub refills: Refills,
    pub meetings: Meetings,
    pub halt_polls: HaltPolls,
    pub interrupts: Interrupts,
    pub trace: Trace<S>,
    /// What ends the run.
    pub fault: Option<Box<StopCause>>,
}

impl<S: Sink> Hypervisor<S> {
    /// Calls the policy with a context and carries out its requests. `on` is the pcpu whose
    /// hypervisor code runs.
    #[inline]
    pub fn ask<R>(
        &mut self,
        queue: &mut Queue,
        on: PcpuId,
        now: Instant,
        cause: Cause,
        call: impl FnOnce(&mut dyn Scheduler, &mut Cx<'_>) -> R,
    ) -> R {
        self.policy.tables.here = on;
        let answer = self.policy.call(now, self.trace.on(), call);
        if !self.policy.effects.is_empty() {
            self.apply_effects(queue, on, now, cause);
        }
        answer
    }

    /// The policy has done what it may not do.
    pub fn policy_fault(&mut self, fault: String) {
        if self.fault.is_none() {
            self.fault = Some(Box::new(StopCause::PolicyFault { fault }));
        }
    }
}
