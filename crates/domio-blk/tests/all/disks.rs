//! Requests are conserved: each one that is made is served and answered, whoever makes them and
//! however many there are.

use crate::site::*;
use domio_blk::loopback::LoopbackCosts;
use domio_core::DomainId;
use domio_vmm::Profile;
use domio_vmm::config::Workload;
use domio_vmm::hardware::OPTERON_242;
use domio_vmm::process::programs::CopyDirection::{Read, Write};
use std::sync::LazyLock;

static OPTERON: LazyLock<LoopbackCosts> = LazyLock::new(|| LoopbackCosts::on(&OPTERON_242));

/// One process that reads so many blocks of so many bytes: every block is a job, and every request
/// is served.
#[test]
fn a_file_is_read_to_its_end_block_by_block() {
    // The last block of each is a part; the last but one needs 24 requests a block, and the last
    // one 94, which is more than the ring of 32 holds.
    for (block, bytes) in [
        (KIB, 10 * KIB + 1),
        (REQUEST, 20 * REQUEST),
        (REQUEST + 1, 10 * REQUEST),
        (MIB, 10 * MIB + 5),
        (4 * MIB, 17 * MIB),
    ] {
        for direction in [Read, Write] {
            let guest = copies(domain(1, 1), 0, copy(0, 0, direction, block, bytes));
            let host = machine(2, Profile::OPTERON_242, vec![domain(0, 1), guest]);
            let disks = disks(*OPTERON, &[(1, 64 * MIB)]);
            let mut simulation = simulation(&host, &disks, None);
            run(&mut simulation, 500);
            let needed = needed(block, bytes);
            let expected = match direction {
                Read => (needed, 0),
                Write => (0, needed),
            };
            assert_eq!(
                requests(passed(&simulation, 1)),
                expected,
                "{block}, {bytes}"
            );
            let jobs = jobs(&simulation.into_sink(), vcpu(1, 0), 0);
            assert_eq!(jobs.len() as u64, bytes.div_ceil(block), "{block}, {bytes}");
        }
    }
}

/// A file that ends before the program does: what is left is read, then nothing, and the program
/// ends.
#[test]
fn a_disk_that_ends_ends_the_copy() {
    let size = 5 * MIB + 7;
    let guest = copies(domain(1, 1), 0, copy(0, 0, Read, MIB, 100 * MIB));
    let host = machine(2, Profile::OPTERON_242, vec![domain(0, 1), guest]);
    let mut simulation = simulation(&host, &disks(*OPTERON, &[(1, size)]), None);
    run(&mut simulation, 200);
    assert_eq!(requests(passed(&simulation, 1)), (needed(MIB, size), 0));
    let jobs = jobs(&simulation.into_sink(), vcpu(1, 0), 0);
    // Five whole blocks, seven bytes, and the end.
    assert_eq!(jobs.len(), 7);
    let (_, turnaround) = jobs[6];
    assert!(
        turnaround.is_zero(),
        "the end takes no request: {turnaround}"
    );
}

/// Several processes on one disk, on two vcpus, that together want far more than the ring holds:
/// each gets all of its own.
#[test]
fn several_processes_share_a_disk() {
    let files = [
        (0, Read, 3 * MIB, 12 * MIB),
        (0, Write, 2 * MIB, 10 * MIB),
        (0, Read, KIB, 100 * KIB),
        (1, Write, 5 * MIB, 10 * MIB),
        (1, Read, REQUEST, 50 * REQUEST),
    ];
    for pcpus in [1, 2, 4] {
        let mut guest = domain(1, 2);
        for (vcpu, direction, block, bytes) in files {
            guest = copies(guest, vcpu, copy(0, 0, direction, block, bytes));
        }
        let host = machine(pcpus, Profile::OPTERON_242, vec![domain(0, 1), guest]);
        let mut simulation = simulation(&host, &disks(*OPTERON, &[(1, 64 * MIB)]), None);
        run(&mut simulation, 1_000);
        let sum = |wanted| {
            let of = files
                .iter()
                .filter(|(_, direction, ..)| *direction == wanted);
            of.map(|(_, _, block, bytes)| needed(*block, *bytes))
                .sum::<u64>()
        };
        assert_eq!(requests(passed(&simulation, 1)), (sum(Read), sum(Write)));
        let records = simulation.into_sink();
        let mut places = [0, 0];
        for (on, _, block, bytes) in files {
            let place = places[on];
            places[on] += 1;
            let jobs = jobs(&records, vcpu(1, on as u16), place);
            assert_eq!(
                jobs.len() as u64,
                bytes.div_ceil(block),
                "task {place} of vcpu {on}"
            );
        }
    }
}

