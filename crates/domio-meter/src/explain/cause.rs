//! What items on their way between guests and the world outside waited for.

use std::collections::BTreeMap;
use std::slice::Iter;

use domio_answer::{Cell, Column, FieldType, Known, column, rows, texts};
use domio_core::{Acts, Class, DomainId, Hold, Place};

rows! {
    /// Time of the items of one class (packets, requests) of one guest, both directions together.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct ItemWaits {
        /// The guest.
        pub domain: DomainId = key("domain");
        /// The class, which says what the items are and which places there are.
        pub class: &'static Class = key("class");
        /// The device behind the driver domain, where the trace tells several apart.
        pub device: Option<u64> = key("device");
        /// Items that began their way within the time that counts.
        pub begun: u64 = count("begun");
        /// Items under way at the end.
        pub under_way: u64 = count("under_way");
        /// Time by number of the place and cause, summed over items.
        pub times: BTreeMap<(usize, Cause), u64> =
            parts("waits", [key("place"), key("cause"), sum("ns", "ns")]);
    }
}

impl ItemWaits {
    /// None so far.
    pub(super) fn new(domain: DomainId, class: &'static Class, device: Option<u64>) -> Self {
        ItemWaits {
            domain,
            class,
            device,
            begun: 0,
            under_way: 0,
            times: BTreeMap::new(),
        }
    }

    /// Time that items were under way.
    pub fn total(&self) -> u64 {
        self.times.values().sum()
    }

    /// Time by queue.
    pub fn queues(&self) -> BTreeMap<ItemQueue, u64> {
        let mut queues = BTreeMap::new();
        for (&(place, cause), time) in &self.times {
            let queue = ItemQueue::of(self.class.places.get(place), cause);
            *queues.entry(queue).or_default() += time;
        }
        queues
    }

    /// The queue with the largest part of the time, work not counted; `None` when nothing waited.
    pub fn largest_wait(&self) -> Option<(ItemQueue, u64)> {
        let waits = self
            .queues()
            .into_iter()
            .filter(|(q, t)| q.is_wait() && *t > 0);
        waits.max_by_key(|(_, time)| *time)
    }

    /// Time in run queues, the guest's and the driver domain's, by who ran meanwhile.
    pub fn behind(&self) -> BTreeMap<Option<DomainId>, u64> {
        self.by_whom(|cause| match cause {
            Cause::RunQueue(_, whom) => Some(whom),
            _ => None,
        })
    }

    /// Time in a queue that holds back and in the device behind, by whose items the device had.
    pub fn beside(&self) -> BTreeMap<Option<DomainId>, u64> {
        self.by_whom(|cause| match cause {
            Cause::Beside(whom) => Some(whom),
            _ => None,
        })
    }

    /// Time behind a thread that takes one item after the other, and in the memory where that
    /// thread stands still, by whose items were ahead.
    pub fn ahead(&self) -> BTreeMap<Option<DomainId>, u64> {
        self.by_whom(|cause| match cause {
            Cause::Thread(whom) => Some(whom),
            _ => None,
        })
    }

    /// Time of the causes of which `of` says by whom.
    fn by_whom(
        &self,
        of: impl Fn(Cause) -> Option<Option<DomainId>>,
    ) -> BTreeMap<Option<DomainId>, u64> {
        let mut sums = BTreeMap::new();
        for ((_, cause), time) in &self.times {
            if let Some(whom) = of(*cause) {
                *sums.entry(whom).or_default() += time;
            }
        }
        sums
    }
}

/// One of the two domains that bring an item further.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Side {
    /// The guest whose item it is.
    Guest,
    /// The driver domain.
    Driver,
}

/// Why an item stayed where it was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cause {
    /// The vcpu of this side was runnable and did not run; the domain did that ran on its pcpu, if
    /// any.
    RunQueue(Side, Option<DomainId>),
    /// The driver domain served other ports before the guest's, which was pending.
    Scan,
    /// The driver domain ran and had not come to the item yet.
    Busy,
    /// This side ran and brought the item, or its batch, further.
    Work(Side),
    /// The guest had used up its rate, and the time had not come when it gets more.
    Limit,
    /// A queue of the driver domain held the item back, or the device had the item: meanwhile the
    /// device had items of this domain, or nobody's. Time with items of several domains is divided
    /// by their numbers.
    Beside(Option<DomainId>),
    /// A thread of the driver domain takes one item of the guest after the other. It worked on
    /// another one, which was the guest's own; or it stood still, because the driver domain's
    /// memory was full of what this domain had written, or nobody. Where several domains fill the
    /// memory, time is divided by how much each has there.
    Thread(Option<DomainId>),
    /// Nobody was asked to take it further: the device moderated its interrupt, or the guest had
    /// posted no buffers.
    Held,
    /// The trace had not told the runstate of who had to take it further.
    Unknown,
}

