//! What was asked of a disk.

use super::pairs::{PairStep, Pairs};
use super::values::{Spread, Values};
use domio_answer::{Inner, Maybe, rows};
use domio_core::Instant;
use domio_trace::block::{BlockAct, BlockEvent, BlockNames, BlockWay, SECTOR};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// Ends of requests that are kept to say whether one continues where another ended.
const ENDS_MAX: usize = 1 << 16;

/// Requests of one way at one stage.
#[derive(Clone, Debug, Default)]
struct Sums {
    requests: u64,
    bytes: u64,
    sequential: u64,
    sizes: Values,
}

/// Requests at one stage: as they were queued, or as the driver took them.
#[derive(Debug, Default)]
struct Stage {
    ways: [Sums; 2],
    /// Where the last request of each submitter, device and way ended.
    ends: HashMap<(u32, u32, usize), u64>,
    /// Where the last one ended, whoever asked, by device.
    last: HashMap<u32, u64>,
    between: Values,
    before: Option<Instant>,
    positions: Values,
    distances: Values,
}

impl Stage {
    /// `stream` says whose requests make a sequence.
    fn add(&mut self, event: &BlockEvent, way: usize, stream: u32) {
        let sums = &mut self.ways[way];
        sums.requests += 1;
        sums.bytes += event.bytes();
        sums.sizes.add(event.bytes());
        let key = (stream, event.device, way);
        let goes_on = self.ends.get(&key) == Some(&event.sector);
        sums.sequential += u64::from(goes_on);
        if self.ends.len() >= ENDS_MAX {
            self.ends.clear();
        }
        self.ends.insert(key, event.end());
        if let Some(last) = self.last.insert(event.device, event.end()) {
            self.distances.add(last.abs_diff(event.sector));
        }
        if let Some(before) = self.before.replace(event.at) {
            self.between
                .add(event.at.saturating_since(before).as_nanos());
        }
        self.positions.add(event.sector);
    }

    fn is_empty(&self) -> bool {
        self.ways.iter().all(|way| way.requests == 0)
    }
}

/// Bios or requests in a place over time.
#[derive(Clone, Debug, Default)]
struct Depth {
    now: u64,
    most: u64,
    /// Sum over time (ns).
    sum: f64,
}

impl Depth {
    fn figures(&self, ns: u64) -> BlockDepth {
        BlockDepth {
            mean: self.sum / (ns.max(1) as f64),
            max: self.most,
        }
    }

    fn add(&mut self) {
        self.now += 1;
        self.most = self.most.max(self.now);
    }
}

/// What an actor asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    requests: [u64; 2],
    bytes: u64,
}

/// Sums up a trace of a block device.
#[derive(Debug, Default)]
pub struct BlockMeter {
    events: u64,
    last: Instant,
    queued: Stage,
    issued: Stage,
    merged: u64,
    others: u64,
    pairs: Pairs,
    elevator: Depth,
    device: Depth,
    waits: [Values; 2],
    services: Values,
    responses: [Values; 2],
    actors: BTreeMap<u32, Asked>,
}

/// Place of a way in arrays.
pub(super) fn index(way: BlockWay) -> Option<usize> {
    match way {
        BlockWay::Read => Some(0),
        BlockWay::Write => Some(1),
        BlockWay::Discard | BlockWay::None => None,
    }
}

impl BlockMeter {
    /// Nothing yet.
    pub fn new() -> Self {
        BlockMeter::default()
    }

