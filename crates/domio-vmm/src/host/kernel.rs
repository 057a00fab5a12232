//! The kernel of a guest with devices: what it does goes before processes.

use super::Host;
use crate::bus::device::Device;
use crate::bus::io::Io;
use crate::bus::models::Bus;
use crate::event::Queue;
use crate::guest::kernel::KernelStep;
use crate::hypervisor::pcpu::{Cause, Phase};
use crate::hypervisor::vcpu::Vcpu;
use domio_core::{Duration, Instant, PcpuId, Sink, VcpuId};

impl<S: Sink, D: Device> Host<S, D> {
    /// Continues with what the kernel of `vcpu` does for devices; false when it has nothing to do,
    /// so that processes may run.
    #[inline(never)]
    pub(super) fn step_kernel(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        vcpu: VcpuId,
        now: Instant,
    ) -> bool {
        if self.xen.vcpus[vcpu].guest.kernel_mut().is_none() {
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
            let guest = &mut self.xen.vcpus[vcpu].guest;
            let step = guest.step_kernel(devices, &mut io);
            self.write_device_records();
            if step != KernelStep::Idle && self.xen.halt_polls.any() {
                self.xen.halt_polls.over(vcpu, now);
            }
            match step {
                KernelStep::Run(time) => {
                    self.xen.vcpus[vcpu].set_timer::<D>(queue, now);
                    // Who spins does so until the lock is free.
                    if time != Duration::MAX {
                        self.xen.run_for(queue, (pcpu, vcpu), now, time);
                    }
                    self.tell_at_hand(queue, pcpu, now);
                    return true;
                }
                KernelStep::Idle => {
                    self.tell_at_hand(queue, pcpu, now);
                    // A pass that was put off may come now.
                    return self.xen.pcpus[pcpu].phase != Phase::Guest;
                }
                KernelStep::Sent => {
                    self.xen.vcpus[vcpu].set_timer::<D>(queue, now);
                    self.tell_at_hand(queue, pcpu, now);
                    self.deliver(queue, Some(pcpu), now, Duration::ZERO);
                    let p = &self.xen.pcpus[pcpu];
                    if p.phase != Phase::Guest || p.exec_from != now {
                        // Whom it woke goes first, or interrupts it.
                        return true;
                    }
                }
            }
        }
    }

    /// Notifies the policy of packets that the kernel which executes on `pcpu` has at hand now.
    #[inline]
    fn tell_at_hand(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        while let Some((vcpu, packets)) = self.bus.wires.at_hand.next_news() {
            let vcpu = self.xen.vcpus.called(vcpu);
            self.xen.ask(queue, pcpu, now, Cause::Ipi, |s, cx| {
                s.dispatching(cx, vcpu, packets);
            });
        }
    }

    /// Whether a process of `vcpu` executes, and the kernel has nothing to do before the process
    /// continues: most pieces of a process end like this.
    #[inline(always)]
    pub(super) fn kernel_is_quiet(&mut self, vcpu: VcpuId) -> bool {
        let Vcpu { guest, name, .. } = &self.xen.vcpus[vcpu];
        guest.kernel_is_quiet() && {
            let channels = self.bus.wires.channels.guest(name.domain);
            channels.is_ok_and(|channels| !channels.upcall_pending(name.index))
        }
    }

    /// Whether `vcpu`, which asks to block, has an upcall due.
    pub(super) fn is_called(&mut self, vcpu: VcpuId) -> bool {
        let v = &mut self.xen.vcpus[vcpu];
        if v.guest.kernel_mut().is_none() {
            return false;
        }
        let name = v.name;
        let guest = self.bus.wires.channels.guest(name.domain);
        !guest.expect("it has a kernel").block(name.index)
    }
}
