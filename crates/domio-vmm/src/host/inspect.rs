//! What can be seen of a host from outside: accounts, tables, devices, the trace.

use super::{Host, RunstateTimes};
use crate::bus::Device;
use alloc::format;
use alloc::string::String;
use domio_core::{Duration, Instant, PcpuId, Record, Sink, VcpuId, VcpuName};
use domio_sched::{StateRows, Tables};

impl<S: Sink, D: Device> Host<S, D> {
    /// Number of vcpus created so far.
    pub fn vcpu_count(&self) -> usize {
        self.vcpus.len()
    }

    /// Name of vcpu number `vcpu` (in the order of creation).
    pub fn vcpu_name(&self, vcpu: usize) -> VcpuName {
        self.vcpus[vcpu].name
    }

    /// Runstate sums of vcpu number `vcpu` up to its last change of state or the last
    /// [`Host::mark`].
    pub fn vcpu_times(&self, vcpu: usize) -> RunstateTimes {
        let [running, runnable, blocked, offline] = self.vcpus[vcpu].times;
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
        self.vcpus[vcpu].accounted.since(self.vcpus[vcpu].created)
    }

    /// Name of the vcpu that is current on `pcpu`, or of its idle vcpu.
    pub fn current_name(&self, pcpu: PcpuId) -> VcpuName {
        match self.tables.pcpus[pcpu].current {
            Some(vcpu) => self.vcpus[vcpu.index()].name,
            None => VcpuName::idle(pcpu),
        }
    }

    /// Scheduler passes (decisions of the policy) so far.
    pub fn passes(&self) -> u64 {
        self.passes
    }

    /// What a policy sees of this host.
    pub fn tables(&self) -> &Tables {
        &self.tables
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

    /// The trace sink.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Turns the trace on or off; off, records are not made. On from the start.
    pub fn set_recording(&mut self, on: bool) {
        self.bus.wires.recording = on && S::ENABLED;
    }

    /// Ends the host and gives the sink back.
    pub fn into_sink(self) -> S {
        self.sink
    }

    /// Brings the runstate sums up to `now`, without a record.
    pub fn mark_accounts(&mut self, now: Instant) {
        for v in self.vcpus.iter_mut().filter(|v| v.alive) {
            v.account(v.state, now);
        }
    }

    /// Closes every account at `now`: brings the runstate sums up to date and writes, for each
    /// vcpu, a runstate record from its state to the same state, so that a reader of the trace can
    /// do the same. Call it where a trace begins and where it ends.
    pub fn mark(&mut self, now: Instant) {
        self.execute_until(now);
        for v in 0..self.vcpus.len() {
            if self.vcpus[v].alive {
                let state = self.vcpus[v].state;
                self.vcpus[v].account(state, now);
                let pcpu = self.tables.vcpus[v].pcpu;
                if D::PRESENT && self.bus.wires.owners {
                    self.tell_served(pcpu, VcpuId(v as u32), now);
                }
                self.trace(Record::runstate(
                    now,
                    pcpu,
                    self.vcpus[v].name,
                    state,
                    state,
                ));
            }
        }
    }

    /// The state of host and policy for people.
    pub fn dump(&self) -> String {
        let mut text = String::new();
        for p in self.pcpus.ids() {
            let current = self.tables.pcpus[p]
                .current
                .map(|v| self.vcpus[v.index()].name);
            text.push_str(&match current {
                Some(name) => format!("{p}: {name} ({:?})\n", self.pcpus[p].phase),
                None => format!("{p}: idle ({:?})\n", self.pcpus[p].phase),
            });
        }
        for (v, vcpu) in self.vcpus.iter().enumerate().filter(|(_, v)| v.alive) {
            text.push_str(&format!(
                "{} on {}: {} since {}; {}\n",
                vcpu.name,
                self.tables.vcpus[v].pcpu,
                vcpu.state.name(),
                vcpu.since,
                vcpu.guest.describe()
            ));
        }
        text + &format!("{}", self.policy_state())
    }

    /// What the policy has in its books.
    pub fn policy_state(&self) -> StateRows {
        StateRows::of(&*self.scheduler)
    }
}
