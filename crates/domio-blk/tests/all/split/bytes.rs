//! What reaches the drive is what guests asked for: each byte of a write goes to its place once, in
//! an order that processes allow, whatever was merged; on random hosts.

use super::site::*;
use crate::site::{Records, Told, at, domain, machine, us};
use domio_blk::elevator::{IoWay, elevators};
use domio_blk::split::{
    BackKind, DiskRecord, PendingPool, RECORDS, SplitConfig, VbdConfig, WakeOrder,
};
use domio_core::{DomainId, Duration, Instant};
use domio_sim::RandomStream;
use domio_vmm::Profile;
use domio_vmm::process::{Context, Op, Program, What};
use std::sync::{Arc, Mutex};

/// A call of a process: when it began and ended, what it was, and how many bytes it returned.
#[derive(Clone, Copy, Debug)]
struct Asked {
    disk: u32,
    way: IoWay,
    offset: u64,
    bytes: u64,
    begin: Instant,
    end: Option<Instant>,
}

type Calls = Arc<Mutex<Vec<Asked>>>;

/// Reads and writes pieces of a disk at random, now and then with a pause.
#[derive(Clone, Debug)]
struct Scribbler {
    disk: u32,
    sectors: u64,
    left: u32,
    random: RandomStream,
    calls: Calls,
    current: Option<usize>,
}

impl Program for Scribbler {
    fn name(&self) -> &'static str {
        "scribbler"
    }

    fn next(&mut self, cx: &Context) -> Op {
        let mut calls = self.calls.lock().expect("nobody panics with the lock");
        if let Some(current) = self.current.take() {
            let call = &mut calls[current];
            assert_eq!(cx.returned, call.bytes, "{call:?}");
            call.end = Some(cx.now);
            if self.random.chance(1, 4) {
                let pause = Duration::from_micros(self.random.below(6_000));
                return Op::SleepUntil(cx.now + pause);
            }
        }
        if self.left == 0 {
            return Op::Exit;
        }
        self.left -= 1;
        // Near each other, so that much is merged; some are larger than the ring.
        let sectors = match self.random.below(20) {
            0 => 1 + self.random.below(40 * 88),
            _ => 8 * (1 + self.random.below(12)),
        };
        let offset = 512 * self.random.below(self.sectors - sectors);
        let bytes = 512 * sectors;
        let way = match self.random.chance(1, 2) {
            true => IoWay::Read,
            false => IoWay::Write,
        };
        self.current = Some(calls.len());
        calls.push(Asked {
            disk: self.disk,
            way,
            offset,
            bytes,
            begin: cx.now,
            end: None,
        });
        raw(self.disk).does(match way {
            IoWay::Read => What::Read { offset, bytes },
            IoWay::Write => What::Write { offset, bytes },
        })
    }
}

/// Disks of one host, one after the other with a gap between.
struct Case {
    config: SplitConfig,
    drive: Fixed,
    calls: Calls,
    pcpus: u16,
    guests: Vec<Vec<(u32, u64)>>,
}

const SECTORS: u64 = 8_000;

fn case(seed: u64) -> Case {
    let mut random = RandomStream::new(seed, 0, "case");
    let elevators = elevators();
    let mut drive = fixed(us(50 + random.below(3_000)));
    drive.depth = 1 + random.below(40) as u32;
    drive.servers = 1 + random.below(4) as usize;
    let mut config = disks(&drive, &[], ["noop", "noop"], BackKind::Phy);
    let hz = |random: &mut RandomStream| [100, 250, 1000][random.below(3) as usize];
    config.disks[0].layer = layer(elevators[random.below(elevators.len() as u64) as usize].name);
    config.disks[0].layer.hz = hz(&mut random);
    config.disks[0].layer.requests = [8, 128][random.below(2) as usize];
    config.pool = PendingPool {
        entries: 1 + random.below(64) as u32,
        order: [WakeOrder::Fifo, WakeOrder::Random][random.below(2) as usize],
    };
    let mut guests = Vec::new();
    for guest in 0..1 + random.below(3) as u16 {
        let mut own = Vec::new();
        for _ in 0..1 + random.below(2) {
            let disk = config.vbds.len() as u32;
            let back = [
                BackKind::Phy,
                BackKind::Phy,
                BackKind::TapAio,
                BackKind::Hosted {
                    threads: 1 + random.below(4) as u32,
                },
            ][random.below(4) as usize];
            let mut layer = layer(elevators[random.below(elevators.len() as u64) as usize].name);
            layer.hz = hz(&mut random);
            layer.requests = [8, 128][random.below(2) as usize];
            config.vbds.push(VbdConfig {
                domain: DomainId(guest + 1),
                disk: 0,
                start: u64::from(disk) * (SECTORS + 100),
                sectors: SECTORS,
                layer,
                back,
                cached: false,
                files: None,
            });
            own.push((disk, 1 + random.below(6)));
        }
        guests.push(own);
    }
    Case {
        config,
        drive,
        calls: Calls::default(),
        pcpus: 1 + random.below(4) as u16,
        guests,
    }
}

