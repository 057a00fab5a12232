//! What `blktrace` writes: records of 48 bytes, each with some bytes of its own behind. Source:
//! `include/uapi/linux/blktrace_api.h` of Linux 6.1.

use super::damage::BlockDamage;
use super::event::{BlockAct, BlockEvent, BlockFlags, BlockWay, SECTOR};
use super::names::BlockNames;
use domio_core::Instant;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read};

/// First three bytes of a record's first word; the fourth is the version.
const MAGIC: u32 = 0x6561_7400;

/// Versions that this reader knows: the layout has not changed since.
const VERSION: u32 = 7;

/// Bytes of a record.
const RECORD: usize = 48;

/// Where in a record its parts are.
const PLACE_TIME: usize = 8;
const PLACE_SECTOR: usize = 16;
const PLACE_BYTES: usize = 24;
const PLACE_ACTION: usize = 28;
const PLACE_PID: usize = 32;
const PLACE_DEVICE: usize = 36;
const PLACE_OWN: usize = 46;

/// Bits of the category, in the upper half of the action.
const READ: u32 = 1;
const WRITE: u32 = 1 << 1;
const SYNC: u32 = 1 << 3;
const NOTIFY: u32 = 1 << 10;
const AHEAD: u32 = 1 << 11;
const META: u32 = 1 << 12;
const DISCARD: u32 = 1 << 13;

/// Set when the number of a control group is the first of the record's own bytes.
const CGROUP: u32 = 1 << 8;

/// Most processes whose command is known.
const COMMANDS_MAX: usize = 1 << 16;

/// Longest name of a command (`TASK_COMM_LEN`).
const COMMAND: usize = 16;

/// Whether a file of blktrace begins so, of either order of bytes.
pub fn is_begin(head: &[u8]) -> bool {
    let Some(first) = head.first_chunk::<4>() else {
        return false;
    };
    is_magic(u32::from_le_bytes(*first)) || is_magic(u32::from_be_bytes(*first))
}

fn is_magic(word: u32) -> bool {
    word == MAGIC | VERSION
}

/// Reads records. Each cpu's file is in the order of time, and so is what `blkparse -d` merged.
pub struct Binary<R> {
    read: BufReader<R>,
    big_endian: bool,
    /// Bytes before the record that is next.
    offset: u64,
    records: u64,
    /// Names of commands, by the number of the process.
    commands: HashMap<u32, Vec<u8>>,
    /// A number that is being written.
    digits: String,
    /// Nothing more is read.
    over: bool,
}

/// A record as it is in the file.
pub struct Raw {
    record: [u8; RECORD],
    /// What a notice has of its own.
    pdu: Vec<u8>,
}

/// What reading a record gave.
pub enum RecordStep {
    /// An event, with the time of the file.
    Event(BlockEvent),
    /// Nothing to hand on.
    Nothing,
    /// The end.
    End,
}

impl<R: Read> Binary<R> {
    /// Records of `read`.
    pub fn new(read: R) -> Self {
        Binary {
            read: BufReader::with_capacity(1 << 17, read),
            big_endian: false,
            offset: 0,
            records: 0,
            commands: HashMap::new(),
            digits: String::new(),
            over: false,
        }
    }

    /// Whole records, so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Reads a record, behind whatever is none, and what it means.
    pub fn step(
        &mut self,
        names: &mut BlockNames,
        damage: &mut BlockDamage,
    ) -> io::Result<RecordStep> {
        Ok(match self.read(damage)? {
            Some(raw) => self.decode(&raw, names),
            None => RecordStep::End,
        })
    }

    /// Exchanges the names of commands with `commands`.
    pub fn lend(&mut self, commands: &mut HashMap<u32, Vec<u8>>) {
        std::mem::swap(&mut self.commands, commands);
    }

    /// The time of a record that was read last (ns).
    pub fn time(&self, raw: &Raw) -> u64 {
        self.long(&raw.record, PLACE_TIME)
    }

    /// Whether a record that was read last is none of requests.
    pub fn is_notice(&self, raw: &Raw) -> bool {
        self.word(&raw.record, PLACE_ACTION) >> 16 & NOTIFY != 0
    }

    /// Reads a record, behind whatever is none. `None` at the end.
    pub fn read(&mut self, damage: &mut BlockDamage) -> io::Result<Option<Raw>> {
        if self.over {
            return Ok(None);
        }
        let mut record = [0; RECORD];
        let read = fill(&mut self.read, &mut record)?;
        if read < RECORD {
            self.over = true;
            if read > 0 {
                let why = format!("the file ends inside a record, after {read} of {RECORD} bytes");
                damage.add(|| format!("byte {}", self.offset), why);
            }
            return Ok(None);
        }
        if !self.find(&mut record, damage)? {
            return Ok(None);
        }
        self.records += 1;
        let begin = self.offset;
        self.offset += RECORD as u64;
        let own = usize::from(self.half(&record, PLACE_OWN));
        let action = self.word(&record, PLACE_ACTION);
        let mut pdu = Vec::new();
        if own > 0 {
            let is_name = action >> 16 & NOTIFY != 0;
            let kept = if is_name { own.min(64) } else { 0 };
            self.read.by_ref().take(kept as u64).read_to_end(&mut pdu)?;
            let rest = (own - kept) as u64;
            let skipped = io::copy(&mut self.read.by_ref().take(rest), &mut io::sink())?;
            if pdu.len() < kept || skipped < rest {
                self.over = true;
                let why = format!("the file ends inside the {own} bytes of a record's own");
                damage.add(|| format!("byte {begin}"), why);
            }
            self.offset += own as u64;
        }
        Ok(Some(Raw { record, pdu }))
    }

