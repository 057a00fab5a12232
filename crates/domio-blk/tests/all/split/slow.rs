//! The slow path: a loop thread serves one request at a time, so that an elevator of the driver
//! domain sees one process for each guest, which never has two reads under way. What comes of that
//! under `cfq`, against blkback on the disk itself.

use super::loops::in_files;
use super::site::*;
use crate::site::{KIB, MIB, domain, machine, ms};
use domio_blk::split::{BackKind, DiskPlace, DiskRecord, RECORDS};
use domio_core::DomainId;
use domio_vmm::Profile;
use domio_vmm::process::programs::CopyDirection::Write;
use domio_vmm::process::{Context, Op, Program, What};

/// Reads pages all over a disk, forever.
#[derive(Clone, Debug)]
struct Everywhere {
    disk: u32,
    at: u64,
}

impl Program for Everywhere {
    fn name(&self) -> &'static str {
        "everywhere"
    }

    fn next(&mut self, _: &Context) -> Op {
        self.at += 16;
        raw(self.disk).does(What::Read {
            offset: self.at * 7_919 % (1 << 15) * (4 * KIB),
            bytes: 4 * KIB,
        })
    }
}

/// What became of the reads of two guests.
#[derive(Clone, Copy, Debug)]
struct Served {
    /// Commands in the drive when one comes, that one included, on average.
    depth: f64,
    /// The part of the commands for which an idle drive had waited, although the other guest had a
    /// request in the disk's queue.
    waited_for: f64,
    /// The part of the commands that follow one of the other guest.
    switches: f64,
    /// Requests of each guest that read.
    reads: [u64; 2],
}

impl Served {
    fn total(&self) -> u64 {
        self.reads.iter().sum()
    }
}

/// Two guests with so many processes each that read everywhere, for four seconds of which the last
/// three count, from a drive that serves eight commands at once.
fn served(back: BackKind, elevator: &str, processes: [u64; 2]) -> Served {
    let drive = Fixed {
        servers: 8,
        ..fixed(ms(4))
    };
    let guest = |id: u16| {
        let mut guest = domain(id, 1);
        for at in 0..processes[usize::from(id) - 1] {
            let disk = u32::from(id) - 1;
            guest = runs(guest, Everywhere { disk, at });
        }
        guest
    };
    let host = machine(3, Profile::OPTERON_242, domains([guest(1), guest(2)]));
    let disks = match back {
        BackKind::File => in_files(&drive, &[1, 2], ["noop", elevator], 64 << 20),
        _ => disks(&drive, &[1, 2], ["noop", elevator], back),
    };
    let mut simulation = simulation(&host, &disks);
    run(&mut simulation, 1_000);
    let before = [1, 2].map(|guest| passed(&simulation, guest).requests_read);
    run(&mut simulation, 4_000);
    let after = [1, 2].map(|guest| passed(&simulation, guest).requests_read);
    let (mut commands, mut depths, mut waited_for, mut switches) = (0, 0, 0, 0);
    let mut in_queue = [0_u32; 2];
    let mut last = 0;
    let records = simulation.into_sink();
    for told in records.iter().filter(|told| told.class == RECORDS.name) {
        let guest = match told.vcpu.map(|vcpu| vcpu.domain) {
            Some(DomainId(guest @ 1..=2)) => usize::from(guest) - 1,
            other => panic!("{other:?} has no disk"),
        };
        let words = told.record.words;
        match told.record.number {
            number if number == DiskRecord::Moved as u8 => {
                let [from, to] = [24, 28].map(|bit| words[0] >> bit & 15);
                in_queue[guest] -= u32::from(from == DiskPlace::HostQueue as u32);
                in_queue[guest] += u32::from(to == DiskPlace::HostQueue as u32);
            }
            number if number == DiskRecord::Started as u8 => {
                commands += 1;
                depths += words[0];
                waited_for += u32::from(words[0] == 1 && in_queue[1 - guest] > 0);
                switches += u32::from(last != guest);
                last = guest;
            }
            _ => {}
        }
    }
    let part = |of: u32| f64::from(of) / f64::from(commands);
    Served {
        depth: part(depths),
        waited_for: part(waited_for),
        switches: part(switches),
        reads: [after[0] - before[0], after[1] - before[1]],
    }
}

