//! Networks behind each other: which of them leads outward for which, and what becomes one device.
//!
//! A driver domain without a card reaches the card's through a vif of its own. Packets pass all of
//! them, so that the networks of a chain are one device on the bus, with several driver domains.

use super::flow::Flow;
use super::network::NetworkTable;
use super::vifs::Vif;
use crate::host::{NetCosts, NetworkConfig};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use domio_core::Instant;
use domio_core::keys::{Checker, Code, KeyTable, Mistake, Span, TableNames, list};
use domio_vmm::bus::side::{DeviceHost, DeviceProcess, Equipped, Evtchn};
use domio_vmm::config::TaskConfig;
use domio_vmm::process::FileId;

/// A network of the text: its own driver domain, and the interfaces there.
pub(super) struct Part {
    /// Its number in the text.
    pub index: usize,
    /// Number of the network that leads outward; none for one with a card.
    pub uplink: Option<usize>,
    /// Where `uplink` is or would be, and its path.
    pub span: Span,
    pub key: String,
    pub config: NetworkConfig,
    /// Index of its driver domain.
    pub driver: usize,
    /// Indices of the domains with an interface.
    pub users: Vec<usize>,
    pub evtchn: Evtchn,
}

/// What to call the network with this number: by its name, if it has one.
pub(super) fn called(networks: &TableNames, index: usize) -> String {
    match networks.name(index) {
        Some(name) => format!("the network {name}"),
        None => format!("network {index}"),
    }
}