    /// Adds an event.
    pub fn event(&mut self, event: &BlockEvent) {
        self.events += 1;
        let passed = event.at.saturating_since(self.last).as_nanos() as f64;
        self.elevator.sum += self.elevator.now as f64 * passed;
        self.device.sum += self.device.now as f64 * passed;
        self.last = event.at;
        let merges = [BlockAct::BackMerge, BlockAct::FrontMerge];
        self.merged += u64::from(merges.contains(&event.act));
        let way = index(event.way).filter(|_| event.sectors > 0);
        match (event.act, way) {
            (BlockAct::Queue, Some(way)) => {
                self.queued.add(event, way, event.who);
                let asked = self.actors.entry(event.who).or_default();
                asked.requests[way] += 1;
                asked.bytes += event.bytes();
            }
            // A device knows nothing of processes.
            (BlockAct::Issue, Some(way)) => self.issued.add(event, way, 0),
            (BlockAct::Queue, None) => self.others += 1,
            _ => {}
        }
        let BlockMeter {
            pairs,
            elevator,
            device,
            waits,
            services,
            responses,
            ..
        } = self;
        pairs.event(event, |step| match step {
            PairStep::Queued(bio) if bio.told_whole => {}
            PairStep::Queued(_) => elevator.add(),
            PairStep::Issued(bio) => {
                elevator.now -= 1;
                let wait = event.at.saturating_since(bio.queued);
                if let Some(way) = index(bio.way) {
                    waits[way].add(wait.as_nanos());
                }
            }
            PairStep::Ended(bio, at) => {
                if bio.issued.is_none() {
                    elevator.now -= u64::from(!bio.told_whole);
                }
                if let Some(way) = index(bio.way) {
                    responses[way].add(at.saturating_since(bio.queued).as_nanos());
                }
            }
            PairStep::Taken(_) => device.add(),
            PairStep::GivenBack(_) => device.now -= 1,
            PairStep::Finished(request, at) => {
                device.now -= 1;
                services.add(at.saturating_since(request.issued).as_nanos());
            }
        });
    }

    /// All values of response times, both ways.
    pub(super) fn compared(self) -> Compared {
        let stage = match self.queued.is_empty() {
            true => self.issued,
            false => self.queued,
        };
        let [reads, writes] = stage.ways;
        Compared {
            seconds: self.last.as_nanos() as f64 / 1e9,
            requests: [reads.requests, writes.requests],
            sequential: [reads.sequential, writes.sequential],
            sizes: [reads.sizes, writes.sizes],
            between: stage.between,
            positions: stage.positions,
            distances: stage.distances,
            responses: self.responses,
            services: self.services,
        }
    }

    /// The sums. Names are those of the trace.
    pub fn finish(mut self, names: &BlockNames) -> BlockSummary {
        let ns = self.last.as_nanos();
        let has_depth = self.device.most > 0;
        let has_bios = !self.queued.is_empty();
        let has_ends = self.pairs_ended();
        let unended = self.pairs.unended();
        let mut stages = Vec::new();
        for (name, stage) in [("queued", &mut self.queued), ("device", &mut self.issued)] {
            for (way, sums) in ["read", "write"].into_iter().zip(&mut stage.ways) {
                if let Some(bytes) = sums.sizes.spread() {
                    stages.push(BlockStage {
                        stage: name.into(),
                        way: way.into(),
                        requests: sums.requests,
                        bytes: sums.bytes,
                        size_bytes: Inner(bytes),
                        sequential: sums.sequential as f64 / sums.requests.max(1) as f64,
                    });
                }
            }
        }
        let stage = match self.queued.is_empty() {
            true => &mut self.issued,
            false => &mut self.queued,
        };
        let found = |name, unit, values: &mut Values| {
            values.spread().map(|spread| BlockFigure {
                name: Cow::Borrowed(name),
                unit: Cow::Borrowed(unit),
                spread,
            })
        };
        let [wait_r, wait_w] = &mut self.waits;
        let [response_r, response_w] = &mut self.responses;
        let figures = [
            found("between requests", "ns", &mut stage.between),
            found("position", "sector", &mut stage.positions),
            found(
                "distance to the request before",
                "sector",
                &mut stage.distances,
            ),
            found("response of reads", "ns", response_r),
            found("response of writes", "ns", response_w),
            found("reads in the elevator", "ns", wait_r),
            found("writes in the elevator", "ns", wait_w),
            found("in the device", "ns", &mut self.services),
        ];
        BlockSummary {
            seconds: ns as f64 / 1e9,
            events: self.events,
            merged: self.merged,
            without_data: self.others,
            unended: if has_ends { unended } else { 0 },
            stages,
            figures: figures.into_iter().flatten().collect(),
            elevator_depth: Maybe((has_depth && has_bios).then(|| self.elevator.figures(ns))),
            device_depth: Maybe(has_depth.then(|| self.device.figures(ns))),
            actors: speakers(&self.actors, names),
            devices: names.devices().len() as u64,
        }
    }

    /// Whether the trace tells the end of any request.
    fn pairs_ended(&mut self) -> bool {
        let ways = self.responses.iter_mut();
        ways.chain([&mut self.services])
            .any(|ends| ends.spread().is_some())
    }
}

