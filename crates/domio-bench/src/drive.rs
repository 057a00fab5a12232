//! A mechanical disk that is kept full, so that it chooses among as many commands as it holds.

use domio_blk::drive::disk::HITACHI_7K500;
use domio_blk::drive::{Command, Drive, DriveConfig, FinishedCommand};
use domio_blk::elevator::IoWay;
use domio_core::Instant;
use domio_sim::RandomStream;

/// Commands that wait beside the one that is chosen: all that NCQ has.
pub const FULL: u32 = 31;

/// Reads 4 KiB at random places, always `depth` at once (at most [`FULL`]), until `commands` are
/// over. Each of them was chosen among `depth`, by the time of the way to its first sector.
pub fn chosen(depth: u32, commands: u64) -> u64 {
    let mut drive = DriveConfig::Mechanical(HITACHI_7K500).build();
    let pages = drive.sectors() / 8;
    let mut random = RandomStream::new(1, 0, "bench/drive");
    let mut tag = 0;
    let mut start = |drive: &mut dyn Drive, now| {
        tag += 1;
        let sector = random.below(pages) * 8;
        drive.start(
            now,
            Command {
                tag,
                sector,
                sectors: 8,
                way: IoWay::Read,
            },
        );
    };
    for _ in 0..depth {
        start(&mut *drive, Instant::ZERO);
    }
    let mut over = 0;
    let mut done: Vec<FinishedCommand> = Vec::new();
    while over < commands {
        let now = drive.next().expect("commands are in the drive");
        drive.advance(now, &mut done);
        for finished in done.drain(..) {
            std::hint::black_box(finished);
            over += 1;
            start(&mut *drive, now);
        }
    }
    over
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_goes_on() {
        assert!(chosen(FULL, 1_000) >= 1_000);
    }
}
