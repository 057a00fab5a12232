//! What records say of items on their way between guests and the world outside.

use domio_core::{
    ActorId, Acts, Class, Declared, DomainId, Field, Hold, Names, Place, Record, Says,
};

/// An item goes from one place to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    /// The class of the record.
    pub class: &'static Class,
    /// Numbers of the places in the class, which exist.
    pub places: [usize; 2],
    /// The place that it leaves.
    pub from: &'static Place,
    /// The place where it is.
    pub to: &'static Place,
    /// The driver domain's vcpu.
    pub driver: ActorId,
    /// For how long it has been there already, in nanoseconds.
    pub ago: u64,
    /// The device behind the driver domain, where the record says.
    pub device: Option<u64>,
}

/// The device that `record` names, if it names one.
pub(crate) fn device(declared: &Declared, record: &Record) -> Option<u64> {
    let field = declared.fields.iter().find(|f| f.name == Field::DEVICE)?;
    Some(field.value(record))
}

impl Move {
    /// What `record` says, if it says that something moved, between places that exist.
    #[inline]
    pub fn of(names: &Names, record: &Record) -> Option<Self> {
        let declared = names.declared(record)?;
        let Says::Moved {
            from,
            to,
            driver,
            ago,
        } = declared.says
        else {
            return None;
        };
        let class = names.class(record.class)?;
        let value = |field| declared.value(record, field);
        let (from, old) = place(class, value(from))?;
        let (to, new) = place(class, value(to))?;
        Some(Move {
            class,
            places: [from, to],
            from: old,
            to: new,
            driver: ActorId(value(driver) as u32),
            ago: value(ago),
            device: device(declared, record),
        })
    }

    /// Whether the driver domain took the item from the ring from the guest (`true`) or put it
    /// into the ring to the guest (`false`).
    #[inline]
    pub fn sent(&self) -> Option<bool> {
        let is_work = |place: &Place| place.is(Acts::Driver, Hold::Nothing);
        match (self.from, self.to) {
            (from, to) if from.is(Acts::Driver, Hold::Ring) && is_work(to) => Some(true),
            (from, to) if is_work(from) && to.is(Acts::Guest, Hold::Ring) => Some(false),
            _ => None,
        }
    }
}

/// The driver domain whose backend took an item from the ring of the record's domain (`true`), or
/// put one into the domain's ring (`false`); `None` for other records.
pub fn at_backend(names: &Names, record: &Record) -> Option<(DomainId, bool)> {
    let moved = Move::of(names, record)?;
    Some((names.vcpu(moved.driver)?.domain, moved.sent()?))
}

/// The place of `class` with this number, as traces hold it.
pub(crate) fn place(class: &'static Class, number: u64) -> Option<(usize, &'static Place)> {
    let number = usize::try_from(number).ok()?;
    Some((number, class.places.get(number)?))
}

/// Records of a made-up network, for tests.
#[cfg(test)]
pub(crate) mod told {
    use super::*;
    use crate::device::{FULL, HELD, MOVED};
    use domio_core::{ClassId, Instant, PcpuId};

    /// A place of the network, by its number.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum Stage {
        Outside,
        Device,
        DriverIn,
        ToGuest,
        GuestIn,
        GuestOut,
        FromGuest,
        DriverOut,
    }

    impl Stage {
        pub const ALL: [Stage; 8] = [
            Stage::Outside,
            Stage::Device,
            Stage::DriverIn,
            Stage::ToGuest,
            Stage::GuestIn,
            Stage::GuestOut,
            Stage::FromGuest,
            Stage::DriverOut,
        ];
    }

    /// A packet of `guest` moved `ago` nanoseconds before.
    pub fn moved_before(
        at: Instant,
        class: ClassId,
        guest: ActorId,
        driver: ActorId,
        [from, to]: [Stage; 2],
        ago: u64,
    ) -> Record {
        let places = from as u32 | (to as u32) << 8;
        let words = [places, driver.0, ago as u32, (ago >> 32) as u32];
        Record::of(at, PcpuId(0), (class, MOVED), guest, words)
    }

    /// `guest` found the ring full for what stays at `stage`.
    pub fn full(
        at: Instant,
        class: ClassId,
        guest: ActorId,
        driver: ActorId,
        stage: Stage,
    ) -> Record {
        let words = [stage as u32, driver.0, 0, 0];
        Record::of(at, PcpuId(0), (class, FULL), guest, words)
    }

    /// The rate of `guest` is used up for `ns`.
    pub fn held(at: Instant, class: ClassId, guest: ActorId, driver: ActorId, ns: u64) -> Record {
        let ring = Stage::FromGuest as u32;
        let words = [ring, driver.0, ns as u32, (ns >> 32) as u32];
        Record::of(at, PcpuId(0), (class, HELD), guest, words)
    }
}
