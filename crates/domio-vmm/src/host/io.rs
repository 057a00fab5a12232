//! Device models: plugging domains in, calls from outside of guests, work for others.

use super::{Host, Queue, Vcpu};
use crate::bus::device::Device;
use crate::bus::io::Io;
use crate::bus::models::Bus;
use crate::evtchn::binding::Virq;
use crate::guest::kernel::Kernel;
use domio_control::Traffic;
use domio_core::{DomainId, Duration, Instant, PcpuId, Record, Sink, VcpuId};

impl<S: Sink, D: Device> Host<S, D> {
    /// The next vcpu to be created is the first of `domain`.
    pub(super) fn note_first_vcpu(&mut self, domain: DomainId) {
        if self.first_vcpu.len() <= domain.index() {
            self.first_vcpu.resize(domain.index() + 1, None);
        }
        self.first_vcpu[domain.index()] = Some(VcpuId(self.vcpus.len() as u32));
    }

    /// Gives the domain number `index`, which was just created, its kernel and its devices.
    pub(super) fn plug(&mut self, queue: &mut Queue, index: usize, on: PcpuId, now: Instant) {
        let domain = self.domains[index].config.id;
        if !self.bus.serves(domain) {
            return;
        }
        let config = self.domains[index].config.guest;
        let vcpus = self.domains[index].vcpus.clone();
        let added = self
            .bus
            .wires
            .channels
            .add(domain, config.abi, vcpus.len() as u16);
        added.expect("ids of domains are unique");
        let several = vcpus.len() > 1;
        for vcpu in vcpus {
            let name = self.vcpus[vcpu.index()].name;
            let timer = self.bus.wires.channels.bind_virq(name, Virq::TIMER);
            let timer = timer.expect("a new domain has free ports");
            let ipi = several.then(|| self.bus.wires.channels.bind_ipi(name));
            let ipi = ipi.map(|port| port.expect("a new domain has free ports"));
            let guest = self.bus.wires.channels.guest(domain).expect("it was added");
            for port in [Some(timer), ipi].into_iter().flatten() {
                let _ = guest.unmask(port, name.index);
            }
            let kernel = Kernel::new(name, config.costs, timer, ipi, self.bus.wires.owners);
            self.vcpus[vcpu.index()].guest.set_kernel(kernel);
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
        self.deliver(queue, None, now, self.profile.interrupt);
    }

    pub(super) fn device_event(&mut self, queue: &mut Queue, number: u32, now: Instant) {
        let on = self.tables.online.first().unwrap_or(PcpuId(0));
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

    /// Tells for whom `vcpu`, which stops executing on `pcpu`, has worked since that was told last.
    #[inline]
    pub(super) fn tell_served(&mut self, pcpu: PcpuId, vcpu: VcpuId, now: Instant) {
        let tells = S::OWNERS && self.records();
        let Vcpu { guest, name, .. } = &mut self.vcpus[vcpu.index()];
        let Some(served) = guest.served() else {
            return;
        };
        if served.is_empty() {
            return;
        }
        for (domain, time) in served.drain() {
            if !self.controls.is_empty() {
                if self.served.len() <= domain.index() {
                    self.served.resize(domain.index() + 1, Duration::ZERO);
                }
                self.served[domain.index()] += time;
            }
            if tells {
                let record = Record::driver_work(now, pcpu, *name, domain, time.as_nanos());
                self.sink.record(&record);
            }
        }
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
            self.sink.record(&record);
        }
    }
}
