//! Which events belong to one request.
//!
//! Requests are told by their place: a request that the driver takes holds every bio that was
//! queued within its sectors, and the end of a command is the end of all of them. The device knows
//! nothing of bios: what is in the device, and how long, is counted by request, which is there even
//! if the trace has no bios (a recording of issue and completion alone).

use domio_core::Instant;
use domio_trace::block::{BlockAct, BlockEvent, BlockFlags, BlockWay};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Bios under way, at most. A trace that has more has lost the ends of most of them.
const OPEN_MAX: usize = 1 << 17;

/// A bio, from when it was queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PairedBio {
    /// Whose: number of the actor.
    pub who: u32,
    /// Direction.
    pub way: BlockWay,
    /// Marks.
    pub flags: BlockFlags,
    /// First sector.
    pub sector: u64,
    /// Number of sectors.
    pub sectors: u32,
    /// When it was queued.
    pub queued: Instant,
    /// When the driver took it, if that is told.
    pub issued: Option<Instant>,
    /// Requests that the driver took while it waited.
    pub passed: u64,
    /// A single line says how long the bio took, and nothing of where.
    pub told_whole: bool,
}

/// A request in the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PairedRequest {
    /// Direction.
    pub way: BlockWay,
    /// When the driver took it.
    pub issued: Instant,
}

/// What an event means for the bios and for the requests of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PairStep {
    /// One is there.
    Queued(PairedBio),
    /// The driver has taken one.
    Issued(PairedBio),
    /// One has ended.
    Ended(PairedBio, Instant),
    /// The device has a request.
    Taken(PairedRequest),
    /// It has been finished.
    Finished(PairedRequest, Instant),
    /// The driver has given it back unfinished, or its end was lost.
    GivenBack(PairedRequest),
}

/// Place of a bio: device, sector, and a number of its own.
type Place = (u32, u64, u64);

/// Bios under way.
#[derive(Debug, Default)]
pub struct Pairs {
    open: BTreeMap<Place, PairedBio>,
    /// Requests in the device, by device, first sector and way, with the sector behind the last.
    taken: BTreeMap<(u32, u64, u8), (u64, PairedRequest)>,
    numbered: u64,
    /// Requests that the driver took.
    issued: u64,
    /// Ends that single lines told in advance.
    told: BinaryHeap<Reverse<(Instant, u64)>>,
    /// Bios of those lines.
    ahead: BTreeMap<u64, PairedBio>,
    lost: u64,
    /// The trace has told an end.
    has_ends: bool,
    places: Vec<Place>,
}

impl Pairs {
    /// Bios whose end is not told; requests of the device, where the trace has no bios.
    pub fn unended(&self) -> u64 {
        match self.numbered {
            0 => self.taken.len() as u64,
            _ => self.open.len() as u64 + self.lost,
        }
    }

    /// Hands on what `event` means, and what ended before.
    pub fn event(&mut self, event: &BlockEvent, mut step: impl FnMut(PairStep)) {
        self.until(event.at, &mut step);
        if event.sectors == 0 {
            return;
        }
        match event.act {
            BlockAct::Queue => self.queued(event, &mut step),
            BlockAct::Issue => {
                self.issued(event, &mut step);
                self.taken(event, &mut step);
            }
            BlockAct::Requeue => {
                if let Some((_, request)) = self.taken.remove(&place_of(event)) {
                    step(PairStep::GivenBack(request));
                }
            }
            BlockAct::Complete => {
                self.ended(event, &mut step);
                self.finished(event, &mut step);
            }
            _ => {}
        }
    }

    /// The ends that lines told in advance, until `now`.
    pub fn until(&mut self, now: Instant, step: &mut impl FnMut(PairStep)) {
        while let Some(Reverse((at, number))) = self.told.peek().copied()
            && at <= now
        {
            self.told.pop();
            if let Some(bio) = self.ahead.remove(&number) {
                step(PairStep::Ended(bio, at));
            }
        }
    }

