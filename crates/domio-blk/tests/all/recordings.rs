//! What Linux 2.6.24 did with streams of requests is what the elevators here do, line by line.
//!
//! `testdata/elevators` has some of the recordings. The others are read where they are:
//! `DOMIO_ELEVATOR_RECORDINGS`.

use domio_blk::elevator::{
    Bio, Elevator, ElevatorCx, ElevatorInfo, IoWay, Jiffies, MayQueue, Merge, QueueTimer,
    RequestId, Requests, Submitter, Tuning, elevators, find_elevator,
};
use domio_blk::replay::{IoScript, replay};
use std::fs;
use std::path::{Path, PathBuf};

/// A script, its name, and what the kernel answered.
struct Recording {
    name: String,
    script: IoScript,
    answer: String,
}

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/elevators")
}

/// All recordings in the folders of `root`, in order of their names.
fn recordings(root: &Path) -> Vec<Recording> {
    let Ok(folders) = fs::read_dir(root) else {
        return Vec::new();
    };
    let mut scripts: Vec<PathBuf> = folders
        .flatten()
        .filter(|folder| folder.path().is_dir())
        .flat_map(|folder| fs::read_dir(folder.path()).unwrap().flatten())
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|end| end == "in"))
        .collect();
    scripts.sort();
    let read = |path: &PathBuf| {
        let name = path.strip_prefix(root).unwrap().display().to_string();
        let script = IoScript::read(&fs::read_to_string(path).unwrap(), elevators(), None);
        Recording {
            script: script.unwrap_or_else(|e| panic!("{name}: {e}")),
            answer: fs::read_to_string(path.with_extension("out")).unwrap(),
            name,
        }
    };
    scripts.iter().map(read).collect()
}

/// Where the answer to `script` leaves the kernel's, if it does.
fn difference(script: &IoScript, kernel: &str) -> Option<String> {
    let mut ours = String::new();
    replay(script, &mut ours).unwrap();
    if ours == kernel {
        return None;
    }
    let mut lines = ours.lines().zip(kernel.lines()).enumerate();
    Some(match lines.find(|(_, (a, b))| a != b) {
        Some((i, (a, b))) => format!("line {}: `{a}`, kernel: `{b}`", i + 1),
        None => String::from("one answer is longer"),
    })
}

fn differences(recordings: &[Recording]) -> Vec<String> {
    let differs = |r: &Recording| {
        let difference = difference(&r.script, &r.answer)?;
        Some(format!("{}: {difference}", r.name))
    };
    recordings.iter().filter_map(differs).collect()
}

#[test]
fn shipped_recordings_are_answered_as_the_kernel_did() {
    let recordings = recordings(&shipped());
    assert!(recordings.len() >= 35, "{}", recordings.len());
    assert_eq!(differences(&recordings), [""; 0]);
}

#[test]
fn all_recordings_are_answered_as_the_kernel_did() {
    // Without the folder there is nothing to compare with; the shipped ones are always there.
    let Some(folder) = std::env::var_os("DOMIO_ELEVATOR_RECORDINGS") else {
        return;
    };
    let recordings = recordings(Path::new(&folder));
    assert!(!recordings.is_empty(), "{}", folder.display());
    assert_eq!(differences(&recordings), [""; 0]);
}

/// Names of shipped recordings of `elevator` that notice what `damage` does to the script.
fn noticed(elevator: &str, damage: impl Fn(&mut IoScript)) -> Vec<String> {
    let mut noticed = Vec::new();
    for mut r in recordings(&shipped()) {
        if r.script.elevator.name == elevator {
            damage(&mut r.script);
            if difference(&r.script, &r.answer).is_some() {
                noticed.push(r.name);
            }
        }
    }
    noticed
}

#[test]
fn a_wrong_tunable_is_noticed() {
    for (elevator, tunable, value) in [
        ("deadline", "read_expire", 1_000_000),
        ("deadline", "write_expire", 0),
        ("deadline", "writes_starved", 1000),
        ("deadline", "fifo_batch", 1),
        ("deadline", "front_merges", 0),
        ("anticipatory", "antic_expire", 0),
        ("anticipatory", "read_expire", 1_000_000),
        ("anticipatory", "write_expire", 1_000_000),
        ("anticipatory", "read_batch_expire", 1),
        ("anticipatory", "write_batch_expire", 1),
        ("cfq", "quantum", 5),
        ("cfq", "slice_idle", 0),
        ("cfq", "slice_sync", 1),
        ("cfq", "slice_async", 1000),
        ("cfq", "slice_async_rq", 1000),
        ("cfq", "fifo_expire_sync", 1_000_000),
        ("cfq", "fifo_expire_async", 1),
        ("cfq", "back_seek_max", 0),
        ("cfq", "back_seek_penalty", 100),
    ] {
        let by = noticed(elevator, |script| {
            script.tuning.write(tunable, value).unwrap();
        });
        assert!(!by.is_empty(), "{elevator} with {tunable} {value}");
    }
}

/// A hook that a broken copy of an elevator lacks.
#[derive(Clone, Copy, PartialEq)]
enum Lacks {
    FrontMerge,
    Neighbours,
    AllowMerge,
    Merged,
    Timer,
    Exit,
    MayQueue,
}

