//! Workloads on the files of a domain's disk: PostMark, FFSB and archivers, in their own words.

use super::work::{DiskProgram, DiskWork, Make, Work};
use crate::check::Fields;
use domio_core::Duration;
use domio_core::keys::{Keys, Need, WordOf, bytes, flag, int, name, time};
use domio_vmm::process::programs::{FfsbConfig, FfsbWeights, PostMarkConfig, ZipConfig};

/// Most files that are made before a run.
const FILES_MAX: i64 = 1_000_000;

/// Largest file (bytes): a TiB.
const FILE_MAX: u64 = 1 << 40;

/// Largest call (bytes).
const CALL_MAX: u64 = 1 << 30;

/// The workloads.
pub(super) static ON_FILES: [WordOf<Make>; 3] = [
    WordOf::with_keys(
        "postmark",
        postmark,
        "PostMark 1.53: one process that reads, appends to, creates and deletes small files, as a \
         mail server does. Each transaction is a job. Files are in the file system of the domain's \
         disk, which has `kind = \"vbd\"`.",
        PostMarkKeys::KEYS,
    ),
    WordOf::with_keys(
        "ffsb",
        ffsb,
        "FFSB 6.0: threads that read and write files which were made before. Each call on a block \
         is a transaction, and a job. Operations are chosen by weight; a thread deletes \
         files that it has created. The disk has `kind = \"vbd\"`.",
        FfsbKeys::KEYS,
    ),
    WordOf::with_keys(
        "zip",
        zip,
        "An archiver, as `zip -r`: reads files that were made before, one after the other, \
         compresses what it has read, and appends the result to an archive. Each file is a job. \
         Without keys the files are the sources of Linux 2.6.18. The disk has `kind = \"vbd\"`.",
        ZipKeys::KEYS,
    ),
];

keys! {
    struct PostMarkKeys {
        number: u32 = int(1, FILES_MAX), Need::Int(500),
            "Files at the beginning (`set number`).";
        transactions: u64 = int(1, i64::MAX), Need::Optional("as many as there is time for"),
            "Transactions (`set transactions`); then all files are deleted.";
        size_low: u64 = bytes(1, FILE_MAX), Need::Word("500"),
            "Smallest file (`set size`).";
        size_high: u64 = bytes(1, FILE_MAX), Need::Word("10000"),
            "Largest file (`set size`).";
        subdirectories: u32 = int(1, 100_000), Need::Int(1),
            "Directories that files are spread over (`set subdirectories`; PostMark's 0 is 1 \
               here).";
        bias_read: u64 = int(0, 10), Need::Int(5),
            "Of 10 transactions so many read, the others append (`set bias read`).";
        bias_create: u64 = int(0, 10), Need::Int(5),
            "Of 10 transactions so many create, the others delete (`set bias create`).";
        prepared: bool = flag(), Need::Int(0),
            "Whether the files of the beginning are there before, on the disk and not in memory.";
        device: String = name(), Need::Optional("the first one"),
            "Name of the domain's disk.";
    }
}

fn postmark(fields: &Fields<'_>) -> Option<Work> {
    let keys: PostMarkKeys = fields.read();
    let (low, high) = (keys.size_low.get()?, keys.size_high.get()?);
    let config = PostMarkConfig {
        files: keys.number.get()?,
        transactions: keys.transactions.if_given()?,
        // A largest size under the smallest is the smallest.
        size: (low, high.max(low)),
        subdirectories: keys.subdirectories.get()?,
        bias_read: keys.bias_read.get()?,
        bias_create: keys.bias_create.get()?,
        prepared: keys.prepared.get()?,
        ..PostMarkConfig::DEFAULT
    };
    work(
        fields,
        DiskProgram::PostMark(config),
        keys.device
            .if_given()?
            .map(|name| (name, fields.span(&keys.device))),
    )
}

