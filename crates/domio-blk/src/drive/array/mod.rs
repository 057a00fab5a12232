//! An array of mechanical disks behind a network: a LUN with a cache in front.
//!
//! A command takes the network's delay to the array and back. A read of data that the cache has,
//! and a write for which the cache has room, take the time of a hit. Other reads wait for the
//! disks, each of which orders its own queue. Writes go to the disks immediately, and their room in
//! the cache is free again when all copies, or data and parity, are written. The disks' own write
//! caches are off. A write of a part of a row of RAID-5 reads old data and old parity first; a
//! whole row needs no reads.
//!
//! The cache has pages of 4 KiB, each with the one place that its number modulo their count gives.

mod layout;

use super::disk::{HITACHI_7K500, MechanicalConfig, MechanicalDisk};
use super::{Command, Drive, FinishedCommand, SectorRange, ServiceTime, insert_finished};
use crate::elevator::IoWay;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use domio_core::{Duration, Instant};
use layout::{Layout, Piece, Writing};

/// Sectors of a page of the cache.
const PAGE: u64 = 8;

/// How data is spread over the disks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RaidLevel {
    /// Stripes.
    Raid0,
    /// Stripes over pairs with the same data.
    Raid10,
    /// Stripes with parity.
    Raid5,
}

/// An array. Figures are assumed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrayConfig {
    /// Disks.
    pub disks: u32,
    /// How data is spread over them.
    pub level: RaidLevel,
    /// Bytes that follow each other on a disk.
    pub stripe: u32,
    /// Commands of the host that the LUN holds at a time.
    pub depth: u32,
    /// Bytes of the cache.
    pub cache: u64,
    /// Bytes of the cache that may wait to be written; 0 for a cache that finishes no write.
    pub dirty: u64,
    /// Time of a command that the cache serves.
    pub hit: Duration,
    /// Delay of the network, each way.
    pub network: Duration,
    /// Each disk. Its write cache is off in the array.
    pub disk: MechanicalConfig,
}

/// Eight disks of profile A with RAID-5.
pub const ARRAY: ArrayConfig = ArrayConfig {
    disks: 8,
    level: RaidLevel::Raid5,
    stripe: 64 << 10,
    depth: 64,
    cache: 512 << 20,
    dirty: 128 << 20,
    hit: Duration::from_micros(300),
    network: Duration::from_micros(200),
    disk: HITACHI_7K500,
};

/// What the host asked for.
#[derive(Clone, Copy, Debug)]
struct Asked {
    command: Command,
    since: Instant,
}

/// Work of the disks for a command.
#[derive(Debug)]
struct Job {
    /// Who waits for the end; nobody where the cache has finished the write.
    asked: Option<Asked>,
    /// Sectors of the cache that are free again at the end.
    dirty: u64,
    /// Parts that are not at their end.
    open: usize,
}

/// What one operation of a disk is for.
#[derive(Clone, Copy, Debug)]
struct Operation {
    job: usize,
    /// The part of a write whose reads have to end before its writes.
    part: Option<usize>,
}

/// Values at places that are used again.
#[derive(Debug)]
struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<usize>,
}

/// An array.
#[derive(Debug)]
pub struct ArrayDrive {
    config: ArrayConfig,
    layout: Layout,
    disks: Vec<MechanicalDisk>,
    /// Operations beyond the depth of each disk, and the number inside.
    backlog: Vec<VecDeque<Command>>,
    inside: Vec<u32>,
    held: u32,
    /// On the way from the host.
    coming: VecDeque<(Instant, Asked)>,
    /// Writes for which the cache has no room.
    crowded: VecDeque<Asked>,
    served: VecDeque<FinishedCommand>,
    jobs: Slab<Job>,
    operations: Slab<Operation>,
    /// Reads that are left, and writes that follow.
    parts: Slab<(usize, usize, Vec<Piece>)>,
    /// Page in each place of the cache, plus one.
    pages: Vec<u64>,
    dirty: u64,
    started: [u64; 2],
    found: Vec<FinishedCommand>,
}

impl<T> Slab<T> {
    fn new() -> Slab<T> {
        Slab {
            places: Vec::new(),
            free: Vec::new(),
        }
    }

    fn put(&mut self, value: T) -> usize {
        let at = self.free.pop().unwrap_or(self.places.len());
        match self.places.get_mut(at) {
            Some(place) => *place = Some(value),
            None => self.places.push(Some(value)),
        }
        at
    }

    fn at(&mut self, at: usize) -> &mut T {
        self.places[at].as_mut().expect("the place is taken")
    }

    fn take(&mut self, at: usize) -> T {
        self.free.push(at);
        self.places[at].take().expect("the place is taken")
    }
}

