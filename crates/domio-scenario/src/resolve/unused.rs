//! What a scenario declares and nothing uses, and what is used and costs nothing.
//!
//! Each device tells who has a part in it and what goes through that part, so that nothing here
//! depends on the kind of a device: a network without traffic, a vif and a disk without a task, a
//! domain that neither does anything nor works for anybody.

use super::device::Device;
use super::resolved::{Domain, Resolved};
use crate::check::Cx;
use crate::devices::DeviceConfig;
use domio_core::DomainId;
use domio_net::host::{NetCosts, NetworkConfig};

/// Names that a notice gives before it counts the others.
const NAMED: usize = 3;

/// Tells of what is declared in vain, and, with `presumed_free`, on a machine without costs that
/// nobody asked for, of work that takes no time.
pub(super) fn unused(
    cx: &mut Cx<'_>,
    presumed_free: bool,
    devices: &[Device],
    resolved: &Resolved,
) {
    // What is wrong with a table is told; what the table would have been for is not known then.
    if !resolved.complete || !cx.problems.is_empty() {
        return;
    }
    let networks = devices.iter().filter_map(|d| d.config.network());
    networks.for_each(|network| idle_network(cx, network, resolved));
    idle_vifs(cx, devices, resolved);
    let no_copy = |d: &&Domain| !d.disks.is_empty() && d.copies.is_empty();
    tell(cx, resolved, no_copy, |who, many| {
        let (has, disk) = if many {
            ("have", "disks")
        } else {
            ("has", "a disk")
        };
        format!("{who} {has} {disk} that no task uses")
    });
    let of_use = |d: &Domain| {
        let index = resolved
            .domains
            .iter()
            .position(|other| other.config.id == d.config.id);
        devices
            .iter()
            .any(|device| index.is_some_and(|i| device.serves(i)))
    };
    let idle = |d: &&Domain| {
        let tasks = d.config.vcpus.iter().any(|vcpu| !vcpu.tasks.is_empty());
        d.config.id != DomainId::DOM0 && !tasks && !of_use(d)
    };
    tell(cx, resolved, idle, |who, many| {
        let (has, works) = if many {
            ("have", "they work")
        } else {
            ("has", "it works")
        };
        format!("{who} {has} nothing to do: no task, and nobody that {works} for")
    });
    if presumed_free {
        free(cx, devices, resolved);
    }
}

/// Whether anything goes through a network.
fn has_traffic(network: &NetworkConfig) -> bool {
    network.vifs.iter().any(|vif| !vif.flows.is_empty())
}

/// A network, with those behind it, whose vifs no workload uses.
fn idle_network(cx: &mut Cx<'_>, network: &NetworkConfig, resolved: &Resolved) {
    if has_traffic(network) {
        return;
    }
    let driver = resolved
        .domains
        .iter()
        .find(|d| d.config.id == network.driver);
    let driver = driver.map_or("?", |d| d.config.name.as_str());
    cx.notices.push(format!(
        "no workload sends anything through the card of {driver}, so it and the vifs behind it do \
         nothing"
    ));
}

/// Vifs that something is said of, that no workload uses, and that lead to nobody behind. An empty
/// table asks for a vif that nothing goes through.
fn idle_vifs(cx: &mut Cx<'_>, devices: &[Device], resolved: &Resolved) {
    let networks = || devices.iter().filter_map(|d| d.config.network());
    let leads = |d: &Domain| {
        let mut behind = networks().flat_map(|network| &network.behind);
        behind.any(|b| b.driver == d.config.id)
    };
    let idle = |d: &&Domain| {
        let mut said = d.vifs.iter().filter(|vif| vif.is_described());
        !leads(d) && said.any(|vif| vif.flows.is_empty())
    };
    tell(cx, resolved, idle, |who, many| {
        let (has, vif) = if many {
            ("have", "vifs")
        } else {
            ("has", "a vif")
        };
        format!("{who} {has} {vif} that no workload uses")
    });
}

/// Traffic and requests that take no processor time.
fn free(cx: &mut Cx<'_>, devices: &[Device], resolved: &Resolved) {
    let free = |d: &Device| match &d.config {
        DeviceConfig::Network(network) => {
            let behind = network.behind.iter().all(|b| b.costs == NetCosts::FREE);
            has_traffic(network) && network.costs == NetCosts::FREE && behind
        }
        _ => false,
    };
    let what = match (
        devices.iter().any(free),
        resolved.domains.iter().any(|d| !d.copies.is_empty()),
    ) {
        (true, true) => "traffic and disks take",
        (true, false) => "traffic takes",
        (false, true) => "disks take",
        (false, false) => return,
    };
    cx.notices.push(format!(
        "{what} no processor time, neither guests' nor driver domains': the hardware profile ideal \
         has no costs; `profile` of [host] names a machine"
    ));
}

/// Tells once of all domains for which `which` holds, in words of `says`, which is given who they
/// are and whether they are several.
fn tell(
    cx: &mut Cx<'_>,
    resolved: &Resolved,
    which: impl Fn(&&Domain) -> bool,
    says: impl Fn(&str, bool) -> String,
) {
    let all: Vec<&str> = resolved
        .domains
        .iter()
        .filter(which)
        .map(|d| d.config.name.as_str())
        .collect();
    let who = match all[..] {
        [] => return,
        [one] => format!("domain {one}"),
        [ref first @ .., last] if all.len() <= NAMED => {
            format!("domains {} and {last}", first.join(", "))
        }
        _ => format!(
            "domains {} and {} others",
            all[..NAMED - 1].join(", "),
            all.len() - NAMED + 1
        ),
    };
    cx.notices.push(says(&who, all.len() > 1));
}
