//! Disks that are files of the driver domain: who waits for its memory, who for the drive.

use super::site::*;
use crate::site::{KIB, MIB, REQUEST, at, domain, jobs, machine, ms, us, vcpu};
use domio_blk::elevator::{IoWay, elevators};
use domio_blk::fs::config::FsConfig;
use domio_blk::split::{BackKind, HostFiles, SplitConfig};
use domio_core::{Duration, Instant};
use domio_vmm::Profile;
use domio_vmm::process::programs::CopyDirection::{Read, Write};
use domio_vmm::process::{Context, FileId, Op, Program, What};

/// Disks of 128 MiB in files on a drive of 2 GiB, with `memory` of the driver domain.
pub fn in_files(drive: &Fixed, guests: &[u16], elevators: [&str; 2], memory: u64) -> SplitConfig {
    let mut disks = disks(drive, guests, elevators, BackKind::File);
    disks.vbds.iter_mut().for_each(|vbd| vbd.start = 0);
    disks.disks[0].files = Some(HostFiles {
        start: 64,
        config: FsConfig {
            memory,
            kernel: 8 << 20,
            ..FsConfig::guest((2 << 30) - 64 * 512)
        },
    });
    disks
}

fn commands(drive: &Fixed, way: IoWay) -> Vec<(Instant, u64, u32)> {
    let seen = drive.seen.lock().expect("nobody panics with the lock");
    let own = seen.iter().filter(|(_, command)| command.way == way);
    own.map(|(at, command)| (*at, command.sector, command.sectors))
        .collect()
}

#[test]
fn what_is_read_once_is_in_the_driver_domains_memory() {
    for elevator in elevators().iter().map(|elevator| elevator.name) {
        let drive = fixed(us(500));
        let mut guest = runs(domain(1, 1), copy(0, Read, REQUEST, 8 * MIB));
        guest = runs(guest, Later(copy(0, Read, REQUEST, 8 * MIB), at(4_000)));
        let host = machine(2, Profile::OPTERON_242, domains([guest]));
        let disks = in_files(&drive, &[1], [elevator, elevator], 64 << 20);
        let mut simulation = simulation(&host, &disks);
        run(&mut simulation, 3_900);
        let once = commands(&drive, IoWay::Read);
        let read = moved(&drive.seen).0;
        // The data, the indirect blocks, readahead behind the end.
        assert!((8 * MIB..9 * MIB).contains(&read), "{elevator}: {read}");
        assert!(once.iter().all(|(_, sector, _)| *sector >= 64));
        run(&mut simulation, 8_000);
        assert!(model(&simulation).is_idle(), "{elevator}");
        assert_eq!(moved(&drive.seen).0, read, "{elevator}: read once");
        let passed = passed(&simulation, 1);
        assert_eq!(passed.requests_written, 0);
        assert!(passed.requests_read >= 2 * 8 * MIB / REQUEST, "{elevator}");
        let records = simulation.into_sink();
        for task in [0, 1] {
            let done = jobs(&records, vcpu(1, 0), task);
            assert_eq!(done.len() as u64, (8 * MIB).div_ceil(REQUEST));
        }
    }
}

/// What the driver domain's memory holds from the beginning is read from there.
#[test]
fn a_file_that_is_cached_needs_no_drive() {
    for cached in [false, true] {
        let drive = fixed(us(500));
        let guest = runs(domain(1, 1), copy(0, Read, REQUEST, 8 * MIB));
        let host = machine(2, Profile::OPTERON_242, domains([guest]));
        let mut disks = in_files(&drive, &[1], ["cfq", "cfq"], 256 << 20);
        disks.vbds[0].cached = cached;
        let mut simulation = simulation(&host, &disks);
        run(&mut simulation, 4_000);
        assert_eq!(moved(&drive.seen).0 == 0, cached);
        let records = simulation.into_sink();
        let done = jobs(&records, vcpu(1, 0), 0).len() as u64;
        assert_eq!(done, (8 * MIB).div_ceil(REQUEST));
    }
}