impl ArrayConfig {
    /// Sectors of the array.
    pub fn capacity(&self) -> u64 {
        Layout::new(self).sectors(self.disk.capacity())
    }

    /// Why there is no such array, if there is none.
    pub fn fault(&self) -> Option<&'static str> {
        let fewest = match self.level {
            RaidLevel::Raid0 => 1,
            RaidLevel::Raid10 => 2,
            RaidLevel::Raid5 => 3,
        };
        let odd = self.level == RaidLevel::Raid10 && !self.disks.is_multiple_of(2);
        let faults = [
            (self.disks < fewest, "fewer disks than the level needs"),
            (odd, "an odd number of disks for pairs"),
            (
                self.stripe < 512 || !self.stripe.is_multiple_of(512),
                "a stripe that is not of whole sectors",
            ),
            (self.depth == 0, "an array that holds no command"),
            (
                self.dirty > self.cache,
                "more of the cache to write than there is",
            ),
        ];
        let fault = faults.into_iter().find(|(is, _)| *is).map(|(_, why)| why);
        fault.or_else(|| self.disk.fault())
    }
}

impl ArrayDrive {
    /// An array that has done nothing yet.
    ///
    /// # Panics
    /// When the configuration has an [`ArrayConfig::fault`].
    pub fn new(config: &ArrayConfig) -> ArrayDrive {
        assert_eq!(config.fault(), None, "there is such an array");
        let disk = MechanicalConfig {
            write_cache: false,
            ..config.disk
        };
        let disks = MechanicalDisk::several(&disk, config.disks as usize);
        ArrayDrive {
            layout: Layout::new(config),
            backlog: disks.iter().map(|_| VecDeque::new()).collect(),
            inside: alloc::vec![0; disks.len()],
            disks,
            held: 0,
            coming: VecDeque::new(),
            crowded: VecDeque::new(),
            served: VecDeque::new(),
            jobs: Slab::new(),
            operations: Slab::new(),
            parts: Slab::new(),
            pages: alloc::vec![0; (config.cache / 512 / PAGE) as usize],
            dirty: 0,
            started: [0, 0],
            found: Vec::new(),
            config: *config,
        }
    }

    /// Reads and writes that the disks got so far.
    pub fn started(&self) -> [u64; 2] {
        self.started
    }

    fn cached(&self, range: SectorRange) -> bool {
        let count = self.pages.len() as u64;
        let mut pages = range.start / PAGE..range.end.div_ceil(PAGE);
        count > 0 && pages.all(|page| self.pages[(page % count) as usize] == page + 1)
    }

    fn remember(&mut self, range: SectorRange) {
        let count = self.pages.len() as u64;
        if count > 0 {
            for page in range.start / PAGE..range.end.div_ceil(PAGE) {
                self.pages[(page % count) as usize] = page + 1;
            }
        }
    }

    /// A command is at the array.
    fn arrived(&mut self, now: Instant, asked: Asked) {
        let range = SectorRange::of(&asked.command);
        match asked.command.way {
            IoWay::Read if self.cached(range) => self.hit(now, asked),
            IoWay::Read => {
                let busy = |disk: usize| self.inside[disk] as usize + self.backlog[disk].len();
                let choose = |a: usize, b: usize| if busy(b) < busy(a) { b } else { a };
                let pieces = self.layout.reads(range, choose);
                let job = self.jobs.put(Job {
                    asked: Some(asked),
                    dirty: 0,
                    open: pieces.len(),
                });
                for piece in pieces {
                    self.operate(now, job, None, piece, IoWay::Read);
                }
            }
            IoWay::Write if u64::from(asked.command.sectors) * 512 > self.config.dirty => {
                self.write(now, range, Some(asked));
            }
            IoWay::Write => {
                self.crowded.push_back(asked);
                self.admit(now);
            }
        }
    }

    /// The cache serves a command.
    fn hit(&mut self, now: Instant, asked: Asked) {
        let at = now + self.config.hit + self.config.network;
        let transfer = self.config.hit + self.config.network + self.config.network;
        let spent = ServiceTime {
            transfer,
            queued: at.since(asked.since) - transfer,
            ..ServiceTime::default()
        };
        let finished = FinishedCommand {
            tag: asked.command.tag,
            at,
            spent,
            cached: true,
        };
        insert_finished(&mut self.served, finished);
    }

    /// Writes for which there is room go into the cache, and to the disks.
    fn admit(&mut self, now: Instant) {
        while let Some(&asked) = self.crowded.front() {
            let range = SectorRange::of(&asked.command);
            if (self.dirty + range.len()) * 512 > self.config.dirty {
                return;
            }
            self.crowded.pop_front();
            self.dirty += range.len();
            self.hit(now, asked);
            self.write(now, range, None);
        }
    }

