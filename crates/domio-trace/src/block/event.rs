//! What a trace of a block device tells.

use domio_core::{Duration, Instant};

/// Bytes of a sector.
pub const SECTOR: u64 = 512;

/// Which way the data of a request goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockWay {
    /// From the device.
    Read,
    /// To the device.
    Write,
    /// Nowhere: blocks are given back.
    Discard,
    /// Nowhere: a flush of the device's cache, or nothing that is told.
    None,
}

/// What happened to a request, with the letter that `blkparse` has for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockAct {
    /// Q: it was handed to the request layer.
    Queue,
    /// G: it got a request of its own.
    GetRequest,
    /// S: who submits sleeps for want of a request.
    Sleep,
    /// M: it was merged behind a request.
    BackMerge,
    /// F: it was merged in front of a request.
    FrontMerge,
    /// I: the elevator got the request.
    Insert,
    /// D: the driver took the request.
    Issue,
    /// R: the driver gave the request back unfinished.
    Requeue,
    /// C: the device has finished.
    Complete,
    /// P: the queue holds requests back.
    Plug,
    /// U and T: the queue lets them go.
    Unplug,
    /// A: it goes to another device.
    Remap,
    /// X: it was cut in two.
    Split,
    /// Anything else.
    Other,
}

impl BlockAct {
    /// Of the letter of `blkparse`.
    pub fn of_letter(letter: u8) -> Option<Self> {
        Some(match letter {
            b'Q' => BlockAct::Queue,
            b'G' => BlockAct::GetRequest,
            b'S' => BlockAct::Sleep,
            b'M' => BlockAct::BackMerge,
            b'F' => BlockAct::FrontMerge,
            b'I' => BlockAct::Insert,
            b'D' => BlockAct::Issue,
            b'R' => BlockAct::Requeue,
            b'C' => BlockAct::Complete,
            b'P' => BlockAct::Plug,
            b'U' | b'T' => BlockAct::Unplug,
            b'A' => BlockAct::Remap,
            b'X' => BlockAct::Split,
            b'B' | b'm' => BlockAct::Other,
            _ => return None,
        })
    }

    /// The letter of `blkparse`.
    pub const fn letter(self) -> char {
        match self {
            BlockAct::Queue => 'Q',
            BlockAct::GetRequest => 'G',
            BlockAct::Sleep => 'S',
            BlockAct::BackMerge => 'M',
            BlockAct::FrontMerge => 'F',
            BlockAct::Insert => 'I',
            BlockAct::Issue => 'D',
            BlockAct::Requeue => 'R',
            BlockAct::Complete => 'C',
            BlockAct::Plug => 'P',
            BlockAct::Unplug => 'U',
            BlockAct::Remap => 'A',
            BlockAct::Split => 'X',
            BlockAct::Other => 'm',
        }
    }
}

/// Marks of a request.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct BlockFlags {
    /// Somebody waits for it, as the trace says.
    pub sync: bool,
    /// Metadata of a file system.
    pub meta: bool,
    /// Read ahead: nobody waits for it yet.
    pub ahead: bool,
}

impl BlockFlags {
    /// Of the letters that `blkparse` calls rwbs, as `WSM`, and the way.
    pub fn of_rwbs(rwbs: &[u8]) -> Option<(BlockWay, Self)> {
        let mut flags = BlockFlags::default();
        let mut way = BlockWay::None;
        for letter in rwbs {
            match letter {
                b'R' => way = BlockWay::Read,
                b'W' => way = BlockWay::Write,
                b'D' => way = BlockWay::Discard,
                b'S' => flags.sync = true,
                b'M' => flags.meta = true,
                b'A' => flags.ahead = true,
                b'N' | b'F' | b'E' | b'B' | b'U' => {}
                _ => return None,
            }
        }
        Some((way, flags)).filter(|_| !rwbs.is_empty())
    }

    /// The letters of `blkparse`.
    pub fn rwbs(self, way: BlockWay) -> String {
        let way = match way {
            BlockWay::Read => "R",
            BlockWay::Write => "W",
            BlockWay::Discard => "D",
            BlockWay::None => "N",
        };
        let marks = [(self.ahead, "A"), (self.sync, "S"), (self.meta, "M")];
        let marks = marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark);
        std::iter::once(way).chain(marks).collect()
    }
}

/// Something that happened to a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockEvent {
    /// When, since the first event of the trace. Never before the event before.
    pub at: Instant,
    /// What.
    pub act: BlockAct,
    /// Which way the data goes.
    pub way: BlockWay,
    /// Marks.
    pub flags: BlockFlags,
    /// Whose: index into [`BlockNames::actors`](super::BlockNames::actors), a process, or a volume
    /// where the trace has no processes.
    pub who: u32,
    /// Which device, volume or file: index into
    /// [`BlockNames::devices`](super::BlockNames::devices).
    pub device: u32,
    /// First sector.
    pub sector: u64,
    /// Number of sectors; 0 where there is no data.
    pub sectors: u32,
    /// Until it was finished, where a single line says both.
    pub response: Option<Duration>,
}

impl BlockEvent {
    /// First sector behind the request.
    pub const fn end(&self) -> u64 {
        self.sector.saturating_add(self.sectors as u64)
    }

    /// Bytes of the request.
    pub const fn bytes(&self) -> u64 {
        self.sectors as u64 * SECTOR
    }

    /// Sectors that hold `bytes` bytes from byte `offset` on: the first, and how many; `None` for
    /// more than a request can have.
    pub(super) fn sectors_of(offset: u64, bytes: u64) -> Option<(u64, u32)> {
        let first = offset / SECTOR;
        let end = offset.checked_add(bytes)?.div_ceil(SECTOR);
        Some((first, u32::try_from(end - first).ok()?))
    }
}

/// What the time of a command in a device went to. No recording has this; a replay tells it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DeviceTime {
    /// Waiting while other commands were served.
    pub queued: Duration,
    /// Moving the arm, changing heads, settling.
    pub seek: Duration,
    /// Waiting for the platter to turn.
    pub rotation: Duration,
    /// Everything else.
    pub transfer: Duration,
    /// Whether the device's cache had the data, or room for the data.
    pub cached: bool,
}
