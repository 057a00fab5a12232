//! A flash drive: dies behind channels, a write buffer, and the collection of garbage.
//!
//! A page of data lies on the die of its number modulo the number of dies; what is written goes to
//! the die that is free first, page by page. A die does one thing at a time, in order, so that a
//! read waits behind a program, unless the die can suspend the program. Nothing depends on
//! distances. A write is finished when it is in the buffer, which is as soon as enough of the
//! pages before are programmed.
//!
//! A die that has fewer free pages than a block erases one: it copies the pages that are valid and
//! then erases. The share of valid pages follows from the write amplification: of W pages that are
//! programmed, one is the host's.

use super::{Command, Drive, FinishedCommand, ServiceTime, insert_finished};
use crate::elevator::IoWay;
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Reverse;
use domio_core::{Duration, Instant};

/// A flash drive. Figures are assumed, within the ranges that data sheets of flash have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlashConfig {
    /// Sectors of 512 bytes.
    pub sectors: u64,
    /// Dies, each busy with one page or block at a time.
    pub dies: u32,
    /// Channels, each of which has every so many dies.
    pub channels: u32,
    /// Bytes of a page.
    pub page: u32,
    /// Pages of a block.
    pub block_pages: u32,
    /// Reading a page into the die's register.
    pub read: Duration,
    /// Programming a page.
    pub program: Duration,
    /// Erasing a block.
    pub erase: Duration,
    /// Bytes a second of a channel.
    pub channel: u64,
    /// Bytes a second between host and drive.
    pub link: u64,
    /// Work of the drive for a command.
    pub overhead: Duration,
    /// Taking a write into the buffer.
    pub buffered: Duration,
    /// Bytes of the write buffer.
    pub buffer: u64,
    /// Pages programmed for each page that the host writes, in hundredths: at least 100.
    pub amplification: u32,
    /// Pages of each die that are free at the start, beyond one block.
    pub free_pages: u32,
    /// What a read waits for a program to be suspended; zero where dies cannot do so.
    pub suspend: Duration,
    /// Commands that the drive holds at a time.
    pub depth: u32,
}

/// A SATA drive of about 2012: 10 dies, 4 KiB pages.
pub const SSD_SATA: FlashConfig = FlashConfig {
    sectors: 500_118_192,
    dies: 10,
    channels: 10,
    page: 4096,
    block_pages: 256,
    read: Duration::from_micros(75),
    program: Duration::from_micros(600),
    erase: Duration::from_micros(3000),
    channel: 400_000_000,
    link: 550_000_000,
    overhead: Duration::from_micros(5),
    buffered: Duration::from_micros(25),
    buffer: 4 << 20,
    amplification: 200,
    free_pages: 4096,
    suspend: Duration::ZERO,
    depth: 31,
};

/// An NVMe drive: 64 dies, 16 KiB pages.
pub const NVME: FlashConfig = FlashConfig {
    sectors: 1_953_525_168,
    dies: 64,
    channels: 8,
    page: 16_384,
    read: Duration::from_micros(70),
    program: Duration::from_micros(500),
    channel: 1_200_000_000,
    link: 3_500_000_000,
    buffered: Duration::from_micros(20),
    buffer: 64 << 20,
    suspend: Duration::from_micros(20),
    depth: 1023,
    ..SSD_SATA
};

/// A die.
#[derive(Clone, Copy, Debug)]
struct Die {
    /// Until when the die reads, and until when it programs and erases.
    reads: Instant,
    programs: Instant,
    free: u64,
}

/// A flash drive.
#[derive(Debug)]
pub struct FlashDrive {
    config: FlashConfig,
    dies: Vec<Die>,
    channels: Vec<Instant>,
    link: Instant,
    /// When each page in the buffer is programmed.
    programs: BinaryHeap<Reverse<Instant>>,
    /// Sectors that do not fill a page yet.
    rest: u64,
    /// Pages that were programmed: the host's, and copies.
    pages: [u64; 2],
    served: VecDeque<FinishedCommand>,
}

/// Time of `bytes` at a rate.
fn at_rate(bytes: u64, rate: u64) -> Duration {
    Duration::from_nanos(bytes.saturating_mul(1_000_000_000) / rate)
}

impl FlashConfig {
    /// Why there is no such drive, if there is none.
    pub fn fault(&self) -> Option<&'static str> {
        let counts = [self.dies, self.channels, self.block_pages, self.depth];
        let faults = [
            (
                counts.contains(&0),
                "a drive without dies, channels, pages or depth",
            ),
            (self.sectors == 0, "a drive without sectors"),
            (
                self.page < 512 || !self.page.is_multiple_of(512),
                "a page that is not of whole sectors",
            ),
            (
                self.link == 0 || self.channel == 0,
                "a link without bandwidth",
            ),
            (
                self.buffer < u64::from(self.page),
                "a write buffer smaller than a page",
            ),
            (self.amplification < 100, "a write amplification below 1"),
            (
                u64::from(self.amplification) > u64::from(self.block_pages) * 100,
                "a write amplification that leaves no free page in a block",
            ),
        ];
        faults.into_iter().find(|(is, _)| *is).map(|(_, why)| why)
    }
}

impl FlashDrive {
    /// A drive that has done nothing yet.
    ///
    /// # Panics
    /// When the configuration has a [`FlashConfig::fault`].
    pub fn new(config: &FlashConfig) -> FlashDrive {
        assert_eq!(config.fault(), None, "there is such a drive");
        let die = Die {
            reads: Instant::ZERO,
            programs: Instant::ZERO,
            free: u64::from(config.block_pages) + u64::from(config.free_pages),
        };
        FlashDrive {
            dies: alloc::vec![die; config.dies as usize],
            channels: alloc::vec![Instant::ZERO; config.channels as usize],
            link: Instant::ZERO,
            programs: BinaryHeap::new(),
            rest: 0,
            pages: [0, 0],
            served: VecDeque::new(),
            config: *config,
        }
    }

