//! Which vcpus a trace tells of.

use domio_core::{Instant, Kind, Runstate, VcpuName};
use domio_replay::NamedRecord;
use std::collections::BTreeMap;

/// A vcpu's first record of a runstate: when, and what it was in until then.
pub(crate) type First = (Instant, Runstate);

/// Every vcpu that `records` tell the runstate of, without those that idle.
pub(crate) fn seen(records: &[NamedRecord]) -> BTreeMap<VcpuName, First> {
    let mut seen = BTreeMap::new();
    for r in records.iter().filter(|r| !r.vcpu.is_idle()) {
        let was = match (r.runstates(), r.kind) {
            (Some((old, _)), _) => old,
            (None, Some(Kind::Continue)) => Runstate::Running,
            _ => continue,
        };
        seen.entry(r.vcpu).or_insert((r.at, was));
    }
    seen
}
