//! The events of all cpus and buffers in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::packed::Packer;
use super::parts::{Clock, Layout};
use super::stream::{Missing, Stream};
use crate::error::{LinuxError, LinuxErrorKind, cut};
use crate::input::Place;
use crate::known::{IdMap, Known};
use crate::source::Source;
use crate::tracefs::Decoder;
use crate::tracefs::page::PageLayout;
use crate::{LinuxEvent, LinuxWhat};

pub(crate) struct Merge {
    place: Place,
    decoder: Decoder,
    clock: Clock,
    page: PageLayout,
    packer: Packer,
    streams: Vec<Stream>,
    /// The time of the current event of each stream that has one.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
    /// The buffer that has an event of a cpu, where there are several buffers.
    owners: Option<IdMap<u64, u32>>,
}

impl Merge {
    pub fn new(mut place: Place, layout: Layout, known: &mut Known) -> Result<Merge, LinuxError> {
        let Layout {
            decoder,
            clock,
            page,
            mut packer,
            parts,
            ..
        } = layout;
        if parts.is_empty() {
            return Err(LinuxErrorKind::Unusable(
                "trace.dat has no pages of events (options and descriptions alone); record with \
                 `trace-cmd record -e sched`"
                    .to_string(),
            )
            .at(0));
        }
        let buffers = parts.iter().map(|p| p.buffer).max().unwrap_or(0);
        let several = parts.iter().any(|p| p.buffer != buffers);
        let mut streams = Vec::with_capacity(parts.len());
        let mut heads = BinaryHeap::new();
        for part in parts.into_iter().filter(|p| p.size > 0) {
            let mut stream = Stream::new(part, &mut place, &page)?;
            if stream.advance(&mut place, &page, &mut packer, known)? {
                heads.push(Reverse((clock.time(stream.time()), streams.len())));
            }
            streams.push(stream);
        }
        Ok(Merge {
            place,
            decoder,
            clock,
            page,
            packer,
            streams,
            heads,
            owners: several.then(IdMap::default),
        })
    }

    /// All events were read: whether parts are missing.
    fn end(&self) -> Result<Option<LinuxEvent>, LinuxError> {
        let missing: Vec<_> = self
            .streams
            .iter()
            .filter(|s| s.missing.is_some())
            .collect();
        if missing.is_empty() {
            return Ok(None);
        }
        let sum = |f: fn(&Missing) -> u64| -> u64 {
            let all = missing.iter().filter_map(|s| s.missing.as_ref());
            all.map(f).fold(0, u64::saturating_add)
        };
        let mut cpus: Vec<_> = missing.iter().map(|s| s.part.cpu.to_string()).collect();
        cpus.dedup();
        cpus.truncate(12);
        let what = format!("the pages of cpu {}", cpus.join(", "));
        let (expected, found) = (sum(|m| m.expected), sum(|m| m.found));
        Err(cut(what, expected, found, self.place.len))
    }

    /// Whether another buffer has had this event of this cpu: then this is the same event once
    /// more.
    fn is_repeated(&mut self, index: usize) -> bool {
        let Some(owners) = &mut self.owners else {
            return false;
        };
        let stream = &self.streams[index];
        let Some(id) = self.decoder.id(stream.event()) else {
            return false;
        };
        let key = u64::from(stream.part.cpu) << 16 | u64::from(id);
        *owners.entry(key).or_insert(stream.part.buffer) != stream.part.buffer
    }
}

impl Source for Merge {
    fn contents(&self) -> String {
        let size: u64 = self.streams.iter().map(|s| s.part.size).sum();
        match size {
            0 => "no page of events".to_string(),
            n => format!("{n} bytes of pages with other events"),
        }
    }

    fn next(&mut self, known: &mut Known) -> Result<Option<LinuxEvent>, LinuxError> {
        loop {
            let Some(&Reverse((time, index))) = self.heads.peek() else {
                return self.end();
            };
            let repeated = self.is_repeated(index);
            let stream = &mut self.streams[index];
            let cpu = stream.part.cpu;
            if let Some(events) = stream.lost.take() {
                return Ok(Some(LinuxEvent {
                    time,
                    cpu,
                    current: None,
                    what: LinuxWhat::Lost { events },
                }));
            }
            let decoded = self.decoder.decode(stream.event(), time, known);
            if decoded.is_none() {
                let what = "events without a description, or shorter than theirs";
                known.damage.skip(what, stream.place());
            }
            let more = stream.advance(&mut self.place, &self.page, &mut self.packer, known)?;
            if let Some(mut head) = self.heads.peek_mut() {
                match more {
                    true => *head = Reverse((self.clock.time(stream.time()), index)),
                    false => drop(PeekMut::pop(head)),
                }
            }
            if repeated {
                known
                    .damage
                    .skip("events that another buffer has as well", 0);
                continue;
            }
            let (current, what) = decoded.unwrap_or((None, LinuxWhat::Other));
            return Ok(Some(LinuxEvent {
                time,
                cpu,
                current,
                what,
            }));
        }
    }
}
