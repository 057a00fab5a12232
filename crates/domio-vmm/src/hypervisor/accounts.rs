//! Accounts are brought up to date, and told.

use super::Hypervisor;
use crate::hypervisor::pcpu::Phase;
use domio_core::{Instant, PcpuId, Sink, VcpuId};

impl<S: Sink> Hypervisor<S> {
    /// Closes every account at `now`: brings the runstate sums up to date and writes, for each
    /// vcpu, a runstate record from its state to the same state.
    pub fn mark(&mut self, now: Instant) {
        self.execute_until(now);
        self.tell_all_taken(now);
        for vcpu in self.vcpus.ids() {
            if !self.vcpus[vcpu].alive {
                continue;
            }
            let v = &mut self.vcpus[vcpu];
            let state = v.state;
            v.account(state, now);
            let pcpu = self.policy.view(vcpu).pcpu;
            if self.served.known {
                self.tell_served(pcpu, vcpu, now);
            }
            self.tell_slowed(pcpu, vcpu, now);
            self.trace.runstate(now, pcpu, vcpu, state, state);
        }
    }

    /// Notifies the guests that execute that they have done so until `now`, where it is to be known
    /// for whom they work, or what they lose: what they did before belongs to the time before.
    fn execute_until(&mut self, now: Instant) {
        if !self.served.known && !self.siblings.any() {
            return;
        }
        for pcpu in self.pcpus.ids() {
            let p = &mut self.pcpus[pcpu];
            if p.phase != Phase::Guest || p.exec_from >= now {
                continue;
            }
            if let Some(vcpu) = self.policy.current(pcpu) {
                let time = now.since(p.exec_from);
                p.exec_from = now;
                if p.polling {
                    continue;
                }
                let work = self.progress(pcpu, vcpu, time);
                self.vcpus[vcpu].guest.executed(work);
            }
        }
    }

    /// Says for whom `vcpu`, which stops executing on `pcpu`, has worked since that was told last.
    #[inline]
    pub fn tell_served(&mut self, pcpu: PcpuId, vcpu: VcpuId, now: Instant) {
        let Some(served) = self.vcpus[vcpu].guest.served() else {
            return;
        };
        if served.is_empty() {
            return;
        }
        for (domain, time) in served.drain() {
            self.served.add(domain, time);
            self.trace.served(now, pcpu, vcpu, domain, time);
        }
    }
}
