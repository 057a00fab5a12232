//! The state as data (Xen's debug key `r`).

use super::Bvt;
use super::state::flag;
use domio_contract::StateRows;
use domio_contract::state::About;
use domio_core::{Duration, Instant, PcpuId, VcpuId};

impl Bvt {
    pub(super) fn describe(&self, out: &mut StateRows) {
        let allow = Duration::from_nanos(self.settings.ctx_allow as u64);
        out.row("", About::Policy)
            .say("bvt, context switch allowance ")
            .tell("context_switch_allowance", "", allow);
        for (i, p) in self.pcpus.iter().enumerate() {
            let expires = Instant::from_nanos(p.expires.max(0) as u64);
            let pcpu = PcpuId(i as u16);
            out.row("", About::Pcpu(pcpu))
                .say("p")
                .tell("pcpu", "", pcpu.0)
                .say(": svt ")
                .tell("svt", "mcu", p.svt)
                .say(", pass due ")
                .tell("pass_due", "", expires)
                .say(", list ")
                .tell("list", "", p.list.clone());
        }
        let present = self.vcpus.iter().enumerate();
        for (i, v) in present.filter(|(_, v)| v.has(flag::PRESENT)) {
            let d = &self.domains[usize::from(v.domain)];
            let row = out.row("", About::Vcpu(VcpuId(i as u32)));
            row.say("vcpu ")
                .tell("vcpu", "", i)
                .say(" of d")
                .tell("domain", "", v.domain)
                .say(" on p")
                .tell("pcpu", "", v.pcpu)
                .say(": avt ")
                .tell("avt", "mcu", v.avt)
                .say(", evt ")
                .tell("evt", "mcu", v.evt)
                .say(", advance ")
                .tell("mcu_advance", "", d.setting.mcu_advance);
            if d.warp {
                row.say(", warps by ")
                    .tell("warp_value", "mcu", d.setting.warp_value);
            }
        }
    }
}
