//! What vcpus of one domain have for each other: interrupts, locks that are free, flushes of their
//! TLBs; and what device models have for kernels from outside.
//!
//! A vcpu that sends an interrupt, or that has others flush their TLBs, is in a hypercall
//! meanwhile. What that takes comes after everything that is delivered with it.

use super::Host;
use crate::bus::device::Device;
use crate::bus::locks::KernelLock;
use crate::bus::wires::Far;
use crate::event::Queue;
use crate::evtchn::binding::Virq;
use crate::hypervisor::pcpu::Phase;
use crate::process::Pid;
use domio_contract::Pause;
use domio_core::{DomainId, Duration, Instant, PcpuId, Sink, VcpuId, VcpuName};

/// What hypercalls cost the vcpu that executes on a pcpu.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owed {
    pub on: PcpuId,
    pub time: Duration,
}

impl Owed {
    /// Adds to what is owed by the only vcpu that executes now.
    fn add(owed: &mut Option<Owed>, on: PcpuId, time: Duration) {
        let before = owed.map_or(Duration::ZERO, |owed| owed.time);
        let time = before + time;
        *owed = Some(Owed { on, time });
    }
}

impl<S: Sink, D: Device> Host<S, D> {
    /// Gives kernels of other vcpus what device models have for them. Returns what that costs the
    /// vcpu that executes, if one does.
    #[inline(never)]
    pub(super) fn deliver_far(&mut self, queue: &mut Queue, now: Instant) -> Option<Owed> {
        let mut owed = None;
        let mut far = core::mem::take(&mut self.bus.wires.far);
        for what in far.drain(..) {
            match what {
                Far::Wake {
                    domain,
                    process,
                    from,
                } => {
                    let to = if process.vcpu == Pid::ROAMS {
                        match self
                            .xen
                            .vcpus
                            .wake_roaming::<D>(queue, from, process.index, now)
                        {
                            Some(to) if to != from => to,
                            // Who wakes itself needs no interrupt.
                            _ => continue,
                        }
                    } else {
                        VcpuName::new(domain, process.vcpu)
                    };
                    let vcpu = self.xen.vcpus.called(to);
                    let guest = &mut self.xen.vcpus[vcpu].guest;
                    if process.vcpu != Pid::ROAMS {
                        guest.wake_process(process.index);
                    }
                    let port = guest.kernel_mut().and_then(|kernel| kernel.ipi_port());
                    let port = port.expect("a domain with several vcpus has IPIs");
                    let sent = self.bus.wires.channels.send(from.domain, port);
                    let sent = sent.expect("the kernel has bound its IPIs");
                    if self.bus.wires.stages
                        && let Some(sent) = &sent
                    {
                        let on = self.xen.policy.view(self.xen.vcpus.called(from)).pcpu;
                        let sender = self.bus.wires.actor(from);
                        let record = self.bus.wires.record_of(now, on, sent, sender);
                        self.xen.trace.write(record);
                    }
                    self.owes_ipi(from, &mut owed);
                    self.bus.wires.kicks.extend(sent);
                }
                Far::Timer { vcpu, timer, at } => {
                    let vcpu = self.xen.vcpus.called(vcpu);
                    self.xen.vcpus[vcpu].guest.set_kernel_timer(timer, at);
                    self.xen.vcpus[vcpu].set_timer::<D>(queue, now);
                }
                Far::Work { vcpu, item } => {
                    let vcpu = self.xen.vcpus.called(vcpu);
                    self.xen.vcpus[vcpu].guest.queue_work(item);
                    self.rouse(vcpu);
                }
                Far::Interrupt { vcpu, time } => {
                    let on = self.xen.policy.view(self.xen.vcpus.called(vcpu)).pcpu;
                    self.xen.steal(queue, on, now, time);
                }
                Far::Tasklet {
                    vcpu,
                    tasklet,
                    from,
                } => {
                    if let Some(from) = from {
                        self.owes_ipi(from, &mut owed);
                    }
                    let vcpu = self.xen.vcpus.called(vcpu);
                    self.xen.vcpus[vcpu].guest.schedule(tasklet);
                    self.rouse(vcpu);
                }
                Far::Unlocked { domain, lock } => self.unlock(queue, domain, lock, now),
                Far::Flush { from } => self.flush_tlbs(queue, from, &mut owed, now),
            }
        }
        self.bus.wires.far = far;
        owed
    }

