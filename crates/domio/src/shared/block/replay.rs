//! Traces of block devices, run against an elevator and a drive.

use super::answers::Replayed;
use super::{all_files, open, show, warn};
use crate::args::{BlockFormatArg, BlockRig, Global, TraceReplay};
use crate::files::{FileKind, Files, Output, is_stdout};
use crate::input::{self, Stream};
use crate::out::{self, Status};
use crate::shared::registered;
use crate::suggest;
use anyhow::{Context, anyhow};
use domio_answer::Inner;
use domio_blk::drive::{DRIVES, DriveConfig, find_drive};
use domio_blk::elevator::{ElevatorInfo, Tuning};
use domio_blk::queue::QueueLimits;
use domio_blk::trace::{LoopKind, RigConfig};
use domio_meter::block::{BlockExplainer, BlockMeter};
use domio_replay::block::{BlockCsv, BlockReplay, IntakeConfig, LeftOut};
use domio_report::text::block as text;
use domio_scenario::Parts;
use domio_trace::block::{BlockEvent, BlockNames, DeviceTime};
use indicatif::ProgressBarIter;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Commands that the driver hands over at a time, at most: SATA's 32 without the one that libata
/// keeps. A drive may hold fewer.
const DEPTH: u32 = 31;

/// What requests go to, as the command line says.
struct Bench {
    elevator: &'static ElevatorInfo,
    tuning: Tuning,
    limits: QueueLimits,
    drive: DriveConfig,
    kind: LoopKind,
}

impl Bench {
    fn new(rig: &BlockRig, hz: i64, parts: &Parts) -> anyhow::Result<Self> {
        let elevator = registered::elevator(&rig.elevator, parts)?;
        let drive = find_drive(&rig.drive).ok_or_else(|| {
            let names = DRIVES.iter().map(|drive| drive.variant.word);
            let near = suggest::near(&rig.drive, names.clone());
            let all: Vec<&str> = names.collect();
            let name = &rig.drive;
            anyhow!(
                "no drive is called \"{name}\"{near}; there are {}",
                all.join(", ")
            )
        })?;
        let flash = matches!(drive.config, DriveConfig::Flash(_));
        Ok(Bench {
            elevator,
            tuning: Tuning::defaults(elevator.tunables, hz),
            limits: QueueLimits {
                rotational: !flash,
                ..QueueLimits::disk(hz, DEPTH)
            },
            drive: drive.config,
            kind: LoopKind::Open,
        })
    }

    fn config(&self) -> RigConfig {
        RigConfig {
            limits: self.limits,
            elevator: self.elevator,
            tuning: self.tuning,
            drive: self.drive.build(),
            kind: self.kind,
        }
    }
}

