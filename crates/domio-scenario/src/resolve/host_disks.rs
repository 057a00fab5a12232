//! `[[disk]]`, `[guests]` and `[blkback]`: the disks of the host, and the place of each virtual
//! disk on one of them.

use super::disk::{self, Disk};
use super::files_room as files;
use super::resolved::{Domain, Resolved};
use super::shared::InTable;
use super::work::DiskProgram;
use crate::check::{self, Cx, Fields};
use crate::problem::{Code, Problem, list, quote};
use crate::source::Span;
use crate::suggest::did_you_mean;
use domio_blk::fs::room::taken_by;
use domio_blk::split::keys::{
    BLKBACK, GUESTS, HOST_DISK, HostDisk, VbdPlace, guests, host_disk, pool,
};
use domio_blk::split::{LayerConfig, PendingPool};
use domio_core::keys::{KeySection, Nested, Slot};
use domio_vmm::process::programs::CopyDirection;
use std::collections::BTreeMap;

/// What virtual disks need to know of the host.
pub(super) struct HostDisks {
    /// The disks of the text, in order; none for one that something is wrong with.
    disks: Vec<Option<HostDisk>>,
    /// Their names, and where each stands.
    names: Vec<(String, Span)>,
    guests: Option<LayerConfig>,
    pub pool: PendingPool,
}

/// The disks that `top` has at `disks`, and what it says of guests and of blkback.
pub(super) fn host_disks(
    cx: &mut Cx<'_>,
    top: &Fields<'_>,
    [disk, of_guests, blkback]: [&Slot<Nested>; 3],
) -> HostDisks {
    let mut all = HostDisks {
        disks: Vec::new(),
        names: Vec::new(),
        guests: None,
        pool: PendingPool::XEN,
    };
    for (node, table, path) in top.tables(disk) {
        let own = check::table(cx, table, node.span, &HOST_DISK, &path, None);
        let name = table.get("name");
        let span = name.map_or(own.header, |entry| entry.node.span);
        let name = name.and_then(|entry| entry.node.as_text()).unwrap_or("sda");
        if let Some((_, first)) = all.names.iter().find(|(other, _)| other == name) {
            let problem = Problem::new(
                Code::Duplicate,
                span,
                format!("there are two disks `{}`", quote(name)),
            );
            cx.push(
                problem
                    .key(format!("{path}.name"))
                    .found(quote(name))
                    .expected("a unique name")
                    .related(*first, "the first one")
                    .hint("give one of the two another name"),
            );
        }
        all.names.push((name.to_owned(), span));
        let disk = own.variant.is_some().then_some(());
        let disk = disk.and_then(|()| host_disk(&mut InTable { cx, fields: &own }));
        all.disks.push(disk);
    }
    let own = table(cx, top, of_guests, &GUESTS);
    all.guests = guests(&mut InTable { cx, fields: &own });
    let own = table(cx, top, blkback, &BLKBACK);
    all.pool = pool(&own).unwrap_or(PendingPool::XEN);
    all
}

/// The fields of the table at `slot`, or of an empty one.
fn table<'t>(
    cx: &mut Cx<'_>,
    top: &Fields<'t>,
    slot: &Slot<Nested>,
    section: &'static KeySection,
) -> Fields<'t> {
    match top.tables(slot).into_iter().next() {
        Some((node, table, path)) => check::table(cx, table, node.span, section, &path, None),
        None => check::absent(section, slot.name, top.header),
    }
}

impl HostDisks {
    /// The disks that nothing is wrong with. Those of a scenario without mistakes are all of them.
    pub fn good(&self) -> Vec<HostDisk> {
        self.disks.iter().flatten().cloned().collect()
    }

    /// Gives each virtual disk of the host its place.
    pub fn place(&self, cx: &mut Cx<'_>, resolved: &mut Resolved) {
        // The first free sector of each disk, and the domain whose guests use the disk.
        let mut free = vec![0; self.disks.len()];
        // The first sector behind all parts of each disk, and the bytes of files behind them.
        let mut behind = vec![0; self.disks.len()];
        let mut images = vec![0; self.disks.len()];
        let mut backends: BTreeMap<usize, (Option<String>, Span)> = BTreeMap::new();
        for domain in &mut resolved.domains {
            need_files(cx, domain);
            files::fit(cx, domain);
        }
        let domains = resolved.domains.iter_mut();
        for disk in domains.flat_map(|domain| &mut domain.disks) {
            if disk.part.vbd().is_none() {
                continue;
            }
            let Some(place) = self.host_disk_of(cx, disk) else {
                continue;
            };
            let backend = disk.backend.as_ref().map(|(name, _)| name.clone());
            let (known, first) = backends
                .entry(place)
                .or_insert((backend.clone(), disk.span));
            if *known != backend {
                cx.push(two_drivers(disk, &self.names[place].0, *first));
            }
            self.put(cx, disk, place, &mut free[place]);
            behind[place] = free[place].max(behind[place]);
        }
        let domains = resolved.domains.iter_mut();
        for disk in domains.flat_map(|domain| &mut domain.disks) {
            if disk
                .part
                .vbd()
                .is_some_and(|asked| asked.is_file() && asked.is_placed())
                && let Some(place) = self.host_disk_of(cx, disk)
            {
                self.image_fits(cx, disk, place, (behind[place], &mut images[place]));
            }
        }
    }