    /// The disks write a range; the host waits if it `asked`.
    fn write(&mut self, now: Instant, range: SectorRange, asked: Option<Asked>) {
        self.remember(range);
        let writings = self.layout.writes(range);
        let job = self.jobs.put(Job {
            dirty: if asked.is_some() { 0 } else { range.len() },
            asked,
            open: writings.iter().map(|writing| writing.writes.len()).sum(),
        });
        for Writing { reads, writes } in writings {
            if reads.is_empty() {
                for piece in writes {
                    self.operate(now, job, None, piece, IoWay::Write);
                }
                continue;
            }
            let part = self.parts.put((reads.len(), job, writes));
            for piece in reads {
                self.operate(now, job, Some(part), piece, IoWay::Read);
            }
        }
    }

    fn operate(&mut self, now: Instant, job: usize, part: Option<usize>, piece: Piece, way: IoWay) {
        self.started[way.index()] += 1;
        let tag = self.operations.put(Operation { job, part }) as u32;
        self.backlog[piece.disk].push_back(Command {
            tag,
            sector: piece.range.start,
            sectors: piece.range.len() as u32,
            way,
        });
        self.feed(now, piece.disk);
    }

    /// Hands operations to a disk, as many as it takes.
    fn feed(&mut self, now: Instant, disk: usize) {
        while self.inside[disk] < self.disks[disk].depth() {
            let Some(command) = self.backlog[disk].pop_front() else {
                return;
            };
            self.inside[disk] += 1;
            self.disks[disk].start(now, command);
        }
    }

    /// A disk has finished an operation.
    fn operated(&mut self, now: Instant, finished: &FinishedCommand) {
        let Operation { job, part } = self.operations.take(finished.tag as usize);
        if let Some(part) = part {
            let (left, _, _) = self.parts.at(part);
            *left -= 1;
            if *left == 0 {
                let (_, job, writes) = self.parts.take(part);
                for piece in writes {
                    self.operate(now, job, None, piece, IoWay::Write);
                }
            }
            return;
        }
        let open = &mut self.jobs.at(job).open;
        *open -= 1;
        if *open > 0 {
            return;
        }
        let job = self.jobs.take(job);
        self.dirty -= job.dirty;
        if let Some(asked) = job.asked {
            self.answer(now, asked, finished.spent);
        }
        self.admit(now);
    }

    /// The disks have done what the host asked for; `last` is what the last of them spent.
    fn answer(&mut self, now: Instant, asked: Asked, last: ServiceTime) {
        if asked.command.way == IoWay::Read {
            self.remember(SectorRange::of(&asked.command));
        }
        let network = self.config.network;
        let at = now + network;
        let transfer = last.transfer + network + network;
        let spent = ServiceTime {
            queued: at.since(asked.since) - last.seek - last.rotation - transfer,
            transfer,
            ..last
        };
        let finished = FinishedCommand {
            tag: asked.command.tag,
            at,
            spent,
            cached: false,
        };
        insert_finished(&mut self.served, finished);
    }
}

impl Drive for ArrayDrive {
    fn sectors(&self) -> u64 {
        self.layout.sectors(self.disks[0].sectors())
    }

    fn depth(&self) -> u32 {
        self.config.depth
    }

    fn start(&mut self, now: Instant, command: Command) {
        assert!(
            self.held < self.depth(),
            "a command beyond the depth of the array"
        );
        let end = command.sector + u64::from(command.sectors);
        assert!(
            command.sectors > 0 && end <= self.sectors(),
            "{command:?} is on the array"
        );
        self.held += 1;
        let asked = Asked {
            command,
            since: now,
        };
        self.coming.push_back((now + self.config.network, asked));
    }

    fn next(&self) -> Option<Instant> {
        let served = self.served.front().map(|finished| finished.at);
        let coming = self.coming.front().map(|&(at, _)| at);
        let disks = self.disks.iter().map(Drive::next);
        disks.chain([served, coming]).flatten().min()
    }

    fn advance(&mut self, now: Instant, done: &mut Vec<FinishedCommand>) {
        while let Some(at) = self.next().filter(|&at| at <= now) {
            if self
                .served
                .front()
                .is_some_and(|finished| finished.at == at)
            {
                done.extend(self.served.pop_front());
                self.held -= 1;
                continue;
            }
            for disk in 0..self.disks.len() {
                let mut found = core::mem::take(&mut self.found);
                self.disks[disk].advance(at, &mut found);
                for finished in found.drain(..) {
                    self.inside[disk] -= 1;
                    self.operated(at, &finished);
                    self.feed(at, disk);
                }
                self.found = found;
            }
            while let Some(&(_, asked)) = self.coming.front().filter(|&&(came, _)| came == at) {
                self.coming.pop_front();
                self.arrived(at, asked);
            }
        }
    }
}
