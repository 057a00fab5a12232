//! Rows of the state that are the same in all releases.

use domio_contract::StateRows;
use domio_contract::state::{About, StateRow, StateValue};
use domio_core::{DomainId, VcpuId};

/// Begins the row of a vcpu, the same in all releases.
pub(super) fn vcpu<'s>(
    out: &'s mut StateRows,
    list: &'static str,
    id: VcpuId,
    domain: DomainId,
) -> &'s mut StateRow {
    out.row(list, About::Vcpu(id))
        .say("vcpu ")
        .tell("vcpu", "", id.0)
        .say(" of d")
        .tell("domain", "", domain.0)
        .say(": ")
}

/// The row of a domain that earns credit.
pub(super) fn domain(
    out: &mut StateRows,
    id: DomainId,
    weight: impl Into<StateValue>,
    cap: impl Into<StateValue>,
) {
    out.row("", About::Domain(id))
        .say("d")
        .tell("domain", "", id.0)
        .say(": weight ")
        .tell("weight", "", weight)
        .say(", cap ")
        .tell("cap", "%", cap);
}
