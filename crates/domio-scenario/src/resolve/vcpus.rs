//! `[[domain.vcpu]]`: vcpus that differ from the others of their domain.

use super::pins::on_host;
use super::pool::InPools;
use super::shared::{Chosen, GivenParams, VCPUS_FROM_0, given, tell};
use crate::check::{self, Cx, Fields};
use crate::limits::MAX_VCPUS;
use domio_contract::Policy;
use domio_core::keys::Span;
use domio_core::keys::{Code, Mistake};
use domio_core::keys::{KeyParams, KeySection, Keys, Need, Nested, Slot, VcpuPins, int, pcpus};
use domio_core::{CpuSet, DomainId, ParamValues, Topology};
use domio_vmm::config::VcpuConfig;

pub(crate) static VCPU: KeySection = KeySection::with_params(
    "[[domain.vcpu]]",
    "A vcpu that differs from the others of its domain, with the parameters that the policy \
     has for vcpus as keys beside it. Those that are not named are the domain's.",
    VcpuKeys::KEYS,
    KeyParams::Vcpu,
);

keys! {
    struct VcpuKeys {
        vcpu: usize = int(0, MAX_VCPUS as i64 - 1), Need::Required, "Index of the vcpu.";
        pin: CpuSet = pcpus(), Need::Optional("the domain's"), "Hard affinity of the vcpu.";
        soft: CpuSet = pcpus(), Need::Optional("the domain's"), "Soft affinity of the vcpu.";
    }
}

/// What one vcpu has of its own.
#[derive(Clone)]
pub(super) struct Own {
    vcpu: usize,
    hard: Option<CpuSet>,
    soft: Option<CpuSet>,
    /// All of its parameters, if any was given.
    params: Option<ParamValues>,
    /// Where they were given, `None` when one was refused.
    given: Option<GivenParams>,
    header: Span,
    path: String,
}

impl Own {
    /// Makes the vcpus, which are alike, what they are.
    pub fn apply(all: &[Own], vcpus: &mut [VcpuConfig]) {
        for own in all {
            let vcpu = &mut vcpus[own.vcpu];
            vcpu.hard = own.hard.unwrap_or(vcpu.hard);
            vcpu.soft = own.soft.unwrap_or(vcpu.soft);
            vcpu.params = own.params;
        }
    }

    /// Whether its pin leaves any pcpu of the pool. Says if it does not.
    pub fn reaches(&self, cx: &mut Cx<'_>, pools: InPools<'_>, pool: usize) -> bool {
        let Some(hard) = self.hard else { return true };
        let place = (format!("{}.pin", self.path), self.header);
        pools.reaches(cx, place, &VcpuPins::Alike(hard), pool)
    }

    /// Says whether the parameters go together, for a vcpu of the domain `id`.
    pub fn agrees(&self, cx: &mut Cx<'_>, chosen: Chosen<'_>, id: DomainId) -> bool {
        let (Some(params), Some(given)) = (&self.params, &self.given) else {
            return true;
        };
        let refused = (chosen.policy.validate_vcpu)(chosen.params, id, params).err();
        let good = refused.is_none();
        if let Some(conflict) = refused {
            tell(cx, conflict, given, self.header, &self.path);
        }
        good
    }
}

/// The vcpus of the domain that `fields` describe, at `slot`, which differ from its others. The
/// domain has `count` with the parameters `domain`; `None` if something was refused.
pub(super) fn vcpus(
    cx: &mut Cx<'_>,
    fields: &Fields,
    slot: &Slot<Nested>,
    count: Option<usize>,
    domain: Option<&ParamValues>,
    policy: Option<&Policy>,
    topology: Option<&Topology>,
) -> Option<Vec<Own>> {
    let mut all: Vec<Own> = Vec::new();
    let mut good = true;
    for (node, table, path) in fields.tables(slot) {
        let own = check::table(cx, table, node.span, &VCPU, &path, policy);
        let keys: VcpuKeys = own.read();
        match one(cx, &own, &keys, count, domain, policy, topology) {
            Some(one) if all.iter().all(|other| other.vcpu != one.vcpu) => all.push(one),
            Some(one) => {
                good = false;
                let message = format!("vcpu {} is described twice", one.vcpu);
                cx.push(
                    Mistake::new(Code::Duplicate, own.span(&keys.vcpu), message)
                        .key(own.path_of(&keys.vcpu))
                        .expected("a table for each vcpu at most")
                        .hint("write all that differs into one table"),
                );
            }
            None => good = false,
        }
    }
    good.then_some(all)
}

fn one(
    cx: &mut Cx<'_>,
    own: &Fields,
    keys: &VcpuKeys,
    count: Option<usize>,
    domain: Option<&ParamValues>,
    policy: Option<&Policy>,
    topology: Option<&Topology>,
) -> Option<Own> {
    let all_good = cx.problems.none_at(&format!("{}.", own.path));
    let vcpu = keys.vcpu.get()?;
    if let Some(n) = count.filter(|n| vcpu >= *n) {
        cx.push(
            Mistake::new(
                Code::OutOfRange,
                own.span(&keys.vcpu),
                format!("the domain has no vcpu {vcpu}"),
            )
            .key(own.path_of(&keys.vcpu))
            .found(vcpu.to_string())
            .expected(format!("0 to {}", n - 1))
            .hint(VCPUS_FROM_0),
        );
        return None;
    }
    let mut affinity = |slot: &Slot<CpuSet>| match slot.given {
        false => Some(None),
        true => on_host(cx, own, slot, topology).map(Some),
    };
    let (hard, soft) = (affinity(&keys.pin), affinity(&keys.soft));
    let params = match (own.params.is_empty(), policy, domain) {
        (false, Some(policy), Some(domain)) => {
            Some(own.values(policy.descriptor.vcpu_values(domain)))
        }
        _ => None,
    };
    Some(Own {
        vcpu,
        hard: hard?,
        soft: soft?,
        params,
        given: all_good.then(|| given(own)),
        header: own.header,
        path: own.path.clone(),
    })
}
