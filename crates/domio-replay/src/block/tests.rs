//! Small traces on a rig whose drive serves each command in 1 ms.

use super::{BlockCsv, BlockReplay, Contexts, IntakeConfig};
use domio_blk::elevator::{Tuning, elevators, find_elevator};
use domio_blk::queue::QueueLimits;
use domio_blk::trace::{FixedDrive, LoopKind, RigConfig};
use domio_core::Duration;
use domio_trace::block::{BlockAct, BlockEvent, BlockReader};

fn steady() -> FixedDrive {
    FixedDrive::new(
        1000,
        Duration::from_millis(1),
        Duration::ZERO,
        Duration::ZERO,
    )
}

fn replay(text: &str, how: IntakeConfig, kind: LoopKind) -> BlockReplay<&[u8]> {
    let elevator = find_elevator(elevators(), "noop").unwrap();
    let rig = RigConfig {
        limits: QueueLimits::disk(250, 31),
        elevator,
        tuning: Tuning::defaults(elevator.tunables, 250),
        drive: Box::new(steady()),
        kind,
    };
    BlockReplay::new(BlockReader::new(text.as_bytes(), None).unwrap(), how, rig)
}

fn all(replay: &mut BlockReplay<&[u8]>) -> Vec<BlockEvent> {
    let mut events = Vec::new();
    while let Some((event, spent)) = replay.next_event().unwrap() {
        assert_eq!(spent.is_some(), event.act == BlockAct::Complete);
        events.push(event);
    }
    events
}

/// Times (µs) and sectors of requests as they are queued.
fn queued(text: &str, how: IntakeConfig, kind: LoopKind) -> Vec<(u64, u64)> {
    let mut replay = replay(text, how, kind);
    let events = all(&mut replay).into_iter();
    let queued = events.filter(|e| e.act == BlockAct::Queue);
    queued.map(|e| (e.at.as_nanos() / 1000, e.sector)).collect()
}

/// One process reads, waits for 5 ms, thinks for 2 ms, and reads again.
const THINKS: &str = "time_s,action,rwbs,sector,nsec,proc\n\
    1.000,Q,R,0,8,a\n1.000,D,R,0,8,a\n1.005,C,R,0,8,0\n1.007,Q,R,100,8,a\n";

#[test]
fn an_open_loop_has_the_times_and_a_closed_one_the_time_of_thought() {
    let how = IntakeConfig::default;
    assert_eq!(queued(THINKS, how(), LoopKind::Open), [(0, 0), (7000, 100)]);
    assert_eq!(
        queued(THINKS, how(), LoopKind::Closed),
        [(0, 0), (3000, 100)]
    );
    let fast = IntakeConfig {
        scale: 500_000,
        ..how()
    };
    assert_eq!(
        queued(THINKS, fast.clone(), LoopKind::Open),
        [(0, 0), (3500, 100)]
    );
    assert_eq!(
        queued(THINKS, fast, LoopKind::Closed),
        [(0, 0), (2000, 100)]
    );
}

#[test]
fn a_recorded_response_is_not_thought() {
    let text = "128166372003060000,hm,1,Read,0,4096,50000\n\
                128166372003130000,hm,1,Read,51200,4096,50000\n";
    let closed = queued(text, IntakeConfig::default(), LoopKind::Closed);
    assert_eq!(closed, [(0, 0), (3000, 100)]);
}

#[test]
fn a_trace_of_what_the_driver_took_is_replayed_from_there() {
    let text = "1.0,D,R,0,8,a\n1.1,C,R,0,8,0\n1.2,D,W,16,8,b\n";
    let open = queued(text, IntakeConfig::default(), LoopKind::Open);
    assert_eq!(open, [(0, 0), (200_000, 16)]);
}

#[test]
fn volumes_lie_on_top_of_each_other_or_side_by_side() {
    let text = "7,R,0,4096,1000000\n9,R,0,4096,2000000\n7,W,51200,4096,3000000\n";
    let on_top = queued(text, IntakeConfig::default(), LoopKind::Open);
    assert_eq!(on_top, [(0, 0), (1_000_000, 0), (2_000_000, 100)]);
    let apart = IntakeConfig {
        regions: 4,
        ..IntakeConfig::default()
    };
    let apart = queued(text, apart, LoopKind::Open);
    assert_eq!(apart, [(0, 0), (1_000_000, 250), (2_000_000, 100)]);
    let one = IntakeConfig {
        devices: vec!["9".to_owned()],
        ..IntakeConfig::default()
    };
    let mut replay = replay(text, one, LoopKind::Open);
    assert_eq!(all(&mut replay).len(), 3, "queued, issued, completed");
    assert_eq!(replay.left_out().elsewhere, 2);
}

#[test]
fn requests_of_one_second_are_spread_over_it() {
    let text = "1538323200,0,8,0,5\n1538323200,8,8,0,5\n1538323200,16,8,0,5\n\
                1538323201,24,8,1,5\n";
    let spread = queued(text, IntakeConfig::default(), LoopKind::Open);
    let thirds: Vec<u64> = spread
        .iter()
        .take(3)
        .map(|(us, _)| us * 3 / 1_000_000)
        .collect();
    assert_eq!(thirds, [0, 1, 2]);
    assert!(spread[3].0 >= 1_000_000, "{spread:?}");
    let none = IntakeConfig {
        jitter: false,
        ..IntakeConfig::default()
    };
    let as_told = queued(text, none, LoopKind::Open);
    assert_eq!(
        as_told.iter().map(|(us, _)| *us).collect::<Vec<_>>(),
        [0, 0, 0, 1_000_000]
    );
}

#[test]
fn contexts_are_of_processes_volumes_or_one_for_all() {
    // In a closed loop each context has one request at a time.
    let text = "7,R,0,4096,1\n9,R,51200,4096,1\n";
    let with = |contexts| IntakeConfig {
        contexts,
        ..IntakeConfig::default()
    };
    let each = queued(text, with(Contexts::Volume), LoopKind::Closed);
    assert_eq!(each, [(0, 0), (0, 100)]);
    let one = queued(text, with(Contexts::One), LoopKind::Closed);
    assert_eq!(one, [(0, 0), (1000, 100)]);
}

#[test]
fn what_a_replay_writes_is_read_back() {
    let mut first = replay(THINKS, IntakeConfig::default(), LoopKind::Open);
    let mut csv = BlockCsv::new(Vec::new()).unwrap();
    let mut events = Vec::new();
    while let Some((event, _)) = first.next_event().unwrap() {
        csv.event(first.names(), &event).unwrap();
        events.push(event);
    }
    let text = csv.into_inner();
    let mut reader = BlockReader::new(&text[..], None).unwrap();
    for event in events {
        let read = reader.next_event().unwrap().unwrap();
        let of = |e: &BlockEvent| (e.at, e.act, e.way, e.flags, e.sector, e.sectors);
        assert_eq!(of(&read), of(&event));
    }
    assert_eq!(reader.next_event().unwrap(), None);
}
