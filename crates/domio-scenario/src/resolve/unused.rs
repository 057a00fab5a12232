//! What a scenario declares and nothing uses, and what is used and costs nothing.

use super::equip::Device;
use super::resolved::{Domain, Resolved};
use crate::check::Cx;
use domio_core::DomainId;
use domio_vmm::bus::side::who;

/// Reports what is declared in vain, `idle` among it, and, with `presumed_free`, on a machine
/// without costs that nobody asked for, of work that takes no time.
pub(super) fn unused(
    cx: &mut Cx<'_>,
    presumed_free: bool,
    (devices, idle): (&[Device], Vec<String>),
    resolved: &Resolved,
) {
    // What is wrong with a table is told; what the table would have been for is not known then.
    if !resolved.complete || !cx.problems.is_empty() {
        return;
    }
    cx.notices.extend(idle);
    let idle = |(i, d): &(usize, &Domain)| {
        let tasks = d.config.vcpus.iter().any(|vcpu| !vcpu.tasks.is_empty());
        let of_use = devices.iter().any(|device| device.serves(*i));
        d.config.id != DomainId::DOM0 && !tasks && !of_use
    };
    let idle = resolved.domains.iter().enumerate().filter(idle);
    let names = idle.map(|(_, d)| d.config.name.as_str());
    cx.notices
        .extend(who(&names.collect::<Vec<_>>()).map(|(who, many)| {
            let (has, works) = if many {
                ("have", "they work")
            } else {
                ("has", "it works")
            };
            format!("{who} {has} nothing to do: no task, and nobody that {works} for")
        }));
    if presumed_free {
        free(cx, devices);
    }
}

/// Traffic and requests that take no processor time.
fn free(cx: &mut Cx<'_>, devices: &[Device]) {
    let mut free: Vec<(&str, bool)> = devices.iter().filter_map(|device| device.free).collect();
    free.dedup();
    let what: Vec<&str> = free.iter().map(|(what, _)| *what).collect();
    let take = match free[..] {
        [] => return,
        [(_, false)] => "takes",
        _ => "take",
    };
    cx.notices.push(format!(
        "{} {take} no processor time, neither guests' nor driver domains': the hardware profile \
         ideal \
         has no costs; `profile` of [host] names a machine",
        what.join(" and ")
    ));
}
