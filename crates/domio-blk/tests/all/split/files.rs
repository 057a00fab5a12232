//! Files of guests: calls reach the file system, its threads write, everything comes to an end.

use super::site::*;
use crate::site::{KIB, MIB, Told, at, domain, jobs, machine, us, vcpu};
use domio_blk::elevator::IoWay;
use domio_blk::fs::config::FsConfig;
use domio_blk::split::{BackKind, DiskRecord, RECORDS};
use domio_core::Duration;
use domio_vmm::Profile;
use domio_vmm::process::{Context, FileId, Op, Program, What};

/// Creates files, writes and reads each, removes every other one, and ends with `sync`.
#[derive(Clone, Debug)]
struct Keeper {
    files: u32,
    bytes: u64,
    made: Vec<u32>,
    step: u32,
}

impl Keeper {
    fn new(files: u32, bytes: u64) -> Self {
        Keeper {
            files,
            bytes,
            made: Vec::new(),
            step: 0,
        }
    }
}

impl Program for Keeper {
    fn name(&self) -> &'static str {
        "keeper"
    }

    fn next(&mut self, cx: &Context) -> Op {
        let step = self.step;
        self.step += 1;
        let of = |file: u32| FileId { device: 0, file };
        if step < 2 * self.files {
            if step.is_multiple_of(2) {
                return raw(0).does(What::Create { directory: 0 });
            }
            let file = cx.returned as u32;
            assert!(file > 0 && !self.made.contains(&file), "{file}");
            self.made.push(file);
            let (offset, bytes) = (0, self.bytes);
            return of(file).does(What::Write { offset, bytes });
        }
        let step = step - 2 * self.files;
        if step < self.files {
            if step > 0 {
                assert_eq!(cx.returned, self.bytes);
            }
            let file = of(self.made[step as usize]);
            let (offset, bytes) = (0, 2 * self.bytes);
            return file.does(What::Read { offset, bytes });
        }
        let step = step - self.files;
        if step < self.files / 2 {
            return of(self.made[2 * step as usize]).does(What::Remove);
        }
        match step - self.files / 2 {
            0 => of(self.made[1]).does(What::Size),
            1 => {
                assert_eq!(cx.returned, self.bytes);
                raw(0).does(What::SyncAll)
            }
            2 => Op::Report {
                released: at(0),
                work: Duration::ZERO,
            },
            _ => Op::Exit,
        }
    }
}

#[test]
fn files_are_made_written_read_and_removed() {
    for back in [
        BackKind::Phy,
        BackKind::TapAio,
        BackKind::Hosted { threads: 2 },
    ] {
        for elevators in [
            ["noop", "noop"],
            ["cfq", "cfq"],
            ["anticipatory", "deadline"],
        ] {
            let drive = fixed(us(700));
            let guest = runs(domain(1, 1), Keeper::new(40, 100 * KIB + 5));
            let host = machine(2, Profile::OPTERON_242, domains([guest]));
            let mut disks = disks(&drive, &[1], elevators, back);
            // Three groups, a journal of its own, and the rest for files.
            disks.vbds[0].sectors = 1 << 21;
            disks.vbds[0].files = Some(FsConfig::guest(1 << 30));
            let mut simulation = simulation(&host, &disks);
            run(&mut simulation, 90_000);
            assert!(model(&simulation).is_idle(), "{back:?}, {elevators:?}");
            let (_, written) = moved(&drive.seen);
            // Twenty files are left; the others were removed before or after they were written.
            assert!(written > 20 * 100 * KIB && written < 12 * MIB, "{written}");
            let done = jobs(&simulation.into_sink(), vcpu(1, 0), 0);
            assert_eq!(done.len(), 1, "{back:?}, {elevators:?}: the program ends");
        }
    }
}

/// What a process writes reaches the disk with the next commit, without anybody asking.
#[test]
fn kjournald_writes_after_five_seconds() {
    let drive = fixed(us(700));
    let mut keeper = Keeper::new(2, 64 * KIB);
    keeper.step = 0;
    let guest = runs(
        domain(1, 1),
        Writer {
            made: None,
            wrote: false,
        },
    );
    let host = machine(2, Profile::OPTERON_242, domains([guest]));
    let mut disks = disks(&drive, &[1], ["cfq", "cfq"], BackKind::Phy);
    disks.vbds[0].sectors = 1 << 21;
    disks.vbds[0].files = Some(FsConfig::guest(1 << 30));
    let mut simulation = simulation(&host, &disks);
    run(&mut simulation, 4_900);
    assert_eq!(moved(&drive.seen).1, 0);
    run(&mut simulation, 6_000);
    assert!(moved(&drive.seen).1 >= 64 * KIB);
    let seen = drive.seen.lock().expect("nobody panics with the lock");
    assert!(
        seen.iter()
            .all(|(when, command)| command.way == IoWay::Read || *when >= at(4_990))
    );
    drop(seen);
    let records = simulation.into_sink();
    let written = |told: &&Told| {
        told.class == RECORDS.name && told.record.number == DiskRecord::Written as u8
    };
    assert!(records.iter().filter(written).count() >= 16);
}

/// Makes a file and writes 64 KiB.
#[derive(Clone, Debug)]
struct Writer {
    made: Option<u32>,
    wrote: bool,
}

impl Program for Writer {
    fn name(&self) -> &'static str {
        "writer"
    }

    fn next(&mut self, cx: &Context) -> Op {
        if self.wrote {
            return Op::Exit;
        }
        if self.made.is_none() {
            self.made = Some(0);
            return raw(0).does(What::Create { directory: 0 });
        }
        self.wrote = true;
        let file = FileId {
            device: 0,
            file: cx.returned as u32,
        };
        file.does(What::Write {
            offset: 0,
            bytes: 64 * KIB,
        })
    }
}
