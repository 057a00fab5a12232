//! The disk of a domain, and the workload that goes through it.

use super::work::{DiskCopy, Make, Task, Work};
use crate::check::{self, Cx, Fields};
use crate::devices::{DISKS, DiskPart};
use crate::problem::{Code, Problem};
use crate::source::Span;
use domio_core::keys::{
    KeySection, Keys, Need, Nested, Slot, WordOf, Words, bytes, word, word_text,
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
     domain.",
    DiskKeys::KEYS,
)
.by("kind", &DISKS);

keys! {
    struct DiskKeys {
        "kind" = word_text(Words::Of(&DISKS)), Need::Required, "What is behind it.";
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
    }
}

/// The way through a disk that `fields` describe.
fn copy(fields: &Fields<'_>) -> Option<Work> {
    let keys: Dd = fields.read();
    let asks = fields.field(&keys.bytes).or_else(|| fields.selected());
    Some(Work::Copy(DiskCopy {
        direction: keys.direction.get()?,
        block: keys.block.get()?,
        bytes: keys.bytes.if_given()?,
        span: asks.map_or(fields.header, |field| field.span),
    }))
}

/// A disk before it is given to its domain.
#[derive(Clone)]
pub(super) struct Disk {
    /// What the device knows of it.
    pub part: DiskPart,
    /// How large it is.
    pub bytes: u64,
    /// The driver domain, if it is named: the name and where it stands.
    pub backend: Option<(String, Span)>,
    /// Path of the key that names the driver domain.
    pub backend_key: String,
    /// What asks for it.
    pub span: Span,
}

/// The disk that the domain of `fields` has at `slot`, if any; `None` when something is wrong with
/// it, or with what `tasks` want of it.
pub(super) fn disk(
    cx: &mut Cx<'_>,
    fields: &Fields<'_>,
    slot: &Slot<Nested>,
    tasks: &[Task],
) -> Option<Option<Disk>> {
    let copies = tasks.iter().filter_map(|task| match &task.work {
        Work::Copy(copy) => Some(copy),
        Work::Demand(_) | Work::Replay(_) | Work::Flow(_) => None,
    });
    let Some(field) = fields.field(slot) else {
        let mut copies = copies;
        let Some(copy) = copies.next() else {
            return Some(None);
        };
        cx.push(
            Problem::new(Code::MissingKey, copy.span, "the domain has no disk")
                .key(fields.path_of(slot))
                .expected("`disk` in the domain")
                .hint("add `disk = { kind = \"loopback\", size = \"1G\" }` to the [[domain]]"),
        );
        return None;
    };
    let node = fields.node(slot)?;
    let path = fields.path_of(slot);
    let own = check::table(cx, node.as_table()?, node.span, &DISK, &path, None);
    let read = WordOf::find(&DISKS, own.variant?.word)?;
    let asked = read(&own);
    let backend = match asked.backend.given {
        false => None,
        true => Some((asked.backend.get()?, own.span(&asked.backend))),
    };
    let bytes = asked.size.get()?;
    let mut good = true;
    for copy in copies {
        if let Some(wanted) = copy.bytes.filter(|wanted| *wanted > bytes) {
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
                .related(own.span(&asked.size), "how large it is")
                .hint("without `bytes` it is the whole disk"),
            );
        }
    }
    let part = asked.disk?;
    good.then(|| {
        Some(Disk {
            part,
            bytes,
            backend,
            backend_key: own.path_of(&asked.backend),
            span: field.key_span,
        })
    })
}
