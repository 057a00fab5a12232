//! Where the items of each guest are, and why.

use std::collections::{BTreeMap, VecDeque};

use domio_core::{
    ActorId, Acts, Class, ClassId, Declared, DomainId, Hold, Names, Place, Record, Says,
};

use super::cause::{Cause, ItemWaits, Side};
use super::waits::{Doing, WaitBooks};
use crate::account::Window;
use crate::moves::{Move, device, place};

/// Most stretches of a driver domain's past that are kept. They are needed from the oldest item on
/// that reached the device unnoticed; of one that is older than all of them, the cause of the time
/// before is unknown.
const PAST_MAX: usize = 1 << 16;

/// The paths of all guests with items, one for each class and device.
#[derive(Debug, Default)]
pub(super) struct Paths {
    paths: BTreeMap<(DomainId, ClassId, Option<u64>), Path>,
    /// What items in the device waited for, of each driver domain.
    pasts: BTreeMap<ActorId, Past>,
    /// What domains have in the memory of driver domains.
    fills: Holdings,
}

/// Stretches of time that each last until the next begins, oldest first.
type Past = VecDeque<(u64, Cause)>;

/// The path of a guest's items of one class to one device.
#[derive(Debug)]
struct Path {
    class: &'static Class,
    /// The class and the device.
    to: (ClassId, Option<u64>),
    /// The vcpus that bring items further.
    guest: ActorId,
    driver: ActorId,
    /// Whether a place holds items back from the device.
    holds_back: bool,
    /// Whether a thread of the driver domain takes one item after the other.
    has_thread: bool,
    /// Items at each place, by number; of places outside none.
    items: Vec<u64>,
    /// The driver domain's port for the guest, while it is pending.
    pending: Option<u32>,
    /// Another port was served while it was.
    overtaken: bool,
    /// The guest has put items into a ring that the driver domain does not look at, and has sent
    /// no event yet.
    unsent: bool,
    /// The guest has found the ring full, and has put nothing there since.
    full: bool,
    /// Until when the rate limit keeps items in the ring from the guest.
    limited_until: u64,
    /// The guest was told of what is in the ring to it.
    told: bool,
    waits: ItemWaits,
}

