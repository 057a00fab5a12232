//! What can never happen because the run is over before.

use super::resolved::Resolved;
use crate::check::Cx;
use domio_core::{Duration, Instant};
use domio_vmm::config::Action;

/// Tells of what can never happen because the run is over before.
pub(super) fn late(
    cx: &mut Cx<'_>,
    end: Duration,
    resolved: &Resolved,
    actions: &[(Instant, Action)],
) {
    let end = Instant::ZERO + end;
    for domain in resolved.domains.iter().filter(|d| d.config.start >= end) {
        cx.notices.push(format!(
            "domain {} starts at {}, after the end of the run at {end}",
            domain.config.name, domain.config.start
        ));
    }
    for domain in &resolved.domains {
        let flows = domain.vifs.iter().flat_map(|v| &v.flows);
        let flows = flows.filter_map(|flow| flow.configs.first());
        for flow in flows.filter(|f| domain.config.start + f.start >= end) {
            cx.notices.push(format!(
                "a network workload of domain {} begins at {}, after the end of the run at {end}",
                domain.config.name,
                domain.config.start + flow.start
            ));
        }
    }
    for (at, _) in actions.iter().filter(|(at, _)| *at >= end) {
        cx.notices.push(format!(
            "an action at {at} comes after the end of the run at {end}"
        ));
    }
}
