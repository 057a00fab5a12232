//! `[domain.disk]`: the disks of a domain.

use super::kinds::{DiskPart, KINDS};
use super::programs::DiskWork;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use domio_core::keys::{
    Checker, Code, KeyReader, KeySection, KeyTable, Keys, Mistake, Named, Need, Nested, Span,
    WordOf, Words, list, name, nested_any, path_in, word_text,
};
use domio_vmm::bus::side::DeviceTask;

keys! {
    /// Keys of a domain.
    pub(super) struct OfDomain {
        disk: Nested = nested_any(&DISK), Need::Optional("none"),
            "Its virtual disk, or a list of several.";
    }
}

static DISK: KeySection = KeySection::plain(
    "[domain.disk]",
    "The virtual disk of a domain: a front-end in the guest, a ring, a back-end in a driver \
     domain, or a thread of QEMU with KVM. What the work costs is the hardware profile's, as are \
     the costs of the kernels of both domains. Blkfront works on vcpu 0 of the guest, blkback on \
     vcpu 0 of the driver domain. A domain may have several: `disk = [{ ... }, { ... }]`.",
    DiskKeys::KEYS,
)
.by("kind", Words::Of(&KINDS));

keys! {
    struct DiskKeys {
        "kind" = word_text(Words::Of(&KINDS)), Need::Required, "The kind of disk.";
        name: String = name(), Need::Optional("`xvda`, `xvdb` and so on"),
            "Name in the domain; workloads use it where the domain has several disks.";
    }
}

/// The disks of a domain, with the tasks that use them.
#[derive(Clone)]
pub(super) struct DomainDisks {
    pub disks: Vec<Disk>,
    pub tasks: Vec<DeviceTask>,
}

/// A disk before it is given to its domain.
#[derive(Clone)]
pub(super) struct Disk {
    /// What the domain calls it.
    pub name: String,
    /// What the device knows of it.
    pub part: DiskPart,
    /// How large it is.
    pub bytes: u64,
    /// Path of the key that says so.
    pub size_key: String,
    /// The driver domain, if it is named.
    pub backend: Option<Named>,
    /// Path of the key that names the driver domain.
    pub backend_key: String,
    /// The disk of the host, if it is named.
    pub on: Option<Named>,
    /// What asks for it.
    pub span: Span,
    /// Path of its table.
    pub path: String,
    /// Keys that are given and that only Xen has, and where.
    pub of_xen: Vec<(&'static str, Span)>,
    /// The thread of QEMU that serves it, if it is named, and where.
    pub iothread: Option<(String, Span)>,
}

/// The disks that the domain of `table` has; `None` when something is wrong with one, or with what
/// `tasks` want of one.
pub(super) fn disks(
    cx: &mut dyn Checker,
    table: &dyn KeyTable,
    tasks: &[DeviceTask],
) -> Option<Vec<Disk>> {
    let slot = OfDomain::read(table).disk;
    let mut works = tasks.iter().map(|task| task.work::<DiskWork>());
    let Some(asks) = table.place(slot.name) else {
        let Some(work) = works.next() else {
            return Some(Vec::new());
        };
        cx.tell(
            Mistake::new(Code::MissingKey, work.span, "the domain has no disk")
                .key(table.path_of(&slot))
                .expected("`disk` in the domain")
                .hint("add `disk = { kind = \"loopback\", size = \"1G\" }` to the [[domain]]"),
        );
        return None;
    };
    slot.get()?;
    let mut disks: Vec<Disk> = Vec::new();
    let mut sizes = Vec::new();
    for own in table.tables(cx, &slot, &DISK) {
        let (disk, size) = one(cx, &*own, disks.len(), asks.key)?;
        if let Some(other) = disks.iter().find(|other| other.name == disk.name) {
            let what = format!("the domain has two disks `{}`", disk.name);
            cx.tell(
                Mistake::new(Code::Duplicate, own.header(), what)
                    .key(format!("{}.name", own.path()))
                    .expected("a name of its own for each")
                    .related(other.span, "the disks")
                    .hint("without names they are `xvda`, `xvdb` and so on"),
            );
            return None;
        }
        disks.push(disk);
        sizes.push(size);
    }
    let mut good = true;
    for work in works {
        let Some(place) = work.place_among(&disks) else {
            good = false;
            cx.tell(no_disk(work, &disks, table));
            continue;
        };
        let bytes = disks[place].bytes;
        if let Some(wanted) = work.bytes(bytes).filter(|wanted| *wanted > bytes) {
            good = false;
            let what = format!("the disk has {bytes} bytes");
            cx.tell(
                Mistake::new(Code::Conflict, work.span, what)
                    .key(path_in(table.path(), "bytes"))
                    .found(wanted.to_string())
                    .expected(format!("{bytes} at most"))
                    .related(sizes[place], "how large it is")
                    .hint("without `bytes` it is the whole disk"),
            );
        }
    }
    good.then_some(disks)
}

/// The disk that `own` describes, which has `number` others before it, and where its size stands.
fn one(
    cx: &mut dyn Checker,
    own: &dyn KeyTable,
    number: usize,
    span: Span,
) -> Option<(Disk, Span)> {
    let keys = DiskKeys::read(own);
    let read = WordOf::find(&KINDS, own.word()?)?;
    let asked = read(&mut KeyReader { cx, keys: own });
    let on = match &asked.on {
        Some(slot) => own.named(slot)?,
        None => None,
    };
    let iothread = match &asked.iothread {
        Some(slot) if slot.given => Some((slot.get()?, own.span(slot))),
        _ => None,
    };
    let of_xen = asked.of_xen.into_iter();
    let place = |name| own.place(name).map_or(own.header(), |place| place.key);
    let of_xen = of_xen.map(|name| (name, place(name))).collect();
    // More disks than letters have names of two.
    let letter = |n: usize| char::from(b'a' + (n % 26) as u8);
    let by_place = match number {
        0..26 => format!("xvd{}", letter(number)),
        _ => format!("xvd{}{}", letter(number / 26 - 1), letter(number)),
    };
    let disk = Disk {
        name: keys.name.or(by_place)?,
        bytes: asked.size.get()?,
        size_key: own.path_of(&asked.size),
        backend: own.named(&asked.backend)?,
        backend_key: own.path_of(&asked.backend),
        on,
        part: asked.part?,
        span,
        path: own.path().to_string(),
        of_xen,
        iothread,
    };
    Some((disk, own.span(&asked.size)))
}

/// A workload names a disk that its domain has not.
fn no_disk(work: &DiskWork, disks: &[Disk], table: &dyn KeyTable) -> Mistake {
    let (name, span) = match &work.disk {
        Some(named) => (named.name.as_str(), named.span),
        None => ("", work.span),
    };
    let names = disks.iter().map(|disk| disk.name.as_str());
    let what = format!("the domain has no disk `{name}`");
    Mistake::new(Code::UnknownName, span, what)
        .key(path_in(table.path(), "device"))
        .found(name)
        .expected(format!("one of: {}", list(names)))
        .hint("`name` of [domain.disk] says what a disk is called")
}
