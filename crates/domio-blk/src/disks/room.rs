//! Whether the files of a domain's workloads fit on its disks.

use super::jobs::room_for;
use super::programs::DiskWork;
use super::table::{Disk, DomainDisks};
use crate::split::keys::VbdAsked;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use domio_core::keys::{Checker, Code, Mistake};

/// Reports disks of `domain` on which a file system, or the files of the workloads, have no room.
pub(super) fn fit(cx: &mut dyn Checker, domain: &DomainDisks) {
    let disks = &domain.disks;
    for place in 0..disks.len() {
        let Some(room) = disks[place].part.vbd().and_then(VbdAsked::room) else {
            continue;
        };
        let works = domain.tasks.iter().map(|task| task.work::<DiskWork>());
        let works: Vec<&DiskWork> = works
            .filter(|work| work.needs_files() && work.place_among(disks) == Some(place))
            .collect();
        let own = &disks[place];
        let Some(room) = room else {
            cx.tell(no_file_system(own, works.first().copied()));
            continue;
        };
        let files: Vec<_> = works.iter().flat_map(|work| work.files()).collect();
        let wanted = room_for(&files);
        let (found, has, what) = if wanted.bytes > room.bytes {
            (wanted.bytes, room.bytes, "bytes")
        } else if wanted.files > room.files {
            (wanted.files, room.files, "inodes")
        } else {
            continue;
        };
        let blamed = works
            .iter()
            .max_by_key(|work| room_for(&work.files()).bytes);
        let span = blamed.map_or(own.span, |work| work.span);
        cx.tell(
            Mistake::new(
                Code::Limit,
                span,
                format!("the files need {found} {what}, and the disk has {has} for files"),
            )
            .key(&own.size_key)
            .found(found.to_string())
            .expected(format!("{has} {what} of files at most"))
            .related(own.span, "the disk")
            .hint("make `size` of the disk larger, or the files fewer or smaller"),
        );
    }
}

/// The disk has no room for a file system.
fn no_file_system(disk: &Disk, work: Option<&DiskWork>) -> Mistake {
    let span = work.map_or(disk.span, |work| work.span);
    Mistake::new(
        Code::Limit,
        span,
        format!(
            "a disk of {} bytes has no room for a file system",
            disk.bytes
        ),
    )
    .key(&disk.size_key)
    .found(disk.bytes.to_string())
    .expected("256 MiB and the journal in whole groups of 128 MiB; 16 TiB at most")
    .related(disk.span, "the disk")
    .hint("make `size` of the disk larger, or `journal` of its file system smaller")
}
