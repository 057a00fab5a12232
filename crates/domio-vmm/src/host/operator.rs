//! What an operator does to a running host, and a controller on the operator's behalf.

use super::Host;
use crate::bus::device::Device;
use crate::config::Action;
use crate::event::Queue;
use crate::hypervisor::pcpu::Cause;
use alloc::vec::Vec;
use domio_contract::Pause;
use domio_core::{DomainId, Instant, ParamValues, Sink, VcpuId, XenVersion};

impl<S: Sink, D: Device> Host<S, D> {
    pub(super) fn operator(&mut self, queue: &mut Queue, action: usize, now: Instant) {
        match self.domains.actions[action].1.clone() {
            Action::Pause(domain) => {
                if self.domains.count_pause(self.xen.release.version, domain) {
                    let vcpus = self.domains.vcpus_of(domain);
                    self.pause_all(queue, &vcpus, now);
                }
            }
            Action::Unpause(domain) => {
                if self.domains.count_unpause(domain) {
                    let vcpus = self.domains.vcpus_of(domain);
                    self.unpause_all(queue, &vcpus, now);
                }
            }
            Action::SetParams(domain, params) => self.adjust(queue, domain, &params, now),
            Action::SetVcpu {
                domain,
                vcpu,
                params,
            } => {
                if let Some(&vcpu) = self.domains.vcpus_of(domain).get(vcpu as usize) {
                    self.tell_vcpu(queue, vcpu, &params, now);
                }
            }
            Action::SetGroup(group, params) => self.set_group(queue, group, &params, now),
            Action::Join(domain, group) => {
                if self.domains.is_alive(domain) {
                    let on = self.xen.toolstack_pcpu();
                    self.xen.ask(queue, on, now, Cause::Operator, |s, cx| {
                        s.join(cx, domain, group)
                    });
                }
            }
            Action::SetPolicy(params) => {
                self.set_policy(queue, &params, now);
            }
            Action::Pin {
                domain,
                vcpu,
                hard,
                soft,
            } => {
                let target = self.domains.vcpus_of(domain).get(vcpu as usize).copied();
                if let Some(vcpu) = target {
                    let hard = hard & self.xen.release.pool_of(domain);
                    self.xen.pin(queue, vcpu, hard, soft, now);
                }
            }
            Action::PcpuOffline(pcpu) => self.xen.pcpu_offline(queue, pcpu, now),
            Action::PcpuOnline(pcpu) => self.xen.pcpu_online(queue, pcpu, now),
        }
    }

    /// Gives the policy other parameters. Where it refuses, the toolstack prints what is wrong, and
    /// the host continues as before.
    pub(super) fn set_policy(&mut self, queue: &mut Queue, params: &ParamValues, now: Instant) {
        let on = self.xen.toolstack_pcpu();
        let _ = self.xen.ask(queue, on, now, Cause::Operator, |s, cx| {
            s.set_params(cx, params)
        });
    }

    fn pause_all(&mut self, queue: &mut Queue, vcpus: &[VcpuId], now: Instant) {
        for &vcpu in vcpus {
            let pcpu = self.xen.policy.view(vcpu).pcpu;
            self.xen.pause(queue, vcpu, Pause::PAUSED, pcpu, now);
        }
    }

    fn unpause_all(&mut self, queue: &mut Queue, vcpus: &[VcpuId], now: Instant) {
        for &vcpu in vcpus {
            let pcpu = self.xen.policy.view(vcpu).pcpu;
            self.xen.unpause(queue, vcpu, Pause::PAUSED, pcpu, now);
        }
    }

    /// Gives `domain` other parameters. From 3.1 to 4.1 its vcpus are paused meanwhile. Xen waits
    /// until they have stopped; here they have no time for that, but who runs is switched out.
    pub(super) fn adjust(
        &mut self,
        queue: &mut Queue,
        domain: DomainId,
        params: &ParamValues,
        now: Instant,
    ) {
        let Some(d) = self.domains.all.iter_mut().find(|d| d.config.id == domain) else {
            return;
        };
        d.config.params = *params;
        if !d.alive {
            return;
        }
        let pauses = (XenVersion::V3_1..=XenVersion::V4_1).contains(&self.xen.release.version);
        let mut held = match pauses {
            true => self.domains.vcpus_of(domain),
            false => Vec::new(),
        };
        // Pauses by the hypervisor are counted: whom the toolstack has paused stays so.
        held.retain(|v| !self.xen.policy.view(*v).pause.has(Pause::PAUSED));
        self.pause_all(queue, &held, now);
        let on = self.xen.toolstack_pcpu();
        self.xen.ask(queue, on, now, Cause::Operator, |s, cx| {
            s.set_domain(cx, domain, params)
        });
        self.unpause_all(queue, &held, now);
    }
}
