//! What can never happen because the run is over before.

use super::resolved::Resolved;
use crate::check::Cx;
use domio_core::{Duration, Instant};
use domio_vmm::config::Action;

/// Reports what can never happen because the run is over before.
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
        let begins = domain.parts.iter().flat_map(|part| &part.begins);
        let begins = begins.map(|(what, after)| (what, domain.config.start + *after));
        for (what, begin) in begins.filter(|(_, begin)| *begin >= end) {
            cx.notices.push(format!(
                "{what} of domain {} begins at {begin}, after the end of the run at {end}",
                domain.config.name
            ));
        }
    }
    for (at, _) in actions.iter().filter(|(at, _)| *at >= end) {
        cx.notices.push(format!(
            "an action at {at} comes after the end of the run at {end}"
        ));
    }
}
