//! Null: one vcpu, one pcpu, no scheduling (Xen 4.17, `sched/null.c`; xen-spec 4.3).
//!
//! A vcpu is bound to a free pcpu of its affinity when it is inserted, and runs there whenever it
//! is runnable. Vcpus that found none wait in a FIFO and get a pcpu only when one is given back.

use crate::contract::{Descriptor, Needs, Pick, Prev, Promises, Scheduler, Wake};
use crate::cx::Cx;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;
use domio_core::{DomainId, ParamValues, PcpuId, Topology, VcpuId};

/// What this policy is.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "null",
    summary: "each vcpu owns a pcpu; the others wait until one is free",
    source: "Xen 4.17, sched/null.c",
    trace_id: 5,
    params: &[],
    changeable: &[],
    domain_params: &[],
    needs: Needs {
        tickle: true,
        timers: false,
        park: false,
        context_saved: true,
    },
    promises: Promises {
        work_conserving: false,
        balances: false,
        starvation_free: false,
        weights: false,
        caps: false,
    },
};

/// The policy's state.
pub struct Null {
    /// By pcpu: who owns it.
    owner: Vec<Option<VcpuId>>,
    /// Vcpus without a pcpu, longest waiting first.
    waiting: VecDeque<VcpuId>,
}

impl Null {
    /// A null policy for a host of this shape.
    pub fn new(_: &ParamValues, topology: &Topology) -> Self {
        Null {
            owner: alloc::vec![None; topology.pcpus()],
            waiting: VecDeque::new(),
        }
    }

    fn owned_by(&self, vcpu: VcpuId) -> Option<PcpuId> {
        self.owner
            .iter()
            .position(|o| *o == Some(vcpu))
            .map(|p| PcpuId(p as u16))
    }

    fn own(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, vcpu: VcpuId) {
        self.owner[pcpu.index()] = Some(vcpu);
        if cx.vcpu(vcpu).runnable() {
            cx.tickle(pcpu);
        }
    }

    /// Gives a free `pcpu` to the first waiting vcpu that may use it.
    fn give_away(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        if self.owner[pcpu.index()].is_none()
            && cx.online().contains(pcpu)
            && let Some(at) = self.waiting.iter().position(|v| cx.hard(*v).contains(pcpu))
            && let Some(vcpu) = self.waiting.remove(at)
        {
            self.own(cx, pcpu, vcpu);
        }
    }

    fn let_go(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.waiting.retain(|v| *v != vcpu);
        if let Some(pcpu) = self.owned_by(vcpu) {
            self.owner[pcpu.index()] = None;
            self.give_away(cx, pcpu);
        }
    }
}

impl Scheduler for Null {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn pcpu_online(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        self.give_away(cx, pcpu);
    }

    fn pcpu_offline(&mut self, _: &mut Cx<'_>, pcpu: PcpuId) {
        if let Some(vcpu) = self.owner[pcpu.index()].take() {
            self.waiting.push_back(vcpu);
        }
    }

    fn set_domain(&mut self, _: &mut Cx<'_>, _: DomainId, _: &ParamValues) {}

    fn insert(&mut self, _: &mut Cx<'_>, _: VcpuId) {}

    fn remove(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.let_go(cx, vcpu);
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let allowed = cx.hard(vcpu) & cx.online();
        if let Some(pcpu) = self.owned_by(vcpu) {
            if allowed.contains(pcpu) {
                return pcpu;
            }
            self.let_go(cx, vcpu);
        }
        let free = allowed.iter().find(|p| self.owner[p.index()].is_none());
        match free {
            Some(pcpu) => {
                self.waiting.retain(|v| *v != vcpu);
                self.owner[pcpu.index()] = Some(vcpu);
                pcpu
            }
            None => {
                if !self.waiting.contains(&vcpu) {
                    self.waiting.push_back(vcpu);
                }
                allowed
                    .first()
                    .expect("the host keeps an allowed pcpu online")
            }
        }
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, _: Wake) {
        if let Some(pcpu) = self.owned_by(vcpu)
            && cx.current(pcpu) != Some(vcpu)
        {
            cx.tickle(pcpu);
        }
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if cx.is_current(vcpu) {
            let pcpu = cx.vcpu(vcpu).pcpu;
            cx.tickle(pcpu);
        }
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, _: Prev) -> Pick {
        let next = self.owner[pcpu.index()].filter(|v| {
            let view = cx.vcpu(*v);
            view.runnable() && (!view.on_pcpu || cx.current(pcpu) == Some(*v))
        });
        Pick {
            next,
            time_slice: None,
        }
    }

    fn context_saved(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        // Its new pcpu may have looked for it while the old one still held its state.
        if cx.vcpu(vcpu).runnable()
            && let Some(pcpu) = self.owned_by(vcpu)
            && cx.current(pcpu) != Some(vcpu)
        {
            cx.tickle(pcpu);
        }
    }

    fn dump(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        writeln!(out, "owner by pcpu: {:?}", self.owner)?;
        writeln!(out, "waiting: {:?}", self.waiting)
    }
}
