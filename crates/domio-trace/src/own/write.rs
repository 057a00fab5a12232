//! Writes own traces.

use std::io::{self, Write};

use domio_core::{Actor, Names, Record, Sink};

use super::declare::ClassJson;
use super::pack::{PACKED_MAX, pack};
use super::{
    ACTOR, ACTOR_VCPU, ACTORS_TAG, BLOCK_HEAD, BLOCK_MAX, BLOCK_TAG, CLASSES_TAG, END_TAG,
    HEADER_MAX, MAGIC, VERSION,
};
use crate::TraceHeader;

/// Bytes of a block's head and records from which on there is no room for a further record.
const FULL: usize = BLOCK_HEAD + BLOCK_MAX - PACKED_MAX;

/// Writes an own trace: [`TraceWriter::new`], then [`Sink::record`] for each record, then
/// [`TraceWriter::finish`].
///
/// Records are packed into a block of 64 KiB that goes to `W` in one call, so `W` needs no buffer
/// of its own. All records of a file come with the same [`Names`], whose classes and actors are
/// written before the first record that may name them. A failing write stops the writing; `finish`
/// tells. A writer that is dropped without `finish` leaves a file that readers call truncated.
pub struct TraceWriter<W: Write> {
    out: W,
    blocks: Blocks,
}

/// What is packed and waits for its block to be full. It is the same for every `W`, and compiled
/// here.
struct Blocks {
    /// Classes and actors of the stream that are written.
    classes: usize,
    actors: usize,
    /// Room for the head and the records of a block.
    block: Box<[u8; BLOCK_HEAD + BLOCK_MAX]>,
    /// Bytes of it that are used: more than [`FULL`] before the first record.
    used: usize,
    count: u32,
    base: u64,
    last: u64,
    records: u64,
    error: Option<io::Error>,
}

/// What comes before the records of an own trace: the format's name and `header`. The header is
/// followed by spaces where it leaves some of `room` bytes; a longer one is as long as it is.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for a header above 16 MiB.
pub fn trace_head(header: &TraceHeader, room: usize) -> io::Result<Vec<u8>> {
    let mut json = serde_json::to_vec(header).map_err(io::Error::other)?;
    let room = room.saturating_sub(super::PREAMBLE);
    json.resize(json.len().max(room), b' ');
    if json.len() > HEADER_MAX {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "a trace header of {} bytes: at most {HEADER_MAX}",
                json.len()
            ),
        ));
    }
    let mut head = Vec::with_capacity(super::PREAMBLE + json.len());
    head.extend(MAGIC);
    head.extend(VERSION.to_le_bytes());
    head.extend((json.len() as u32).to_le_bytes());
    head.extend(crc32fast::hash(&json).to_le_bytes());
    head.extend(json);
    Ok(head)
}

impl<W: Write> TraceWriter<W> {
    /// Starts a trace: writes `header` immediately.
    ///
    /// # Errors
    /// What `out` says; [`io::ErrorKind::InvalidInput`] for a header above 16 MiB.
    pub fn new(out: W, header: &TraceHeader) -> io::Result<Self> {
        TraceWriter::with_room(out, header, 0)
    }

    /// The same with a head of at least `room` bytes, so that another one of the same size can take
    /// its place when more is known ([`trace_head`]).
    ///
    /// # Errors
    /// As [`TraceWriter::new`].
    pub fn with_room(mut out: W, header: &TraceHeader, room: usize) -> io::Result<Self> {
        let head = trace_head(header, room)?;
        out.write_all(&head)?;
        Ok(TraceWriter {
            out,
            blocks: Blocks {
                classes: 0,
                actors: 0,
                block: Box::new([0; BLOCK_HEAD + BLOCK_MAX]),
                used: BLOCK_HEAD + BLOCK_MAX,
                count: 0,
                base: 0,
                last: 0,
                records: 0,
                error: None,
            },
        })
    }

    /// Records taken so far.
    pub fn records(&self) -> u64 {
        self.blocks.records + u64::from(self.blocks.count)
    }

    /// Writes what is left and the end mark, and returns the output.
    ///
    /// # Errors
    /// The first error of any write since the start.
    pub fn finish(mut self) -> io::Result<W> {
        self.blocks.finish(&mut self.out)?;
        Ok(self.out)
    }
}

