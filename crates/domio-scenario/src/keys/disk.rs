//! Disks: `[domain.disk]`, and the workload that uses them.

use super::Need::{Optional, Required};
use super::{Kind, Need, Params, Section, Variant, Words, key, variant};

/// Largest disk (bytes): a PiB.
const DISK_MAX: u64 = 1 << 50;

/// Largest block (bytes) that a process asks for at once.
const BLOCK_MAX: u64 = 1 << 30;

pub(crate) static DISK: Section = Section {
    header: "[domain.disk]",
    doc: "The virtual disk of a domain: a front-end in the guest, a ring, a back-end in a driver \
          domain. What the work costs is the hardware profile's, as are the costs of the kernels \
          of both domains. Blkfront works on vcpu 0 of the guest, blkback on vcpu 0 of the driver \
          domain.",
    keys: &[key(
        "kind",
        Kind::Word(Words::Of(DISKS)),
        Required,
        "What is behind it.",
    )],
    selector: Some("kind"),
    variants: DISKS,
    params: Params::None,
};

const DISKS: &[Variant] = &[variant(
    "loopback",
    "A file in the driver domain's memory, as `xl block-attach` with a file of a memory file \
     system has it: a request takes the processor time of its copying, and no platter turns.",
    &[
        key(
            "size",
            Kind::Bytes {
                min: 1,
                max: DISK_MAX,
            },
            Required,
            "How large it is. Nothing is stored, so that any size will do.",
        ),
        key(
            "backend",
            Kind::DomainName,
            Optional("the domain with id 0"),
            "The driver domain that has the contents: one domain, which is created before, stays \
             to the end, and has no such disk itself.",
        ),
    ],
)];

const COPIES: &[Variant] = &[
    variant(
        "read",
        "From the disk: `dd if=/dev/xvda of=/dev/null`.",
        &[],
    ),
    variant("write", "To the disk: `dd if=/dev/zero of=/dev/xvda`.", &[]),
];

pub(super) const DD: Variant = variant(
    "dd",
    "Goes through the domain's disk from its beginning, a block at a time, and ends. Each block is \
     a job, from its call to its return.",
    &[
        key(
            "direction",
            Kind::Word(Words::Of(COPIES)),
            Need::Word("read"),
            "`read` is from the disk, `write` to it.",
        ),
        key(
            "block",
            Kind::Bytes {
                min: 1,
                max: BLOCK_MAX,
            },
            Need::Word("64K"),
            "Bytes of a block (`bs=`).",
        ),
        key(
            "bytes",
            Kind::Bytes {
                min: 1,
                max: DISK_MAX,
            },
            Optional("the whole disk"),
            "How much in all; no more than the disk has.",
        ),
    ],
);
