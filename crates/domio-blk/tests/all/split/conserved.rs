//! Each request is completed exactly once, whatever the elevators, back-ends and drives.

use super::site::*;
use crate::site::{KIB, MIB, REQUEST, domain, jobs, machine, ms, us, vcpu};
use domio_blk::elevator::elevators;
use domio_blk::split::BackKind;
use domio_vmm::Profile;
use domio_vmm::process::programs::CopyDirection::{Read, Write};

const BACKS: [BackKind; 3] = [
    BackKind::Phy,
    BackKind::TapAio,
    BackKind::Hosted { threads: 3 },
];

#[test]
fn a_disk_is_read_and_written_block_by_block() {
    for back in BACKS {
        for elevator in elevators().iter().map(|elevator| elevator.name) {
            for (direction, block, bytes) in [
                (Read, 4 * KIB, 200 * KIB),
                (Write, 4 * KIB, 200 * KIB),
                (Read, REQUEST, 10 * REQUEST),
                (Write, 4 * MIB, 9 * MIB + 512),
                (Read, 4 * MIB, 9 * MIB),
            ] {
                let drive = fixed(us(500));
                let guest = runs(domain(1, 1), copy(0, direction, block, bytes));
                let host = machine(2, Profile::OPTERON_242, domains([guest]));
                let disks = disks(&drive, &[1], [elevator, elevator], back);
                let mut simulation = simulation(&host, &disks);
                run(&mut simulation, 2_000);
                let what = format!("{back:?}, {elevator}, {direction:?}, {block}, {bytes}");
                assert!(model(&simulation).is_idle(), "{what}");
                let (read, written) = moved(&drive.seen);
                let expected = if direction == Read {
                    (bytes, 0)
                } else {
                    (0, bytes)
                };
                assert_eq!((read, written), expected, "{what}");
                let done = jobs(&simulation.into_sink(), vcpu(1, 0), 0);
                assert_eq!(done.len() as u64, bytes.div_ceil(block), "{what}");
            }
        }
    }
}

/// Three guests, each with more than its ring holds, want 96 requests of a pool of 64.
#[test]
fn rings_and_pool_have_their_limits() {
    let drive = fixed(ms(1));
    let guests = [1, 2, 3].map(|id| {
        let disk = u32::from(id) - 1;
        let mut guest = domain(id, 1);
        for _ in 0..2 {
            guest = runs(guest, copy(disk, Read, 8 * MIB, 16 * MIB));
        }
        guest
    });
    let host = machine(4, Profile::OPTERON_242, domains(guests));
    let disks = disks(&drive, &[1, 2, 3], ["noop", "noop"], BackKind::Phy);
    let mut simulation = simulation(&host, &disks);
    run(&mut simulation, 4_000);
    assert!(model(&simulation).is_idle());
    assert_eq!(model(&simulation).most_pending(), 64);
    assert_eq!(moved(&drive.seen).0, 6 * 16 * MIB);
    for guest in 1..=3 {
        assert!(passed(&simulation, guest).requests_read >= 2 * 16 * MIB / REQUEST);
    }
}
