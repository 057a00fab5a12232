//! Work that interrupt handlers leave for later on one vcpu.

use domio_core::{Duration, Instant};
use domio_vmm::bus::Softirq;
use domio_vmm::bus::lines::{BusLine, BusLines};
use domio_vmm::guest::pending::Pending;

fn lines() -> (BusLines, BusLine) {
    let line = BusLine {
        device: 0,
        token: 0,
    };
    (BusLines::default(), line)
}

#[test]
fn lower_softirqs_run_first_and_later_ones_wait_for_the_next_round() {
    let (mut lines, line) = lines();
    let block = lines.add_softirq(Softirq::Block, line);
    let rx = lines.add_softirq(Softirq::NetRx, line);
    let mut pending = Pending::default();
    pending.raise(block);
    pending.raise(rx);
    pending.raise(block);
    pending.begin_round();
    assert_eq!(pending.next_softirq(), Some(rx));
    pending.raise(rx);
    assert_eq!(pending.next_softirq(), Some(block));
    assert_eq!(pending.next_softirq(), None);
    assert!(pending.any());
}

#[test]
fn the_last_tasklet_runs_first() {
    let (mut lines, line) = lines();
    let [a, b] = [(); 2].map(|()| lines.add_tasklet(line));
    let mut pending = Pending::default();
    for tasklet in [a, b, a] {
        pending.schedule(tasklet);
    }
    pending.begin_tasklets();
    assert_eq!(pending.next_tasklet(), Some(b));
    // The first waits still, so this is nothing new; the second runs, so it is.
    pending.schedule(a);
    pending.schedule(b);
    assert_eq!(pending.next_tasklet(), Some(a));
    assert_eq!(pending.next_tasklet(), None);
    pending.begin_tasklets();
    assert_eq!(
        (pending.next_tasklet(), pending.next_tasklet()),
        (Some(b), None)
    );
}

#[test]
fn each_timer_expires_at_its_time_and_once() {
    let (mut lines, line) = lines();
    let [a, b, c] = [(); 3].map(|()| lines.add_kernel_timer(line));
    let at = |us| Instant::ZERO + Duration::from_micros(us);
    let mut pending = Pending::default();
    assert_eq!(pending.first_timer(), Instant::MAX);
    for (timer, us) in [(a, 30), (b, 10), (c, 20)] {
        pending.set_timer(timer, Some(at(us)));
    }
    assert_eq!(pending.first_timer(), at(10));
    pending.set_timer(b, None);
    pending.set_timer(a, Some(at(15)));
    assert_eq!(pending.first_timer(), at(15));
    assert_eq!(pending.expired(at(14)), None);
    assert_eq!(pending.expired(at(25)), Some(a));
    assert_eq!(pending.expired(at(25)), Some(c));
    assert_eq!(pending.expired(at(25)), None);
    assert_eq!(pending.first_timer(), Instant::MAX);
}
