//! Records of virtual disks: where each piece of I/O is, and what the drive did for each request.

use super::bio::Piece;
use crate::drive::ServiceTime;
use domio_core::figure::floor::{ANSWER_MS, ONE};
use domio_core::{
    Acts, Adds, Better, Class, ClassId, Declared, DomainId, Felt, Field, Figure, FigureKind,
    FigureOf, FigureTable, Hold, Place, Record, Says, Tally, Unit, VcpuName,
};
use domio_vmm::bus::Io;

/// A place on the way of a piece of I/O.
///
/// ```text
///  process ─▶ GuestQueue ─▶ Ring ─▶ HostQueue ─▶ Drive ─▶ Answering ─▶ Response ─▶ process
///                            │                               ▲
///   a disk that is a file    └─▶ Loop ─▶ Looping ────────────┘
///                                          │ ▲
///                                          ▼ │
///                   PageCache, or HostQueue and Drive for what is read
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum DiskPlace {
    /// Not submitted yet, or answered.
    Outside = 0,
    /// In the guest's request layer: waiting for a request, in the elevator, in the dispatch list.
    GuestQueue = 1,
    /// In the ring to the driver domain.
    Ring = 2,
    /// In the driver domain: with the back-end, or in the request layer of the disk.
    HostQueue = 3,
    /// In the drive, or finished and not taken from the drive.
    Drive = 4,
    /// In the driver domain, which makes the response.
    Answering = 5,
    /// In the ring to the guest.
    Response = 6,
    /// The loop thread sleeps with the piece, not for a read: too much is dirty in the driver
    /// domain's memory, the page is being written, the log is full or being committed, or the
    /// disk's queue has no free request for what the thread itself writes.
    PageCache = 7,
    /// With the loop device, whose thread has another piece of the disk.
    Loop = 8,
    /// The loop thread has the piece, and executes or would.
    Looping = 9,
}

/// The places, by number.
static PLACES: [Place; 10] = [
    Place::new("outside", Acts::Nobody, Hold::Nothing),
    Place::new("guest's queue", Acts::Guest, Hold::Order),
    Place::new("ring", Acts::Driver, Hold::Ring),
    Place::new("disk's queue", Acts::Driver, Hold::Order),
    Place::new("drive", Acts::Device, Hold::Nothing),
    Place::new("driver, back", Acts::Driver, Hold::Nothing).inwards(),
    Place::new("ring, back", Acts::Guest, Hold::Ring).inwards(),
    Place::new("page cache", Acts::Driver, Hold::Memory),
    Place::new("loop thread", Acts::Driver, Hold::Thread),
    Place::new("driver, loop", Acts::Driver, Hold::Nothing),
];

/// Number of a record, and the meaning of its words. The actor is vcpu 0 of the guest. Word 0 names
/// the piece of I/O: the lowest 24 bits of its number among those of its disk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum DiskRecord {
    /// A piece of I/O is submitted: bits 24 to 30 of word 0 = the disk, bit 31 = the piece writes;
    /// word 1 = sectors; words 2 and 3 = first sector of the guest's disk.
    Submitted = 0,
    /// A piece goes from one [`DiskPlace`] to another: bits 24 to 27 and 28 to 31 of word 0 = from
    /// and to; bits 0 to 23 of word 1 = actor of the driver domain; bits 24 to 31 = the disk of the
    /// host; words 2 and 3 = ns that the piece has been there.
    Moved = 1,
    /// A piece that reads is over: word 0 = bytes, words 2 and 3 = ns since it was submitted.
    Read = 2,
    /// The same of one that writes.
    Written = 3,
    /// The drive has finished a command for the guest: words 0 to 3 = us that the command waited in
    /// the drive, that the arm took, that the platter took, and the rest.
    Served = 4,
    /// The guest's request layer has found the ring full: as [`DiskRecord::Moved`], from bits 24 on
    /// the place.
    RingFull = 5,
    /// The drive has got a command: word 0 = commands in the drive, this one included; word 1 =
    /// sectors; words 2 and 3 = first sector.
    Started = 6,
    /// A loop thread goes to sleep without a read under way: word 0 = pages in the driver domain's
    /// memory that the guest has written to its files on the disk and that the disk does not have
    /// yet; word 1 as of [`DiskRecord::Moved`]. One for each guest whose number has changed.
    Fills = 7,
}

