//! xen-spec 0.9: the periodic tick of a guest. Each tick costs 0.1 ms here, so that the time at
//! which a computation ends counts them.

use crate::common::*;
use crate::probe::{Habits, run};
use domio_core::{Duration, XenVersion};
use domio_vmm::config::{DomainConfig, Workload};

fn ticking(mut domain: DomainConfig) -> DomainConfig {
    domain.guest.tick = Some(ms(10));
    domain.guest.costs.timer_irq = us(100);
    domain
}

/// When 30 ms of work are done, in microseconds, with slices of `slice` beside `others`.
fn done_at(version: XenVersion, slice: Duration, others: Vec<DomainConfig>) -> u64 {
    done_after(ms(30), version, slice, others)
}

fn done_after(
    work: Duration,
    version: XenVersion,
    slice: Duration,
    others: Vec<DomainConfig>,
) -> u64 {
    let mut domains = vec![ticking(domain(1, compute(work)))];
    domains.extend(others);
    let habits = Habits {
        slice: Some(slice),
        ..Habits::default()
    };
    let told = run(&host(1, version, domains), habits, ms(100));
    turnarounds(&told.records, vcpu(1))[0]
}

#[test]
fn s0_9_a_guest_that_runs_is_ticked_every_period() {
    for version in [XenVersion::V3_0, XenVersion::V3_1, XenVersion::V4_17] {
        assert_eq!(done_at(version, ms(200), vec![]), 30_300, "{version}");
    }
}

#[test]
fn s0_9_no_tick_while_another_runs_and_one_overdue_at_switch_in() {
    // Runs 0 to 24 ms (ticks at 10 and 20) and from 48 ms on: 23.8 ms are done by then. The tick
    // that was due at 30 ms comes at 48 ms, the next at 58 ms.
    let other = || vec![domain(2, Workload::Burn)];
    for version in [XenVersion::V3_1, XenVersion::V4_17] {
        assert_eq!(
            done_at(version, ms(24), other()),
            48_000 + 100 + 6_200,
            "{version}"
        );
    }
}

#[test]
fn s0_9_up_to_3_0_the_host_ticks_whoever_runs() {
    // As above, but the ticks of the host go on: at 48 ms it gets one for the two that it missed,
    // and at 50 ms one more.
    let other = || vec![domain(2, Workload::Burn)];
    let end = 48_000 + 100 + 6_200 + 100;
    assert_eq!(done_at(XenVersion::V3_0, ms(24), other()), end);
}

#[test]
fn s0_9_a_tick_is_overdue_only_after_a_period() {
    let other = || vec![domain(2, Workload::Burn)];
    // Back at 18, 36 and 54 ms, each time more than 10 ms after the last tick.
    let end = 54_000 + 100 + (30_000 - 9_000 - 2 * 8_900);
    assert_eq!(done_at(XenVersion::V3_1, ms(9), other()), end);
    // Back at 8 ms, when none is due: that of 10 ms comes in time, and at 16 ms none is due again.
    let short = done_after(ms(10), XenVersion::V3_1, ms(4), other());
    assert_eq!(short, 16_000 + (10_000 - 4_000 - 3_900));
}

#[test]
fn s0_9_a_tickless_guest_gets_none() {
    let quiet = vec![domain(1, compute(ms(30)))];
    let told = run(&host(1, XenVersion::V3_0, quiet), Habits::default(), ms(40));
    assert_eq!(turnarounds(&told.records, vcpu(1)), [30_000]);
}
