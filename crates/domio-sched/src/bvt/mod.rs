//! BVT: Xen's borrowed virtual time, the default of 2.0, there to choose until 3.0.2 (2006).
//!
//! Executing costs virtual time, more of it for a domain with a smaller share. Whoever has the
//! least runs. A domain may warp: it counts as if it were so much virtual time behind, and so comes
//! first for a while; what it executes then it pays for like everybody. Each pcpu is on its own;
//! nothing is balanced.
//!
//! The pages follow xen-spec section 1; names are Xen's where it has one.
//!
//! | page | holds |
//! |---|---|
//! | `params` | parameters, and what follows from them |
//! | `state` | private tables |
//! | `pass` | charging, picking, slices, the end of 32 bits |
//! | `wake` | wake-ups and whom they interrupt |
//! | `warp` | warping and its limits |
//! | `event`, `show` | private trace records; the state for people |

mod event;
mod params;
mod pass;
mod show;
mod state;
mod wake;
mod warp;

#[cfg(test)]
mod tests;

pub use params::{DESCRIPTOR, RELEASES};

use crate::placement;
use alloc::vec::Vec;
use domio_contract::{Conflict, Cx, Descriptor, Pick, Prev, Scheduler, StateRows, Wake};
use domio_core::{DomainId, Instant, ParamValues, PcpuId, Topology, VcpuId};
use params::{Setting, Settings};
use state::{Domain, Pcpu, Vcpu, flag};

/// Timer slot of a pass that a wake-up has brought forward (Xen sets the slice timer anew).
pub const FORWARD: u8 = 0;
/// Timer slot of the warp and unwarp timers of all domains that are at home on a pcpu.
pub const WARP: u8 = 1;

/// The policy's state.
pub struct Bvt {
    params: ParamValues,
    settings: Settings,
    /// By vcpu.
    vcpus: Vec<Vcpu>,
    /// By pcpu.
    pcpus: Vec<Pcpu>,
    /// By domain.
    domains: Vec<Domain>,
}

/// A time in the unit of the policy's tables.
#[inline]
fn ns(at: Instant) -> i64 {
    at.as_nanos() as i64
}

impl Bvt {
    /// A BVT policy for a host of this shape.
    pub fn new(params: &ParamValues, topology: &Topology) -> Self {
        Bvt {
            params: *params,
            settings: Settings::new(params),
            vcpus: Vec::new(),
            pcpus: alloc::vec![Pcpu::default(); topology.pcpus()],
            domains: Vec::new(),
        }
    }

    #[inline]
    fn domain(&self, vcpu: VcpuId) -> &Domain {
        &self.domains[usize::from(self.vcpus[vcpu.index()].domain)]
    }

    #[inline]
    fn domain_mut(&mut self, vcpu: VcpuId) -> &mut Domain {
        &mut self.domains[usize::from(self.vcpus[vcpu.index()].domain)]
    }

    /// Since when the current vcpu of `pcpu` has to be charged.
    #[inline]
    fn charged_since(&self, pcpu: &Pcpu) -> i64 {
        match self.settings.charges_whole_run {
            true => pcpu.entered,
            false => pcpu.passed,
        }
    }

    /// Takes `vcpu` out of the list of its pcpu.
    fn unlink(&mut self, vcpu: VcpuId) {
        let v = &mut self.vcpus[vcpu.index()];
        v.clear(flag::QUEUED);
        let list = &mut self.pcpus[usize::from(v.pcpu)].list;
        list.retain(|other| *other != vcpu);
    }

    /// The pcpu of `vcpu`, which is new or has to leave its own. A vcpu that is pinned anew goes
    /// to the lowest pcpu that it may use.
    fn place(&self, cx: &Cx<'_>, vcpu: VcpuId) -> PcpuId {
        if self.vcpus[vcpu.index()].has(flag::PLACED) {
            let lowest = cx.hard(vcpu).first();
            return lowest.expect("a vcpu has an online pcpu in its affinity");
        }
        let numbered = self.vcpus.iter().enumerate();
        let placed = numbered.filter(|(_, v)| v.has(flag::PLACED));
        placement::first_pcpu(cx, vcpu, placed.map(|(i, _)| VcpuId(i as u32)))
    }
}

