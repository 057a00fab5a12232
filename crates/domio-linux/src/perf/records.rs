//! Records of perf.data, and what they say.

use super::attr::{Attr, Attrs, Sample};
use super::features;
use super::packed::Unpacker;
use crate::bytes::{Endian, array, text};
use crate::error::{LinuxError, cut, damaged};
use crate::input::Flow;
use crate::known::{IdMap, Known};
use crate::order::EventWindow;
use crate::source::Source;
use crate::tracefs::Decoder;
use crate::{LinuxEvent, LinuxWhat, Tid};

const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const LOST_SAMPLES: u32 = 13;
const CGROUP: u32 = 19;
const HEADER_ATTR: u32 = 64;
const TRACING_DATA: u32 = 66;
const FINISHED_ROUND: u32 = 68;
const AUXTRACE: u32 = 71;
const EVENT_UPDATE: u32 = 78;
const FEATURE: u32 = 80;
const COMPRESSED: u32 = 81;
const COMPRESSED2: u32 = 83;

/// Samples that a program of BPF left out are not lost.
const MISC_LOST_BY_BPF: u16 = 1 << 15;
/// Most bytes of descriptions in a pipe that are believed.
const MOST_DESCRIPTIONS: u64 = 512 << 20;

/// Head of a record.
#[derive(Clone, Copy)]
struct Head {
    kind: u32,
    misc: u16,
    size: usize,
}

impl Head {
    #[inline]
    fn read(data: &[u8], endian: Endian) -> Option<Head> {
        Some(Head {
            kind: endian.u32(array(data, 0)?),
            misc: endian.u16(array(data, 4)?),
            size: usize::from(endian.u16(array(data, 6)?)),
        })
    }
}

/// What records are read with, and what came of them.
pub(crate) struct Core {
    endian: Endian,
    attrs: Attrs,
    decoder: Option<Decoder>,
    window: EventWindow,
    /// Paths of control groups by their number.
    cgroups: IdMap<u64, String>,
    /// Samples without time or cpu.
    without_cpu: u64,
}

impl Core {
    pub fn new(endian: Endian, attrs: Attrs, decoder: Option<Decoder>) -> Core {
        Core {
            endian,
            attrs,
            decoder,
            window: EventWindow::default(),
            cgroups: IdMap::default(),
            without_cpu: 0,
        }
    }

    /// Takes up one record. Records that contradict their size are counted.
    #[inline]
    fn take(&mut self, head: Head, record: &[u8], at: u64, known: &mut Known) {
        let body = &record[8..];
        let taken = match head.kind {
            SAMPLE => self.sample(body, at, known),
            _ => self.other(head, body, at, known),
        };
        if taken.is_none() {
            known
                .damage
                .skip("records that are shorter than their content", at);
        }
    }

    #[inline]
    fn sample(&mut self, body: &[u8], at: u64, known: &mut Known) -> Option<()> {
        let sample = self.attrs.sample(body, self.endian)?;
        let (Some(time), Some(cpu)) = (sample.time, sample.cpu) else {
            self.without_cpu += 1;
            self.attrs.count(body, self.endian);
            return Some(());
        };
        let mut event = LinuxEvent {
            time,
            cpu,
            // Samples of a thread that has ended have no id.
            current: sample.tid.filter(|t| *t != u32::MAX).map(Tid),
            what: LinuxWhat::Other,
        };
        if let (Some(id), Some(tid)) = (sample.cgroup, event.current) {
            self.group(tid, id, known);
        }
        if let (Some(raw), Some(decoder)) = (sample.raw, &self.decoder) {
            match decoder.decode(raw, time, known) {
                Some((current, what)) => {
                    event.current = current.or(event.current);
                    event.what = what;
                }
                None => known
                    .damage
                    .skip("samples without a description, or shorter than theirs", at),
            }
        }
        if event.what == LinuxWhat::Other {
            self.attrs.count(body, self.endian);
        }
        self.window.push(event);
        Some(())
    }

    /// `tid` is in the control group with number `id`.
    fn group(&mut self, tid: Tid, id: u64, known: &mut Known) {
        let Some(path) = self.cgroups.get(&id) else {
            return;
        };
        let task = known.tasks.get(tid);
        if task.and_then(|t| t.cgroup.as_ref()) != Some(path) {
            known.change(tid, |task| task.cgroup = Some(path.clone()));
        }
    }

