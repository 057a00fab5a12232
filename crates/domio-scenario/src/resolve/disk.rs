//! The disks of a domain, and the workload that goes through one.

use super::shared::InTable;
use super::work::{DiskCopy, DiskProgram, DiskWork, Make, Task, Work};
use crate::check::{self, Cx, Fields};
use crate::devices::{DISKS, DiskPart};
use crate::problem::{Code, Problem, list};
use crate::source::Span;
use domio_core::keys::{
    KeySection, Keys, Need, Nested, Slot, WordOf, Words, bytes, flag, name, word, word_text,
};
use domio_vmm::process::programs::CopyDirection;

/// Most bytes that a process asks a disk for: a PiB.
const DISK_MAX: u64 = 1 << 50;

/// Largest block (bytes) that a process asks for at once.
const BLOCK_MAX: u64 = 1 << 30;

pub(super) static DISK: KeySection = KeySection::plain(
    "[domain.disk]",
    "The virtual disk of a domain: a front-end in the guest, a ring, a back-end in a driver \
     domain. What the work costs is the hardware profile's, as are the costs of the kernels \
     of both domains. Blkfront works on vcpu 0 of the guest, blkback on vcpu 0 of the driver \
     domain. A domain may have several: `disk = [{ ... }, { ... }]`.",
    DiskKeys::KEYS,
)
.by("kind", Words::Of(&DISKS));

keys! {
    struct DiskKeys {
        "kind" = word_text(Words::Of(&DISKS)), Need::Required, "What is behind it.";
        name: String = name(), Need::Optional("`xvda`, `xvdb` and so on"),
            "What the domain calls it; workloads name it where the domain has several.";
    }
}

static COPIES: [WordOf<CopyDirection>; 2] = [
    WordOf::new(
        "read",
        CopyDirection::Read,
        "From the disk: `dd if=/dev/xvda of=/dev/null`.",
    ),
    WordOf::new(
        "write",
        CopyDirection::Write,
        "To the disk: `dd if=/dev/zero of=/dev/xvda`.",
    ),
];

/// The workloads that use a disk.
pub(super) static COPY: [WordOf<Make>; 1] = [WordOf::with_keys(
    "dd",
    copy,
    "Goes through the domain's disk from its beginning, a block at a time, and ends. Each block is \
     a job, from its call to its return.",
    Dd::KEYS,
)];

keys! {
    struct Dd {
        direction: CopyDirection = word(&COPIES), Need::Word("read"),
            "`read` is from the disk, `write` to it.";
        block: u64 = bytes(1, BLOCK_MAX), Need::Word("64K"), "Bytes of a block (`bs=`).";
        bytes: u64 = bytes(1, DISK_MAX), Need::Optional("the whole disk"),
            "How much in all; no more than the disk has.";
        file: bool = flag(), Need::Int(0),
            "Whether it writes a new file, through the page cache, instead of the disk itself.";
        fsync: bool = flag(), Need::Int(0),
            "Whether it waits at the end until what was written is on the disk (`conv=fsync`).";
        device: String = name(), Need::Optional("the first one"),
            "Name of the domain's disk.";
    }
}

/// The way through a disk that `fields` describe.
fn copy(fields: &Fields<'_>) -> Option<Work> {
    let keys: Dd = fields.read();
    let asks = fields.field(&keys.bytes).or_else(|| fields.selected());
    Some(Work::Disk(DiskWork {
        program: DiskProgram::Copy(DiskCopy {
            direction: keys.direction.get()?,
            block: keys.block.get()?,
            bytes: keys.bytes.if_given()?,
            new_file: keys.file.get()?,
            syncs: keys.fsync.get()?,
        }),
        disk: match keys.device.if_given()? {
            Some(name) => Some((name, fields.span(&keys.device))),
            None => None,
        },
        span: asks.map_or(fields.header, |field| field.span),
    }))
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
    /// The driver domain, if it is named: the name and where it stands.
    pub backend: Option<(String, Span)>,
    /// Path of the key that names the driver domain.
    pub backend_key: String,
    /// The disk of the host, if it is named: the name and where it stands.
    pub on: Option<(String, Span)>,
    /// Path of the key that names the disk of the host.
    pub on_key: String,
    /// What asks for it.
    pub span: Span,
}

/// The place in `disks` of the one that `copy` goes through.
pub(super) fn place_of(disks: &[Disk], copy: &DiskWork) -> Option<usize> {
    match &copy.disk {
        None => (!disks.is_empty()).then_some(0),
        Some((name, _)) => disks.iter().position(|disk| disk.name == *name),
    }
}

