//! The small operating system inside a guest: levels, priorities, turns, jobs.

use crate::common::*;
use crate::probe::{Habits, Told, run};
use domio_core::{Duration, Instant, Kind, XenVersion};
use domio_sim::RandomStream;
use domio_vmm::config::{
    DomainConfig, GuestConfig, KernelCosts, KernelTick, TaskConfig, VcpuConfig, Workload,
};
use domio_vmm::guest::{Guest, Job, Step};
use domio_vmm::process::NewJob;

fn task(priority: i8, workload: Workload) -> TaskConfig {
    TaskConfig {
        priority,
        ..TaskConfig::from(workload)
    }
}

fn guest(config: GuestConfig, tasks: Vec<TaskConfig>) -> Guest {
    let mut vcpu = VcpuConfig::anywhere([]);
    vcpu.tasks = tasks;
    Guest::new(config, &vcpu, Instant::ZERO, |i| {
        RandomStream::new(1, 0, &format!("task{i}"))
    })
}

/// Runs `domain` alone.
fn alone(domain: DomainConfig, time: Duration) -> Told {
    run(
        &host(1, XenVersion::V4_17, vec![domain]),
        Habits::default(),
        time,
    )
}

#[test]
fn interrupts_run_before_softirqs_and_those_before_tasks() {
    let config = GuestConfig {
        costs: KernelCosts::of_timer(us(3), us(7)),
        ..GuestConfig::IDEAL
    };
    let mut guest = guest(config, vec![task(0, compute(us(50)))]);
    let mut jobs = Vec::new();
    assert_eq!(guest.step(at_us(0), &mut jobs), Step::Run(us(50)));
    guest.executed(us(10));
    guest.interrupt();
    assert_eq!(guest.step(at_us(10), &mut jobs), Step::Run(us(3)));
    guest.executed(us(3));
    assert_eq!(guest.step(at_us(13), &mut jobs), Step::Run(us(7)));
    // Another interrupt in the softirq: its handler first, and the softirq is not done twice.
    guest.executed(us(2));
    guest.interrupt();
    assert_eq!(guest.step(at_us(15), &mut jobs), Step::Run(us(3)));
    guest.executed(us(3));
    assert_eq!(guest.step(at_us(18), &mut jobs), Step::Run(us(5)));
    guest.executed(us(5));
    assert_eq!(guest.step(at_us(23), &mut jobs), Step::Run(us(40)));
    guest.executed(us(40));
    assert!(jobs.is_empty());
    assert_eq!(guest.step(at_us(63), &mut jobs), Step::Block);
    assert_eq!(jobs.len(), 1);
    let Job::Report { finished, .. } = jobs[0] else {
        panic!("a job is reported: {jobs:?}");
    };
    assert_eq!(finished.turnaround, us(63));
    assert_eq!(finished.work, us(50));
}

#[test]
#[should_panic(expected = "an idle guest executed")]
fn an_idle_guest_does_not_execute() {
    let mut guest = guest(GuestConfig::IDEAL, vec![]);
    assert_eq!(guest.step(Instant::ZERO, &mut Vec::new()), Step::Block);
    guest.executed(us(1));
}

#[test]
fn a_task_of_higher_priority_runs_first_and_interrupts_a_lower_one() {
    let mut domain = domain(1, Workload::Idle);
    domain.vcpus[0].tasks = vec![
        task(0, compute(ms(3))),
        task(1, periodic(ms(10), ms(1), us(500))),
        task(2, compute(ms(2))),
    ];
    let told = alone(domain, ms(5) + us(900));
    assert_eq!(
        lines(&told.records, &[Kind::JobDone]),
        [
            "2000 p0 d1v0 job of task 2 2000 for 2000",
            "2500 p0 d1v0 job of task 1 1500 for 500",
            "5500 p0 d1v0 job of task 0 5500 for 3000",
        ]
    );
}

