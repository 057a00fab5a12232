//! What an explanation says.

use std::collections::{BTreeMap, BTreeSet};

use domio_core::{DomainId, Instant, NetPlace};

use crate::DriverWork;

/// Who waited for what, as [`Explainer`](crate::Explainer) found. Times are nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Explanation {
    /// First instant that counts.
    pub start: Instant,
    /// End, not included.
    pub end: Instant,
    /// Records that are missing; with any, the rest is not to be relied on.
    pub lost_records: u64,
    /// By id; without the idle domain.
    pub domains: Vec<DomainWaits>,
    /// For whom driver domains worked, by id; of those that worked for others.
    pub driver_work: Vec<DriverWork>,
}

/// Waits of one domain.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DomainWaits {
    /// The domain.
    pub id: DomainId,
    /// Time that its vcpus ran.
    pub running: u64,
    /// Time that they were blocked, paused or parked.
    pub at_rest: u64,
    /// Time that they were runnable and did not run, by the domain that ran on their pcpu, which
    /// may be themselves; `None` where nothing ran there.
    pub run_queue: BTreeMap<Option<DomainId>, u64>,
    /// Its packets, both directions together; `None` when it had none.
    pub packets: Option<PacketWaits>,
}

impl DomainWaits {
    /// Time that the domain's vcpus were runnable, behind whomever.
    pub fn runnable(&self) -> u64 {
        self.run_queue.values().sum()
    }
}

/// Time of the packets of one guest.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PacketWaits {
    /// Packets that began their way within the time that counts.
    pub begun: u64,
    /// Packets under way at the end.
    pub under_way: u64,
    /// Time by place and cause, summed over packets.
    pub times: BTreeMap<(NetPlace, Cause), u64>,
}

impl PacketWaits {
    /// Time that packets were under way.
    pub fn total(&self) -> u64 {
        self.times.values().sum()
    }

    /// Time by queue.
    pub fn queues(&self) -> BTreeMap<PacketQueue, u64> {
        let mut queues = BTreeMap::new();
        for (&(place, cause), time) in &self.times {
            *queues.entry(PacketQueue::of(place, cause)).or_default() += time;
        }
        queues
    }

    /// The queue with the largest part of the time, work not counted; `None` when nothing waited.
    pub fn largest_wait(&self) -> Option<(PacketQueue, u64)> {
        let waits = self
            .queues()
            .into_iter()
            .filter(|(q, t)| q.is_wait() && *t > 0);
        waits.max_by_key(|(_, time)| *time)
    }

    /// Time in run queues, the guest's and the driver domain's, by who ran meanwhile.
    pub fn behind(&self) -> BTreeMap<Option<DomainId>, u64> {
        let mut behind = BTreeMap::new();
        for ((_, cause), time) in &self.times {
            if let Cause::RunQueue(_, whom) = cause {
                *behind.entry(*whom).or_default() += time;
            }
        }
        behind
    }
}

impl Explanation {
    /// Length of the time that counts.
    pub fn elapsed(&self) -> u64 {
        self.end.saturating_since(self.start).as_nanos()
    }

    /// Adds the sums of another replication. Its time comes on top: [`Explanation::elapsed`] is
    /// that of both.
    pub fn add(&mut self, other: &Explanation) {
        self.add_work(other);
        self.end += other.end.saturating_since(other.start);
        self.lost_records += other.lost_records;
        for theirs in &other.domains {
            let ours = self.domain(theirs.id);
            ours.running += theirs.running;
            ours.at_rest += theirs.at_rest;
            for (behind, time) in &theirs.run_queue {
                *ours.run_queue.entry(*behind).or_default() += time;
            }
            if let Some(packets) = &theirs.packets {
                let sum = ours.packets.get_or_insert_default();
                sum.begun += packets.begun;
                sum.under_way += packets.under_way;
                for (cause, time) in &packets.times {
                    *sum.times.entry(*cause).or_default() += time;
                }
            }
        }
    }

    /// Time that the vcpus of a domain ran.
    pub(super) fn running(&self, id: DomainId) -> u64 {
        let at = self.domains.binary_search_by_key(&id, |d| d.id);
        at.map_or(0, |at| self.domains[at].running)
    }

    /// Adds the work of the driver domains of another replication.
    fn add_work(&mut self, other: &Explanation) {
        let drivers = self.driver_work.iter().chain(&other.driver_work);
        let drivers: BTreeSet<DomainId> = drivers.map(|w| w.driver).collect();
        let sum = |driver| {
            let mut sum = DriverWork {
                driver,
                ..DriverWork::default()
            };
            for part in [&*self, other] {
                match part.driver_work.iter().find(|w| w.driver == driver) {
                    Some(work) => sum.add(work),
                    // It worked for nobody.
                    None => sum.busy += part.running(driver),
                }
            }
            sum
        };
        self.driver_work = drivers.into_iter().map(sum).collect();
    }

