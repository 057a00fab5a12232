//! Which events of a trace are requests, whose, where, and when.

use super::scaled;
use super::spread::TimeSpreader;
use domio_answer::rows;
use domio_blk::elevator::{IoWay, Submitter};
use domio_blk::trace::TraceIo;
use domio_core::{Duration, Instant};
use domio_trace::block::{BlockAct, BlockEvent, BlockReader, BlockTraceError, BlockWay};
use std::collections::{BTreeMap, VecDeque};
use std::io::Read;

/// Events that are looked at to say at which stage the trace has requests.
const LOOK: usize = 4096;

/// Requests whose end is awaited, at most. A trace that has more tells few ends.
const OPEN_MAX: usize = 1 << 18;

/// Whose requests share an I/O context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contexts {
    /// Those of a process; of a volume, where the trace has no processes.
    Process,
    /// Those of a volume, as the layer below virtual machines sees them.
    Volume,
    /// All.
    One,
}

/// How a trace is turned into requests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IntakeConfig {
    /// Whose requests share an I/O context.
    pub contexts: Contexts,
    /// Factor to times and gaps, in millionths: 500,000 for twice as fast.
    pub scale: u64,
    /// Whether the times of a coarse clock are spread over its steps.
    pub jitter: bool,
    /// Names of the devices or volumes that are replayed; all without any.
    pub devices: Vec<String>,
    /// Equal parts of the drive. A volume has one, the first volume the first, and so on from the
    /// start again. With 1 all volumes lie on top of each other.
    pub regions: u32,
}

impl Default for IntakeConfig {
    fn default() -> Self {
        IntakeConfig {
            contexts: Contexts::Process,
            scale: 1_000_000,
            jitter: true,
            devices: Vec::new(),
            regions: 1,
        }
    }
}

rows! {
    /// What of a trace is not replayed, or not as it is there.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
    pub struct LeftOut {
        /// Flushes and discards, which were not replayed.
        pub without_data: u64 = count("without_data");
        /// Requests of devices that were not asked for.
        pub elsewhere: u64 = count("elsewhere");
        /// Requests beyond the end of the drive, which were laid down from its beginning.
        pub wrapped: u64 = count("wrapped");
        /// Requests that went later than at their time, because too many waited.
        pub late: u64 = count("late");
    }
}

/// What is known of an I/O context.
#[derive(Clone, Copy, Default, Debug)]
struct Known {
    queued: Option<Instant>,
    ended: Option<Instant>,
}

/// Turns the events of a trace into requests.
pub struct Intake<R> {
    reader: BlockReader<R>,
    how: IntakeConfig,
    /// Sectors of a region.
    region: u64,
    /// Events that were looked at.
    seen: VecDeque<BlockEvent>,
    /// The act that makes a request; `None` before the trace was looked at.
    act: Option<BlockAct>,
    spread: TimeSpreader,
    over: bool,
    known: Vec<Known>,
    /// Contexts of awaited requests whose end is to come, by device and sector.
    open: BTreeMap<(u32, u64), u32>,
    left_out: LeftOut,
}

impl<R: Read> Intake<R> {
    /// Requests of what `reader` reads, for a drive of so many sectors.
    pub fn new(reader: BlockReader<R>, how: IntakeConfig, sectors: u64) -> Self {
        let resolution = reader.format().resolution();
        Intake {
            region: (sectors / u64::from(how.regions.max(1))).max(1),
            spread: TimeSpreader::new(resolution, how.jitter),
            reader,
            how,
            seen: VecDeque::new(),
            act: None,
            over: false,
            known: Vec::new(),
            open: BTreeMap::new(),
            left_out: LeftOut::default(),
        }
    }

    /// The reader.
    pub fn reader(&self) -> &BlockReader<R> {
        &self.reader
    }

