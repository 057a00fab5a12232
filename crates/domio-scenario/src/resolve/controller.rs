//! `[[controller]]`: which controllers look at the host, with which parameters, from where.

use super::asked::{Asked, ControllerKeys};
use super::equip::Device;
use super::guard;
use super::resolved::Resolved;
use super::shared::{Chosen, VCPUS_FROM_0, tell};
use crate::check::Cx;
use domio_contract::Policy;
use domio_contract::control::accounting::SendWeight;
use domio_contract::control::{Entry, Kinds};
use domio_core::keys::{Code, Mistake};
use domio_core::{DomainId, ParamValues};
use domio_vmm::Hardware;
use domio_vmm::config::{Accounting, ControllerConfig, ControllerCosts};
use domio_vmm::hardware::CONTROLLER_COSTS;

/// The controllers with the domains that they run in; those that something is wrong with are left
/// out.
pub(super) fn controllers(
    cx: &mut Cx<'_>,
    asked: &[Asked],
    machine: Option<&Hardware>,
    chosen: Option<Chosen<'_>>,
    devices: &[Device],
    resolved: &Resolved,
) -> Vec<ControllerConfig> {
    let Some(machine) = machine.filter(|_| !asked.is_empty()) else {
        return Vec::new();
    };
    let costs = costs(cx, machine);
    let mut configs = Vec::new();
    for (i, asked) in asked.iter().enumerate() {
        if let Some(chosen) = chosen {
            can_set(cx, asked.entry, chosen.policy);
            in_step(cx, asked, chosen);
        }
        let domain_params = domain_params(cx, i, asked, resolved);
        guard::limits(cx, i, asked, devices, resolved);
        let Some(domain) = domain(cx, asked, devices, resolved) else {
            continue;
        };
        let Some(vcpu) = vcpu(cx, asked, domain, resolved) else {
            continue;
        };
        configs.push(ControllerConfig {
            entry: *asked.entry,
            params: asked.params,
            domain_params,
            interval: asked.interval,
            domain: resolved.domains[domain].config.id,
            vcpu,
            costs,
            accounting: accounting(cx, &asked.keys),
        });
    }
    configs
}

/// Reports a controller that only sets what the policy has not.
fn can_set(cx: &mut Cx<'_>, entry: &Entry, policy: &Policy) {
    let Kinds {
        weight,
        cap,
        reservation,
        traffic,
        charge,
        policy: of_policy,
    } = entry.descriptor.answers;
    let specs = policy.descriptor.domain_params;
    let has = |name| specs.iter().any(|spec| spec.name == name);
    let able = traffic
        || (weight && has("weight"))
        || (cap && has("cap"))
        || (charge && policy.descriptor.promises.charges)
        || (reservation && has("period_us") && has("slice_us"))
        || (of_policy && !policy.descriptor.changeable.is_empty());
    if !able {
        cx.notices.push(format!(
            "the policy {} has nothing that the controller {} could set, so it does nothing",
            policy.descriptor.name, entry.descriptor.name
        ));
    }
}

/// Reports a controller that charges in other intervals than the policy spreads debts over.
fn in_step(cx: &mut Cx<'_>, asked: &Asked, chosen: Chosen<'_>) {
    let feedback = chosen.params.by_name("feedback_ms");
    let interval = asked.interval.as_nanos() / 1_000_000;
    let Some(feedback) = feedback.filter(|_| asked.entry.descriptor.answers.charge) else {
        return;
    };
    if feedback as u64 != interval {
        cx.notices.push(format!(
            "the controller {} charges every {interval} ms, and the policy {} spreads a debt over \
             {feedback} ms: give both the same, as `feedback_ms = {interval}`",
            asked.entry.descriptor.name, chosen.policy.descriptor.name
        ));
    }
}