/// Nobody is forgotten while another one keeps the ring full: a small read that comes meanwhile
/// gets its turn before the large ones are through.
#[test]
fn a_small_read_is_not_starved_by_large_ones() {
    let mut guest = domain(1, 1);
    for _ in 0..3 {
        guest = copies(guest, 0, copy(0, 0, Read, 20 * MIB, 60 * MIB));
    }
    guest = copies(guest, 0, copy(0, 0, Read, KIB, 2 * KIB));
    let host = machine(2, Profile::OPTERON_242, vec![domain(0, 1), guest]);
    let mut simulation = simulation(&host, &disks(*OPTERON, &[(1, 64 * MIB)]), None);
    run(&mut simulation, 2_000);
    let records = simulation.into_sink();
    let ends = |task| {
        let jobs = jobs(&records, vcpu(1, 0), task);
        jobs.last().expect("it has ended").0
    };
    assert_eq!(jobs(&records, vcpu(1, 0), 0).len(), 3);
    assert!(ends(3) < ends(0) && ends(3) < ends(1) && ends(3) < ends(2));
}

/// A guest that is destroyed while its ring is full: the driver domain does not go on for long with
/// what nobody waits for, and serves the others on.
#[test]
fn a_guest_that_goes_leaves_the_others_alone() {
    let mut gone = copies(domain(1, 1), 0, copy(0, 0, Read, 20 * MIB, 60 * MIB));
    gone.stop = Some(at(20));
    let stays = copies(domain(2, 1), 0, copy(0, 1, Write, MIB, 20 * MIB));
    let late = {
        let mut late = copies(domain(3, 1), 0, copy(0, 2, Read, MIB, 5 * MIB));
        late.start = at(50);
        late
    };
    let mut dom0 = domain(0, 1);
    dom0.vcpus[0].tasks.push(Workload::Burn.into());
    let host = machine(2, Profile::OPTERON_242, vec![dom0, gone, stays, late]);
    let all = disks(*OPTERON, &[(1, 64 * MIB), (2, 64 * MIB), (3, 64 * MIB)]);
    let mut simulation = simulation(&host, &all, None);
    run(&mut simulation, 20);
    let before = requests(passed(&simulation, 1)).0;
    assert!(before > 20, "{before}");
    run(&mut simulation, 30);
    let after = requests(passed(&simulation, 1)).0;
    // The one that was being copied.
    assert!(after <= before + 1, "{after} after {before}");
    run(&mut simulation, 600);
    assert_eq!(requests(passed(&simulation, 1)), (after, 0));
    assert_eq!(requests(passed(&simulation, 2)), (0, needed(MIB, 20 * MIB)));
    assert_eq!(requests(passed(&simulation, 3)), (needed(MIB, 5 * MIB), 0));
    let records = simulation.into_sink();
    let late = records.iter().map(|told| told.record);
    let late = late.filter(|r| r.at > at(30));
    let late = late.filter(|r| r.done_for().is_some_and(|(guest, _)| guest == DomainId(1)));
    assert_eq!(late.count(), 0, "nobody works for a guest that is gone");
}

/// A file that no disk has, and one at the end of a disk, have nothing to read.
#[test]
fn what_is_not_there_ends_at_once() {
    for (file, size) in [(7, MIB), (0, 0)] {
        let guest = copies(domain(1, 1), 0, copy(0, file, Read, KIB, MIB));
        let host = machine(2, Profile::OPTERON_242, vec![domain(0, 1), guest]);
        let mut simulation = simulation(&host, &disks(*OPTERON, &[(1, size)]), None);
        run(&mut simulation, 10);
        assert_eq!(requests(passed(&simulation, 1)), (0, 0));
        assert_eq!(jobs(&simulation.into_sink(), vcpu(1, 0), 0).len(), 1);
    }
}
