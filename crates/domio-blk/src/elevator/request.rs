//! Bios and requests: what is asked for, what a device is told, and where each is kept.
//!
//! Requests and the bios in them live in slabs; lists run through the slabs by index. Once a queue
//! has been as full as it gets, nothing is allocated any more.

use super::list::Links;
use alloc::vec::Vec;

/// Ticks of the kernel's clock. All times of elevators and of the request layer are whole ticks.
pub type Jiffies = i64;

/// Which way data goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IoWay {
    /// From the device.
    Read,
    /// To the device.
    Write,
}

impl IoWay {
    /// Place in arrays by direction: reads first.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Who submits: a process or kernel thread, with an I/O context of its own. Numbers are small, as
/// tables are indexed by them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Submitter(pub u32);

impl Submitter {
    /// Place in tables.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// I/O class of a process and level in this class (`ioprio_set`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IoPrio {
    /// No class was set; the level follows from the nice value, -20 to 19.
    None {
        /// Nice value.
        nice: i8,
    },
    /// Real time, level 0 (highest) to 7.
    RealTime(u8),
    /// Best effort, level 0 (highest) to 7.
    BestEffort(u8),
    /// Served when nobody else wants the disk.
    Idle,
}

impl IoPrio {
    /// Whether class and level were set alike; a nice value sets neither.
    pub fn is_set_as(self, other: IoPrio) -> bool {
        matches!((self, other), (IoPrio::None { .. }, IoPrio::None { .. })) || self == other
    }
}

/// One contiguous piece of I/O, as a process hands it to the request layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bio {
    /// First sector (512 bytes).
    pub sector: u64,
    /// Number of sectors, at least 1.
    pub sectors: u32,
    /// Segments of memory, none of which joins one of another bio.
    pub segments: u32,
    /// Direction.
    pub way: IoWay,
    /// The sync flag (`BIO_RW_SYNC`): of writes past the page cache.
    pub sync: bool,
    /// Metadata of a file system.
    pub meta: bool,
    /// Who submits.
    pub submitter: Submitter,
    /// Class and level of the submitter.
    pub prio: IoPrio,
    /// The caller's name for this bio.
    pub tag: u64,
}

impl Bio {
    /// First sector behind this bio.
    pub const fn end(&self) -> u64 {
        self.sector + self.sectors as u64
    }

    /// Whether elevators regard this bio as synchronous: reads are, and writes with the flag.
    pub const fn is_sync(&self) -> bool {
        matches!(self.way, IoWay::Read) || self.sync
    }
}

/// A request's place in the slab.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestId(pub(super) u32);

impl RequestId {
    /// Place in the caller's tables; a place is used again once its request is released.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One or several contiguous bios of one direction.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// First sector.
    pub sector: u64,
    /// Number of sectors.
    pub sectors: u32,
    /// Segments of memory.
    pub segments: u32,
    /// Direction.
    pub way: IoWay,
    /// The sync flag of the bio that this request was made for.
    pub sync: bool,
    /// The metadata flag of that bio.
    pub meta: bool,
    /// Who submitted that bio.
    pub submitter: Submitter,
    /// Class and level of the submitter.
    pub prio: IoPrio,
    /// When this request was made, or the oldest that was merged into this one.
    pub start: Jiffies,
    /// The same in nanoseconds, for elevators that measure: when this request was made.
    pub start_ns: i64,
    /// When the driver took this request (ns).
    pub issue_ns: i64,
    /// A limit passed once: nothing is merged into this request any more.
    pub no_merge: bool,
    /// The driver has seen this request.
    pub started: bool,
    /// When an elevator with deadlines wants this request served.
    pub expires: Jiffies,
    /// The elevator's own word: CFQ keeps the number of the request's queue here.
    pub private: u32,
    /// Sector under which [`super::sorted::Sorted`] holds this request.
    pub(super) key: u64,
    /// Bucket of the table by end that holds this request.
    pub(super) bucket: u8,
    first_bio: u32,
    last_bio: u32,
}

impl Request {
    /// First sector behind this request.
    pub const fn end(&self) -> u64 {
        self.sector + self.sectors as u64
    }

    /// Whether elevators regard this request as synchronous.
    pub const fn is_sync(&self) -> bool {
        matches!(self.way, IoWay::Read) || self.sync
    }

    /// The bio that would ask for the same.
    pub const fn as_bio(&self) -> Bio {
        Bio {
            sector: self.sector,
            sectors: self.sectors,
            segments: self.segments,
            way: self.way,
            sync: self.sync,
            meta: self.meta,
            submitter: self.submitter,
            prio: self.prio,
            tag: 0,
        }
    }

