//! Events that were recorded (`perf_event_attr`), and where the parts of their samples are.

use crate::bytes::{Endian, array};
use crate::known::IdMap;
use crate::tracefs::Decoder;

const IP: u64 = 1 << 0;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const READ: u64 = 1 << 4;
const CALLCHAIN: u64 = 1 << 5;
const ID: u64 = 1 << 6;
const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;
const STREAM_ID: u64 = 1 << 9;
const RAW: u64 = 1 << 10;
const BRANCH_STACK: u64 = 1 << 11;
const REGS_USER: u64 = 1 << 12;
const STACK_USER: u64 = 1 << 13;
const WEIGHT: u64 = 1 << 14;
const DATA_SRC: u64 = 1 << 15;
const IDENTIFIER: u64 = 1 << 16;
const TRANSACTION: u64 = 1 << 17;
const REGS_INTR: u64 = 1 << 18;
const PHYS_ADDR: u64 = 1 << 19;
const CGROUP: u64 = 1 << 21;
const WEIGHT_STRUCT: u64 = 1 << 24;

const TYPE_TRACEPOINT: u32 = 2;

/// One recorded event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attr {
    kind: u32,
    config: u64,
    sample_type: u64,
    read_format: u64,
    sample_id_all: bool,
    /// The clock that was asked for.
    pub clock: Option<i32>,
    pub name: Option<String>,
    pub samples: u64,
}

/// What is read of a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sample<'a> {
    pub tid: Option<u32>,
    pub time: Option<u64>,
    pub cpu: Option<u32>,
    pub raw: Option<&'a [u8]>,
    pub cgroup: Option<u64>,
}

impl Attr {
    /// Reads an attribute, of whatever size; later kernels have longer ones.
    pub fn read(data: &[u8], endian: Endian) -> Option<Attr> {
        let word = |at| Some(endian.u32(array(data, at)?));
        let long = |at| Some(endian.u64(array(data, at)?));
        let flags = long(40)?;
        // A field of bits starts at the other end of the word on hosts of the other endianness.
        let flag = |n: u32| match endian {
            Endian::Little => flags >> n & 1 != 0,
            Endian::Big => flags >> (63 - n) & 1 != 0,
        };
        Some(Attr {
            kind: word(0)?,
            config: long(8)?,
            sample_type: long(24)?,
            read_format: long(32)?,
            sample_id_all: flag(18),
            clock: word(92).filter(|_| flag(25)).map(|c| c as i32),
            name: None,
            samples: 0,
        })
    }

    /// The number of the tracepoint, if the event is one.
    pub fn tracepoint(&self) -> Option<u16> {
        match self.kind {
            TYPE_TRACEPOINT => u16::try_from(self.config).ok(),
            _ => None,
        }
    }

    /// A name for people.
    fn title(&self, decoder: Option<&Decoder>) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        let described = self.tracepoint().zip(decoder);
        if let Some(name) = described.and_then(|(id, decoder)| decoder.name(id)) {
            return name.to_string();
        }
        let name = match (self.kind, self.config) {
            (0, 0) => "cycles",
            (0, 1) => "instructions",
            (0, 3) => "cache-misses",
            (1, 0) => "cpu-clock",
            (1, 1) => "task-clock",
            (1, 2) => "page-faults",
            (1, 3) => "context-switches",
            (1, 9) => "dummy",
            (kind, config) => return format!("event {config:#x} of type {kind}"),
        };
        name.to_string()
    }

    /// Where the id is in a sample.
    fn id_place(&self) -> Option<usize> {
        if self.sample_type & IDENTIFIER != 0 {
            return Some(0);
        }
        let before = self.sample_type & (IP | TID | TIME | ADDR);
        (self.sample_type & ID != 0).then_some(8 * before.count_ones() as usize)
    }

    /// The parts of a sample; none if the sample is shorter than its parts.
    #[inline]
    fn sample<'a>(&self, body: &'a [u8], endian: Endian) -> Option<Sample<'a>> {
        let mut sample = Sample::default();
        let mut at = 0;
        let has = |bit| self.sample_type & bit != 0;
        for bit in [IDENTIFIER, IP, TID, TIME, ADDR, ID, STREAM_ID, CPU, PERIOD] {
            if !has(bit) {
                continue;
            }
            match bit {
                TID => sample.tid = Some(endian.u32(array(body, at + 4)?)),
                TIME => sample.time = Some(endian.u64(array(body, at)?)),
                CPU => sample.cpu = Some(endian.u32(array(body, at)?)),
                _ => {}
            }
            at += 8;
        }
        if has(READ) {
            at = self.after_read(body, at, endian)?;
        }
        if has(CALLCHAIN) {
            let entries = usize::try_from(endian.u64(array(body, at)?)).ok()?;
            at = at.checked_add(8)?.checked_add(entries.checked_mul(8)?)?;
        }
        if has(RAW) {
            let size = endian.u32(array(body, at)?) as usize;
            sample.raw = Some(body.get(at + 4..at + 4 + size)?);
            at = (at + 4 + size).next_multiple_of(8);
        }
        let long = has(BRANCH_STACK) || has(REGS_USER) || has(STACK_USER) || has(REGS_INTR);
        if has(CGROUP) && !long {
            let between = [WEIGHT, WEIGHT_STRUCT, DATA_SRC, TRANSACTION, PHYS_ADDR];
            at += 8 * between.into_iter().filter(|bit| has(*bit)).count();
            sample.cgroup = Some(endian.u64(array(body, at)?));
        }
        Some(sample)
    }

    /// Where the values of counters end.
    fn after_read(&self, body: &[u8], at: usize, endian: Endian) -> Option<usize> {
        let format = self.read_format;
        let count = |bits: u64| (format & bits).count_ones() as usize;
        let (times, id_and_lost) = (count(1 | 2), count(4 | 16));
        let words = match format & 8 != 0 {
            false => 1 + times + id_and_lost,
            true => {
                let members = usize::try_from(endian.u64(array(body, at)?)).ok()?;
                let each = members.checked_mul(1 + id_and_lost)?;
                each.checked_add(1 + times)?
            }
        };
        at.checked_add(words.checked_mul(8)?)
    }

    /// Thread, time and cpu at the end of a record other than a sample.
    fn trailer(&self, record: &[u8], endian: Endian) -> Option<Sample<'static>> {
        if !self.sample_id_all {
            return None;
        }
        let parts = [TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER];
        let parts = parts.into_iter().filter(|bit| self.sample_type & bit != 0);
        let size = 8 * parts.clone().count();
        let trailer = &record[record.len().checked_sub(size)?..];
        let mut sample = Sample::default();
        for (n, bit) in parts.enumerate() {
            match bit {
                TID => sample.tid = Some(endian.u32(array(trailer, 8 * n + 4)?)),
                TIME => sample.time = Some(endian.u64(array(trailer, 8 * n)?)),
                CPU => sample.cpu = Some(endian.u32(array(trailer, 8 * n)?)),
                _ => {}
            }
        }
        Some(sample)
    }
}

