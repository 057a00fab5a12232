//! Where the packets of each guest are, and why.

use std::collections::{BTreeMap, VecDeque};

use domio_core::{DomainId, NetPlace, VcpuName};

use super::result::{Cause, Explanation, PacketWaits, Side};
use super::vcpus::{Doing, Vcpus};
use crate::account::Window;

/// Most stretches of a driver domain's past that are kept. They are needed from the oldest packet
/// on that reached the card unnoticed; of one that is older than all of them, the cause of the time
/// before is unknown.
const PAST_MAX: usize = 1 << 16;

/// All guests with packets.
#[derive(Debug, Default)]
pub(super) struct Paths {
    guests: BTreeMap<DomainId, Guest>,
    /// What packets in the card waited for, of each driver domain, by its word.
    pasts: BTreeMap<u32, Past>,
}

/// Stretches of time that each last until the next begins, oldest first.
type Past = VecDeque<(u64, Cause)>;

/// The path of a guest's packets.
#[derive(Debug)]
struct Guest {
    /// Words of the vcpus that bring packets further.
    guest: u32,
    driver: u32,
    /// Packets at each place, by number; of [`NetPlace::Outside`] none.
    packets: [u64; NetPlace::ALL.len()],
    /// The driver domain's port for the guest, while it is pending.
    pending: Option<u32>,
    /// Another port was served while it was.
    overtaken: bool,
    /// The guest has put packets into a ring that the driver domain does not look at, and has sent
    /// no event yet.
    unsent: bool,
    /// The guest has found the ring full, and has put nothing there since.
    full: bool,
    /// Until when the rate limit keeps packets in the ring from the guest.
    limited_until: u64,
    /// The guest was told of what is in the ring to it.
    told: bool,
    begun: u64,
    times: BTreeMap<(NetPlace, Cause), u64>,
}

/// A guest, and the past of its driver domain.
pub(super) struct GuestAndPast<'a> {
    guest: &'a mut Guest,
    past: &'a Past,
}

impl Paths {
    /// The path of the guest with `vcpu`, whose driver domain's vcpu has the word `driver`.
    pub fn guest(&mut self, vcpu: VcpuName, driver: u32) -> GuestAndPast<'_> {
        let guest = self.guests.entry(vcpu.domain);
        let guest = guest.or_insert_with(|| Guest::new(vcpu.word(), driver));
        guest.driver = driver;
        GuestAndPast {
            guest,
            past: self.pasts.entry(driver).or_default(),
        }
    }

    /// What follows holds from `now` on. Called whenever something may have changed.
    pub fn remember(&mut self, now: u64, vcpus: &Vcpus) {
        for (&driver, past) in &mut self.pasts {
            let cause = in_card(vcpus.doing(driver));
            if past.back().is_none_or(|(_, last)| *last != cause) {
                past.push_back((now, cause));
            }
            if past.len() > PAST_MAX {
                past.pop_front();
            }
        }
    }

    /// Nobody asks any more what packets in the card waited for before `since`.
    pub fn forget(&mut self, driver: u32, since: u64) {
        if let Some(past) = self.pasts.get_mut(&driver) {
            while past.get(1).is_some_and(|(begin, _)| *begin <= since) {
                past.pop_front();
            }
        }
    }

    /// Time passes, from `from` to `to`.
    pub fn pass(&mut self, from: u64, to: u64, vcpus: &Vcpus) {
        for guest in self.guests.values_mut() {
            guest.pass(from, to, vcpus);
        }
    }

    /// The vcpu `to` was sent to on `port` by the vcpu `from`.
    pub fn sent(&mut self, to: u32, port: u32, from: u32) {
        if let Some(guest) = self.guests.get_mut(&VcpuName::from_word(from).domain)
            && guest.driver == to
        {
            guest.unsent = false;
            if guest.pending.is_none() {
                guest.pending = Some(port);
                guest.overtaken = false;
            }
        }
        if let Some(guest) = self.guests.get_mut(&VcpuName::from_word(to).domain)
            && guest.driver == from
        {
            guest.told = true;
        }
    }

    /// The vcpu `on` enters the handler of `port`.
    pub fn served(&mut self, on: u32, port: u32) {
        for guest in self.guests.values_mut().filter(|g| g.driver == on) {
            if guest.pending == Some(port) {
                guest.pending = None;
                guest.unsent = false;
            } else if guest.pending.is_some() {
                guest.overtaken = true;
            }
        }
    }

    /// A domain is gone, and what was in its rings with it.
    pub fn removed(&mut self, domain: DomainId) {
        if let Some(guest) = self.guests.get_mut(&domain) {
            guest.packets = Default::default();
            guest.pending = None;
            guest.limited_until = 0;
        }
    }

    /// Adds the sums to `explanation`.
    pub fn add_to(&self, explanation: &mut Explanation) {
        for (id, guest) in &self.guests {
            explanation.domain(*id).packets = Some(PacketWaits {
                begun: guest.begun,
                under_way: guest.packets.iter().sum(),
                times: guest.times.clone(),
            });
        }
    }
}

