//! Guests that come later and go in the middle of their I/O.

use super::site::*;
use crate::site::{KIB, MIB, at, domain, machine, us};
use domio_blk::split::BackKind;
use domio_vmm::Profile;
use domio_vmm::process::programs::CopyDirection::{Read, Write};

/// A guest that is destroyed leaves nothing behind that others wait for, and one that comes later
/// has its disk.
#[test]
fn others_go_on_when_a_guest_is_gone() {
    for back in [
        BackKind::Phy,
        BackKind::TapAio,
        BackKind::Hosted { threads: 2 },
    ] {
        let drive = fixed(us(500));
        let mut gone = domain(1, 1);
        for _ in 0..3 {
            gone = runs(gone, copy(0, Write, 4 * MIB, 100 * MIB));
        }
        gone.stop = Some(at(100));
        let stays = runs(domain(2, 1), copy(1, Read, 16 * KIB, 2 * MIB));
        let mut comes = runs(domain(3, 1), copy(2, Read, MIB, 4 * MIB));
        comes.start = at(150);
        let host = machine(3, Profile::OPTERON_242, domains([gone, stays, comes]));
        let mut config = disks(&drive, &[1, 2, 3], ["cfq", "deadline"], back);
        config.pool.entries = 20;
        let mut simulation = simulation(&host, &config);
        run(&mut simulation, 3_000);
        let (read, written) = moved(&drive.seen);
        assert_eq!(read, 6 * MIB, "{back:?}");
        assert!(written > 0 && written < 300 * MIB, "{back:?}: {written}");
        assert_eq!(passed(&simulation, 2).requests_written, 0);
        let all = passed(&simulation, 2).requests_read;
        assert!(all >= 2 * MIB / (44 * KIB), "{all}");
    }
}
