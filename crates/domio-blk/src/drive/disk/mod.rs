//! A mechanical disk: arm, platters, cache, and a queue that the disk orders itself.
//!
//! Before each access of the platters the firmware works for the command overhead, and chooses at
//! the end of this work, so that a command that comes in the meantime counts. An access is a move
//! (seek or switch of heads, whichever is longer, and a write's settling), the wait until the
//! platters have turned to the first sector, and the transfer with the switches at ends of tracks.
//! After a read the heads read on until they are needed elsewhere.
//!
//! What the cache has goes to the host beside the work of the arm: overhead, and the bytes over
//! the link. A write is finished when it is in the cache. Reads go first, until more than half of
//! the cache is full of writes; then those compete with the reads for the arm. With
//! [`Destage::Together`] they always do.
//!
//! | file | holds |
//! |---|---|
//! | `config` | parameters, and the profiles A and B |
//! | [`geometry`] | zones, tracks and skews: where sectors are and when they pass |
//! | `seek` | Lee's curve |
//! | [`cache`] | segments that were read, extents that wait to be written |
//! | `choose` | which access is next |

pub mod cache;
mod choose;
mod config;
pub mod geometry;
mod seek;

pub use config::{Destage, DiskOrder, GENERIC_2008, HITACHI_7K500, MechanicalConfig};
pub use seek::SeekTimes;

use super::{Command, Drive, FinishedCommand, SectorRange, ServiceTime, insert_finished};
use crate::elevator::IoWay;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use cache::{CacheRoom, Dirty, Segments};
use choose::Choice;
use domio_core::{Duration, Instant};
use geometry::{Geometry, Spot};

/// What disks of one configuration have in common.
#[derive(Debug)]
struct Mechanics {
    config: MechanicalConfig,
    geometry: Geometry,
    /// Time (ns) of a seek by its distance.
    curve: Vec<u32>,
}

/// A command that needs the platters.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    command: Command,
    since: Instant,
    /// The sectors to access: without those at the start that the cache has.
    range: SectorRange,
    spot: Spot,
}

/// What the arm is busy with.
#[derive(Clone, Copy, Debug)]
struct Access {
    /// The command; none for a write out of the cache.
    command: Option<(Command, ServiceTime)>,
    range: SectorRange,
    end: Instant,
}

/// Reading on behind what was asked for.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    /// First sector that was read, by the command or before.
    start: u64,
    /// Where the heads continue without a command: the sector behind.
    limit: u64,
    /// Time and way of the heads at the beginning.
    from: (Instant, u64),
    /// Until when commands rely on the heads continuing.
    promised: Instant,
}

/// A mechanical disk.
#[derive(Debug)]
pub struct MechanicalDisk {
    mechanics: Arc<Mechanics>,
    /// Cylinder and head at which the arm is.
    arm: (u32, u32),
    /// In order of arrival.
    waiting: Vec<Waiting>,
    /// Writes for which the cache has no room, in order of arrival.
    crowded: VecDeque<(Command, Instant)>,
    /// Commands that the cache has finished or will finish at the time known, by time.
    served: VecDeque<FinishedCommand>,
    held: u32,
    segments: Segments,
    dirty: Dirty,
    access: Option<Access>,
    ahead: Option<Ahead>,
    /// When the firmware chooses the next access.
    choice_at: Option<Instant>,
    /// Until when the link is busy.
    link_until: Instant,
}

impl MechanicalDisk {
    /// A disk that has done nothing yet.
    ///
    /// # Panics
    /// When the configuration has a [`MechanicalConfig::fault`].
    pub fn new(config: &MechanicalConfig) -> MechanicalDisk {
        let mut disks = MechanicalDisk::several(config, 1);
        disks.pop().expect("one was asked for")
    }

    /// Several equal disks, which share their tables.
    ///
    /// # Panics
    /// When the configuration has a [`MechanicalConfig::fault`].
    pub fn several(config: &MechanicalConfig, count: usize) -> Vec<MechanicalDisk> {
        assert_eq!(config.fault(), None, "there is such a disk");
        let geometry = config.geometry();
        let mechanics = Arc::new(Mechanics {
            curve: config.seek.curve(geometry.cylinders()),
            geometry,
            config: *config,
        });
        let disk = || MechanicalDisk {
            mechanics: Arc::clone(&mechanics),
            arm: (0, 0),
            waiting: Vec::new(),
            crowded: VecDeque::new(),
            served: VecDeque::new(),
            held: 0,
            segments: Segments::default(),
            dirty: Dirty::default(),
            access: None,
            ahead: None,
            choice_at: None,
            link_until: Instant::ZERO,
        };
        (0..count).map(|_| disk()).collect()
    }

