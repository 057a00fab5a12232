//! Requests of disks, and who waits for them.

use super::{Host, switch, wakeup};
use domio_linux::{DiskId, DiskRequest, DiskStep, Left, LinuxWhat};

/// Two threads of one service, one of another, and one of the kernel.
const THREADS: [(u32, &str, &str); 4] = [
    (10, "reader", "/system.slice/db.service"),
    (11, "logger", "/system.slice/db.service"),
    (20, "dd", "/system.slice/web.service"),
    (30, "kworker/0:1H", "/"),
];

fn disk(step: DiskStep, sector: u64, sectors: u32) -> LinuxWhat {
    LinuxWhat::Disk(DiskRequest {
        step,
        disk: DiskId::of_kernel(if step == DiskStep::Bio { 9 } else { 8 }),
        writes: false,
        sector,
        sectors,
    })
}

fn of_disk(lines: &[String]) -> Vec<&str> {
    let own = lines.iter().filter(|line| line.contains(" disk-"));
    own.map(|line| line.split_once(' ').unwrap().1).collect()
}

#[test]
fn a_request_is_of_the_thread_that_asked_for_it() {
    let mut host = Host::new(&THREADS);
    host.at(0, 0, 10, LinuxWhat::Other);
    host.at(1_000, 0, 10, disk(DiskStep::Bio, 100, 8));
    host.at(2_000, 0, 10, disk(DiskStep::Bio, 108, 8));
    // The other piece is not part of it.
    host.at(2_500, 0, 10, disk(DiskStep::Bio, 200, 8));
    host.at(3_000, 0, 10, switch(10, Left::Uninterruptible, 30));
    assert!(
        host.at(4_000, 0, 30, disk(DiskStep::Insert, 100, 8))
            .is_empty()
    );
    let issued = host.at(10_000, 0, 30, disk(DiskStep::Issue, 100, 16));
    assert_eq!(of_disk(&issued), ["d1v0 disk-queued disk=8 time=6000"]);
    let part = host.at(40_000, 0, 30, disk(DiskStep::Complete, 100, 4));
    assert!(part.is_empty(), "the rest is not done: {part:?}");
    let done = host.at(50_000, 0, 30, disk(DiskStep::Complete, 104, 12));
    assert_eq!(
        of_disk(&done),
        ["d1v0 disk-done disk=8 time=40000 sectors=16 writes=0"]
    );
    assert!(
        host.at(60_000, 0, 30, disk(DiskStep::Complete, 104, 12))
            .is_empty()
    );
    // Nothing of this one is known but its last step.
    assert!(
        host.at(70_000, 0, 30, disk(DiskStep::Complete, 900, 8))
            .is_empty()
    );
}

#[test]
fn a_flush_ends_whatever_sector_it_names() {
    let mut host = Host::new(&THREADS);
    host.at(0, 0, 20, LinuxWhat::Other);
    host.at(1_000, 0, 20, disk(DiskStep::Issue, 0, 0));
    let done = host.at(9_000, 0, 20, disk(DiskStep::Complete, u64::MAX, 0));
    assert_eq!(
        of_disk(&done),
        ["d1v0 disk-done disk=8 time=8000 sectors=0 writes=0"]
    );
}

/// What is said when thread `woken`, asleep in `state` since 100 us, is woken on `cpu` at `at`. A
/// request of `by` was done on cpu 0 at 1 ms.
fn woken(by: u32, state: Left, woken: u32, cpu: u32, at: u64) -> Vec<String> {
    let mut host = Host::new(&THREADS);
    host.at(0, 1, woken, LinuxWhat::Other);
    host.at(1, 0, by, LinuxWhat::Other);
    let sleeper = if by == woken { 0 } else { 1 };
    if by == woken {
        host.at(10, 1, woken, switch(woken, Left::Sleeping, 0));
    }
    host.at(50_000, 0, by, disk(DiskStep::Issue, 100, 8));
    host.at(100_000, sleeper, woken, switch(woken, state, 0));
    let other = if by == woken { 0 } else { by };
    host.at(1_000_000, 0, other, disk(DiskStep::Complete, 100, 8));
    let current = if cpu == 0 { other } else { 0 };
    host.at(at, cpu, current, wakeup(woken, cpu))
}

#[test]
fn who_is_woken_after_its_request_has_waited_for_the_disk() {
    let d = Left::Uninterruptible;
    let own = woken(10, d, 10, 0, 1_010_000);
    assert_eq!(of_disk(&own), ["d1v0 disk-wait time=910000"]);
    let elsewhere = woken(10, d, 10, 1, 1_900_000);
    assert_eq!(of_disk(&elsewhere), ["d1v0 disk-wait time=1800000"]);
    let of_group = woken(11, d, 10, 0, 1_010_000);
    assert_eq!(of_disk(&of_group).len(), 1, "{of_group:?}");
    for (other, why) in [
        (
            woken(10, Left::Sleeping, 10, 0, 1_010_000),
            "it was in state S",
        ),
        (woken(10, d, 10, 0, 3_000_000), "something else woke it"),
        (woken(11, d, 10, 1, 1_010_000), "another cpu woke it"),
        (
            woken(20, d, 10, 0, 1_010_000),
            "the request is of another service",
        ),
    ] {
        assert_eq!(of_disk(&other).len(), 0, "{why}: {other:?}");
    }
}
