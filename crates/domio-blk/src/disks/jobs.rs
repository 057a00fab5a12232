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
pub(super) const PROCESSES_MAX: u32 = 1024;

/// Characters of a job's name that its processes are called by.
const NAME_MAX: usize = 32;

/// A process: its name, and what it does.
pub(super) type Named = (String, Workload);

/// Reads `text`, a job file. Returns the jobs, and the keys that change nothing.
///
/// # Errors
/// What is wrong with the text.
pub(super) fn read(text: &str) -> Result<(Vec<FioJob>, Vec<FioNote>), Vec<FioProblem>> {
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
pub(super) fn end(jobs: &[FioJob], bytes: u64) -> u64 {
    let direct = jobs.iter().filter(|job| job.config.direct);
    let ends = direct.map(|job| job.on_disk(bytes).end());
    ends.max().unwrap_or(0)
}

/// The files of `jobs`.
pub(super) fn files(jobs: &[FioJob]) -> Vec<Prepare> {
    let on_files = (1..).zip(jobs).filter(|(_, job)| !job.config.direct);
    let files = on_files.map(|(series, job)| job.config.prepare(series));
    files.collect()
}

/// What files take of the room of a file system (bytes), with their directories, and how many
/// inodes. Files that several works share count once.
pub(super) fn room_for<'p>(files: impl IntoIterator<Item = &'p Prepare>) -> Room {
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
        directories = directories.max(u64::from(prepare.directories));
    }
    room.files += directories;
    room.bytes = room
        .bytes
        .saturating_add(directory_bytes(directories, room.files));
    room
}

/// The processes of `jobs` on `disk`, which has so many `bytes`; `task` is the name of what asks
/// for them.
pub(super) fn processes(jobs: &[FioJob], disk: FileId, bytes: u64, task: &str) -> Vec<Named> {
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
pub(super) fn numbered(base: &str, index: u32, of: u32) -> String {
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
pub(super) fn dealt(by_process: Vec<RecordedCalls>, threads: u32) -> Vec<RecordedCalls> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::Duration;
    use domio_vmm::process::programs::RecordedCall;

    fn call(ms: u64) -> RecordedCall {
        RecordedCall {
            at: Duration::from_millis(ms),
            writes: false,
            offset: ms * 4096,
            bytes: 4096,
        }
    }

    #[test]
    fn calls_are_dealt_out_in_the_order_of_their_times() {
        let two = vec![vec![call(1), call(4)], vec![call(2), call(3)]];
        let times =
            |calls: &RecordedCalls| calls.iter().map(|c| c.offset / 4096).collect::<Vec<_>>();
        let three: Vec<_> = dealt(two.clone(), 3).iter().map(times).collect();
        assert_eq!(three, [vec![1, 4], vec![2], vec![3]]);
        let nine = dealt(two, 9);
        assert_eq!(nine.len(), 4, "nobody has nothing to do");
    }

    #[test]
    fn jobs_need_room_on_the_disk_and_in_its_file_system() {
        let read = |text| read(text).unwrap().0;
        let direct = read("[a]\ndirect=1\nsize=1m\noffset=4m\n");
        assert_eq!(end(&direct, 1 << 30), 5 << 20);
        let jobs = read("[a]\nsize=64m\nnumjobs=2\n[b]\ndirect=1\nsize=1m\n");
        assert_eq!(end(&jobs, 1 << 30), 1 << 20);
        let room = room_for(&files(&jobs));
        assert!((128 << 20..130 << 20).contains(&room.bytes), "{room:?}");
        assert_eq!(room.files, 3, "two files and a directory");
    }

    /// Parts of the disk are whole blocks, and end where the disk ends.
    #[test]
    fn sizes_in_percent_are_parts_of_the_disk() {
        let on = |text, bytes| read(text).unwrap().0[0].on_disk(bytes);
        let text = "[a]\ndirect=1\nbs=4k\noffset=50%\nsize=25%\nio_size=50%\n";
        let config = on(text, 1 << 20);
        assert_eq!(config.offset.0, 512 << 10);
        assert_eq!((config.size, config.io_size), (256 << 10, Some(128 << 10)));
        assert_eq!(on(text, 1_000_000).offset.0, 499_712, "122 blocks");
        let (jobs, _) = read("[a]\ndirect=1\noffset=50%\nsize=100%\n").unwrap();
        assert_eq!(jobs[0].on_disk(1 << 20).size, 512 << 10, "what is left");
        assert_eq!(end(&jobs, 1 << 20), 1 << 20);
    }

    #[test]
    fn processes_are_called_after_their_jobs() {
        let (jobs, _) = read("[a b]\nnumjobs=2\n[c]\n").unwrap();
        let disk = FileId { device: 0, file: 0 };
        let names = |jobs: &[FioJob]| -> Vec<String> {
            let processes = processes(jobs, disk, 1 << 40, "fio").into_iter();
            processes.map(|(name, _)| name).collect()
        };
        assert_eq!(names(&jobs), ["fio-a-b-1", "fio-a-b-2", "fio-c"]);
        assert_eq!(names(&jobs[1..]), ["fio"]);
    }

    #[test]
    fn too_many_processes_are_refused() {
        let why = read("[a]\nnumjobs=600\n[b]\nnumjobs=600\n").unwrap_err();
        assert!(why[0].why.contains("1200 processes"), "{why:?}");
    }
}