    fn config(&self) -> &MechanicalConfig {
        &self.mechanics.config
    }

    fn room(&self) -> CacheRoom {
        let config = self.config();
        CacheRoom {
            sectors: config.cache / 512,
            extents: config.extents as usize,
            longest: config.segment.into(),
        }
    }

    /// Segments that were read for which there is room beside the writes.
    fn free_segments(&self) -> usize {
        let room = self.room();
        ((room.sectors - self.dirty.sectors()) / room.longest) as usize
    }

    /// The cache serves `command`, which came at `since`, from `now` on, and not before `data`.
    fn serve(&mut self, now: Instant, since: Instant, data: Instant, command: Command) {
        let config = self.config();
        let bytes = u64::from(command.sectors) * 512;
        let link = bytes.saturating_mul(1_000_000_000) / config.link;
        let took = config.overhead + Duration::from_nanos(link);
        let begin = now.max(self.link_until);
        let end = (begin + took).max(data);
        self.link_until = begin + took;
        let spent = ServiceTime {
            queued: begin.since(since),
            transfer: end.since(begin),
            ..ServiceTime::default()
        };
        let finished = FinishedCommand {
            tag: command.tag,
            at: end,
            spent,
            cached: true,
        };
        insert_finished(&mut self.served, finished);
    }

    fn start_read(&mut self, now: Instant, command: Command) {
        let range = SectorRange::of(&command);
        if self.dirty.holds(range) || self.segments.reach(range) >= range.end {
            return self.serve(now, now, now, command);
        }
        if let Some(data) = self.on_the_way(now, range) {
            return self.serve(now, now, data, command);
        }
        self.wait(now, command);
    }

    fn start_write(&mut self, now: Instant, command: Command) {
        let range = SectorRange::of(&command);
        if self.ahead.is_some_and(|ahead| {
            range.meets(SectorRange {
                start: ahead.start,
                end: ahead.limit,
            })
        }) {
            // What was read is older than the write.
            self.halt(now);
        }
        self.segments.forget(range);
        if !self.config().write_cache || range.len() > self.room().longest {
            return self.wait(now, command);
        }
        self.crowded.push_back((command, now));
        self.admit(now);
    }

    /// Writes for which there is room go into the cache.
    fn admit(&mut self, now: Instant) {
        let room = self.room();
        while let Some(&(command, since)) = self.crowded.front() {
            let geometry = &self.mechanics.geometry;
            let spot_of = |sector| geometry.spot(sector);
            if !self.dirty.put(SectorRange::of(&command), room, spot_of) {
                break;
            }
            self.crowded.pop_front();
            self.serve(now, since, now, command);
        }
        self.segments.shrink(self.free_segments());
        self.work(now);
    }

    /// A command needs the platters.
    fn wait(&mut self, now: Instant, command: Command) {
        let asked = SectorRange::of(&command);
        let start = match command.way {
            IoWay::Read => self.segments.reach(asked),
            IoWay::Write => asked.start,
        };
        let range = SectorRange { start, ..asked };
        self.waiting.push(Waiting {
            command,
            since: now,
            range,
            spot: self.mechanics.geometry.spot(start),
        });
        self.work(now);
    }

    /// The firmware begins to prepare an access, if there is something to do and the arm is free.
    fn work(&mut self, now: Instant) {
        let idle = self.waiting.is_empty() && self.dirty.extents().is_empty();
        if self.access.is_some() || self.choice_at.is_some() || idle {
            return;
        }
        let promised = self.ahead.map_or(now, |ahead| ahead.promised);
        self.choice_at = Some((now + self.config().overhead).max(promised));
    }

    /// When the heads, which read on, will have passed `range`; `None` when they will not.
    fn on_the_way(&mut self, now: Instant, range: SectorRange) -> Option<Instant> {
        let choice_at = self.choice_at;
        let mechanics = &self.mechanics;
        let ahead = self.ahead.as_mut()?;
        if range.start < ahead.start || range.start > ahead.limit {
            return None;
        }
        let (from, way) = ahead.from;
        let far = mechanics.geometry.way_behind(range.end - 1);
        let data = from + Duration::from_nanos(far.saturating_sub(way));
        // At the limit the heads have stopped, and the platters turned on.
        let stop = mechanics.geometry.way_behind(ahead.limit - 1);
        let stopped = from + Duration::from_nanos(stop.saturating_sub(way)) <= now;
        if (stopped && range.end > ahead.limit) || choice_at.is_some_and(|at| at < data) {
            return None;
        }
        ahead.promised = ahead.promised.max(data);
        let on = range.end + u64::from(mechanics.config.read_ahead);
        ahead.limit = ahead.limit.max(on).min(mechanics.geometry.sectors());
        Some(data)
    }