    /// The waits of a domain, which is added if it is not there.
    pub(super) fn domain(&mut self, id: DomainId) -> &mut DomainWaits {
        let at = self.domains.binary_search_by_key(&id, |d| d.id);
        let at = at.unwrap_or_else(|at| {
            let new = DomainWaits {
                id,
                ..DomainWaits::default()
            };
            self.domains.insert(at, new);
            at
        });
        &mut self.domains[at]
    }
}

/// One of the two domains that bring a packet further.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Side {
    /// The guest whose packet it is.
    Guest,
    /// The driver domain.
    Driver,
}

/// Why a packet stayed where it was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cause {
    /// The vcpu of this side was runnable and did not run; the domain did that ran on its pcpu, if
    /// any.
    RunQueue(Side, Option<DomainId>),
    /// The driver domain served other ports before the guest's, which was pending.
    Scan,
    /// The driver domain ran and had not come to the packet yet.
    Busy,
    /// This side ran and brought the packet, or its batch, further.
    Work(Side),
    /// The guest had used up its rate, and the time had not come when it gets more.
    Limit,
    /// Nobody was asked to take it further: the card moderated its interrupt, or the guest had
    /// posted no buffers.
    Held,
    /// The trace had not told the runstate of who had to take it further.
    Unknown,
}

/// What a packet's time is summed up as: a place to wait, or work.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PacketQueue {
    /// The guest waits in the run queue.
    GuestRunq,
    /// The driver domain waits in the run queue.
    DriverRunq,
    /// The guest's port waits for the driver domain's event-channel scan.
    Scan,
    /// The card's ring, while the driver domain runs or nobody has told it.
    Card,
    /// The rings between guest and driver domain and the queues before them, likewise.
    Rings,
    /// The ring from the guest and the queue before it, while the guest's rate is used up.
    Limit,
    /// The driver domain works.
    DriverWork,
    /// The guest works.
    GuestWork,
    /// The trace does not tell.
    Unknown,
}

impl PacketQueue {
    /// All, in the order in which tables show them.
    pub const ALL: [PacketQueue; 9] = [
        PacketQueue::GuestRunq,
        PacketQueue::DriverRunq,
        PacketQueue::Scan,
        PacketQueue::Card,
        PacketQueue::Rings,
        PacketQueue::Limit,
        PacketQueue::DriverWork,
        PacketQueue::GuestWork,
        PacketQueue::Unknown,
    ];

    /// The queue of a packet at `place`, for `cause`.
    pub fn of(place: NetPlace, cause: Cause) -> Self {
        match cause {
            Cause::RunQueue(Side::Guest, _) => PacketQueue::GuestRunq,
            Cause::RunQueue(Side::Driver, _) => PacketQueue::DriverRunq,
            Cause::Scan => PacketQueue::Scan,
            Cause::Busy | Cause::Held if place == NetPlace::Card => PacketQueue::Card,
            Cause::Busy | Cause::Held => PacketQueue::Rings,
            Cause::Limit => PacketQueue::Limit,
            Cause::Work(Side::Driver) => PacketQueue::DriverWork,
            Cause::Work(Side::Guest) => PacketQueue::GuestWork,
            Cause::Unknown => PacketQueue::Unknown,
        }
    }

    /// Whether nothing is done for a packet meanwhile.
    pub const fn is_wait(self) -> bool {
        !matches!(
            self,
            PacketQueue::DriverWork | PacketQueue::GuestWork | PacketQueue::Unknown
        )
    }

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            PacketQueue::GuestRunq => "run queue, guest",
            PacketQueue::DriverRunq => "run queue, driver domain",
            PacketQueue::Scan => "event-channel scan",
            PacketQueue::Card => "NIC",
            PacketQueue::Rings => "ring",
            PacketQueue::Limit => "rate limit",
            PacketQueue::DriverWork => "work, driver domain",
            PacketQueue::GuestWork => "work, guest",
            PacketQueue::Unknown => "unknown",
        }
    }

    /// Its name in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            PacketQueue::GuestRunq => "run_queue_guest",
            PacketQueue::DriverRunq => "run_queue_driver",
            PacketQueue::Scan => "event_channel_scan",
            PacketQueue::Card => "nic",
            PacketQueue::Rings => "ring",
            PacketQueue::Limit => "rate_limit",
            PacketQueue::DriverWork => "work_driver",
            PacketQueue::GuestWork => "work_guest",
            PacketQueue::Unknown => "unknown",
        }
    }
}
