//! Processes of a guest with several vcpus, which its kernel has execute on one or another: who is
//! pulled, when, and that nobody is lost on the way.

use crate::common::*;
use crate::probe::{Habits, Told, run};
use domio_core::{CpuSet, Duration, Kind, PcpuId, XenVersion};
use domio_vmm::config::{DomainConfig, ProcessOrder, TaskConfig, VcpuConfig, Workload};

/// A domain of so many vcpus under Linux 2.6.18 with these processes, all of which begin on the
/// first vcpu and may leave it.
fn several(vcpus: usize, workloads: impl IntoIterator<Item = Workload>) -> DomainConfig {
    let mut domain = domain(1, Workload::Idle);
    domain.guest.order = ProcessOrder::Linux26;
    domain.guest.tick = Some(ms(10));
    domain.vcpus = vec![VcpuConfig::anywhere([]); vcpus];
    let tasks = workloads.into_iter().map(|workload| TaskConfig {
        roams: true,
        ..TaskConfig::from(workload)
    });
    domain.vcpus[0].tasks = tasks.collect();
    domain
}

/// Runs `domain` with a pcpu for each of its vcpus.
fn on_its_own(mut domain: DomainConfig, time: Duration) -> Told {
    for (pcpu, vcpu) in (0..).zip(&mut domain.vcpus) {
        vcpu.hard = CpuSet::of(PcpuId(pcpu));
    }
    let pcpus = domain.vcpus.len() as u16;
    let host = host(pcpus, XenVersion::V3_1, vec![domain]);
    run(&host, Habits::default(), time)
}

/// When jobs of the domain ended (ms), and on which of its vcpus, in order of time.
fn ends(told: &Told) -> Vec<(u64, u16)> {
    let done = told.records.iter().filter(|r| r.is(Kind::JobDone));
    done.map(|r| {
        (
            r.at.as_nanos() / 1_000_000,
            told.records.vcpu(r.actor).index,
        )
    })
    .collect()
}

/// An idle vcpu has no ticks: the watchdog's thread, a second after the start, finds that another
/// vcpu has two processes.
#[test]
fn an_idle_vcpu_looks_for_more_to_do_once_a_second() {
    let three = [compute(ms(30)), compute(ms(1_450)), compute(ms(1_450))];
    // From 30 ms on the second and the third take turns of 100 ms. At 1 s the third is at it, and
    // they have 950 ms and 980 ms to go.
    assert_eq!(
        ends(&on_its_own(several(2, three.clone()), ms(4_000))),
        [(30, 0), (1_950, 1), (1_980, 0)]
    );
    // Those that are bound to a vcpu stay there.
    let mut bound = several(2, three.clone());
    for task in &mut bound.vcpus[0].tasks {
        task.roams = false;
    }
    let stays = [(30, 0), (2_880, 0), (2_930, 0)];
    assert_eq!(ends(&on_its_own(bound, ms(4_000))), stays);
    // So they do under a kernel that moves nobody, and on a single vcpu.
    let mut simple = several(2, three.clone());
    simple.guest.order = ProcessOrder::Turns;
    simple.guest.task_slice = ms(100);
    assert_eq!(ends(&on_its_own(simple, ms(4_000))), stays);
    assert_eq!(ends(&on_its_own(several(1, three), ms(4_000))), stays);
}

/// Without the first of those, turns end at whole seconds, at which one has just executed and the
/// other goes on: nobody is cold.
#[test]
fn who_has_just_executed_is_not_pulled() {
    let both = [compute(ms(1_450)), compute(ms(1_450))];
    assert_eq!(
        ends(&on_its_own(several(2, both), ms(4_000))),
        [(2_850, 0), (2_900, 0)]
    );
}

/// A vcpu whose last process ends pulls at once.
#[test]
fn a_vcpu_that_becomes_idle_pulls_at_once() {
    let mut domain = several(2, [compute(ms(400)), compute(ms(400)), compute(ms(400))]);
    let short = domain.vcpus[0].tasks.pop().map(|task| TaskConfig {
        workload: compute(ms(150)),
        ..task
    });
    domain.vcpus[1].tasks.extend(short);
    // At 150 ms the first waits, for the second has its turn until 200 ms: 300 ms are left of the
    // first, and 350 ms of the second.
    let told = on_its_own(domain, ms(1_000));
    assert_eq!(ends(&told), [(150, 1), (450, 1), (500, 0)]);
}

/// A busy vcpu looks at a tick, and again 64 ms later at the soonest: one process of four moves.
#[test]
fn a_busy_vcpu_pulls_when_another_has_two_more() {
    let mut domain = several(2, vec![compute(ms(300)); 3]);
    domain.vcpus[1].tasks.push(TaskConfig {
        roams: true,
        ..TaskConfig::from(compute(ms(300)))
    });
    let told = on_its_own(domain, ms(2_000));
    let jobs = ends(&told);
    // Two vcpus share 1.2 s of work evenly.
    let last: Vec<u64> = (0..2)
        .filter_map(|v| {
            jobs.iter()
                .filter(|(_, on)| *on == v)
                .map(|(at, _)| *at)
                .max()
        })
        .collect();
    assert_eq!((jobs.len(), &last[..]), (4, &[600, 600][..]), "{jobs:?}");
}

/// All of any number of processes are done, on any number of vcpus, and take as much time as they
/// need in all.
#[test]
fn no_process_is_lost() {
    for vcpus in 1..=4_u16 {
        for processes in 1..=9_u64 {
            let work = (1..=processes).map(|i| compute(ms(50 * i)));
            let told = on_its_own(several(usize::from(vcpus), work), ms(4_000));
            assert_eq!(ends(&told).len() as u64, processes, "{vcpus} vcpus");
            let host = told.simulation.host();
            let ran = (0..usize::from(vcpus)).map(|v| host.vcpu_times(v).running);
            let total = ran.fold(Duration::ZERO, |sum, time| sum + time);
            let needed = ms(50 * processes * (processes + 1) / 2);
            assert_eq!(total, needed, "{vcpus} vcpus, {processes} processes");
        }
    }
}

/// Processes that sleep wake on the vcpu whose timer that was, and go on to compute everywhere.
#[test]
fn sleepers_are_pulled_while_they_wait() {
    let busy = (0..6).map(|_| on_off(ms(20), ms(5)));
    let told = on_its_own(several(3, busy), ms(6_000));
    let jobs = ends(&told);
    for vcpu in 0..3 {
        let own = jobs.iter().filter(|(at, on)| *at > 2_000 && *on == vcpu);
        // 4 s of bursts of 20 ms: as many as fit, or nearly.
        assert!(own.count() > 180, "vcpu {vcpu}");
    }
}