    /// The heads end their reading on: what they have read becomes a segment.
    fn halt(&mut self, now: Instant) {
        let Some(ahead) = self.ahead.take() else {
            return;
        };
        let (from, way) = ahead.from;
        let geometry = &self.mechanics.geometry;
        let passed = way + now.since(from).as_nanos();
        let end = geometry
            .sector_at(passed)
            .min(ahead.limit)
            .max(ahead.start + 1);
        let spot = geometry.spot(end - 1);
        self.arm = (spot.cylinder, spot.head);
        let read = SectorRange {
            start: ahead.start,
            end,
        };
        let (longest, most) = (self.room().longest, self.free_segments());
        self.segments.put(read, longest, most);
    }

    /// The firmware chooses, and the arm begins to move.
    fn choose(&mut self, now: Instant) {
        self.choice_at = None;
        self.halt(now);
        let destage = match self.config().destage {
            Destage::ReadsFirst => self.waiting.is_empty() || self.dirty.high(self.room()),
            Destage::Together => true,
        };
        let Some((choice, position)) = self.choice(now, destage) else {
            return;
        };
        let (range, command) = match choice {
            Choice::Waiting(at) => {
                let chosen = self.waiting.remove(at);
                (chosen.range, Some(chosen))
            }
            Choice::DirtyExtent(at) => (self.dirty.leave(at), None),
        };
        let geometry = &self.mechanics.geometry;
        let last = geometry.spot(range.end - 1);
        self.arm = (last.cylinder, last.head);
        let way = geometry.way_behind(range.end - 1) - geometry.way(range.start);
        let transfer = Duration::from_nanos(way);
        let end = now + position.seek + position.rotation + transfer;
        let command = command.map(|chosen| {
            let here = now.since(chosen.since);
            let overhead = here.min(self.config().overhead);
            let spent = ServiceTime {
                queued: here - overhead,
                seek: position.seek,
                rotation: position.rotation,
                transfer: overhead + transfer,
            };
            (chosen.command, spent)
        });
        self.access = Some(Access {
            command,
            range,
            end,
        });
    }

    /// The arm has finished an access.
    fn accessed(&mut self, access: Access) {
        let now = access.end;
        match access.command {
            None => {
                self.dirty.left();
                if self.waiting.is_empty() && !self.dirty.extents().is_empty() {
                    // Writes out of the cache follow each other: nobody waits for the firmware.
                    self.choice_at = Some(now);
                }
                self.admit(now);
            }
            Some((command, spent)) => {
                let finished = FinishedCommand {
                    tag: command.tag,
                    at: now,
                    spent,
                    cached: false,
                };
                insert_finished(&mut self.served, finished);
                if command.way == IoWay::Read {
                    self.read_on(now, access.range);
                }
                self.work(now);
            }
        }
    }

    /// The heads read on behind `read`.
    fn read_on(&mut self, now: Instant, read: SectorRange) {
        let geometry = &self.mechanics.geometry;
        let ahead = u64::from(self.config().read_ahead);
        self.ahead = Some(Ahead {
            start: read.start,
            limit: (read.end + ahead).min(geometry.sectors()),
            from: (now, geometry.way_behind(read.end - 1)),
            promised: now,
        });
    }
}

/// The earlier one of two times, if there is any.
#[inline]
fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, None) => a,
        (None, b) => b,
    }
}

impl Drive for MechanicalDisk {
    fn sectors(&self) -> u64 {
        self.config().sectors.min(self.mechanics.geometry.sectors())
    }

    fn depth(&self) -> u32 {
        self.config().depth
    }

    fn start(&mut self, now: Instant, command: Command) {
        assert!(
            self.held < self.depth(),
            "a command beyond the depth of the disk"
        );
        let end = command.sector + u64::from(command.sectors);
        assert!(
            command.sectors > 0 && end <= self.sectors(),
            "{command:?} is on the disk"
        );
        self.held += 1;
        match command.way {
            IoWay::Read => self.start_read(now, command),
            IoWay::Write => self.start_write(now, command),
        }
    }

    fn next(&self) -> Option<Instant> {
        let served = self.served.front().map(|finished| finished.at);
        let access = self.access.as_ref().map(|access| access.end);
        earlier(served, earlier(access, self.choice_at))
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
            } else if let Some(access) = self.access.take_if(|access| access.end == at) {
                self.accessed(access);
            } else {
                self.choose(at);
            }
        }
    }
}