    /// Pages that were programmed so far: the host's, and copies.
    pub fn programmed(&self) -> [u64; 2] {
        self.pages
    }

    /// The die of a page's data, and the die's channel.
    fn place(&self, page: u64) -> (usize, usize) {
        let die = (page % u64::from(self.config.dies)) as usize;
        (die, die % self.channels.len())
    }

    /// When a page, or a part of one, is in the drive's memory.
    fn read_page(&mut self, now: Instant, page: u64, bytes: u64) -> Instant {
        let (at, channel) = self.place(page);
        let FlashConfig { read, suspend, .. } = self.config;
        let die = &mut self.dies[at];
        let busy = match suspend.is_zero() {
            true => die.programs,
            false => die.programs.min(now + suspend),
        };
        die.reads = die.reads.max(busy).max(now) + read;
        if die.programs > now {
            // A program continues after the read.
            die.programs = match suspend.is_zero() {
                true => die.programs.max(die.reads),
                false => die.programs + read,
            };
        }
        let ready = die.reads.max(self.channels[channel]);
        self.channels[channel] = ready + at_rate(bytes, self.config.channel);
        self.channels[channel]
    }

    /// Programs a page on the die that is free first, from `now` on.
    fn program_page(&mut self, now: Instant) {
        let config = self.config;
        let free = |die: &Die| die.programs.max(die.reads).max(now);
        let least = (0..self.dies.len()).min_by_key(|&at| free(&self.dies[at]));
        let at = least.expect("a drive has dies");
        let channel = at % self.channels.len();
        let die = &mut self.dies[at];
        let sent = self.channels[channel].max(now) + at_rate(config.page.into(), config.channel);
        self.channels[channel] = sent;
        let mut end = free(die).max(sent) + config.program;
        self.pages[0] += 1;
        self.programs.push(Reverse(end));
        die.free -= 1;
        if die.free < u64::from(config.block_pages) {
            let block = u64::from(config.block_pages);
            let gain = (block * 100 / u64::from(config.amplification)).max(1);
            for _ in gain..block {
                end = end + config.read + config.program;
            }
            self.pages[1] += block - gain;
            end += config.erase;
            die.free += gain;
        }
        die.programs = end;
    }

    fn start_read(&mut self, now: Instant, command: Command) -> (Instant, Duration) {
        let config = self.config;
        let page_sectors = u64::from(config.page) / 512;
        let begin = now + config.overhead;
        let (first, end) = (command.sector, command.sector + u64::from(command.sectors));
        let mut ready = begin;
        for page in first / page_sectors..end.div_ceil(page_sectors) {
            let start = first.max(page * page_sectors);
            let stop = end.min((page + 1) * page_sectors);
            ready = ready.max(self.read_page(begin, page, (stop - start) * 512));
        }
        let bytes = u64::from(command.sectors) * 512;
        let link = at_rate(bytes, config.link);
        self.link = self.link.max(ready) + link;
        let channel = at_rate(bytes.min(config.page.into()), config.channel);
        (self.link, config.overhead + config.read + channel + link)
    }

    fn start_write(&mut self, now: Instant, command: Command) -> (Instant, Duration) {
        let config = self.config;
        let link = at_rate(u64::from(command.sectors) * 512, config.link);
        let begin = now + config.overhead;
        self.link = self.link.max(begin) + link;
        let mut room = self.link;
        let page_sectors = u64::from(config.page) / 512;
        self.rest += u64::from(command.sectors);
        while self.rest >= page_sectors {
            self.rest -= page_sectors;
            while let Some(&Reverse(end)) = self.programs.peek() {
                let full = (self.programs.len() as u64 + 1) * u64::from(config.page);
                if end > room && full <= config.buffer {
                    break;
                }
                room = room.max(end);
                self.programs.pop();
            }
            self.program_page(room);
        }
        (
            room + config.buffered,
            config.overhead + link + config.buffered,
        )
    }
}

impl Drive for FlashDrive {
    fn sectors(&self) -> u64 {
        self.config.sectors
    }

    fn depth(&self) -> u32 {
        self.config.depth
    }

    fn start(&mut self, now: Instant, command: Command) {
        assert!(
            self.served.len() < self.depth() as usize,
            "a command beyond the depth"
        );
        let end = command.sector + u64::from(command.sectors);
        assert!(
            command.sectors > 0 && end <= self.sectors(),
            "{command:?} is on the drive"
        );
        let (at, worked) = match command.way {
            IoWay::Read => self.start_read(now, command),
            IoWay::Write => self.start_write(now, command),
        };
        let took = at.since(now);
        let transfer = worked.min(took);
        let spent = ServiceTime {
            queued: took - transfer,
            transfer,
            ..ServiceTime::default()
        };
        let finished = FinishedCommand {
            tag: command.tag,
            at,
            spent,
            cached: command.way == IoWay::Write,
        };
        insert_finished(&mut self.served, finished);
    }

    fn next(&self) -> Option<Instant> {
        self.served.front().map(|finished| finished.at)
    }

    fn advance(&mut self, now: Instant, done: &mut Vec<FinishedCommand>) {
        while self
            .served
            .front()
            .is_some_and(|finished| finished.at <= now)
        {
            done.extend(self.served.pop_front());
        }
    }
}
