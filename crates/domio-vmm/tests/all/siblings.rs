//! Threads of a core that slow each other (FIDELITY 9): time on a pcpu is not work.

use crate::common::*;
use crate::probe::{Habits, Told, run};
use domio_core::{Topology, XenVersion};
use domio_vmm::config::HostConfig;

fn two_threads(percent: u8, first: u64, second: u64) -> HostConfig {
    let domains = vec![
        pinned(domain(1, compute(ms(first))), P0),
        pinned(domain(2, compute(ms(second))), P1),
    ];
    let mut host = host(2, XenVersion::V4_17, domains);
    host.topology = Topology::new(1, 1, 2).unwrap();
    host.profile.sibling_percent = percent;
    host
}

fn lost(told: &Told, domain: u16) -> u64 {
    sum_of(&told.records, "slowed", vcpu(domain))
}

/// The second computes 4 ms at 65 % until 6.154 ms; the first has done as much by then, and goes on
/// at full speed.
#[test]
fn work_takes_longer_while_the_other_thread_is_busy() {
    let told = run(&two_threads(65, 10, 4), Habits::default(), ms(20));
    assert_eq!(turnarounds(&told.records, vcpu(2)), [6_153]);
    assert_eq!(turnarounds(&told.records, vcpu(1)), [12_153]);
    // Both have lost 35 % of 6.153847 ms.
    for domain in [1, 2] {
        assert_eq!(lost(&told, domain) / 1_000, 2_153);
    }
}

/// At the end of the trace the first has a job of 12 ms under way, 8 ms of them at half the speed.
#[test]
fn what_is_lost_by_the_end_of_a_trace_is_told() {
    let mut told = run(&two_threads(50, 12, 4), Habits::default(), ms(10));
    let host = told.simulation.host_mut();
    host.mark(at_ms(10));
    told.records = host.sink_mut().clone();
    assert_eq!(turnarounds(&told.records, vcpu(2)), [8_000]);
    assert_eq!((lost(&told, 1), lost(&told, 2)), (4_000_000, 4_000_000));
}

#[test]
fn without_a_figure_threads_are_pcpus_like_others() {
    let told = run(&two_threads(100, 10, 4), Habits::default(), ms(20));
    assert_eq!(turnarounds(&told.records, vcpu(1)), [10_000]);
    assert_eq!(lost(&told, 1), 0);
}
