//! The formats, and which of them a file has.

mod blkparse;
mod disksim;
mod events;
mod ftrace;
mod iolog;
mod line;
mod requests;
mod volumes;

pub use line::LineFormat;

use super::names::BlockNames;
use domio_core::Duration;

/// Formats of traces of block devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockFormat {
    /// What `blktrace` writes.
    Blktrace,
    /// What `blkparse` prints.
    Blkparse,
    /// What ftrace prints, of the tracer `blk` or of the events of `block`.
    Ftrace,
    /// CSV of events: `time_s,action,rwbs,sector,nsec,proc`.
    Events,
    /// fio's log of calls, version 2.
    FioIolog2,
    /// fio's log of calls, version 3.
    FioIolog3,
    /// MSR Cambridge.
    Msr,
    /// Storage Performance Council, as in UMass's repository.
    Spc,
    /// Alibaba 2020.
    Alibaba,
    /// Tencent CBS.
    Tencent,
    /// DiskSim's ASCII traces.
    DiskSim,
}

impl BlockFormat {
    /// All formats, in the order in which a file is tried.
    pub const ALL: [BlockFormat; 11] = [
        BlockFormat::Blktrace,
        BlockFormat::FioIolog2,
        BlockFormat::FioIolog3,
        BlockFormat::Events,
        BlockFormat::Blkparse,
        BlockFormat::Ftrace,
        BlockFormat::Msr,
        BlockFormat::Spc,
        BlockFormat::Alibaba,
        BlockFormat::Tencent,
        BlockFormat::DiskSim,
    ];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            BlockFormat::Blktrace => "blktrace",
            BlockFormat::Blkparse => "blkparse",
            BlockFormat::Ftrace => "ftrace",
            BlockFormat::Events => "events",
            BlockFormat::FioIolog2 => "iolog2",
            BlockFormat::FioIolog3 => "iolog3",
            BlockFormat::Msr => "msr",
            BlockFormat::Spc => "spc",
            BlockFormat::Alibaba => "alibaba",
            BlockFormat::Tencent => "tencent",
            BlockFormat::DiskSim => "disksim",
        }
    }

    /// The format with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        BlockFormat::ALL.into_iter().find(|f| f.name() == name)
    }

    /// Whether the format says whose each request is. Without, volumes stand for processes.
    pub const fn has_processes(self) -> bool {
        matches!(
            self,
            BlockFormat::Blktrace
                | BlockFormat::Blkparse
                | BlockFormat::Ftrace
                | BlockFormat::Events
        )
    }

    /// Whether one line can be all that is known about a request.
    pub const fn is_of_requests(self) -> bool {
        !self.has_processes()
    }

    /// Steps of the format's clock.
    pub const fn resolution(self) -> Duration {
        match self {
            BlockFormat::Blktrace | BlockFormat::Blkparse | BlockFormat::DiskSim => {
                Duration::from_nanos(1)
            }
            BlockFormat::Msr => Duration::from_nanos(100),
            BlockFormat::Tencent => Duration::from_secs(1),
            _ => Duration::from_micros(1),
        }
    }
}

/// The reader of lines of `format`; `None` for what has no lines.
pub fn lines_of(format: BlockFormat) -> Option<Box<dyn LineFormat + Send>> {
    Some(match format {
        BlockFormat::Blktrace => return None,
        BlockFormat::Blkparse => Box::new(blkparse::Blkparse),
        BlockFormat::Ftrace => Box::new(ftrace::Ftrace),
        BlockFormat::Events => Box::new(events::Events),
        BlockFormat::FioIolog2 => Box::new(iolog::Iolog::new(2)),
        BlockFormat::FioIolog3 => Box::new(iolog::Iolog::new(3)),
        BlockFormat::Msr => Box::new(volumes::Volumes::Msr),
        BlockFormat::Spc => Box::new(volumes::Volumes::Spc),
        BlockFormat::Alibaba => Box::new(volumes::Volumes::Alibaba),
        BlockFormat::Tencent => Box::new(volumes::Volumes::Tencent),
        BlockFormat::DiskSim => Box::new(disksim::DiskSim),
    })
}

/// Lines of a file that are looked at to recognise the format.
const LOOK: usize = 200;

/// The format of a file that begins with `head`, if that is a trace of a block device.
///
/// Most lines that say anything have to be of the format, so that a damaged line hides nothing and
/// a stray one proves nothing.
pub fn recognise(head: &[u8]) -> Option<BlockFormat> {
    if super::binary::is_begin(head) {
        return Some(BlockFormat::Blktrace);
    }
    if let Some(rest) = head.strip_prefix(b"fio version ") {
        return match rest.first() {
            Some(b'3') => Some(BlockFormat::FioIolog3),
            _ => Some(BlockFormat::FioIolog2),
        };
    }
    if head.contains(&0) {
        return None;
    }
    // The last line may be cut.
    let whole = match head.iter().rposition(|b| *b == b'\n') {
        Some(end) => &head[..end],
        None => head,
    };
    let logs = [BlockFormat::FioIolog2, BlockFormat::FioIolog3];
    let formats = BlockFormat::ALL.into_iter().filter(|f| !logs.contains(f));
    formats.into_iter().find(|format| {
        let Some(mut lines) = lines_of(*format) else {
            return false;
        };
        let (mut good, mut bad) = (0, 0);
        let mut names = BlockNames::default();
        for line in whole.split(|b| *b == b'\n').take(LOOK) {
            match lines.line(line, &mut names) {
                Ok(Some(_)) => good += 1,
                Ok(None) => {}
                Err(_) => bad += 1,
            }
        }
        good > bad
    })
}