    /// Whether something may still be merged into this request.
    pub const fn is_mergeable(&self) -> bool {
        !self.no_merge && !self.started
    }
}

/// No bio.
const END: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Piece {
    tag: u64,
    next: u32,
}

/// All requests of a queue.
#[derive(Default)]
pub struct Requests {
    slots: Vec<Request>,
    free: Vec<RequestId>,
    pieces: Vec<Piece>,
    free_pieces: Vec<u32>,
    /// Links of the one list that a request is in: a FIFO of the elevator, or the dispatch list.
    pub queue: Links,
    /// Links of the table of requests by their end.
    pub(super) hash: Links,
}

impl Requests {
    /// A new request for `bio`.
    pub fn make(&mut self, bio: &Bio, now: Jiffies) -> RequestId {
        let piece = self.piece(bio.tag);
        let request = Request {
            sector: bio.sector,
            sectors: bio.sectors,
            segments: bio.segments,
            way: bio.way,
            sync: bio.sync,
            meta: bio.meta,
            submitter: bio.submitter,
            prio: bio.prio,
            start: now,
            start_ns: 0,
            issue_ns: 0,
            no_merge: false,
            started: false,
            expires: 0,
            private: 0,
            key: 0,
            bucket: 0,
            first_bio: piece,
            last_bio: piece,
        };
        if let Some(id) = self.free.pop() {
            self.slots[id.index()] = request;
            return id;
        }
        let id = RequestId(self.slots.len() as u32);
        self.slots.push(request);
        self.queue.grow();
        self.hash.grow();
        id
    }

    /// Gives the places of a request and of its bios back.
    pub fn release(&mut self, id: RequestId) {
        assert!(!self.queue.is_linked(id), "{id:?} is released in a list");
        let mut piece = self[id].first_bio;
        while piece != END {
            self.free_pieces.push(piece);
            piece = self.pieces[piece as usize].next;
        }
        self[id].first_bio = END;
        self.free.push(id);
    }

    /// Appends `bio`, which starts where the request ends.
    pub fn append(&mut self, id: RequestId, bio: &Bio) {
        let piece = self.piece(bio.tag);
        let last = self[id].last_bio;
        self.pieces[last as usize].next = piece;
        let rq = &mut self[id];
        rq.last_bio = piece;
        rq.sectors += bio.sectors;
        rq.segments += bio.segments;
    }

    /// Puts `bio`, which ends where the request starts, in front.
    pub fn prepend(&mut self, id: RequestId, bio: &Bio) {
        let piece = self.piece(bio.tag);
        self.pieces[piece as usize].next = self[id].first_bio;
        let rq = &mut self[id];
        rq.first_bio = piece;
        rq.sector = bio.sector;
        rq.sectors += bio.sectors;
        rq.segments += bio.segments;
    }

    /// Moves all bios of `next`, which starts where `id` ends, to the end of `id`; the earlier
    /// start counts. `next` is left without bios.
    pub fn absorb(&mut self, id: RequestId, next: RequestId) {
        let other = self[next];
        let last = self[id].last_bio;
        self.pieces[last as usize].next = other.first_bio;
        self[next].first_bio = END;
        let rq = &mut self[id];
        rq.last_bio = other.last_bio;
        rq.sectors += other.sectors;
        rq.segments += other.segments;
        rq.start = rq.start.min(other.start);
    }

    /// The callers' names of the bios in a request, by sector.
    pub fn tags(&self, id: RequestId) -> impl Iterator<Item = u64> + '_ {
        let mut at = self[id].first_bio;
        core::iter::from_fn(move || {
            let piece = self.pieces.get(at as usize)?;
            at = piece.next;
            Some(piece.tag)
        })
    }

    fn piece(&mut self, tag: u64) -> u32 {
        let piece = Piece { tag, next: END };
        if let Some(at) = self.free_pieces.pop() {
            self.pieces[at as usize] = piece;
            return at;
        }
        self.pieces.push(piece);
        self.pieces.len() as u32 - 1
    }
}

impl core::ops::Index<RequestId> for Requests {
    type Output = Request;

    fn index(&self, id: RequestId) -> &Request {
        &self.slots[id.index()]
    }
}

impl core::ops::IndexMut<RequestId> for Requests {
    fn index_mut(&mut self, id: RequestId) -> &mut Request {
        &mut self.slots[id.index()]
    }
}
