//! What only all domains together can say about the policy's parameters.

use super::resolved::{Domain, Resolved};
use super::shared::{Chosen, GivenParams, tell};
use crate::check::Cx;
use domio_contract::Conflict;
use domio_core::ParamValues;
use domio_core::keys::Span;

/// Says whether the parameters of all domains go together, unless something about them was told
/// already. `place` says what was given for a domain, and where its table is.
pub(super) fn agree(
    cx: &mut Cx<'_>,
    chosen: Chosen<'_>,
    pcpus: usize,
    resolved: &Resolved,
    place: impl Fn(&Domain) -> (GivenParams, Span, String),
) {
    if !cx.problems.none_at("domain[") || !cx.problems.none_at("scheduler.") {
        return;
    }
    let params = resolved.domains.iter().map(|d| d.config.params);
    let params: Vec<ParamValues> = params.collect();
    let own = resolved.domains.iter().map(|d| d.config.vcpus.iter());
    let own: Vec<Vec<_>> = own.map(|all| all.map(|v| v.params).collect()).collect();
    let checked = check(chosen, chosen.params, pcpus, resolved, (&params, &own));
    if let Err((culprit, conflict)) = checked {
        let (given, header, path) = place(&resolved.domains[culprit]);
        tell(cx, conflict, &given, header, &path);
    }
}

/// Whether `params`, those of all domains in their order, and `own`, those that their vcpus have
/// instead, go together under those of the policy, as far as the domains are in its pool.
///
/// # Errors
/// The index of the domain that is to change, and why, with its name.
pub(super) fn check(
    chosen: Chosen<'_>,
    policy: &ParamValues,
    pcpus: usize,
    resolved: &Resolved,
    (params, own): (&[ParamValues], &[Vec<Option<ParamValues>>]),
) -> Result<(), (usize, Conflict)> {
    let all = resolved.domains.iter().zip(params);
    let all = all.filter(|(d, _)| d.pool == chosen.pool);
    let all = all.map(|(d, p)| (d.config.id, d.config.vcpus.len(), p));
    let all: Vec<_> = all.collect();
    let mut checked = (chosen.policy.validate_domains)(policy, &all);
    if checked.is_ok() && !chosen.policy.descriptor.vcpu_params.is_empty() {
        let mut vcpus = Vec::new();
        for ((domain, params), own) in resolved.domains.iter().zip(params).zip(own) {
            let inherited = chosen.policy.descriptor.vcpu_values(params);
            let in_pool = own.iter().filter(|_| domain.pool == chosen.pool);
            vcpus.extend(in_pool.map(|own| (domain.config.id, own.unwrap_or(inherited))));
        }
        checked = (chosen.policy.validate_vcpus)(policy, pcpus, &vcpus);
    }
    checked.map_err(|(id, mut conflict)| {
        let is_it = |d: &Domain| d.config.id == id;
        let culprit = resolved.domains.iter().position(is_it);
        let culprit = culprit.expect("the policy blames one of the domains");
        let name = &resolved.domains[culprit].config.name;
        conflict.problem = format!("{name}: {}", conflict.problem);
        (culprit, conflict)
    })
}
