//! Requests of disks: how long each was in the queue and at the disk, and who waited for it.

use domio_core::{PcpuId, Record};
use domio_linux::{DiskRequest, DiskStep, Tid};

use super::super::class::Linux;
use super::super::requests::{Disks, DoneRequest, Extent, Piece, Request};
use super::super::threads::OF_KERNEL;
use super::LinuxRecords;

/// A thread whose own request is done is woken within this time, in nanoseconds: by the interrupt,
/// by a softirq, or by a thread that the kernel leaves the rest to.
const OWN_WITHIN: u64 = 1_000_000;

/// A thread of the group whose request is done is woken within this time, in nanoseconds, by the
/// cpu where it is done: as other causes of a wake-up are as likely, only the next thing that the
/// cpu does counts.
const GROUP_WITHIN: u64 = 100_000;

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
