//! Processes that go from one vcpu of a domain to another: where they wake, and who pulls them.

use crate::bus::device::Device;
use crate::event::Queue;
use crate::hypervisor::vcpu::Vcpus;
use crate::process::roam::{self, Pull};
use alloc::vec::Vec;
use core::ops::Range;
use domio_core::{DomainId, Instant, VcpuId, VcpuName};

impl Vcpus {
    /// The vcpus of `domain`, which was created.
    pub fn in_order(&self, domain: DomainId) -> impl Iterator<Item = VcpuId> + use<> {
        self.vcpus_in_order(domain).map(|v| VcpuId(v as u32))
    }

    /// Their places in the table.
    fn vcpus_in_order(&self, domain: DomainId) -> Range<usize> {
        let first = self.first_of(domain).map_or(self.len(), VcpuId::index);
        let own = self.all[first..].iter();
        let count = own.take_while(|v| v.name.domain == domain).count();
        first..first + count
    }

    /// Wakes the process with number `process` of the domain of `waker`, whose kernel does that.
    /// Returns the vcpu on which the process wakes; `None` where it is awake.
    pub fn wake_roaming<D: Device>(
        &mut self,
        queue: &mut Queue,
        waker: VcpuName,
        process: u32,
        now: Instant,
    ) -> Option<VcpuName> {
        let mut all = self.vcpus_in_order(waker.domain);
        let here = all.start + usize::from(waker.index);
        let last = all.find(|v| self.all[*v].guest.has(process));
        let last = last.expect("a process is on one of the domain's vcpus");
        if self.all[last].guest.is_ready(process) {
            return None;
        }
        let load = |v: usize| self.all[v].guest.load();
        let moves = here != last && roam::wakes_here(load(here), load(last));
        let to = if moves { here } else { last };
        if moves {
            self.move_process::<D>(queue, process, last, here, now);
        }
        self.all[to].guest.wake_roaming(process);
        Some(self.all[to].name)
    }

    /// The kernel of `vcpu`, which is `idle` or busy, looks whether other vcpus have processes to
    /// spare, if it is time for that. Whether any has come.
    #[inline(never)]
    pub fn pull_processes<D: Device>(
        &mut self,
        queue: &mut Queue,
        vcpu: VcpuId,
        idle: bool,
        now: Instant,
    ) -> bool {
        if !self[vcpu].guest.looks(idle, now) {
            return false;
        }
        let all = self.vcpus_in_order(self[vcpu].name.domain);
        let loads: Vec<u32> = all.clone().map(|v| self.all[v].guest.load()).collect();
        let Some(Pull { from, processes }) = roam::pull(&loads, vcpu.index() - all.start) else {
            return false;
        };
        let from = all.start + from;
        let mut come = false;
        for _ in 0..processes {
            let Some(process) = self.all[from].guest.to_spare(now) else {
                break;
            };
            self.move_process::<D>(queue, process, from, vcpu.index(), now);
            come = true;
        }
        come
    }

    fn move_process<D: Device>(
        &mut self,
        queue: &mut Queue,
        process: u32,
        from: usize,
        to: usize,
        now: Instant,
    ) {
        if let Some(moving) = self.all[from].guest.give(process) {
            self.all[to].guest.take(process, moving);
            self.all[from].set_timer::<D>(queue, now);
            self.all[to].set_timer::<D>(queue, now);
        }
    }
}
