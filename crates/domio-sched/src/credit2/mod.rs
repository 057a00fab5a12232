//! Credit2: Xen's default scheduler since 4.12, with the rules of each release from 4.10 (2017) to
//! 4.20 (2025).
//!
//! Pcpus share run queues, one for each socket by default. A vcpu burns credit while it runs, the
//! faster the less weight it has, and the vcpu that waits with most credit runs next. When the
//! credit of all is used up, everyone gets the same amount again. Run queues are balanced by their
//! average load; caps are kept by budgets of 10 ms.
//!
//! The pages follow xen-spec section 4.1; names are Xen's where it has one.
//!
//! | page | holds |
//! |---|---|
//! | `params` | parameters, constants, what follows from them |
//! | `rules` | what changed from release to release |
//! | `state`, `runq` | private tables; the run queues and their lists |
//! | `pcpus` | pcpus that come and go; which of them share a run queue |
//! | `burn` | credit: burning, the reset, slices |
//! | `load` | averages of load |
//! | `pass` | the pass |
//! | `tickle` | whom to ask for a pass |
//! | `balance` | moves between run queues; choosing a pcpu |
//! | `cap` | budgets, parking, changes of weights and caps |
//! | `event`, `show` | private trace records; the state for people |

mod balance;
mod burn;
mod cap;
mod event;
mod load;
mod params;
mod pass;
mod pcpus;
mod rules;
mod runq;
mod show;
mod state;
mod tickle;

#[cfg(test)]
mod tests;

pub use params::{CREDIT_INIT, CREDIT_MIN, DESCRIPTOR, MAX_TIMER, validate, validate_domain};
pub use rules::RELEASES;

use alloc::vec::Vec;
use domio_contract::{Conflict, Cx, Descriptor, Pick, Prev, Scheduler, StateRows, Wake};
use domio_core::{DomainId, Instant, ParamValues, PcpuId, PcpuTable, Topology, VcpuId};
use load::Change;
use params::{DomainParams, GRANULARITY, Settings};
use pcpus::Pcpu;
use state::{Domain, Runq, Vcpu, flag};

/// The policy's state.
pub struct Credit2 {
    settings: Settings,
    params: ParamValues,
    /// By vcpu.
    vcpus: Vec<Vcpu>,
    /// By pcpu.
    pcpus: PcpuTable<Pcpu>,
    /// By domain.
    domains: Vec<Domain>,
    /// By number; those that do not exist any more stay until their number is used again.
    runqs: Vec<Runq>,
    /// The pcpu whose hypervisor code calls: the buffer of private records.
    here: PcpuId,
    /// How often a pcpu came online.
    came_online: usize,
}

/// A time in the unit of the policy's tables.
#[inline]
fn ns(at: Instant) -> i64 {
    at.as_nanos() as i64
}

impl Credit2 {
    /// A credit2 policy for a host of this shape.
    pub fn new(params: &ParamValues, topology: &Topology) -> Self {
        Credit2 {
            settings: Settings::new(params),
            params: *params,
            vcpus: Vec::new(),
            pcpus: PcpuTable::new(topology.pcpus(), Pcpu::OFFLINE),
            domains: Vec::new(),
            runqs: Vec::new(),
            here: PcpuId(0),
            came_online: 0,
        }
    }

    /// `vcpu` becomes part of the load, waits and looks for a pcpu.
    #[inline]
    fn begin_waiting(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.update_load(cx, vcpu, Change::Begins);
        self.enqueue(cx, vcpu);
        self.tickle(cx, vcpu);
    }

    /// `vcpu` was current on its pcpu when the host started.
    fn resume_current(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let pcpu = cx.vcpu(vcpu).pcpu;
        self.update_load(cx, vcpu, Change::Begins);
        let now = ns(cx.now());
        let v = &mut self.vcpus[vcpu.index()];
        v.set(flag::SCHEDULED);
        (v.start, v.entered) = (now, now);
        let core = self.pcpus[pcpu].core;
        let runq = &mut self.runqs[self.pcpus[pcpu].runq as usize];
        runq.idle.remove(pcpu);
        runq.core_is_busy(&core);
    }
}

impl Scheduler for Credit2 {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn pcpu_online(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        self.here = pcpu;
        self.add_pcpu(cx, pcpu);
    }

    fn pcpu_offline(&mut self, _: &mut Cx<'_>, pcpu: PcpuId) {
        self.here = pcpu;
        self.remove_pcpu(pcpu);
    }

    fn set_domain(&mut self, cx: &mut Cx<'_>, domain: DomainId, params: &ParamValues) {
        self.here = cx.here();
        if self.domains.len() <= domain.index() {
            self.domains.resize(domain.index() + 1, Domain::UNKNOWN);
        }
        let DomainParams { weight, mut cap } = params.into();
        if !self.settings.rules.caps {
            cap = 0;
        }
        self.adjust(cx, domain, weight, cap);
    }

