//! Interrupts for guests: who is told, and how the vcpu comes to look (xen-spec 0.6, 5).

use super::{Host, Phase, Queue};
use crate::bus::device::Device;
use crate::bus::io::record_of;
use crate::bus::wires::Far;
use crate::evtchn::abi::Raised;
use crate::evtchn::binding::Virq;
use crate::evtchn::channels::Sent;
use crate::process::Pid;
use domio_core::{Duration, Instant, PcpuId, Sink, VcpuId, VcpuName};
use domio_sched::Pause;

impl<S: Sink, D: Device> Host<S, D> {
    /// Sends an interrupt to `vcpu` from hypervisor code on `on`: wakes it when it is blocked,
    /// interrupts it when it executes, and is noticed when it runs again otherwise.
    #[inline(always)]
    pub(super) fn interrupt(&mut self, queue: &mut Queue, vcpu: VcpuId, on: PcpuId, now: Instant) {
        let cost = self.profile.interrupt;
        if self.give_tick(vcpu) {
            self.kick(queue, vcpu, on, now, cost);
        }
    }

    /// Gives `vcpu` a timer interrupt, which it finds when it executes next; whether that is news
    /// to it.
    #[inline(always)]
    pub(super) fn give_tick(&mut self, vcpu: VcpuId) -> bool {
        if D::PRESENT
            && let Some(news) = self.raise_timer(vcpu)
        {
            return news;
        }
        self.vcpus[vcpu.index()].guest.interrupt();
        true
    }

    /// Raises the timer's virq of `vcpu`: whether it has to be kicked, or `None` when it has no
    /// event channels.
    fn raise_timer(&mut self, vcpu: VcpuId) -> Option<bool> {
        let v = &mut self.vcpus[vcpu.index()];
        v.guest.kernel_mut()?.set_timer_due();
        v.guest.disturb();
        let sent = self.bus.wires.channels.raise_virq(v.name, Virq::TIMER);
        let sent = sent.expect("the kernel has bound its timer");
        Some(sent.is_some_and(|sent| sent.raised == Raised::Kick))
    }

    /// Makes `vcpu` look at its interrupts, from hypervisor code on `on` that takes `cost`.
    #[inline(always)]
    pub(super) fn kick(
        &mut self,
        queue: &mut Queue,
        vcpu: VcpuId,
        on: PcpuId,
        now: Instant,
        cost: Duration,
    ) {
        if self.tables.vcpus[vcpu.index()].pause.has(Pause::BLOCKED) {
            self.wake(queue, vcpu, on, now, domio_sched::Wake::Event);
            let least = self
                .profile
                .wake_to_pass
                .saturating_sub(self.profile.tickle);
            self.put_off(queue, on, now, least);
        } else {
            let pcpu = self.tables.vcpus[vcpu.index()].pcpu;
            let executes = self.tables.pcpus[pcpu].current == Some(vcpu)
                && self.pcpus[pcpu].phase == Phase::Guest;
            if executes {
                let delay = if pcpu == on {
                    cost
                } else {
                    cost + self.profile.ipi
                };
                self.halt(queue, pcpu, now);
                if D::PRESENT {
                    // By way of the queue even when nothing takes time: who sends is in the middle
                    // of its step, and what it sent is not delivered in full yet.
                    let p = &mut self.pcpus[pcpu];
                    p.exec_from = now + delay;
                    queue.arm(p.done, now + delay);
                } else {
                    self.go(queue, pcpu, now + delay);
                }
                if pcpu == on {
                    return;
                }
            }
        }
        // A pass that the wake-up asked for has this work in its lead.
        if self.pcpus[on].phase == Phase::Guest {
            self.steal(queue, on, now, cost);
        }
    }

    /// Wakes or interrupts the vcpus that were notified: from guest code on `from`, or by devices,
    /// whose interrupts come to the pcpu of the vcpu that they are for.
    pub(super) fn deliver(
        &mut self,
        queue: &mut Queue,
        from: Option<PcpuId>,
        now: Instant,
        cost: Duration,
    ) {
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
                    let to = if process.vcpu == Pid::ROAMS {
                        match self.wake_roaming(queue, from, process.index, now) {
                            Some(to) if to != from => to,
                            // Who wakes itself needs no interrupt.
                            _ => continue,
                        }
                    } else {
                        VcpuName::new(domain, process.vcpu)
                    };
                    let vcpu = self.vcpu_called(to);
                    let guest = &mut self.vcpus[vcpu.index()].guest;
                    if process.vcpu != Pid::ROAMS {
                        guest.wake_process(process.index);
                    }
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

    /// The vcpu called `name`, of a domain with devices.
    #[inline]
    fn vcpu_called(&self, name: VcpuName) -> VcpuId {
        let first = self.first_vcpu.get(name.domain.index()).copied().flatten();
        let first = first.expect("only domains that were created have ports");
        VcpuId(first.0 + u32::from(name.index))
    }
}
