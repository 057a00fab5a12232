//! Requests of virtual disks in the trace of a simulated host, as events of a block trace.
//!
//! A piece of I/O is queued where the guest's request layer gets it, taken where it comes to the
//! drive, and complete where it leaves the drive. So time in the elevator is all of the way to the
//! drive: the guest's queue, the ring, the driver domain and its queue.

use super::BlockCsv;
use domio_blk::split::{DiskPlace, DiskRecord, RECORDS};
use domio_core::{DomainId, Names, Record, Sink};
use domio_trace::block::{BlockAct, BlockEvent, BlockFlags, BlockNames, BlockWay};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Pieces under way, at most; more have lost their ends.
const OPEN_MAX: usize = 1 << 18;

/// Writes the requests of a host's virtual disks as CSV.
pub struct DiskCsv<W, N> {
    csv: BlockCsv<W>,
    /// Name of a domain.
    name: N,
    names: BlockNames,
    /// Pieces that are not complete, by actor and number. Those of several disks of a guest may
    /// have one number: the one that is there longest goes first.
    open: BTreeMap<(u32, u32), Vec<(BlockEvent, bool)>>,
    count: u64,
    error: Option<io::Error>,
}

impl<W: Write, N: Fn(DomainId) -> String> DiskCsv<W, N> {
    /// Writes the headings. `name` gives the name of a domain.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn new(write: W, name: N) -> io::Result<Self> {
        Ok(DiskCsv {
            csv: BlockCsv::new(write)?,
            name,
            names: BlockNames::default(),
            open: BTreeMap::new(),
            count: 0,
            error: None,
        })
    }

    /// Events that were written.
    pub fn events(&self) -> u64 {
        self.count
    }

    /// The first error of any write since the start.
    ///
    /// # Errors
    /// That one.
    pub fn finish(self) -> io::Result<W> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.csv.into_inner()),
        }
    }

    fn submitted(&mut self, names: &Names, record: &Record) {
        let [word, sectors, low, high] = record.words;
        let domain = names.vcpu(record.actor).map(|vcpu| vcpu.domain);
        let name = domain.map_or_else(String::new, |domain| (self.name)(domain));
        let disk = word >> 24 & 0x7f;
        let event = BlockEvent {
            at: record.at,
            act: BlockAct::Queue,
            way: match word >> 31 {
                1 => BlockWay::Write,
                _ => BlockWay::Read,
            },
            flags: BlockFlags::default(),
            who: self.names.who(name.as_bytes()),
            device: self.names.device(format!("{name}.{disk}").as_bytes()),
            sector: u64::from(high) << 32 | u64::from(low),
            sectors,
            response: None,
        };
        if self.open.len() >= OPEN_MAX {
            self.open.clear();
        }
        let key = (record.actor.0, word & 0x00ff_ffff);
        self.open.entry(key).or_default().push((event, false));
        self.write(&event);
    }

    fn moved(&mut self, record: &Record) {
        let word = record.words[0];
        let drive = DiskPlace::Drive as u32;
        let (from, to) = (word >> 24 & 15, word >> 28 & 15);
        if from != drive && to != drive {
            return;
        }
        let key = (record.actor.0, word & 0x00ff_ffff);
        let Some(pieces) = self.open.get_mut(&key) else {
            return;
        };
        let leaves = from == drive;
        let Some(at) = pieces.iter().position(|(_, is_there)| *is_there == leaves) else {
            return;
        };
        let mut event = pieces[at].0;
        event.at = record.at;
        if leaves {
            pieces.remove(at);
            if pieces.is_empty() {
                self.open.remove(&key);
            }
            event.act = BlockAct::Complete;
        } else {
            pieces[at].1 = true;
            event.act = BlockAct::Issue;
        }
        self.write(&event);
    }

    fn write(&mut self, event: &BlockEvent) {
        if self.error.is_none() {
            self.count += 1;
            self.error = self.csv.event(&self.names, event).err();
        }
    }
}

impl<W: Write, N: Fn(DomainId) -> String> Sink for DiskCsv<W, N> {
    fn record(&mut self, names: &Names, record: &Record) {
        let is_disk = names
            .class(record.class)
            .is_some_and(|class| class.name == RECORDS.name);
        if !is_disk {
            return;
        }
        const SUBMITTED: u8 = DiskRecord::Submitted as u8;
        const MOVED: u8 = DiskRecord::Moved as u8;
        match record.number {
            SUBMITTED => self.submitted(names, record),
            MOVED => self.moved(record),
            _ => {}
        }
    }
}
