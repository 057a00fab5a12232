//! Whether the files of a domain's workloads fit on its disks.

use super::disk::{self, Disk};
use super::resolved::Domain;
use super::work::DiskWork;
use crate::check::Cx;
use crate::jobs::room_for;
use crate::problem::{Code, Problem};

/// Tells of disks of `domain` on which a file system, or the files of the workloads, have no room.
pub(super) fn fit(cx: &mut Cx<'_>, domain: &mut Domain) {
    for place in 0..domain.disks.len() {
        let Some(room) = domain.disks[place]
            .part
            .vbd()
            .and_then(|asked| asked.room())
        else {
            continue;
        };
        let disks = &domain.disks;
        let works = domain.copies.iter().map(|(_, work)| work);
        let works: Vec<&DiskWork> = works
            .filter(|work| work.needs_files() && disk::place_of(disks, work) == Some(place))
            .collect();
        let own = &disks[place];
        let Some(room) = room else {
            cx.push(no_file_system(own, works.first().copied()));
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
        cx.push(
            Problem::new(
                Code::Limit,
                span,
                format!("the files need {found} {what}, and the disk has {has} for files"),
            )
            .key(own.on_key.replace(".on", ".size"))
            .found(found.to_string())
            .expected(format!("{has} {what} of files at most"))
            .related(own.span, "the disk")
            .hint("make `size` of the disk larger, or the files fewer or smaller"),
        );
    }
}

/// The disk has no room for a file system.
fn no_file_system(disk: &Disk, work: Option<&DiskWork>) -> Problem {
    let span = work.map_or(disk.span, |work| work.span);
    Problem::new(
        Code::Limit,
        span,
        format!(
            "a disk of {} bytes has no room for a file system",
            disk.bytes
        ),
    )
    .key(disk.on_key.replace(".on", ".size"))
    .found(disk.bytes.to_string())
    .expected("256 MiB and the journal in whole groups of 128 MiB; 16 TiB at most")
    .related(disk.span, "the disk")
    .hint("make `size` of the disk larger, or `journal` of its file system smaller")
}