/// The network by which the driver domain of network `index` reaches the outside: `Some(None)` by
/// a card, `None` when something is wrong.
pub(super) fn uplink(
    cx: &mut dyn Checker,
    keys: &NetworkTable,
    table: &dyn KeyTable,
    (index, driver): (usize, usize),
    (networks, host): (&TableNames, &DeviceHost<'_>),
) -> Option<Option<usize>> {
    let own = &host.domains.all[driver];
    let vifs = host.parts::<Vec<Vif>>().nth(driver)?.iter();
    let vifs = vifs.map(|vif| vif.network);
    let others: Vec<usize> = vifs.filter(|network| *network != index).collect();
    let name = &own.config.name;
    let slot = keys.uplink();
    if !slot.given {
        if keys.card().is_some() {
            return Some(None);
        }
        return match others[..] {
            [] => Some(None),
            [only] => {
                useless(cx, keys, networks, (index, name, only));
                Some(Some(only))
            }
            _ => {
                let known = others.iter().filter_map(|i| networks.name(*i));
                cx.tell(
                    Mistake::new(
                        Code::MissingKey,
                        table.header(),
                        format!("{name} has vifs on several networks: which one leads outward?"),
                    )
                    .key(table.path_of(slot))
                    .expected(list(known))
                    .hint("say `uplink = \"NAME\"`, or `nic` for a card of its own"),
                );
                None
            }
        };
    }
    let asked = networks.find(cx, &table.named(slot)??)?;
    let mistake = |what: String, hint: &str| {
        Mistake::new(Code::Conflict, table.span(slot), what)
            .key(table.path_of(slot))
            .hint(hint)
    };
    if let Some(key) = keys.card() {
        let what = format!("the network has both an `uplink` and a card, by `{key}`");
        let hint = "a driver domain reaches the outside by one way";
        cx.tell(mistake(what, hint).expected("one of the two"));
        return None;
    }
    if !others.contains(&asked) {
        let what = format!("the driver domain {name} has no vif on the network that leads outward");
        let hint = "give the driver domain `vif = { network = \"NAME\" }` with that network's name";
        cx.tell(mistake(what, hint).expected("a network on which the driver domain has a vif"));
        return None;
    }
    useless(cx, keys, networks, (index, name, asked));
    Some(Some(asked))
}

/// Reports keys that do nothing where packets leave by a vif.
fn useless(
    cx: &mut dyn Checker,
    keys: &NetworkTable,
    networks: &TableNames,
    (index, driver, outward): (usize, &str, usize),
) {
    let given = keys.beyond_card();
    if given.is_empty() {
        return;
    }
    let given: Vec<String> = given.iter().map(|key| format!("`{key}`")).collect();
    let does = match given[..] {
        [_] => "does",
        _ => "do",
    };
    let notice = format!(
        "packets of {} leave by the vif of {driver} on {}: {} of the former {does} nothing",
        called(networks, index),
        called(networks, outward),
        given.join(", "),
    );
    cx.note(notice);
}

/// Reports driver domains that are behind each other in a circle; whether there are any.
pub(super) fn circle(cx: &mut dyn Checker, parts: &[Part]) -> bool {
    let outward = |index: usize| parts.iter().find(|p| p.index == index)?.uplink;
    let in_circle = |part: &&Part| {
        let mut at = part.uplink;
        for _ in 0..parts.len() {
            match at {
                Some(index) if index == part.index => return true,
                Some(index) => at = outward(index),
                None => return false,
            }
        }
        false
    };
    let Some(part) = parts.iter().find(in_circle) else {
        return false;
    };
    cx.tell(
        Mistake::new(
            Code::Conflict,
            part.span,
            "networks lead to each other in a circle, and none has a card",
        )
        .key(&part.key)
        .expected("a network with a card at the end of each chain")
        .hint("leave out the vif of one driver domain, or give its network a `nic`"),
    );
    true
}

/// The networks as devices, each with those behind it.
pub(super) fn join(parts: Vec<Part>, host: &DeviceHost<'_>) -> Vec<(NetworkConfig, Equipped<()>)> {
    let mut left = parts;
    let mut devices = Vec::new();
    while let Some(place) = left.iter().position(|part| part.uplink.is_none()) {
        let mut chain = vec![left.remove(place)];
        while let Some(place) = left
            .iter()
            .position(|part| chain.iter().any(|c| part.uplink == Some(c.index)))
        {
            chain.push(left.remove(place));
        }
        devices.push(device(chain, host));
    }
    // What is behind a network that something is wrong with has nowhere to go.
    devices
}

/// One device of networks, each of which is behind an earlier one.
fn device(chain: Vec<Part>, host: &DeviceHost<'_>) -> (NetworkConfig, Equipped<()>) {
    let mut flows = Vec::new();
    let (mut drivers, mut users, mut evtchn) = (Vec::new(), Vec::new(), Vec::new());
    let mut whole: Option<NetworkConfig> = None;
    let mut of_vif: Vec<(usize, usize)> = Vec::new();
    for part in chain {
        drivers.push((part.driver, ports_of(&part.config, part.uplink.is_none())));
        for (user, vifs) in host.parts::<Vec<Vif>>().enumerate() {
            if let Some(vif) = vifs.iter().find(|vif| vif.network == part.index) {
                let start = host.domains.all[user].config.start;
                flows.push((user, start, vif.flows.clone()));
                of_vif.push((user, part.index));
            }
        }
        users.extend(part.users);
        evtchn.push(part.evtchn);
        let Some(whole) = &mut whole else {
            whole = Some(part.config);
            continue;
        };
        let uplink = of_vif
            .iter()
            .position(|(user, network)| *user == part.driver && Some(*network) == part.uplink);
        let uplink = uplink.expect("the driver domain has a vif on the network that leads outward");
        whole.add_behind(uplink as u16, part.config);
    }
    let config = whole.expect("a chain begins with a network");
    users.sort_unstable();
    users.dedup();
    let blueprint = config.clone();
    let behind = config.behind.iter().all(|b| b.costs == NetCosts::FREE);
    let free = has_traffic(&config) && config.costs == NetCosts::FREE && behind;
    let first_driver = drivers.first().map_or(0, |(driver, _)| *driver);
    let device = Equipped {
        drivers,
        users,
        evtchn,
        packets: true,
        free: free.then_some(("traffic", false)),
        config: (),
        processes: Box::new(move |device| processes(device, &blueprint, &flows, first_driver)),
    };
    (config, device)
}

/// Whether anything goes through a network.
pub(super) fn has_traffic(network: &NetworkConfig) -> bool {
    network.vifs.iter().any(|vif| !vif.flows.is_empty())
}

/// The processes of `flows`, by interface: the domain, its start, and what goes through.
fn processes(
    device: u16,
    blueprint: &NetworkConfig,
    flows_of: &[(usize, Instant, Vec<Flow>)],
    driver: usize,
) -> Vec<DeviceProcess> {
    let mut processes = Vec::new();
    for (vif, (domain, start, flows)) in flows_of.iter().enumerate() {
        let mut first = 0;
        for flow in flows {
            let alike = flow.configs.first().map_or(0, |f| f.kind.processes());
            let process = || blueprint.process(device, vif, first, *start);
            let tasks = match flow.server {
                Some(server) => {
                    let file = blueprint.listening(vif);
                    vec![server.process(FileId { device, file })]
                }
                None => (0..alike.max(1)).filter_map(|_| process()).collect(),
            };
            let placed = tasks.into_iter().map(|task| place(*domain, flow, task));
            processes.extend(placed);
            for f in first..first + flow.configs.len() {
                let to = blueprint.vifs[vif].flows[f].kind.guest();
                let (domain, vcpu) = match to.map(usize::from) {
                    Some(to) => (flows_of[to].0, blueprint.vifs[to].vcpu),
                    None => (driver, blueprint.vcpu),
                };
                let task = blueprint.other_process(device, vif, f, *start);
                processes.extend(task.map(|task| DeviceProcess {
                    domain,
                    vcpu: Some(usize::from(vcpu)),
                    may_roam: true,
                    task,
                    input: None,
                }));
            }
            first += flow.configs.len();
        }
    }
    processes
}

/// `task` of `flow`, where the flow wants it.
fn place(domain: usize, flow: &Flow, task: TaskConfig) -> DeviceProcess {
    DeviceProcess {
        domain,
        vcpu: Some(usize::from(flow.vcpu)),
        may_roam: !flow.placed,
        task: TaskConfig {
            priority: flow.priority,
            ..task
        },
        input: None,
    }
}

/// Ports of the driver domain that the network needs, with those of others that the scenario names.
fn ports_of(config: &NetworkConfig, has_card: bool) -> usize {
    let others = config.other_ports;
    let of_guest = 1 + usize::from(others.guest);
    usize::from(has_card) + usize::from(others.boot) + config.vifs.len() * of_guest
}
