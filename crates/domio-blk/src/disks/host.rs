//! `[[disk]]`, `[guests]` and `[blkback]`: the disks of the host, and the place of each virtual
//! disk on one of them.

use super::programs::{DiskProgram, DiskWork};
use super::room;
use super::table::{Disk, DomainDisks};
use crate::fs::room::taken_by;
use crate::split::keys::{BLKBACK, GUESTS, HOST_DISK, HostDisk, VbdPlace, guests, host_disk, pool};
use crate::split::{LayerConfig, PendingPool, SplitConfig};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use domio_core::keys::{
    Checker, Code, KeyReader, KeySection, KeyTable, Keys, Mistake, NamedTables, Need, Nested, Slot,
    Span, TableNames, nested, nested_any,
};
use domio_vmm::process::programs::CopyDirection;

keys! {
    pub(super) struct OfHost {
        disk: Nested = nested_any(&HOST_DISK), Need::Optional("none"),
            "Disk; with two brackets, `[[disk]]`, any number of disks.";
        guests: Nested = nested(&GUESTS), Need::Optional("`noop`, 250 ticks a second"),
            "Request layers of guests with virtual disks.";
        blkback: Nested = nested(&BLKBACK), Need::Optional("64 requests"),
            "Pool of requests that the blkbacks of a driver domain share.";
    }
}

static NAMED: NamedTables = NamedTables {
    what: "disk",
    usual: Some("sda"),
    missing: "the host has no disk",
    nameless: "one of: none",
    hint: "`name` of [[disk]] says what a disk is called",
};

/// What virtual disks need to know of the host.
pub(super) struct HostDisks {
    /// The disks of the text, in order; none for one that something is wrong with.
    disks: Vec<Option<HostDisk>>,
    names: TableNames,
    guests: Option<LayerConfig>,
    pool: PendingPool,
    /// Where the text describes the pool.
    pub blkback: Option<Span>,
}

/// What is under way on a disk of the host while virtual disks get their places.
#[derive(Clone, Default)]
struct Filled {
    /// The first free sector.
    free: u64,
    /// The first sector behind all parts.
    behind: u64,
    /// Bytes of the files behind them.
    images: u64,
}

impl HostDisks {
    /// The disks of `document`, and what it says of guests and of blkback.
    pub fn read(cx: &mut dyn Checker, document: &dyn KeyTable) -> Self {
        let keys = OfHost::read(document);
        let tables = document.tables(cx, &keys.disk, &HOST_DISK);
        let names = TableNames::read(cx, &tables, &NAMED);
        let disks = tables.iter().map(|table| {
            let keys = &**table;
            keys.word()?;
            host_disk(&mut KeyReader { cx: &mut *cx, keys })
        });
        let disks = disks.collect();
        let own = table(cx, document, &keys.guests, &GUESTS);
        let guests = guests(&mut KeyReader {
            cx: &mut *cx,
            keys: &*own,
        });
        let own = table(cx, document, &keys.blkback, &BLKBACK);
        HostDisks {
            disks,
            names,
            guests,
            pool: pool(&*own).unwrap_or(PendingPool::XEN),
            blkback: document.place(keys.blkback.name).map(|place| place.key),
        }
    }

    /// Gives `split` the disks of the host that its virtual disks are on, under the numbers that
    /// the virtual disks know, and the pool. Those of a scenario without mistakes are all of them.
    pub fn equip(&self, split: &mut SplitConfig) {
        let good: Vec<HostDisk> = self.disks.iter().flatten().cloned().collect();
        split.equip(&good, self.pool);
    }

    /// Gives each virtual disk of the host its place.
    pub fn place(&self, cx: &mut dyn Checker, domains: &mut [DomainDisks]) {
        let mut filled = vec![Filled::default(); self.disks.len()];
        // The domain whose guests use each disk.
        let mut backends: BTreeMap<usize, (Option<String>, Span)> = BTreeMap::new();
        for domain in &mut *domains {
            need_files(cx, domain);
            room::fit(cx, domain);
        }
        for disk in domains.iter_mut().flat_map(|domain| &mut domain.disks) {
            if disk.part.vbd().is_none() {
                continue;
            }
            let Some(place) = self.host_disk_of(cx, disk) else {
                continue;
            };
            let backend = disk.backend.as_ref().map(|named| named.name.clone());
            let (known, first) = backends
                .entry(place)
                .or_insert((backend.clone(), disk.span));
            if *known != backend {
                cx.tell(two_drivers(disk, self.name(place), *first));
            }
            let own = &mut filled[place];
            self.put(cx, disk, place, &mut own.free);
            own.behind = own.free.max(own.behind);
        }
        let all = domains.iter().flat_map(|domain| &domain.disks);
        let files = |disk: &&Disk| {
            let vbd = disk.part.vbd();
            vbd.is_some_and(|asked| asked.is_file() && asked.is_placed())
        };
        for disk in all.filter(files) {
            if let Some(place) = self.host_disk_of(cx, disk) {
                self.image_fits(cx, disk, place, &mut filled[place]);
            }
        }
    }

    fn name(&self, place: usize) -> &str {
        self.names.name(place).unwrap_or("")
    }