/// The parameters of those domains that have any for the controller `asked`, number `i`.
fn domain_params(
    cx: &mut Cx<'_>,
    i: usize,
    asked: &Asked,
    resolved: &Resolved,
) -> Vec<(DomainId, ParamValues)> {
    let mut all = Vec::new();
    let mut told = None;
    for domain in &resolved.domains {
        let Some(controlled) = domain.controlled.get(i).and_then(Option::as_ref) else {
            continue;
        };
        let (id, params) = (domain.config.id, controlled.params);
        let checked = (asked.entry.validate_domain)(&asked.params, id, &params);
        // Members of a group have the same values, but for overrides.
        if let (Err(conflict), true) = (checked, told != Some(domain.span)) {
            told = Some(domain.span);
            tell(
                cx,
                conflict,
                &controlled.given,
                domain.span,
                &controlled.path,
            );
        }
        all.push((id, params));
    }
    all
}

/// Index of the domain that the controller runs in.
fn domain(
    cx: &mut Cx<'_>,
    asked: &Asked,
    devices: &[Device],
    resolved: &Resolved,
) -> Option<usize> {
    let (fields, slot) = (&asked.fields, &asked.keys.domain);
    if slot.given {
        let (name, span) = (slot.get()?, fields.span(slot));
        let nobody = "leave `domain` out for the driver domain, or add a [[domain]] of that name";
        let group = "a controller is a process of one domain; name a member, as `g1`";
        let domains = resolved.domains();
        return match domains.one(cx, (&name, span), [nobody, group])? {
            Ok(index) => Some(index),
            Err(problem) => {
                cx.push(problem.key(fields.path_of(slot)));
                None
            }
        };
    }
    let zero = || {
        let mut domains = resolved.domains.iter();
        domains.position(|d| d.config.id == DomainId::DOM0)
    };
    let found = devices.first().and_then(|d| d.drivers.first());
    let found = found.map(|(driver, _)| *driver).or_else(zero);
    if found.is_none() && resolved.complete {
        cx.push(
            Mistake::new(
                Code::MissingKey,
                fields.header,
                "there is no domain for the controller to run in",
            )
            .key(fields.path_of(slot))
            .expected("a domain with id 0, or another one named by `domain`")
            .hint("add [[domain]] with `name = \"Domain-0\"`; without a workload will do"),
        );
    }
    found
}

/// The vcpu of `domain` that the controller runs on.
fn vcpu(cx: &mut Cx<'_>, asked: &Asked, domain: usize, resolved: &Resolved) -> Option<u16> {
    let (fields, slot) = (&asked.fields, &asked.keys.vcpu);
    let vcpu = slot.get()?;
    let config = &resolved.domains[domain].config;
    let vcpus = config.vcpus.len();
    if usize::from(vcpu) < vcpus {
        return Some(vcpu);
    }
    cx.push(
        Mistake::new(
            Code::OutOfRange,
            fields.span(slot),
            format!("domain {} has no vcpu {vcpu}", config.name),
        )
        .key(fields.path_of(slot))
        .found(vcpu.to_string())
        .expected(format!("0 to {}", vcpus - 1))
        .hint(VCPUS_FROM_0),
    );
    None
}

/// How the controller knows for whom driver domains work.
fn accounting(cx: &mut Cx<'_>, keys: &ControllerKeys) -> Accounting {
    let weight = &keys.send_weight_thousandths;
    if keys.accounting.get() == Some(true) {
        let weight = weight.get();
        return Accounting::Packets(weight.map_or(SendWeight::GUPTA_SYSTEM_1, SendWeight));
    }
    if weight.given {
        cx.notices.push(format!(
            "`{}` does nothing without `accounting = \"packets\"`",
            weight.name
        ));
    }
    Accounting::Exact
}

/// What the processes of controllers take.
fn costs(cx: &mut Cx<'_>, machine: &Hardware) -> ControllerCosts {
    if machine.table(&CONTROLLER_COSTS).is_some() {
        return ControllerCosts::on(machine);
    }
    cx.notices.push(format!(
        "the hardware profile {} does not know what a controller costs: its work takes no time",
        machine.profile.name
    ));
    ControllerCosts::FREE
}