    fn other(&mut self, head: Head, body: &[u8], at: u64, known: &mut Known) -> Option<()> {
        let endian = self.endian;
        let word = |n: usize| Some(endian.u32(array(body, 4 * n)?));
        let long = |n: usize| Some(endian.u64(array(body, 8 * n)?));
        let trailer = self.attrs.trailer(body, endian);
        match head.kind {
            LOST => self.lost(long(1)?, trailer, known),
            LOST_SAMPLES if head.misc & MISC_LOST_BY_BPF == 0 => {
                self.lost(long(0)?, trailer, known);
            }
            COMM => {
                let (process, tid) = (Tid(word(0)?), Tid(word(1)?));
                known.process(tid, process);
                known.name(tid, trailer.time.unwrap_or(0), body.get(8..)?);
            }
            FORK => {
                let (process, parent_process) = (Tid(word(0)?), Tid(word(1)?));
                let (child, parent) = (Tid(word(2)?), Tid(word(3)?));
                let time = long(2)?;
                known.process(child, process);
                if parent_process != parent {
                    known.process(parent, parent_process);
                }
                known.fork(child, parent, time);
                let what = LinuxWhat::Fork { parent, child };
                self.event("sched_process_fork", trailer, what);
            }
            EXIT => {
                let tid = Tid(word(2)?);
                self.event("sched_process_exit", trailer, LinuxWhat::Exit { tid });
            }
            CGROUP => {
                self.cgroups.insert(long(0)?, text(body.get(8..)?));
            }
            FINISHED_ROUND => self.window.round(),
            HEADER_ATTR => {
                let size = (word(1)? as usize).max(48);
                let attr = Attr::read(body, endian)?;
                let ids = body.get(size..)?.as_chunks::<8>().0;
                if attr.clock.is_some() {
                    known.recording.clock = Some(features::clock(attr.clock));
                }
                self.attrs.add(attr, ids.iter().map(|id| endian.u64(*id)));
            }
            EVENT_UPDATE if long(0)? == 2 => {
                self.attrs.name(long(1)?, text(body.get(16..)?));
            }
            FEATURE => {
                let feature = u32::try_from(long(0)?).unwrap_or(u32::MAX);
                let data = body.get(8..)?;
                features::take(feature, data, at, endian, &mut self.attrs, known);
            }
            _ => {}
        }
        Some(())
    }

    /// `events` are missing.
    fn lost(&mut self, events: u64, trailer: Sample<'_>, known: &mut Known) {
        match (trailer.time, trailer.cpu) {
            (Some(time), Some(cpu)) => self.window.push(LinuxEvent {
                time,
                cpu,
                current: None,
                what: LinuxWhat::Lost { events },
            }),
            _ => known.losses.add_somewhere(events),
        }
    }

    /// A record says the same as the tracepoint `name`, which was not recorded.
    fn event(&mut self, name: &str, trailer: Sample<'_>, what: LinuxWhat) {
        let (Some(time), Some(cpu)) = (trailer.time, trailer.cpu) else {
            return;
        };
        // Records of time 0 say what was there before.
        if time != 0 && !self.attrs.has(name, self.decoder.as_ref()) {
            self.window.push(LinuxEvent {
                time,
                cpu,
                current: trailer.tid.filter(|t| *t != u32::MAX).map(Tid),
                what,
            });
        }
    }
}

/// Reads records from start to end.
pub(crate) struct Records {
    flow: Flow,
    core: Core,
    unpacker: Option<Unpacker>,
    /// Unpacked bytes that are not yet a whole record.
    unpacked: Vec<u8>,
    /// Where the data end, if the file says.
    expected: Option<u64>,
    /// What is wrong behind the data.
    after: Option<LinuxError>,
    /// Set when no more records can be read: what is wrong.
    ended: Option<Option<LinuxError>>,
}

impl Records {
    /// Records of `flow`, which should end at `expected`; `after` is what is wrong behind them.
    pub fn new(
        flow: Flow,
        core: Core,
        expected: Option<u64>,
        after: Option<LinuxError>,
    ) -> Records {
        Records {
            flow,
            core,
            unpacker: None,
            unpacked: Vec::new(),
            expected,
            after,
            ended: None,
        }
    }

