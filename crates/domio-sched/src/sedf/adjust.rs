//! What an operator changes, and slices that follow from weights (xen-spec 2, "Parameters").

use super::params::{Setting, Want};
use super::rules::WEIGHT_PERIOD;
use super::state::{Domain, flag};
use super::wake::scaled;
use super::{Sedf, event};
use domio_contract::Cx;
use domio_core::{DomainId, ParamValues, VcpuId};

/// Part of [`WEIGHT_PERIOD`] that is never shared out by weight, in nanoseconds.
const WEIGHT_SAFETY: i64 = 5_000_000;

impl Sedf {
    /// The parameters of `domain` are `params` from now on. What Xen would refuse changes nothing.
    ///
    /// Deadlines and places in the queues stay as they are, and nobody is tickled: the change shows
    /// from the next pass on.
    pub(super) fn adjust(&mut self, cx: &mut Cx<'_>, domain: DomainId, params: &ParamValues) {
        if self.domains.len() <= domain.index() {
            self.domains.resize(domain.index() + 1, Domain::UNKNOWN);
        }
        let Ok(setting) = Setting::new(&self.rules, domain, params) else {
            return;
        };
        self.domains[domain.index()].setting = setting;
        let ids = (0..self.vcpus.len() as u32).map(VcpuId);
        let mut exists = false;
        for vcpu in ids.clone() {
            if self.is_of(vcpu, domain) {
                self.reserve(vcpu, setting.want);
                exists = true;
            }
        }
        // A domain that is still to be built changes nothing for the others.
        if !exists {
            return;
        }
        self.turn_weights_into_slices();
        for vcpu in ids {
            if self.is_of(vcpu, domain) {
                self.share_extra_time(vcpu, &setting);
                event::reserve(cx, vcpu, &self.vcpus[vcpu.index()]);
                if self.vcpus[vcpu.index()].linked() {
                    self.tell_held(cx, vcpu);
                }
            }
        }
    }

    /// What its domain was set to.
    pub(super) fn setting(&self, vcpu: VcpuId) -> Setting {
        let domain = usize::from(self.vcpus[vcpu.index()].domain);
        let known = self.domains.get(domain);
        known.map_or(Setting::CREATED, |d| d.setting)
    }

    fn is_of(&self, vcpu: VcpuId, domain: DomainId) -> bool {
        let v = &self.vcpus[vcpu.index()];
        v.has(flag::PRESENT) && v.domain == domain.0
    }

    /// Gives `vcpu`, which is new, what Xen creates it with and then what its domain was set to.
    pub(super) fn create(&mut self, vcpu: VcpuId) {
        let setting = self.setting(vcpu);
        self.reserve(vcpu, Want::Created);
        self.reserve(vcpu, setting.want);
        self.share_extra_time(vcpu, &setting);
    }

    /// The reservation of `vcpu`, but for the slices that follow from weights.
    fn reserve(&mut self, vcpu: VcpuId, want: Want) {
        let v = &mut self.vcpus[vcpu.index()];
        match want {
            Want::Created => {
                let created = self.rules.created(DomainId(v.domain));
                v.weight = 0;
                v.extraweight = created.extraweight;
                (v.period, v.period_orig) = (created.period, created.period);
                (v.slice, v.slice_orig) = (created.slice, created.slice);
            }
            // The original reservation stays in Xen's books: weights are still shared out as if it
            // were in force.
            Want::BestEffort { weight } => {
                v.weight = 0;
                v.extraweight = weight;
                (v.period, v.slice) = (WEIGHT_PERIOD, 0);
            }
            Want::Weighted { weight } => v.weight = weight,
            Want::Reserved { period, slice } => {
                v.weight = 0;
                v.extraweight = 0;
                (v.period, v.period_orig) = (period, period);
                (v.slice, v.slice_orig) = (slice, slice);
            }
        }
    }

    fn share_extra_time(&mut self, vcpu: VcpuId, setting: &Setting) {
        let v = &mut self.vcpus[vcpu.index()];
        v.latency = setting.latency;
        match setting.extratime {
            true => v.set(flag::AWARE),
            false => v.clear(flag::AWARE),
        }
        self.check_extra(vcpu);
    }

    /// On each pcpu, vcpus with a weight share what the others there leave of 95 ms in 100 ms.
    /// Where those reserve more, slices are negative, as in Xen: who has one is always over it.
    pub(super) fn turn_weights_into_slices(&mut self) {
        for pcpu in &mut self.pcpus {
            (pcpu.weights, pcpu.reserved) = (0, 0);
        }
        for v in self.vcpus.iter().filter(|v| v.has(flag::PLACED)) {
            let pcpu = &mut self.pcpus[usize::from(v.pcpu)];
            match v.weight {
                0 => pcpu.reserved += scaled(WEIGHT_PERIOD, v.slice_orig, v.period_orig),
                weight => pcpu.weights += weight,
            }
        }
        for v in self.vcpus.iter_mut() {
            if v.has(flag::PLACED) && v.weight > 0 {
                let pcpu = &self.pcpus[usize::from(v.pcpu)];
                let shared = WEIGHT_PERIOD - WEIGHT_SAFETY - pcpu.reserved;
                let slice = scaled(v.weight, shared, pcpu.weights);
                (v.period, v.period_orig) = (WEIGHT_PERIOD, WEIGHT_PERIOD);
                (v.slice, v.slice_orig) = (slice, slice);
            }
        }
    }
}
