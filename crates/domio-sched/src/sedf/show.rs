//! The state for people (Xen's debug key `r`).

use super::Sedf;
use super::state::{NEVER, Queue, flag};
use core::fmt;
use domio_core::{Duration, Instant, PcpuId, VcpuId};

/// A time of the policy's tables.
struct At(i64);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            NEVER => f.write_str("never"),
            ns => write!(f, "{}", Instant::from_nanos(ns.max(0) as u64)),
        }
    }
}

/// A length of the policy's tables; none is negative for long.
fn length(ns: i64) -> Duration {
    Duration::from_nanos(ns.max(0) as u64)
}

impl Sedf {
    pub(super) fn describe(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        if let Some(listener) = &self.listener {
            writeln!(out, "communication-aware, {listener}")?;
        }
        match self.collector {
            Some(collector) => writeln!(out, "sedf-dc {}, {collector}", self.rules.version)?,
            None => writeln!(
                out,
                "sedf {}, unblock {:?}",
                self.rules.version, self.unblock
            )?,
        }
        for p in 0..self.pcpus.len() {
            let pcpu = PcpuId(p as u16);
            let expires = At(self.pcpus[p].expires);
            writeln!(out, "{pcpu}: slice ends {expires}")?;
            for queue in Queue::ALL {
                let mut vcpus = self.queue(pcpu, queue).peekable();
                if vcpus.peek().is_none() {
                    continue;
                }
                write!(out, "  {queue:?}:")?;
                for vcpu in vcpus {
                    write!(out, " {}", vcpu.0)?;
                }
                writeln!(out)?;
            }
        }
        let present = self.vcpus.iter().enumerate();
        for (i, _) in present.filter(|(_, v)| v.has(flag::PRESENT)) {
            self.describe_vcpu(out, VcpuId(i as u32))?;
        }
        Ok(())
    }

    fn describe_vcpu(&self, out: &mut dyn fmt::Write, vcpu: VcpuId) -> fmt::Result {
        let v = &self.vcpus[vcpu.index()];
        write!(
            out,
            "vcpu {} of d{} on p{}: {} in {}, used {}, deadline {}, scores {} {}, extra {}",
            vcpu.0,
            v.domain,
            v.pcpu,
            length(v.slice),
            length(v.period),
            length(v.cputime),
            At(v.deadline),
            v.score[0],
            v.score[1],
            v.extraweight,
        )?;
        if v.debt > 0 {
            write!(out, ", owes {}", length(v.debt))?;
        }
        if v.weight > 0 {
            write!(out, ", weight {}", v.weight)?;
        }
        for (flag, name) in [
            (flag::AWARE, "extra time"),
            (flag::WANT_PENALTY, "owed a turn"),
            (
                flag::RUN_PENALTY | flag::RUN_UTILISATION,
                "in a turn of extra time",
            ),
        ] {
            if v.has(flag) {
                write!(out, ", {name}")?;
            }
        }
        writeln!(out)
    }
}