/// A program that begins later.
#[derive(Clone, Debug)]
struct Later(domio_vmm::process::programs::FileCopy, Instant);

impl Program for Later {
    fn name(&self) -> &'static str {
        "later"
    }

    fn next(&mut self, cx: &Context) -> Op {
        match cx.now < self.1 {
            true => Op::SleepUntil(self.1),
            false => self.0.next(cx),
        }
    }
}

/// Makes a file, writes 64 KiB, asks for `fsync`, and reports when it returns.
#[derive(Clone, Debug, Default)]
struct Careful {
    step: u32,
    file: u32,
}

impl Program for Careful {
    fn name(&self) -> &'static str {
        "careful"
    }

    fn next(&mut self, cx: &Context) -> Op {
        self.step += 1;
        let of = |file| FileId { device: 0, file };
        let (offset, bytes) = (0, 64 * KIB);
        match self.step {
            1 => return raw(0).does(What::Create { directory: 0 }),
            2 => self.file = cx.returned as u32,
            _ => {}
        }
        match self.step {
            2 => of(self.file).does(What::Write { offset, bytes }),
            3 => of(self.file).does(What::Sync),
            4 => Op::Report {
                released: at(0),
                work: Duration::ZERO,
            },
            _ => Op::Exit,
        }
    }
}

/// The danger of `file:`: a guest that has been told that its data is on the disk loses the data
/// with the host.
#[test]
fn fsync_of_a_guest_is_answered_by_the_driver_domains_memory() {
    let synced = |back: BackKind| {
        let drive = fixed(ms(5));
        let guest = runs(domain(1, 1), Careful::default());
        let host = machine(2, Profile::OPTERON_242, domains([guest]));
        let mut disks = match back {
            BackKind::File => in_files(&drive, &[1], ["cfq", "cfq"], 64 << 20),
            _ => disks(&drive, &[1], ["cfq", "cfq"], back),
        };
        disks.vbds[0].sectors = 1 << 20;
        disks.vbds[0].files = Some(FsConfig::guest(512 << 20));
        let mut simulation = simulation(&host, &disks);
        run(&mut simulation, 20_000);
        assert!(model(&simulation).is_idle());
        let (_, bytes) = moved(&drive.seen);
        let done = jobs(&simulation.into_sink(), vcpu(1, 0), 0);
        let [(_, took)] = done[..] else {
            panic!("{done:?}")
        };
        let before = commands(&drive, IoWay::Write);
        let before = before.iter().filter(|(when, ..)| *when < at(0) + took);
        (before.count(), bytes)
    };
    let (before, bytes) = synced(BackKind::Phy);
    // The data, the log, the commit block.
    assert!(before >= 3 && bytes > 64 * KIB, "{before} {bytes}");
    let (before, bytes) = synced(BackKind::File);
    assert_eq!(before, 0, "the drive has got nothing when fsync returns");
    assert!(
        bytes > 64 * KIB,
        "kjournald of the driver domain writes later: {bytes}"
    );
}

/// Up to the limit of dirty pages a guest writes as fast as memory is, behind it as fast as the
/// drive.
#[test]
fn guests_wait_when_the_driver_domains_memory_is_full_of_dirty_pages() {
    for elevator in ["noop", "cfq", "anticipatory", "deadline"] {
        let drive = fixed(ms(20));
        let guest = runs(domain(1, 1), copy(0, Write, 256 * KIB, 32 * MIB));
        let host = machine(2, Profile::OPTERON_242, domains([guest]));
        let disks = in_files(&drive, &[1], ["noop", elevator], 64 << 20);
        let mut simulation = simulation(&host, &disks);
        let mut most = 0;
        for step in 1..400 {
            run(&mut simulation, step * 50);
            let used = model(&simulation).files_used(0).expect("there are files");
            assert_eq!(used.throttle, 1433, "a tenth of 56 MiB");
            most = most.max(used.dirty + used.written);
        }
        // Who looks at the limits every 64 pages goes that far beyond them.
        assert!((1433..1433 + 600).contains(&most), "{elevator}: {most}");
        assert!(model(&simulation).is_idle(), "{elevator}");
        assert_eq!(passed(&simulation, 1).requests_read, 0);
        assert!(moved(&drive.seen).1 >= 32 * MIB, "{elevator}");
        let done = jobs(&simulation.into_sink(), vcpu(1, 0), 0);
        assert_eq!(done.len(), 128);
        // The first call looks for the way to the data.
        let longest = |calls: &[(Instant, Duration)]| {
            calls.iter().map(|(_, took)| *took).max().expect("calls")
        };
        let (early, late) = (longest(&done[1..16]), longest(&done[32..]));
        assert!(
            early < ms(10),
            "{elevator}: 4 MiB are in memory at once: {early}"
        );
        assert!(
            late > ms(40),
            "{elevator}: then the drive sets the pace: {late}"
        );
    }
}