    /// Reads one record.
    fn step(&mut self, known: &mut Known) -> Result<(), LinuxError> {
        let ready = self.flow.need(8)?;
        let at = self.flow.offset();
        if ready < 8 {
            let expected = self.expected.unwrap_or(at + ready as u64);
            if ready > 0 || at < expected {
                let left = expected.saturating_sub(at).max(8);
                return Err(cut("the data", left, ready as u64, at));
            }
            self.ended = Some(self.after.take());
            return Ok(());
        }
        let endian = self.core.endian;
        let Some(head) = Head::read(self.flow.ready(), endian) else {
            return Ok(());
        };
        if head.size < 8 {
            let expected = "8 bytes or more";
            return Err(damaged("size of a record", expected, head.size, at));
        }
        let ready = self.flow.need(head.size)?;
        if ready < head.size {
            return Err(cut("a record", head.size as u64, ready as u64, at));
        }
        let record = &self.flow.ready()[..head.size];
        let mut follows = 0;
        match head.kind {
            COMPRESSED => self.packed_records(8, head.size, at, known)?,
            COMPRESSED2 => {
                let size = array(record, 8).map_or(0, |b| endian.u64(b));
                let end = usize::try_from(size)
                    .unwrap_or(usize::MAX)
                    .saturating_add(16);
                self.packed_records(16.min(head.size), end.min(head.size), at, known)?;
            }
            TRACING_DATA => follows = array(record, 8).map_or(0, |b| u64::from(endian.u32(b))),
            AUXTRACE => follows = array(record, 8).map_or(0, |b| endian.u64(b)),
            _ => self.core.take(head, record, at, known),
        }
        self.flow.advance(head.size);
        if follows > 0 {
            self.following(head.kind, follows, known)?;
        }
        Ok(())
    }

    /// Data that follow a record and are not counted in its size.
    fn following(&mut self, kind: u32, size: u64, known: &mut Known) -> Result<(), LinuxError> {
        let at = self.flow.offset();
        if kind == TRACING_DATA {
            if size > MOST_DESCRIPTIONS {
                let what = "size of the descriptions of events";
                return Err(damaged(what, "512 MiB at most", size, at));
            }
            let ready = self.flow.need(size as usize)? as u64;
            if ready < size {
                return Err(cut("descriptions of events", size, ready, at));
            }
            let data = &self.flow.ready()[..size as usize];
            self.core.decoder = Some(features::tracing_data(data, at, known)?);
        }
        let skipped = self.flow.skip(size)?;
        match skipped < size {
            true => Err(cut("data of a record", size, skipped, at)),
            false => Ok(()),
        }
    }

    /// Takes up the records that are packed in bytes `start..end` of the current record.
    fn packed_records(
        &mut self,
        start: usize,
        end: usize,
        at: u64,
        known: &mut Known,
    ) -> Result<(), LinuxError> {
        let endian = self.core.endian;
        let mut packed = &self.flow.ready()[start..end];
        let unpacker = match &mut self.unpacker {
            Some(unpacker) => unpacker,
            none => none.insert(Unpacker::new()?),
        };
        loop {
            let piece = unpacker.piece(packed);
            let (used, piece) =
                piece.map_err(|e| damaged("packed records", "data of zstd", e, at))?;
            let whole = used == packed.len() && piece.is_empty();
            packed = &packed[used..];
            if piece.is_empty() && (whole || used == 0) {
                return Ok(());
            }
            self.unpacked.extend_from_slice(piece);
            let mut done = 0;
            while let Some(head) = Head::read(&self.unpacked[done..], endian) {
                if head.size < 8 {
                    let what = "size of a packed record";
                    return Err(damaged(what, "8 bytes or more", head.size, at));
                }
                let Some(record) = self.unpacked.get(done..done + head.size) else {
                    break;
                };
                self.core.take(head, record, at, known);
                done += head.size;
            }
            self.unpacked.drain(..done);
        }
    }
}

impl Source for Records {
    fn next(&mut self, known: &mut Known) -> Result<Option<LinuxEvent>, LinuxError> {
        loop {
            if let Some(event) = self.core.window.pop() {
                return Ok(Some(event));
            }
            if let Some(ended) = &mut self.ended {
                return match ended.take() {
                    Some(error) => Err(error),
                    None => Ok(None),
                };
            }
            if let Err(error) = self.step(known) {
                self.ended = Some(Some(error));
            }
            if self.ended.is_some() {
                self.core.window.finish();
            }
        }
    }

    fn contents(&self) -> String {
        let contents = self.core.attrs.contents(self.core.decoder.as_ref());
        match self.core.without_cpu {
            0 => contents,
            n => format!("{contents} ({n} of them without time or cpu)"),
        }
    }
}