const PIECE: Field = Field::bits("piece", 0, 24, Unit::Number);
const DRIVER: Field = Field::bits("driver", 32, 24, Unit::Actor);
const DEVICE: Field = Field::bits(Field::DEVICE, 56, 8, Unit::Number);
const TIME: Field = Field::long("time", 2, Unit::Nanoseconds);
const BYTES: Field = Field::word("bytes", 0, Unit::Bytes);

const fn over(what: DiskRecord, name: &'static str, tallies: &'static [Tally]) -> Declared {
    Declared::new(what as u8, name, &[BYTES, TIME]).tallies(tallies)
}

/// Key of what a domain reads and writes.
pub const DISK_RATE: &str = "disk_mb_per_s";

const READS: FigureOf = FigureOf::Tally("vbd_read_time");
const WRITES: FigureOf = FigureOf::Tally("vbd_write_time");
const COMMANDS: FigureOf = FigureOf::Tally("vbd_commands");
const QUEUED: FigureOf = FigureOf::Tally("vbd_queued_us");
const SEEK: FigureOf = FigureOf::Tally("vbd_seek_us");
const ROTATION: FigureOf = FigureOf::Tally("vbd_rotation_us");
const TRANSFER: FigureOf = FigureOf::Tally("vbd_transfer_us");

const fn per_second(key: &'static str, title: &'static str, of: &'static [FigureOf]) -> Figure {
    Figure::new((key, title, "1/s"), FigureKind::PER_SECOND, of)
}

