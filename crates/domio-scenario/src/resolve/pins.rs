//! Sets of pcpus that a scenario names: every pcpu must exist.

use crate::amount::show_pcpus;
use crate::check::{Cx, Fields};
use domio_core::keys::{Code, Mistake, Slot, Span};
use domio_core::{CpuSet, Topology};

/// The set of pcpus at `slot`, every one of which must exist; all of them when it was not given.
pub(super) fn on_host(
    cx: &mut Cx<'_>,
    fields: &Fields,
    slot: &Slot<CpuSet>,
    topology: Option<&Topology>,
) -> Option<CpuSet> {
    match slot.if_given()? {
        Some(set) => set_on_host(cx, fields, slot, set, topology),
        None => Some(CpuSet::ALL),
    }
}

/// `set`, which stands at `slot`, every pcpu of which must exist.
pub(super) fn set_on_host<T>(
    cx: &mut Cx<'_>,
    fields: &Fields,
    slot: &Slot<T>,
    set: CpuSet,
    topology: Option<&Topology>,
) -> Option<CpuSet> {
    existing(cx, set, (fields.span(slot), fields.path_of(slot)), topology)
}

/// `set`, which the key `path` at `span` says, every pcpu of which must exist.
pub(super) fn existing(
    cx: &mut Cx<'_>,
    set: CpuSet,
    (span, path): (Span, String),
    topology: Option<&Topology>,
) -> Option<CpuSet> {
    let all = topology?.all();
    if set == CpuSet::ALL {
        return Some(set);
    }
    // `all,^0` names pcpus that no host of this size has; a list of numbers does so by mistake.
    let beyond = set & !all;
    let relative = beyond == !all;
    if !beyond.is_empty() && !relative {
        let has = show_pcpus(&all);
        cx.push(
            Mistake::new(
                Code::OutOfRange,
                span,
                format!("the host has no pcpu {}", show_pcpus(&beyond)),
            )
            .key(path)
            .found(show_pcpus(&set))
            .expected(format!("pcpus of the host: {has}"))
            .hint("pcpus are counted from 0; [host] says how many there are"),
        );
        return None;
    }
    if (set & all).is_empty() {
        cx.push(
            Mistake::new(
                Code::OutOfRange,
                span,
                "no pcpu of the host is left to run on",
            )
            .key(path)
            .expected(format!("pcpus of the host: {}", show_pcpus(&all)))
            .hint("\"all\" stands for every pcpu; `^` takes pcpus out"),
        );
        return None;
    }
    Some(if relative { set & all } else { set })
}