keys! {
    struct FfsbKeys {
        num_threads: u32 = int(1, 1024), Need::Int(1), "Threads.";
        num_files: u32 = int(1, FILES_MAX), Need::Int(1000), "Files that are there before.";
        num_dirs: u32 = int(1, 100_000), Need::Int(10), "Directories that files are spread over.";
        min_filesize: u64 = bytes(8192, FILE_MAX), Need::Word("10M"), "Smallest file.";
        max_filesize: u64 = bytes(8192, FILE_MAX), Need::Word("10M"), "Largest file.";
        read_weight: u64 = int(0, 1_000_000), Need::Int(1), "How often a part of a file is read.";
        readall_weight: u64 = int(0, 1_000_000), Need::Int(0), "How often a whole file is read.";
        write_weight: u64 = int(0, 1_000_000), Need::Int(1), "How often a part of a file is \
           written over.";
        append_weight: u64 = int(0, 1_000_000), Need::Int(0), "How often a file is appended to.";
        create_weight: u64 = int(0, 1_000_000), Need::Int(0), "How often a file is created and \
           written.";
        delete_weight: u64 = int(0, 1_000_000), Need::Int(0), "How often a file is deleted.";
        read_random: bool = flag(), Need::Int(0), "Whether each block is read at a place of its \
           own.";
        read_size: u64 = bytes(1, CALL_MAX), Need::Word("16K"), "Bytes of a read operation.";
        read_blocksize: u64 = bytes(1, 4096), Need::Word("4K"), "Bytes of a call that reads.";
        write_random: bool = flag(), Need::Int(0), "Whether each block is written at a place of \
           its own.";
        write_size: u64 = bytes(1, CALL_MAX), Need::Word("16K"), "Bytes of a write or append \
           operation.";
        write_blocksize: u64 = bytes(1, 4096), Need::Word("4K"), "Bytes of a call that writes.";
        fsync_file: bool = flag(), Need::Int(0), "Whether an operation that writes ends with \
           `fsync`.";
        op_delay: Duration = time("ms", 0), Need::TimeNs(0), "Sleep after each operation.";
        device: String = name(), Need::Optional("the first one"), "Name of the domain's disk.";
    }
}

fn ffsb(fields: &Fields<'_>) -> Option<Work> {
    let keys: FfsbKeys = fields.read();
    let (low, high) = (keys.min_filesize.get()?, keys.max_filesize.get()?);
    let weights = FfsbWeights {
        read: keys.read_weight.get()?,
        readall: keys.readall_weight.get()?,
        write: keys.write_weight.get()?,
        append: keys.append_weight.get()?,
        create: keys.create_weight.get()?,
        delete: keys.delete_weight.get()?,
    };
    let config = FfsbConfig {
        threads: keys.num_threads.get()?,
        files: keys.num_files.get()?,
        dirs: keys.num_dirs.get()?,
        size: (low, high.max(low)),
        weights,
        read_random: keys.read_random.get()?,
        read: (keys.read_size.get()?, keys.read_blocksize.get()?),
        write_random: keys.write_random.get()?,
        write: (keys.write_size.get()?, keys.write_blocksize.get()?),
        fsync: keys.fsync_file.get()?,
        delay: keys.op_delay.get()?,
    };
    let device = keys
        .device
        .if_given()?
        .map(|name| (name, fields.span(&keys.device)));
    work(fields, DiskProgram::Ffsb(config), device)
}

keys! {
    struct ZipKeys {
        files: u32 = int(1, FILES_MAX), Need::Int(ZipConfig::LINUX_2_6_18.files as i64),
            "Files that are archived.";
        directories: u32 = int(1, 100_000),
            Need::Int(ZipConfig::LINUX_2_6_18.directories as i64),
            "Directories that they are spread over.";
        size_low: u64 = bytes(1, FILE_MAX), Need::Word("500"), "Smallest file.";
        size_high: u64 = bytes(1, FILE_MAX), Need::Word("24000"), "Largest file.";
        block: u64 = bytes(1, CALL_MAX), Need::Word("32K"), "Bytes of a call.";
        work_kib: Duration = time("us", 0),
            Need::TimeNs(ZipConfig::LINUX_2_6_18.work_kib.as_nanos()),
            "Processor time of compressing a KiB (30 us: an estimate for 2.8 GHz).";
        ratio: u64 = int(0, 100), Need::Int(ZipConfig::LINUX_2_6_18.ratio_percent as i64),
            "Size of what comes out, in percent of what goes in; 0 for an archive that is thrown \
             away.";
        device: String = name(), Need::Optional("the first one"),
            "Name of the domain's disk.";
    }
}

fn zip(fields: &Fields<'_>) -> Option<Work> {
    let keys: ZipKeys = fields.read();
    let (low, high) = (keys.size_low.get()?, keys.size_high.get()?);
    let config = ZipConfig {
        files: keys.files.get()?,
        directories: keys.directories.get()?,
        size: (low, high.max(low)),
        block: keys.block.get()?,
        work_kib: keys.work_kib.get()?,
        ratio_percent: keys.ratio.get()?,
    };
    let device = keys
        .device
        .if_given()?
        .map(|name| (name, fields.span(&keys.device)));
    work(fields, DiskProgram::Zip(config), device)
}

fn work(
    fields: &Fields<'_>,
    program: DiskProgram,
    disk: Option<(String, crate::source::Span)>,
) -> Option<Work> {
    Some(Work::Disk(DiskWork {
        program,
        disk,
        span: fields.selected().map_or(fields.header, |field| field.span),
    }))
}
