//! `[scheduler]`: the policy with its parameters.

use super::equip::Device;
use super::shared::{given, tell};
use crate::check::{Cx, Fields};
use crate::suggest::nearest;
use crate::value::{Node, Table, Value};
use domio_contract::Policy;
use domio_core::keys::{KeyParams, KeySection, Keys, Need, Nested, Slot, Words, word_text};
use domio_core::{ParamSpec, ParamValues};

pub(crate) static SCHEDULER: KeySection = KeySection::with_params(
    "[scheduler]",
    "The scheduling policy, with the parameters that it declares as keys beside it.",
    SchedulerKeys::KEYS,
    KeyParams::Policy,
);

keys! {
    struct SchedulerKeys {
        "policy" = word_text(Words::Policies), Need::Required, "Name of the policy.";
    }
}

/// The policy that `[scheduler]` names; its problems are reported with the table. If it names none
/// that exists, the one that is probably meant, so that the other mistakes are found as well.
pub(super) fn policy_of(
    cx: &mut Cx<'_>,
    top: &Fields,
    [scheduler, domains]: [&Slot<Nested>; 2],
) -> Option<Policy> {
    let table = top.node(scheduler).and_then(Node::as_table);
    let entry = table.and_then(|t| t.get("policy"));
    let name = entry.and_then(|e| e.node.as_text());
    let called = |name: &str| cx.parts.policy(name);
    if let Some(policy) = name.and_then(called) {
        return Some(*policy);
    }
    let names = cx.parts.policies().iter().map(|p| p.descriptor.name);
    let near = name.and_then(|name| nearest(name, names)).and_then(called);
    let presumed = near
        .or_else(|| by_parameters(cx.parts.policies(), table, top, domains))
        .copied();
    cx.presumed = presumed.is_some();
    presumed
}

/// The policy that has most of the parameters that are given, the first of several; none if no
/// policy has any.
fn by_parameters<'p>(
    policies: &'p [Policy],
    scheduler: Option<&Table>,
    top: &Fields,
    slot: &Slot<Nested>,
) -> Option<&'p Policy> {
    let domains = match top.node(slot).map(|node| &node.value) {
        Some(Value::Array(nodes)) => nodes.as_slice(),
        _ => &[],
    };
    let domains = domains.iter().filter_map(Node::as_table);
    let has = |specs: &[ParamSpec], table: &Table| {
        let keys = specs.iter().filter(|s| table.get(s.name).is_some());
        keys.count()
    };
    let given = |p: &Policy| {
        let own = scheduler.map_or(0, |t| has(p.descriptor.params, t));
        let of_domains = domains.clone().map(|t| has(p.descriptor.domain_params, t));
        own + of_domains.sum::<usize>()
    };
    let (most, policy) = policies
        .iter()
        .map(|p| (given(p), p))
        .rev()
        .max_by_key(|(given, _)| *given)?;
    (most > 0).then_some(policy)
}

/// What no single range can say about the policy's parameters.
pub(super) fn params_agree(
    cx: &mut Cx<'_>,
    scheduler: &Fields,
    policy: &Policy,
    values: &ParamValues,
) {
    // Values that were refused are at their defaults here, so that they cannot clash.
    if let Err(conflict) = (policy.validate)(values) {
        let given = given(scheduler);
        tell(cx, conflict, &given, scheduler.header, &scheduler.path);
    }
}

/// Reports a policy that needs to know of packets in a host where there are none.
pub(super) fn hears_nothing(
    cx: &mut Cx<'_>,
    policy: Option<&Policy>,
    complete: bool,
    devices: &[Device],
) {
    let Some(policy) = policy else { return };
    let no_packets = !devices.iter().any(|device| device.packets);
    if policy.descriptor.needs.packets && complete && no_packets {
        cx.notices.push(format!(
            "{} decides by packets, and no domain has an interface: nobody is preferred",
            policy.descriptor.name
        ));
    }
}