/// The queue of the drive, which blkback fills up to the quantum of a slice, has one command.
#[test]
fn a_drive_behind_loop_threads_has_one_command_under_cfq() {
    let phy = served(BackKind::Phy, "cfq", [8, 8]);
    let file = served(BackKind::File, "cfq", [8, 8]);
    assert!(phy.depth > 3.0, "{phy:?}");
    assert!(file.depth < 1.2, "{file:?}");
    assert!(3 * file.total() < phy.total(), "{file:?}, {phy:?}");
    // Without slices, each thread has its command there.
    let noop = served(BackKind::File, "noop", [8, 8]);
    assert!((1.7..2.1).contains(&noop.depth), "{noop:?}");
    assert!(2 * noop.total() > 3 * file.total(), "{noop:?}, {file:?}");
}

/// The elevator waits for the next read of a thread after each one, as for a process that reads
/// one page after the other, while the other guest's read is in its queue.
#[test]
fn cfq_waits_for_each_read_of_a_loop_thread() {
    let phy = served(BackKind::Phy, "cfq", [8, 8]);
    let file = served(BackKind::File, "cfq", [8, 8]);
    assert!(phy.waited_for < 0.1, "{phy:?}");
    assert!(file.waited_for > 0.8, "{file:?}");
    // The wait is not for nothing: the thread comes, and has its slice to the end.
    assert!(file.switches < 0.2, "{file:?}");
    let noop = served(BackKind::File, "noop", [8, 8]);
    assert!(noop.waited_for < 0.1 && noop.switches > 0.5, "{noop:?}");
}

/// On the disk itself a guest with eight processes has more of its slice than a guest with one. In
/// files, both are one process.
#[test]
fn how_many_a_guest_has_under_way_is_nothing_to_cfq_behind_loop_threads() {
    let ratio = |served: &Served| served.reads[0] as f64 / served.reads[1] as f64;
    let phy = served(BackKind::Phy, "cfq", [8, 1]);
    assert!(ratio(&phy) > 2.0, "{phy:?}");
    let file = served(BackKind::File, "cfq", [8, 1]);
    assert!((0.85..1.2).contains(&ratio(&file)), "{file:?}");
}

/// Blkback's plain writes are of no process. Reads that come preempt them, and they wait until no
/// read is under way, which is never while a guest has eight. A loop thread has one, and between
/// two of its reads the writes have their turn.
#[test]
fn plain_writes_starve_beside_eight_reads_and_not_beside_a_loop_thread() {
    let written = |back: BackKind| {
        // Reads end one by one.
        let drive = fixed(ms(4));
        let mut reader = domain(2, 1);
        for at in 0..8 {
            reader = runs(reader, Everywhere { disk: 1, at });
        }
        let writer = runs(domain(1, 1), copy(0, Write, 16 * KIB, 100 * MIB));
        let host = machine(3, Profile::OPTERON_242, domains([writer, reader]));
        let disks = match back {
            BackKind::File => in_files(&drive, &[1, 2], ["noop", "cfq"], 64 << 20),
            _ => disks(&drive, &[1, 2], ["noop", "cfq"], back),
        };
        let mut simulation = simulation(&host, &disks);
        run(&mut simulation, 4_000);
        passed(&simulation, 1).requests_written
    };
    let (phy, aio) = (written(BackKind::Phy), written(BackKind::TapAio));
    assert!(phy < 5, "{phy}");
    assert!(aio > 100, "writes with the sync flag have slices: {aio}");
    // More than memory takes at once.
    let file = written(BackKind::File);
    assert!(file > 1433 * 4 / 16, "{file}");
}
