//! Workloads that go through disks: `dd` and those on files, in their own words.

use super::inputs::{self, DiskInput, InputKind};
use super::jobs;
use super::table::Disk;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use domio_core::Duration;
use domio_core::keys::{
    Checker, Code, KeyTable, Keys, Named, Need, Slot, Span, WordOf, bytes, flag, int, name, text,
    time, word,
};
use domio_vmm::bus::side::{DeviceProcess, DeviceTask, TaskInput};
use domio_vmm::config::{TaskConfig, Workload};
use domio_vmm::process::programs::{
    CopyDirection, Ffsb, FfsbConfig, FfsbWeights, FileCopy, FioJob, PostMark, PostMarkConfig, Zip,
    ZipConfig,
};
use domio_vmm::process::{FileId, FileSizes, Prepare, WeightedSizes};

/// What goes through a disk.
#[derive(Clone)]
pub(super) struct DiskWork {
    pub program: DiskProgram,
    /// The disk, if it is named.
    pub disk: Option<Named>,
    /// Where what matters of it was asked for, or the workload's word.
    pub span: Span,
}

/// The processes that go through a disk.
#[derive(Clone)]
pub(super) enum DiskProgram {
    /// `dd`.
    Copy(DiskCopy),
    /// PostMark.
    PostMark(PostMarkConfig),
    /// Threads of FFSB.
    Ffsb(FfsbConfig),
    /// Jobs of fio.
    Fio(Vec<FioJob>),
    /// What the file with this path says.
    Input(String, InputKind),
    /// An archiver.
    Zip(ZipConfig),
}

/// A way through a disk.
#[derive(Clone, Copy)]
pub(super) struct DiskCopy {
    pub direction: CopyDirection,
    /// Bytes of a block.
    block: u64,
    /// How much; `None` for the whole disk.
    bytes: Option<u64>,
    /// Goes through a new file of the disk's file system.
    new_file: bool,
    /// Waits at the end until what was written is on the disk.
    syncs: bool,
}

/// Reads the keys of a workload: what it does, and the key that names the disk. `None` when one of
/// them is bad.
pub(super) type Read = fn(&mut dyn Checker, &dyn KeyTable) -> Option<(DiskProgram, Slot<String>)>;

impl DiskWork {
    /// What the workload does that is the word of `table`.
    pub fn read(cx: &mut dyn Checker, table: &dyn KeyTable) -> Option<DiskWork> {
        let read = WordOf::find(&WORKLOADS, table.word()?)?;
        let (program, device) = read(cx, table)?;
        // How much a copy asks for is what may be too much.
        let bytes = match program {
            DiskProgram::Copy(_) => table.place("bytes"),
            _ => None,
        };
        let asks = bytes.or_else(|| table.selected());
        Some(DiskWork {
            program,
            disk: table.named(&device)?,
            span: asks.map_or(table.header(), |place| place.value),
        })
    }

    /// The place in `disks` of the one that it goes through.
    pub fn place_among(&self, disks: &[Disk]) -> Option<usize> {
        match &self.disk {
            None => (!disks.is_empty()).then_some(0),
            Some(named) => disks.iter().position(|disk| disk.name == named.name),
        }
    }

    /// How many bytes of the disk itself, which has so many, it asks for.
    pub fn bytes(&self, disk: u64) -> Option<u64> {
        match &self.program {
            DiskProgram::Copy(copy) => copy.bytes,
            DiskProgram::Fio(jobs) => Some(jobs::end(jobs, disk)),
            DiskProgram::PostMark(_)
            | DiskProgram::Ffsb(_)
            | DiskProgram::Zip(_)
            | DiskProgram::Input(..) => None,
        }
    }

    /// The files that are there before, or at the beginning.
    pub fn files(&self) -> Vec<Prepare> {
        match &self.program {
            DiskProgram::PostMark(config) => vec![config.prepare()],
            DiskProgram::Ffsb(config) => vec![config.prepare()],
            DiskProgram::Zip(config) => vec![config.prepare()],
            DiskProgram::Fio(jobs) => jobs::files(jobs),
            DiskProgram::Copy(_) | DiskProgram::Input(..) => Vec::new(),
        }
    }

    /// Whether it uses files.
    pub fn needs_files(&self) -> bool {
        match &self.program {
            DiskProgram::Copy(copy) => copy.new_file,
            DiskProgram::PostMark(_) | DiskProgram::Ffsb(_) | DiskProgram::Zip(_) => true,
            DiskProgram::Fio(jobs) => jobs.iter().any(|job| !job.config.direct),
            // What a job file says is not known yet.
            DiskProgram::Input(_, InputKind::FioJobs) => true,
            DiskProgram::Input(_, InputKind::Requests(_)) => false,
        }
    }
}

