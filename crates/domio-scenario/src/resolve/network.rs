//! `[network]`, once or several times, and the vifs of domains on each.

use super::domain::Resolved;
use super::driver::{self, Users};
use crate::check::{self, Cx, Fields};
use crate::keys::NETWORK;
use crate::keys::costs::{
    NETWORK_CARD, NETWORK_COSTS, NETWORK_WRITERS, network_card, network_costs, network_writers,
};
use crate::problem::{Code, Problem, quote};
use crate::source::Span;
use domio_core::XenVersion;
use domio_net::host::{FlowKind, NetCosts, NetworkConfig, OtherPorts, RxMode, VifConfig};
use domio_net::icmp::Ticks;
use domio_net::link::{LinkConfig, Rate};
use domio_net::nic::NicConfig;
use domio_net::writers::WriterCosts;
use domio_vmm::evtchn::{Abi, ScanForm, Width};
use domio_vmm::profile::Profile;
use std::collections::BTreeMap;

/// First release that has FIFO event channels, of those that domio tells apart.
const FIFO_SINCE: XenVersion = XenVersion::V4_4;

/// A network, and what the kernels of the domains with a part in it are like.
pub(super) struct Network {
    pub config: NetworkConfig,
    /// Index among the networks of the text.
    pub index: usize,
    /// Index of the driver domain.
    pub driver: usize,
    /// Event channels of the driver domain and of all with a vif.
    pub abi: Abi,
    /// Path of `evtchn`, and where it is, or where the network is.
    pub evtchn: (String, Span),
}

