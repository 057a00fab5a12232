//! What is looked for in the log of a run.

use super::TAIL;
use super::history::{IoHistory, SECTORS};
use super::world::{HeldRequest, IoEvent, IoRun};
use crate::elevator::{ElevatorInfo, IoPrio, IoWay, Promise};
use crate::queue::Submitted;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use domio_core::Instant;
use domio_suite::{CheckerInfo, Found, info, tail};

/// Every checker, in the order in which reports list them.
pub const CHECKERS: &[CheckerInfo] = &[
    info(
        "alive",
        "the device has work, or a timer is armed, while bios are open",
    ),
    info("all", "every bio is completed in the end"),
    info("once", "no bio is started or completed twice"),
    info(
        "depth",
        "the device never holds more requests than its depth",
    ),
    info(
        "data",
        "a request covers its bios, in order and without gaps",
    ),
    info(
        "order",
        "requests go in order of arrival, where this is promised",
    ),
    info("waits", "no request waits longer than is promised"),
    info("rest", "without requests, no timer is armed for ever"),
    info("repeats", "a second run is the same"),
];

struct Look<'a> {
    elevator: &'a ElevatorInfo,
    history: &'a IoHistory,
    run: &'a IoRun,
    found: Vec<Found>,
}

/// At most one finding of each checker.
pub fn observe(
    elevator: &ElevatorInfo,
    history: &IoHistory,
    run: &IoRun,
    again: &IoRun,
) -> Vec<Found> {
    let mut look = Look {
        elevator,
        history,
        run,
        found: Vec::new(),
    };
    let end = run.log.len();
    let stuck = run.stuck;
    if let Some(entries) = stuck {
        look.find(
            "alive",
            entries,
            String::from("bios are open, and nothing is to happen"),
        );
    }
    if run.restless {
        look.find(
            "rest",
            end,
            String::from("a timer is armed long after the last request"),
        );
    }
    if run != again {
        look.find("repeats", end, String::from("the second run differs"));
    }
    look.conservation(stuck.is_some());
    if elevator.promise == Promise::Arrival {
        look.order();
    }
    if history.service_us.is_some() {
        look.waits();
    }
    look.found
}

