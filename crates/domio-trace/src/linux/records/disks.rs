//! Requests of disks: how long each was in the queue and at the disk, and who waited for it.

use std::collections::VecDeque;

use domio_core::{PcpuId, Record};
use domio_linux::{DiskId, DiskRequest, DiskStep, Tid};

use super::super::class::Linux;
use super::super::threads::OF_KERNEL;
use super::LinuxRecords;

/// Most requests, and pieces of which none was made yet, that are followed at once. The oldest ones
/// beyond are given up: their ends were not recorded.
const FOLLOWED_MAX: usize = 4096;

/// A thread whose own request is done is woken within this time, in nanoseconds: by the interrupt,
/// by a softirq, or by a thread that the kernel leaves the rest to.
const OWN_WITHIN: u64 = 1_000_000;

/// A thread of the group whose request is done is woken within this time, in nanoseconds, by the
/// cpu where it is done: as other causes of a wake-up are as likely, only the next thing that the
/// cpu does counts.
const GROUP_WITHIN: u64 = 100_000;

/// A request that is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::linux) struct DoneRequest {
    /// When it was asked for, as far as events say.
    since: u64,
    /// When it was done.
    at: u64,
    /// The cpu that said so.
    cpu: usize,
}

/// A part of a disk.
#[derive(Clone, Copy, Debug)]
struct Extent {
    disk: DiskId,
    sector: u64,
    sectors: u32,
}

impl Extent {
    fn of(request: &DiskRequest) -> Self {
        Extent {
            disk: request.disk,
            // A flush has no place; its begin and its end name different ones.
            sector: if request.sectors > 0 {
                request.sector
            } else {
                0
            },
            sectors: request.sectors,
        }
    }

    fn holds(&self, sector: u64) -> bool {
        sector.wrapping_sub(self.sector) < u64::from(self.sectors)
    }
}

/// A piece that a thread asked for.
#[derive(Clone, Copy, Debug)]
struct Piece {
    extent: Extent,
    by: Tid,
    at: u64,
}

/// A request.
#[derive(Clone, Copy, Debug)]
struct Request {
    /// What is left of it.
    extent: Extent,
    /// Sectors of all of it.
    whole: u32,
    writes: bool,
    by: Tid,
    /// When it was asked for, or was first seen.
    since: u64,
    /// When it was queued, if that was seen.
    queued: Option<u64>,
    issued: Option<u64>,
}

/// What is under way.
#[derive(Debug, Default)]
pub(super) struct Disks {
    pieces: VecDeque<Piece>,
    requests: VecDeque<Request>,
}

impl Disks {
    fn push<T>(all: &mut VecDeque<T>, new: T) {
        if all.len() >= FOLLOWED_MAX {
            all.pop_front();
        }
        all.push_back(new);
    }

    /// Takes the pieces that `extent` is made of; the first of them. A piece of a partition has
    /// another number, and the sector of the disk.
    fn take_pieces(&mut self, extent: Extent) -> Option<Piece> {
        let mut first = None;
        self.pieces.retain(|piece| {
            let own = piece.extent;
            let is_part = own.disk.major() == extent.disk.major()
                && (extent.holds(own.sector) || own.sectors == 0 && extent.sectors == 0);
            if is_part {
                first = first.or(Some(*piece));
            }
            !is_part
        });
        first
    }

    /// The place of the request that `extent` is of, issued or not.
    fn place(&self, extent: Extent, is_issued: bool) -> Option<usize> {
        let is_it = |request: &Request| {
            let own = request.extent;
            request.issued.is_some() == is_issued
                && own.disk == extent.disk
                && (own.sector == extent.sector && (own.sectors > 0) == (extent.sectors > 0)
                    // Another piece was merged in front.
                    || !is_issued && extent.holds(own.sector))
        };
        self.requests.iter().position(is_it)
    }
}

