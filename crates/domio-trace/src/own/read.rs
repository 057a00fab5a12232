//! Reads own traces.

use std::io::Read;

use domio_core::{ActorId, Class, Instant, Names, Record, VcpuName};

use super::declare::ClassJson;
use super::{
    ACTOR, ACTOR_VCPU, ACTORS_TAG, BLOCK_HEAD, BLOCK_MAX, BLOCK_TAG, CLASSES_TAG, END_MARK,
    END_TAG, HEADER_MAX, MAGIC, PREAMBLE, VERSION, pack,
};
use crate::bytes::{ByteStream, u32_at, u64_at};
use crate::{ReadOptions, TraceError, TraceErrorKind, TraceHeader};

/// Streams an own trace in the order in which it was written; at most one block (64 KiB) is in
/// memory.
pub struct OwnReader<R> {
    read: R,
    records: OwnRecords,
}

/// What an [`OwnReader`] knows, whatever it reads from.
pub(crate) struct OwnRecords {
    bytes: ByteStream,
    header: TraceHeader,
    announced: Announced,
    known: Vec<&'static Class>,
    /// What is left of the current block.
    block: Block,
    count: u64,
    last: Option<Instant>,
    ended: bool,
}

/// What the blocks so far have announced.
struct Announced {
    names: Names,
    /// Classes, of which `names` has two from the start.
    classes: usize,
}

/// The rest of the block that is being handed out.
#[derive(Default)]
struct Block {
    bytes: usize,
    count: u32,
    before: u64,
}

impl<R: Read> OwnReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// Any [`TraceError`], [`TraceErrorKind::Foreign`] unless the file starts as an own trace does.
    pub fn new(mut read: R, options: &ReadOptions) -> Result<Self, TraceError> {
        let records = OwnRecords::new(&mut read, options)?;
        Ok(OwnReader { read, records })
    }

    /// What the numbers of the records so far stand for.
    pub fn names(&self) -> &Names {
        self.records.names()
    }

    /// Where the trace comes from.
    pub fn header(&self) -> &TraceHeader {
        self.records.header()
    }

    /// The next record, `None` after the last. After an error there is no more.
    ///
    /// # Errors
    /// A [`TraceError`] where the file is damaged or ends without an end mark.
    pub fn next_record(&mut self) -> Result<Option<Record>, TraceError> {
        self.records.next_record(&mut self.read)
    }
}

impl OwnRecords {
    /// As [`OwnReader::new`].
    pub(crate) fn new(read: &mut dyn Read, options: &ReadOptions) -> Result<Self, TraceError> {
        let mut bytes = ByteStream::new();
        let header = read_header(&mut bytes, read)?;
        Ok(OwnRecords {
            bytes,
            header,
            announced: Announced {
                names: Names::new(),
                classes: 0,
            },
            known: options.classes.clone(),
            block: Block::default(),
            count: 0,
            last: None,
            ended: false,
        })
    }

    /// What the numbers of the records so far stand for.
    #[inline]
    pub(crate) fn names(&self) -> &Names {
        &self.announced.names
    }

    /// Where the trace comes from.
    pub(crate) fn header(&self) -> &TraceHeader {
        &self.header
    }

    /// As [`OwnReader::next_record`].
    pub(crate) fn next_record(
        &mut self,
        read: &mut dyn Read,
    ) -> Result<Option<Record>, TraceError> {
        while self.block.count == 0 {
            if self.ended {
                return Ok(None);
            }
            if let Err(e) = self.next_block(read) {
                self.ended = true;
                return Err(e.after(self.count, self.last));
            }
        }
        let bytes = &self.bytes.buffered()[..self.block.bytes];
        let unpacked = match pack::unpack(bytes, self.block.before) {
            Some((record, length)) => self.announced.check(&record).map(|()| (record, length)),
            None => Err(unpackable(bytes)),
        };
        let (record, length) = match unpacked {
            Ok(unpacked) => unpacked,
            Err(kind) => {
                self.ended = true;
                self.block.count = 0;
                return Err(kind.at(self.bytes.offset()).after(self.count, self.last));
            }
        };
        self.bytes.consume(length);
        self.block.bytes -= length;
        self.block.count -= 1;
        self.block.before = record.at.as_nanos();
        self.count += 1;
        self.last = Some(record.at);
        Ok(Some(record))
    }

