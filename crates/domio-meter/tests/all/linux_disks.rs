//! Requests of disks in a text of ftrace, measured and explained.

use domio_core::Sink;
use domio_linux::LinuxReader;
use domio_meter::{Explainer, MapWindow, Meter, Why};
use domio_trace::{LinuxOptions, ReadOptions, TraceReader};
use std::io::{Cursor, Empty};

/// Thread 7 reads: 8 KiB of two pieces, 4 ms at the disk, and sleeps for 5 ms, of which it waits
/// 0.5 ms for the cpu. Thread 9 writes 4 KiB without a scheduler of requests, and sleeps in state D
/// for 2 ms after that, for something else.
const TEXT: &str = "# tracer: nop
  <idle>-0   [000] d..2. 1.000000: sched_switch: swapper/0:0 [120] R ==> dd:7 [120]
      dd-7   [000] ..... 1.000100: block_bio_queue: 8,1 R 1000 + 8 [dd]
      dd-7   [000] ..... 1.000200: block_bio_queue: 8,1 R 1008 + 8 [dd]
      dd-7   [000] ..... 1.000300: block_rq_insert: 8,0 R 8192 () 1000 + 16 be,0,4 [dd]
      dd-7   [000] ..... 1.000500: block_rq_issue: 8,0 R 8192 () 1000 + 16 be,0,4 [dd]
      dd-7   [000] d..2. 1.000600: sched_switch: dd:7 [120] D ==> tar:9 [120]
     tar-9   [000] ..... 1.001000: block_bio_queue: 253,16 WS 64 + 8 [tar]
     tar-9   [000] ..... 1.001100: block_rq_issue: 253,16 WS 4096 () 64 + 8 none,0,0 [tar]
     tar-9   [000] d.h1. 1.004500: block_rq_complete: 8,0 R () 1000 + 16 be,0,4 [0]
     tar-9   [000] d.h2. 1.004600: sched_wakeup: comm=dd pid=7 prio=120 target_cpu=000
     tar-9   [000] d..2. 1.005100: sched_switch: tar:9 [120] D ==> dd:7 [120]
      dd-7   [000] d.h1. 1.005200: block_rq_complete: 253,16 WS () 64 + 8 none,0,0 [0]
      dd-7   [000] d..2. 1.007100: sched_wakeup: comm=tar pid=9 prio=120 target_cpu=000
      dd-7   [000] d..2. 1.010000: sched_switch: dd:7 [120] S ==> tar:9 [120]
";

fn read(sink: &mut impl Sink) {
    let reader = LinuxReader::new(Cursor::new(TEXT)).unwrap();
    let options = ReadOptions {
        linux: LinuxOptions::default(),
        ..ReadOptions::default()
    };
    let mut reader: TraceReader<Empty> = TraceReader::linux(reader, &options);
    reader.copy_to(sink).unwrap();
}

#[test]
fn disks_have_requests_times_and_who_asked() {
    let mut meter = Meter::new();
    read(&mut meter);
    let summary = meter.finish();
    let [first, second] = &summary.disks[..] else {
        panic!("{:?}", summary.disks);
    };
    assert_eq!(
        (&*first.disk, first.requests, first.writes, first.bytes),
        ("8,0", 1, 0, 8192)
    );
    assert_eq!(
        (first.queue.0.p50, first.device.0.p99),
        (Some(200_000), Some(4_000_000))
    );
    assert_eq!(
        (&*second.disk, second.writes, second.bytes),
        ("253,16", 1, 4096)
    );
    // Without a queue of requests it is in the queue since it was asked for.
    assert_eq!(second.queue.0.max, Some(100_000));
    assert_ne!(first.users[0].name, second.users[0].name);
    assert_eq!((first.users.len(), first.users[0].bytes), (1, 8192));
    let dd = summary.domain(first.users[0].name.domain).unwrap();
    assert_eq!(summary.figure(dd, "disk_wait_pct"), Some(40.0));
}

#[test]
fn a_wait_for_a_disk_is_no_wait_for_a_cpu() {
    let mut explainer = Explainer::new(MapWindow::Worst);
    read(&mut explainer);
    let explanation = explainer.finish();
    let of = |domain: u16| {
        let mut vcpus = explanation.vcpus.iter();
        vcpus.find(|vcpu| vcpu.name.domain.0 == domain).unwrap()
    };
    let (dd, tar) = (of(1), of(2));
    assert_eq!(
        (dd.uninterruptible, dd.disk, dd.runnable()),
        (4_000_000, 4_000_000, 500_000)
    );
    assert_eq!(dd.lost(), [(Why::Disk, 4_000_000), (Why::Queued, 500_000)]);
    assert_eq!(
        (tar.uninterruptible, tar.disk),
        (2_000_000, 0),
        "it waited for something else"
    );
    assert!(explanation.tells.told(Why::Disk));
}
