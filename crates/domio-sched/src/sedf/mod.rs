//! SEDF: Xen's simple earliest deadline first, from 3.0 (2005) to 4.5 (2015).
//!
//! A vcpu may reserve a slice of each of its periods. Whoever has some of its slice left runs, the
//! one whose period ends first before the others. What nobody has reserved is extra time: it is
//! shared in turns of 500 us by those who take part in it, first to make up for what was lost by
//! short blocks, then by weight. Each pcpu is on its own; nothing is balanced.
//!
//! One implementation serves every release: [`rules`] says what changed and when. The pages follow
//! xen-spec section 2; names are Xen's where it has one.
//!
//! | page | holds |
//! |---|---|
//! | [`rules`] | the differences between releases, and what a domain is created with |
//! | `params` | parameters, their check, what an operator wants by them |
//! | `state`, `queues` | private tables; the four queues of a pcpu |
//! | `pass` | the pass: reservations, deadlines, preemption |
//! | `extra` | extra time |
//! | `wake` | short and long blocks |
//! | [`dc`] | SEDF-DC, which shares all of this: its parameters and what it does otherwise |
//! | [`aware`] | the communication-aware variant, likewise |
//! | `adjust` | changes by an operator; weights that become slices |
//! | `place` | choosing a pcpu |
//! | `event`, `show` | private trace records; the state for people |

mod adjust;
pub mod aware;
pub mod dc;
mod event;
mod extra;
mod params;
mod pass;
mod place;
mod queues;
pub mod rules;
mod show;
mod state;
mod wake;

#[cfg(test)]
mod tests;

pub use params::{DESCRIPTOR, Invalid, RELEASES, Unblock, validate, validate_domain};

use alloc::vec::Vec;
use aware::Listener;
use dc::Collector;
use domio_contract::{Cx, Descriptor, PacketsMoved, Pick, Prev, Scheduler, StateRows, Wake};
use domio_core::{DomainId, Duration, Instant, ParamValues, PcpuId, Topology, VcpuId};
use rules::Rules;
use state::{Domain, NIL, Pcpu, Vcpu, flag};

/// The policy's state.
pub struct Sedf {
    rules: Rules,
    unblock: Unblock,
    /// How debts are collected; `None` in plain SEDF, where nobody has any.
    collector: Option<Collector>,
    /// Who has moved how many packets; `None` in plain SEDF, where nobody asks.
    listener: Option<Listener>,
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

impl Sedf {
    /// A SEDF policy for a host of this shape.
    ///
    /// A way to wake that the release lacks, which [`validate`] refuses, is replaced by the one
    /// that it has.
    pub fn new(params: &ParamValues, topology: &Topology) -> Self {
        let (rules, unblock) = params::rules_and_unblock(params);
        Sedf::with(rules, unblock, topology)
    }

    /// A SEDF-DC policy, from values of the parameters of [`dc::DESCRIPTOR`].
    pub fn collecting(params: &ParamValues, topology: &Topology) -> Self {
        let params = dc::Params::from(params);
        let rules = Rules::of(params.version);
        let mut sedf = Sedf::with(rules, Unblock::ExtraSupport, topology);
        sedf.collector = Some(Collector::new(&params));
        sedf
    }

    /// A communication-aware policy, from values of the parameters of [`aware::DESCRIPTOR`].
    pub fn listening(params: &ParamValues, topology: &Topology) -> Self {
        let params = aware::Params::from(params);
        let rules = Rules::of(params.version);
        let mut sedf = Sedf::with(rules, Unblock::ExtraSupport, topology);
        sedf.listener = Some(Listener::new(&params));
        sedf
    }

    fn with(rules: Rules, unblock: Unblock, topology: &Topology) -> Self {
        Sedf {
            rules,
            unblock,
            collector: None,
            listener: None,
            vcpus: Vec::new(),
            pcpus: alloc::vec![Pcpu::IDLE; topology.pcpus()],
            domains: Vec::new(),
        }
    }

    /// The rules in force.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }
}

impl Scheduler for Sedf {
    fn descriptor(&self) -> &'static Descriptor {
        match (&self.collector, &self.listener) {
            (Some(_), _) => &dc::DESCRIPTOR,
            (None, Some(_)) => &aware::DESCRIPTOR,
            (None, None) => &DESCRIPTOR,
        }
    }

    fn pcpu_online(&mut self, _: &mut Cx<'_>, pcpu: PcpuId) {
        self.pcpus[pcpu.index()] = Pcpu::IDLE;
    }

    fn pcpu_offline(&mut self, _: &mut Cx<'_>, pcpu: PcpuId) {
        assert!(
            self.pcpus[pcpu.index()].heads == [NIL; 4],
            "{pcpu} left with vcpus queued"
        );
    }

    fn set_domain(&mut self, cx: &mut Cx<'_>, domain: DomainId, params: &ParamValues) {
        self.adjust(cx, domain, params);
    }

    fn charge(&mut self, cx: &mut Cx<'_>, domain: DomainId, done: Duration) -> bool {
        self.charge_domain(cx, domain, done)
    }

    fn debt(&self, domain: DomainId) -> Option<Duration> {
        self.debt_of(domain)
    }

    fn packets(&mut self, cx: &mut Cx<'_>, moved: PacketsMoved) {
        if let Some(listener) = &mut self.listener {
            listener.count(ns(cx.now()), moved);
        }
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
        self.create(vcpu);
    }

    fn remove(&mut self, _: &mut Cx<'_>, vcpu: VcpuId) {
        assert!(
            !self.vcpus[vcpu.index()].linked(),
            "a vcpu leaves while it is queued"
        );
        self.vcpus[vcpu.index()] = Vcpu::ABSENT;
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        self.place(cx, vcpu)
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, _: Wake) {
        // A move looks like any other wake-up, and may cost the rest of a slice.
        self.wake_up(cx, vcpu);
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if cx.is_current(vcpu) {
            let pcpu = cx.vcpu(vcpu).pcpu;
            cx.tickle(pcpu);
        } else {
            self.dequeue_all(vcpu);
        }
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        if let Some(vcpu) = prev.vcpu {
            self.leave(cx, vcpu);
        }
        self.update_queues(cx, pcpu);
        if let Some(vcpu) = prev.vcpu.filter(|v| self.vcpus[v.index()].linked()) {
            self.tell_held(cx, vcpu);
        }
        self.choose(cx, pcpu)
    }

    fn state(&self, out: &mut StateRows) {
        self.describe(out);
    }
}
