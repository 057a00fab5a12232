//! Actions on single vcpus: which they name, and new parameters for them.

use super::super::shared::{VCPUS_FROM_0, given, tell};
use super::{Host, OfVcpu, nothing_set};
use crate::check::{Cx, Fields};
use domio_core::Instant;
use domio_core::keys::Slot;
use domio_core::keys::{Code, Mistake};
use domio_vmm::config::{Action, DomainConfig};
use std::ops::Range;

/// The indices of the vcpus of a domain that an action on `vcpu` is about, which was written at
/// `slot`: all for `None`, and none if the domain has no such vcpu.
pub(super) fn of(
    cx: &mut Cx<'_>,
    fields: &Fields,
    config: &DomainConfig,
    slot: &Slot<Option<u16>>,
    vcpu: Option<u16>,
) -> Range<usize> {
    let n = config.vcpus.len();
    if let Some(v) = vcpu.filter(|v| usize::from(*v) >= n) {
        cx.push(
            Mistake::new(
                Code::OutOfRange,
                fields.span(slot),
                format!("{} has no vcpu {v}", config.name),
            )
            .key(fields.path_of(slot))
            .found(v.to_string())
            .expected(format!("0 to {}, or \"all\"", n - 1))
            .hint(VCPUS_FROM_0),
        );
        return 0..0;
    }
    vcpu.map_or(0..n, |v| usize::from(v)..usize::from(v) + 1)
}

impl Host<'_> {
    pub(super) fn set_vcpu(
        &mut self,
        cx: &mut Cx<'_>,
        at: Instant,
        fields: &Fields,
        actions: &mut Vec<Action>,
    ) {
        let keys: OfVcpu = fields.read();
        let domains = self.targets(cx, at, fields, &keys.domain);
        if !self.in_first_pool(cx, fields, &keys.domain, &domains) {
            return;
        }
        nothing_set(cx, fields, "a parameter that the policy has for vcpus");
        let (Some(chosen), Some(vcpu)) = (self.chosen, keys.vcpu.or(None)) else {
            return;
        };
        let policy_params = self.policy_params.unwrap_or(*chosen.params);
        for d in domains {
            let config = &self.domain(d).config;
            for v in of(cx, fields, config, &keys.vcpu, vcpu) {
                let of_domain = || chosen.policy.descriptor.vcpu_values(&self.params[d]);
                let values = fields.values(self.own[d][v].unwrap_or_else(of_domain));
                let checked = (chosen.policy.validate_vcpu)(&policy_params, config.id, &values);
                if let Err(conflict) = checked
                    && cx.problems.none_at(&format!("{}.", fields.path))
                {
                    tell(cx, conflict, &given(fields), fields.header, &fields.path);
                }
                self.own[d][v] = Some(values);
                actions.push(Action::SetVcpu {
                    domain: config.id,
                    vcpu: v as u16,
                    params: values,
                });
            }
        }
        self.domains_agree(cx, fields);
    }

    /// Vcpus of the domain have its word for what it has parameters of.
    pub(super) fn inherit(&mut self, d: usize) {
        if let Some(chosen) = self.chosen {
            for own in self.own[d].iter_mut().flatten() {
                chosen.policy.descriptor.inherit(own, &self.params[d]);
            }
        }
    }
}