    /// Says if `disk`, a file of the driver domain on the host's disk number `place`, has no room
    /// there, behind all parts and beside the other files.
    fn image_fits(&self, cx: &mut dyn Checker, disk: &Disk, place: usize, filled: &mut Filled) {
        let Some(host) = &self.disks[place] else {
            return;
        };
        let room = host.files_behind(filled.behind).config.room();
        let left = room.map_or(0, |room| room.bytes.saturating_sub(filled.images));
        let wanted = taken_by(disk.bytes);
        filled.images = filled.images.saturating_add(wanted);
        if wanted > left {
            let name = self.name(place);
            let mistake = Mistake::new(
                Code::Limit,
                disk.span,
                format!(
                    "the file needs {wanted} bytes, and the driver domain's file system on {name} \
                     has {left} left"
                ),
            );
            cx.tell(
                mistake
                    .key(&disk.size_key)
                    .found(disk.bytes.to_string())
                    .expected(format!(
                        "{left} at most, with the blocks that lead to the data"
                    ))
                    .related(self.names.span(place), "the disk of the host")
                    .hint(
                        "`size` of [[disk]] says how large a disk is; parts that are no files take \
                         from it",
                    ),
            );
        }
    }

    /// The place of `disk` on the host's disk number `place`, whose first free sector is `free`.
    fn put(&self, cx: &mut dyn Checker, disk: &mut Disk, place: usize, free: &mut u64) {
        let (Some(host), Some(guests)) = (&self.disks[place], &self.guests) else {
            return;
        };
        let Some(asked) = disk.part.vbd_mut() else {
            return;
        };
        let at = |start| VbdPlace {
            disk: place,
            start,
            guests: guests.clone(),
        };
        if asked.is_file() {
            asked.place(at(0));
            return;
        }
        let start = asked.start().unwrap_or(*free);
        let end = start.saturating_add(asked.sectors());
        if end <= host.sectors {
            *free = end;
            asked.place(at(start));
            return;
        }
        let name = self.name(place);
        let left = host.sectors.saturating_sub(start) * 512;
        cx.tell(
            Mistake::new(
                Code::Limit,
                disk.span,
                format!("the disk does not fit on {name}, which has {left} bytes left there"),
            )
            .key(&disk.size_key)
            .found(disk.bytes.to_string())
            .expected(format!("{left} at most"))
            .related(self.names.span(place), "the disk of the host")
            .hint("`size` of [[disk]] says how large a disk is, `at` where a part of it begins"),
        );
    }

    /// The number of the host's disk that `disk` is a part of; says when there is none.
    fn host_disk_of(&self, cx: &mut dyn Checker, disk: &Disk) -> Option<usize> {
        let Some(named) = &disk.on else {
            if self.names.is_empty() && !cx.is_partial() {
                cx.tell(
                    Mistake::new(Code::MissingKey, disk.span, "the host has no disk")
                        .key("disk")
                        .expected("a [[disk]]")
                        .hint("add [[disk]] with `name = \"sda\"` and `profile = \"sata-2008\"`"),
                );
            }
            return (!self.names.is_empty()).then_some(0);
        };
        self.names.find(cx, named)
    }
}

/// The table at `slot`, or one that is not there.
fn table(
    cx: &mut dyn Checker,
    document: &dyn KeyTable,
    slot: &Slot<Nested>,
    section: &'static KeySection,
) -> Box<dyn KeyTable> {
    let own = document.tables(cx, slot, section).into_iter().next();
    own.unwrap_or_else(|| cx.absent(section, slot.name, document.header()))
}

/// Disks whose files a workload of `domain` uses have file systems.
fn need_files(cx: &mut dyn Checker, domain: &mut DomainDisks) {
    let works = domain.tasks.iter().map(|task| task.work::<DiskWork>());
    for work in works.filter(|work| work.needs_files()) {
        let Some(place) = work.place_among(&domain.disks) else {
            continue;
        };
        let disk = &mut domain.disks[place];
        if let DiskProgram::Copy(copy) = &work.program
            && copy.direction == CopyDirection::Read
        {
            cx.tell(
                Mistake::new(Code::Conflict, work.span, "a new file has nothing to read")
                    .key("domain.direction")
                    .found("read")
                    .expected("`direction = \"write\"` with `file`")
                    .hint("without `file` the workload reads the disk itself"),
            );
            continue;
        }
        if let Some(asked) = disk.part.vbd_mut() {
            asked.need_files();
            continue;
        }
        cx.tell(
            Mistake::new(Code::Conflict, work.span, "the disk has no file system")
                .key("domain.file")
                .expected("a disk of `kind = \"vbd\"`")
                .related(disk.span, "the disk")
                .hint("without `file` the workload goes through the disk itself"),
        );
    }
}

/// Two driver domains have one disk.
fn two_drivers(disk: &Disk, host_disk: &str, first: Span) -> Mistake {
    let named = disk.backend.as_ref();
    let span = named.map_or(disk.span, |named| named.span);
    let found = named.map_or("", |named| named.name.as_str());
    let what = format!("{host_disk} is another driver domain's");
    Mistake::new(Code::Conflict, span, what)
        .key(&disk.backend_key)
        .found(found)
        .expected("one `backend` for all parts of a disk")
        .related(first, "the other one")
        .hint("add another [[disk]], or change `backend`")
}
