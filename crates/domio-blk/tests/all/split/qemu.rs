//! Disks on a host with KVM: threads of QEMU serve them, and the host's own kernel has the
//! interrupts of the drive.

use super::site::*;
use crate::site::{KIB, MIB, at, domain, jobs, machine, ms, us, vcpu};
use domio_blk::elevator::elevators;
use domio_blk::split::{BackKind, SplitConfig};
use domio_core::{DomainId, Duration, Kind};
use domio_sim::RandomStream;
use domio_vmm::Profile;
use domio_vmm::config::{DomainConfig, DomainKind, GuestConfig, KernelCosts, KvmThread};
use domio_vmm::process::programs::CopyDirection::{Read, Write};

/// The thread of QEMU of guest `id`.
fn thread(id: u16) -> BackKind {
    BackKind::Virtio {
        thread: vcpu(10 + id, 0),
    }
}

/// Threads of QEMU for the guest `of`, or a thread of the kernel.
fn threads(id: u16, of: Option<u16>) -> DomainConfig {
    let name = match of {
        Some(_) => "IO iothread1",
        None => "kworker/0:1H",
    };
    DomainConfig {
        guest: GuestConfig::IDEAL,
        kind: DomainKind::Threads(vec![KvmThread {
            name: name.to_owned(),
            of: of.map(DomainId),
            softirqs: None,
        }]),
        ..domain(id, 1)
    }
}

/// The kernel's threads, `guests`, and the thread of QEMU of each.
fn kvm(guests: impl IntoIterator<Item = DomainConfig>) -> Vec<DomainConfig> {
    let mut all = vec![threads(0, None)];
    for guest in guests {
        let (id, start, stop) = (guest.id.0, guest.start, guest.stop);
        all.push(guest);
        all.push(DomainConfig {
            start,
            stop,
            ..threads(10 + id, Some(id))
        });
    }
    all
}

/// A disk of each of these guests, each served by the guest's own thread.
fn virtio(drive: &Fixed, guests: &[u16], elevators: [&str; 2]) -> SplitConfig {
    let mut disks = disks(drive, guests, elevators, BackKind::Phy);
    for vbd in &mut disks.vbds {
        vbd.back = thread(vbd.domain.0);
    }
    disks
}

/// A read that is alone has one kick and one interrupt, and takes what its steps take.
#[test]
fn a_lone_read_has_one_kick_and_one_interrupt() {
    for host_elevator in ["none", "noop"] {
        let drive = fixed(ms(5));
        let mut guest = runs(domain(1, 1), copy(0, Read, 4 * KIB, 20 * KIB));
        guest.guest.costs = KernelCosts::FREE;
        let host = machine(3, Profile::IDEAL, kvm([guest]));
        let mut simulation = simulation(&host, &virtio(&drive, &[1], ["none", host_elevator]));
        run(&mut simulation, 1_000);
        let records = simulation.into_sink();
        let sent = records
            .iter()
            .filter(|told| told.record.is(Kind::EvtchnSend));
        let to: Vec<u16> = sent
            .map(|told| told.vcpu.expect("a vcpu").domain.0)
            .collect();
        assert_eq!(to, [11, 1].repeat(5), "{host_elevator}");
        let there = COSTS.submit + COSTS.request + COSTS.send_event + COSTS.irq;
        let thread = COSTS.serve + COSTS.process + COSTS.command;
        let ended = ms(5) + COSTS.irq + COSTS.end;
        let back = COSTS.respond + COSTS.process + COSTS.send_event + COSTS.irq + COSTS.complete;
        let lone: Duration = there + thread + ended + back;
        let done = jobs(&records, vcpu(1, 0), 0);
        let all: Vec<Duration> = done.iter().map(|(_, turnaround)| *turnaround).collect();
        assert_eq!(all, [lone; 5], "{host_elevator}");
    }
}

