//! `[network]`, once or several times, and the vifs of domains on each.

use super::chain::{self, Part};
use super::device::{Device, Evtchn};
use super::driver::{self, Users};
use super::resolved::Resolved;
use super::shared::InTable;
use super::work::Flow;
use crate::check::{self, Cx, Fields};
use crate::problem::{Code, Problem, quote};
use crate::source::Span;
use domio_core::XenVersion;
use domio_core::keys::{Nested, Slot};
use domio_net::host::NetCosts;
use domio_net::keys::{Driven, NETWORK, NETWORK_COSTS, NetworkTable};
use domio_net::writers::WriterCosts;
use domio_vmm::Hardware;
use domio_vmm::evtchn::Abi;
use std::collections::BTreeMap;

/// What the networks of a host have in common.
pub(super) struct On<'r> {
    /// The machine, if it is known.
    pub machine: Option<&'static Hardware>,
    /// The release of Xen, if it is known.
    pub version: Option<XenVersion>,
    pub resolved: &'r Resolved,
}

/// The names of the networks; those that are given twice are reported.
pub(super) fn names(cx: &mut Cx<'_>, top: &Fields<'_>, slot: &Slot<Nested>) -> Vec<Option<String>> {
    let mut first: BTreeMap<String, Span> = BTreeMap::new();
    let mut names = Vec::new();
    for (_, table, path) in top.tables(slot) {
        let entry = table.get("name");
        let name = entry
            .and_then(|entry| entry.node.as_text())
            .map(str::to_owned);
        if let (Some(entry), Some(name)) = (entry, &name)
            && let Some(earlier) = first.insert(name.clone(), entry.node.span)
        {
            let problem = Problem::new(
                Code::Duplicate,
                entry.node.span,
                format!("there are two networks `{}`", quote(name)),
            );
            cx.push(
                problem
                    .key(format!("{path}.name"))
                    .found(quote(name))
                    .expected("a unique name")
                    .related(earlier, "the first one")
                    .hint("give one of the two another name"),
            );
        }
        names.push(name);
    }
    if names.is_empty() {
        names.push(None);
    }
    names
}

/// The networks at `slot` on which a domain has a vif, as far as nothing is wrong with them.
pub(super) fn networks(
    cx: &mut Cx<'_>,
    top: &Fields<'_>,
    slot: &Slot<Nested>,
    on: &On<'_>,
) -> Vec<Device> {
    let mut costs = None;
    let tables = top.tables(slot);
    if tables.is_empty() {
        let fields = check::absent(&NETWORK, slot.name, top.header);
        let only = network(cx, &fields, 0, false, on, &mut costs);
        return chain::join(only.into_iter().collect(), on.resolved);
    }
    let mut networks = Vec::new();
    for (i, (node, table, path)) in tables.into_iter().enumerate() {
        let fields = check::table(cx, table, node.span, &NETWORK, &path, None);
        networks.extend(network(cx, &fields, i, true, on, &mut costs));
    }
    if chain::circle(cx, &networks) {
        return Vec::new();
    }
    chain::join(networks, on.resolved)
}

/// The costs of all networks, once one has looked for them.
type Costs = Option<(NetCosts, WriterCosts)>;