struct Broken(Box<dyn Elevator>, Lacks);

/// The copy of the elevator `OF` that lacks the hook `LACKS`.
fn broken<const OF: usize, const LACKS: usize>(tuning: &Tuning, now: Jiffies) -> Box<dyn Elevator> {
    let inner = find_elevator(elevators(), NAMES[OF]).unwrap();
    Box::new(Broken((inner.make)(tuning, now), HOOKS[LACKS]))
}

const NAMES: [&str; 4] = ["noop", "deadline", "anticipatory", "cfq"];
const HOOKS: [Lacks; 7] = [
    Lacks::FrontMerge,
    Lacks::Neighbours,
    Lacks::AllowMerge,
    Lacks::Merged,
    Lacks::Timer,
    Lacks::Exit,
    Lacks::MayQueue,
];

impl Elevator for Broken {
    fn front_merge(&mut self, requests: &Requests, bio: &Bio) -> Option<RequestId> {
        let found = self.0.front_merge(requests, bio);
        found.filter(|_| self.1 != Lacks::FrontMerge)
    }
    fn allow_merge(&self, requests: &Requests, rq: RequestId, bio: &Bio) -> bool {
        self.1 == Lacks::AllowMerge || self.0.allow_merge(requests, rq, bio)
    }
    fn merged(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId, merge: Merge) {
        if self.1 != Lacks::Merged {
            self.0.merged(cx, rq, merge);
        }
    }
    fn merged_requests(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId, next: RequestId) {
        self.0.merged_requests(cx, rq, next);
    }
    fn prepare(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        self.0.prepare(cx, rq);
    }
    fn release(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        self.0.release(cx, rq);
    }
    fn insert(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        self.0.insert(cx, rq);
    }
    fn dispatch(&mut self, cx: &mut ElevatorCx<'_>) -> usize {
        self.0.dispatch(cx)
    }
    fn activate(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        self.0.activate(cx, rq);
    }
    fn completed(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        self.0.completed(cx, rq);
    }
    fn former(&self, requests: &Requests, rq: RequestId) -> Option<RequestId> {
        let found = self.0.former(requests, rq);
        found.filter(|_| self.1 != Lacks::Neighbours)
    }
    fn latter(&self, requests: &Requests, rq: RequestId) -> Option<RequestId> {
        let found = self.0.latter(requests, rq);
        found.filter(|_| self.1 != Lacks::Neighbours)
    }
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    fn may_queue(&mut self, submitter: Submitter, way: IoWay, sync: bool) -> MayQueue {
        match self.1 {
            Lacks::MayQueue => MayQueue::Must,
            _ => self.0.may_queue(submitter, way, sync),
        }
    }
    fn timer(&mut self, cx: &mut ElevatorCx<'_>, timer: QueueTimer) {
        if self.1 != Lacks::Timer {
            self.0.timer(cx, timer);
        }
    }
    fn exit(&mut self, cx: &mut ElevatorCx<'_>, submitter: Submitter) {
        if self.1 != Lacks::Exit {
            self.0.exit(cx, submitter);
        }
    }
}

#[test]
fn a_copy_without_a_hook_is_noticed() {
    type Make = fn(&Tuning, Jiffies) -> Box<dyn Elevator>;
    let copies: [(&str, &str, Make); 16] = [
        ("noop", "neighbours", broken::<0, 1>),
        ("noop", "limit", broken::<0, 6>),
        ("deadline", "front merges", broken::<1, 0>),
        ("deadline", "neighbours", broken::<1, 1>),
        ("deadline", "limit", broken::<1, 6>),
        ("deadline", "place after front merges", broken::<1, 3>),
        ("anticipatory", "neighbours", broken::<2, 1>),
        ("anticipatory", "timer", broken::<2, 4>),
        ("anticipatory", "exit", broken::<2, 5>),
        ("cfq", "front merges", broken::<3, 0>),
        ("cfq", "neighbours", broken::<3, 1>),
        ("cfq", "place after front merges", broken::<3, 3>),
        ("cfq", "leave to merge", broken::<3, 2>),
        ("cfq", "timer", broken::<3, 4>),
        ("cfq", "exit", broken::<3, 5>),
        ("cfq", "limit", broken::<3, 6>),
    ];
    for (elevator, hook, make) in copies {
        let info = find_elevator(elevators(), elevator).unwrap();
        let copy: &'static ElevatorInfo = Box::leak(Box::new(ElevatorInfo { make, ..*info }));
        let by = noticed(elevator, |script| script.elevator = copy);
        assert!(!by.is_empty(), "{elevator} without {hook}");
    }
}

#[test]
fn another_elevator_is_noticed() {
    for elevator in NAMES {
        for other in NAMES.iter().filter(|other| **other != elevator) {
            let by = noticed(elevator, |script| {
                script.elevator = find_elevator(elevators(), other).unwrap();
                script.tuning = Tuning::defaults(script.elevator.tunables, script.tuning.hz());
            });
            assert!(!by.is_empty(), "{other} in the place of {elevator}");
        }
    }
}