/// The names of the networks; those that are given twice are reported.
pub(super) fn names(cx: &mut Cx<'_>, top: &Fields<'_>) -> Vec<Option<String>> {
    let mut first: BTreeMap<String, Span> = BTreeMap::new();
    let mut names = Vec::new();
    for (_, table, path) in top.tables("network") {
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

/// The networks of the host on which a domain has a vif, as far as nothing is wrong with them.
pub(super) fn networks(
    cx: &mut Cx<'_>,
    top: &Fields<'_>,
    host: &Fields<'_>,
    resolved: &Resolved,
) -> Vec<Network> {
    let mut costs = None;
    let tables = top.tables("network");
    if tables.is_empty() {
        let fields = check::absent(&NETWORK, "network", top.header);
        let only = network(cx, &fields, 0, false, host, resolved, &mut costs);
        return only.into_iter().collect();
    }
    let mut networks = Vec::new();
    for (i, (node, table, path)) in tables.into_iter().enumerate() {
        let fields = check::table(cx, table, node.span, &NETWORK, &path, None);
        networks.extend(network(cx, &fields, i, true, host, resolved, &mut costs));
    }
    networks
}

/// The costs of all networks, once one has looked for them.
type Costs = Option<(NetCosts, WriterCosts)>;

/// The network that `fields` describe, if a domain has a vif on it and nothing is wrong.
fn network(
    cx: &mut Cx<'_>,
    fields: &Fields<'_>,
    index: usize,
    given: bool,
    host: &Fields<'_>,
    resolved: &Resolved,
    known_costs: &mut Costs,
) -> Option<Network> {
    let domains = resolved.domains.iter().enumerate();
    let of_domains = domains.flat_map(|(i, d)| d.vifs.iter().map(move |vif| (i, d, vif)));
    let own = of_domains.filter(|(_, _, vif)| vif.network == index);
    let rx_target = fields.int("rx_target").and_then(|n| u32::try_from(n).ok());
    let (mut vifs, mut all) = (Vec::new(), Vec::new());
    for (i, domain, vif) in own {
        vifs.push(vif.config(domain.config.id, rx_target.unwrap_or(VifConfig::RX_TARGET)));
        all.push((i, vif.span));
    }
    let version = host
        .text("xen")
        .and_then(|name| XenVersion::from_name(&name));
    let abi = version.and_then(|version| abi(cx, fields, version));
    let users = Users {
        what: "vif",
        key: fields.key_path("driver"),
        says: "`driver` of [network]",
        chosen: fields.field("driver").map(|f| f.span),
        all,
    };
    let driver = match fields.field("driver") {
        None => driver::default(cx, &users, resolved),
        Some(field) => fields
            .text("driver")
            .and_then(|name| driver::named(cx, &name, field.span, &users, resolved)),
    };
    if vifs.is_empty() {
        if given {
            let notice = match (cx.known.networks.len(), fields.text("name")) {
                (0 | 1, _) => "no domain has a vif, so [network] does nothing".to_owned(),
                (_, Some(name)) => {
                    format!("no domain has a vif on the network {name}, so it does nothing")
                }
                (_, None) => {
                    format!("no domain has a vif on network {index}, so it does nothing")
                }
            };
            cx.notices.push(notice);
        }
        return None;
    }
    if let Some(driver) = driver {
        driver::serves(cx, driver, &users, resolved);
    }
    let profile = Profile::by_name(&host.text("profile")?)?;
    let (mut costs, mut writers) = *known_costs.get_or_insert_with(|| costs(cx, profile));
    let mut nic = match fields.text("nic")?.as_str() {
        "tg3" => NicConfig::TG3,
        "tg3-untagged" => NicConfig::TG3_UNTAGGED,
        "e1000" => NicConfig::E1000,
        _ => NicConfig::PLAIN,
    };
    if fields.field("nic_bus").is_some() {
        nic.bus = Some(Rate::bits_per_second(fields.line_rate("nic_bus")?));
    }
    let of_card = check::inner(cx, fields, "card", &NETWORK_CARD);
    let of_costs = check::inner(cx, fields, "costs", &NETWORK_COSTS);
    let of_writers = check::inner(cx, fields, "writers", &NETWORK_WRITERS);
    network_card(&of_card, &mut nic)?;
    network_costs(&of_costs, &mut costs)?;
    network_writers(&of_writers, &mut writers)?;
    remote_ticks(fields, &mut vifs)?;
    let driver = driver?;
    let config = NetworkConfig {
        driver: resolved.domains[driver].config.id,
        nic,
        link: LinkConfig {
            rate: Rate::bits_per_second(fields.line_rate("rate")?),
            latency: fields.time("latency")?,
            queue: usize::try_from(fields.int("queue")?).ok()?,
        },
        remote_gap: fields.time("remote_gap")?,
        remote_irq_latency: fields.time("remote_irq_latency")?,
        remote_writers: writers,
        costs,
        rx_mode: match given_or(fields, "rx", || by_release(version?, "flip", "copy"))?.as_str() {
            "flip" => RxMode::Flip,
            _ => RxMode::Copy,
        },
        vcpu: 0,
        other_ports: OtherPorts {
            boot: u16::try_from(fields.int("boot_ports")?).ok()?,
            guest: u16::try_from(fields.int("guest_ports")?).ok()?,
        },
        vifs,
    };
    Some(Network {
        config,
        index,
        driver,
        abi: abi?,
        evtchn: (fields.key_path("evtchn"), fields.span("evtchn")),
    })
}

/// Gives the pings of `vifs` the ticks of the remote host's kernel, if it has any.
fn remote_ticks(fields: &Fields<'_>, vifs: &mut [VifConfig]) -> Option<()> {
    let (length, phase) = (
        fields.time("remote_tick")?,
        fields.time("remote_tick_phase")?,
    );
    if length.is_zero() {
        return Some(());
    }
    for flow in vifs.iter_mut().flat_map(|vif| &mut vif.flows) {
        if let FlowKind::Ping(ping) = &mut flow.kind {
            ping.ticks = Some(Ticks { length, phase });
        }
    }
    Some(())
}

/// Event channels of kernels without a network.
pub(super) fn default_abi(cx: &mut Cx<'_>, top: &Fields<'_>, version: XenVersion) -> Option<Abi> {
    let fields = check::absent(&NETWORK, "network", top.header);
    abi(cx, &fields, version)
}

/// The word at `key`, or `default` when it was not given; `None` when it was bad.
fn given_or(
    fields: &Fields<'_>,
    key: &str,
    default: impl FnOnce() -> Option<&'static str>,
) -> Option<String> {
    match fields.field(key) {
        Some(_) => fields.text(key),
        None => default().map(str::to_owned),
    }
}

fn by_release(
    version: XenVersion,
    xen3: &'static str,
    later: &'static str,
) -> Option<&'static str> {
    Some(if version < XenVersion::V4_0 {
        xen3
    } else {
        later
    })
}

/// Event channels of every kernel with a network.
fn abi(cx: &mut Cx<'_>, fields: &Fields<'_>, version: XenVersion) -> Option<Abi> {
    let default = || {
        Some(if version < FIFO_SINCE {
            "two-level-64"
        } else {
            "fifo"
        })
    };
    let evtchn = given_or(fields, "evtchn", default)?;
    let form = given_or(fields, "scan", || {
        by_release(version, "restart", "resume-mainline")
    });
    let width = match evtchn.as_str() {
        "two-level-32" => Width::Bits32,
        "two-level-64" => Width::Bits64,
        _ => {
            if version < FIFO_SINCE {
                cx.push(
                    Problem::new(
                        Code::Conflict,
                        fields.span("evtchn"),
                        format!("Xen {version} has no FIFO event channels"),
                    )
                    .key(fields.key_path("evtchn"))
                    .found("fifo")
                    .expected("two-level-32 or two-level-64")
                    .hint("they came with Xen 4.4; `xen` of [host] says which release it is"),
                );
                return None;
            }
            if let Some(scan) = fields.field("scan") {
                cx.push(
                    Problem::new(
                        Code::Conflict,
                        scan.key_span,
                        "FIFO event channels have no scan to choose",
                    )
                    .key(fields.key_path("scan"))
                    .expected("`evtchn = \"two-level-64\"` with it")
                    .hint("add `evtchn = \"two-level-64\"`, or remove `scan`"),
                );
                return None;
            }
            return Some(Abi::Fifo);
        }
    };
    let scan = match form?.as_str() {
        "restart" => ScanForm::Restart,
        "round-robin" => ScanForm::RoundRobin,
        "resume" => ScanForm::Resume,
        _ => ScanForm::ResumeMainline,
    };
    Some(Abi::TwoLevel { width, scan })
}

/// What work on packets costs.
fn costs(cx: &mut Cx<'_>, profile: &Profile) -> (NetCosts, WriterCosts) {
    if *profile == Profile::OPTERON_242 {
        return (NetCosts::OPTERON_242, WriterCosts::PENTIUM_4);
    }
    if !profile.is_free() {
        cx.notices.push(format!(
            "the hardware profile {} does not know what a network costs: its work takes no time",
            profile.name
        ));
    }
    (NetCosts::FREE, WriterCosts::FREE)
}
