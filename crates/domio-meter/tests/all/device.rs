//! A made-up network, and what a class of a device declares.

use domio_core::{
    ActorId, Adds, Class, ClassId, Declared, Field, Figure, Instant, PcpuId, Place, Record, Says,
    Stage, Unit,
};

const DRIVER: Field = Field::word("driver", 1, Unit::Actor);
const FROM: Field = Field::bits("from", 0, 8, Unit::Place);
const TO: Field = Field::bits("to", 8, 8, Unit::Place);
const TIME: Field = Field::long("time", 2, Unit::Nanoseconds);
const BYTES: Field = Field::long("bytes", 2, Unit::Bytes);

const MOVED: u8 = 0;
const FULL: u8 = 1;
const HELD: u8 = 2;
pub const DELIVERED: u8 = 3;
pub const REPLIED: u8 = 4;

/// Packets, with a place for each stage; the number of a place is that of its stage.
pub static NETWORK: Class = Class::new(
    "network",
    &[
        Declared::new(MOVED, "moved", &[FROM, TO, DRIVER, TIME]).says(Says::Moved {
            from: 0,
            to: 1,
            driver: 2,
            ago: 3,
        }),
        Declared::new(FULL, "full", &[FROM, DRIVER]).says(Says::Full {
            place: 0,
            driver: 1,
        }),
        Declared::new(HELD, "held", &[FROM, DRIVER, TIME]).says(Says::Held {
            place: 0,
            driver: 1,
            time: 2,
        }),
        Declared::new(DELIVERED, "delivered", &[BYTES])
            .figures(&[Figure::new("net_delivered_bytes", Adds::Sum(0))]),
        Declared::new(REPLIED, "replied", &[TIME])
            .figures(&[Figure::new("net_round_trip", Adds::Sample(0))]),
    ],
)
.with_places("packets", PLACES);

const PLACES: &[Place] = &[
    Place::new("outside", Stage::Outside),
    Place::new("card", Stage::Device),
    Place::new("driver, in", Stage::DriverIn),
    Place::new("rx ring", Stage::ToGuest),
    Place::new("guest, in", Stage::GuestIn),
    Place::new("guest, out", Stage::GuestOut),
    Place::new("tx ring", Stage::FromGuest),
    Place::new("driver, out", Stage::DriverOut),
];

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
pub fn full(at: Instant, class: ClassId, guest: ActorId, driver: ActorId, stage: Stage) -> Record {
    let words = [stage as u32, driver.0, 0, 0];
    Record::of(at, PcpuId(0), (class, FULL), guest, words)
}

/// The rate of `guest` is used up for `ns`.
pub fn held(at: Instant, class: ClassId, guest: ActorId, driver: ActorId, ns: u64) -> Record {
    let ring = Stage::FromGuest as u32;
    let words = [ring, driver.0, ns as u32, (ns >> 32) as u32];
    Record::of(at, PcpuId(0), (class, HELD), guest, words)
}
