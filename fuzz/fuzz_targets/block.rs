//! Traces of block devices: the first byte chooses the format, or that it is to be recognised.
#![no_main]

use domio_blk::drive::find_drive;
use domio_blk::elevator::{Tuning, elevators, find_elevator};
use domio_blk::queue::QueueLimits;
use domio_blk::trace::{LoopKind, RigConfig};
use domio_meter::block::{BlockExplainer, BlockMeter};
use domio_replay::block::{BlockReplay, IntakeConfig};
use domio_trace::block::{BlockFormat, BlockReader};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((first, bytes)) = bytes.split_first() else {
        return;
    };
    let format = BlockFormat::ALL.get(usize::from(*first)).copied();
    let Ok(mut reader) = BlockReader::new(bytes, format) else {
        return;
    };
    let (mut meter, mut explainer) = (BlockMeter::new(), BlockExplainer::new());
    let mut count = 0;
    while let Ok(Some(event)) = reader.next_event() {
        meter.event(&event);
        explainer.event(reader.names(), &event, None);
        count += 1;
    }
    assert!(count <= bytes.len(), "more events than bytes");
    let summary = meter.finish(reader.names());
    assert_eq!(summary.events, count as u64);
    explainer.finish(reader.names());
    replay(bytes, format);
});

/// Replays in a closed loop, whose time does not hang on the times of the trace.
fn replay(bytes: &[u8], format: Option<BlockFormat>) {
    let elevator = find_elevator(elevators(), "cfq").expect("it ships");
    let machine = RigConfig {
        limits: QueueLimits::disk(250, 31),
        elevator,
        tuning: Tuning::defaults(elevator.tunables, 250),
        drive: find_drive("hitachi-7k500").expect("it ships").config.build(),
        kind: LoopKind::Closed,
    };
    let reader = BlockReader::new(bytes, format).expect("it was read before");
    let how = IntakeConfig {
        scale: 1,
        ..IntakeConfig::default()
    };
    let mut replay = BlockReplay::new(reader, how, machine);
    while let Ok(Some(_)) = replay.next_event() {}
}
