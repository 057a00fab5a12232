//! Wake-ups: no credit for having slept, and whom they interrupt (xen-spec 1, "Wake").

use super::state::flag;
use super::{Bvt, FORWARD, event, ns};
use domio_contract::Cx;
use domio_core::{Instant, PcpuId, VcpuId};

impl Bvt {
    /// `vcpu` is runnable from now on.
    pub(super) fn wake_up(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if self.vcpus[vcpu.index()].has(flag::QUEUED) {
            return;
        }
        let pcpu = cx.vcpu(vcpu).pcpu;
        let p = &mut self.pcpus[pcpu.index()];
        p.list.insert(0, vcpu);
        let svt = p.svt;
        let v = &mut self.vcpus[vcpu.index()];
        v.set(flag::QUEUED);
        if v.avt < svt || v.has(flag::MIGRATED) {
            v.avt = svt;
        }
        v.clear(flag::MIGRATED);
        let avt = v.avt;
        let evt = self.domain(vcpu).effective(avt);
        self.vcpus[vcpu.index()].evt = evt;
        event::woke(cx, vcpu, avt, evt);
        self.preempt(cx, pcpu, evt);
    }

    /// Somebody with this effective virtual time has come to `pcpu`: a pass follows immediately, or
    /// when the current vcpu is as far as that.
    fn preempt(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, evt: u32) {
        let now = ns(cx.now());
        let Some(current) = cx.current(pcpu) else {
            cx.tickle(pcpu);
            return;
        };
        let domain = self.domain(current);
        let current_evt = domain.effective(self.charged(pcpu, current, now));
        if evt <= current_evt {
            cx.tickle(pcpu);
            return;
        }
        // The same mistake of units as in the pass.
        let units = (evt - current_evt) / domain.setting.mcu_advance;
        let p = &self.pcpus[pcpu.index()];
        let due = self.charged_since(p) + i64::from(units) + self.settings.ctx_allow;
        let p = &mut self.pcpus[pcpu.index()];
        if p.expires > due {
            p.expires = due;
            p.forward = true;
            let at = Instant::from_nanos(due.max(now) as u64);
            cx.set_timer(pcpu, FORWARD, at);
        }
    }
}