    fn params(&self) -> Option<&ParamValues> {
        Some(&self.params)
    }

    /// Xen's `csched2_sys_cntl`: the rate limit. A slice that runs already keeps its length.
    fn set_params(&mut self, _: &mut Cx<'_>, params: &ParamValues) -> Result<(), Conflict> {
        DESCRIPTOR.check_change(&self.params, params)?;
        self.params = *params;
        self.settings = Settings::new(params);
        Ok(())
    }

    fn insert(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.here = cx.here();
        if self.vcpus.len() <= vcpu.index() {
            self.vcpus.resize(vcpu.index() + 1, Vcpu::ABSENT);
        }
        let domain = cx.vcpu(vcpu).name.domain;
        self.vcpus[vcpu.index()] = Vcpu {
            domain: domain.0,
            flags: flag::UNPLACED,
            credit: CREDIT_INIT,
            weight: self.domains[domain.index()].weight,
            // Half a vcpu's, until something is known.
            average: 1 << (self.settings.precision - 1),
            averaged: ns(cx.now()) >> GRANULARITY,
            ..Vcpu::ABSENT
        };
        self.domains[domain.index()].vcpus.push(vcpu);
        self.adjust_cap(cx, domain.index());
    }

    fn remove(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.here = cx.here();
        self.leave(cx, vcpu);
        let domain = self.vcpus[vcpu.index()].domain as usize;
        let d = &mut self.domains[domain];
        d.vcpus.retain(|v| *v != vcpu);
        if d.parked.contains(&vcpu) {
            d.parked.retain(|v| *v != vcpu);
            // Whether it could run now is of no interest any more.
            let _ = cx.unpark(vcpu);
        }
        if d.vcpus.is_empty() && d.cap != 0 {
            d.cap = 0;
            cx.stop_domain_timer(DomainId(domain as u16));
        }
        self.vcpus[vcpu.index()] = Vcpu::ABSENT;
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        self.here = cx.here();
        self.place(cx, vcpu)
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, _: Wake) {
        self.here = cx.here();
        let v = &mut self.vcpus[vcpu.index()];
        if v.has(flag::QUEUED) || cx.is_current(vcpu) {
            return;
        }
        if v.has(flag::SCHEDULED) {
            // It queues up when its state is saved.
            v.set(flag::DELAYED_ADD);
            return;
        }
        self.begin_waiting(cx, vcpu);
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.here = cx.here();
        if cx.is_current(vcpu) {
            self.ask_for_pass(cx, cx.vcpu(vcpu).pcpu);
        } else if self.vcpus[vcpu.index()].has(flag::QUEUED) {
            self.update_load(cx, vcpu, Change::Ceases);
            self.dequeue(vcpu);
        } else {
            self.vcpus[vcpu.index()].clear(flag::DELAYED_ADD);
        }
    }

    fn yielded(&mut self, _: &mut Cx<'_>, vcpu: VcpuId) {
        self.vcpus[vcpu.index()].set(flag::YIELD);
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        self.here = pcpu;
        self.pass(cx, pcpu, prev)
    }

    fn context_saved(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.here = cx.vcpu(vcpu).pcpu;
        let v = &mut self.vcpus[vcpu.index()];
        v.clear(flag::SCHEDULED);
        let queues_up = v.take(flag::DELAYED_ADD);
        let domain = v.domain as usize;
        let parked = match v.capped() && v.budget > 0 {
            true => self.return_budget(vcpu),
            false => Vec::new(),
        };
        if queues_up && cx.vcpu(vcpu).runnable() {
            self.enqueue(cx, vcpu);
            self.tickle(cx, vcpu);
        } else {
            self.update_load(cx, vcpu, Change::Ceases);
        }
        if !parked.is_empty() {
            self.unpark(cx, &parked);
            self.keep_list(domain, parked);
        }
    }

    fn domain_timer(&mut self, cx: &mut Cx<'_>, domain: DomainId) -> Option<Instant> {
        self.here = cx.here();
        self.refill(cx, domain)
    }

    fn resume(&mut self, cx: &mut Cx<'_>, runnable: &[VcpuId], state: &StateRows) {
        self.here = cx.here();
        // The host shows them elsewhere than where they were placed a moment ago.
        for i in 0..self.vcpus.len() {
            let vcpu = VcpuId(i as u32);
            let to = self.runq_of(cx.vcpu(vcpu).pcpu);
            if self.vcpus[i].runq as usize != to {
                self.leave(cx, vcpu);
                self.join(cx, vcpu, to);
            }
        }
        for &vcpu in runnable {
            if cx.is_current(vcpu) {
                self.resume_current(cx, vcpu);
            }
        }
        if !state.rows().is_empty() {
            return self.take(cx, state);
        }
        for &vcpu in runnable {
            self.wake(cx, vcpu, Wake::Event);
        }
    }

    fn state(&self, out: &mut StateRows) {
        self.describe(out);
    }
}
