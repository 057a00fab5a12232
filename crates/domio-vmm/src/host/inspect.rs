//! What can be seen of a host from outside: accounts, tables, devices, the trace.

use super::Host;
use crate::bus::device::Device;
use crate::guest::kinds::KernelTimes;
use crate::hypervisor::vcpu::{RunstateTimes, Vcpu};
use alloc::format;
use alloc::string::String;
use domio_contract::{StateRows, Tables};
use domio_core::{DomainId, Duration, Instant, Names, PcpuId, Sink, VcpuId, VcpuName};
use domio_sim::TimerId;

impl<S: Sink, D: Device> Host<S, D> {
    /// Number of vcpus created so far.
    pub fn vcpu_count(&self) -> usize {
        self.xen.vcpus.len()
    }

    fn vcpu(&self, number: usize) -> &Vcpu {
        &self.xen.vcpus[VcpuId(number as u32)]
    }

    /// Name of vcpu number `vcpu` (in the order of creation).
    pub fn vcpu_name(&self, vcpu: usize) -> VcpuName {
        self.vcpu(vcpu).name
    }

    /// Runstate sums of vcpu number `vcpu` up to its last change of state or the last
    /// [`Host::mark`].
    pub fn vcpu_times(&self, vcpu: usize) -> RunstateTimes {
        let [running, runnable, blocked, offline] = self.vcpu(vcpu).times;
        RunstateTimes {
            running,
            runnable,
            blocked,
            offline,
        }
    }

    /// Time from the creation of vcpu number `vcpu` to its last change of state or the last
    /// [`Host::mark`]: always the exact sum of its [`Host::vcpu_times`].
    pub fn vcpu_age(&self, vcpu: usize) -> Duration {
        self.vcpu(vcpu).accounted.since(self.vcpu(vcpu).created)
    }

    /// What the vcpus of `domain` have executed up to the last [`Host::mark`], by kind; nothing
    /// where no device serves it, or where the sink does not want to know for whom domains work.
    pub fn kernel_times(&self, domain: DomainId) -> KernelTimes {
        let vcpus = self.xen.vcpus.iter();
        let vcpus = vcpus.filter(|(_, vcpu)| vcpu.name.domain == domain);
        vcpus.fold(KernelTimes::default(), |sum, (_, vcpu)| {
            sum + vcpu.guest.kernel_times()
        })
    }

    /// Name of the vcpu that is current on `pcpu`, or of its idle vcpu.
    pub fn current_name(&self, pcpu: PcpuId) -> VcpuName {
        match self.xen.policy.current(pcpu) {
            Some(vcpu) => self.xen.vcpus[vcpu].name,
            None => VcpuName::idle(pcpu),
        }
    }

    /// Scheduler passes (decisions of the policy) so far.
    pub fn passes(&self) -> u64 {
        self.xen.policy.passes
    }

    /// What a policy sees of this host.
    pub fn tables(&self) -> &Tables {
        &self.xen.policy.tables
    }

    /// The device models, in the order in which they were attached.
    pub fn devices(&self) -> &[D] {
        self.bus.devices()
    }

    /// The device model with this index.
    ///
    /// # Panics
    /// When there is none.
    pub fn device(&self, index: usize) -> &D {
        &self.bus.devices()[index]
    }

    /// The sink hands on what it holds back, so that somebody may look at what it passes records
    /// to.
    pub fn flush(&mut self) {
        self.xen.trace.flush();
    }

    /// The trace sink.
    pub fn sink_mut(&mut self) -> &mut S {
        self.xen.trace.sink_mut()
    }

    /// What the numbers in records stand for so far.
    pub fn names(&self) -> &Names {
        self.xen.trace.names()
    }

    /// Turns the trace on or off; off, records are not made. On from the start.
    pub fn set_recording(&mut self, on: bool) {
        self.xen.trace.set(on);
        self.bus.wires.recording = self.xen.trace.on();
    }

    /// Ends the host and gives the sink back.
    pub fn into_sink(self) -> S {
        self.xen.trace.into_sink()
    }

    /// Brings the runstate sums up to `now`, without a record.
    pub fn mark_accounts(&mut self, now: Instant) {
        self.xen.vcpus.mark(now);
    }

    /// Closes every account at `now`: brings the runstate sums up to date and writes, for each
    /// vcpu, a runstate record from its state to the same state, so that a reader of the trace can
    /// do the same. Call it where a trace begins and where it ends.
    pub fn mark(&mut self, now: Instant) {
        self.xen.mark(now);
    }

    /// The state of host and policy for people.
    pub fn dump(&self) -> String {
        let mut text = String::new();
        for p in self.xen.pcpus.ids() {
            let current = self.xen.policy.current(p);
            let current = current.map(|v| self.xen.vcpus[v].name);
            text.push_str(&match current {
                Some(name) => format!("{p}: {name} ({:?})\n", self.xen.pcpus[p].phase),
                None => format!("{p}: idle ({:?})\n", self.xen.pcpus[p].phase),
            });
        }
        for (id, vcpu) in self.xen.vcpus.alive() {
            text.push_str(&format!(
                "{} on {}: {} since {}; {}\n",
                vcpu.name,
                self.xen.policy.view(id).pcpu,
                vcpu.state.name(),
                vcpu.since,
                vcpu.guest.describe()
            ));
        }
        text + &format!("{}", self.policy_state())
    }

    /// What the policy has in its books.
    pub fn policy_state(&self) -> StateRows {
        StateRows::of(&*self.xen.policy.scheduler)
    }

    /// The timer that the policy keeps in `slot` of `pcpu`.
    pub(crate) fn timer_of_policy(&self, pcpu: PcpuId, slot: u8) -> TimerId {
        self.xen.pcpus[pcpu].policy[usize::from(slot)]
    }
}
