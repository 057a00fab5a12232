//! From jobs of fio, and from recorded requests, to processes of a guest.

use crate::fs::room::{Room, directory_bytes, taken_by};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use domio_vmm::bus::side::RecordedCalls;
use domio_vmm::config::Workload;
use domio_vmm::process::programs::{Fio, FioFile, FioJob, FioNote, FioProblem};
use domio_vmm::process::{FileId, Prepare};

/// Processes of a workload, at most.
pub const PROCESSES_MAX: u32 = 1024;

/// Characters of a job's name that its processes are called by.
const NAME_MAX: usize = 32;

/// A process: its name, and what it does.
pub type Named = (String, Workload);

/// Reads `text`, a job file. Returns the jobs, and the keys that change nothing.
///
/// # Errors
/// What is wrong with the text.
pub fn read(text: &str) -> Result<(Vec<FioJob>, Vec<FioNote>), Vec<FioProblem>> {
    let file = FioFile::read(text)?;
    let sums = file
        .jobs
        .iter()
        .map(|job| u64::from(job.config.processes()));
    let processes: u64 = sums.sum();
    if processes > PROCESSES_MAX.into() {
        let why = format!(
            "the jobs are {processes} processes (numjobs times iodepth); expected {PROCESSES_MAX} \
             at most"
        );
        return Err(vec![FioProblem { line: 1, why }]);
    }
    Ok((file.jobs, file.notes))
}

/// Bytes of a disk of `bytes` that `jobs` on the disk itself need: the end of the last one.
pub fn end(jobs: &[FioJob], bytes: u64) -> u64 {
    let direct = jobs.iter().filter(|job| job.config.direct);
    let ends = direct.map(|job| job.on_disk(bytes).end());
    ends.max().unwrap_or(0)
}

/// The files of `jobs`.
pub fn files(jobs: &[FioJob]) -> Vec<Prepare> {
    let on_files = (1..).zip(jobs).filter(|(_, job)| !job.config.direct);
    let files = on_files.map(|(series, job)| job.config.prepare(series));
    files.collect()
}

/// What files take of the room of a file system (bytes), with their directories, and how many
/// inodes. Files that several works share count once.
pub fn room_for<'p>(files: impl IntoIterator<Item = &'p Prepare>) -> Room {
    let mut room = Room { bytes: 0, files: 0 };
    let mut directories = 0;
    let mut known: Vec<&Prepare> = Vec::new();
    for prepare in files {
        if known.contains(&prepare) {
            continue;
        }
        known.push(prepare);
        let sizes = (0..prepare.files).map(|place| taken_by(prepare.size(place)));
        room.bytes = sizes.fold(room.bytes, u64::saturating_add);
        room.files += u64::from(prepare.files);
        directories = directories.max(u64::from(prepare.directories.count()));
    }
    room.files += directories;
    room.bytes = room
        .bytes
        .saturating_add(directory_bytes(directories, room.files));
    room
}

/// The processes of `jobs` on `disk`, which has so many `bytes`; `task` is the name of what asks
/// for them.
pub fn processes(jobs: &[FioJob], disk: FileId, bytes: u64, task: &str) -> Vec<Named> {
    let several = jobs.len() > 1;
    let mut all = Vec::new();
    for (series, job) in (1..).zip(jobs) {
        let base = match several {
            true => format!("{task}-{}", plain(&job.name)),
            false => task.to_owned(),
        };
        for index in 0..job.config.processes() {
            let mut program = Fio::new(disk, job.on_disk(bytes), index);
            if !job.config.direct {
                program = program.on_a_file(series);
            }
            all.push((numbered(&base, index, job.config.processes()), program));
        }
    }
    all.into_iter()
        .map(|(name, program)| (name, Workload::program(program)))
        .collect()
}

/// The name of process `index` of so many.
pub fn numbered(base: &str, index: u32, of: u32) -> String {
    match of {
        1 => base.to_owned(),
        _ => format!("{base}-{}", index + 1),
    }
}

/// A job's name, as tables can show it.
fn plain(name: &str) -> String {
    let shown = |c: char| match c.is_ascii_alphanumeric() || "-_.".contains(c) {
        true => c,
        false => '-',
    };
    name.chars().take(NAME_MAX).map(shown).collect()
}

/// All calls in the order of their times, dealt out to so many processes in turn.
pub fn dealt(by_process: Vec<RecordedCalls>, threads: u32) -> Vec<RecordedCalls> {
    let mut all: RecordedCalls = by_process.into_iter().flatten().collect();
    // Sorting keeps the order of those of one time.
    all.sort_by_key(|call| call.at);
    let mut dealt = vec![RecordedCalls::new(); threads.max(1) as usize];
    let places = dealt.len();
    for (i, call) in all.into_iter().enumerate() {
        dealt[i % places].push(call);
    }
    dealt.retain(|calls| !calls.is_empty());
    dealt
}
