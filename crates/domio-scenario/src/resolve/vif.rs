//! The virtual interface of a domain.

use super::task::{Task, Work};
use crate::check::{self, Cx, Fields};
use crate::keys::VIF;
use crate::source::Span;
use domio_core::DomainId;
use domio_net::host::{FlowConfig, VifConfig, VifRate};

/// A vif before it is given to its domain.
#[derive(Clone)]
pub(super) struct Vif {
    rate: Option<VifRate>,
    flows: Vec<FlowConfig>,
    /// What asks for it.
    pub span: Span,
}

impl Vif {
    /// The vif of `domain`.
    pub fn config(&self, domain: DomainId) -> VifConfig {
        VifConfig {
            domain,
            vcpu: 0,
            rate: self.rate,
            flows: self.flows.clone(),
        }
    }

    /// Flows that go through it.
    pub fn flows(&self) -> &[FlowConfig] {
        &self.flows
    }
}

/// The vif of the domain that `fields` describe, if it has one; `None` when it is wrong.
pub(super) fn vif(cx: &mut Cx<'_>, fields: &Fields<'_>, tasks: &[Task]) -> Option<Option<Vif>> {
    let flows = tasks.iter().filter_map(|task| match task.work {
        Work::Flow(flow) => Some(flow),
        Work::Demand(_) | Work::Replay(_) => None,
    });
    let flows: Vec<FlowConfig> = flows.collect();
    let asks = ["vif", "workload", "task"];
    let asks = asks.iter().find_map(|key| fields.field(key));
    let span = asks.map_or(fields.header, |f| f.key_span);
    if fields.field("vif").is_none() {
        let rate = None;
        return Some((!flows.is_empty()).then_some(Vif { rate, flows, span }));
    }
    let node = fields.node("vif")?;
    let path = fields.key_path("vif");
    let own = check::table(cx, node.as_table()?, node.span, &VIF, &path, None);
    let rate = match own.field("rate") {
        None => None,
        Some(_) => Some(own.vif_rate("rate")?),
    };
    Some(Some(Vif { rate, flows, span }))
}