#[test]
fn tasks_of_equal_priority_take_turns() {
    let mut domain = domain(1, compute(ms(3)));
    domain.guest.task_slice = ms(2);
    domain.vcpus[0].tasks.push(task(0, compute(ms(3))));
    domain.vcpus[0].tasks.push(task(0, compute(ms(1))));
    let told = alone(domain, ms(10));
    // 0 to 2 ms the first, to 4 the second, to 5 the third, then what is left of each.
    assert_eq!(
        lines(&told.records, &[Kind::JobDone]),
        [
            "5000 p0 d1v0 job of task 2 5000 for 1000",
            "6000 p0 d1v0 job of task 0 6000 for 3000",
            "7000 p0 d1v0 job of task 1 7000 for 3000",
        ]
    );
}

#[test]
fn a_turn_goes_on_after_another_priority_and_after_preemption() {
    // The burner of domain 2 takes every second millisecond; turns count execution only.
    let mut guest = domain(1, compute(ms(2)));
    guest.guest.task_slice = us(1_500);
    guest.vcpus[0].tasks.push(task(0, compute(us(1_900))));
    let domains = vec![guest, domain(2, Workload::Burn)];
    let habits = Habits {
        slice: Some(ms(1)),
        sticky: true,
        ..Habits::default()
    };
    let told = run(&host(1, XenVersion::V4_17, domains), habits, ms(10));
    // Executes 0-1, 2-3, 4-5, 6-7: task 0 has 1.5 ms, task 1 has 1.5 ms, then what is left.
    assert_eq!(
        lines(&told.records, &[Kind::JobDone]),
        [
            "6500 p0 d1v0 job of task 0 6500 for 2000",
            "6900 p0 d1v0 job of task 1 6900 for 1900",
        ]
    );
}

#[test]
fn jobs_that_are_released_while_one_is_under_way_queue_up() {
    // Released at 1, 2, 3, ... ms; a burner takes 0 to 4 ms.
    let mut guest = domain(1, periodic(ms(1), ms(1), us(500)));
    guest.vcpus[0].tasks.push(task(1, compute(ms(4))));
    let told = alone(guest, us(7_600));
    assert_eq!(
        lines(&told.records, &[Kind::JobDone])[1..],
        [
            "4500 p0 d1v0 job of task 0 3500 for 500",
            "5000 p0 d1v0 job of task 0 3000 for 500",
            "5500 p0 d1v0 job of task 0 2500 for 500",
            "6000 p0 d1v0 job of task 0 2000 for 500",
            "6500 p0 d1v0 job of task 0 1500 for 500",
            "7000 p0 d1v0 job of task 0 1000 for 500",
            "7500 p0 d1v0 job of task 0 500 for 500",
        ]
    );
}

#[test]
fn an_on_off_task_sleeps_from_the_end_of_its_burst() {
    // The burner delays the first burst to 3 ms, and with it all that follows.
    let mut guest = domain(1, on_off(ms(1), ms(2)));
    guest.vcpus[0].tasks.push(task(1, compute(ms(2))));
    let told = alone(guest, ms(10));
    assert_eq!(
        lines(&told.records, &[Kind::Block, Kind::Wake])[1..],
        [
            "3000 p0 d1v0 block",
            "5000 p0 d1v0 wake",
            "6000 p0 d1v0 block",
            "8000 p0 d1v0 wake",
            "9000 p0 d1v0 block",
        ]
    );
    assert_eq!(
        turnarounds(&told.records, vcpu(1)),
        [2_000, 3_000, 1_000, 1_000]
    );
}

#[test]
fn a_computation_tells_its_turnaround_and_then_sleeps() {
    let domains = vec![domain(1, compute(us(2_500))), domain(2, Workload::Burn)];
    let habits = Habits {
        slice: Some(ms(1)),
        sticky: true,
        ..Habits::default()
    };
    let told = run(&host(1, XenVersion::V4_17, domains), habits, ms(20));
    assert_eq!(
        lines(&told.records, &[Kind::JobDone]),
        ["4500 p0 d1v0 job of task 0 4500 for 2500"]
    );
    assert_eq!(told.simulation.host().vcpu_times(0).blocked, us(15_500));
}

