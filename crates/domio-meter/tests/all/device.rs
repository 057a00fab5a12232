//! A made-up network, and what a class of a device declares.

use domio_core::{
    Acts, Adds, Class, Declared, Field, Figure, FigureKind, FigureOf, FigureTable, Hold, Place,
    Says, Tally, Unit,
};

const DRIVER: Field = Field::word("driver", 1, Unit::Actor);
const FROM: Field = Field::bits("from", 0, 8, Unit::Place);
const TO: Field = Field::bits("to", 8, 8, Unit::Place);
const TIME: Field = Field::long("time", 2, Unit::Nanoseconds);
const BYTES: Field = Field::long("bytes", 2, Unit::Bytes);

pub const MOVED: u8 = 0;
pub const FULL: u8 = 1;
pub const HELD: u8 = 2;
pub const DELIVERED: u8 = 3;
pub const REPLIED: u8 = 4;

const TRIPS: &[FigureOf] = &[FigureOf::Tally("net_round_trip")];

/// What the network did.
static TRAFFIC: FigureTable = FigureTable {
    title: "networks",
    nearness: 3,
    figures: &[
        Figure::new(
            ("net_mbps", "delivered", "Mb/s"),
            FigureKind::Rate { times: 8_000 },
            &[FigureOf::Tally("net_delivered_bytes")],
        )
        .only_some(),
        Figure::new(
            ("ping_replies", "pings answered", ""),
            FigureKind::Sum,
            TRIPS,
        )
        .only_some(),
        Figure::new(
            ("ping_sd_ms", "round trip, sd", "ms"),
            FigureKind::Deviation,
            TRIPS,
        )
        .over(1_000_000),
    ],
};

/// Packets, with places in the order of the way in and the way out.
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
            .tallies(&[Tally::new("net_delivered_bytes", Adds::Sum(0))]),
        Declared::new(REPLIED, "replied", &[TIME])
            .tallies(&[Tally::new("net_round_trip", Adds::Sample(0))]),
    ],
)
.with_places("packets", PLACES)
.with_tables(&[&TRAFFIC]);

const PLACES: &[Place] = &[
    Place::new("outside", Acts::Nobody, Hold::Nothing),
    Place::new("card", Acts::Device, Hold::Nothing),
    Place::new("driver, in", Acts::Driver, Hold::Nothing).inwards(),
    Place::new("rx ring", Acts::Guest, Hold::Ring).inwards(),
    Place::new("guest, in", Acts::Guest, Hold::Nothing).inwards(),
    Place::new("guest, out", Acts::Guest, Hold::Nothing),
    Place::new("tx ring", Acts::Driver, Hold::Ring),
    Place::new("driver, out", Acts::Driver, Hold::Nothing),
];
