//! The state for people (Xen's debug key `r`).

use super::Credit2;
use super::state::flag;
use core::fmt::{self, Write};
use domio_core::VcpuId;

impl Credit2 {
    pub(super) fn describe(&self, out: &mut dyn Write) -> fmt::Result {
        for i in self.existing() {
            let r = &self.runqs[i];
            let percent = |average: i64| (average * 100) >> self.settings.precision;
            writeln!(
                out,
                "run queue {i}: pcpus {:?}, heaviest {}, bias {}, load {}, average {} %, \
                 balanced {} %",
                r.active,
                r.max_weight,
                r.pick_bias,
                r.load,
                percent(r.average),
                percent(r.balanced)
            )?;
            writeln!(
                out,
                "  idle {:?}, tickled {:?}, idle cores {:?}",
                r.idle, r.tickled, r.smt_idle
            )?;
            for vcpu in self.members(i).filter(|v| self.runs(*v)) {
                write!(out, "  runs:")?;
                self.describe_vcpu(out, vcpu)?;
            }
            for vcpu in self.waiting(i) {
                write!(out, "  waits:")?;
                self.describe_vcpu(out, vcpu)?;
            }
        }
        for (i, d) in self.domains.iter().enumerate() {
            if d.cap != 0 {
                writeln!(
                    out,
                    "d{i}: cap {} %, {} of {} ns left, next at {} ns, {} parked",
                    d.cap,
                    d.budget,
                    d.whole,
                    d.refill_at,
                    d.parked.len()
                )?;
            }
        }
        Ok(())
    }

    fn runs(&self, vcpu: VcpuId) -> bool {
        self.vcpus[vcpu.index()].has(flag::SCHEDULED)
    }

    fn describe_vcpu(&self, out: &mut dyn Write, vcpu: VcpuId) -> fmt::Result {
        let v = &self.vcpus[vcpu.index()];
        write!(
            out,
            " v{} of d{}, weight {}, credit {} + {}/{}",
            vcpu.0, v.domain, v.weight, v.credit, v.residual, v.weight
        )?;
        if v.capped() {
            write!(out, ", budget {} of {}", v.budget, v.quota)?;
        }
        let percent = (v.average * 100) >> self.settings.precision;
        writeln!(out, ", load {percent} %")
    }
}