/// From the submission of pieces of I/O to their end. Programs wait for what they read, and for
/// what they write where the page cache is full or they ask for it.
const fn piece(
    key: &'static str,
    title: &'static str,
    kind: FigureKind,
    (of, felt): (&'static [FigureOf], Felt),
) -> Figure {
    let figure = Figure::new((key, title, "ms"), kind, of).over(1_000_000);
    figure.better(Better::Lower, felt)
}

/// A part of the time that a command spends in the drive.
const fn part(key: &'static str, title: &'static str, of: &'static [FigureOf]) -> Figure {
    Figure::new((key, title, "ms"), FigureKind::Ratio(COMMANDS), of).over(1_000)
}

const FELT_READ: (&[FigureOf], Felt) = (&[READS], Felt::Itself(ANSWER_MS));
const FELT_WRITE: (&[FigureOf], Felt) = (&[WRITES], Felt::Cause(ANSWER_MS));

/// What a domain's virtual disks did.
static FIGURES: FigureTable = FigureTable {
    title: "virtual disks",
    nearness: 2,
    figures: &[
        Figure::new(
            (DISK_RATE, "read and written", "MB/s"),
            FigureKind::PER_SECOND,
            &[
                FigureOf::Tally("vbd_read_bytes"),
                FigureOf::Tally("vbd_written_bytes"),
            ],
        )
        .over(1_000_000)
        .better(Better::Higher, Felt::Itself(ONE)),
        per_second("disk_ios_per_s", "pieces of I/O", &[READS, WRITES])
            .better(Better::Higher, Felt::Itself(ONE)),
        per_second("disk_reads_per_s", "reads", &[READS]).detail(),
        piece(
            "disk_read_mean_ms",
            "read, mean",
            FigureKind::Mean,
            FELT_READ,
        ),
        piece(
            "disk_read_p99_ms",
            "read, p99",
            FigureKind::Quantile(99),
            FELT_READ,
        ),
        per_second("disk_writes_per_s", "writes", &[WRITES]).detail(),
        piece(
            "disk_write_mean_ms",
            "write, mean",
            FigureKind::Mean,
            FELT_WRITE,
        ),
        piece(
            "disk_write_p99_ms",
            "write, p99",
            FigureKind::Quantile(99),
            FELT_WRITE,
        ),
        per_second("disk_commands_per_s", "commands", &[COMMANDS]),
        // How many commands of the domain the drives have, on average over the time.
        Figure::new(
            ("disk_in_drive", "in the drive", ""),
            FigureKind::PER_SECOND,
            &[QUEUED, SEEK, ROTATION, TRANSFER],
        )
        .over(1_000_000),
        // How many commands a drive has when a command comes, that one included.
        Figure::new(
            ("disk_depth", "depth found", ""),
            FigureKind::Ratio(COMMANDS),
            &[FigureOf::Tally("vbd_depth")],
        ),
        part("disk_queued_ms", "queued, mean", &[QUEUED]).detail(),
        part("disk_seek_ms", "seek, mean", &[SEEK])
            .only_some()
            .better(Better::Lower, Felt::Cause(ANSWER_MS)),
        part("disk_rotation_ms", "rotation, mean", &[ROTATION]).detail(),
        part("disk_transfer_ms", "transfer, mean", &[TRANSFER]).detail(),
    ],
};

/// The class of all virtual disks of a host.
pub static RECORDS: Class = Class::new(
    "disk",
    &[
        Declared::new(
            DiskRecord::Submitted as u8,
            "submitted",
            &[
                PIECE,
                Field::bits("disk", 24, 7, Unit::Number),
                Field::bits("writes", 31, 1, Unit::Flag),
                Field::word("sectors", 1, Unit::Number),
                Field::long("sector", 2, Unit::Number),
            ],
        ),
        Declared::new(
            DiskRecord::Moved as u8,
            "moved",
            &[
                PIECE,
                Field::bits("from", 24, 4, Unit::Place),
                Field::bits("to", 28, 4, Unit::Place),
                DRIVER,
                Field::long("ago", 2, Unit::Nanoseconds),
                DEVICE,
            ],
        )
        .says(Says::Moved {
            from: 1,
            to: 2,
            driver: 3,
            ago: 4,
        }),
        over(
            DiskRecord::Read,
            "read",
            &[
                Tally::new("vbd_read_bytes", Adds::Sum(0)),
                Tally::new("vbd_read_time", Adds::Sample(1)),
            ],
        ),
        over(
            DiskRecord::Written,
            "written",
            &[
                Tally::new("vbd_written_bytes", Adds::Sum(0)),
                Tally::new("vbd_write_time", Adds::Sample(1)),
            ],
        ),
        Declared::new(
            DiskRecord::Served as u8,
            "served",
            &[
                Field::word("queued", 0, Unit::Microseconds),
                Field::word("seek", 1, Unit::Microseconds),
                Field::word("rotation", 2, Unit::Microseconds),
                Field::word("transfer", 3, Unit::Microseconds),
            ],
        )
        .tallies(&[
            Tally::new("vbd_commands", Adds::One),
            Tally::new("vbd_queued_us", Adds::Sum(0)),
            Tally::new("vbd_seek_us", Adds::Sum(1)),
            Tally::new("vbd_rotation_us", Adds::Sum(2)),
            Tally::new("vbd_transfer_us", Adds::Sum(3)),
        ]),
        Declared::new(
            DiskRecord::RingFull as u8,
            "ring-full",
            &[
                PIECE,
                Field::bits("place", 24, 4, Unit::Place),
                DRIVER,
                DEVICE,
            ],
        )
        .says(Says::Full {
            place: 1,
            driver: 2,
        }),
        Declared::new(
            DiskRecord::Started as u8,
            "started",
            &[
                Field::word("depth", 0, Unit::Number),
                Field::word("sectors", 1, Unit::Number),
                Field::long("sector", 2, Unit::Number),
            ],
        )
        .tallies(&[Tally::new("vbd_depth", Adds::Sum(0))]),
        Declared::new(
            DiskRecord::Fills as u8,
            "fills",
            &[Field::word("pages", 0, Unit::Number), DRIVER, DEVICE],
        )
        .says(Says::Fills {
            amount: 0,
            driver: 1,
        }),
    ],
)
.with_places("pieces of I/O", &PLACES)
.with_tables(&[&FIGURES]);

/// Whose records, and the number of their class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub guest: DomainId,
    /// The vcpu or thread that serves the disk.
    pub driver: VcpuName,
    pub class: ClassId,
    /// Number of the disk of the host.
    pub device: u8,
}