impl<W: Write> Sink for TraceWriter<W> {
    #[inline]
    fn record(&mut self, names: &Names, record: &Record) {
        self.blocks.record(&mut self.out, names, record);
    }
}

impl Blocks {
    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.flush_block(out);
        if let Some(e) = self.error.take() {
            return Err(e);
        }
        let count = self.records.to_le_bytes();
        let mut mark = Vec::with_capacity(super::END_MARK);
        mark.extend(END_TAG.to_le_bytes());
        mark.extend(crc32fast::hash(&count).to_le_bytes());
        mark.extend(count);
        out.write_all(&mark)?;
        out.flush()
    }

    fn record(&mut self, out: &mut dyn Write, names: &Names, record: &Record) {
        // Both only grow, so that one sum reports either.
        if names.actors().len() + names.classes().len() != self.actors + self.classes {
            self.announce(out, names);
        }
        if self.used > FULL {
            self.begin_block(out, record.at.as_nanos());
        }
        let room = self.block[self.used..].first_chunk_mut();
        let room = room.expect("a block that is not full has room for a record");
        self.used += pack(record, self.last, room);
        self.last = record.at.as_nanos();
        self.count += 1;
    }

    #[cold]
    fn flush_block(&mut self, out: &mut dyn Write) {
        if self.count == 0 {
            return;
        }
        let block = &mut self.block[..self.used];
        put_head(block, BLOCK_TAG, self.count, self.base);
        if self.error.is_none()
            && let Err(e) = out.write_all(block)
        {
            self.error = Some(e);
        }
        self.records += u64::from(self.count);
        self.count = 0;
        self.used = self.block.len();
    }

    /// Begins a block whose first record is at `at`.
    #[cold]
    fn begin_block(&mut self, out: &mut dyn Write, at: u64) {
        self.flush_block(out);
        self.used = BLOCK_HEAD;
        self.base = at;
        self.last = at;
    }

    /// Writes the classes and actors that are new in `names`, behind the records so far.
    #[cold]
    fn announce(&mut self, out: &mut dyn Write, names: &Names) {
        self.flush_block(out);
        let known = std::mem::replace(&mut self.classes, names.classes().len());
        let classes = names.classes()[known..].iter();
        let classes: Vec<ClassJson> = classes.map(|class| ClassJson::of(class)).collect();
        if !classes.is_empty() {
            match serde_json::to_vec(&classes) {
                Ok(json) => self.put_block(out, CLASSES_TAG, classes.len(), known, &json),
                Err(e) => self.error = self.error.take().or(Some(io::Error::other(e))),
            }
        }
        let mut known = std::mem::replace(&mut self.actors, names.actors().len());
        for actors in names.actors()[known..].chunks(BLOCK_MAX / ACTOR) {
            let packed: Vec<u8> = actors.iter().copied().flat_map(pack_actor).collect();
            self.put_block(out, ACTORS_TAG, actors.len(), known, &packed);
            known += actors.len();
        }
    }

    /// Writes a block of `count` classes or actors, the first of which has number `first`.
    fn put_block(
        &mut self,
        out: &mut dyn Write,
        tag: u32,
        count: usize,
        first: usize,
        content: &[u8],
    ) {
        let mut block = vec![0; BLOCK_HEAD];
        block.extend(content);
        put_head(&mut block, tag, count as u32, first as u64);
        if self.error.is_none() {
            self.error = out.write_all(&block).err();
        }
    }
}

/// Writes the head of a whole block; everything behind the checksum is under it.
fn put_head(block: &mut [u8], tag: u32, count: u32, base: u64) {
    let length = (block.len() - BLOCK_HEAD) as u32;
    block[0..4].copy_from_slice(&tag.to_le_bytes());
    block[8..12].copy_from_slice(&length.to_le_bytes());
    block[12..16].copy_from_slice(&count.to_le_bytes());
    block[16..24].copy_from_slice(&base.to_le_bytes());
    let sum = crc32fast::hash(&block[8..]);
    block[4..8].copy_from_slice(&sum.to_le_bytes());
}

fn pack_actor(actor: Actor) -> [u8; ACTOR] {
    let Actor::Vcpu(name) = actor;
    let mut out = [0; ACTOR];
    out[..4].copy_from_slice(&ACTOR_VCPU.to_le_bytes());
    out[4..].copy_from_slice(&name.word().to_le_bytes());
    out
}
