//! `perf.data`: files, with descriptions of events behind the data, and pipes, with descriptions
//! before the data.

mod attr;
mod features;
mod packed;
mod records;

use crate::bytes::{Cursor, Endian, array};
use crate::error::{LinuxError, cut, damaged};
use crate::input::{Flow, Place};
use crate::known::Known;
use crate::source::Source;

use attr::{Attr, Attrs};
use records::{Core, Records};

/// Bytes of the head of a file, and of a pipe.
const HEAD: u64 = 104;
const PIPE_HEAD: u64 = 16;

/// Smallest and largest attribute that is believed.
const ATTR: std::ops::RangeInclusive<u64> = 48..=4096;

fn endian(head: &[u8]) -> Endian {
    match head.starts_with(b"PERFILE2") {
        true => Endian::Little,
        false => Endian::Big,
    }
}

/// Whether the head is one of a pipe, by its size.
pub fn is_pipe(head: &[u8]) -> bool {
    array(head, 8).is_some_and(|size| endian(head).u64(size) == PIPE_HEAD)
}

/// Reads records that perf wrote to a pipe.
pub fn pipe(mut flow: Flow, known: &mut Known) -> Result<Box<dyn Source>, LinuxError> {
    let ready = flow.need(PIPE_HEAD as usize)? as u64;
    if ready < PIPE_HEAD {
        return Err(cut("head of perf.data", PIPE_HEAD, ready, 0));
    }
    let endian = endian(flow.ready());
    flow.advance(PIPE_HEAD as usize);
    known.recording.clock = Some(features::clock(None));
    let core = Core::new(endian, Attrs::default(), None);
    Ok(Box::new(Records::new(flow, core, None, None)))
}

/// Place and size of a part.
#[derive(Clone, Copy)]
struct Section {
    offset: u64,
    size: u64,
}

fn section(cursor: &mut Cursor<'_>) -> Result<Section, LinuxError> {
    Ok(Section {
        offset: cursor.u64()?,
        size: cursor.u64()?,
    })
}

/// Reads a file.
pub fn file(mut place: Place, known: &mut Known) -> Result<Box<dyn Source>, LinuxError> {
    let head = place.part("head of perf.data", 0, HEAD)?;
    let endian = endian(&head);
    let mut cursor = Cursor::new(&head, 0, "head of perf.data", endian);
    cursor.take(16)?;
    let attr_size = cursor.u64()?;
    let attr_section = section(&mut cursor)?;
    let data = section(&mut cursor)?;
    section(&mut cursor)?;
    let features = feature_bits(cursor.rest(), endian);
    let mut attrs = read_attrs(&mut place, attr_section, attr_size, endian)?;
    let clock = attrs.iter().find_map(|a| a.clock);
    known.recording.clock = Some(features::clock(clock));
    let (whole, mut decoder, mut after) = (data.offset.saturating_add(data.size), None, None);
    let mut table = whole;
    let has_tracepoints = attrs.iter().any(|a| a.tracepoint().is_some());
    // perf writes the size of the data when it ends, and the descriptions after that.
    if data.size == 0 || (has_tracepoints && !features.contains(&features::TRACING_DATA)) {
        if has_tracepoints {
            let what = "perf.data without its end (perf was killed, or still writes), which \
                        describes the events";
            let found = place.len.saturating_sub(data.offset);
            return Err(cut(what, found.max(data.size) + 1, found, place.len));
        }
    } else {
        for feature in &features {
            let read = place
                .part("table of features", table, 16)
                .and_then(|entry| {
                    let mut cursor = Cursor::new(&entry, table, "table of features", endian);
                    let Section { offset, size } = section(&mut cursor)?;
                    Ok((
                        offset,
                        place.part("descriptions behind the data", offset, size)?,
                    ))
                });
            table = table.saturating_add(16);
            match read {
                Ok((offset, part)) if *feature == features::TRACING_DATA => {
                    decoder = Some(features::tracing_data(&part, offset, known)?);
                }
                Ok((offset, part)) => {
                    features::take(*feature, &part, offset, endian, &mut attrs, known);
                }
                Err(error) if *feature == features::TRACING_DATA => {
                    return Err(match error.is_truncation() {
                        true => {
                            let what = "perf.data, whose descriptions of events are behind the \
                                        data,";
                            cut(what, table.max(place.len + 1), place.len, place.len)
                        }
                        false => error,
                    });
                }
                Err(error) => {
                    known.damage.skip("features that are cut", table - 16);
                    after.get_or_insert(error);
                }
            }
        }
    }
    let end = match data.size {
        0 => place.len,
        _ => whole.min(place.len),
    };
    let expected = (data.size > 0).then_some(whole);
    let flow = Flow::of_place(place, data.offset, end);
    let core = Core::new(endian, attrs, decoder);
    Ok(Box::new(Records::new(flow, core, expected, after)))
}

/// Numbers of the features that the file has. Hosts with words of 32 bits and of the other
/// endianness have the bits in another order; every file names its host, so feature 3 or 4 is
/// there.
fn feature_bits(bits: &[u8], endian: Endian) -> Vec<u32> {
    let long = |n: u32| {
        let word = array(bits, n as usize / 64 * 8).map(|b| endian.u64(b));
        word.is_some_and(|w| w >> (n % 64) & 1 != 0)
    };
    let short = |n: u32| {
        let word = array(bits, n as usize / 32 * 4).map(|b| endian.u32(b));
        word.is_some_and(|w| w >> (n % 32) & 1 != 0)
    };
    let is_long = long(3) || long(4) || !(short(3) || short(4));
    (0..256)
        .filter(|n| if is_long { long(*n) } else { short(*n) })
        .collect()
}

fn read_attrs(
    place: &mut Place,
    section: Section,
    size: u64,
    endian: Endian,
) -> Result<Attrs, LinuxError> {
    if !ATTR.contains(&size.saturating_sub(16)) {
        let what = "size of an event's attributes";
        return Err(damaged(what, "64 to 4,112 bytes", size, 16));
    }
    let mut attrs = Attrs::default();
    let data = place.part("attributes of events", section.offset, section.size)?;
    for (n, entry) in data.chunks_exact(size as usize).enumerate() {
        let at = section.offset + n as u64 * size;
        let (attr, ids) = entry.split_at(entry.len() - 16);
        let mut cursor = Cursor::new(ids, at, "ids of an event", endian);
        let ids = self::section(&mut cursor)?;
        let ids = place.part("ids of an event", ids.offset, ids.size)?;
        let ids = ids.as_chunks::<8>().0.iter().map(|id| endian.u64(*id));
        let attr = Attr::read(attr, endian);
        let attr = attr.ok_or_else(|| damaged("attributes", "48 bytes or more", size, at))?;
        attrs.add(attr, ids);
    }
    Ok(attrs)
}