impl Side {
    /// Name in data.
    pub const fn key(self) -> &'static str {
        match self {
            Side::Guest => "guest",
            Side::Driver => "driver",
        }
    }
}

texts! {
    Side: |side| side.key().into(), |text, _| SIDES.into_iter().find(|side| side.key() == text);
}

const SIDES: [Side; 2] = [Side::Guest, Side::Driver];

/// What a cause is in data: its name, the side, and the domain.
type Parts = (&'static str, Option<Side>, Option<DomainId>);

impl Cause {
    const fn parts(self) -> Parts {
        match self {
            Cause::RunQueue(side, behind) => ("run_queue", Some(side), behind),
            Cause::Scan => ("event_channel_scan", None, None),
            Cause::Busy => ("busy", None, None),
            Cause::Work(side) => ("work", Some(side), None),
            Cause::Limit => ("rate_limit", None, None),
            Cause::Held => ("held", None, None),
            Cause::Beside(whom) => ("beside", None, whom),
            Cause::Thread(whom) => ("thread", None, whom),
            Cause::Unknown => ("unknown", None, None),
        }
    }

    /// The cause with these parts.
    fn of(name: &str, side: Option<Side>, behind: Option<DomainId>) -> Option<Self> {
        let sides = side.map(|side| [Cause::RunQueue(side, behind), Cause::Work(side)]);
        let others = [
            Cause::Scan,
            Cause::Busy,
            Cause::Limit,
            Cause::Held,
            Cause::Beside(behind),
            Cause::Thread(behind),
            Cause::Unknown,
        ];
        let all = sides.into_iter().flatten().chain(others);
        let mut named = all.filter(|cause| cause.parts() == (name, side, behind));
        named.next()
    }
}

/// A cause is three columns.
impl FieldType for Cause {
    fn columns(declared: &mut dyn Iterator<Item = Column>) -> Vec<Column> {
        let declared = declared.next().expect("a column for each field");
        let part = |key, doc, optional| Column {
            optional,
            ..column::column(key, "", declared.kind)
                .of(domio_answer::Holds::Text)
                .doc(doc)
        };
        let cause = "Why: `run_queue`, `event_channel_scan`, `busy`, `work`, `rate_limit`, \
                     `beside`, `thread`, `held` or `unknown`.";
        let behind = "For `run_queue`, the domain that ran meanwhile; for `beside`, whose items \
            the \
                      device had; for `thread`, whose items were ahead. Null for nobody.";
        vec![
            part("cause", cause, false),
            part(
                "side",
                "Who is in the run queue, or works: `guest` or `driver`.",
                true,
            ),
            part("behind", behind, true).of(domio_answer::Holds::Whole),
        ]
    }

    fn put(&self, cells: &mut Vec<Cell>) {
        let (name, side, behind) = self.parts();
        cells.push(Cell::text(name));
        (side, behind).put(cells);
    }

    fn take(cells: &mut Iter<'_, Cell>, known: Known<'_>) -> Option<Self> {
        let name = String::take(cells, known)?;
        let (side, behind) = FieldType::take(cells, known)?;
        Cause::of(&name, side, behind)
    }

    fn add(&mut self, _: &Self, columns: &mut Iter<'_, Column>) {
        columns.nth(2);
    }
}

/// What an item's time is summed up as: something to wait for, or work.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ItemQueue {
    /// This side waits in the run queue.
    RunQueue(Side),
    /// The guest's port waits for the driver domain's event-channel scan.
    Scan,
    /// A place that holds items, or the device, while the driver domain runs or nobody has told it:
    /// who has to act there, and what holds.
    Place(Acts, Hold),
    /// The rings between guest and driver domain and the queues before them, likewise.
    Rings,
    /// The ring from the guest and the queue before it, while the guest's rate is used up.
    Limit,
    /// This side works.
    Work(Side),
    /// The trace does not tell.
    Unknown,
}

impl ItemQueue {
    /// The device.
    pub const DEVICE: ItemQueue = ItemQueue::Place(Acts::Device, Hold::Nothing);