impl Paths {
    /// Whether no item was heard of.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Takes a record of a class, at `now`.
    pub fn class(
        &mut self,
        names: &Names,
        (record, declared): (&Record, &'static Declared),
        (now, window): (u64, Window),
        books: &WaitBooks,
    ) {
        let value = |field| declared.value(record, field);
        let actor = |field| ActorId(value(field) as u32);
        match declared.says {
            Says::Moved { .. } => {
                if let Some(moved) = Move::of(names, record) {
                    self.moved(names, record, &moved, (now, window), books);
                }
            }
            Says::Full {
                place: number,
                driver,
            } => {
                let behind = (actor(driver), device(declared, record));
                if let Some((path, _)) = self.path(names, record, behind)
                    && let Some((_, place)) = place(path.class, value(number))
                {
                    path.full |= is_guest_out(place);
                }
            }
            Says::Held { driver, time, .. } => {
                let behind = (actor(driver), device(declared, record));
                if let Some((path, _)) = self.path(names, record, behind) {
                    path.limited_until = now.saturating_add(value(time));
                }
            }
            Says::Fills { amount, driver } => {
                if let Some(filling) = names.vcpu(record.actor) {
                    let memory = (actor(driver), (record.class, device(declared, record)));
                    self.fills.set(memory, filling.domain, value(amount));
                }
            }
            _ => {}
        }
    }

    /// The path of the items that `record` tells of, which `driver` brings further to `device`, and
    /// the past of that driver domain.
    fn path(
        &mut self,
        names: &Names,
        record: &Record,
        (driver, device): (ActorId, Option<u64>),
    ) -> Option<(&mut Path, &Past)> {
        let class = names.class(record.class)?;
        let domain = names.vcpu(record.actor)?.domain;
        let to = (record.class, device);
        let path = self.paths.entry((domain, to.0, to.1));
        let path = path.or_insert_with(|| Path::new(domain, (class, to), record.actor));
        path.driver = driver;
        Some((path, self.pasts.entry(driver).or_default()))
    }

    /// An item goes from one place to another.
    fn moved(
        &mut self,
        names: &Names,
        record: &Record,
        moved: &Move,
        (now, window): (u64, Window),
        books: &WaitBooks,
    ) {
        let Some((path, past)) = self.path(names, record, (moved.driver, moved.device)) else {
            return;
        };
        let since = now.saturating_sub(moved.ago);
        if is_device(moved.to) && moved.ago > 0 {
            path.arrived(moved.places[1], [since, now], past, window, books);
        }
        path.moved(moved, window.holds(now));
        if is_device(moved.to) {
            self.forget(moved.driver, since);
        }
    }

    /// What follows holds from `now` on. Called whenever something may have changed.
    pub fn remember(&mut self, now: u64, books: &WaitBooks) {
        for (&driver, past) in &mut self.pasts {
            let cause = in_device(books.doing(driver));
            if past.back().is_none_or(|(_, last)| *last != cause) {
                past.push_back((now, cause));
            }
            if past.len() > PAST_MAX {
                past.pop_front();
            }
        }
    }

    /// Nobody asks any more what items in the device waited for before `since`.
    fn forget(&mut self, driver: ActorId, since: u64) {
        if let Some(past) = self.pasts.get_mut(&driver) {
            while past.get(1).is_some_and(|(begin, _)| *begin <= since) {
                past.pop_front();
            }
        }
    }

    /// Time passes, from `from` to `to`.
    pub fn pass(&mut self, from: u64, to: u64, books: &WaitBooks) {
        let mut in_devices = Holdings::default();
        for ((domain, ..), path) in self.paths.iter().filter(|(_, path)| path.holds_back) {
            let items = path.items_at(is_device);
            if items > 0 {
                in_devices.0.push(((path.driver, path.to), *domain, items));
            }
        }
        for ((domain, ..), path) in &mut self.paths {
            path.pass(*domain, [from, to], [&in_devices, &self.fills], books);
        }
    }

    /// The paths of a domain.
    fn of(&mut self, domain: DomainId) -> impl Iterator<Item = &mut Path> {
        let first = (domain, ClassId(0), None);
        let last = (domain, ClassId(u8::MAX), Some(u64::MAX));
        self.paths.range_mut(first..=last).map(|(_, path)| path)
    }

    /// `to` was sent to on `port` by `from`.
    pub fn sent(&mut self, names: &Names, to: ActorId, port: u32, from: ActorId) {
        if let Some(sender) = names.vcpu(from) {
            // No record says which class a port is for: it is the one that something waits in.
            let is_unsent = |path: &Path| path.driver == to && path.unsent;
            let any_unsent = self.of(sender.domain).any(|path| is_unsent(path));
            let served = self.of(sender.domain).filter(|path| path.driver == to);
            for path in served.filter(|path| path.unsent || !any_unsent) {
                path.unsent = false;
                if path.pending.is_none() {
                    path.pending = Some(port);
                    path.overtaken = false;
                }
            }
        }
        if let Some(guest) = names.vcpu(to) {
            let served = self.of(guest.domain).filter(|path| path.driver == from);
            served.for_each(|path| path.told = true);
        }
    }

    /// The vcpu `on` enters the handler of `port`.
    pub fn served(&mut self, on: ActorId, port: u32) {
        for path in self.paths.values_mut().filter(|p| p.driver == on) {
            if path.pending == Some(port) {
                path.pending = None;
                path.unsent = false;
            } else if path.pending.is_some() {
                path.overtaken = true;
            }
        }
    }

    /// A domain is gone, and what was in its rings with it.
    pub fn removed(&mut self, domain: DomainId) {
        for path in self.of(domain) {
            path.items.fill(0);
            path.pending = None;
            path.limited_until = 0;
        }
    }

    /// The sums, by domain, name of the class, and device.
    pub fn finish(self) -> Vec<ItemWaits> {
        let paths = self.paths.into_values().map(|path| ItemWaits {
            under_way: path.items.iter().sum(),
            ..path.waits
        });
        let mut items: Vec<ItemWaits> = paths.collect();
        items.sort_by_key(|i| (i.domain, i.class.name, i.device));
        items
    }
}

/// A device behind a queue that holds back: the driver domain, the class, the number.
type Behind = (ActorId, (ClassId, Option<u64>));

/// What domains have behind driver domains: items in devices, or parts of the memory that caches
/// them. Where, who, how many.
#[derive(Debug, Default)]
struct Holdings(Vec<(Behind, DomainId, u64)>);

impl Holdings {
    /// `domain` has so many there from now on.
    fn set(&mut self, device: Behind, domain: DomainId, amount: u64) {
        let is_own = |own: &&mut (Behind, DomainId, u64)| (own.0, own.1) == (device, domain);
        match self.0.iter_mut().find(is_own) {
            Some(own) => own.2 = amount,
            None => self.0.push((device, domain, amount)),
        }
    }