impl GuestAndPast<'_> {
    /// A packet is in the card since `since`, of which nobody told before `now`.
    pub fn arrived(&mut self, since: u64, now: u64, window: Window, vcpus: &Vcpus) {
        // The past ends where the present begins, which is the same as before if nobody changed it.
        let present = (now, in_card(vcpus.doing(self.guest.driver)));
        let mut known_from = now;
        let stretches = self.past.iter().chain([&present]);
        for (&(begin, cause), &(end, _)) in stretches.clone().zip(stretches.skip(1)) {
            known_from = known_from.min(begin);
            let time = window.part(begin.max(since), end.min(now));
            self.guest.add(NetPlace::Card, cause, time);
        }
        let time = window.part(since, known_from);
        self.guest.add(NetPlace::Card, Cause::Unknown, time);
    }

    /// The guest has used up its rate, and gets no more before `until`.
    pub fn limited(&mut self, until: u64) {
        self.guest.limited_until = until;
    }

    /// A packet goes from one place to another; `counts` tells whether one that begins its way
    /// counts.
    pub fn moved(&mut self, old: NetPlace, new: NetPlace, counts: bool) {
        let guest = &mut *self.guest;
        guest.full &= old != NetPlace::GuestOut;
        if old == new {
            guest.full |= new == NetPlace::GuestOut;
            return;
        }
        let at = |place: NetPlace| place as usize;
        if old == NetPlace::Outside {
            guest.begun += u64::from(counts);
        } else {
            // None there: it was before the trace began.
            guest.packets[at(old)] = guest.packets[at(old)].saturating_sub(1);
        }
        let first = guest.packets[at(new)] == 0;
        match new {
            NetPlace::Outside => return,
            // The driver domain looks at a ring until it is empty, then wants to be told.
            NetPlace::TxRing => guest.unsent |= first && guest.pending.is_none(),
            NetPlace::RxRing => guest.told &= !first,
            NetPlace::DriverOut => guest.unsent = false,
            _ => {}
        }
        guest.packets[at(new)] += 1;
    }
}

impl Guest {
    fn new(guest: u32, driver: u32) -> Self {
        Guest {
            guest,
            driver,
            packets: Default::default(),
            pending: None,
            overtaken: false,
            unsent: false,
            full: false,
            limited_until: 0,
            told: false,
            begun: 0,
            times: BTreeMap::new(),
        }
    }

    fn pass(&mut self, from: u64, to: u64, vcpus: &Vcpus) {
        if self.packets.iter().all(|n| *n == 0) {
            return;
        }
        let (guest, driver) = (vcpus.doing(self.guest), vcpus.doing(self.driver));
        for place in NetPlace::ALL {
            let packets = self.packets[place as usize];
            if packets == 0 {
                continue;
            }
            let freed = match self.is_for_tx_ring(place, guest) {
                true => self.limited_until.clamp(from, to),
                false => from,
            };
            self.add(place, Cause::Limit, (freed - from) * packets);
            self.add(
                place,
                self.cause(place, guest, driver),
                (to - freed) * packets,
            );
        }
    }

    fn add(&mut self, place: NetPlace, cause: Cause, time: u64) {
        if time > 0 {
            *self.times.entry((place, cause)).or_default() += time;
        }
    }

    /// Why packets at `place` stay there, while the guest and the driver domain do so.
    fn cause(&self, place: NetPlace, guest: Doing, driver: Doing) -> Cause {
        match place {
            NetPlace::Outside => Cause::Unknown,
            NetPlace::Card => in_card(driver),
            NetPlace::DriverIn => match (driver, guest) {
                // The guest has posted no buffers.
                (Doing::Rests, Doing::Waits(_)) => by(Side::Guest, guest),
                _ => by(Side::Driver, driver),
            },
            NetPlace::DriverOut => by(Side::Driver, driver),
            NetPlace::RxRing => match driver {
                Doing::Runs | Doing::Waits(_) if !self.told => by(Side::Driver, driver),
                _ => by(Side::Guest, guest),
            },
            NetPlace::GuestIn => by(Side::Guest, guest),
            NetPlace::GuestOut if !self.is_for_tx_ring(place, guest) => by(Side::Guest, guest),
            NetPlace::GuestOut => self.in_tx_ring(driver),
            NetPlace::TxRing => match guest {
                Doing::Runs | Doing::Waits(_) if self.unsent => by(Side::Guest, guest),
                _ => self.in_tx_ring(driver),
            },
        }
    }

    /// Whether packets at `place` are in the ring from the guest, which does so, or wait for room
    /// there.
    fn is_for_tx_ring(&self, place: NetPlace, guest: Doing) -> bool {
        match place {
            NetPlace::TxRing => true,
            NetPlace::GuestOut => self.full || !matches!(guest, Doing::Runs | Doing::Waits(_)),
            _ => false,
        }
    }

    fn in_tx_ring(&self, driver: Doing) -> Cause {
        match driver {
            _ if self.pending.is_some() && self.overtaken => Cause::Scan,
            Doing::Runs if self.pending.is_some() => Cause::Busy,
            _ => by(Side::Driver, driver),
        }
    }
}

/// Why a packet waits that `side` has to bring further.
fn by(side: Side, doing: Doing) -> Cause {
    match doing {
        Doing::Runs => Cause::Work(side),
        Doing::Waits(behind) => Cause::RunQueue(side, behind),
        Doing::Rests => Cause::Held,
        Doing::Unknown => Cause::Unknown,
    }
}

/// Why a packet waits in the card.
fn in_card(driver: Doing) -> Cause {
    match driver {
        Doing::Runs => Cause::Busy,
        _ => by(Side::Driver, driver),
    }
}