impl Ends {
    fn tell(self, io: &mut Io<'_>, what: DiskRecord, words: [u32; 4]) {
        let actor = io.actor(VcpuName::new(self.guest, 0));
        let (class, number) = (self.class, what as u8);
        io.record(Record::of(io.now, io.on, (class, number), actor, words));
    }

    /// The driver domain and the disk of the host, in a word.
    fn behind(self, io: &mut Io<'_>) -> u32 {
        let driver = io.actor(self.driver).0;
        assert!(driver < 1 << 24, "an actor has 24 bits");
        driver | u32::from(self.device) << 24
    }

    /// `piece` of disk `disk` is submitted.
    pub fn submitted(self, io: &mut Io<'_>, disk: usize, piece: &Piece) {
        if io.stages() {
            let writes = u32::from(piece.writes) << 31;
            let word = piece.number & 0x00ff_ffff | (disk as u32 & 0x7f) << 24 | writes;
            let sector = [piece.sector as u32, (piece.sector >> 32) as u32];
            let words = [word, piece.sectors, sector[0], sector[1]];
            self.tell(io, DiskRecord::Submitted, words);
        }
    }

    /// `piece` goes from one place to another.
    pub fn moved(self, io: &mut Io<'_>, piece: &Piece, from: DiskPlace, to: DiskPlace) {
        if io.stages() {
            let places = from as u32 | (to as u32) << 4;
            let words = [
                piece.number & 0x00ff_ffff | places << 24,
                self.behind(io),
                0,
                0,
            ];
            self.tell(io, DiskRecord::Moved, words);
        }
    }

    /// The guest has so many `pages` in the driver domain's memory that its disk does not have.
    pub fn fills(self, io: &mut Io<'_>, pages: u32) {
        let words = [pages, self.behind(io), 0, 0];
        self.tell(io, DiskRecord::Fills, words);
    }

    /// `piece` finds the ring full.
    pub fn ring_full(self, io: &mut Io<'_>, piece: &Piece) {
        if io.stages() {
            let place = DiskPlace::GuestQueue as u32;
            let words = [
                piece.number & 0x00ff_ffff | place << 24,
                self.behind(io),
                0,
                0,
            ];
            self.tell(io, DiskRecord::RingFull, words);
        }
    }

    /// `piece` is over.
    pub fn over(self, io: &mut Io<'_>, piece: &Piece) {
        let what = match piece.writes {
            true => DiskRecord::Written,
            false => DiskRecord::Read,
        };
        let ns = io.now.saturating_since(piece.since).as_nanos();
        let words = [piece.sectors * 512, 0, ns as u32, (ns >> 32) as u32];
        self.tell(io, what, words);
    }

    /// The drive gets a command, and has `depth` then.
    pub fn started(self, io: &mut Io<'_>, depth: u32, (sector, sectors): (u64, u32)) {
        let words = [depth, sectors, sector as u32, (sector >> 32) as u32];
        self.tell(io, DiskRecord::Started, words);
    }

    /// The drive has finished a command.
    pub fn served(self, io: &mut Io<'_>, spent: &ServiceTime) {
        let parts = [spent.queued, spent.seek, spent.rotation, spent.transfer];
        let words = parts.map(|part| (part.as_nanos() / 1_000).min(u64::from(u32::MAX)) as u32);
        self.tell(io, DiskRecord::Served, words);
    }
}
