//! The state for people (Xen's debug key `r`).

use super::Bvt;
use super::state::flag;
use core::fmt;
use domio_core::{Duration, Instant, PcpuId};

impl Bvt {
    pub(super) fn describe(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let allow = Duration::from_nanos(self.settings.ctx_allow as u64);
        writeln!(out, "bvt, context switch allowance {allow}")?;
        for (i, p) in self.pcpus.iter().enumerate() {
            let expires = Instant::from_nanos(p.expires.max(0) as u64);
            let pcpu = PcpuId(i as u16);
            write!(out, "{pcpu}: svt {}, pass due {expires}, list", p.svt)?;
            for vcpu in &p.list {
                write!(out, " {}", vcpu.0)?;
            }
            writeln!(out)?;
        }
        let present = self.vcpus.iter().enumerate();
        for (i, v) in present.filter(|(_, v)| v.has(flag::PRESENT)) {
            let d = &self.domains[usize::from(v.domain)];
            write!(
                out,
                "vcpu {i} of d{} on p{}: avt {}, evt {}, advance {}",
                v.domain, v.pcpu, v.avt, v.evt, d.setting.mcu_advance
            )?;
            if d.warp {
                write!(out, ", warps by {}", d.setting.warp_value)?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}