    /// Reads the head of the next block and checks the block, or the end mark.
    fn next_block(&mut self, read: &mut dyn Read) -> Result<(), TraceError> {
        let offset = self.bytes.offset();
        if self.block.bytes != 0 {
            return Err(TraceErrorKind::Damaged {
                what: "a block of records",
                expected: "as many bytes as its records use",
                found: format!("{} bytes more", self.block.bytes),
            }
            .at(offset));
        }
        let io = |e| TraceErrorKind::Io(e).at(offset);
        let head = self.bytes.fill(read, BLOCK_HEAD).map_err(io)?;
        if head.len() < 4 {
            return Err(
                truncated("the part between two blocks, before the end mark", 4, head).at(offset),
            );
        }
        let tag = u32_at(head, 0);
        let (what, most) = match tag {
            END_TAG => return self.end_mark(read),
            BLOCK_TAG => ("a block of records", BLOCK_MAX),
            CLASSES_TAG => ("a block of classes", HEADER_MAX),
            ACTORS_TAG => ("a block of actors", BLOCK_MAX),
            tag => {
                return Err(TraceErrorKind::Damaged {
                    what: "the start of a block",
                    expected: "\"recs\", \"clas\", \"acts\" or \"ends\"",
                    found: format!("{tag:#010x}"),
                }
                .at(offset));
            }
        };
        if head.len() < BLOCK_HEAD {
            return Err(truncated("the head of a block", BLOCK_HEAD, head).at(offset));
        }
        let sum = u32_at(head, 4);
        let length = u32_at(head, 8) as usize;
        let count = u32_at(head, 12);
        let base = u64_at(head, 16);
        let least = match tag {
            CLASSES_TAG => 1,
            _ => pack::FIXED,
        };
        if length > most || count == 0 || count as usize * least > length {
            return Err(TraceErrorKind::Damaged {
                what: "the head of a block",
                expected: "something in no more bytes than a block has, each in no less than it \
                           needs",
                found: format!("{count} in {length} bytes"),
            }
            .at(offset));
        }
        let whole = self.bytes.fill(read, BLOCK_HEAD + length).map_err(io)?;
        if whole.len() < BLOCK_HEAD + length {
            return Err(truncated(what, BLOCK_HEAD + length, whole).at(offset));
        }
        check_sum(&whole[8..BLOCK_HEAD + length], sum, what).map_err(|k| k.at(offset))?;
        let content = &whole[BLOCK_HEAD..BLOCK_HEAD + length];
        match tag {
            CLASSES_TAG => {
                let declared = self.announced.declare(&self.known, content, count, base);
                declared.map_err(|k| k.at(offset))?;
            }
            ACTORS_TAG => {
                let named = self.announced.name(content, count, base);
                named.map_err(|k| k.at(offset))?;
            }
            _ => {
                self.bytes.consume(BLOCK_HEAD);
                self.block = Block {
                    bytes: length,
                    count,
                    before: base,
                };
                return Ok(());
            }
        }
        self.bytes.consume(BLOCK_HEAD + length);
        Ok(())
    }

    fn end_mark(&mut self, read: &mut dyn Read) -> Result<(), TraceError> {
        let offset = self.bytes.offset();
        let mark = self
            .bytes
            .fill(read, END_MARK + 1)
            .map_err(|e| TraceErrorKind::Io(e).at(offset))?;
        if mark.len() < END_MARK {
            return Err(truncated("the end mark", END_MARK, mark).at(offset));
        }
        check_sum(&mark[8..END_MARK], u32_at(mark, 4), "the end mark").map_err(|k| k.at(offset))?;
        let count = u64_at(mark, 8);
        if count != self.count {
            return Err(TraceErrorKind::Damaged {
                what: "the end mark",
                expected: "the number of records in the file",
                found: format!("{count} instead of {}", self.count),
            }
            .at(offset));
        }
        if mark.len() > END_MARK {
            return Err(TraceErrorKind::Damaged {
                what: "the end of the file",
                expected: "nothing behind the end mark",
                found: "more bytes".to_owned(),
            }
            .at(offset + END_MARK as u64));
        }
        self.bytes.consume(END_MARK);
        self.ended = true;
        Ok(())
    }
}

