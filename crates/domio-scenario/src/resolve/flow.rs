//! Network workloads: traffic between a guest and the remote host.

use super::names::NetworkName;
use super::shared::InTable;
use super::work::{Flow, Placing};
use crate::check::{Cx, Fields};
use crate::problem::{Code, Problem};
use domio_core::keys::Slot;
use domio_net::keys::Traffic;
use domio_vmm::config::TaskConfig;

/// The flow that `fields` describe, whose workload is `word`.
pub(super) fn flow(
    cx: &mut Cx<'_>,
    fields: &Fields<'_>,
    word: &str,
    place: Option<Placing<'_>>,
    traffic: Traffic,
) -> Option<Flow> {
    let flows = traffic(&mut InTable { cx, fields })?;
    let good = match (&place, flows.by_kernel) {
        (None, _) => true,
        (Some(place), true) => {
            let vcpu = no_task_key(cx, fields, word, place.vcpu);
            let priority = no_task_key(cx, fields, word, place.priority);
            vcpu && priority
        }
        (Some(place), false) => one_vcpu(cx, fields, word, place),
    };
    let network = match flows.network.given {
        false => None,
        true => Some(NetworkName::of(fields, &flows.network)?),
    };
    let to = match &flows.to {
        None => None,
        Some(slot) => Some((slot.get()?, fields.span(slot))),
    };
    let vcpu = place.as_ref().filter(|place| place.vcpu.given);
    let priority = place.as_ref().filter(|place| place.priority.given);
    let flow = Flow {
        configs: flows.configs?,
        server: flows.serving,
        network,
        to,
        vcpu: match vcpu {
            None => 0,
            Some(place) => place.vcpu.get()?.unwrap_or(0),
        },
        placed: vcpu.is_some(),
        priority: match priority {
            None => TaskConfig::IO_BOUND,
            Some(place) => place.priority.get()?,
        },
        span: fields.selected().map_or(fields.header, |field| field.span),
        path: fields.path.clone(),
    };
    good.then_some(flow)
}

/// Tells of a process of a flow that is to live on every vcpu; whether it is on one.
fn one_vcpu(cx: &mut Cx<'_>, fields: &Fields<'_>, word: &str, place: &Placing<'_>) -> bool {
    let all = place.vcpu.given && place.vcpu.get() == Some(None);
    if all {
        cx.push(
            Problem::new(
                Code::Conflict,
                fields.span(place.vcpu),
                format!("a `{word}` has one process, on one vcpu"),
            )
            .key(fields.path_of(place.vcpu))
            .found("all")
            .expected("the index of a vcpu")
            .hint("for several at once give each a [[domain.task]] of its own"),
        );
    }
    !all
}

/// Tells of a key that means something for tasks alone; whether it is not there.
fn no_task_key<T>(cx: &mut Cx<'_>, fields: &Fields<'_>, word: &str, slot: &Slot<T>) -> bool {
    let Some(field) = fields.field(slot) else {
        return true;
    };
    let key = slot.name;
    let which = if word == "udp" {
        " with `direction = \"in\"`"
    } else {
        ""
    };
    cx.push(
        Problem::new(
            Code::Conflict,
            field.key_span,
            format!("`{key}` does not belong to `{word}`{which}"),
        )
        .key(fields.key_path(field.written))
        .expected(format!("no `{key}`"))
        .hint("the guest's kernel serves it on vcpu 0, before any task"),
    );
    false
}
