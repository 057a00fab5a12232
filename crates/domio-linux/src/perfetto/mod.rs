//! Perfetto traces.
//!
//! The packets of a trace are not in the order of time, and can even be sorted by cpu. So there are
//! two passes: the first one finds the bundles of each cpu, the second one reads bundles as their
//! time comes.

mod bundle;
mod generic;
mod index;
mod wire;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::error::LinuxError;
use crate::input::Place;
use crate::known::Known;
use crate::source::Source;
use crate::{LinuxEvent, LinuxWhat};

use bundle::{Columns, Running};
use index::{Bundle, Index};

pub use index::is_start;

/// The bundles of one cpu in one sequence.
struct Stream {
    cpu: u32,
    bundles: std::vec::IntoIter<Bundle>,
    /// Events of the current bundle, and which of them is next.
    events: Vec<LinuxEvent>,
    next: usize,
    running: Running,
}

struct PerfettoReader {
    place: Place,
    index: Index,
    streams: Vec<Stream>,
    heads: BinaryHeap<Reverse<(u64, usize)>>,
    columns: Columns,
    bytes: Vec<u8>,
    previous: Option<LinuxEvent>,
}

pub fn source(mut place: Place, known: &mut Known) -> Result<Box<dyn Source>, LinuxError> {
    let mut index = index::read(&mut place, known)?;
    let streams = std::mem::take(&mut index.streams).into_iter();
    let streams = streams.map(|((cpu, _), bundles)| Stream {
        cpu,
        bundles: bundles.into_iter(),
        events: Vec::new(),
        next: 0,
        running: None,
    });
    let mut reader = PerfettoReader {
        place,
        index,
        streams: streams.collect(),
        heads: BinaryHeap::new(),
        columns: Columns::default(),
        bytes: Vec::new(),
        previous: None,
    };
    for index in 0..reader.streams.len() {
        if let Some(time) = reader.load(index, known)? {
            reader.heads.push(Reverse((time, index)));
        }
    }
    Ok(Box::new(reader))
}

impl PerfettoReader {
    /// Reads bundles of a stream until there is an event. Returns its time; none at the end.
    fn load(&mut self, index: usize, known: &mut Known) -> Result<Option<u64>, LinuxError> {
        let stream = &mut self.streams[index];
        for bundle in stream.bundles.by_ref() {
            let place = match &mut self.index.unpacked {
                Some(place) if bundle.unpacked => place,
                _ => &mut self.place,
            };
            index::load(place, bundle, &mut self.bytes)?;
            let whole = bundle::events(
                stream.cpu,
                &self.bytes,
                &mut stream.running,
                &mut self.columns,
                &self.index.generics,
                known,
                &mut stream.events,
            );
            if !whole {
                let what = "bundles of events whose end cannot be read";
                known.damage.skip(what, bundle.offset);
            }
            stream.next = 0;
            if let Some(event) = stream.events.first() {
                return Ok(Some(event.time));
            }
        }
        Ok(None)
    }
}

impl PerfettoReader {
    /// The next event of all streams.
    fn pop(&mut self, known: &mut Known) -> Result<Option<LinuxEvent>, LinuxError> {
        let Some(&Reverse((_, index))) = self.heads.peek() else {
            return match self.index.error.take() {
                Some(error) => Err(error),
                None => Ok(None),
            };
        };
        let stream = &mut self.streams[index];
        let event = stream.events[stream.next];
        stream.next += 1;
        let next = match stream.events.get(stream.next) {
            Some(next) => Some(next.time),
            None => self.load(index, known)?,
        };
        match next {
            Some(time) => {
                if let Some(mut head) = self.heads.peek_mut() {
                    *head = Reverse((time, index));
                }
            }
            None => drop(self.heads.pop()),
        }
        Ok(Some(event))
    }
}

impl Source for PerfettoReader {
    fn next(&mut self, known: &mut Known) -> Result<Option<LinuxEvent>, LinuxError> {
        loop {
            let event = self.pop(known)?;
            if event.is_some_and(|e| e.what != LinuxWhat::Other) && event == self.previous {
                known
                    .damage
                    .skip("events that another sequence has as well", 0);
                continue;
            }
            self.previous = event;
            return Ok(event);
        }
    }

    fn contents(&self) -> String {
        match self.index.packets {
            1 => "1 packet".to_string(),
            n => format!("{n} packets"),
        }
    }
}