fn run_case(seed: u64) -> (Case, Records) {
    let case = case(seed);
    let mut guests = Vec::new();
    for (guest, disks) in (1..).zip(&case.guests) {
        let mut own = domain(guest, 1);
        for (disk, processes) in disks {
            for process in 0..*processes {
                own = runs(
                    own,
                    Scribbler {
                        disk: *disk,
                        sectors: SECTORS,
                        left: 12,
                        random: RandomStream::new(seed, process as u32, &format!("{disk}")),
                        calls: Arc::clone(&case.calls),
                        current: None,
                    },
                );
            }
        }
        guests.push(own);
    }
    let host = machine(case.pcpus, Profile::OPTERON_242, domains(guests));
    let mut simulation = simulation(&host, &case.config);
    run(&mut simulation, 60_000);
    assert!(model(&simulation).is_idle(), "seed {seed}");
    assert!(model(&simulation).most_pending() <= case.config.pool.entries);
    (case, simulation.into_sink())
}

/// The first sector that the drive has seen more or less often than processes asked.
fn wrong_sector(case: &Case) -> Option<usize> {
    let calls = case.calls.lock().expect("nobody panics with the lock");
    let seen = case.drive.seen.lock().expect("nobody panics with the lock");
    let sectors = case.config.vbds.len() * (SECTORS as usize + 100);
    let mut balance = vec![[0i32; 2]; sectors];
    for call in calls.iter() {
        let start = case.config.vbds[call.disk as usize].start + call.offset / 512;
        for sector in start..start + call.bytes / 512 {
            balance[sector as usize][call.way.index()] += 1;
        }
    }
    for (_, command) in seen.iter() {
        for sector in command.sector..command.sector + u64::from(command.sectors) {
            balance[sector as usize][command.way.index()] -= 1;
        }
    }
    balance.iter().position(|both| *both != [0, 0])
}

/// The first call whose bytes the drive did not get between the begin and the end of the call.
fn early_call(case: &Case) -> Option<Asked> {
    let calls = case.calls.lock().expect("nobody panics with the lock");
    let seen = case.drive.seen.lock().expect("nobody panics with the lock");
    let early = |call: &&Asked| {
        let start = case.config.vbds[call.disk as usize].start + call.offset / 512;
        let end = start + call.bytes / 512;
        let within = |at: Instant| call.begin <= at && Some(at) <= call.end;
        let own = seen
            .iter()
            .filter(|(at, c)| c.way == call.way && within(*at));
        let covered = own.map(|(_, c)| {
            let last = end.min(c.sector + u64::from(c.sectors));
            last.saturating_sub(start.max(c.sector))
        });
        call.end.is_none() || covered.sum::<u64>() < end - start
    };
    calls.iter().find(early).copied()
}

/// Every call ends; the drive has seen each sector of each call as often as processes asked for it,
/// between the call's begin and end, and no other sector.
fn check(seed: u64) {
    let (case, _) = run_case(seed);
    assert_eq!(wrong_sector(&case), None, "seed {seed}");
    let early = early_call(&case);
    assert!(early.is_none(), "seed {seed}: {early:?} ended too early");
}

#[test]
fn every_sector_goes_to_the_drive_as_often_as_processes_ask() {
    for seed in 0..60 {
        check(seed);
    }
}

#[test]
fn the_same_host_does_the_same() {
    for seed in [3, 7, 11] {
        let (first, second) = (run_case(seed).1, run_case(seed).1);
        assert!(first.len() > 1_000, "{}", first.len());
        assert!(first[..] == second[..], "seed {seed}");
    }
}

/// Bios are merged on the way: the checks would mean little else.
#[test]
fn much_is_merged() {
    let (mut pieces, mut commands) = (0, 0);
    for seed in 0..20 {
        let (case, records) = run_case(seed);
        let over = [DiskRecord::Read as u8, DiskRecord::Written as u8];
        let over = |told: &&Told| told.class == RECORDS.name && over.contains(&told.record.number);
        pieces += records.iter().filter(over).count();
        let seen = case.drive.seen.lock().expect("nobody panics with the lock");
        commands += seen.len();
    }
    assert!(commands * 4 < pieces * 3, "{commands} of {pieces}");
}

/// The checks are worth something: they find a command that lost a sector, one that wrote twice,
/// and one that came too late.
#[test]
fn what_is_wrong_is_found() {
    let (case, _) = run_case(1);
    let seen = || case.drive.seen.lock().expect("nobody panics with the lock");
    let first = seen()[0];
    seen()[0].1.sectors -= 1;
    assert_eq!(
        wrong_sector(&case),
        Some((first.1.sector + u64::from(first.1.sectors) - 1) as usize)
    );
    seen()[0] = first;
    assert_eq!(wrong_sector(&case), None);
    seen().push(first);
    assert_eq!(wrong_sector(&case), Some(first.1.sector as usize));
    seen().pop();
    seen()[0].0 = at(60_000);
    assert!(early_call(&case).is_some());
}