impl Look<'_> {
    fn find(&mut self, checker: &'static str, entries: usize, message: String) {
        if self.found.iter().any(|f| f.checker == checker) {
            return;
        }
        let last = entries.checked_sub(1).and_then(|at| self.run.log.get(at));
        self.found.push(Found {
            checker,
            at: Instant::from_nanos(last.map_or(0, |entry| entry.us * 1000)),
            message,
            log_tail: tail(&self.run.log, entries, TAIL),
        });
    }

    /// Every bio once, no more than `depth` at a time, and data where they belong.
    fn conservation(&mut self, stuck: bool) {
        let bios = self.run.bios.len();
        let (mut started, mut completed) = (vec![0u32; bios], vec![0u32; bios]);
        let mut done = [vec![0u32; SECTORS as usize], vec![0u32; SECTORS as usize]];
        let mut held = 0;
        for (i, entry) in self.run.log.iter().enumerate() {
            match &entry.event {
                IoEvent::Start(command) => {
                    held += 1;
                    self.count(i, &mut started, command);
                    self.covers(i, command);
                }
                IoEvent::Complete(command) => {
                    held -= 1;
                    self.count(i, &mut completed, command);
                    let from = command.sector as usize;
                    let map = &mut done[command.way.index()];
                    let sectors = map.iter_mut().skip(from).take(command.sectors as usize);
                    sectors.for_each(|sector| *sector += 1);
                }
                IoEvent::Requeue(command) => {
                    held -= 1;
                    for tag in &command.tags {
                        started[*tag as usize] = 0;
                    }
                }
                _ => {}
            }
            if held > self.history.depth {
                self.find("depth", i + 1, format!("the device holds {held} requests"));
            }
        }
        let end = self.run.log.len();
        let lost = completed.iter().position(|times| *times == 0);
        if let Some(tag) = lost {
            if !stuck {
                self.find("all", end, format!("bio {tag} was never completed"));
            }
        } else {
            self.map(&done);
        }
    }

    fn count(&mut self, i: usize, times: &mut [u32], command: &HeldRequest) {
        for tag in &command.tags {
            times[*tag as usize] += 1;
            if times[*tag as usize] > 1 {
                self.find("once", i + 1, format!("bio {tag} a second time"));
            }
        }
    }

    fn covers(&mut self, i: usize, command: &HeldRequest) {
        let mut end = command.sector;
        let mut whole = true;
        for tag in &command.tags {
            let bio = &self.run.bios[*tag as usize];
            whole &= (bio.sector, bio.way) == (end, command.way);
            end = bio.end();
        }
        let most = self.history.sectors;
        whole &= end == command.sector + u64::from(command.sectors);
        whole &= command.tags.len() == 1 || command.sectors <= most;
        if !whole {
            self.find(
                "data",
                i + 1,
                format!("{command:?} is not what its bios are"),
            );
        }
    }

    /// A flat map of the disk: each sector was transferred as often as it was asked for.
    fn map(&mut self, done: &[Vec<u32>; 2]) {
        let mut asked = [vec![0u32; SECTORS as usize], vec![0u32; SECTORS as usize]];
        for bio in &self.run.bios {
            for sector in bio.sector..bio.end() {
                asked[bio.way.index()][sector as usize] += 1;
            }
        }
        if asked != *done {
            let message = String::from("some sector was not transferred as often as asked for");
            self.find("data", self.run.log.len(), message);
        }
    }

    /// Times (entry, us) at which requests were made for bios, by tag.
    fn made(&self) -> BTreeMap<u64, (usize, u64)> {
        let mut made = BTreeMap::new();
        let mut sleeping = BTreeMap::new();
        for (i, entry) in self.run.log.iter().enumerate() {
            match &entry.event {
                IoEvent::Submit(bio, Submitted::Queued) => {
                    made.insert(bio.tag, (i, entry.us));
                }
                IoEvent::Submit(bio, Submitted::Asleep) => {
                    sleeping.insert(bio.submitter.0, bio.tag);
                }
                IoEvent::Resume(who, Submitted::Queued) => {
                    if let Some(tag) = sleeping.remove(&who.0) {
                        made.insert(tag, (i, entry.us));
                    }
                }
                _ => {}
            }
        }
        made
    }

    fn order(&mut self) {
        let made = self.made();
        let mut last = 0;
        let mut back: Vec<u64> = Vec::new();
        for (i, entry) in self.run.log.iter().enumerate() {
            match &entry.event {
                IoEvent::Requeue(command) => back.extend(&command.tags),
                IoEvent::Start(command) if !command.tags.iter().any(|tag| back.contains(tag)) => {
                    let of = command.tags.iter().filter_map(|tag| made.get(tag));
                    let Some((first, _)) = of.min() else { continue };
                    if *first < last {
                        self.find("order", i + 1, format!("{command:?} was passed"));
                    }
                    last = *first;
                }
                _ => {}
            }
        }
    }

    /// Longest wait (us) of a request of this direction.
    fn limit(&self, way: IoWay) -> u64 {
        let service = self.history.service_us.unwrap_or(0);
        let ms = match (self.elevator.promise, way) {
            (Promise::Arrival, _) => 0,
            (Promise::Expiry { read_ms, .. }, IoWay::Read) => read_ms,
            (Promise::Expiry { write_ms, .. }, IoWay::Write) => write_ms,
            (Promise::Turns { wait_ms }, _) => wait_ms,
        };
        // As many as there can be ahead, a batch of each direction, and a tick.
        let ahead = 3 * u64::from(self.history.requests) + 64;
        ms as u64 * 1000 + ahead * service + 10_000
    }

    fn waits(&mut self) {
        let made = self.made();
        for (i, entry) in self.run.log.iter().enumerate() {
            let IoEvent::Start(command) = &entry.event else {
                continue;
            };
            let oldest = command
                .tags
                .iter()
                .filter_map(|tag| Some((made.get(tag)?, tag)))
                .min();
            let Some(((_, since), tag)) = oldest else {
                continue;
            };
            let idle = self.run.bios[*tag as usize].prio == IoPrio::Idle;
            let waited = entry.us - since;
            if !idle && waited > self.limit(command.way) {
                self.find(
                    "waits",
                    i + 1,
                    format!("{command:?} has waited for {waited} us"),
                );
            }
        }
    }
}
