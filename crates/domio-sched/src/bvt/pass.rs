//! The scheduler pass: charging who ran, picking by effective virtual time, the length of the
//! slice, and the end of 32 bits (xen-spec 1, "Charging", "Pass").

use super::state::flag;
use super::{Bvt, FORWARD, event, ns};
use domio_contract::{Cx, Pick};
use domio_core::{Duration, PcpuId, VcpuId};

/// Minimum charging unit: 100 us.
const MCU: u32 = 100_000;

/// Slices of a vcpu that has its pcpu to itself, in context switch allowances.
const ALONE: i64 = 10;

/// System virtual time at which all times of a pcpu are set back, and by how much.
const WRAP_AT: u32 = 0xf000_0000;
const WRAP_BY: u32 = 0xe000_0000;

/// What a walk over the list of a pcpu finds.
struct Found {
    /// Who has the least effective virtual time, the nearest to the head of equals.
    next: VcpuId,
    /// The second smallest effective virtual time, if there are two vcpus.
    second: Option<u32>,
    /// The least actual virtual time.
    least: u32,
}

impl Bvt {
    /// The actual virtual time that `vcpu`, which is current on `pcpu`, has at `now`.
    pub(super) fn charged(&self, pcpu: PcpuId, vcpu: VcpuId, now: i64) -> u32 {
        let (v, p) = (&self.vcpus[vcpu.index()], &self.pcpus[pcpu.index()]);
        // Xen's 32 bits: whole runs, which only 3.0.2 looks at, begin anew every 4.3 s.
        let ran = (now - self.charged_since(p)) as u32;
        let mcus = ran.wrapping_add(MCU - 1) / MCU;
        let advance = self.domain(vcpu).setting.mcu_advance;
        v.avt.wrapping_add(mcus.wrapping_mul(advance))
    }

    /// `vcpu` ran on `pcpu` until now.
    fn leave(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, vcpu: VcpuId) {
        let avt = self.charged(pcpu, vcpu, ns(cx.now()));
        let evt = self.domain(vcpu).effective(avt);
        let v = &mut self.vcpus[vcpu.index()];
        (v.avt, v.evt) = (avt, evt);
        event::charge(cx, vcpu, avt, evt);
        self.stop_warp_timer(cx, vcpu);
        self.unlink(vcpu);
        if cx.vcpu(vcpu).runnable() {
            self.vcpus[vcpu.index()].set(flag::QUEUED);
            self.pcpus[pcpu.index()].list.push(vcpu);
        }
    }

    fn look(&self, pcpu: PcpuId) -> Option<Found> {
        let mut list = self.pcpus[pcpu.index()].list.iter();
        let first = *list.next()?;
        let v = &self.vcpus[first.index()];
        let (mut evt, mut found) = (
            v.evt,
            Found {
                next: first,
                second: None,
                least: v.avt,
            },
        );
        for &vcpu in list {
            let v = &self.vcpus[vcpu.index()];
            found.least = found.least.min(v.avt);
            if v.evt < evt {
                found.second = Some(evt);
                (found.next, evt) = (vcpu, v.evt);
            } else if found.second.is_none_or(|second| v.evt < second) {
                found.second = Some(v.evt);
            }
        }
        Some(found)
    }

    /// Sets all virtual times of `pcpu` back before they reach the end of 32 bits. The time of a
    /// vcpu that has slept for long goes below zero by that, and so to the other end.
    fn wrap(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        let p = &mut self.pcpus[pcpu.index()];
        if p.svt < WRAP_AT {
            return;
        }
        p.svt -= WRAP_BY;
        event::wrap(cx, pcpu, p.svt);
        for v in self.vcpus.iter_mut() {
            if v.has(flag::PLACED) && v.pcpu == pcpu.0 {
                v.avt = v.avt.wrapping_sub(WRAP_BY);
                v.evt = v.evt.wrapping_sub(WRAP_BY);
            }
        }
    }

    /// The vcpu that runs on `pcpu`, where `prev` ran until now, and for how long.
    pub(super) fn pass(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Option<VcpuId>) -> Pick {
        let now = ns(cx.now());
        if let Some(vcpu) = prev {
            self.leave(cx, pcpu, vcpu);
        }
        let found = self.look(pcpu);
        let mut length = self.settings.ctx_allow;
        if let Some(found) = &found {
            self.pcpus[pcpu.index()].svt = found.least;
            self.start_warp_timer(cx, found.next);
            let ahead = found.second.map(|second| {
                // A number of charging units, which Xen adds to nanoseconds.
                let units = second - self.vcpus[found.next.index()].evt;
                units / self.domain(found.next).setting.mcu_advance
            });
            match ahead {
                Some(units) => length += i64::from(units),
                None => length *= ALONE,
            }
            self.wrap(cx, pcpu);
            event::pick(cx, found.next, self.vcpus[found.next.index()].evt, length);
        }
        let next = found.map(|f| f.next);
        let p = &mut self.pcpus[pcpu.index()];
        if core::mem::take(&mut p.forward) {
            cx.stop_timer(pcpu, FORWARD);
        }
        p.passed = now;
        if next != prev {
            p.entered = now;
        }
        p.expires = now + length;
        Pick {
            next,
            time_slice: Some(Duration::from_nanos(length as u64)),
        }
    }
}
