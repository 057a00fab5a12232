//! Domains are created and destroyed.

use super::Host;
use crate::bus::device::Device;
use crate::config::DomainKind;
use crate::event::{Event, Queue};
use crate::guest::boot::boot;
use crate::hypervisor::life::NewVcpu;
use crate::hypervisor::pcpu::Cause;
use domio_contract::{Affinity, Pause, Wake};
use domio_core::{Duration, Instant, Kind, PcpuId, Sink, VcpuId, VcpuName};

impl<S: Sink, D: Device> Host<S, D> {
    pub(super) fn create_domain(&mut self, queue: &mut Queue, index: usize, now: Instant) {
        let on = self.create_vcpus(queue, index, now, now);
        // The toolstack unpauses the domain when it is complete.
        for vcpu in self.domains.all[index].vcpus.clone() {
            self.xen.policy.view_mut(vcpu).pause.clear(Pause::DOWN);
            self.xen.wake(queue, vcpu, on, now, Wake::Event);
        }
    }

    /// Creates the domain with its vcpus, none of them runnable. Their guests' time began at
    /// `booted`. Returns the pcpu that did it.
    pub(super) fn create_vcpus(
        &mut self,
        queue: &mut Queue,
        index: usize,
        now: Instant,
        booted: Instant,
    ) -> PcpuId {
        let config = self.domains.all[index].config.clone();
        let on = self.xen.toolstack_pcpu();
        // The vcpu that is created next is the domain's first.
        let first = VcpuId(self.xen.vcpus.len() as u32);
        let actor = self.xen.trace.announce(config.id, config.vcpus.len());
        self.bus.wires.set_actors(config.id, actor);
        let trace = &mut self.xen.trace;
        trace.happened(now, on, Kind::DomainAdd, first);
        self.xen.ask(queue, on, now, Cause::Operator, |s, cx| {
            s.set_domain(cx, config.id, &config.params)
        });
        self.join_first(queue, config.id, on, now);
        self.xen.vcpus.next_is_first_of(config.id);
        let pool = self.xen.release.pool_of(config.id);
        let tables = &mut self.xen.policy.tables;
        let online = pool & tables.online;
        tables.any_pcpu = self.domains.draw_pcpu(&config.name, &online);
        for (i, settings) in config.vcpus.iter().enumerate() {
            let name = VcpuName::new(config.id, i as u16);
            let new = NewVcpu {
                name,
                guest: boot(&config, i, booted, self.domains.seeds()),
                affinity: Affinity {
                    hard: settings.hard & pool,
                    soft: settings.soft,
                },
                tick: config.guest.tick,
            };
            let vcpu = self.xen.add_vcpu(queue, new, now);
            self.domains.all[index].vcpus.push(vcpu);
            if let DomainKind::Kvm(rules) = config.kind {
                self.xen.halt_polls.add(vcpu, rules);
            }
            if let DomainKind::Threads(threads) = &config.kind {
                let works = threads[i].works(name.index);
                self.xen.ask(queue, on, now, Cause::Operator, |s, cx| {
                    s.host_thread(cx, vcpu, works)
                });
            }
            self.xen
                .ask(queue, on, now, Cause::Operator, |s, cx| s.insert(cx, vcpu));
            self.xen.place(queue, vcpu, on, now);
            if let Some(own) = &settings.params {
                self.tell_vcpu(queue, vcpu, own, now);
            }
        }
        self.domains.all[index].alive = true;
        if D::present() {
            self.plug(queue, index, on, now);
        }
        on
    }

    pub(super) fn destroy_domain(&mut self, queue: &mut Queue, index: usize, now: Instant) {
        if !self.domains.all[index].alive {
            return;
        }
        let vcpus = self.domains.all[index].vcpus.clone();
        let id = self.domains.all[index].config.id;
        // Pausing comes first; a vcpu that a pcpu still holds is waited for.
        let mut held = false;
        for &vcpu in &vcpus {
            let view = *self.xen.policy.view(vcpu);
            if !view.pause.has(Pause::DOWN) {
                self.xen.pause(queue, vcpu, Pause::DOWN, view.pcpu, now);
            }
            held |= self.xen.policy.view(vcpu).on_pcpu;
        }
        if held {
            let settle = self.xen.release.profile.ipi
                + self.xen.release.profile.ipi_to_pass
                + self.xen.release.profile.wake_to_pass
                + self.xen.release.profile.switch;
            // On a host without costs the passes of this instant come after all its events.
            let later = settle.max(Duration::from_nanos(1));
            queue.post(now + later, Event::Destroy(index as u32));
            return;
        }
        for &vcpu in &vcpus {
            self.xen.remove_vcpu(queue, vcpu, now);
        }
        self.domains.all[index].alive = false;
        let on = self.xen.toolstack_pcpu();
        if D::present() {
            self.unplug(queue, id, on, now);
        }
        let trace = &mut self.xen.trace;
        trace.happened(now, on, Kind::DomainRemove, vcpus[0]);
    }
}