    /// What was left out so far.
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// The next request; `None` after the last.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn next_io(&mut self) -> Result<Option<TraceIo>, BlockTraceError> {
        let act = match self.act {
            Some(act) => act,
            None => self.look()?,
        };
        loop {
            while let Some(event) = self.spread.take() {
                if let Some(io) = self.request(&event, act) {
                    return Ok(Some(io));
                }
            }
            if self.over {
                return Ok(None);
            }
            let event = match self.seen.pop_front() {
                Some(event) => Some(event),
                None => self.reader.next_event()?,
            };
            self.over = event.is_none();
            self.spread.add(event);
        }
    }

    /// Looks at the first events. Requests are made where they were queued; in a trace that does
    /// not say that, where the elevator or the driver got them.
    fn look(&mut self) -> Result<BlockAct, BlockTraceError> {
        while self.seen.len() < LOOK {
            let Some(event) = self.reader.next_event()? else {
                break;
            };
            self.seen.push_back(event);
            if event.act == BlockAct::Queue {
                break;
            }
        }
        let stages = [BlockAct::Queue, BlockAct::Insert, BlockAct::Issue];
        let is_there = |act: &BlockAct| self.seen.iter().any(|event| event.act == *act);
        let act = stages.into_iter().find(is_there);
        let act = act.unwrap_or(BlockAct::Queue);
        self.act = Some(act);
        Ok(act)
    }

    /// The request that an event makes, if it makes one.
    fn request(&mut self, event: &BlockEvent, act: BlockAct) -> Option<TraceIo> {
        if event.act == BlockAct::Complete {
            self.ended(event);
        }
        if event.act != act {
            return None;
        }
        let way = match event.way {
            BlockWay::Read => IoWay::Read,
            BlockWay::Write => IoWay::Write,
            BlockWay::Discard | BlockWay::None => {
                self.left_out.without_data += 1;
                return None;
            }
        };
        if event.sectors == 0 {
            self.left_out.without_data += 1;
            return None;
        }
        if !self.is_wanted(event.device) {
            self.left_out.elsewhere += 1;
            return None;
        }
        // Where nobody says who waits, everybody does.
        let flags = event.flags;
        let awaited = match (self.reader.format().has_processes(), way) {
            (false, _) => true,
            (true, IoWay::Read) => !flags.ahead,
            (true, IoWay::Write) => flags.sync,
        };
        let context = match self.how.contexts {
            Contexts::Process => event.who,
            Contexts::Volume => event.device,
            Contexts::One => 0,
        };
        let gap = self.gap(event, context, awaited);
        Some(TraceIo {
            at: Instant::ZERO + scaled(event.at.since(Instant::ZERO), self.how.scale),
            gap: scaled(gap, self.how.scale),
            way,
            sync: flags.sync,
            meta: flags.meta,
            awaited,
            sector: self.place(event),
            sectors: event.sectors,
            submitter: Submitter(context),
            word: event.who,
        })
    }

    fn is_wanted(&self, device: u32) -> bool {
        let name = self.reader.names().devices().get(device as usize);
        self.how.devices.is_empty() || name.is_some_and(|name| self.how.devices.contains(name))
    }

    /// Where a request lies on the drive.
    fn place(&self, event: &BlockEvent) -> u64 {
        match self.how.regions {
            0 | 1 => event.sector,
            regions => {
                let region = u64::from(event.device % regions);
                region * self.region + event.sector % self.region
            }
        }
    }

    /// Time between what the context waited for last, or asked for last, and this request.
    fn gap(&mut self, event: &BlockEvent, context: u32, awaited: bool) -> Duration {
        let at = context as usize;
        if self.known.len() <= at {
            self.known.resize(at + 1, Known::default());
        }
        let known = &mut self.known[at];
        let ended = known.ended.filter(|ended| *ended <= event.at);
        let base = ended.max(known.queued).unwrap_or(event.at);
        known.queued = Some(event.at);
        if awaited {
            match event.response {
                Some(response) => known.ended = Some(event.at.saturating_add(response)),
                None if self.open.len() < OPEN_MAX => {
                    self.open.insert((event.device, event.sector), context);
                }
                None => self.open.clear(),
            }
        }
        event.at.saturating_since(base)
    }

    /// The requests within the sectors of `event` have ended.
    fn ended(&mut self, event: &BlockEvent) {
        loop {
            let from = (event.device, event.sector);
            let to = (event.device, event.end().max(event.sector));
            let Some((place, context)) = self.open.range(from..to).next() else {
                return;
            };
            let (place, context) = (*place, *context);
            self.open.remove(&place);
            self.known[context as usize].ended = Some(event.at);
        }
    }
}