/// Runs a replay to its end.
fn run(
    replay: &mut BlockReplay<ProgressBarIter<Stream>>,
    path: &Path,
    mut event: impl FnMut(&BlockNames, &BlockEvent, Option<&DeviceTime>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let context = || format!("cannot read the block trace {}", input::name(path));
    while let Some((one, spent)) = replay.next_event().with_context(context)? {
        event(replay.names(), &one, spent.as_ref()).context("cannot write the events")?;
    }
    warn(replay.reader(), path);
    tell(&replay.left_out(), path);
    Ok(())
}

/// Says what was not replayed as it is in the trace.
fn tell(left_out: &LeftOut, path: &Path) {
    let file = input::name(path);
    let notes = [
        (
            left_out.without_data,
            "flushes and discards were not replayed",
        ),
        (
            left_out.wrapped,
            "requests lay beyond the end of the drive, and were laid down from its beginning",
        ),
        (
            left_out.late,
            "requests went later than at their time: too many waited, so the drive cannot keep up; \
             a closed loop (--closed) or a larger --scale asks for less",
        ),
    ];
    for (count, what) in notes {
        if count > 0 {
            out::notice(&format!("{file}: {count} {what}"));
        }
    }
}

/// Explains what a drive and an elevator would make of the trace.
///
/// # Errors
/// When there is no such drive or elevator, or the trace cannot be read.
pub fn explain_replayed(
    paths: &[PathBuf],
    format: Option<BlockFormatArg>,
    rig: &BlockRig,
    as_json: bool,
    global: &Global,
) -> anyhow::Result<Status> {
    const HZ: i64 = 250;
    let bench = Bench::new(rig, HZ, &global.parts)?;
    let reader = open(paths, format, global)?;
    let mut replay = BlockReplay::new(reader, IntakeConfig::default(), bench.config());
    let mut explainer = BlockExplainer::new();
    run(&mut replay, &paths[0], |names, event, spent| {
        explainer.event(names, event, spent);
        Ok(())
    })?;
    show(&explainer.finish(replay.names()), as_json)
}

/// Replays a trace.
///
/// # Errors
/// When an option names nothing, a file cannot be read or written.
pub fn replay(args: &TraceReplay, global: &Global) -> anyhow::Result<Status> {
    let mut bench = Bench::new(&args.rig, args.hz, &global.parts)?;
    bench.limits.requests = args.nr_requests;
    for (name, value) in &args.set {
        tune(&mut bench, name, value)?;
    }
    if args.closed {
        bench.kind = LoopKind::Closed;
    }
    let how = IntakeConfig {
        contexts: args.contexts.into(),
        scale: args.scale,
        jitter: !args.no_jitter,
        devices: args.devices.clone(),
        regions: args.regions,
    };
    let paths = all_files(&args.file, &args.more);
    let inputs = paths.iter().filter(|file| !input::is_stdin(file));
    let files = Files::reading(inputs.map(|file| ("the trace", file.clone())));
    let mut files = files.forced(args.force);
    let kind = || FileKind::Csv(BlockCsv::<Vec<u8>>::HEADINGS.to_owned());
    let mut output = match &args.output {
        Some(path) if !is_stdout(path) => {
            let target = files.writes("--output", path, kind())?;
            files.prints()?;
            Some(BlockCsv::new(Written::File(target.create()?))?)
        }
        Some(_) => {
            files.prints()?;
            let stdout = io::BufWriter::new(io::stdout());
            Some(BlockCsv::new(Written::Stdout(stdout))?)
        }
        None => {
            files.prints()?;
            None
        }
    };
    let reader = open(&paths, args.format, global)?;
    let mut replay = BlockReplay::new(reader, how, bench.config());
    let (mut meter, mut explainer) = (BlockMeter::new(), BlockExplainer::new());
    run(&mut replay, &args.file, |names, event, spent| {
        meter.event(event);
        explainer.event(names, event, spent);
        match &mut output {
            Some(output) => output.event(names, event),
            None => Ok(()),
        }
    })?;
    match output.map(BlockCsv::into_inner) {
        Some(Written::Stdout(mut stdout)) => {
            stdout.flush()?;
            return Ok(Status::Success);
        }
        Some(Written::File(file)) => {
            file.finish()?;
            Output::told(args.output.as_deref().unwrap_or(Path::new("")), "");
        }
        None => {}
    }
    let reader = replay.reader();
    let replayed = Replayed {
        format: reader.format().name().to_owned(),
        damaged_places: reader.damage().places,
        elevator: bench.elevator.name.to_owned(),
        drive: args.rig.drive.clone(),
        closed: args.closed,
        left_out: replay.left_out(),
        summary: Inner(meter.finish(replay.names())),
        waits: Inner(explainer.finish(replay.names())),
    };
    print(&replayed, args.json)
}

/// Prints what was asked, and what requests waited for.
fn print(replayed: &Replayed, as_json: bool) -> anyhow::Result<Status> {
    let (summary, waits) = (&replayed.summary.0, &replayed.waits.0);
    let text = || text::replay(summary, waits, &replayed.format, out::view());
    out::answer(as_json, || replayed.answer(), text)?;
    Ok(Status::Success)
}

/// Where events are written.
enum Written {
    File(Output),
    Stdout(io::BufWriter<io::Stdout>),
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Written::File(file) => file.write(bytes),
            Written::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Written::File(file) => file.flush(),
            Written::Stdout(stdout) => stdout.flush(),
        }
    }
}

/// Writes a tunable of the elevator.
fn tune(bench: &mut Bench, name: &str, value: &str) -> anyhow::Result<()> {
    let elevator = bench.elevator.name;
    let number = match value {
        "true" => Some(1),
        "false" => Some(0),
        value => value.parse::<i64>().ok(),
    };
    let number = number.ok_or_else(|| anyhow!("--set {name}={value}: expected a whole number"))?;
    let written = bench.tuning.write(name, number);
    written.map_err(|error| {
        anyhow!(
            "--set {name}={value}: {error}; `domio elevator show {elevator}` lists what can be set"
        )
    })
}
