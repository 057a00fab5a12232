//! Event channels and device models: what connects a guest's kernel to them.

use super::{Host, Phase, Queue};
use crate::device::{Devices, Io};
use crate::evtchn::{Raised, Sent, Virq};
use crate::kernel::{Kernel, KernelStep};
use domio_core::{DomainId, Duration, Instant, PcpuId, Sink, VcpuId, VcpuName};

impl<S: Sink, D: Devices> Host<S, D> {
    /// The next vcpu to be created is the first of `domain`.
    pub(super) fn note_first_vcpu(&mut self, domain: DomainId) {
        if self.first_vcpu.len() <= domain.index() {
            self.first_vcpu.resize(domain.index() + 1, None);
        }
        self.first_vcpu[domain.index()] = Some(VcpuId(self.vcpus.len() as u32));
    }

    /// The vcpu called `name`, of a domain with devices.
    #[inline]
    fn vcpu_called(&self, name: VcpuName) -> VcpuId {
        let first = self.first_vcpu.get(name.domain.index()).copied().flatten();
        let first = first.expect("only domains that were created have ports");
        VcpuId(first.0 + u32::from(name.index))
    }

    /// Gives the domain number `index`, which was just created, its kernel and its devices.
    pub(super) fn plug(&mut self, queue: &mut Queue, index: usize, on: PcpuId, now: Instant) {
        let domain = self.domains[index].config.id;
        let Some(config) = self.devices.kernel(domain) else {
            return;
        };
        let vcpus = self.domains[index].vcpus.clone();
        let added = self.channels.add(domain, config.abi, vcpus.len() as u16);
        added.expect("ids of domains are unique");
        for vcpu in vcpus {
            let name = self.vcpus[vcpu.index()].name;
            let port = self.channels.bind_virq(name, Virq::TIMER);
            let port = port.expect("a new domain has free ports");
            let guest = self.channels.guest(domain).expect("it was added");
            let _ = guest.unmask(port, name.index);
            let kernel = Kernel::new(name, config, port);
            self.vcpus[vcpu.index()].guest.set_kernel(kernel);
        }
        self.with_devices(queue, on, now, |devices, io| devices.plug(domain, io));
    }

    /// Takes the devices of `domain` away.
    pub(super) fn unplug(&mut self, queue: &mut Queue, domain: DomainId, on: PcpuId, now: Instant) {
        if self.devices.kernel(domain).is_none() {
            return;
        }
        self.with_devices(queue, on, now, |devices, io| devices.unplug(domain, io));
        let removed = self.channels.remove(domain);
        removed.expect("a domain with devices has event channels");
    }

    /// Calls the device models from outside of any guest, and carries out what they asked for.
    fn with_devices(
        &mut self,
        queue: &mut Queue,
        on: PcpuId,
        now: Instant,
        call: impl FnOnce(&mut D, &mut Io<'_>),
    ) {
        let recording = self.records();
        let mut io = Io {
            now,
            on,
            channels: &mut self.channels,
            queue,
            kicks: &mut self.kicks,
            records: &mut self.device_records,
            recording,
            stages: S::STAGES,
        };
        call(&mut self.devices, &mut io);
        self.write_device_records();
        self.deliver(queue, None, now, self.profile.interrupt);
    }

    pub(super) fn device_event(&mut self, queue: &mut Queue, token: u32, now: Instant) {
        let on = self.tables.online.first().unwrap_or(PcpuId(0));
        self.with_devices(queue, on, now, |devices, io| devices.event(token, io));
    }

    /// Goes on with what the kernel of `vcpu` does for devices; false when it has nothing to do, so
    /// that tasks may run.
    pub(super) fn step_kernel(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        vcpu: VcpuId,
        now: Instant,
    ) -> bool {
        if self.vcpus[vcpu.index()].guest.kernel_mut().is_none() {
            return false;
        }
        let recording = self.records();
        loop {
            let mut io = Io {
                now,
                on: pcpu,
                channels: &mut self.channels,
                queue,
                kicks: &mut self.kicks,
                records: &mut self.device_records,
                recording,
                stages: S::STAGES,
            };
            let guest = &mut self.vcpus[vcpu.index()].guest;
            let step = guest.step_kernel(&mut self.devices, &mut io);
            self.write_device_records();
            match step {
                KernelStep::Run(time) => {
                    self.vcpus[vcpu.index()].set_timer::<D>(queue, now);
                    queue.arm(self.pcpus[pcpu].done, now + time);
                    return true;
                }
                KernelStep::Idle => return false,
                KernelStep::Sent => {
                    self.vcpus[vcpu.index()].set_timer::<D>(queue, now);
                    self.deliver(queue, Some(pcpu), now, Duration::ZERO);
                    let p = &self.pcpus[pcpu];
                    if p.phase != Phase::Guest || p.exec_from != now {
                        // Whom it woke goes first, or interrupts it.
                        return true;
                    }
                }
            }
        }
    }

    /// Writes what device models put into the trace.
    #[inline]
    fn write_device_records(&mut self) {
        for record in self.device_records.drain(..) {
            self.sink.record(&record);
        }
    }

    /// Wakes or interrupts the vcpus that were notified: from guest code on `from`, or by devices,
    /// whose interrupts come to the pcpu of the vcpu that they are for.
    fn deliver(&mut self, queue: &mut Queue, from: Option<PcpuId>, now: Instant, cost: Duration) {
        let mut next = 0;
        while let Some(&Sent { to, raised, .. }) = self.kicks.get(next) {
            next += 1;
            if raised == Raised::Kick {
                let vcpu = self.vcpu_called(to);
                let on = from.unwrap_or(self.tables.vcpus[vcpu.index()].pcpu);
                self.vcpus[vcpu.index()].guest.disturb();
                self.kick(queue, vcpu, on, now, cost);
            } else if from.is_none() {
                // A physical interrupt takes its time, whether it is news or not.
                let on = self.tables.vcpus[self.vcpu_called(to).index()].pcpu;
                self.steal(queue, on, now, cost);
            }
        }
        self.kicks.clear();
    }

    /// Raises the timer's virq of `vcpu`: whether it has to be kicked, or `None` when it has no
    /// event channels.
    pub(super) fn raise_timer(&mut self, vcpu: VcpuId) -> Option<bool> {
        let v = &mut self.vcpus[vcpu.index()];
        v.guest.kernel_mut()?.set_timer_due();
        v.guest.disturb();
        let sent = self.channels.raise_virq(v.name, Virq::TIMER);
        let sent = sent.expect("the kernel has bound its timer");
        Some(sent.is_some_and(|sent| sent.raised == Raised::Kick))
    }

    /// Whether `vcpu`, which asks to block, has an upcall due.
    pub(super) fn is_called(&mut self, vcpu: VcpuId) -> bool {
        let v = &mut self.vcpus[vcpu.index()];
        if v.guest.kernel_mut().is_none() {
            return false;
        }
        let name = v.name;
        let guest = self.channels.guest(name.domain);
        !guest.expect("it has a kernel").block(name.index)
    }
}