    /// Continues to the first place from `record` on that begins as a record does. `false` when the
    /// file ends before.
    fn find(&mut self, record: &mut [u8; RECORD], damage: &mut BlockDamage) -> io::Result<bool> {
        let from = self.offset;
        loop {
            let word = [record[0], record[1], record[2], record[3]];
            if is_magic(u32::from_le_bytes(word)) || is_magic(u32::from_be_bytes(word)) {
                self.big_endian = is_magic(u32::from_be_bytes(word));
                break;
            }
            record.copy_within(1.., 0);
            let Some(next) = self.read.fill_buf()?.first().copied() else {
                self.over = true;
                break;
            };
            self.read.consume(1);
            record[RECORD - 1] = next;
            self.offset += 1;
        }
        let skipped = self.offset - from;
        if skipped > 0 || self.over {
            let why = format!(
                "a record of version {VERSION} of blktrace should begin here; {skipped} bytes were \
                 skipped"
            );
            damage.add(|| format!("byte {from}"), why);
        }
        Ok(!self.over)
    }

    fn half(&self, record: &[u8; RECORD], at: usize) -> u16 {
        let bytes = [record[at], record[at + 1]];
        match self.big_endian {
            true => u16::from_be_bytes(bytes),
            false => u16::from_le_bytes(bytes),
        }
    }

    fn word(&self, record: &[u8; RECORD], at: usize) -> u32 {
        let bytes = [record[at], record[at + 1], record[at + 2], record[at + 3]];
        match self.big_endian {
            true => u32::from_be_bytes(bytes),
            false => u32::from_le_bytes(bytes),
        }
    }

    fn long(&self, record: &[u8; RECORD], at: usize) -> u64 {
        let (first, second) = (self.word(record, at), self.word(record, at + 4));
        let (high, low) = match self.big_endian {
            true => (first, second),
            false => (second, first),
        };
        u64::from(high) << 32 | u64::from(low)
    }

    /// What a record means that was read last.
    pub fn decode(&mut self, raw: &Raw, names: &mut BlockNames) -> RecordStep {
        let Raw { record, pdu } = raw;
        let action = self.word(record, PLACE_ACTION);
        let (category, number) = (action >> 16, action & 0xffff & !CGROUP);
        let pid = self.word(record, PLACE_PID);
        if category & NOTIFY != 0 {
            // Number 0 tells the command of a process; others give times and messages.
            if number == 0 {
                self.command(pid, pdu, action & CGROUP != 0);
            }
            return RecordStep::Nothing;
        }
        let Some(act) = act(number) else {
            return RecordStep::Nothing;
        };
        let device = self.word(record, PLACE_DEVICE);
        self.digits.clear();
        // Writing to a text never fails.
        let _ = write!(self.digits, "{},{}", device >> 20, device & 0xf_ffff);
        let device = names.device(self.digits.as_bytes());
        self.digits.clear();
        let _ = write!(self.digits, "{pid}");
        let command = self.commands.get(&pid).map_or(&b""[..], Vec::as_slice);
        let bytes = u64::from(self.word(record, PLACE_BYTES));
        RecordStep::Event(BlockEvent {
            at: Instant::from_nanos(self.long(record, PLACE_TIME)),
            act,
            way: match category {
                c if c & DISCARD != 0 => BlockWay::Discard,
                c if c & WRITE != 0 => BlockWay::Write,
                c if c & READ != 0 => BlockWay::Read,
                _ => BlockWay::None,
            },
            flags: BlockFlags {
                sync: category & SYNC != 0,
                meta: category & META != 0,
                ahead: category & AHEAD != 0,
            },
            who: names.process(command, self.digits.as_bytes()),
            device,
            sector: self.long(record, PLACE_SECTOR),
            sectors: bytes.div_ceil(SECTOR) as u32,
            response: None,
        })
    }

    /// A process has this command.
    fn command(&mut self, pid: u32, pdu: &[u8], has_group: bool) {
        let name = if has_group { pdu.get(8..) } else { Some(pdu) };
        let name = name.unwrap_or_default();
        let end = name.iter().position(|b| *b == 0).unwrap_or(name.len());
        let name = &name[..end.min(COMMAND)];
        if self.commands.len() < COMMANDS_MAX {
            self.commands.insert(pid, name.to_vec());
        }
    }
}

/// The event with that number (`enum blktrace_act`).
fn act(number: u32) -> Option<BlockAct> {
    Some(match number {
        1 => BlockAct::Queue,
        2 => BlockAct::BackMerge,
        3 => BlockAct::FrontMerge,
        4 => BlockAct::GetRequest,
        5 => BlockAct::Sleep,
        6 => BlockAct::Requeue,
        7 => BlockAct::Issue,
        8 => BlockAct::Complete,
        9 => BlockAct::Plug,
        10 | 11 => BlockAct::Unplug,
        12 => BlockAct::Insert,
        13 => BlockAct::Split,
        15 => BlockAct::Remap,
        _ => return None,
    })
}

/// Reads until `room` is full or the end.
fn fill(read: &mut impl Read, room: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < room.len() {
        match read.read(&mut room[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}