/// The processes of `task` of the domain with this index that use the disk `file`, with so many
/// bytes of the disk and of the room for files.
pub(super) fn processes(
    task: &DeviceTask,
    domain: usize,
    file: FileId,
    (disk, room): (u64, u64),
) -> Vec<DeviceProcess> {
    let work = task.work::<DiskWork>();
    let process = |name: String, workload| DeviceProcess {
        domain,
        vcpu: task.vcpu,
        may_roam: !task.placed,
        task: TaskConfig {
            name,
            priority: task.priority,
            roams: false,
            workload,
        },
        input: None,
    };
    let one = |workload| vec![process(task.name.clone(), workload)];
    match &work.program {
        DiskProgram::Copy(copy) => {
            let wanted = copy.bytes.unwrap_or(disk);
            let mut program = FileCopy::new(file, copy.direction, copy.block, wanted);
            if copy.new_file {
                program = program.into_new_file();
            }
            if copy.syncs {
                program = program.synced();
            }
            one(Workload::program(program))
        }
        DiskProgram::PostMark(config) => one(Workload::program(PostMark::new(file, *config))),
        DiskProgram::Zip(config) => one(Workload::program(Zip::new(file, *config))),
        DiskProgram::Ffsb(config) => {
            let thread = |n: u32| {
                let name = match config.threads {
                    1 => task.name.clone(),
                    _ => format!("{}-{n}", task.name),
                };
                process(name, Workload::program(Ffsb::new(file, *config)))
            };
            (1..=config.threads).map(thread).collect()
        }
        DiskProgram::Fio(all) => {
            let processes = jobs::processes(all, file, disk, &task.name).into_iter();
            processes.map(|(name, work)| process(name, work)).collect()
        }
        DiskProgram::Input(path, holds) => {
            let input = DiskInput {
                path: path.clone(),
                holds: holds.clone(),
                disk: file,
                bytes: disk,
                room,
                span: work.span,
            };
            let stand_in = process(task.name.clone(), Workload::Idle);
            vec![DeviceProcess {
                input: Some(Arc::new(input) as Arc<dyn TaskInput>),
                ..stand_in
            }]
        }
    }
}

/// Most bytes that a process asks a disk for: a PiB.
const DISK_MAX: u64 = 1 << 50;

/// Largest block (bytes) that a process asks for at a time.
const BLOCK_MAX: u64 = 1 << 30;

/// Most files that are made before a run.
const FILES_MAX: i64 = 1_000_000;

/// Largest file (bytes): a TiB.
const FILE_MAX: u64 = 1 << 40;

/// Largest call (bytes).
const CALL_MAX: u64 = 1 << 30;

/// The workloads.
pub(super) static WORKLOADS: [WordOf<Read>; 6] = [
    WordOf::with_keys(
        "dd",
        copy,
        "Goes through the domain's disk from its beginning, a block at a time, and ends. Each \
         block \
         is a job, from its call to its return.",
        Dd::KEYS,
    ),
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
         is a transaction, and a job, and so is each deletion. Operations are chosen by weight; \
         all threads choose from one list of files, to which created files are added. The disk \
         has `kind = \"vbd\"`.",
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
    inputs::FIO,
    inputs::REPLAY,
];

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

fn copy(_: &mut dyn Checker, table: &dyn KeyTable) -> Option<(DiskProgram, Slot<String>)> {
    let keys = Dd::read(table);
    let copy = DiskCopy {
        direction: keys.direction.get()?,
        block: keys.block.get()?,
        bytes: keys.bytes.if_given()?,
        new_file: keys.file.get()?,
        syncs: keys.fsync.get()?,
    };
    Some((DiskProgram::Copy(copy), keys.device))
}

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
            "Number of reads in 10 transactions; the others append (`set bias read`).";
        bias_create: u64 = int(0, 10), Need::Int(5),
            "Number of creations in 10 transactions; the others delete (`set bias create`).";
        prepared: bool = flag(), Need::Int(0),
            "Whether the files of the beginning are there before, on the disk.";
        cached: bool = flag(), Need::Int(0),
            "Whether memory holds of prepared files what their creation by one process has left: \
             names, inodes and the newest data.";
        device: String = name(), Need::Optional("the first one"),
            "Name of the domain's disk.";
    }
}

fn postmark(_: &mut dyn Checker, table: &dyn KeyTable) -> Option<(DiskProgram, Slot<String>)> {
    let keys = PostMarkKeys::read(table);
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
        cached: keys.cached.get()?,
        ..PostMarkConfig::DEFAULT
    };
    Some((DiskProgram::PostMark(config), keys.device))
}