    /// Tells if `disk`, a file of the driver domain on the host's disk number `place`, has no room
    /// there: behind the sector `behind`, beside files of so many bytes.
    fn image_fits(
        &self,
        cx: &mut Cx<'_>,
        disk: &Disk,
        place: usize,
        (behind, images): (u64, &mut u64),
    ) {
        let Some(host) = &self.disks[place] else {
            return;
        };
        let room = host.files_behind(behind).config.room();
        let left = room.map_or(0, |room| room.bytes.saturating_sub(*images));
        let wanted = taken_by(disk.bytes);
        *images = images.saturating_add(wanted);
        if wanted > left {
            let name = &self.names[place].0;
            let problem = Problem::new(
                Code::Limit,
                disk.span,
                format!(
                    "the file needs {wanted} bytes, and the driver domain's file system on {name} \
                     has {left} left"
                ),
            );
            cx.push(
                problem
                    .key(disk.on_key.replace(".on", ".size"))
                    .found(disk.bytes.to_string())
                    .expected(format!(
                        "{left} at most, with the blocks that lead to the data"
                    ))
                    .related(self.names[place].1, "the disk of the host")
                    .hint(
                        "`size` of [[disk]] says how large a disk is; parts that are no files take \
                         from it",
                    ),
            );
        }
    }

    /// The place of `disk` on the host's disk number `place`, whose first free sector is `free`.
    fn put(&self, cx: &mut Cx<'_>, disk: &mut Disk, place: usize, free: &mut u64) {
        let (Some(host), Some(guests)) = (&self.disks[place], &self.guests) else {
            return;
        };
        let (span, key) = (disk.span, disk.on_key.clone());
        let Some(asked) = disk.part.vbd() else { return };
        if asked.is_file() {
            asked.place(VbdPlace {
                disk: place,
                start: 0,
                guests: guests.clone(),
            });
            return;
        }
        let start = asked.start().unwrap_or(*free);
        let end = start.saturating_add(asked.sectors());
        if end > host.sectors {
            let name = &self.names[place].0;
            let left = host.sectors.saturating_sub(start) * 512;
            cx.push(
                Problem::new(
                    Code::Limit,
                    span,
                    format!("the disk does not fit on {name}, which has {left} bytes left there"),
                )
                .key(key.replace(".on", ".size"))
                .found(disk.bytes.to_string())
                .expected(format!("{left} at most"))
                .related(self.names[place].1, "the disk of the host")
                .hint(
                    "`size` of [[disk]] says how large a disk is, `at` where a part of it begins",
                ),
            );
            return;
        }
        *free = end;
        asked.place(VbdPlace {
            disk: place,
            start,
            guests: guests.clone(),
        });
    }

    /// The number of the host's disk that `disk` is a part of; tells when there is none.
    fn host_disk_of(&self, cx: &mut Cx<'_>, disk: &Disk) -> Option<usize> {
        let Some((name, span)) = &disk.on else {
            if self.names.is_empty() && !cx.partial {
                cx.push(
                    Problem::new(Code::MissingKey, disk.span, "the host has no disk")
                        .key("disk")
                        .expected("a [[disk]]")
                        .hint("add [[disk]] with `name = \"sda\"` and `profile = \"sata-2008\"`"),
                );
            }
            return (!self.names.is_empty()).then_some(0);
        };
        let found = self.names.iter().position(|(own, _)| own == name);
        if found.is_none() && !cx.partial {
            let known = || self.names.iter().map(|(name, _)| name.as_str());
            cx.push(
                Problem::new(
                    Code::UnknownName,
                    *span,
                    format!("the host has no disk `{}`", quote(name)),
                )
                .key(&disk.on_key)
                .found(quote(name))
                .expected(format!("one of: {}", list(known())))
                .hint_or(
                    did_you_mean(name, known()),
                    "`name` of [[disk]] says what a disk is called",
                ),
            );
        }
        found
    }
}

/// Disks whose files a workload of `domain` uses have file systems.
fn need_files(cx: &mut Cx<'_>, domain: &mut Domain) {
    for (_, work) in domain.copies.iter().filter(|(_, work)| work.needs_files()) {
        let place = disk::place_of(&domain.disks, work);
        let Some(disk) = place.and_then(|place| domain.disks.get_mut(place)) else {
            continue;
        };
        if let DiskProgram::Copy(copy) = &work.program
            && copy.direction == CopyDirection::Read
        {
            cx.push(
                Problem::new(Code::Conflict, work.span, "a new file has nothing to read")
                    .key("domain.direction")
                    .found("read")
                    .expected("`direction = \"write\"` with `file`")
                    .hint("without `file` the workload reads the disk itself"),
            );
            continue;
        }
        if let Some(asked) = disk.part.vbd() {
            asked.need_files();
            continue;
        }
        cx.push(
            Problem::new(Code::Conflict, work.span, "the disk has no file system")
                .key("domain.file")
                .expected("a disk of `kind = \"vbd\"`")
                .related(disk.span, "the disk")
                .hint("without `file` the workload goes through the disk itself"),
        );
    }
}

/// Two driver domains have one disk.
fn two_drivers(disk: &Disk, host_disk: &str, first: Span) -> Problem {
    let span = disk.backend.as_ref().map_or(disk.span, |(_, span)| *span);
    let found = disk.backend.as_ref().map_or("", |(name, _)| name.as_str());
    Problem::new(
        Code::Conflict,
        span,
        format!("{host_disk} is another driver domain's"),
    )
    .key(&disk.backend_key)
    .found(found)
    .expected("one `backend` for all parts of a disk")
    .related(first, "the other one")
    .hint("add another [[disk]], or change `backend`")
}