    /// The vcpu `from` has sent an interrupt to another one.
    fn owes_ipi(&mut self, from: VcpuName, owed: &mut Option<Owed>) {
        let vcpu = self.xen.vcpus.called(from);
        let on = self.xen.policy.view(vcpu).pcpu;
        let kernel = self.xen.vcpus[vcpu].guest.kernel_mut();
        let time = kernel.map_or(Duration::ZERO, |kernel| kernel.send_ipi());
        Owed::add(owed, on, time);
    }

    /// Vcpus of `domain` that spin for `lock` look again: those that execute, immediately.
    fn unlock(&mut self, queue: &mut Queue, domain: DomainId, lock: KernelLock, now: Instant) {
        for vcpu in self.xen.vcpus.in_order(domain) {
            if !self.xen.vcpus[vcpu].guest.spins_for(lock) {
                continue;
            }
            if let Some(pcpu) = self.xen.interrupts.place_of(vcpu) {
                self.xen.vcpus[vcpu].guest.look_again(lock);
                self.xen.interrupt_until(queue, pcpu, now);
                continue;
            }
            let pcpu = self.xen.policy.view(vcpu).pcpu;
            let p = &self.xen.pcpus[pcpu];
            let executes = self.xen.policy.current(pcpu) == Some(vcpu) && p.phase == Phase::Guest;
            let at_once = executes && p.exec_from <= now;
            if at_once {
                self.xen.halt(queue, pcpu, now);
            }
            self.xen.vcpus[vcpu].guest.look_again(lock);
            if at_once {
                self.xen.pcpus.execute_later(queue, pcpu, now);
            }
        }
    }

    /// All pcpus that other vcpus of the domain of `from` execute on flush their TLBs, and that of
    /// `from` waits for them (`flush_tlb_mask` of the domain's dirty pcpus). The hypervisor has
    /// interrupts on nearly always, so that nobody waits for a guest.
    fn flush_tlbs(
        &mut self,
        queue: &mut Queue,
        from: VcpuName,
        owed: &mut Option<Owed>,
        now: Instant,
    ) {
        let sender = self.xen.vcpus.called(from);
        let on = self.xen.policy.view(sender).pcpu;
        let costs = &self.xen.release.profile;
        let (wait, flush) = (costs.tlb_wait, costs.tlb_flush);
        let mut any = false;
        for vcpu in self.xen.vcpus.in_order(from.domain) {
            let pcpu = self.xen.policy.view(vcpu).pcpu;
            if vcpu != sender && self.xen.policy.current(pcpu) == Some(vcpu) {
                self.xen.steal(queue, pcpu, now, flush);
                any = true;
            }
        }
        if any {
            Owed::add(owed, on, wait);
        }
    }

    /// Has `vcpu` look at what its kernel was given from outside: by the timer's virq, for a
    /// domain that boots has no other port yet.
    fn rouse(&mut self, vcpu: VcpuId) {
        if self.xen.policy.view(vcpu).pause.has(Pause::DOWN) {
            // It is being created, and will look at everything.
            return;
        }
        let name = self.xen.vcpus[vcpu].name;
        self.xen.vcpus[vcpu].guest.disturb();
        let sent = self.bus.wires.channels.raise_virq(name, Virq::TIMER);
        self.bus
            .wires
            .kicks
            .extend(sent.expect("the kernel has bound its timer"));
    }
}
