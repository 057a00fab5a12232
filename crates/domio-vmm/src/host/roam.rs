//! Processes that go from one vcpu of a domain to another: where they wake, and who pulls them.

use super::{Host, Queue};
use crate::bus::device::Device;
use crate::config::{DomainConfig, TaskConfig, VcpuConfig};
use crate::guest::Guest;
use crate::process::roam::{self, Pull};
use crate::process::task::Task;
use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;
use domio_core::{DomainId, Instant, Sink, VcpuId, VcpuName};
use domio_sim::RandomStream;

impl<S: Sink, D: Device> Host<S, D> {
    /// The vcpus of `domain`, which was created.
    fn vcpus_in_order(&self, domain: DomainId) -> Range<usize> {
        let first = self.first_vcpu.get(domain.index()).copied().flatten();
        let first = first.map_or(self.vcpus.len(), |vcpu| vcpu.index());
        let own = self.vcpus[first..].iter();
        let count = own.take_while(|v| v.name.domain == domain).count();
        first..first + count
    }

    /// Wakes the process with number `process` of the domain of `waker`, whose kernel does that.
    /// Returns the vcpu on which the process wakes; `None` where it is awake.
    pub(super) fn wake_roaming(
        &mut self,
        queue: &mut Queue,
        waker: VcpuName,
        process: u32,
        now: Instant,
    ) -> Option<VcpuName> {
        let mut all = self.vcpus_in_order(waker.domain);
        let here = all.start + usize::from(waker.index);
        let last = all.find(|v| self.vcpus[*v].guest.has(process));
        let last = last.expect("a process is on one of the domain's vcpus");
        if self.vcpus[last].guest.is_ready(process) {
            return None;
        }
        let load = |v: usize| self.vcpus[v].guest.load();
        let moves = here != last && roam::wakes_here(load(here), load(last));
        let to = if moves { here } else { last };
        if moves {
            self.move_process(queue, process, last, here, now);
        }
        self.vcpus[to].guest.wake_roaming(process);
        Some(self.vcpus[to].name)
    }

    /// The kernel of `vcpu`, which is `idle` or busy, looks whether other vcpus have processes to
    /// spare, if it is time for that. Whether any has come.
    #[inline(never)]
    pub(super) fn pull_processes(
        &mut self,
        queue: &mut Queue,
        vcpu: VcpuId,
        idle: bool,
        now: Instant,
    ) -> bool {
        if !self.vcpus[vcpu.index()].guest.looks(idle, now) {
            return false;
        }
        let all = self.vcpus_in_order(self.vcpus[vcpu.index()].name.domain);
        let loads: Vec<u32> = all.clone().map(|v| self.vcpus[v].guest.load()).collect();
        let Some(Pull { from, processes }) = roam::pull(&loads, vcpu.index() - all.start) else {
            return false;
        };
        let from = all.start + from;
        let mut come = false;
        for _ in 0..processes {
            let Some(process) = self.vcpus[from].guest.to_spare(now) else {
                break;
            };
            self.move_process(queue, process, from, vcpu.index(), now);
            come = true;
        }
        come
    }

    fn move_process(
        &mut self,
        queue: &mut Queue,
        process: u32,
        from: usize,
        to: usize,
        now: Instant,
    ) {
        if let Some(moving) = self.vcpus[from].guest.give(process) {
            self.vcpus[to].guest.take(process, moving);
            self.vcpus[from].set_timer::<D>(queue, now);
            self.vcpus[to].set_timer::<D>(queue, now);
        }
    }
}

/// The guest on vcpu `index` of the domain that `config` describes, booted at `booted`. Its random
/// streams are those of `seed` and `replication`.
pub(super) fn guest_on(
    config: &DomainConfig,
    index: usize,
    booted: Instant,
    (seed, replication): (u64, u32),
) -> Guest {
    let stream = |vcpu: usize, task: usize| {
        let component = format!("{}/vcpu{vcpu}/task{task}", config.name);
        RandomStream::new(seed, replication, &component)
    };
    let settings = &config.vcpus[index];
    if !config.roams() {
        return Guest::new(config.guest, settings, booted, |task| stream(index, task));
    }
    let all = settings.tasks.iter().enumerate();
    let bound = all.filter(|(_, task)| !task.roams);
    let (numbers, tasks): (Vec<usize>, Vec<TaskConfig>) =
        bound.map(|(i, task)| (i, task.clone())).unzip();
    let own = VcpuConfig {
        tasks,
        ..settings.clone()
    };
    let mut guest = Guest::new(config.guest, &own, booted, |i| stream(index, numbers[i]));
    let all = config.vcpus.iter().enumerate();
    let all = all.flat_map(|(v, vcpu)| vcpu.tasks.iter().enumerate().map(move |t| (v, t)));
    let roaming = all.filter(|(_, (_, task))| task.roams);
    let processes = roaming.map(|(v, (t, task))| {
        let here = v == index;
        here.then(|| (Task::new(task, booted, stream(v, t)), task.nice()))
    });
    guest.make_room(
        own.tasks.iter().map(TaskConfig::nice),
        processes.collect(),
        booted,
    );
    guest
}