impl Announced {
    /// Takes a block of classes.
    fn declare(
        &mut self,
        known: &[&'static Class],
        json: &[u8],
        count: u32,
        first: u64,
    ) -> Result<(), TraceErrorKind> {
        let damaged = |found| TraceErrorKind::Damaged {
            what: "a block of classes",
            expected: "JSON with as many declarations as it says, of different classes, in order",
            found,
        };
        let classes: Vec<ClassJson> =
            serde_json::from_slice(json).map_err(|e| damaged(e.to_string()))?;
        if classes.len() != count as usize || first != self.classes as u64 {
            let found = format!("{} of {count} from {first} on", classes.len());
            return Err(damaged(found));
        }
        for class in classes {
            let number = self.classes;
            // Every stream has the first two, whatever else a later version declares in them.
            let always = number < 2 && self.names.classes()[number].name == class.name;
            if !always {
                if number > usize::from(u8::MAX) {
                    return Err(damaged("more than 256 classes".to_owned()));
                }
                let declared = class.class(known).map_err(damaged)?;
                if usize::from(self.names.add_class(declared).0) != number {
                    return Err(damaged(format!("class {number} called {:?}", class.name)));
                }
            }
            self.classes += 1;
        }
        Ok(())
    }

    /// Takes a block of actors.
    fn name(&mut self, packed: &[u8], count: u32, first: u64) -> Result<(), TraceErrorKind> {
        let damaged = |found| TraceErrorKind::Damaged {
            what: "a block of actors",
            expected: "as many vcpus as it says, in order",
            found,
        };
        let before = self.names.actors().len();
        let (actors, rest) = packed.as_chunks::<ACTOR>();
        let fits = actors.len() == count as usize && rest.is_empty();
        if !fits || first != before as u64 || before + actors.len() > ActorId::MAX as usize {
            let found = format!("{count} from {first} on in {} bytes", packed.len());
            return Err(damaged(found));
        }
        for actor in actors {
            if u32_at(actor, 0) != ACTOR_VCPU {
                return Err(damaged(format!("{actor:02x?}")));
            }
            let name = VcpuName::from_word(u32_at(actor, 4));
            self.names.add_actor(name);
        }
        Ok(())
    }

    /// Checks that the class and the actor of `record` were announced.
    #[inline]
    fn check(&self, record: &Record) -> Result<(), TraceErrorKind> {
        let class = record.class.index() < self.classes;
        let actors = self.names.actors().len();
        if class && (record.actor.index() < actors || record.actor == ActorId::NONE) {
            return Ok(());
        }
        Err(TraceErrorKind::Damaged {
            what: "a packed record",
            expected: "a class and an actor that were announced before",
            found: format!("class {}, actor {}", record.class.0, record.actor.0),
        })
    }
}

/// The error for what no record is packed as.
fn unpackable(bytes: &[u8]) -> TraceErrorKind {
    TraceErrorKind::Damaged {
        what: "a packed record",
        expected: "sizes and kinds that exist, and as many bytes as they need",
        found: format!("{:02x?}", &bytes[..bytes.len().min(pack::FIXED)]),
    }
}

fn read_header(bytes: &mut ByteStream, read: &mut dyn Read) -> Result<TraceHeader, TraceError> {
    let io = |e| TraceErrorKind::Io(e).at(0);
    let start = bytes.fill(read, PREAMBLE).map_err(io)?;
    let known = start.len().min(MAGIC.len());
    if start.is_empty() {
        return Err(TraceErrorKind::Empty.at(0));
    }
    if start[..known] != MAGIC[..known] {
        return Err(crate::error::foreign(start));
    }
    if start.len() < PREAMBLE {
        return Err(truncated("the preamble", PREAMBLE, start).at(0));
    }
    let version = u16::from_le_bytes([start[MAGIC.len()], start[MAGIC.len() + 1]]);
    if version != VERSION {
        return Err(TraceErrorKind::Version {
            found: version,
            known: VERSION,
        }
        .at(MAGIC.len() as u64));
    }
    let length = u32_at(start, MAGIC.len() + 2) as usize;
    let sum = u32_at(start, MAGIC.len() + 6);
    if length > HEADER_MAX {
        return Err(TraceErrorKind::Damaged {
            what: "the length of the header",
            expected: "16 MiB or less",
            found: format!("{length} bytes"),
        }
        .at(MAGIC.len() as u64 + 2));
    }
    let whole = bytes.fill(read, PREAMBLE + length).map_err(io)?;
    if whole.len() < PREAMBLE + length {
        return Err(truncated("the header", PREAMBLE + length, whole).at(0));
    }
    let json = &whole[PREAMBLE..PREAMBLE + length];
    let at = PREAMBLE as u64;
    check_sum(json, sum, "the header").map_err(|k| k.at(at))?;
    let header = serde_json::from_slice(json).map_err(|e| {
        TraceErrorKind::Damaged {
            what: "the header",
            expected: "JSON with the fields of a trace header",
            found: e.to_string(),
        }
        .at(at)
    })?;
    bytes.consume(PREAMBLE + length);
    Ok(header)
}

fn truncated(what: &'static str, expected: usize, found: &[u8]) -> TraceErrorKind {
    TraceErrorKind::Truncated {
        what,
        expected: expected as u64,
        found: found.len() as u64,
    }
}

fn check_sum(bytes: &[u8], stored: u32, what: &'static str) -> Result<(), TraceErrorKind> {
    let sum = crc32fast::hash(bytes);
    if sum == stored {
        return Ok(());
    }
    Err(TraceErrorKind::Damaged {
        what,
        expected: "bytes that match the stored CRC-32",
        found: format!("{sum:08x} instead of {stored:08x}"),
    })
}
