//! The state as data (Xen's debug key `r`).

use super::Credit;
use super::state::{NIL, flag};
use alloc::format;
use domio_contract::StateRows;
use domio_contract::state::{About, StateRow};
use domio_core::{DomainId, PcpuId, VcpuId};

impl Credit {
    pub(super) fn describe(&self, out: &mut StateRows) {
        out.row("", About::Policy)
            .say("credit ")
            .tell("version", "", format!("{}", self.rules.version))
            .say(": ")
            .tell("pcpus", "", self.online)
            .say(" pcpus, weight ")
            .tell("weight", "", self.weight)
            .say(", balance ")
            .tell("balance", "credits", self.balance)
            .say(", slice ")
            .tell("slice", "", self.settings.tslice)
            .say(", tick ")
            .tell("tick", "", self.settings.tick)
            .say(", ratelimit ")
            .tell("ratelimit", "", self.settings.ratelimit);
        for (i, p) in self.pcpus.iter().enumerate() {
            let pcpu = PcpuId(i as u16);
            out.row("", About::Pcpu(pcpu))
                .say("p")
                .tell("pcpu", "", pcpu.0)
                .say(": ")
                .tell("runnable", "", p.runnable)
                .say(" runnable")
                .flag("idle", ", idle", self.idlers.contains(pcpu));
            for v in self.queue(pcpu) {
                self.describe_vcpu(out, "  queued ", v);
            }
        }
        for id in self.active_domains() {
            let d = &self.domains[id.index()];
            domain(out, id, d.weight, d.cap);
            let mut at = d.active_head;
            while at != NIL {
                self.describe_vcpu(out, "  active ", VcpuId(at));
                at = self.vcpus[at as usize].active_next;
            }
        }
    }

    fn describe_vcpu(&self, out: &mut StateRows, list: &'static str, id: VcpuId) {
        let v = &self.vcpus[id.index()];
        let row = vcpu(out, list, id, DomainId(v.domain));
        row.tell("priority", "", format!("{:?}", v.priority))
            .say(", credit ")
            .tell("credit", "credits", v.credit)
            .flag("parked", ", parked", v.has(flag::PARKED));
    }
}

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
    weight: impl Into<domio_contract::state::StateValue>,
    cap: impl Into<domio_contract::state::StateValue>,
) {
    out.row("", About::Domain(id))
        .say("d")
        .tell("domain", "", id.0)
        .say(": weight ")
        .tell("weight", "", weight)
        .say(", cap ")
        .tell("cap", "%", cap);
}