    /// All for items of `class`, in the order in which tables show them.
    pub fn all(class: &Class) -> Vec<ItemQueue> {
        let holding = class.places.iter().map(ItemQueue::at);
        let mut holding: Vec<ItemQueue> = holding.filter(|queue| queue.holds_back()).collect();
        holding.sort_unstable();
        holding.dedup();
        let waiting = [Side::Guest, Side::Driver].map(ItemQueue::RunQueue);
        let waiting = waiting.into_iter().chain([ItemQueue::Scan]);
        let others = [
            ItemQueue::DEVICE,
            ItemQueue::Rings,
            ItemQueue::Limit,
            ItemQueue::Work(Side::Driver),
            ItemQueue::Work(Side::Guest),
            ItemQueue::Unknown,
        ];
        waiting.chain(holding).chain(others).collect()
    }

    /// The queue of an item at `place` that nobody takes further.
    fn at(place: &Place) -> Self {
        match (place.acts, place.holds) {
            (Acts::Nobody, _) | (Acts::Guest | Acts::Driver, Hold::Nothing) => ItemQueue::Rings,
            (_, Hold::Ring) => ItemQueue::Rings,
            (acts, holds) => ItemQueue::Place(acts, holds),
        }
    }

    /// The queue of an item at `place`, for `cause`.
    pub fn of(place: Option<&Place>, cause: Cause) -> Self {
        match cause {
            Cause::RunQueue(side, _) => ItemQueue::RunQueue(side),
            Cause::Scan => ItemQueue::Scan,
            Cause::Busy | Cause::Held | Cause::Beside(_) | Cause::Thread(_) => {
                place.map_or(ItemQueue::Rings, ItemQueue::at)
            }
            Cause::Limit => ItemQueue::Limit,
            Cause::Work(side) => ItemQueue::Work(side),
            Cause::Unknown => ItemQueue::Unknown,
        }
    }

    /// Whether nothing is done for an item meanwhile.
    pub const fn is_wait(self) -> bool {
        !matches!(self, ItemQueue::Work(_) | ItemQueue::Unknown)
    }

    /// Whether it is a place that holds items back, which only some classes have.
    pub const fn holds_back(self) -> bool {
        match self {
            ItemQueue::Place(_, holds) => !matches!(holds, Hold::Nothing),
            _ => false,
        }
    }

    /// Its name in tables, for items of `class`: places have the names that the class gives them.
    pub fn name(self, class: &Class) -> &'static str {
        match self {
            ItemQueue::RunQueue(Side::Guest) => "run queue, guest",
            ItemQueue::RunQueue(Side::Driver) => "run queue, driver domain",
            ItemQueue::Scan => "event-channel scan",
            ItemQueue::Place(acts, holds) => {
                let place = class.places.iter().find(|place| place.is(acts, holds));
                place.map_or(acts.name(), |place| place.name)
            }
            ItemQueue::Rings => "ring",
            ItemQueue::Limit => "rate limit",
            ItemQueue::Work(Side::Driver) => "work, driver domain",
            ItemQueue::Work(Side::Guest) => "work, guest",
            ItemQueue::Unknown => "unknown",
        }
    }

    /// What to try against waits there; `None` where nothing that an operator sets helps.
    pub const fn cure(self) -> Option<&'static str> {
        match self {
            ItemQueue::RunQueue(Side::Guest) => Some("more `weight` for the guest"),
            ItemQueue::RunQueue(Side::Driver) => {
                Some("`dom0-share`, or a pcpu of the driver domain's own")
            }
            ItemQueue::Scan => Some("a kernel that scans on from where it stopped"),
            ItemQueue::Limit => Some("a higher `rate`"),
            _ => None,
        }
    }

    /// Its name in JSON.
    pub fn key(self) -> String {
        let (what, who) = match self {
            ItemQueue::RunQueue(side) => ("run_queue", side.key()),
            ItemQueue::Scan => return "event_channel_scan".to_owned(),
            ItemQueue::Place(acts, Hold::Nothing) => return acts.name().to_owned(),
            ItemQueue::Place(acts, Hold::Order) => ("queue", acts.name()),
            ItemQueue::Place(acts, holds) => (holds.name(), acts.name()),
            ItemQueue::Rings => return "ring".to_owned(),
            ItemQueue::Limit => return "rate_limit".to_owned(),
            ItemQueue::Work(side) => ("work", side.key()),
            ItemQueue::Unknown => return "unknown".to_owned(),
        };
        format!("{what}_{who}")
    }
}