impl Scheduler for Bvt {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn pcpu_online(&mut self, _: &mut Cx<'_>, pcpu: PcpuId) {
        self.pcpus[pcpu.index()] = Pcpu::default();
    }

    fn pcpu_offline(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        let p = &mut self.pcpus[pcpu.index()];
        assert!(p.list.is_empty(), "{pcpu} left with vcpus queued");
        if core::mem::take(&mut p.forward) {
            cx.stop_timer(pcpu, FORWARD);
        }
        self.leave_home(cx, pcpu);
    }

    fn set_domain(&mut self, cx: &mut Cx<'_>, domain: DomainId, params: &ParamValues) {
        self.adjust(cx, domain, Setting::new(params));
    }

    fn params(&self) -> Option<&ParamValues> {
        Some(&self.params)
    }

    fn set_params(&mut self, _: &mut Cx<'_>, params: &ParamValues) -> Result<(), Conflict> {
        DESCRIPTOR.check_change(&self.params, params)?;
        self.params = *params;
        self.settings = Settings::new(params);
        Ok(())
    }

    fn insert(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if self.vcpus.len() <= vcpu.index() {
            self.vcpus.resize(vcpu.index() + 1, Vcpu::ABSENT);
        }
        self.vcpus[vcpu.index()] = Vcpu {
            domain: cx.vcpu(vcpu).name.domain.0,
            flags: flag::PRESENT,
            ..Vcpu::ABSENT
        };
    }

    fn remove(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let v = &self.vcpus[vcpu.index()];
        assert!(!v.has(flag::QUEUED), "a vcpu leaves while it is queued");
        if v.has(flag::PLACED) {
            self.count_out(cx, vcpu);
        }
        self.vcpus[vcpu.index()] = Vcpu::ABSENT;
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let pcpu = self.place(cx, vcpu);
        let svt = self.pcpus[pcpu.index()].svt;
        let v = &mut self.vcpus[vcpu.index()];
        assert!(!v.has(flag::QUEUED), "a vcpu is placed while it is queued");
        if v.has(flag::PLACED) {
            if v.pcpu != pcpu.0 {
                v.set(flag::MIGRATED);
            }
            v.pcpu = pcpu.0;
        } else {
            v.set(flag::PLACED);
            v.pcpu = pcpu.0;
            (v.avt, v.evt) = (svt, svt);
            self.count_in(vcpu, pcpu);
        }
        pcpu
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, _: Wake) {
        self.wake_up(cx, vcpu);
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if cx.is_current(vcpu) {
            let pcpu = cx.vcpu(vcpu).pcpu;
            cx.tickle(pcpu);
        } else if self.vcpus[vcpu.index()].has(flag::QUEUED) {
            self.unlink(vcpu);
        }
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        self.pass(cx, pcpu, prev.vcpu)
    }

    fn timer(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, slot: u8) -> Option<Instant> {
        if slot == WARP {
            return self.warp_timers(cx, pcpu);
        }
        self.pcpus[pcpu.index()].forward = false;
        cx.tickle(pcpu);
        None
    }

    fn resume(&mut self, cx: &mut Cx<'_>, runnable: &[VcpuId], _: &StateRows) {
        let now = ns(cx.now());
        for p in &mut self.pcpus {
            (p.passed, p.entered) = (now, now);
        }
        for &vcpu in runnable {
            if cx.is_current(vcpu) {
                self.vcpus[vcpu.index()].set(flag::QUEUED);
                let pcpu = cx.vcpu(vcpu).pcpu;
                self.pcpus[pcpu.index()].list.push(vcpu);
            } else {
                self.wake_up(cx, vcpu);
            }
        }
    }

    fn state(&self, out: &mut StateRows) {
        self.describe(out);
    }
}
