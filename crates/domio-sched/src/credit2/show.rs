//! The state as rows (Xen's debug key `r`): told, and taken over by a host that starts in the
//! middle
//! of a run, where credits, budgets and averages of load have values that no empty start gives.
//!
//! Loads are told in percent and taken as the policy keeps them (`own_load`, `whole_load`,
//! `balanced_load`). A run queue is the one that has the first of its `pcpus`.

use super::load::Change;
use super::params::GRANULARITY;
use super::state::flag;
use super::{Credit2, ns};
use alloc::collections::BTreeSet;
use domio_contract::state::{About, StateRow};
use domio_contract::{Cx, StateRows};
use domio_core::{CpuSet, DomainId, Instant, VcpuId};

impl Credit2 {
    pub(super) fn describe(&self, out: &mut StateRows) {
        for i in self.existing() {
            self.describe_runq(out, i);
            for vcpu in self.members(i).filter(|v| self.runs(*v)) {
                self.describe_vcpu(out, "  runs: ", vcpu);
            }
            for vcpu in self.waiting(i) {
                self.describe_vcpu(out, "  waits: ", vcpu);
            }
        }
        for (i, d) in self.domains.iter().enumerate() {
            if d.cap != 0 {
                out.row("", About::Domain(DomainId(i as u16)))
                    .say("d")
                    .tell("domain", "", i)
                    .say(": cap ")
                    .tell("cap", "%", d.cap)
                    .say(" %, ")
                    .tell("budget", "ns", d.budget)
                    .say(" of ")
                    .tell("whole", "ns", d.whole)
                    .say(" ns left, next at ")
                    .tell("refill_at", "ns", d.refill_at)
                    .say(" ns, ")
                    .tell("parked", "", d.parked.len())
                    .say(" parked");
            }
        }
    }

    /// A load in percent.
    fn percent(&self, average: i64) -> i64 {
        (average * 100) >> self.settings.precision
    }

    fn runs(&self, vcpu: VcpuId) -> bool {
        self.vcpus[vcpu.index()].has(flag::SCHEDULED)
    }

    fn describe_runq(&self, out: &mut StateRows, i: usize) {
        let r = &self.runqs[i];
        out.row("", About::Runq(i))
            .say("run queue ")
            .tell("runq", "", i)
            .say(": pcpus ")
            .tell("pcpus", "", r.active)
            .say(", heaviest ")
            .tell("heaviest", "", r.max_weight)
            .say(", bias ")
            .tell("bias", "", alloc::format!("{}", r.pick_bias))
            .say(", load ")
            .tell("load", "", r.load)
            .say(", average ")
            .tell("average", "%", self.percent(r.average))
            .say(" %, balanced ")
            .tell("balanced", "%", self.percent(r.balanced))
            .say(" %")
            .hold("whole_load", "", r.average)
            .hold("balanced_load", "", r.balanced);
        out.row("  ", About::Runq(i))
            .say("idle ")
            .tell("idle", "", r.idle)
            .say(", tickled ")
            .tell("tickled", "", r.tickled)
            .say(", idle cores ")
            .tell("idle_cores", "", r.smt_idle);
    }

    fn describe_vcpu(&self, out: &mut StateRows, list: &'static str, vcpu: VcpuId) {
        let v = &self.vcpus[vcpu.index()];
        let row = out.row(list, About::Vcpu(vcpu));
        row.say("v")
            .tell("vcpu", "", vcpu.0)
            .say(" of d")
            .tell("domain", "", v.domain)
            .say(", weight ")
            .tell("weight", "", v.weight)
            .say(", credit ")
            .tell("credit", "ns", v.credit)
            .say(" + ")
            .tell("residual", "1/weight ns", v.residual)
            .say("/")
            .tell("residual_of", "", v.weight);
        if v.capped() {
            row.say(", budget ")
                .tell("budget", "ns", v.budget)
                .say(" of ")
                .tell("quota", "ns", v.quota);
        }
        let percent = self.percent(v.average);
        row.say(", load ")
            .tell("load", "%", percent)
            .say(" %")
            .hold("own_load", "", v.average)
            .hold("entered", "ns", v.entered);
    }

    /// Takes over `state`, where those that run have their pcpus already. Those that are runnable
    /// and not current are queued where they belong, by credit, and equal ones in the order of
    /// their rows. Nobody is woken: no pass is asked for.
    pub(super) fn take(&mut self, cx: &mut Cx<'_>, state: &StateRows) {
        let mut known = BTreeSet::new();
        let about = |row: &&StateRow| match row.about {
            About::Vcpu(vcpu) => known.insert(vcpu),
            _ => false,
        };
        for row in state.rows().iter().filter(about) {
            self.take_vcpu(cx, row);
        }
        let now = ns(cx.now()) >> GRANULARITY;
        for row in state.rows() {
            match row.about {
                About::Runq(_) => {
                    let pcpus = row
                        .get("pcpus")
                        .and_then(|pcpus: CpuSet| pcpus.iter().next());
                    if let Some(pcpu) = pcpus {
                        let runq = self.runq_of(pcpu);
                        let r = &mut self.runqs[runq];
                        row.put("whole_load", &mut r.average);
                        row.put("balanced_load", &mut r.balanced);
                        r.averaged = now;
                    }
                }
                About::Domain(domain) => {
                    if let Some(d) = self.domains.get_mut(domain.index())
                        && d.cap != 0
                    {
                        row.put("budget", &mut d.budget);
                        row.put("refill_at", &mut d.refill_at);
                        let at = Instant::from_nanos(d.refill_at as u64);
                        cx.set_domain_timer(domain, at);
                    }
                }
                About::Policy | About::Pcpu(_) | About::Vcpu(_) => {}
            }
        }
    }

    fn take_vcpu(&mut self, cx: &mut Cx<'_>, row: &StateRow) {
        let About::Vcpu(vcpu) = row.about else {
            return;
        };
        let current = cx.is_current(vcpu);
        let v = &mut self.vcpus[vcpu.index()];
        row.put("credit", &mut v.credit);
        row.put("residual", &mut v.residual);
        row.put("own_load", &mut v.average);
        v.averaged = ns(cx.now()) >> GRANULARITY;
        if v.capped() {
            row.put("budget", &mut v.budget);
        }
        if current {
            row.put("entered", &mut v.entered);
        }
        let domain = v.domain as usize;
        if row.get("parked").unwrap_or(false) {
            self.domains[domain].parked.push(vcpu);
        } else if !current && cx.vcpu(vcpu).runnable() {
            self.update_load(cx, vcpu, Change::Begins);
            self.enqueue(cx, vcpu);
        }
    }
}