/// The network that `fields` describe, if a domain has a vif on it and nothing is wrong.
fn network(
    cx: &mut Cx<'_>,
    fields: &Fields<'_>,
    index: usize,
    given: bool,
    on: &On<'_>,
    known_costs: &mut Costs,
) -> Option<Part> {
    let keys = NetworkTable::read(fields);
    let resolved = on.resolved;
    let domains = resolved.domains.iter().enumerate();
    let of_domains = domains.flat_map(|(i, d)| d.vifs.iter().map(move |vif| (i, d, vif)));
    let own = of_domains.filter(|(_, _, vif)| vif.network == index);
    let own: Vec<_> = own.collect();
    let places: Vec<usize> = own.iter().map(|(i, ..)| *i).collect();
    let (mut vifs, mut all, mut good) = (Vec::new(), Vec::new(), true);
    for (i, domain, vif) in own {
        let config = vif.config(domain.config.id, keys.rx_target(), |flow, to| {
            let place = other_end(cx, (flow, to), i, &places, resolved);
            good &= place.is_some();
            place
        });
        vifs.push(config);
        all.push((i, vif.span));
    }
    let version = on.version;
    let abi = version.and_then(|version| keys.abi(&mut InTable { cx, fields }, version));
    let users = Users {
        what: "vif",
        key: fields.path_of(keys.driver()),
        says: "`driver` of [network]",
        chosen: fields.field(keys.driver()).map(|f| f.span),
        all,
    };
    let driver = match users.chosen {
        None => driver::default(cx, &users, resolved),
        Some(span) => {
            let name = keys.driver().get();
            name.and_then(|name| driver::named(cx, &name, span, &users, resolved))
        }
    };
    if vifs.is_empty() {
        if given {
            cx.notices.push(of_no_use(cx, index));
        }
        return None;
    }
    if let Some(driver) = driver {
        driver::serves(cx, driver, &users, resolved);
    }
    let vcpus = driver.map_or(1, |d| resolved.domains[d].config.vcpus.len() as u16);
    for (key, why) in keys.idle(&vifs, vcpus) {
        cx.notices
            .push(format!("`{key}` of [network] does nothing: {why}"));
    }
    let machine = on.machine?;
    let (costs, writers) = *known_costs.get_or_insert_with(|| costs(cx, machine));
    let config = keys.blueprint(
        &mut InTable { cx, fields },
        Driven {
            version,
            driver: driver.map(|driver| resolved.domains[driver].config.id),
            driver_vcpus: vcpus,
            costs,
            writers,
            vifs,
        },
    )?;
    let evtchn = Evtchn {
        abi: abi?,
        key: fields.path_of(keys.evtchn()),
        span: fields.span(keys.evtchn()),
    };
    let driver = driver.filter(|_| good)?;
    Some(Part {
        index,
        uplink: chain::uplink(cx, &keys, fields, (index, driver), resolved)?,
        span: fields.span(keys.uplink()),
        key: fields.path_of(keys.uplink()),
        config,
        driver,
        users: users.all.into_iter().map(|(i, _)| i).collect(),
        evtchn,
    })
}

/// The place among the vifs of a network, which are those of the domains `places`, of the one at
/// the other end of `flow`, which domain `from` has; `None` when there is none, which is told.
fn other_end(
    cx: &mut Cx<'_>,
    (flow, (name, span)): (&Flow, &(String, Span)),
    from: usize,
    places: &[usize],
    resolved: &Resolved,
) -> Option<u16> {
    let domains = resolved.by_name.get(name).map_or(&[][..], Vec::as_slice);
    let place = match domains {
        [only] if *only != from => places.iter().position(|domain| domain == only),
        _ => None,
    };
    if place.is_none() {
        let (what, hint) = match domains {
            [] => (
                format!("there is no domain `{}`", quote(name)),
                "the name of another domain",
            ),
            [only] if *only == from => (
                "a domain does not ping itself".to_owned(),
                "the name of another domain",
            ),
            [_] => (
                format!("`{}` has no vif on the network", quote(name)),
                "give that domain a vif: `vif = {}`",
            ),
            _ => (
                format!("`{}` is a group", quote(name)),
                "name one of its members, which are numbered from 1",
            ),
        };
        cx.push(
            Problem::new(Code::Conflict, *span, what)
                .key(format!("{}.to", flow.path))
                .found(quote(name))
                .expected("another domain with a vif on the same network")
                .hint(hint),
        );
    }
    place.map(|place| place as u16)
}

/// What to say of a network without a vif.
fn of_no_use(cx: &Cx<'_>, index: usize) -> String {
    match cx.known.networks.len() {
        0 | 1 => "no domain has a vif, so [network] does nothing".to_owned(),
        _ => format!(
            "no domain has a vif on {}, so it does nothing",
            cx.called_network(index)
        ),
    }
}

/// Event channels of kernels without a network.
pub(super) fn default_abi(cx: &mut Cx<'_>, top: &Fields<'_>, version: XenVersion) -> Option<Abi> {
    let fields = check::absent(&NETWORK, "network", top.header);
    let keys = NetworkTable::read(&fields);
    keys.abi(
        &mut InTable {
            cx,
            fields: &fields,
        },
        version,
    )
}

/// What work on packets costs.
fn costs(cx: &mut Cx<'_>, machine: &Hardware) -> (NetCosts, WriterCosts) {
    if machine.table(&NETWORK_COSTS).is_some() {
        return (NetCosts::on(machine), WriterCosts::beside(machine));
    }
    cx.notices.push(format!(
        "the hardware profile {} does not know what a network costs: its work takes no time",
        machine.profile.name
    ));
    (NetCosts::FREE, WriterCosts::FREE)
}
