//! For whom the driver domain works, and how long a lone request takes.

use super::site::*;
use crate::site::{KIB, MIB, domain, jobs, machine, ms, us, vcpu};
use domio_blk::split::{BackKind, DiskRecord, RECORDS};
use domio_core::Duration;
use domio_vmm::Profile;
use domio_vmm::process::programs::CopyDirection::{Read, Write};

/// A read of a page by a process that is alone: the drive's time, and what the steps take.
#[test]
fn a_lone_read_takes_what_its_steps_take() {
    let drive = fixed(ms(5));
    let mut guest = runs(domain(1, 1), copy(0, Read, 4 * KIB, 20 * KIB));
    let mut dom0 = domain(0, 1);
    for domain in [&mut guest, &mut dom0] {
        domain.guest.costs = domio_vmm::config::KernelCosts::FREE;
    }
    let host = machine(2, Profile::IDEAL, vec![dom0, guest]);
    let disks = disks(&drive, &[1], ["noop", "noop"], BackKind::Phy);
    let mut simulation = simulation(&host, &disks);
    run(&mut simulation, 1_000);
    let done = jobs(&simulation.into_sink(), vcpu(1, 0), 0);
    let there = COSTS.submit + COSTS.request + COSTS.send_event + COSTS.irq;
    let driver = COSTS.serve + COSTS.command + ms(5) + COSTS.irq + COSTS.end + COSTS.respond;
    let back = COSTS.send_event + COSTS.irq + COSTS.complete;
    let lone: Duration = there + driver + back;
    let all: Vec<Duration> = done.iter().map(|(_, turnaround)| *turnaround).collect();
    assert_eq!(all, [lone; 5]);
}

/// The driver domain works for the guests that cause the work, for nobody else, and as much as its
/// pieces of work say.
#[test]
fn work_has_its_owner() {
    for back in [
        BackKind::Phy,
        BackKind::TapAio,
        BackKind::Hosted { threads: 2 },
    ] {
        let drive = fixed(us(800));
        let guests = [
            runs(domain(1, 1), copy(0, Read, 4 * KIB, 400 * KIB)),
            runs(domain(2, 1), copy(1, Write, MIB, 8 * MIB)),
            domain(3, 1),
        ];
        let host = machine(3, Profile::OPTERON_242, domains(guests));
        let disks = disks(&drive, &[1, 2, 3], ["cfq", "cfq"], back);
        let mut simulation = simulation(&host, &disks);
        run(&mut simulation, 3_000);
        assert!(model(&simulation).is_idle());
        let requests = [1, 2].map(|guest| {
            let passed = passed(&simulation, guest);
            passed.requests_read + passed.requests_written
        });
        let mut work = [0; 4];
        for (guest, ns) in simulation.into_sink().done_for() {
            work[guest.index()] += ns;
        }
        assert_eq!([work[0], work[3]], [0, 0], "{back:?}: {work:?}");
        // Each request is taken and answered; what comes on top are interrupts, events, commands.
        let own = COSTS.serve + COSTS.respond;
        let most = own + COSTS.process * 2 + COSTS.command + COSTS.end + us(20);
        for (guest, requests) in [(1, requests[0]), (2, requests[1])] {
            let (least, most) = (own.as_nanos() * requests, most.as_nanos() * requests);
            let done = work[guest];
            assert!(
                (least..most).contains(&done),
                "{back:?}: {least} {done} {most}"
            );
        }
    }
}

/// Each piece of I/O is over once, and the drive tells of each command.
#[test]
fn records_tell_of_each_piece_and_command() {
    let drive = fixed(us(800));
    let guest = runs(domain(1, 1), copy(0, Write, MIB, 4 * MIB + 100 * KIB));
    let host = machine(2, Profile::OPTERON_242, domains([guest]));
    let disks = disks(&drive, &[1], ["deadline", "noop"], BackKind::Phy);
    let mut simulation = simulation(&host, &disks);
    run(&mut simulation, 2_000);
    let records = simulation.into_sink();
    let own = || records.iter().filter(|told| told.class == RECORDS.name);
    let of = |what: DiskRecord| own().filter(move |told| told.record.number == what as u8);
    let bytes: u64 = of(DiskRecord::Written)
        .map(|told| u64::from(told.record.words[0]))
        .sum();
    assert_eq!(bytes, 4 * MIB + 100 * KIB);
    let commands = drive
        .seen
        .lock()
        .expect("nobody panics with the lock")
        .len();
    assert_eq!(of(DiskRecord::Served).count(), commands);
    assert_eq!(of(DiskRecord::Started).count(), commands);
    assert_eq!(of(DiskRecord::Read).count(), 0);
}