    fn queued(&mut self, event: &BlockEvent, step: &mut impl FnMut(PairStep)) {
        self.numbered += 1;
        let mut bio = PairedBio {
            who: event.who,
            way: event.way,
            flags: event.flags,
            sector: event.sector,
            sectors: event.sectors,
            queued: event.at,
            issued: None,
            passed: self.issued,
            told_whole: event.response.is_some(),
        };
        step(PairStep::Queued(bio));
        if let Some(response) = event.response {
            bio.passed = 0;
            let end = event.at.saturating_add(response);
            self.told.push(Reverse((end, self.numbered)));
            self.ahead.insert(self.numbered, bio);
            if self.ahead.len() > OPEN_MAX
                && let Some(Reverse((first, _))) = self.told.peek().copied()
            {
                self.until(first, step);
            }
            return;
        }
        if self.open.len() >= OPEN_MAX {
            if !self.has_ends {
                self.lost += 1;
                return;
            }
            self.lost += self.open.len() as u64;
            self.open.clear();
        }
        let place = (event.device, event.sector, self.numbered);
        self.open.insert(place, bio);
    }

    /// The bios of the event's way that begin within its sectors.
    fn within(&mut self, event: &BlockEvent, fits: impl Fn(&PairedBio) -> bool) {
        self.places.clear();
        let from = (event.device, event.sector, 0);
        let to = (event.device, event.end(), 0);
        if from >= to {
            return;
        }
        let range = self.open.range(from..to);
        let fitting = range.filter(|(_, bio)| bio.way == event.way && fits(bio));
        self.places.extend(fitting.map(|(place, _)| *place));
    }

    fn issued(&mut self, event: &BlockEvent, step: &mut impl FnMut(PairStep)) {
        self.within(event, |bio| bio.issued.is_none());
        for place in &self.places {
            if let Some(bio) = self.open.get_mut(place) {
                bio.issued = Some(event.at);
                bio.passed = self.issued - bio.passed;
                step(PairStep::Issued(*bio));
            }
        }
        self.issued += 1;
    }

    fn taken(&mut self, event: &BlockEvent, step: &mut impl FnMut(PairStep)) {
        if self.taken.len() >= OPEN_MAX {
            let lost = std::mem::take(&mut self.taken).into_values();
            lost.for_each(|(_, request)| step(PairStep::GivenBack(request)));
        }
        let request = PairedRequest {
            way: event.way,
            issued: event.at,
        };
        let before = self.taken.insert(place_of(event), (event.end(), request));
        if let Some((_, lost)) = before {
            step(PairStep::GivenBack(lost));
        }
        step(PairStep::Taken(request));
    }

    /// The requests that begin within the sectors of an end. Of one that continues behind, a part
    /// was finished: its last piece ends it.
    fn finished(&mut self, event: &BlockEvent, step: &mut impl FnMut(PairStep)) {
        let (device, from, way) = place_of(event);
        let mut next = from;
        while let Some((place, (end, request))) = self
            .taken
            .range((device, next, 0)..(device, event.end(), 0))
            .find(|((.., of), _)| *of == way)
            .map(|(place, taken)| (*place, *taken))
        {
            self.taken.remove(&place);
            if end > event.end() {
                self.taken
                    .insert((device, event.end(), way), (end, request));
            } else {
                step(PairStep::Finished(request, event.at));
            }
            next = place.1;
        }
    }

    fn ended(&mut self, event: &BlockEvent, step: &mut impl FnMut(PairStep)) {
        self.has_ends = true;
        self.within(event, |bio| bio.issued.is_some());
        if self.places.is_empty() {
            // A trace without what the driver takes.
            self.within(event, |bio| bio.issued.is_none());
        }
        for place in &self.places {
            let Some(bio) = self.open.remove(place) else {
                continue;
            };
            let end = bio.sector.saturating_add(u64::from(bio.sectors));
            if end > event.end() && place.1 < event.end() && bio.issued.is_some() {
                // It was cut: its last piece ends it.
                self.open.insert((place.0, event.end(), place.2), bio);
            } else {
                step(PairStep::Ended(bio, event.at));
            }
        }
    }
}

/// Device, first sector and way of an event's request.
fn place_of(event: &BlockEvent) -> (u32, u64, u8) {
    let way = match event.way {
        BlockWay::Read => 0,
        BlockWay::Write => 1,
        BlockWay::Discard => 2,
        BlockWay::None => 3,
    };
    (event.device, event.sector, way)
}
