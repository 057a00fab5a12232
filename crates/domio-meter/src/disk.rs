//! What a trace tells of a domain's virtual disks: the figures of that name.

use crate::figures::{DomainFigure, Figures};
use crate::{DomainSummary, Quantiles};

const READ_BYTES: &str = "vbd_read_bytes";
const READ_TIME: &str = "vbd_read_time";
const WRITTEN_BYTES: &str = "vbd_written_bytes";
const WRITE_TIME: &str = "vbd_write_time";
const COMMANDS: &str = "vbd_commands";
/// Commands in the drive when each command came, that one included.
const DEPTH: &str = "vbd_depth";
const PARTS: [&str; 4] = [
    "vbd_queued_us",
    "vbd_seek_us",
    "vbd_rotation_us",
    "vbd_transfer_us",
];

/// What the virtual disks of a domain did.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct DiskSummary {
    /// Bytes of the pieces of I/O that read.
    pub read_bytes: u64,
    /// Bytes of those that write.
    pub written_bytes: u64,
    /// Pieces that read, from their submission to their end.
    pub reads: Quantiles,
    /// Pieces that write.
    pub writes: Quantiles,
    /// Commands that the drives have finished for the domain.
    pub commands: u64,
    /// Sum over commands of how many the drive had when each came, that one included.
    pub depths: u64,
    /// Microseconds that these waited in the drives while others were served.
    pub queued_us: u64,
    /// Microseconds of arms that moved.
    pub seek_us: u64,
    /// Microseconds of platters that turned.
    pub rotation_us: u64,
    /// Microseconds of everything else in the drives.
    pub transfer_us: u64,
}

impl DiskSummary {
    /// Time that all commands spent in drives (us). Divided by the measured time this is how many
    /// commands of the domain a drive had on average.
    pub fn in_drives_us(&self) -> u64 {
        let parts = [self.queued_us, self.seek_us, self.rotation_us];
        parts
            .iter()
            .fold(self.transfer_us, |sum, part| sum.saturating_add(*part))
    }
}

impl DomainSummary {
    /// What its virtual disks did, where the trace tells.
    pub fn disk(&self) -> Option<DiskSummary> {
        let figures = &self.figures[..];
        let [queued_us, seek_us, rotation_us, transfer_us] = PARTS.map(|part| figures.sum(part));
        figures.iter().any(is_disk).then(|| DiskSummary {
            read_bytes: figures.sum(READ_BYTES),
            written_bytes: figures.sum(WRITTEN_BYTES),
            reads: figures.samples(READ_TIME),
            writes: figures.samples(WRITE_TIME),
            commands: figures.sum(COMMANDS),
            depths: figures.sum(DEPTH),
            queued_us,
            seek_us,
            rotation_us,
            transfer_us,
        })
    }
}

/// Whether a [`DiskSummary`] has the figure.
pub(crate) fn is_disk(figure: &DomainFigure) -> bool {
    let sums = [
        READ_BYTES,
        READ_TIME,
        WRITTEN_BYTES,
        WRITE_TIME,
        COMMANDS,
        DEPTH,
    ];
    sums.contains(&figure.name) || PARTS.contains(&figure.name)
}
