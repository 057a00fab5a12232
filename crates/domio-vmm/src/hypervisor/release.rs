//! The release of Xen that a host runs, and what its work costs there.

use crate::config::{HostConfig, PoolConfig};
use crate::hypervisor::pcpu::Cause;
use crate::profile::{PolicyCosts, Profile};
use alloc::vec::Vec;
use domio_core::{CpuSet, DomainId, Duration, PcpuId, XenVersion};

/// A release on a machine. Nothing of this changes while the host runs.
pub(crate) struct Release {
    pub version: XenVersion,
    pub profile: Profile,
    /// Nothing takes time ([`Profile::is_free`]): `enter`, `expire`, `policy_timer` and
    /// `program_slice` leave out what would add up to nothing. Without these shortcuts `host-1cpu`
    /// of the benchmarks makes 17 % fewer decisions a second, `host-8cpu` 22 % (five runs each).
    pub free: bool,
    /// Work of the policy in passes and timers takes time.
    pub prices_work: bool,
    /// Caches have to be filled again.
    pub has_caches: bool,
    /// Pcpus that take part in scheduling when they are online, by pool: those of its pool are
    /// where a domain may run.
    pools: Vec<PoolConfig>,
    all: CpuSet,
}

impl Release {
    pub fn new(config: &HostConfig) -> Self {
        let profile = config.profile;
        Release {
            version: config.version,
            profile,
            free: profile.is_free(),
            prices_work: PolicyCosts {
                balance: Duration::ZERO,
                ..profile.policy
            } != PolicyCosts::FREE,
            pools: config.pools.clone(),
            all: config.topology.all(),
            has_caches: profile.has_caches() || profile.idle_switch != profile.switch,
        }
    }

    /// The pcpus of Pool-0, where the toolstack is.
    pub fn first_pool(&self) -> CpuSet {
        self.pools.first().map_or(self.all, |pool| pool.pcpus)
    }

    /// The pcpus of the pool of `domain`.
    pub fn pool_of(&self, domain: DomainId) -> CpuSet {
        let own = self.pools.iter().find(|p| p.domains.contains(&domain));
        own.map_or_else(|| self.first_pool(), |pool| pool.pcpus)
    }

    /// The pcpus of the pool that has `pcpu`; none for a pcpu that is in no pool.
    pub fn pool_with(&self, pcpu: PcpuId) -> CpuSet {
        if self.pools.is_empty() {
            return self.all;
        }
        let found = self.pools.iter().find(|p| p.pcpus.contains(pcpu));
        found.map_or(CpuSet::EMPTY, |pool| pool.pcpus)
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
