//! The state as data (Xen's debug key `r`).

use super::Sedf;
use super::state::{NEVER, Queue, flag};
use alloc::format;
use alloc::vec::Vec;
use domio_contract::StateRows;
use domio_contract::state::{About, StateValue};
use domio_core::{Duration, Instant, PcpuId, VcpuId};

/// A time of the policy's tables.
fn at(ns: i64) -> StateValue {
    match ns {
        NEVER => "never".into(),
        ns => Instant::from_nanos(ns.max(0) as u64).into(),
    }
}

/// A length of the policy's tables; none is negative for long.
fn length(ns: i64) -> Duration {
    Duration::from_nanos(ns.max(0) as u64)
}

impl Sedf {
    pub(super) fn describe(&self, out: &mut StateRows) {
        if let Some(listener) = &self.listener {
            out.row("", About::Policy)
                .say("communication-aware, ")
                .tell("packets", "", format!("{listener}"));
        }
        let version = format!("{}", self.rules.version);
        let row = out.row("", About::Policy);
        match self.collector {
            Some(collector) => row
                .say("sedf-dc ")
                .tell("version", "", version)
                .say(", ")
                .tell("debts", "", format!("{collector}")),
            None => row
                .say("sedf ")
                .tell("version", "", version)
                .say(", unblock ")
                .tell("unblock", "", format!("{:?}", self.unblock)),
        };
        for p in 0..self.pcpus.len() {
            self.describe_pcpu(out, PcpuId(p as u16));
        }
        let present = self.vcpus.iter().enumerate();
        for (i, _) in present.filter(|(_, v)| v.has(flag::PRESENT)) {
            self.describe_vcpu(out, VcpuId(i as u32));
        }
    }

    fn describe_pcpu(&self, out: &mut StateRows, pcpu: PcpuId) {
        out.row("", About::Pcpu(pcpu))
            .say("p")
            .tell("pcpu", "", pcpu.0)
            .say(": slice ends ")
            .tell("slice_ends", "", at(self.pcpus[pcpu.index()].expires));
        for queue in Queue::ALL {
            let vcpus: Vec<VcpuId> = self.queue(pcpu, queue).collect();
            if !vcpus.is_empty() {
                out.row("  ", About::Pcpu(pcpu))
                    .tell("queue", "", format!("{queue:?}"))
                    .say(": ")
                    .tell("vcpus", "", vcpus);
            }
        }
    }

    fn describe_vcpu(&self, out: &mut StateRows, vcpu: VcpuId) {
        let v = &self.vcpus[vcpu.index()];
        let row = out.row("", About::Vcpu(vcpu));
        row.say("vcpu ")
            .tell("vcpu", "", vcpu.0)
            .say(" of d")
            .tell("domain", "", v.domain)
            .say(" on p")
            .tell("pcpu", "", v.pcpu)
            .say(": ")
            .tell("slice", "", length(v.slice))
            .say(" in ")
            .tell("period", "", length(v.period))
            .say(", used ")
            .tell("used", "", length(v.cputime))
            .say(", deadline ")
            .tell("deadline", "", at(v.deadline))
            .say(", scores ")
            .tell("penalty_score", "", v.score[0])
            .say(" ")
            .tell("utilisation_score", "", v.score[1])
            .say(", extra ")
            .tell("extra_weight", "", v.extraweight);
        if v.debt > 0 {
            row.say(", owes ").tell("owes", "", length(v.debt));
        }
        if v.weight > 0 {
            row.say(", weight ").tell("weight", "", v.weight);
        }
        let turn = flag::RUN_PENALTY | flag::RUN_UTILISATION;
        row.flag("extra_time", ", extra time", v.has(flag::AWARE))
            .flag("owed_a_turn", ", owed a turn", v.has(flag::WANT_PENALTY))
            .flag("in_a_turn", ", in a turn of extra time", v.has(turn));
    }
}