#[test]
fn a_kernel_ticks_itself_only_while_it_has_work() {
    let mut guest = domain(1, periodic(ms(50), ms(5), ms(10)));
    guest.guest.costs.timer_irq = us(100);
    guest.vcpus[0].kernel_tick = Some(KernelTick {
        period: ms(4),
        phase: at_ms(2),
        least: Duration::ZERO,
    });
    let told = alone(guest, ms(40));
    // Woken at 5 ms by its timer; ticks at 6, 10 and 14 ms.
    assert_eq!(
        turnarounds(&told.records, vcpu(1)),
        [10_000 + 100 + 3 * 100]
    );
    let wakes = lines(&told.records, &[Kind::Wake]);
    assert_eq!(wakes.len(), 2, "no tick wakes an idle guest: {wakes:?}");
}

#[test]
fn a_tick_that_is_due_soon_after_its_guest_goes_on_comes_the_least_time_ahead() {
    let mut vcpu = VcpuConfig::anywhere([]);
    vcpu.tasks = vec![task(0, Workload::Burn)];
    vcpu.kernel_tick = Some(KernelTick {
        period: ms(4),
        phase: at_ms(2),
        least: us(150),
    });
    let streams = |i| RandomStream::new(1, 0, &format!("task{i}"));
    let mut guest = Guest::new(GuestConfig::IDEAL, &vcpu, Instant::ZERO, streams);
    let mut goes_on = |at| {
        guest.interrupt();
        guest.step(at, &mut Vec::new());
        guest.next_wake()
    };
    assert_eq!(goes_on(at_us(0)), at_ms(2));
    // The tick at 2 ms came while it waited: what is set then is the one at 6 ms.
    assert_eq!(goes_on(at_us(5_800)), at_ms(6));
    // That has come as well; 100 us are too near.
    assert_eq!(goes_on(at_us(9_900)), at_us(10_050));
    assert_eq!(goes_on(at_us(10_050)), at_ms(14));
    // One that is still set comes at its time.
    assert_eq!(goes_on(at_us(13_950)), at_ms(14));
}

#[test]
fn who_spins_until_a_time_takes_less_time_when_it_is_preempted() {
    let job = |at| NewJob {
        released: at_us(at),
        spin: us(500),
        work: us(100),
    };
    let jobs = planned([job(1_000), job(10_000), job(20_000)]);
    let mut guest = guest(GuestConfig::IDEAL, vec![task(0, jobs)]);
    let mut jobs = Vec::new();
    assert_eq!(guest.step(at_us(0), &mut jobs), Step::Block);
    // It waits for 200 us: the time counts from when it executes first.
    guest.interrupt();
    assert_eq!(guest.step(at_us(1_200), &mut jobs), Step::Run(us(600)));
    guest.executed(us(200));
    // Preempted from 1,400 to 1,550: 150 us are left until 1,700, and the work after it.
    assert_eq!(guest.step(at_us(1_550), &mut jobs), Step::Run(us(250)));
    guest.executed(us(190));
    // Preempted in its work, which is processor time.
    assert_eq!(guest.step(at_us(5_000), &mut jobs), Step::Run(us(60)));
    guest.executed(us(60));
    assert_eq!(guest.step(at_us(5_060), &mut jobs), Step::Block);
    // Preempted until the time has passed, it does no more than its work.
    guest.interrupt();
    assert_eq!(guest.step(at_us(10_000), &mut jobs), Step::Run(us(600)));
    guest.executed(us(10));
    assert_eq!(guest.step(at_us(15_000), &mut jobs), Step::Run(us(100)));
    guest.executed(us(100));
    assert_eq!(guest.step(at_us(15_100), &mut jobs), Step::Block);
    // The next has a time of its own.
    guest.interrupt();
    assert_eq!(guest.step(at_us(20_000), &mut jobs), Step::Run(us(600)));
}