/// The disks that the domain of `fields` has at `slot`; `None` when something is wrong with one, or
/// with what `tasks` want of one.
pub(super) fn disks(
    cx: &mut Cx<'_>,
    fields: &Fields<'_>,
    slot: &Slot<Nested>,
    tasks: &[Task],
) -> Option<Vec<Disk>> {
    let mut copies = tasks.iter().filter_map(|task| match &task.work {
        Work::Disk(copy) => Some(copy),
        Work::Demand(_) | Work::Replay(_) | Work::Flow(_) => None,
    });
    let Some(field) = fields.field(slot) else {
        let Some(copy) = copies.next() else {
            return Some(Vec::new());
        };
        cx.push(
            Problem::new(Code::MissingKey, copy.span, "the domain has no disk")
                .key(fields.path_of(slot))
                .expected("`disk` in the domain")
                .hint("add `disk = { kind = \"loopback\", size = \"1G\" }` to the [[domain]]"),
        );
        return None;
    };
    fields.node(slot)?;
    let mut disks: Vec<Disk> = Vec::new();
    let mut sizes = Vec::new();
    for (node, table, path) in fields.tables(slot) {
        let own = check::table(cx, table, node.span, &DISK, &path, None);
        let (disk, size) = one(cx, &own, disks.len(), field.key_span)?;
        if let Some(other) = disks.iter().find(|other| other.name == disk.name) {
            let problem = Problem::new(
                Code::Duplicate,
                node.span,
                format!("the domain has two disks `{}`", disk.name),
            );
            cx.push(
                problem
                    .key(format!("{path}.name"))
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
    for copy in copies {
        let Some(place) = place_of(&disks, copy) else {
            good = false;
            cx.push(no_disk(copy, &disks, fields));
            continue;
        };
        let bytes = disks[place].bytes;
        if let Some(wanted) = copy.bytes().filter(|wanted| *wanted > bytes) {
            good = false;
            cx.push(
                Problem::new(
                    Code::Conflict,
                    copy.span,
                    format!("the disk has {bytes} bytes"),
                )
                .key(format!("{}.bytes", fields.path))
                .found(wanted.to_string())
                .expected(format!("{bytes} at most"))
                .related(sizes[place], "how large it is")
                .hint("without `bytes` it is the whole disk"),
            );
        }
    }
    good.then_some(disks)
}

/// The disk that `own` describes, which has `place` others before it, and where its size stands.
fn one(cx: &mut Cx<'_>, own: &Fields<'_>, place: usize, span: Span) -> Option<(Disk, Span)> {
    let keys: DiskKeys = own.read();
    let read = WordOf::find(&DISKS, own.variant?.word)?;
    let asked = read(&mut InTable { cx, fields: own });
    let named = |slot: &Slot<String>| match slot.given {
        false => Some(None),
        true => Some(Some((slot.get()?, own.span(slot)))),
    };
    let (on, on_key) = match &asked.on {
        Some(slot) => (named(slot)?, own.path_of(slot)),
        None => (None, String::new()),
    };
    // More disks than letters have names of two.
    let letter = |n: usize| char::from(b'a' + (n % 26) as u8);
    let by_place = match place {
        0..26 => format!("xvd{}", letter(place)),
        _ => format!("xvd{}{}", letter(place / 26 - 1), letter(place)),
    };
    let disk = Disk {
        name: keys.name.or(by_place)?,
        bytes: asked.size.get()?,
        backend: named(&asked.backend)?,
        backend_key: own.path_of(&asked.backend),
        on,
        on_key,
        part: asked.disk?,
        span,
    };
    Some((disk, own.span(&asked.size)))
}

/// A workload names a disk that its domain has not.
fn no_disk(copy: &DiskWork, disks: &[Disk], fields: &Fields<'_>) -> Problem {
    let (name, span) = match &copy.disk {
        Some((name, span)) => (name.as_str(), *span),
        None => ("", copy.span),
    };
    let names = disks.iter().map(|disk| disk.name.as_str());
    Problem::new(
        Code::UnknownName,
        span,
        format!("the domain has no disk `{name}`"),
    )
    .key(format!("{}.device", fields.path))
    .found(name)
    .expected(format!("one of: {}", list(names)))
    .hint("`name` of [domain.disk] says what a disk is called")
}
