//! Calls of a recording, made again.

use domio_core::{Duration, Instant};
use domio_vmm::process::programs::{IoReplay, RecordedCall, ReplayLoop};
use domio_vmm::process::{Context, FileId, Op, Program, What};
use std::sync::Arc;

/// Times (ms) and offsets of calls that take 5 ms each, and times at which jobs were released.
fn run(kind: ReplayLoop) -> (Vec<(u64, u64)>, Vec<u64>) {
    let call = |ms, offset| RecordedCall {
        at: Duration::from_millis(ms),
        writes: offset == 0,
        offset,
        bytes: 4096,
    };
    let calls: Arc<[RecordedCall]> = [call(0, 0), call(2, 4096), call(20, 8192)].into();
    let file = FileId { device: 0, file: 0 };
    let mut program = IoReplay::new(file, calls, kind);
    let mut cx = Context {
        now: Instant::from_nanos(1_000_000_000),
        returned: 0,
    };
    let ms = |at: Instant| at.as_nanos() / 1_000_000 - 1000;
    let (mut made, mut released) = (Vec::new(), Vec::new());
    loop {
        match program.next(&cx) {
            Op::SleepUntil(at) => cx.now = cx.now.max(at),
            Op::Call(call) => {
                let (What::Read { offset, .. } | What::Write { offset, .. }) = call.what else {
                    panic!("{call:?}");
                };
                made.push((ms(cx.now), offset));
                cx.now += Duration::from_millis(5);
            }
            Op::Report { released: at, .. } => released.push(ms(at)),
            Op::Exit => return (made, released),
            op => panic!("{op:?}"),
        }
    }
}

#[test]
fn an_open_loop_keeps_times_and_a_closed_one_gaps() {
    let (made, released) = run(ReplayLoop::Open);
    assert_eq!(made, [(0, 0), (5, 4096), (20, 8192)]);
    assert_eq!(released, [0, 2, 20], "who comes late has waited since");
    let (made, released) = run(ReplayLoop::Closed);
    assert_eq!(made, [(0, 0), (7, 4096), (30, 8192)]);
    assert_eq!(released, [0, 7, 30]);
}