/// Whatever guests call for, however they share drives and threads: each byte goes to the drive
/// once, each call returns, nothing is left. Threads of QEMU work, each piece for a guest.
#[test]
fn each_request_is_answered_once() {
    let all = elevators();
    let mut random = RandomStream::new(7, 0, "virtio");
    for (round, elevator) in all.iter().map(|elevator| elevator.name).enumerate() {
        let drive = Fixed {
            servers: 1 + round % 4,
            depth: [1, 4, 31][round % 3],
            ..fixed(us(150))
        };
        let mut bytes = (0, 0);
        let mut calls = Vec::new();
        let guests: Vec<DomainConfig> = (1..=3)
            .map(|id| {
                let mut guest = domain(id, 1);
                for _ in 0..1 + random.below(3) {
                    let block = 512 * (1 + random.below(400));
                    let own = block * random.below(20) + 512 * random.below(8);
                    let direction = match random.below(2) {
                        0 => Read,
                        _ => Write,
                    };
                    match direction {
                        Read => bytes.0 += own,
                        Write => bytes.1 += own,
                    }
                    calls.push((id, own.div_ceil(block)));
                    guest = runs(guest, copy(u32::from(id) - 1, direction, block, own));
                }
                guest
            })
            .collect();
        let host = machine(4, Profile::OPTERON_242, kvm(guests));
        let disks = virtio(&drive, &[1, 2, 3], ["none", elevator]);
        let mut simulation = simulation(&host, &disks);
        run(&mut simulation, 3_000);
        assert!(model(&simulation).is_idle(), "{elevator}");
        assert_eq!(moved(&drive.seen), bytes, "{elevator}");
        let records = simulation.into_sink();
        for id in 1..=3 {
            let expected: u64 = calls
                .iter()
                .filter(|(own, _)| *own == id)
                .map(|(_, n)| n)
                .sum();
            let own = records.iter().filter(|told| told.vcpu == Some(vcpu(id, 0)));
            let done = own.filter(|told| told.record.is(Kind::JobDone)).count();
            assert_eq!(done as u64, expected, "{elevator}, guest {id}");
        }
        for told in records.iter() {
            // A thread that runs the drive's queue hands commands of other guests on, too, and
            // so does the kernel's `kblockd`.
            if let Some((served, _)) = told.record.done_for() {
                assert!((1..=3).contains(&served.0), "{elevator}: {served}");
                let by = told.vcpu.expect("a vcpu").domain.0;
                assert!(by > 10 || by == 0, "{elevator}: {by}");
            }
        }
    }
}

/// A guest ends in the middle of its I/O, and its thread with it: others continue.
#[test]
fn others_go_on_when_a_guest_and_its_thread_are_gone() {
    for (elevator, depth) in [("none", 2), ("noop", 1), ("cfq", 31), ("mq-deadline", 4)] {
        for stop_us in [20_000, 20_113, 20_771] {
            let drive = Fixed {
                depth,
                ..fixed(us(100))
            };
            let mut gone = domain(1, 1);
            for _ in 0..3 {
                gone = runs(gone, copy(0, Write, 4 * MIB, 100 * MIB));
            }
            gone.stop = Some(at(0) + us(stop_us));
            let stays = runs(domain(2, 1), copy(1, Read, 16 * KIB, 2 * MIB));
            let mut comes = runs(domain(3, 1), copy(2, Read, MIB, 4 * MIB));
            comes.start = at(40);
            let host = machine(3, Profile::OPTERON_242, kvm([gone, stays, comes]));
            let disks = virtio(&drive, &[1, 2, 3], ["none", elevator]);
            let mut simulation = simulation(&host, &disks);
            run(&mut simulation, 1_000);
            let (read, written) = moved(&drive.seen);
            assert_eq!(read, 6 * MIB, "{elevator}, {stop_us}");
            assert!(written < 300 * MIB, "{elevator}: {written}");
        }
    }
}
