//! What the policy is notified of single vcpus and of groups of domains.

use super::Host;
use crate::bus::device::Device;
use crate::config::GroupConfig;
use crate::event::Queue;
use crate::hypervisor::pcpu::Cause;
use domio_contract::GroupId;
use domio_core::{DomainId, Instant, ParamValues, PcpuId, Sink, VcpuId};

impl<S: Sink, D: Device> Host<S, D> {
    /// `vcpu` has these parameters, whatever its domain has.
    pub(super) fn tell_vcpu(
        &mut self,
        queue: &mut Queue,
        vcpu: VcpuId,
        params: &ParamValues,
        now: Instant,
    ) {
        let on = self.xen.toolstack_pcpu();
        self.xen.ask(queue, on, now, Cause::Operator, |s, cx| {
            s.set_vcpu(cx, vcpu, params)
        });
    }

    /// The groups, each after the one that it is in.
    pub(super) fn tell_groups(&mut self, queue: &mut Queue, now: Instant) {
        for i in 0..self.domains.groups.len() {
            let params = self.domains.groups[i].params;
            self.set_group(queue, GroupId(i as u16), &params, now);
        }
    }

    /// `group` has these parameters.
    pub(super) fn set_group(
        &mut self,
        queue: &mut Queue,
        group: GroupId,
        params: &ParamValues,
        now: Instant,
    ) {
        let Some(known) = self.domains.groups.get(group.index()) else {
            return;
        };
        let parent = known.parent;
        let on = self.xen.toolstack_pcpu();
        self.xen.ask(queue, on, now, Cause::Operator, |s, cx| {
            s.set_group(cx, group, parent, params)
        });
    }

    /// `domain`, which is new, goes into its group, if it has one.
    pub(super) fn join_first(
        &mut self,
        queue: &mut Queue,
        domain: DomainId,
        on: PcpuId,
        now: Instant,
    ) {
        let holds = |g: &GroupConfig| g.domains.contains(&domain);
        if let Some(i) = self.domains.groups.iter().position(holds) {
            let group = Some(GroupId(i as u16));
            self.xen.ask(queue, on, now, Cause::Operator, |s, cx| {
                s.join(cx, domain, group)
            });
        }
    }
}
