//! The release of Xen that a host runs, and what its work costs there.

use crate::config::HostConfig;
use crate::hypervisor::pcpu::Cause;
use crate::profile::{PolicyCosts, Profile};
use domio_core::{Duration, XenVersion};

/// A release on a machine. Nothing of this changes while the host runs.
pub(crate) struct Machine {
    pub version: XenVersion,
    pub profile: Profile,
    /// Nothing takes time ([`Profile::is_free`]): `enter`, `expire`, `policy_timer` and
    /// `program_slice` leave out what would add up to nothing. Without these shortcuts `host-1cpu`
    /// of the benchmarks makes 17 % fewer decisions a second, `host-8cpu` 22 % (five runs each).
    pub free: bool,
    /// Work of the policy takes time.
    pub prices_work: bool,
    /// Caches have to be filled again.
    pub has_caches: bool,
}

impl Machine {
    pub fn new(config: &HostConfig) -> Self {
        let profile = config.profile;
        Machine {
            version: config.version,
            profile,
            free: profile.is_free(),
            prices_work: profile.policy != PolicyCosts::FREE,
            has_caches: profile.has_caches() || profile.idle_switch != profile.switch,
        }
    }

    /// Time from `cause` to the pass.
    #[inline]
    pub fn lead(&self, cause: Cause) -> Duration {
        let profile = &self.profile;
        match cause {
            Cause::Slice => profile.timer_to_pass,
            Cause::Wake | Cause::Operator => profile.wake_to_pass,
            Cause::Block | Cause::Yield => profile.block_to_pass,
            Cause::Ipi => profile.ipi_to_pass,
            Cause::PolicyTimer => profile.handler,
        }
    }

    /// From the end of a timer's handler to the first time at which the hardware may deliver
    /// another one (xen-spec 0.3, 4.x).
    #[inline]
    pub fn slop(&self) -> Duration {
        self.profile.softirq.exit + self.profile.timer_slop
    }
}
