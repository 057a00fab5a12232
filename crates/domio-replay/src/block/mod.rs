//! Traces of block devices, run against request layer, elevator and drive.
//!
//! [`BlockReplay`] reads a trace and gives the events that the simulated rig makes of its
//! requests, in the terms of traces again: whoever sums up or explains a recording takes them as
//! they are.
//!
//! | module | holds |
//! |---|---|
//! | `intake` | which events of a trace are requests, whose, where, and when |
//! | `spread` | times of traces whose clock is too coarse |
//! | `writer` | events as CSV |
//! | `calls` | requests as calls of processes of a guest |
//! | `host` | requests of virtual disks in the trace of a simulated host |

mod calls;
mod host;
mod intake;
mod spread;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use calls::recorded_calls;
pub use host::DiskCsv;
pub use intake::{Contexts, IntakeConfig, LeftOut};
pub use writer::BlockCsv;

use domio_blk::elevator::IoWay;
use domio_blk::trace::{Happened, RigConfig, TraceAct, TraceRig};
use domio_core::Duration;
use domio_trace::block::{
    BlockAct, BlockEvent, BlockFlags, BlockNames, BlockReader, BlockTraceError, BlockWay,
    DeviceTime,
};
use intake::Intake;
use std::io::Read;

/// A trace that is being replayed.
pub struct BlockReplay<R> {
    intake: Intake<R>,
    rig: TraceRig,
    over: bool,
}

impl<R: Read> BlockReplay<R> {
    /// Replays what `reader` reads on the rig.
    pub fn new(reader: BlockReader<R>, how: IntakeConfig, rig: RigConfig) -> Self {
        let sectors = rig.drive.sectors();
        BlockReplay {
            intake: Intake::new(reader, how, sectors),
            rig: TraceRig::new(rig),
            over: false,
        }
    }

    /// The reader of the trace.
    pub fn reader(&self) -> &BlockReader<R> {
        self.intake.reader()
    }

    /// Whose the events are that were handed out.
    pub fn names(&self) -> &BlockNames {
        self.reader().names()
    }

    /// What of the trace was not replayed, so far.
    pub fn left_out(&self) -> LeftOut {
        LeftOut {
            wrapped: self.rig.wrapped(),
            late: self.rig.late(),
            ..self.intake.left_out()
        }
    }

    /// The next event of the rig; ends of commands with what their time in the drive went to.
    ///
    /// # Errors
    /// Those of the reader.
    #[inline]
    pub fn next_event(
        &mut self,
    ) -> Result<Option<(BlockEvent, Option<DeviceTime>)>, BlockTraceError> {
        loop {
            if let Some(happened) = self.rig.take() {
                return Ok(Some(event_of(&happened)));
            }
            if self.over {
                return Ok(None);
            }
            match self.intake.next_io()? {
                Some(io) => self.rig.offer(io),
                None => {
                    self.over = true;
                    self.rig.finish();
                }
            }
        }
    }
}

/// What happened, in the terms of traces.
fn event_of(happened: &Happened) -> (BlockEvent, Option<DeviceTime>) {
    let (act, spent) = match happened.act {
        TraceAct::Queued => (BlockAct::Queue, None),
        TraceAct::Merged => (BlockAct::BackMerge, None),
        TraceAct::Asleep => (BlockAct::Sleep, None),
        TraceAct::Issued => (BlockAct::Issue, None),
        TraceAct::Completed { spent, cached } => {
            let spent = DeviceTime {
                queued: spent.queued,
                seek: spent.seek,
                rotation: spent.rotation,
                transfer: spent.transfer,
                cached,
            };
            (BlockAct::Complete, Some(spent))
        }
    };
    let event = BlockEvent {
        at: happened.at,
        act,
        way: match happened.way {
            IoWay::Read => BlockWay::Read,
            IoWay::Write => BlockWay::Write,
        },
        flags: BlockFlags {
            sync: happened.sync,
            meta: happened.meta,
            ahead: false,
        },
        who: happened.word,
        device: 0,
        sector: happened.sector,
        sectors: happened.sectors,
        response: None,
    };
    (event, spent)
}

/// `time` times `factor`, in millionths.
fn scaled(time: Duration, factor: u64) -> Duration {
    let ns = u128::from(time.as_nanos()) * u128::from(factor) / 1_000_000;
    Duration::from_nanos(ns.min(1 << 62) as u64)
}
