//! The small device behind the driver: a time for each command, and an order of service.

use crate::elevator::RequestId;
use alloc::vec::Vec;

/// How long a command takes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ServiceTimes {
    /// Each command (µs).
    pub base_us: u64,
    /// Each sector (ns); their sum is rounded down to µs.
    pub sector_ns: u64,
    /// A command that does not start where the one started before ends (µs).
    pub seek_us: u64,
}

/// Which of the commands that it holds the device serves next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiskPick {
    /// The one that has been there longest.
    Fifo,
    /// The one nearest to the head; the one that has been there longest of those.
    Near,
    /// All together.
    Parallel,
}

#[derive(Clone, Copy)]
struct Command {
    rq: RequestId,
    sector: u64,
    sectors: u32,
    /// Place in the order of arrival.
    number: u64,
}

/// The device.
pub(super) struct Disk {
    times: ServiceTimes,
    pick: DiskPick,
    head: u64,
    arrived: u64,
    waiting: Vec<Command>,
    /// Commands in service, with the time at which each ends (µs).
    serving: Vec<(u64, Command)>,
}

impl Disk {
    /// An idle device with the head at sector 0.
    pub fn new(times: ServiceTimes, pick: DiskPick) -> Self {
        Disk {
            times,
            pick,
            head: 0,
            arrived: 0,
            waiting: Vec::new(),
            serving: Vec::new(),
        }
    }

    /// A command arrives.
    pub fn take(&mut self, now_us: u64, rq: RequestId, sector: u64, sectors: u32) {
        let number = self.arrived;
        self.arrived += 1;
        self.waiting.push(Command {
            rq,
            sector,
            sectors,
            number,
        });
        self.start(now_us);
    }

    /// When the next command ends (µs).
    pub fn next_end(&self) -> Option<u64> {
        self.serving.iter().map(|(end, _)| *end).min()
    }

    /// The next command ends; the device continues with another one.
    pub fn finish(&mut self, now_us: u64) -> Option<RequestId> {
        let order = |(end, command): &(u64, Command)| (*end, command.number);
        let ended = (0..self.serving.len()).min_by_key(|at| order(&self.serving[*at]))?;
        let (_, command) = self.serving.remove(ended);
        self.start(now_us);
        Some(command.rq)
    }

    fn start(&mut self, now_us: u64) {
        while !self.waiting.is_empty()
            && (self.pick == DiskPick::Parallel || self.serving.is_empty())
        {
            let at = match self.pick {
                DiskPick::Fifo | DiskPick::Parallel => 0,
                DiskPick::Near => self.nearest(),
            };
            let command = self.waiting.remove(at);
            let seek = if command.sector == self.head {
                0
            } else {
                self.times.seek_us
            };
            let data = u64::from(command.sectors) * self.times.sector_ns / 1000;
            self.head = command.sector + u64::from(command.sectors);
            let end = now_us + self.times.base_us + data + seek;
            self.serving.push((end, command));
        }
    }

    fn nearest(&self) -> usize {
        let way = |at: &usize| self.waiting[*at].sector.abs_diff(self.head);
        (0..self.waiting.len()).min_by_key(way).unwrap_or(0)
    }
}
