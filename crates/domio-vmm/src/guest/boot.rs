//! The guest of a vcpu, when its domain is created.

use super::Guest;
use crate::config::{DomainConfig, TaskConfig, VcpuConfig};
use crate::process::task::Task;
use alloc::format;
use alloc::vec::Vec;
use domio_core::Instant;
use domio_sim::RandomStream;

/// The guest on vcpu `index` of the domain that `config` describes, booted at `booted`. Its random
/// streams are those of `seed` and `replication`.
pub(crate) fn boot(
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
