//! What requests waited for, and behind whom.

use super::books::{Books, IDLE};
use super::pairs::{PairStep, PairedBio, Pairs};
use super::summary::index;
use super::values::{Spread, Values};
use domio_answer::{Inner, Maybe, rows};
use domio_core::Instant;
use domio_trace::block::{BlockEvent, BlockNames, DeviceTime, OTHERS};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Longest waits that are told one by one.
const LONGEST: usize = 10;

/// Commands that are distinguished, at most; those that come later are one, called [`OTHERS`].
const COMMANDS_MAX: usize = 128;

/// Sums of the requests of one command and way.
#[derive(Clone, Debug, Default)]
struct Waiter {
    requests: u64,
    elevator_ns: u64,
    device_ns: u64,
    untold_ns: u64,
    parts: [u64; 4],
    cached: u64,
    split: u64,
    responses: Values,
}

/// Explains a trace of a block device.
#[derive(Debug, Default)]
pub struct BlockExplainer {
    pairs: Pairs,
    books: Books,
    /// Number of the command of each actor, and commands by name.
    commands: Vec<u32>,
    names: BTreeMap<String, u32>,
    waiters: BTreeMap<(u32, usize), Waiter>,
    longest: Vec<BlockWait>,
    last: Instant,
    issued: u64,
    ended: u64,
    /// Whether the device took a request, and finished one.
    taken: bool,
    finished: bool,
    told_ahead: bool,
}

impl BlockExplainer {
    /// Nothing yet.
    pub fn new() -> Self {
        BlockExplainer::default()
    }

    /// Adds an event; the end of a command with what its time in the device went to, where that is
    /// known.
    pub fn event(&mut self, names: &BlockNames, event: &BlockEvent, spent: Option<&DeviceTime>) {
        self.books.pass(event.at.saturating_since(self.last));
        self.last = event.at;
        self.told_ahead |= event.response.is_some();
        let mut pairs = std::mem::take(&mut self.pairs);
        pairs.event(event, |step| self.step(names, step, spent));
        self.pairs = pairs;
    }

    fn step(&mut self, names: &BlockNames, step: PairStep, spent: Option<&DeviceTime>) {
        match step {
            PairStep::Queued(bio) if bio.told_whole => {}
            PairStep::Queued(bio) => {
                let command = self.command(names, bio.who);
                self.books.queued(command);
            }
            PairStep::Issued(bio) => {
                self.issued += 1;
                let command = self.command(names, bio.who);
                self.books.issued(command);
            }
            PairStep::Ended(bio, at) => self.end(names, &bio, at, spent),
            // Waits are of those who asked.
            PairStep::Taken(_) => self.taken = true,
            PairStep::Finished(..) => self.finished = true,
            PairStep::GivenBack(_) => {}
        }
    }

    fn end(
        &mut self,
        names: &BlockNames,
        bio: &PairedBio,
        at: Instant,
        spent: Option<&DeviceTime>,
    ) {
        self.ended += 1;
        let command = self.command(names, bio.who);
        if !bio.told_whole {
            self.books.ended(command, bio.issued.is_some());
        }
        let Some(way) = index(bio.way) else {
            return;
        };
        let response = at.saturating_since(bio.queued).as_nanos();
        let elevator = bio
            .issued
            .map(|issued| issued.saturating_since(bio.queued).as_nanos());
        let waiter = self.waiters.entry((command, way)).or_default();
        waiter.requests += 1;
        waiter.responses.add(response);
        match elevator {
            Some(elevator) => {
                waiter.elevator_ns += elevator;
                waiter.device_ns += response - elevator;
            }
            None => waiter.untold_ns += response,
        }
        if let Some(spent) = spent {
            let parts = [spent.queued, spent.seek, spent.rotation, spent.transfer];
            for (sum, part) in waiter.parts.iter_mut().zip(parts) {
                *sum += part.as_nanos();
            }
            waiter.split += 1;
            waiter.cached += u64::from(spent.cached);
        }
        let shortest = self.longest.last().map_or(0, |wait| wait.response_ns);
        if self.longest.len() == LONGEST && response <= shortest {
            return;
        }
        let place = self.longest.partition_point(|w| w.response_ns >= response);
        self.longest
            .truncate(LONGEST - usize::from(self.longest.len() == LONGEST));
        let wait = BlockWait {
            who: names.actor(bio.who).to_owned(),
            way: ["read", "write"][way].into(),
            queued_ns: bio.queued.as_nanos(),
            sector: bio.sector,
            sectors: bio.sectors,
            response_ns: response,
            elevator_ns: elevator,
            passed: bio.issued.map(|_| bio.passed),
        };
        self.longest.insert(place, wait);
    }

