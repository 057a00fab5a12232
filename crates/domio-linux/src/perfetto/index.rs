//! The first pass: where the events of each cpu are, what is known of threads and of the host.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use super::generic::Generics;
use super::wire::{Fields, Value, varint};
use crate::Tid;
use crate::bytes::text;
use crate::error::{LinuxError, cut, damaged};
use crate::input::Place;
use crate::known::Known;
use crate::platform::{MOST_SPOOLED, spool, zstd_reader};

/// Bytes that are read at a time.
const BLOCK: usize = 1 << 20;
/// Largest packet that is believed.
const MOST_PACKET: u64 = 512 << 20;

/// Where the bundle of events of a cpu is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bundle {
    pub offset: u64,
    pub size: u32,
    /// The time of the first event.
    start: u64,
    /// Whether it is among the unpacked packets.
    pub unpacked: bool,
}

/// What the first pass has found.
#[derive(Default)]
pub(crate) struct Index {
    /// Bundles by cpu and by the sequence of packets that they are in. A trace that was asked for
    /// two sets of events of the kernel has each set in a sequence of its own.
    pub streams: BTreeMap<(u32, u64), Vec<Bundle>>,
    pub generics: Generics,
    /// Packets that were packed.
    pub unpacked: Option<Place>,
    /// What ended the pass before the end of the file.
    pub error: Option<LinuxError>,
    /// Number of packets.
    pub packets: u64,
    /// Sums of lost events at the start and at the end.
    lost: [u64; 2],
}

/// Goes through all packets.
pub fn read(place: &mut Place, known: &mut Known) -> Result<Index, LinuxError> {
    let mut index = Index::default();
    let mut spool = spool();
    let mut unpacked = 0;
    index.error = packets(place, |packet, at| {
        index.packet(packet, at, false, known);
        for (field, value) in Fields::of(packet) {
            if matches!(field, 50 | 133) {
                match unpack(field, value.bytes(), &mut spool, MOST_SPOOLED - unpacked) {
                    Ok(size) => unpacked += size,
                    Err(_) => known
                        .damage
                        .skip("packed packets that cannot be unpacked", at),
                }
            }
        }
        Ok(())
    })?;
    if unpacked > 0 {
        let mut place = Place::new(spool)?;
        let error = packets(&mut place, |packet, at| {
            index.packet(packet, at, true, known);
            Ok(())
        })?;
        index.unpacked = Some(place);
        index.error = index.error.or(error);
    }
    // Bundles of one sequence can be written in another order than they were made.
    for bundles in index.streams.values_mut() {
        bundles.sort_by_key(|b| b.start);
    }
    known.losses.overwritten = index.lost[1].saturating_sub(index.lost[0]);
    Ok(index)
}

fn unpack(field: u32, packed: &[u8], into: &mut impl Write, most: u64) -> std::io::Result<u64> {
    match field {
        50 => std::io::copy(&mut flate2::read::ZlibDecoder::new(packed).take(most), into),
        _ => std::io::copy(&mut zstd_reader(packed)?.take(most), into),
    }
}

/// Calls `take` with each packet and its place. Returns what is wrong with the rest of the file.
fn packets(
    place: &mut Place,
    mut take: impl FnMut(&[u8], u64) -> Result<(), LinuxError>,
) -> Result<Option<LinuxError>, LinuxError> {
    let (mut block, mut base, mut at) = (Vec::new(), 0u64, 0usize);
    loop {
        let offset = base + at as u64;
        if offset >= place.len {
            return Ok(None);
        }
        fill(place, &mut block, &mut base, &mut at, 32)?;
        let left = place.len - offset;
        let head = &block[at..];
        let Some((tag, tag_size)) = varint(head) else {
            return Ok(Some(tag_error(head, offset, left)));
        };
        let Some((size, size_size)) = varint(&head[tag_size..]) else {
            return Ok(Some(tag_error(&head[tag_size..], offset, left)));
        };
        let start = tag_size + size_size;
        match (tag >> 3, tag & 7) {
            (_, 2) if size > left - start as u64 => {
                return Ok(Some(cut("a packet", size, left - start as u64, offset)));
            }
            (1, 2) if size <= MOST_PACKET => {
                let whole = start + size as usize;
                fill(place, &mut block, &mut base, &mut at, whole)?;
                let packet = block.get(at + start..at + whole);
                let packet = packet.ok_or_else(|| cut("a packet", size, 0, offset))?;
                take(packet, offset + start as u64)?;
                at += whole;
            }
            // Other fields of a trace are not known, and are skipped.
            (1.., 0) => at += start,
            (2.., 2) => {
                base = offset + start as u64 + size;
                block.clear();
                at = 0;
            }
            _ => {
                let expected = "a packet of 512 MiB at most";
                let found = format!("field {} of kind {}, {size} bytes", tag >> 3, tag & 7);
                return Ok(Some(damaged("Perfetto trace", expected, found, offset)));
            }
        }
    }
}