keys! {
    struct FfsbKeys {
        num_threads: u32 = int(1, 1024), Need::Int(1), "Threads.";
        num_files: u32 = int(1, FILES_MAX), Need::Int(1000), "Files that are there before.";
        num_dirs: u32 = int(1, 100_000), Need::Int(10), "Directories that files are spread over.";
        min_filesize: u64 = bytes(4096, FILE_MAX), Need::Word("10M"), "Smallest file.";
        max_filesize: u64 = bytes(4096, FILE_MAX), Need::Word("10M"), "Largest file.";
        size_weight: String = text(), Need::Optional("any size between these"),
            "Sizes of files by weight, in place of the two before: `4K/33:8K/21:1M/2`.";
        read_weight: u64 = int(0, 1_000_000), Need::Int(1), "How often a part of a file is read.";
        readall_weight: u64 = int(0, 1_000_000), Need::Int(0), "How often a whole file is read.";
        write_weight: u64 = int(0, 1_000_000), Need::Int(1), "How often a part of a file is \
           written over.";
        append_weight: u64 = int(0, 1_000_000), Need::Int(0), "How often a file is appended to.";
        create_weight: u64 = int(0, 1_000_000), Need::Int(0), "How often a file is created and \
           written.";
        create_fsync_weight: u64 = int(0, 1_000_000), Need::Int(0), "How often a file is created, \
           written, and synced with `fsync`.";
        delete_weight: u64 = int(0, 1_000_000), Need::Int(0), "How often a file is deleted.";
        read_random: bool = flag(), Need::Int(0), "Whether each block is read at a random place.";
        read_size: u64 = bytes(1, CALL_MAX), Need::Word("16K"), "Bytes of a read operation.";
        read_blocksize: u64 = bytes(1, 4096), Need::Word("4K"), "Bytes of a call that reads.";
        write_random: bool = flag(), Need::Int(0), "Whether each block is written at a random \
        place.";
        write_size: u64 = bytes(1, CALL_MAX), Need::Word("16K"), "Bytes of a write or append \
           operation.";
        write_blocksize: u64 = bytes(1, 4096), Need::Word("4K"), "Bytes of a call that writes.";
        fsync_file: bool = flag(), Need::Int(0), "Whether an operation that writes ends with \
           `fsync`.";
        alignio: bool = flag(), Need::Int(0), "Whether places are multiples of 4 KiB instead of \
           any byte.";
        cached: bool = flag(), Need::Int(0), "Whether memory holds what the creation of the files \
           by one process has left: names, inodes and the newest data.";
        op_delay: Duration = time("ms", 0), Need::TimeNs(0), "Sleep after each operation.";
        device: String = name(), Need::Optional("the first one"), "Name of the domain's disk.";
    }
}

fn ffsb(cx: &mut dyn Checker, table: &dyn KeyTable) -> Option<(DiskProgram, Slot<String>)> {
    let keys = FfsbKeys::read(table);
    let (low, high) = (keys.min_filesize.get()?, keys.max_filesize.get()?);
    let sizes = match keys.size_weight.if_given()? {
        None => FileSizes::Between(low, high.max(low)),
        Some(text) => FileSizes::Weighted(weighted(cx, table, &keys, &text)?),
    };
    let weights = FfsbWeights {
        read: keys.read_weight.get()?,
        readall: keys.readall_weight.get()?,
        write: keys.write_weight.get()?,
        append: keys.append_weight.get()?,
        create: keys.create_weight.get()?,
        create_fsync: keys.create_fsync_weight.get()?,
        delete: keys.delete_weight.get()?,
    };
    let config = FfsbConfig {
        threads: keys.num_threads.get()?,
        files: keys.num_files.get()?,
        dirs: keys.num_dirs.get()?,
        sizes,
        weights,
        read_random: keys.read_random.get()?,
        read: (keys.read_size.get()?, keys.read_blocksize.get()?),
        write_random: keys.write_random.get()?,
        write: (keys.write_size.get()?, keys.write_blocksize.get()?),
        fsync: keys.fsync_file.get()?,
        alignio: keys.alignio.get()?,
        cached: keys.cached.get()?,
        delay: keys.op_delay.get()?,
    };
    Some((DiskProgram::Ffsb(config), keys.device))
}

/// Sizes by weight, or what is wrong with the text.
fn weighted(
    cx: &mut dyn Checker,
    table: &dyn KeyTable,
    keys: &FfsbKeys,
    text: &str,
) -> Option<WeightedSizes> {
    let key = &keys.size_weight;
    match WeightedSizes::read(text) {
        Ok(mix) => Some(mix),
        Err(expected) => {
            let problem = format!("`{text}` is no list of sizes by weight");
            let hint = "4K/33:8K/21:1M/2 makes 33 files of 56 4 KiB large";
            cx.tell(
                table
                    .wrong(Code::WrongType, key, text)
                    .says(problem, expected, hint),
            );
            None
        }
    }
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

fn zip(_: &mut dyn Checker, table: &dyn KeyTable) -> Option<(DiskProgram, Slot<String>)> {
    let keys = ZipKeys::read(table);
    let (low, high) = (keys.size_low.get()?, keys.size_high.get()?);
    let config = ZipConfig {
        files: keys.files.get()?,
        directories: keys.directories.get()?,
        size: (low, high.max(low)),
        block: keys.block.get()?,
        work_kib: keys.work_kib.get()?,
        ratio_percent: keys.ratio.get()?,
    };
    Some((DiskProgram::Zip(config), keys.device))
}
