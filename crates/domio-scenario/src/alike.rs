//! Releases of a policy that differ in nothing that a host has.

use crate::plan::Plan;
use domio_contract::{HostParts, releases};
use domio_vmm::config::Action;

impl Plan {
    /// What to say of this plan beside `other` when they ask for two releases of one policy which
    /// decide the same on both hosts; `None` where they may decide otherwise.
    pub fn alike(&self, other: &Plan) -> Option<String> {
        let name = self.policy.descriptor.name;
        if name != other.policy.descriptor.name {
            return None;
        }
        let of_xen = self.policy.releases?;
        let versions = [&self.params, &other.params].map(releases::version);
        let [Some(one), Some(another)] = versions else {
            return None;
        };
        if one == another {
            return None;
        }
        for plan in [self, other] {
            let parts = plan.parts()?;
            if of_xen.between(one, another, &parts)?.next().is_some() {
                return None;
            }
        }
        Some(format!(
            "{name} {one} and {another} differ in nothing that this host has"
        ))
    }

    /// What rules of a policy may need of the host; `None` where that changes in the run.
    fn parts(&self) -> Option<HostParts> {
        let host = &self.host;
        let all = host.topology.all();
        let mut parts = HostParts {
            topology: host.topology.clone(),
            params: self.params,
            // A controller may set caps.
            caps: !host.controllers.is_empty(),
            soft_affinity: false,
            hard_affinity: false,
            hotplug: false,
        };
        let capped = |params: &domio_core::ParamValues| params.by_name("cap").unwrap_or(0) != 0;
        for domain in &host.domains {
            parts.caps |= capped(&domain.params);
            parts.soft_affinity |= domain.vcpus.iter().any(|v| !all.is_subset(&v.soft));
            parts.hard_affinity |= domain.vcpus.iter().any(|v| !all.is_subset(&v.hard));
        }
        for (_, action) in &host.actions {
            match action {
                Action::SetParams(_, params) => parts.caps |= capped(params),
                Action::Pin { hard, soft, .. } => {
                    parts.soft_affinity |= !all.is_subset(soft);
                    parts.hard_affinity |= !all.is_subset(hard);
                }
                Action::PcpuOffline(_) | Action::PcpuOnline(_) => parts.hotplug = true,
                Action::SetPolicy(_) => return None,
                _ => {}
            }
        }
        Some(parts)
    }
}
