//! The state as data (Xen's debug key `r`).

use super::Credit2;
use super::state::flag;
use domio_contract::StateRows;
use domio_contract::state::About;
use domio_core::{DomainId, VcpuId};

impl Credit2 {
    pub(super) fn describe(&self, out: &mut StateRows) {
        for i in self.existing() {
            self.describe_runq(out, i);
            for vcpu in self.members(i).filter(|v| self.runs(*v)) {
                self.describe_vcpu(out, "  runs: ", vcpu);
            }
            for vcpu in self.waiting(i) {
                self.describe_vcpu(out, "  waits: ", vcpu);
            }
        }
        for (i, d) in self.domains.iter().enumerate() {
            if d.cap != 0 {
                out.row("", About::Domain(DomainId(i as u16)))
                    .say("d")
                    .tell("domain", "", i)
                    .say(": cap ")
                    .tell("cap", "%", d.cap)
                    .say(" %, ")
                    .tell("budget", "ns", d.budget)
                    .say(" of ")
                    .tell("whole", "ns", d.whole)
                    .say(" ns left, next at ")
                    .tell("refill_at", "ns", d.refill_at)
                    .say(" ns, ")
                    .tell("parked", "", d.parked.len())
                    .say(" parked");
            }
        }
    }

    /// A load in percent.
    fn percent(&self, average: i64) -> i64 {
        (average * 100) >> self.settings.precision
    }

    fn runs(&self, vcpu: VcpuId) -> bool {
        self.vcpus[vcpu.index()].has(flag::SCHEDULED)
    }

    fn describe_runq(&self, out: &mut StateRows, i: usize) {
        let r = &self.runqs[i];
        out.row("", About::Runq(i))
            .say("run queue ")
            .tell("runq", "", i)
            .say(": pcpus ")
            .tell("pcpus", "", r.active)
            .say(", heaviest ")
            .tell("heaviest", "", r.max_weight)
            .say(", bias ")
            .tell("bias", "", alloc::format!("{}", r.pick_bias))
            .say(", load ")
            .tell("load", "", r.load)
            .say(", average ")
            .tell("average", "%", self.percent(r.average))
            .say(" %, balanced ")
            .tell("balanced", "%", self.percent(r.balanced))
            .say(" %");
        out.row("  ", About::Runq(i))
            .say("idle ")
            .tell("idle", "", r.idle)
            .say(", tickled ")
            .tell("tickled", "", r.tickled)
            .say(", idle cores ")
            .tell("idle_cores", "", r.smt_idle);
    }

    fn describe_vcpu(&self, out: &mut StateRows, list: &'static str, vcpu: VcpuId) {
        let v = &self.vcpus[vcpu.index()];
        let row = out.row(list, About::Vcpu(vcpu));
        row.say("v")
            .tell("vcpu", "", vcpu.0)
            .say(" of d")
            .tell("domain", "", v.domain)
            .say(", weight ")
            .tell("weight", "", v.weight)
            .say(", credit ")
            .tell("credit", "ns", v.credit)
            .say(" + ")
            .tell("residual", "1/weight ns", v.residual)
            .say("/")
            .tell("residual_of", "", v.weight);
        if v.capped() {
            row.say(", budget ")
                .tell("budget", "ns", v.budget)
                .say(" of ")
                .tell("quota", "ns", v.quota);
        }
        let percent = self.percent(v.average);
        row.say(", load ").tell("load", "%", percent).say(" %");
    }
}
