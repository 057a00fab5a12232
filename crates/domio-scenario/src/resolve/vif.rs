//! The virtual interfaces of a domain, and what goes through each.

use super::names::{NetworkName, network};
use super::work::{Flow, Task, Work};
use crate::check::{self, Cx, Fields};
use crate::problem::{Code, Problem};
use crate::source::Span;
use domio_core::DomainId;
use domio_core::keys::{Nested, Slot};
use domio_net::host::{FlowConfig, FlowKind, VifConfig, VifRate};
use domio_net::keys::{VIF, VifKeys};

/// A vif before it is given to its domain.
#[derive(Clone)]
pub(super) struct Vif {
    /// Index of the network that it is on.
    pub network: usize,
    pair: Option<u16>,
    rate: Option<VifRate>,
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

    /// The vif of `domain`, whose netfront wants `rx_target` buffers posted at first; `to` has the
    /// places of the vifs that flows name.
    pub fn config(
        &self,
        domain: DomainId,
        rx_target: u32,
        mut to: impl FnMut(&Flow, &(String, Span)) -> Option<u16>,
    ) -> VifConfig {
        let mut configs = |flow: &Flow| -> Vec<FlowConfig> {
            let other = flow.to.as_ref().map(|name| to(flow, name));
            let pings = |config: &FlowConfig| match (config.kind, other) {
                // Something is wrong with the name, which was told.
                (_, Some(None)) => None,
                (FlowKind::Ping(ping), Some(Some(to))) => Some(FlowConfig {
                    kind: FlowKind::PingGuest(ping, to),
                    ..*config
                }),
                _ => Some(*config),
            };
            flow.configs.iter().filter_map(pings).collect()
        };
        VifConfig {
            domain,
            behind: None,
            vcpu: 0,
            pair: self.pair,
            rate: self.rate,
            rx_target,
            flows: self.flows.iter().flat_map(&mut configs).collect(),
        }
    }
}

/// A second server is asked for where there is one.
fn second_server(flow: &Flow) -> Problem {
    Problem::new(
        Code::Conflict,
        flow.span,
        "the domain has two servers on one network",
    )
    .key(format!("{}.workload", flow.path))
    .expected("one server on each network")
    .hint("give the other one to another domain, or more `requests` to the first")
}

/// The vifs that the domain of `fields` has at `slot` and for its `tasks`; `None` when something is
/// wrong with them. `asks` is the place of what makes it have one.
pub(super) fn vifs(
    cx: &mut Cx<'_>,
    fields: &Fields<'_>,
    slot: &Slot<Nested>,
    tasks: &[Task],
    asks: Span,
) -> Option<Vec<Vif>> {
    let flows = tasks.iter().filter_map(|task| match &task.work {
        Work::Flow(flow) => Some(flow),
        Work::Demand(_) | Work::Replay(_) | Work::Disk(_) => None,
    });
    let mut vifs = own_vifs(cx, fields, slot)?;
    let given = slot.given;
    let mut good = true;
    for flow in flows {
        let named = match &flow.network {
            None => None,
            Some(name) => match network(cx, name) {
                Some(index) => Some(index),
                None => {
                    good = false;
                    continue;
                }
            },
        };
        let place = match named {
            None if vifs.len() > 1 && given => {
                let problem = which(flow, &vifs, cx);
                cx.push(problem);
                good = false;
                continue;
            }
            None => vifs.iter().position(|v| given || v.network == 0),
            Some(index) => vifs.iter().position(|v| v.network == index),
        };
        match place {
            Some(place) if flow.server.is_some() && vifs[place].has_server() => {
                cx.push(second_server(flow));
                good = false;
            }
            Some(place) => vifs[place].flows.push(flow.clone()),
            None if given => {
                cx.push(no_vif(flow));
                good = false;
            }
            None => vifs.push(Vif {
                network: named.unwrap_or(0),
                pair: None,
                rate: None,
                flows: vec![flow.clone()],
                span: asks,
                described: false,
            }),
        }
    }
    good.then_some(vifs)
}

/// Those that the domain asks for itself.
fn own_vifs(cx: &mut Cx<'_>, fields: &Fields<'_>, slot: &Slot<Nested>) -> Option<Vec<Vif>> {
    let Some(field) = fields.field(slot) else {
        return Some(Vec::new());
    };
    let key_span = field.key_span;
    fields.node(slot)?;
    let mut vifs: Vec<Vif> = Vec::new();
    for (node, table, path) in fields.tables(slot) {
        let own = check::table(cx, table, node.span, &VIF, &path, None);
        let keys: VifKeys = own.read();
        let on = match keys.network.given {
            false => 0,
            true => network(cx, &NetworkName::of(&own, &keys.network)?)?,
        };
        let (pair, rate) = (keys.pair.if_given()?, keys.rate.if_given()?);
        if let Some(first) = vifs.iter().find(|v| v.network == on) {
            let first = first.span;
            cx.push(
                Problem::new(
                    Code::Duplicate,
                    node.span,
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
            flows: Vec::new(),
            span: key_span,
            described: keys.network.given || keys.pair.given || keys.rate.given,
        });
    }
    Some(vifs)
}

/// A flow does not say which of several vifs it goes through.
fn which(flow: &Flow, vifs: &[Vif], cx: &Cx<'_>) -> Problem {
    let names = vifs.iter().filter_map(|v| cx.known.networks.get(v.network));
    let names: Vec<&str> = names.filter_map(|name| name.as_deref()).collect();
    Problem::new(
        Code::MissingKey,
        flow.span,
        "`network` is missing: the domain has several vifs",
    )
    .key(format!("{}.network", flow.path))
    .expected(format!("one of: {}", crate::problem::list(names)))
    .hint("say `network = \"NAME\"` beside the workload")
}

/// A flow asks for a network that its domain is not on.
fn no_vif(flow: &Flow) -> Problem {
    let (name, span) = match &flow.network {
        Some(asked) => (asked.name.as_str(), asked.span),
        None => ("", flow.span),
    };
    Problem::new(
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