    /// Number of the command of an actor.
    fn command(&mut self, names: &BlockNames, who: u32) -> u32 {
        const UNKNOWN: u32 = u32::MAX;
        let at = who as usize;
        if self.commands.len() <= at {
            self.commands.resize(at + 1, UNKNOWN);
        }
        if self.commands[at] == UNKNOWN {
            let next = self.names.len() as u32;
            let name = names.command(who);
            let is_full = self.names.len() >= COMMANDS_MAX && !self.names.contains_key(name);
            let name = if is_full { OTHERS } else { name };
            let number = self.names.get(name).copied();
            self.commands[at] = number.unwrap_or_else(|| {
                self.names.insert(name.to_owned(), next);
                next
            });
        }
        self.commands[at]
    }

    /// The explanation.
    pub fn finish(mut self, names: &BlockNames) -> BlockWaits {
        let mut pairs = std::mem::take(&mut self.pairs);
        pairs.until(Instant::MAX, &mut |step| self.step(names, step, None));
        let mut commands = vec![String::new(); self.names.len()];
        for (name, number) in &self.names {
            commands[*number as usize].clone_from(name);
        }
        let name = |number: u32| match number {
            IDLE => None,
            number => Some(commands[number as usize].clone()),
        };
        let beside = |(who, by, ns)| Beside {
            who: commands[who as usize].clone(),
            beside: name(by),
            ns,
        };
        let waiters = std::mem::take(&mut self.waiters);
        let mut waiters: Vec<BlockWaiter> = waiters
            .into_iter()
            .filter_map(|((command, way), waiter)| {
                waited(commands[command as usize].clone(), way, waiter)
            })
            .collect();
        waiters.sort_by_key(|b| std::cmp::Reverse(b.total_ns()));
        BlockWaits {
            seconds: self.last.as_nanos() as f64 / 1e9,
            ended: self.ended,
            unended: pairs.unended(),
            waiters,
            elevator: self.books.elevator().map(beside).collect(),
            device: self.books.device().map(beside).collect(),
            longest: std::mem::take(&mut self.longest),
            tells_issue: self.issued > 0 || self.taken,
            tells_end: self.ended > 0 || self.finished,
            tells_response_alone: self.told_ahead,
        }
    }
}

fn waited(who: String, way: usize, mut waiter: Waiter) -> Option<BlockWaiter> {
    let response = waiter.responses.spread()?;
    let [queued_ns, seek_ns, rotation_ns, transfer_ns] = waiter.parts;
    Some(BlockWaiter {
        who,
        way: ["read", "write"][way].into(),
        requests: waiter.requests,
        response_ns: Inner(response),
        elevator_ns: waiter.elevator_ns,
        device_ns: waiter.device_ns,
        untold_ns: waiter.untold_ns,
        device: Maybe((waiter.split > 0).then_some(DeviceParts {
            queued_ns,
            seek_ns,
            rotation_ns,
            transfer_ns,
            cached: waiter.cached,
        })),
    })
}

