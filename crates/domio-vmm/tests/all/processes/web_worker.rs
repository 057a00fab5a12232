//! A worker of a web server, step by step.

use domio_core::{Duration, Instant};
use domio_vmm::process::programs::{WebCosts, WebWorker};
use domio_vmm::process::{Context, FileId, Op, Program, What};

const LISTENING: FileId = FileId { device: 1, file: 7 };
const COSTS: WebCosts = WebCosts {
    request: Duration::from_micros(300),
    kib: Duration::from_micros(2),
};

/// The step that follows when the one before returned `returned` at `ms`.
fn next(worker: &mut WebWorker, ms: u64, returned: u64) -> Op {
    let now = Instant::ZERO + Duration::from_millis(ms);
    worker.next(&Context { now, returned })
}

fn read(file: u32, bytes: u64) -> Op {
    FileId { file, ..LISTENING }.does(What::Read { offset: 0, bytes })
}

#[test]
fn requests_come_in_pieces_and_connections_one_after_the_other() {
    let mut worker = WebWorker::new(LISTENING, 100, COSTS);
    let socket = |file| FileId { file, ..LISTENING };
    assert_eq!(next(&mut worker, 0, 0), LISTENING.does(What::Accept));
    assert_eq!(next(&mut worker, 1, 40), read(40, 100));
    assert_eq!(next(&mut worker, 3, 30), read(40, 70), "the rest of it");
    assert_eq!(next(&mut worker, 4, 70), socket(40).does(What::Asked));
    // 300 us, and 2 for each of 10 KiB.
    let work = Duration::from_micros(320);
    assert_eq!(next(&mut worker, 4, 10_240), Op::Compute(work));
    let (offset, bytes) = (0, 10_240);
    let write = What::Write { offset, bytes };
    assert_eq!(next(&mut worker, 5, 0), socket(40).does(write));
    let released = Instant::ZERO + Duration::from_millis(3);
    let report = Op::Report { released, work };
    assert_eq!(next(&mut worker, 6, 10_240), report);
    assert_eq!(next(&mut worker, 6, 0), read(40, 100), "another request");
    assert_eq!(next(&mut worker, 7, 0), socket(40).does(What::Close));
    assert_eq!(next(&mut worker, 8, 0), LISTENING.does(What::Accept));
    assert_eq!(next(&mut worker, 9, 41), read(41, 100));
}

#[test]
fn an_answer_that_nobody_wants_any_more_is_no_job() {
    let mut worker = WebWorker::new(LISTENING, 1, COSTS);
    for returned in [0, 40, 1] {
        next(&mut worker, 0, returned);
    }
    let _ = next(&mut worker, 0, 10);
    let _ = next(&mut worker, 1, 0);
    let closing = FileId {
        file: 40,
        ..LISTENING
    };
    assert_eq!(next(&mut worker, 2, 0), closing.does(What::Close));
}

#[test]
fn costs_stop_at_the_longest_time() {
    let costs = WebCosts {
        request: Duration::ZERO,
        kib: Duration::MAX,
    };
    assert_eq!(costs.of(u64::MAX), Duration::MAX);
    assert_eq!(costs.of(0), Duration::ZERO);
}