/// The work of loop threads and of the way to the drive is the guests', in the order of what they
/// write; the driver domain keeps its own for itself.
#[test]
fn work_on_files_has_its_owner() {
    let drive = fixed(us(300));
    let guests = [
        runs(domain(1, 1), copy(0, Read, 64 * KIB, 4 * MIB)),
        runs(domain(2, 1), copy(1, Write, MIB, 8 * MIB)),
        domain(3, 1),
    ];
    let host = machine(3, Profile::OPTERON_242, domains(guests));
    let disks = in_files(&drive, &[1, 2, 3], ["cfq", "cfq"], 64 << 20);
    let mut simulation = simulation(&host, &disks);
    run(&mut simulation, 12_000);
    assert!(model(&simulation).is_idle());
    let requests = [1, 2].map(|guest| {
        let passed = passed(&simulation, guest);
        passed.requests_read + passed.requests_written
    });
    let mut work = [0; 4];
    for (guest, ns) in simulation.into_sink().done_for() {
        work[guest.index()] += ns;
    }
    assert_eq!([work[0], work[3]], [0, 0], "{work:?}");
    let own = (COSTS.serve + COSTS.respond).as_nanos();
    assert!(work[1] > own * requests[0], "{work:?}");
    // Each page of the writer is a piece of the driver domain's file system, too.
    let pages = 8 * MIB / 4096;
    let least = own * requests[1] + COSTS.submit.as_nanos() * pages;
    assert!(work[2] > least, "{work:?} {least}");
}

/// Loop threads serve one request after the other: readers that ask for places all over their disk
/// at once have one command each in the drive.
#[test]
fn a_loop_thread_has_one_read_in_the_drive() {
    let time = |back: BackKind| {
        let drive = Fixed {
            servers: 8,
            ..fixed(ms(4))
        };
        let mut guest = domain(1, 1);
        for i in 0..8 {
            guest = runs(guest, Places(i));
        }
        let host = machine(2, Profile::OPTERON_242, domains([guest]));
        let disks = match back {
            BackKind::File => in_files(&drive, &[1], ["noop", "noop"], 64 << 20),
            _ => disks(&drive, &[1], ["noop", "noop"], back),
        };
        let mut simulation = simulation(&host, &disks);
        run(&mut simulation, 9_000);
        assert!(model(&simulation).is_idle());
        let last = commands(&drive, IoWay::Read).last().expect("reads").0;
        last.saturating_since(at(0))
    };
    let (file, phy) = (time(BackKind::File), time(BackKind::Phy));
    assert!(phy < ms(200), "{phy}");
    // 160 reads one by one, and some of indirect blocks.
    assert!((ms(640)..ms(1_000)).contains(&file), "{file}");
}

/// Reads 20 pages far from each other.
#[derive(Clone, Debug)]
struct Places(u64);

impl Program for Places {
    fn name(&self) -> &'static str {
        "places"
    }

    fn next(&mut self, _: &Context) -> Op {
        if self.0 >= 160 {
            return Op::Exit;
        }
        let offset = self.0 * 97 % 160 * (700 * KIB);
        self.0 += 8;
        raw(0).does(What::Read {
            offset,
            bytes: 4 * KIB,
        })
    }
}