/// Actors by command, the busiest first.
fn speakers(actors: &BTreeMap<u32, Asked>, names: &BlockNames) -> Vec<Speaker> {
    let mut commands: BTreeMap<&str, Speaker> = BTreeMap::new();
    for (who, asked) in actors {
        let name = names.command(*who);
        let sums = commands.entry(name).or_insert_with(|| Speaker {
            name: name.to_owned(),
            members: 0,
            reads: 0,
            writes: 0,
            bytes: 0,
        });
        sums.members += 1;
        sums.reads += asked.requests[0];
        sums.writes += asked.requests[1];
        sums.bytes += asked.bytes;
    }
    let mut commands: Vec<Speaker> = commands.into_values().collect();
    commands.sort_by_key(|c| std::cmp::Reverse(c.reads + c.writes));
    commands
}

/// What two traces are compared by.
pub(super) struct Compared {
    pub seconds: f64,
    pub requests: [u64; 2],
    pub sequential: [u64; 2],
    pub sizes: [Values; 2],
    pub between: Values,
    pub positions: Values,
    pub distances: Values,
    pub responses: [Values; 2],
    pub services: Values,
}

rows! {
    /// What a trace of a block device has.
    #[derive(Clone, PartialEq, Debug, Default)]
    pub struct BlockSummary {
        /// From the first event to the last.
        pub seconds: f64 = sum("seconds", "s");
        /// Events.
        pub events: u64 = count("events");
        /// Bios that were merged into requests.
        pub merged: u64 = count("merged");
        /// Flushes and discards.
        pub without_data: u64 = count("without_data");
        /// Bios whose end is not told, in a trace that tells ends; requests of the device, where no
        /// bios are told.
        pub unended: u64 = count("unended");
        /// Requests by stage and way.
        pub stages: Vec<BlockStage> = parts("stages", []);
        /// How times and places are spread.
        pub figures: Vec<BlockFigure> = parts("figures", []);
        /// Bios in the elevator over time; null where the trace does not say.
        pub elevator_depth: Maybe<BlockDepth> = fact("elevator_depth");
        /// Requests in the device over time; null where the trace does not say.
        pub device_depth: Maybe<BlockDepth> = fact("device_depth");
        /// Who asked, the busiest first.
        pub actors: Vec<Speaker> = parts("actors", []);
        /// Devices, volumes or files.
        pub devices: u64 = count("devices");
    }

    /// Requests of one way at one stage.
    #[derive(Clone, PartialEq, Debug)]
    pub struct BlockStage {
        /// `queued`: as they were asked for; `device`: as the driver took them.
        pub stage: Cow<'static, str> = key("stage");
        /// `read` or `write`.
        pub way: Cow<'static, str> = key("way");
        /// How many.
        pub requests: u64 = count("requests");
        /// Their bytes.
        pub bytes: u64 = count("bytes");
        /// How their sizes are spread.
        pub size_bytes: Inner<Spread> = fact("size_bytes");
        /// Part of them that begins where the one before ended: of the same actor, or in the
        /// device.
        pub sequential: f64 = fact("sequential");
    }

    /// How one kind of value is spread.
    #[derive(Clone, PartialEq, Debug)]
    pub struct BlockFigure {
        /// Of what.
        pub name: Cow<'static, str> = key("name");
        /// `ns` or `sector`, of 512 bytes.
        pub unit: Cow<'static, str> = fact("unit");
        /// How they are spread.
        pub spread: Spread = fact("spread");
    }

    /// How many there were at a time.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct BlockDepth {
        /// Mean over time.
        pub mean: f64 = fact("mean");
        /// Most.
        pub max: u64 = max("max", "");
    }

    /// Who asked, by command.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct Speaker {
        /// Name of the command, or of the volume.
        pub name: String = key("name");
        /// Processes of that command.
        pub members: u64 = count("members");
        /// Reads.
        pub reads: u64 = count("reads");
        /// Writes.
        pub writes: u64 = count("writes");
        /// Bytes of both.
        pub bytes: u64 = count("bytes");
    }
}

impl BlockSummary {
    /// Bytes of a sector, the unit of places.
    pub const SECTOR: u64 = SECTOR;
}
