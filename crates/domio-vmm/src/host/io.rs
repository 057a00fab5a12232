//! Device models: plugging domains in, calls from outside of guests, work for others.

use super::Host;
use crate::bus::device::Device;
use crate::bus::io::Io;
use crate::bus::models::Bus;
use crate::config::DomainKind;
use crate::event::Queue;
use crate::evtchn::binding::Virq;
use crate::guest::kernel::Kernel;
use domio_contract::control::Traffic;
use domio_core::{DomainId, Instant, PcpuId, Sink};

impl<S: Sink, D: Device> Host<S, D> {
    /// Gives the domain number `index`, which was just created, its kernel and its devices.
    pub(super) fn plug(&mut self, queue: &mut Queue, index: usize, on: PcpuId, now: Instant) {
        let domain = self.domains.all[index].config.id;
        if !self.bus.serves(domain) {
            return;
        }
        let config = self.domains.all[index].config.guest;
        let vcpus = self.domains.all[index].vcpus.clone();
        let added = self
            .bus
            .wires
            .channels
            .add(domain, config.abi, vcpus.len() as u16);
        added.expect("ids of domains are unique");
        let several = vcpus.len() > 1;
        for vcpu in vcpus {
            let name = self.xen.vcpus[vcpu].name;
            let timer = self.bus.wires.channels.bind_virq(name, Virq::TIMER);
            let timer = timer.expect("a new domain has free ports");
            let ipi = several.then(|| self.bus.wires.channels.bind_ipi(name));
            let ipi = ipi.map(|port| port.expect("a new domain has free ports"));
            let guest = self.bus.wires.channels.guest(domain).expect("it was added");
            for port in [Some(timer), ipi].into_iter().flatten() {
                let _ = guest.unmask(port, name.index);
            }
            let mut kernel = Kernel::new(name, config.costs, timer, ipi, self.bus.wires.owners);
            if let DomainKind::Threads(threads) = &self.domains.all[index].config.kind
                && let Some(rules) = threads[usize::from(name.index)].softirqs
            {
                kernel.set_rules(rules);
                self.xen.interrupts.add(vcpu);
            }
            self.xen.vcpus[vcpu].guest.set_kernel(kernel);
        }
        self.with_devices(queue, on, now, |devices, io| {
            for (i, device) in (0..).zip(devices) {
                if device.serves(domain) {
                    io.device = i;
                    device.plug(domain, io);
                }
            }
        });
    }

    /// Takes the devices of `domain` away.
    pub(super) fn unplug(&mut self, queue: &mut Queue, domain: DomainId, on: PcpuId, now: Instant) {
        if !self.bus.serves(domain) {
            return;
        }
        self.with_devices(queue, on, now, |devices, io| {
            for (i, device) in (0..).zip(devices) {
                if device.serves(domain) {
                    io.device = i;
                    device.unplug(domain, io);
                }
            }
            io.wires.lines.forget(domain);
            io.wires.locks.forget(domain);
        });
        let removed = self.bus.wires.channels.remove(domain);
        removed.expect("a domain with devices has event channels");
    }

    /// Calls device models from outside of any guest, and carries out what they asked for.
    fn with_devices(
        &mut self,
        queue: &mut Queue,
        on: PcpuId,
        now: Instant,
        call: impl FnOnce(&mut [D], &mut Io<'_>),
    ) {
        let Bus { devices, wires } = &mut self.bus;
        let mut io = Io {
            now,
            on,
            device: 0,
            queue,
            wires,
        };
        call(devices, &mut io);
        self.write_device_records();
        self.deliver(queue, None, now, self.xen.release.profile.interrupt);
    }

    pub(super) fn device_event(&mut self, queue: &mut Queue, number: u32, now: Instant) {
        let on = self.xen.policy.tables.online.first().unwrap_or(PcpuId(0));
        self.with_devices(queue, on, now, |devices, io| {
            let line = io.wires.lines.timer(number);
            io.device = line.device;
            devices[usize::from(line.device)].event(line.token, io);
        });
    }

    /// Limits the traffic of `domain` through its devices.
    pub(super) fn limit_traffic(
        &mut self,
        queue: &mut Queue,
        domain: DomainId,
        traffic: Traffic,
        on: PcpuId,
        now: Instant,
    ) {
        self.with_devices(queue, on, now, |devices, io| {
            for (i, device) in (0..).zip(devices) {
                if device.serves(domain) {
                    io.device = i;
                    device.limit(domain, traffic, io);
                }
            }
        });
    }

    /// Writes what device models put into the trace.
    #[inline(always)]
    pub(super) fn write_device_records(&mut self) {
        if S::ENABLED && !self.bus.wires.records.is_empty() {
            self.write_waiting_records();
        }
    }

    #[inline(never)]
    fn write_waiting_records(&mut self) {
        for record in self.bus.wires.records.drain(..) {
            self.xen.trace.write(record);
        }
    }
}
