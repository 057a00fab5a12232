//! Event channels and device models: what connects a guest's kernel to them.

use super::{Host, Phase, Queue, Vcpu};
use crate::bus::{Bus, Device, Far, Io, Traffic, record_of};
use crate::evtchn::{Raised, Sent, Virq};
use crate::guest::{Kernel, KernelStep};
use crate::process::run::{Next, STEPS_WITHOUT_TIME};
use alloc::boxed::Box;
use alloc::format;
use domio_core::{DomainId, Duration, Instant, PcpuId, Record, Sink, VcpuId, VcpuName};
use domio_sched::Pause;

impl<S: Sink, D: Device> Host<S, D> {
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

    /// Goes on with what the kernel of `vcpu` does for devices; false when it has nothing to do, so
    /// that processes may run.
    #[inline(never)]
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
        loop {
            let Bus { devices, wires } = &mut self.bus;
            let mut io = Io {
                now,
                on: pcpu,
                device: 0,
                queue,
                wires,
            };
            let guest = &mut self.vcpus[vcpu.index()].guest;
            let step = guest.step_kernel(devices, &mut io);
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

    /// Whether a process of `vcpu` executes, and the kernel has nothing to do before the process
    /// goes on: most pieces of a process end like this.
    #[inline(always)]
    pub(super) fn kernel_is_quiet(&mut self, vcpu: VcpuId) -> bool {
        let Vcpu { guest, name, .. } = &self.vcpus[vcpu.index()];
        guest.kernel_is_quiet() && {
            let channels = self.bus.wires.channels.guest(name.domain);
            channels.is_ok_and(|channels| !channels.upcall_pending(name.index))
        }
    }

    /// Goes on with the program that executes on `vcpu`.
    #[inline(never)]
    pub(super) fn step_program(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        vcpu: VcpuId,
        now: Instant,
    ) -> Next {
        let Bus { devices, wires } = &mut self.bus;
        let mut io = Io {
            now,
            on: pcpu,
            device: 0,
            queue,
            wires,
        };
        let Vcpu { guest, name, .. } = &mut self.vcpus[vcpu.index()];
        let next = guest.advance(*name, devices, &mut io, &mut self.jobs);
        self.write_device_records();
        if next == Next::Stuck {
            self.complain_of_program(vcpu);
        }
        next
    }

    #[cold]
    fn complain_of_program(&mut self, vcpu: VcpuId) {
        let v = &mut self.vcpus[vcpu.index()];
        let what = format!(
            "the program {} of {} made {STEPS_WITHOUT_TIME} steps without executing, sleeping or \
             blocking in between",
            v.guest.program(),
            v.name
        );
        self.fault = Some(Box::new(domio_sim::Stop::Stalled { what }));
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
    fn write_device_records(&mut self) {
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

    /// Wakes or interrupts the vcpus that were notified: from guest code on `from`, or by devices,
    /// whose interrupts come to the pcpu of the vcpu that they are for.
    fn deliver(&mut self, queue: &mut Queue, from: Option<PcpuId>, now: Instant, cost: Duration) {
        if !self.bus.wires.far.is_empty() {
            self.deliver_far(queue, now);
        }
        let mut next = 0;
        while let Some(&Sent { to, raised, .. }) = self.bus.wires.kicks.get(next) {
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
        self.bus.wires.kicks.clear();
    }

    /// Gives kernels of other vcpus what device models have for them.
    #[inline(never)]
    fn deliver_far(&mut self, queue: &mut Queue, now: Instant) {
        let mut far = core::mem::take(&mut self.bus.wires.far);
        for what in far.drain(..) {
            match what {
                Far::Wake {
                    domain,
                    process,
                    from,
                } => {
                    let to = VcpuName::new(domain, process.vcpu);
                    let vcpu = self.vcpu_called(to);
                    let guest = &mut self.vcpus[vcpu.index()].guest;
                    guest.wake_process(process.index);
                    let port = guest.kernel_mut().and_then(|kernel| kernel.ipi_port());
                    let port = port.expect("a domain with several vcpus has IPIs");
                    let sent = self.bus.wires.channels.send(from.domain, port);
                    let sent = sent.expect("the kernel has bound its IPIs");
                    if S::STAGES
                        && let Some(sent) = &sent
                    {
                        let on = self.tables.vcpus[self.vcpu_called(from).index()].pcpu;
                        self.trace(record_of(now, on, sent, from.word()));
                    }
                    self.bus.wires.kicks.extend(sent);
                }
                Far::Timer { vcpu, timer, at } => {
                    let vcpu = self.vcpu_called(vcpu);
                    self.vcpus[vcpu.index()].guest.set_kernel_timer(timer, at);
                    self.vcpus[vcpu.index()].set_timer::<D>(queue, now);
                }
                Far::Work { vcpu, item } => {
                    let vcpu = self.vcpu_called(vcpu);
                    self.vcpus[vcpu.index()].guest.queue_work(item);
                    self.rouse(vcpu);
                }
                Far::Tasklet { vcpu, tasklet } => {
                    let vcpu = self.vcpu_called(vcpu);
                    self.vcpus[vcpu.index()].guest.schedule(tasklet);
                    self.rouse(vcpu);
                }
            }
        }
        self.bus.wires.far = far;
    }

    /// Has `vcpu` look at what its kernel was given from outside: by the timer's virq, for a
    /// domain that boots has no other port yet.
    fn rouse(&mut self, vcpu: VcpuId) {
        if self.tables.vcpus[vcpu.index()].pause.has(Pause::DOWN) {
            // It is being created, and will look at everything.
            return;
        }
        let name = self.vcpus[vcpu.index()].name;
        self.vcpus[vcpu.index()].guest.disturb();
        let sent = self.bus.wires.channels.raise_virq(name, Virq::TIMER);
        self.bus
            .wires
            .kicks
            .extend(sent.expect("the kernel has bound its timer"));
    }

    /// Raises the timer's virq of `vcpu`: whether it has to be kicked, or `None` when it has no
    /// event channels.
    pub(super) fn raise_timer(&mut self, vcpu: VcpuId) -> Option<bool> {
        let v = &mut self.vcpus[vcpu.index()];
        v.guest.kernel_mut()?.set_timer_due();
        v.guest.disturb();
        let sent = self.bus.wires.channels.raise_virq(v.name, Virq::TIMER);
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
        let guest = self.bus.wires.channels.guest(name.domain);
        !guest.expect("it has a kernel").block(name.index)
    }
}