/// All recorded events of a file.
#[derive(Default)]
pub(crate) struct Attrs {
    attrs: Vec<Attr>,
    ids: IdMap<u64, u32>,
    /// Whether all samples have the same parts.
    uniform: bool,
}

impl Attrs {
    pub fn add(&mut self, attr: Attr, ids: impl Iterator<Item = u64>) {
        let index = self.attrs.len() as u32;
        self.ids.extend(ids.map(|id| (id, index)));
        self.attrs.push(attr);
        let parts = |a: &Attr| (a.sample_type, a.read_format);
        self.uniform = self.attrs.iter().all(|a| parts(a) == parts(&self.attrs[0]));
    }

    pub fn iter(&self) -> impl Iterator<Item = &Attr> {
        self.attrs.iter()
    }

    /// The event with `id` gets a name.
    pub fn name(&mut self, id: u64, name: String) {
        if let Some(index) = self.ids.get(&id) {
            self.attrs[*index as usize].name = Some(name);
        }
    }

    /// The event of a sample.
    #[inline]
    fn index(&self, body: &[u8], endian: Endian) -> Option<usize> {
        if self.attrs.len() == 1 {
            return Some(0);
        }
        let at = self.attrs.first()?.id_place()?;
        let id = endian.u64(array(body, at)?);
        self.ids.get(&id).map(|index| *index as usize)
    }

    /// The parts of a sample.
    #[inline]
    pub fn sample<'a>(&self, body: &'a [u8], endian: Endian) -> Option<Sample<'a>> {
        let index = match self.uniform {
            true => 0,
            false => self.index(body, endian)?,
        };
        self.attrs.get(index)?.sample(body, endian)
    }

    /// Counts a sample of an event that has no description.
    pub fn count(&mut self, body: &[u8], endian: Endian) {
        if let Some(index) = self.index(body, endian) {
            self.attrs[index].samples += 1;
        }
    }

    /// Thread, time and cpu at the end of a record other than a sample.
    pub fn trailer(&self, record: &[u8], endian: Endian) -> Sample<'static> {
        let first = self.attrs.first();
        let attr = first.and_then(|first| {
            // With several events the last word says which one.
            let id = record.len().checked_sub(8).filter(|_| !self.uniform)?;
            let id = endian.u64(array(record, id)?);
            let index = self
                .ids
                .get(&id)
                .filter(|_| first.sample_type & IDENTIFIER != 0)?;
            self.attrs.get(*index as usize)
        });
        let attr = attr.or(first);
        attr.and_then(|a| a.trailer(record, endian))
            .unwrap_or_default()
    }

    /// Whether the tracepoint called `name` was recorded.
    pub fn has(&self, name: &str, decoder: Option<&Decoder>) -> bool {
        let Some(decoder) = decoder else { return false };
        let tracepoints = self.attrs.iter().filter_map(Attr::tracepoint);
        tracepoints
            .into_iter()
            .any(|id| decoder.name(id) == Some(name))
    }

    /// What samples there were without a description: "34 samples of cycles".
    pub fn contents(&self, decoder: Option<&Decoder>) -> String {
        let counted = self.attrs.iter().filter(|a| a.samples > 0);
        let counted: Vec<_> = counted
            .take(4)
            .map(|a| match a.samples {
                1 => format!("1 sample of {}", a.title(decoder)),
                n => format!("{n} samples of {}", a.title(decoder)),
            })
            .collect();
        match counted.is_empty() {
            true => "no sample".to_string(),
            false => counted.join(", "),
        }
    }
}