    /// Divides `time` among the domains that have something there; nobody, if there are none.
    fn divide(&self, device: Behind, time: u64, mut add: impl FnMut(Option<DomainId>, u64)) {
        let own = || {
            let own = self.0.iter();
            own.filter(|(of, _, items)| *of == device && *items > 0)
        };
        let all: u64 = own().map(|(.., items)| items).sum();
        if all == 0 {
            return add(None, time);
        }
        let (mut items_before, mut given) = (0, 0);
        for (_, domain, items) in own() {
            items_before += items;
            let until = (u128::from(time) * u128::from(items_before) / u128::from(all)) as u64;
            add(Some(*domain), until - given);
            given = until;
        }
    }
}

impl Path {
    fn new(
        domain: DomainId,
        (class, to): (&'static Class, (ClassId, Option<u64>)),
        guest: ActorId,
    ) -> Self {
        Path {
            class,
            to,
            guest,
            driver: ActorId::NONE,
            holds_back: class.places.iter().any(Place::is_before_device),
            has_thread: class.places.iter().any(is_thread),
            items: vec![0; class.places.len()],
            pending: None,
            overtaken: false,
            unsent: false,
            full: false,
            limited_until: 0,
            told: false,
            waits: ItemWaits::new(domain, class, to.1),
        }
    }

    /// An item is in the device, at `place`, since `since`, of which nobody told before `now`.
    fn arrived(
        &mut self,
        place: usize,
        [since, now]: [u64; 2],
        past: &Past,
        window: Window,
        books: &WaitBooks,
    ) {
        // The past ends where the present begins, which is the same as before if nobody changed it.
        let present = (now, in_device(books.doing(self.driver)));
        let mut known_from = now;
        let stretches = past.iter().chain([&present]);
        for (&(begin, cause), &(end, _)) in stretches.clone().zip(stretches.skip(1)) {
            known_from = known_from.min(begin);
            let time = window.part(begin.max(since), end.min(now));
            self.add(place, cause, time);
        }
        let time = window.part(since, known_from);
        self.add(place, Cause::Unknown, time);
    }

    /// An item goes from one place to another; `counts` tells whether one that begins its way
    /// counts.
    fn moved(&mut self, moved: &Move, counts: bool) {
        self.full &= !is_guest_out(moved.from);
        let [old, new] = moved.places;
        if old == new {
            return;
        }
        if moved.from.acts == Acts::Nobody {
            self.waits.begun += u64::from(counts);
        } else {
            // None there: it was before the trace began.
            self.items[old] = self.items[old].saturating_sub(1);
        }
        let first = self.items[new] == 0;
        match (moved.to.acts, moved.to.holds) {
            (Acts::Nobody, _) => return,
            // The driver domain looks at a ring until it is empty, then wants to be told.
            (Acts::Driver, Hold::Ring) => self.unsent |= first && self.pending.is_none(),
            (Acts::Guest, Hold::Ring) => self.told &= !first,
            (Acts::Device, Hold::Nothing) => {}
            (Acts::Driver | Acts::Device, _) => self.unsent &= moved.to.inwards,
            (Acts::Guest, _) => {}
        }
        self.items[new] += 1;
    }

    /// Items at such places.
    fn items_at(&self, such: impl Fn(&Place) -> bool) -> u64 {
        let places = self.class.places.iter().zip(&self.items);
        let own = places.filter(|(place, _)| such(place));
        own.map(|(_, items)| items).sum()
    }

    fn pass(
        &mut self,
        domain: DomainId,
        [from, to]: [u64; 2],
        [in_devices, fills]: [&Holdings; 2],
        books: &WaitBooks,
    ) {
        if self.items.iter().all(|n| *n == 0) {
            return;
        }
        let (guest, driver) = (books.doing(self.guest), books.doing(self.driver));
        for (place, declared) in self.class.places.iter().enumerate() {
            let items = self.items[place];
            if items == 0 {
                continue;
            }
            if self.holds_back && (declared.acts == Acts::Device || declared.is_before_device()) {
                let device = (self.driver, self.to);
                in_devices.divide(device, (to - from) * items, |whom, time| {
                    self.add(place, Cause::Beside(whom), time);
                });
                continue;
            }
            if self.stands_still(declared) {
                let memory = (self.driver, self.to);
                fills.divide(memory, (to - from) * items, |whom, time| {
                    self.add(place, Cause::Thread(whom), time);
                });
                continue;
            }
            let freed = match self.is_for_driver(declared, guest) {
                true => self.limited_until.clamp(from, to),
                false => from,
            };
            self.add(place, Cause::Limit, (freed - from) * items);
            let cause = match is_thread(declared) {
                true => self.behind_thread(domain, driver),
                false => self.cause(declared, guest, driver),
            };
            self.add(place, cause, (to - freed) * items);
        }
    }

    fn add(&mut self, place: usize, cause: Cause, time: u64) {
        if time > 0 {
            *self.waits.times.entry((place, cause)).or_default() += time;
        }
    }

    /// Whether items at `place` wait for a thread that stands still, with one of them or with the
    /// item before them, until there is room in memory.
    fn stands_still(&self, place: &Place) -> bool {
        match (place.acts, place.holds) {
            (Acts::Driver, Hold::Memory) => self.has_thread,
            (Acts::Driver, Hold::Thread) => self.is_any(Acts::Driver, Hold::Memory),
            _ => false,
        }
    }

    /// Whether there are items where `acts` has to act and items are held for this reason.
    fn is_any(&self, acts: Acts, holds: Hold) -> bool {
        self.items_at(|place| place.is(acts, holds)) > 0
    }

    /// Why items of `domain` stay behind a thread that does not stand still.
    fn behind_thread(&self, domain: DomainId, driver: Doing) -> Cause {
        let waits = || self.items_at(|place| is_device(place) || place.is_before_device()) > 0;
        let works = |place: &Place| place.is(Acts::Driver, Hold::Nothing) && !place.inwards;
        match driver {
            // The thread waits for the item before them.
            _ if waits() => Cause::Thread(Some(domain)),
            // The thread works, or would.
            Doing::Runs if self.items_at(works) > 0 => Cause::Thread(Some(domain)),
            _ => by(Side::Driver, driver),
        }
    }

    /// Why items stay at `place`, while the guest and the driver domain do so.
    fn cause(&self, place: &Place, guest: Doing, driver: Doing) -> Cause {
        match (place.acts, place.holds) {
            (Acts::Nobody, _) => Cause::Unknown,
            (Acts::Device, Hold::Nothing) => in_device(driver),
            (Acts::Driver, Hold::Nothing) => match (driver, guest) {
                // The guest has posted no buffers.
                (Doing::Rests, Doing::Waits(_)) if place.inwards => by(Side::Guest, guest),
                _ => by(Side::Driver, driver),
            },
            (Acts::Driver, Hold::Thread | Hold::Memory) => by(Side::Driver, driver),
            (Acts::Driver, Hold::Ring) => match guest {
                Doing::Runs | Doing::Waits(_) if self.unsent => by(Side::Guest, guest),
                _ => self.in_ring_to_driver(driver),
            },
            (Acts::Guest, Hold::Ring) => match driver {
                Doing::Runs | Doing::Waits(_) if !self.told => by(Side::Driver, driver),
                _ => by(Side::Guest, guest),
            },
            (Acts::Guest, Hold::Nothing) if self.is_for_driver(place, guest) => {
                self.in_ring_to_driver(driver)
            }
            (Acts::Guest, Hold::Nothing | Hold::Thread) => by(Side::Guest, guest),
            // What holds does so whatever vcpus do.
            (_, _) => Cause::Held,
        }
    }

    /// Whether items at `place` are in the ring from the guest, which does so, or wait for room
    /// there.
    fn is_for_driver(&self, place: &Place, guest: Doing) -> bool {
        let waits_for_room = || self.full || !matches!(guest, Doing::Runs | Doing::Waits(_));
        place.is(Acts::Driver, Hold::Ring) || is_guest_out(place) && waits_for_room()
    }

    /// Why items in the ring from the guest stay there.
    fn in_ring_to_driver(&self, driver: Doing) -> Cause {
        match driver {
            _ if self.pending.is_some() && self.overtaken => Cause::Scan,
            Doing::Runs if self.pending.is_some() => Cause::Busy,
            _ => by(Side::Driver, driver),
        }
    }
}

/// Whether items at `place` are in the device and nothing else holds them.
fn is_device(place: &Place) -> bool {
    place.is(Acts::Device, Hold::Nothing)
}

/// Whether items at `place` wait for a thread of the driver domain.
fn is_thread(place: &Place) -> bool {
    place.is(Acts::Driver, Hold::Thread)
}

/// Whether items at `place` are with the guest, on their way to the ring from it.
fn is_guest_out(place: &Place) -> bool {
    place.is(Acts::Guest, Hold::Nothing) && !place.inwards
}

/// Why an item waits that `side` has to bring further.
fn by(side: Side, doing: Doing) -> Cause {
    match doing {
        Doing::Runs => Cause::Work(side),
        Doing::Waits(behind) => Cause::RunQueue(side, behind),
        Doing::Rests => Cause::Held,
        Doing::Unknown => Cause::Unknown,
    }
}

/// Why an item waits in the device.
fn in_device(driver: Doing) -> Cause {
    match driver {
        Doing::Runs => Cause::Busy,
        _ => by(Side::Driver, driver),
    }
}
