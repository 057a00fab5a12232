//! Passes come when they are due, and lead back to guests.

use super::Host;
use crate::bus::device::Device;
use crate::event::Queue;
use crate::hypervisor::pass::Back;
use crate::hypervisor::pcpu::Phase;
use domio_core::{Duration, Instant, PcpuId, Sink};

impl<S: Sink, D: Device> Host<S, D> {
    /// Makes the passes that are due at `now`, unless other events of this instant come first:
    /// timers that are due run before the scheduler. It is called again after those.
    #[inline]
    pub(super) fn run_due(&mut self, queue: &mut Queue, now: Instant) {
        while let Some(pcpu) = self.xen.pcpus.next_due() {
            if queue.is_due_now() {
                return;
            }
            self.xen.pcpus.due_done += 1;
            self.pass(queue, pcpu, now);
        }
        self.xen.pcpus.none_is_due();
    }

    /// The phase of `pcpu` has lasted its time.
    pub(super) fn stage_over(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        match self.xen.pcpus[pcpu].phase {
            Phase::Entering => match self.xen.wake_first(queue, pcpu, now) {
                // The wake-up's own work puts the pass off further.
                Some(at) => {
                    let (pcpus, release) = (&mut self.xen.pcpus, &self.xen.release);
                    pcpus.put_off(queue, release, pcpu, at, Duration::ZERO);
                }
                None => self.pass(queue, pcpu, now),
            },
            Phase::Switching => {
                let back = self.xen.switch_over(queue, pcpu, now);
                self.go_back(queue, pcpu, back);
            }
            Phase::Interrupt => self.interrupt_goes_on(queue, pcpu, now),
            Phase::Guest => unreachable!("{pcpu} has no stage to end"),
        }
    }

    /// A scheduler pass on `pcpu`, and what it leads to.
    #[inline(never)]
    fn pass(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        if !self.bus.wires.packets.is_empty() {
            self.tell_packets(now);
        }
        let back = self.xen.pass(queue, pcpu, now);
        self.go_back(queue, pcpu, back);
        self.xen.program_slice(queue, pcpu, now);
    }

    /// Notifies the policy of the packets that backends have counted since the last pass, as a
    /// hypervisor reads the counts in their pages.
    #[cold]
    fn tell_packets(&mut self, now: Instant) {
        let tracing = self.xen.trace.on();
        for moved in self.bus.wires.packets.drain(..) {
            let policy = &mut self.xen.policy;
            policy.call(now, tracing, |s, cx| s.packets(cx, moved));
        }
    }

    /// Continues where a pass or a switch on `pcpu` leads to.
    #[inline(always)]
    fn go_back(&mut self, queue: &mut Queue, pcpu: PcpuId, back: Back) {
        if let Some(vcpu) = back.ticked {
            self.give_tick(vcpu);
        }
        if self.xen.interrupts.any()
            && let Some(thread) = self.xen.interrupt_due(pcpu)
        {
            self.interrupt_at(queue, pcpu, thread, back.to.map(|(_, from)| from));
            return;
        }
        if let Some((vcpu, from)) = back.to {
            self.go_on(queue, pcpu, vcpu, from);
        }
    }
}
