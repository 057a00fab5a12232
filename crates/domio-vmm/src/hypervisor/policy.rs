//! The policy of a host, with what it sees and what it asks for.

use crate::hypervisor::release::Release;
use alloc::boxed::Box;
use alloc::vec::Vec;
use domio_contract::control::{Kinds, PolicySeen};
use domio_contract::{Cx, Effect, Scheduler, Tables, VcpuView, Work};
use domio_core::{Duration, Instant, ParamSpec, PcpuId, VcpuId};

/// A policy, the tables of the host as it may see them, and the requests of the call under way.
pub(crate) struct Policy {
    pub scheduler: Box<dyn Scheduler>,
    pub tables: Tables,
    pub effects: Vec<Effect>,
    /// It wants to know when a vcpu that was switched out may run elsewhere.
    pub tells_saved: bool,
    /// It has pcpus make passes together.
    pub together: bool,
    /// Decisions so far.
    pub passes: u64,
}

impl Policy {
    /// `scheduler` on a host of which nothing is there yet.
    pub fn new(scheduler: Box<dyn Scheduler>, tables: Tables) -> Self {
        Policy {
            tables,
            effects: Vec::with_capacity(64),
            tells_saved: scheduler.needs().context_saved,
            together: scheduler.needs().together,
            passes: 0,
            scheduler,
        }
    }

    /// Calls the policy at `now`. Its requests are left in `effects`. `tracing` says whether notes
    /// are wanted.
    #[inline(always)]
    pub fn call<R>(
        &mut self,
        now: Instant,
        tracing: bool,
        call: impl FnOnce(&mut dyn Scheduler, &mut Cx<'_>) -> R,
    ) -> R {
        let mut cx = Cx::new(now, &mut self.tables, &mut self.effects, tracing);
        call(&mut *self.scheduler, &mut cx)
    }

    /// The time for the work that the policy has reported since this was asked last.
    #[inline]
    pub fn take_work(&mut self, release: &Release) -> Duration {
        if !release.prices_work {
            return Duration::ZERO;
        }
        let report = core::mem::take(&mut self.tables.work);
        release.profile.policy.price(&report)
    }

    /// The time for the search that the policy has reported of the wake-up under way.
    #[inline]
    pub fn take_search(&mut self, release: &Release) -> Duration {
        let looks = self.tables.work.take(Work::Balance);
        release.profile.policy.balance * u64::from(looks)
    }

    /// What the policy sees of `vcpu`.
    #[inline(always)]
    pub fn view(&self, vcpu: VcpuId) -> &VcpuView {
        &self.tables.vcpus[vcpu.index()]
    }

    /// As [`Policy::view`], to be changed.
    #[inline(always)]
    pub fn view_mut(&mut self, vcpu: VcpuId) -> &mut VcpuView {
        &mut self.tables.vcpus[vcpu.index()]
    }

    /// The vcpu that is current on `pcpu`.
    #[inline(always)]
    pub fn current(&self, pcpu: PcpuId) -> Option<VcpuId> {
        self.tables.pcpus[pcpu].current
    }

    /// What a controller can set on a host with this policy; traffic and the policy's own
    /// parameters are left to the caller.
    pub fn abilities(&self) -> Kinds {
        let descriptor = self.scheduler.descriptor();
        let has = |name| {
            descriptor
                .domain_params
                .iter()
                .any(|spec| spec.name == name)
        };
        Kinds {
            weight: has("weight"),
            cap: has("cap"),
            reservation: has("period_us") && has("slice_us"),
            traffic: false,
            charge: descriptor.promises.charges,
            policy: false,
        }
    }

    /// The parameters of the policy that can be changed, with their values.
    pub fn changeable(&self) -> Vec<PolicySeen> {
        let Some(values) = self.scheduler.params() else {
            return Vec::new();
        };
        let seen = |spec: &'static ParamSpec| {
            let value = values.by_name(spec.name)?;
            Some(PolicySeen { spec, value })
        };
        let changeable = self.scheduler.descriptor().changeable.iter();
        changeable.filter_map(seen).collect()
    }
}
