//! From jobs of fio, and from recorded calls, to processes of a guest.

use domio_blk::disks::jobs::{dealt, end, files, processes, read, room_for};
use domio_core::Duration;
use domio_vmm::bus::side::RecordedCalls;
use domio_vmm::process::FileId;
use domio_vmm::process::programs::{FioJob, RecordedCall};

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
    let times = |calls: &RecordedCalls| calls.iter().map(|c| c.offset / 4096).collect::<Vec<_>>();
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