fn tag_error(head: &[u8], offset: u64, left: u64) -> LinuxError {
    match head.len() < 10 {
        true => cut("a packet", left + 1, left, offset),
        false => damaged(
            "Perfetto trace",
            "a packet",
            "a tag of more than ten bytes",
            offset,
        ),
    }
}

/// Reads until `n` bytes are in `block` from `at` on, or the file ends.
fn fill(
    place: &mut Place,
    block: &mut Vec<u8>,
    base: &mut u64,
    at: &mut usize,
    n: usize,
) -> std::io::Result<()> {
    if block.len() - *at >= n {
        return Ok(());
    }
    block.drain(..*at);
    *base += *at as u64;
    *at = 0;
    let have = block.len();
    block.resize(n.max(have) + BLOCK, 0);
    let read = place.read_at(*base + have as u64, &mut block[have..])?;
    block.truncate(have + read);
    Ok(())
}

impl Index {
    fn packet(&mut self, packet: &[u8], at: u64, unpacked: bool, known: &mut Known) {
        self.packets += 1;
        let mut fields = Fields::of(packet);
        let machine = |(field, value): (u32, Value<'_>)| field == 98 && value.number() != 0;
        let (mut foreign, mut sequence) = (None, None);
        let is_sequence = |field: &(u32, Value<'_>)| field.0 == 10;
        while let Some((field, value)) = fields.next() {
            let end = fields.offset();
            let data = value.bytes();
            match field {
                1 => {
                    if *foreign.get_or_insert_with(|| Fields::of(packet).any(machine)) {
                        known.damage.skip("bundles of events of other machines", at);
                        continue;
                    }
                    let offset = at + (end - data.len()) as u64;
                    let sequence = *sequence.get_or_insert_with(|| {
                        let found = Fields::of(packet).find(is_sequence);
                        found.map_or(0, |(_, value)| value.number())
                    });
                    self.bundle(data, offset, sequence, unpacked, known);
                }
                2 => process_tree(data, known),
                34 => self.statistics(data),
                45 => system(data, known),
                60 => {
                    for (field, value) in Fields::of(data) {
                        if field == 4 {
                            thread_descriptor(value.bytes(), known);
                        }
                    }
                }
                67 => {
                    let cpus = Fields::of(data).filter(|(field, _)| *field == 1).count();
                    known.recording.cpus = u32::try_from(cpus).ok();
                }
                _ => {}
            }
        }
        if fields.broken {
            known.damage.skip("packets whose end cannot be read", at);
        }
    }

    fn bundle(
        &mut self,
        data: &[u8],
        offset: u64,
        sequence: u64,
        unpacked: bool,
        known: &mut Known,
    ) {
        let (mut cpu, mut clock, mut start) = (0, 0, None);
        for (field, value) in Fields::of(data) {
            match field {
                1 => cpu = value.number(),
                2 if start.is_none() => start = first_number(value.bytes(), 1),
                4 => {
                    let columns = [
                        first_number(value.bytes(), 1),
                        first_number(value.bytes(), 7),
                    ];
                    start = columns.into_iter().chain([start]).flatten().min();
                }
                5 => clock = value.number(),
                11 => self.generics.describe(value.bytes()),
                _ => {}
            }
        }
        if known.recording.clock.is_none() {
            let clock = match clock {
                0 => "boot",
                2 => "global",
                3 => "local",
                4 => "mono_raw",
                _ => "unknown",
            };
            known.recording.clock = Some(clock.to_string());
        }
        let bundle = Bundle {
            offset,
            size: data.len() as u32,
            start: start.unwrap_or(0),
            unpacked,
        };
        let cpu = u32::try_from(cpu).unwrap_or(u32::MAX);
        self.streams
            .entry((cpu, sequence))
            .or_default()
            .push(bundle);
    }

    /// `FtraceStats`: lost events of each cpu, at the start (phase 1) and at the end (2).
    fn statistics(&mut self, data: &[u8]) {
        let (mut phase, mut lost) = (0, 0u64);
        for (field, value) in Fields::of(data) {
            match field {
                1 => phase = value.number(),
                2 => {
                    let counts = Fields::of(value.bytes());
                    let counts = counts.filter(|(field, _)| matches!(field, 3 | 4 | 8));
                    let sum = counts.map(|(_, v)| v.number()).fold(0, u64::saturating_add);
                    lost = lost.saturating_add(sum);
                }
                _ => {}
            }
        }
        if let 1 | 2 = phase {
            self.lost[phase as usize - 1] = lost;
        }
    }
}

/// The first number of a field.
fn first_number(data: &[u8], wanted: u32) -> Option<u64> {
    let (_, value) = Fields::of(data).find(|(field, _)| *field == wanted)?;
    match value {
        Value::Number(n) => Some(n),
        Value::Bytes(bytes) => Some(varint(bytes)?.0),
    }
}

fn tid(value: Value<'_>) -> Tid {
    Tid(u32::try_from(value.number() as i32).unwrap_or(0))
}

/// `ProcessTree`: processes with their command lines, threads with names.
fn process_tree(data: &[u8], known: &mut Known) {
    for (field, value) in Fields::of(data) {
        let (mut id, mut owner, mut name) = (Tid::IDLE, None, None);
        let (mut command, mut is_name) = (String::new(), false);
        for (part, value) in Fields::of(value.bytes()) {
            match (field, part) {
                (_, 1) => id = tid(value),
                (1, 2) | (2, 3) => owner = Some(tid(value)),
                (1, 3) | (2, 2) => {
                    name.get_or_insert(value.bytes());
                    if !command.is_empty() {
                        command.push(' ');
                    }
                    command.push_str(&text(value.bytes()));
                }
                (1, 9) => is_name = value.number() != 0,
                _ => {}
            }
        }
        if field == 1 && !is_name && !command.is_empty() {
            known.change(id, |task| task.command = Some(command));
        }
        match (field, owner) {
            (1, Some(parent)) => {
                known.process(id, id);
                known.change(id, |task| task.parent = Some(parent));
            }
            (2, Some(process)) => known.process(id, process),
            _ => {}
        }
        if let Some(name) = name {
            // A command line is a path as a rule; threads are named by the last part.
            let start = match field {
                1 => name.iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1),
                _ => 0,
            };
            let name = &name[start..];
            known.name(id, 0, &name[..name.len().min(15)]);
        }
    }
}

/// `ThreadDescriptor` of a track.
fn thread_descriptor(data: &[u8], known: &mut Known) {
    let (mut process, mut id, mut name) = (Tid::IDLE, Tid::IDLE, None);
    for (field, value) in Fields::of(data) {
        match field {
            1 => process = tid(value),
            2 => id = tid(value),
            5 => name = Some(value.bytes()),
            _ => {}
        }
    }
    if process != Tid::IDLE {
        known.process(id, process);
    }
    if let Some(name) = name {
        known.name(id, 0, &name[..name.len().min(15)]);
    }
}

/// `SystemInfo`: the kernel.
fn system(data: &[u8], known: &mut Known) {
    for (field, value) in Fields::of(data) {
        let value = value.bytes();
        match field {
            1 => {
                for (field, value) in Fields::of(value) {
                    let value = Some(text(value.bytes()));
                    match field {
                        3 => known.recording.kernel = value,
                        4 => known.recording.machine = value,
                        _ => {}
                    }
                }
            }
            2 => known.note("android build", text(value)),
            4 => known.recording.tool = Some(text(value)),
            _ => {}
        }
    }
}

/// Bytes of a bundle.
pub fn load(place: &mut Place, bundle: Bundle, into: &mut Vec<u8>) -> std::io::Result<()> {
    into.resize(bundle.size as usize, 0);
    let read = place.read_at(bundle.offset, into)?;
    into.truncate(read);
    Ok(())
}

/// Whether a file can begin with these bytes: packets, whose fields are plausible.
pub fn is_start(head: &[u8]) -> bool {
    let mut rest = head;
    while let Some(packet) = rest.strip_prefix(&[0x0a]) {
        let Some((size, n)) = varint(packet) else {
            return packet.len() < 10;
        };
        let packet = &packet[n..];
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size > packet.len() {
            // The last packet goes on behind the head.
            let tag = varint(packet);
            return tag.is_none_or(|(tag, _)| is_tag(tag));
        }
        let (packet, next) = packet.split_at(size);
        let mut fields = Fields::of(packet);
        let plausible = fields
            .by_ref()
            .all(|(field, _)| (1..=2000).contains(&field));
        if !plausible || fields.broken {
            return false;
        }
        rest = next;
    }
    rest.is_empty()
}

fn is_tag(tag: u64) -> bool {
    (1..=2000).contains(&(tag >> 3)) && matches!(tag & 7, 0 | 1 | 2 | 5)
}