impl LinuxRecords {
    /// Takes a step of a request, which the current thread of `cpu` made or was interrupted by.
    pub(super) fn request(&mut self, cpu: usize, request: &DiskRequest) {
        let (now, extent) = (self.now, Extent::of(request));
        let current = self.cpus[cpu].current;
        let by = current.map_or(Tid::UNKNOWN, |place| self.threads.get(place).tid);
        let new = |piece: Option<Piece>, queued| Request {
            extent,
            whole: extent.sectors,
            writes: request.writes,
            by: piece.map_or(by, |piece| piece.by),
            since: piece.map_or(now, |piece| piece.at),
            queued,
            issued: None,
        };
        match request.step {
            DiskStep::Bio => Disks::push(
                &mut self.disks.pieces,
                Piece {
                    extent,
                    by,
                    at: now,
                },
            ),
            DiskStep::Insert => {
                let piece = self.disks.take_pieces(extent);
                Disks::push(&mut self.disks.requests, new(piece, Some(now)));
            }
            DiskStep::Issue => {
                let piece = self.disks.take_pieces(extent);
                let known = self.disks.place(extent, false);
                // One that is issued once more had been put back.
                let known = known.or_else(|| self.disks.place(extent, true));
                let place = known.unwrap_or_else(|| {
                    let queued = piece.map(|piece| piece.at);
                    Disks::push(&mut self.disks.requests, new(piece, queued));
                    self.disks.requests.len() - 1
                });
                let known = &mut self.disks.requests[place];
                (known.extent, known.whole) = (extent, extent.sectors);
                known.issued = Some(now);
                let known = *known;
                if let Some(queued) = known.queued {
                    let time = now.saturating_sub(queued);
                    self.says_of(cpu, &known, Linux::DiskQueued, time, 0);
                }
            }
            DiskStep::Complete => self.complete(cpu, extent),
        }
    }

    /// A request, or its first part, is done.
    fn complete(&mut self, cpu: usize, extent: Extent) {
        let now = self.now;
        let Some(place) = self.disks.place(extent, true) else {
            return;
        };
        let known = &mut self.disks.requests[place];
        if extent.sectors < known.extent.sectors {
            known.extent.sector += u64::from(extent.sectors);
            known.extent.sectors -= extent.sectors;
            return;
        }
        let Some(known) = self.disks.requests.remove(place) else {
            return;
        };
        let done = DoneRequest {
            since: known.since,
            at: now,
            cpu,
        };
        if let Some(place) = self.threads.known(known.by) {
            self.threads.get_mut(place).request = Some(done);
            let group = self.threads.get(place).group;
            if group != OF_KERNEL {
                self.threads.group_at(group).request = Some(done);
            }
        }
        let time = now.saturating_sub(known.issued.unwrap_or(now));
        let writes = u32::from(known.writes) << 31;
        let sectors = known.whole.min(u32::MAX >> 1) | writes;
        self.says_of(cpu, &known, Linux::DiskDone, time, sectors);
    }

    /// Puts a record about a request, of the thread that asked for it; of the idle task where that
    /// is not known.
    fn says_of(&mut self, cpu: usize, request: &Request, number: Linux, time: u64, last: u32) {
        let place = self.threads.known(request.by);
        let place = place.unwrap_or(self.cpus[cpu].idle);
        let actor = self.threads.get(place).actor;
        let disk = request.extent.disk.number();
        let words = [disk, time as u32, (time >> 32) as u32, last];
        let class = (self.class, number as u8);
        let pcpu = PcpuId(cpu as u16);
        self.put(Record::of(self.at(), pcpu, class, actor, words));
    }

    /// The thread in `place`, in state D, is woken by code on `cpu`: did it wait for a disk?
    #[cold]
    pub(super) fn waited_for_disk(&mut self, cpu: usize, place: usize) {
        let (now, thread) = (self.now, *self.threads.get(place));
        let group = self.threads.group_at(thread.group).request;
        let within = |done: &DoneRequest, limit| done.at >= thread.since && now - done.at <= limit;
        let own = thread.request.filter(|done| within(done, OWN_WITHIN));
        let of_group = group.filter(|done| done.cpu == cpu && within(done, GROUP_WITHIN));
        if let Some(done) = own.or(of_group) {
            let time = now - thread.since.max(done.since);
            self.note_time(cpu, place, Linux::DiskWait, time);
        }
    }
}
