//! What a lone read takes, by arithmetic.

use crate::site::*;
use domio_blk::loopback::LoopbackCosts;
use domio_core::Duration;
use domio_vmm::Profile;
use domio_vmm::config::KernelCosts;
use domio_vmm::hardware::OPTERON_242;
use domio_vmm::process::programs::CopyDirection::{Read, Write};
use std::sync::LazyLock;

static BLK: LazyLock<LoopbackCosts> = LazyLock::new(|| LoopbackCosts::on(&OPTERON_242));
static KERNEL: LazyLock<KernelCosts> = LazyLock::new(|| KernelCosts::on(&OPTERON_242));

/// Turnarounds of the blocks of a file that one process goes through, under a hypervisor that takes
/// no time, each domain on a pcpu of its own. And when each was done.
fn blocks(
    costs: (LoopbackCosts, KernelCosts),
    write: bool,
    block: u64,
    bytes: u64,
) -> (Vec<Duration>, Records) {
    let direction = if write { Write } else { Read };
    let guest = copies(domain(1, 1), 0, copy(0, 0, direction, block, bytes));
    let mut host = machine(2, Profile::IDEAL, vec![domain(0, 1), guest]);
    for domain in &mut host.domains {
        domain.guest.costs = costs.1;
    }
    let mut simulation = simulation(&host, &disks(costs.0, &[(1, 64 * MIB)]), None);
    run(&mut simulation, 500);
    let records = simulation.into_sink();
    let jobs = jobs(&records, vcpu(1, 0), 0);
    (
        jobs.into_iter().map(|(_, turnaround)| turnaround).collect(),
        records,
    )
}

fn copying(bytes: u64) -> Duration {
    Duration::from_nanos(BLK.copy_kib.as_nanos() * bytes / 1024)
}

/// An interrupt, from the upcall to the end of a driver's handler.
fn interrupt() -> Duration {
    KERNEL.upcall + KERNEL.irq + BLK.irq
}

/// One request: made and told, served and answered, taken, and the process goes on.
fn lone(bytes: u64) -> Duration {
    let there = BLK.submit + BLK.send_event;
    let served = interrupt() + BLK.serve + copying(bytes) + BLK.send_event;
    let back = interrupt() + BLK.complete + KERNEL.switch;
    there + served + back
}

#[test]
fn a_lone_read_takes_what_its_steps_take() {
    for bytes in [KIB, 4 * KIB, REQUEST] {
        for write in [false, true] {
            let (turnarounds, _) = blocks((*BLK, *KERNEL), write, bytes, 5 * bytes);
            assert_eq!(turnarounds, [lone(bytes); 5], "{bytes} bytes");
        }
    }
    // 3 and 0.5, 1.2 and 12 and 35.2 and 0.5, 1.2 and 1.5 and 2 us.
    assert_eq!(lone(REQUEST), Duration::from_nanos(57_100));
}

/// Two requests of a call are made together, and the first answer comes while the second request is
/// being copied. The guest takes the first answer meanwhile. The second one wakes the process.
#[test]
fn two_requests_of_a_read_overlap() {
    let bytes = 2 * REQUEST;
    let (turnarounds, _) = blocks((*BLK, *KERNEL), false, bytes, 3 * bytes);
    let more = BLK.submit + BLK.serve + copying(REQUEST) + BLK.send_event;
    assert_eq!(turnarounds, [lone(REQUEST) + more; 3]);
}

/// Where nothing takes time, nothing takes time: but all is done.
#[test]
fn a_free_disk_takes_no_time() {
    let (turnarounds, records) = blocks(
        (LoopbackCosts::FREE, KernelCosts::FREE),
        false,
        MIB,
        10 * MIB,
    );
    assert_eq!(turnarounds, [Duration::ZERO; 10]);
    assert!(!records.is_empty());
}

/// The driver domain's work for the guest: interrupts, requests, events, and nothing else.
#[test]
fn the_driver_domain_works_for_the_guest() {
    let n = 40;
    let (_, records) = blocks((*BLK, *KERNEL), false, REQUEST, n * REQUEST);
    let work: u64 = records.done_for().map(|(_, ns)| ns).sum();
    let each = interrupt() + BLK.serve + copying(REQUEST) + BLK.send_event;
    assert_eq!(Duration::from_nanos(work), each * n);
}

/// The same host twice does the same.
#[test]
fn disks_are_deterministic() {
    let records = || blocks((*BLK, *KERNEL), true, 3 * MIB, 30 * MIB).1;
    let (first, second) = (records(), records());
    assert!(first.len() > 1_000, "{}", first.len());
    assert!(first[..] == second[..]);
}