rows! {
    /// What requests waited for.
    #[derive(Clone, PartialEq, Debug, Default)]
    pub struct BlockWaits {
        /// From the first event to the last.
        pub seconds: f64 = sum("seconds", "s");
        /// Requests that ended.
        pub ended: u64 = count("ended");
        /// Requests whose end is not told.
        pub unended: u64 = count("unended");
        /// Who waited, those first whose requests waited longest in all.
        pub waiters: Vec<BlockWaiter> = parts("waiters", []);
        /// Time in the elevator, by whom the device served meanwhile.
        pub elevator: Vec<Beside> = parts("elevator", []);
        /// Time in the device, by whose requests were there.
        pub device: Vec<Beside> = parts("device", []);
        /// The longest waits, longest first.
        pub longest: Vec<BlockWait> = parts("longest", []);
        /// Whether the trace says when the driver took requests.
        pub tells_issue: bool = all("tells_issue");
        /// Whether the trace says when requests ended.
        pub tells_end: bool = all("tells_end");
        /// Whether a line tells a response time and nothing of its parts.
        pub tells_response_alone: bool = any("tells_response_alone");
    }

    /// Requests of one command and way.
    #[derive(Clone, PartialEq, Debug)]
    pub struct BlockWaiter {
        /// Command, or volume.
        pub who: String = key("who");
        /// `read` or `write`.
        pub way: Cow<'static, str> = key("way");
        /// How many ended.
        pub requests: u64 = count("requests");
        /// How their times are spread, from being queued to the end.
        pub response_ns: Inner<Spread> = fact("response_ns");
        /// Their time in the elevator (Q to D).
        pub elevator_ns: u64 = sum("elevator_ns", "ns");
        /// Their time in the device (D to C).
        pub device_ns: u64 = sum("device_ns", "ns");
        /// Their time where the trace does not distinguish the two.
        pub untold_ns: u64 = sum("untold_ns", "ns");
        /// What the time in the device went to; null where nobody knows.
        pub device: Maybe<DeviceParts> = fact("device");
    }

    /// Parts of the time in the device.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct DeviceParts {
        /// In the device's queue.
        pub queued_ns: u64 = sum("queued_ns", "ns");
        /// Moving the arm.
        pub seek_ns: u64 = sum("seek_ns", "ns");
        /// Waiting for the platter.
        pub rotation_ns: u64 = sum("rotation_ns", "ns");
        /// Everything else.
        pub transfer_ns: u64 = sum("transfer_ns", "ns");
        /// Requests that the cache served.
        pub cached: u64 = count("cached");
    }

    /// Time of one command's requests beside another's.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Beside {
        /// Whose time.
        pub who: String = key("who");
        /// Whose requests the device had; null for a device that had nothing to do.
        pub beside: Option<String> = key("beside");
        /// How long.
        pub ns: f64 = sum("ns", "ns");
    }

    /// One long wait.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct BlockWait {
        /// Process, or volume.
        pub who: String = fact("who");
        /// `read` or `write`.
        pub way: Cow<'static, str> = fact("way");
        /// When it was queued, since the begin of the trace.
        pub queued_ns: u64 = moment("queued_ns");
        /// First sector.
        pub sector: u64 = fact("sector");
        /// Number of sectors.
        pub sectors: u32 = fact("sectors");
        /// From being queued to the end.
        pub response_ns: u64 = sum("response_ns", "ns");
        /// Of that, in the elevator; null where that is not told.
        pub elevator_ns: Option<u64> = sum("elevator_ns", "ns");
        /// Requests that the driver took meanwhile; null where that is not told.
        pub passed: Option<u64> = count("passed");
    }
}

impl BlockWaiter {
    /// Time of all requests.
    pub fn total_ns(&self) -> u64 {
        self.elevator_ns + self.device_ns + self.untold_ns
    }
}

impl BlockWaits {
    /// What the trace does not record, and what to do, as it follows "The trace does not record".
    pub fn untold(&self) -> Vec<&'static str> {
        let mut untold = Vec::new();
        if !self.tells_end {
            untold.push(
                "when requests ended, so there are no waits to explain; --drive replays them on a \
                 drive",
            );
        } else if self.ended == 0 {
            untold.push(
                "when requests were queued and by whom (blktrace's action Q), so there are no \
                 waits to explain; `domio trace summary` has their times in the device",
            );
        } else if self.tells_response_alone {
            untold.push(
                "what a response time consists of; --drive replays the requests on a drive, which \
                     shows it",
            );
        } else if !self.tells_issue {
            untold.push("when the driver took requests, so elevator and device are one");
        }
        let tells_parts = self.ended > 0 && !self.tells_response_alone;
        if tells_parts && self.waiters.iter().all(|waiter| waiter.device.0.is_none()) {
            untold.push(
                "what the time in the device went to: its queue, arm, platter or cache; --drive \
                 replays the requests on a drive, which shows it",
            );
        }
        untold
    }
}
