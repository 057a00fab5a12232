//! Vcpus of KVM guests that halt: the thread of such a vcpu polls for a while before it sleeps
//! (linux-spec 9.2).
//!
//! A thread that polls keeps its pcpu, and its vcpu runs for everybody who looks. It sleeps early
//! when another thread of the pcpu becomes runnable.

use super::Hypervisor;
use crate::event::Queue;
use crate::hypervisor::pcpu::{Cause, Phase};
use domio_contract::Pause;
use domio_core::{Instant, Kind, PcpuId, Sink, VcpuId};

impl<S: Sink> Hypervisor<S> {
    /// `vcpu`, the current one of `pcpu`, has nothing to do: whether it polls, so that it does not
    /// sleep yet.
    pub fn polls(&mut self, queue: &mut Queue, pcpu: PcpuId, vcpu: VcpuId, now: Instant) -> bool {
        let Some(until) = self.halt_polls.until(vcpu, now) else {
            return false;
        };
        if self.pcpus[pcpu].phase != Phase::Guest || !self.is_alone(pcpu, vcpu) {
            return false;
        }
        let p = &mut self.pcpus[pcpu];
        p.polling = true;
        queue.arm(p.done, until);
        true
    }

    /// Whether no other vcpu than `vcpu` is runnable on `pcpu`.
    fn is_alone(&self, pcpu: PcpuId, vcpu: VcpuId) -> bool {
        let mut views = self.policy.tables.vcpus.iter().enumerate();
        views.all(|(i, view)| view.pcpu != pcpu || i == vcpu.index() || !view.runnable())
    }

    /// The thread that polls on `pcpu` sleeps instead of being preempted.
    #[cold]
    pub fn stop_polling(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) -> Cause {
        self.halt(queue, pcpu, now);
        self.pcpus[pcpu].polling = false;
        if let Some(vcpu) = self.policy.current(pcpu) {
            self.policy.view_mut(vcpu).pause.set(Pause::BLOCKED);
            self.trace.happened(now, pcpu, Kind::Block, vcpu);
        }
        Cause::Block
    }

    /// A thread has become runnable on `pcpu`: who polls there sleeps.
    #[inline]
    pub fn end_poll(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        if self.pcpus[pcpu].polling {
            self.raise(queue, pcpu, now, Cause::Block);
        }
    }
}
