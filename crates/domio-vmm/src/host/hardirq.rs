//! Interrupts and softirqs of the host's own kernel, on a host with KVM: what the kernel executes
//! in [`Phase::Interrupt`](crate::hypervisor::pcpu::Phase::Interrupt).

use super::Host;
use crate::bus::device::Device;
use crate::bus::io::Io;
use crate::bus::models::Bus;
use crate::event::Queue;
use crate::guest::kernel::KernelStep;
use crate::guest::limits::HostNow;
use domio_core::{Duration, Instant, PcpuId, Sink, VcpuId};

impl<S: Sink, D: Device> Host<S, D> {
    /// The kernel on `pcpu`, which is in an interrupt, has executed a piece.
    pub(super) fn interrupt_goes_on(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        let owed = self.xen.interrupts.take_owed(pcpu);
        if !owed.is_zero() {
            self.xen.interrupt_until(queue, pcpu, now + owed);
            return;
        }
        let thread = self.xen.interrupts.thread_on(pcpu);
        let leg = self.xen.interrupts.end_leg(pcpu, now);
        if !leg.is_zero() {
            self.xen.vcpus[thread].guest.executed(leg);
        }
        loop {
            match self.step_interrupt(queue, pcpu, thread, now) {
                // Who spins does so until the lock is free.
                KernelStep::Run(Duration::MAX) => return,
                KernelStep::Run(time) => {
                    let kernel = self.xen.vcpus[thread].guest.kernel_mut();
                    let softirq = kernel.is_some_and(|kernel| !kernel.in_handler());
                    self.xen.interrupts.begin_leg(pcpu, time, softirq);
                    let lasts = self.xen.siblings.time_for(pcpu, time);
                    self.xen.interrupt_until(queue, pcpu, now + lasts);
                    return;
                }
                KernelStep::Sent => {
                    self.deliver(queue, Some(pcpu), now, Duration::ZERO);
                    let owed = self.xen.interrupts.take_owed(pcpu);
                    if !owed.is_zero() {
                        self.xen.interrupt_until(queue, pcpu, now + owed);
                        return;
                    }
                }
                KernelStep::Idle => break,
            }
        }
        self.end_interrupt(queue, pcpu, thread, now);
    }

    /// Continues with the kernel of `thread`, which executes on `pcpu`.
    fn step_interrupt(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        thread: VcpuId,
        now: Instant,
    ) -> KernelStep {
        let host_now = HostNow {
            resched: self.xen.pcpus[pcpu].again,
            thread_runs: self.xen.policy.view(thread).runnable(),
            in_time_of_others: self.xen.policy.current(pcpu) != Some(thread),
        };
        let guest = &mut self.xen.vcpus[thread].guest;
        if let Some(kernel) = guest.kernel_mut() {
            kernel.set_host_now(host_now);
        }
        let Bus { devices, wires } = &mut self.bus;
        let mut io = Io {
            now,
            on: pcpu,
            device: 0,
            queue,
            wires,
        };
        let step = guest.step_kernel(devices, &mut io);
        self.write_device_records();
        step
    }

    /// Nothing is left to do on `pcpu` in the interrupt, whose kernel is that of `thread`.
    fn end_interrupt(&mut self, queue: &mut Queue, pcpu: PcpuId, thread: VcpuId, now: Instant) {
        let kernel = self.xen.vcpus[thread].guest.kernel_mut();
        if kernel.is_some_and(|kernel| kernel.wants_thread()) {
            self.xen.wake_softirqd(queue, pcpu, now);
        }
        if self.xen.served.known {
            self.forget_served(pcpu, thread);
        }
        let rest = self.xen.leave_interrupt(queue, pcpu, now);
        if let Some(next) = self.xen.interrupt_due(pcpu) {
            self.interrupt_at(queue, pcpu, next, rest.map(|rest| now + rest));
        } else if let Some(rest) = rest {
            self.go(queue, pcpu, now + rest);
        }
    }

    /// For whom the kernel of `thread` has worked in the time of who runs on `pcpu` is nobody's to
    /// know: work with an owner is that of driver domains, in their own time.
    fn forget_served(&mut self, pcpu: PcpuId, thread: VcpuId) {
        if self.xen.policy.current(pcpu) != Some(thread)
            && let Some(served) = self.xen.vcpus[thread].guest.served()
        {
            served.drain().for_each(drop);
        }
    }

    /// An interrupt that has waited for `pcpu` begins; who was to continue there would have done so
    /// at `from`.
    pub(super) fn interrupt_at(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        thread: VcpuId,
        from: Option<Instant>,
    ) {
        let now = queue.now();
        if let Some(from) = from {
            self.xen.pcpus[pcpu].exec_from = from;
        }
        let lead = self.xen.release.profile.interrupt;
        self.xen.enter_interrupt(queue, pcpu, thread, now, lead);
    }

    /// The thread of the softirqs has its turn on `pcpu`: softirqs run as long as there are any,
    /// then the thread sleeps.
    pub(super) fn softirq_thread(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        vcpu: VcpuId,
        now: Instant,
    ) {
        if self.xen.interrupts.place_of(vcpu).is_some() {
            // The thread has left a pcpu where its kernel still is in an interrupt. The end of the
            // interrupt wakes the thread if softirqs are left.
            self.xen.block(queue, pcpu, vcpu, now);
            return;
        }
        let called = self.is_called(vcpu);
        let kernel = self.xen.vcpus[vcpu].guest.kernel_mut();
        let left = kernel.is_some_and(|kernel| kernel.has_softirqs());
        if !left && !called {
            self.xen.block(queue, pcpu, vcpu, now);
            return;
        }
        if left {
            self.xen.vcpus[vcpu].guest.run_thread(now);
        }
        self.xen
            .enter_interrupt(queue, pcpu, vcpu, now, Duration::ZERO);
    }
}
