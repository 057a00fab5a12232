//! The virtual interfaces of a domain, and what goes through each.

use super::flow::{Flow, second_server};
use super::vif::{VIF, VifKeys};
use crate::host::{FlowConfig, FlowKind, VifConfig, VifRate};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use domio_core::DomainId;
use domio_core::keys::{
    Checker, Code, KeyTable, Keys, Mistake, Named, Need, Nested, Slot, Span, TableNames, list,
    nested_any,
};

keys! {
    /// Keys of a domain.
    pub(super) struct OfDomain {
        vif: Nested = nested_any(&VIF),
            Need::Optional("one without a limit if a workload needs it, else none"),
            "Its virtual interface, or a list of several on different networks.";
    }
}

/// A vif before it is given to its domain.
#[derive(Clone)]
pub(super) struct Vif {
    /// Index of the network that it is on.
    pub network: usize,
    pair: Option<u16>,
    rate: Option<VifRate>,
    /// Buffers that its netfront wants posted at first, where that is not the network's.
    rx_target: Option<u32>,
    /// Flows that go through it.
    pub flows: Vec<Flow>,
    /// What asks for it.
    pub span: Span,
    /// Whether its table says anything.
    described: bool,
}

impl Vif {
    /// Whether the domain says something of it, be it its network alone.
    pub fn is_described(&self) -> bool {
        self.described
    }

    fn has_server(&self) -> bool {
        self.flows.iter().any(|flow| flow.server.is_some())
    }

    /// The vif of `domain`, whose netfront wants `rx_target` buffers posted at first unless the vif
    /// says otherwise; `to` has the places of the vifs that flows name.
    pub fn config(
        &self,
        domain: DomainId,
        rx_target: u32,
        mut to: impl FnMut(&Flow, &Named) -> Option<u16>,
    ) -> VifConfig {
        let mut configs = |flow: &Flow| -> Vec<FlowConfig> {
            let other = flow.to.as_ref().map(|name| to(flow, name));
            let between = |config: &FlowConfig| match (config.kind, other) {
                // Something is wrong with the name, which was told.
                (_, Some(None)) => None,
                (FlowKind::Ping(ping), Some(Some(to))) => Some(FlowConfig {
                    kind: FlowKind::PingGuest(ping, to),
                    ..*config
                }),
                (FlowKind::StreamOut(stream), Some(Some(to))) => Some(FlowConfig {
                    kind: FlowKind::StreamGuest(stream, to),
                    ..*config
                }),
                _ => Some(*config),
            };
            flow.configs.iter().filter_map(between).collect()
        };
        VifConfig {
            domain,
            behind: None,
            vcpu: 0,
            pair: self.pair,
            rate: self.rate,
            rx_target: self.rx_target.unwrap_or(rx_target),
            flows: self.flows.iter().flat_map(&mut configs).collect(),
        }
    }
}

/// The vifs that the domain of `table` has of its own and for `flows`; `None` when something is
/// wrong with them. `asks` is the place of what makes it have one.
pub(super) fn vifs(
    cx: &mut dyn Checker,
    table: &dyn KeyTable,
    flows: &[&Flow],
    networks: &TableNames,
    asks: Span,
) -> Option<Vec<Vif>> {
    let slot = OfDomain::read(table).vif;
    let mut vifs = own_vifs(cx, table, &slot, networks)?;
    let given = slot.given;
    let mut good = true;
    for &flow in flows {
        let named = match &flow.network {
            None => None,
            Some(name) => match networks.find(cx, name) {
                Some(index) => Some(index),
                None => {
                    good = false;
                    continue;
                }
            },
        };
        let place = match named {
            None if vifs.len() > 1 && given => {
                cx.tell(which(flow, &vifs, networks));
                good = false;
                continue;
            }
            None => vifs.iter().position(|v| given || v.network == 0),
            Some(index) => vifs.iter().position(|v| v.network == index),
        };
        match place {
            Some(place) if flow.server.is_some() && vifs[place].has_server() => {
                cx.tell(second_server(flow));
                good = false;
            }
            Some(place) => vifs[place].flows.push(flow.clone()),
            None if given => {
                cx.tell(no_vif(flow));
                good = false;
            }
            None => vifs.push(Vif {
                network: named.unwrap_or(0),
                pair: None,
                rate: None,
                rx_target: None,
                flows: vec![flow.clone()],
                span: asks,
                described: false,
            }),
        }
    }
    good.then_some(vifs)
}

/// Those that the domain asks for itself.
fn own_vifs(
    cx: &mut dyn Checker,
    domain: &dyn KeyTable,
    slot: &Slot<Nested>,
    networks: &TableNames,
) -> Option<Vec<Vif>> {
    let Some(place) = domain.place(slot.name) else {
        return Some(Vec::new());
    };
    slot.get()?;
    let mut vifs: Vec<Vif> = Vec::new();
    for own in domain.tables(cx, slot, &VIF) {
        let keys = VifKeys::read(&own);
        let on = match own.named(&keys.network)? {
            None => 0,
            Some(named) => networks.find(cx, &named)?,
        };
        let (pair, rate) = (keys.pair.if_given()?, keys.rate.if_given()?);
        let rx_target = keys.rx_target.if_given()?;
        if let Some(first) = vifs.iter().find(|v| v.network == on) {
            let first = first.span;
            cx.tell(
                Mistake::new(
                    Code::Duplicate,
                    own.header(),
                    "the domain has two vifs on the same network",
                )
                .key(own.path_of(&keys.network))
                .expected("one on each network")
                .related(first, "the vifs")
                .hint("`network` names the network; without one it is the first"),
            );
            return None;
        }
        vifs.push(Vif {
            network: on,
            pair,
            rate,
            rx_target,
            flows: Vec::new(),
            span: place.key,
            described: keys.network.given
                || keys.pair.given
                || keys.rate.given
                || keys.rx_target.given,
        });
    }
    Some(vifs)
}

/// A flow does not say which of several vifs it goes through.
fn which(flow: &Flow, vifs: &[Vif], networks: &TableNames) -> Mistake {
    let names = vifs.iter().filter_map(|v| networks.name(v.network));
    Mistake::new(
        Code::MissingKey,
        flow.span,
        "`network` is missing: the domain has several vifs",
    )
    .key(format!("{}.network", flow.path))
    .expected(format!("one of: {}", list(names)))
    .hint("say `network = \"NAME\"` beside the workload")
}

/// A flow asks for a network that its domain is not on.
fn no_vif(flow: &Flow) -> Mistake {
    let (name, span) = match &flow.network {
        Some(asked) => (asked.name.as_str(), asked.span),
        None => ("", flow.span),
    };
    Mistake::new(
        Code::Conflict,
        span,
        format!("the domain has no vif on the network `{name}`"),
    )
    .key(format!("{}.network", flow.path))
    .found(name)
    .expected("a network of one of its vifs")
    .hint(format!(
        "add `{{ network = \"{name}\" }}` to the list `vif` of the domain"
    ))
}
