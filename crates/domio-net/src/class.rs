//! Records of networks: what becomes of each packet, what reaches applications, and what web
//! clients see. Readers of traces ask these declarations, and need not know networks.

use domio_core::figure::floor::{ANSWER_MS, ONE, STREAM_MBPS, TRIP_MS};
use domio_core::{
    Acts, Adds, Better, Class, Declared, Felt, Field, Figure, FigureKind, FigureOf, FigureTable,
    Hold, Place, Says, Tally, Unit,
};

/// A place on the way of a packet.
///
/// ```text
///  line ─▶ Card ─▶ DriverIn ─▶ RxRing ─▶ GuestIn ─▶ process
///  line ◀───────── DriverOut ◀─ TxRing ◀─ GuestOut ◀─ process
/// ```
///
/// A packet from one guest to another leaves the path of the first after
/// [`DriverOut`](NetPlace::DriverOut) and begins on that of the second at
/// [`DriverIn`](NetPlace::DriverIn).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum NetPlace {
    /// On the line or beyond, or nowhere: not sent yet, delivered, dropped.
    Outside = 0,
    /// In the receive ring of the network card.
    Card = 1,
    /// In the driver domain, which has taken it from the card and brings it to the guest.
    DriverIn = 2,
    /// In the ring to the guest.
    RxRing = 3,
    /// In the guest, which has taken it from the ring and brings it to its protocols.
    GuestIn = 4,
    /// In the guest, waiting for room in the ring, or on its way there.
    GuestOut = 5,
    /// In the ring from the guest.
    TxRing = 6,
    /// In the driver domain, which has taken it from the ring and brings it to the card.
    DriverOut = 7,
}

/// The places, by number.
static PLACES: [Place; 8] = [
    Place::new("outside", Acts::Nobody, Hold::Nothing),
    Place::new("card", Acts::Device, Hold::Nothing),
    Place::new("driver, in", Acts::Driver, Hold::Nothing).inwards(),
    Place::new("rx ring", Acts::Guest, Hold::Ring).inwards(),
    Place::new("guest, in", Acts::Guest, Hold::Nothing).inwards(),
    Place::new("guest, out", Acts::Guest, Hold::Nothing),
    Place::new("tx ring", Acts::Driver, Hold::Ring),
    Place::new("driver, out", Acts::Driver, Hold::Nothing),
];

/// A step of a web client's connection or of a call.
///
/// A connection that has started ends in one of four ways:
///
/// ```text
/// started = closed + timed out + refused + reset + still open
/// ```
///
/// A client that has no file descriptor or no port left starts none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum WebStep {
    /// The client sends its SYN. The time is 0.
    Started = 0,
    /// The connection is open at the client; ns since it started.
    Connected = 1,
    /// The first bytes of an answer have come; ns since the request was sent.
    FirstByte = 2,
    /// An answer is complete; ns since the connection started, or since the request was sent
    /// where it is not the connection's first.
    Replied = 3,
    /// The client has all answers and closes; ns since the connection started.
    Closed = 4,
    /// Nothing has happened for as long as the client waits, which closes; ns since the connection
    /// started.
    TimedOut = 5,
    /// The server's kernel has refused the connection; ns since the connection started.
    Refused = 6,
    /// The connection was reset, or closed before the answer was complete; ns since the connection
    /// started.
    Reset = 7,
    /// The client has as many connections open as it may have, and starts none. The time is 0.
    NoDescriptor = 8,
    /// All ports of the client are in use, and it starts no connection. The time is 0.
    NoPort = 9,
}

impl WebStep {
    /// How many steps there are.
    pub const COUNT: usize = 10;

    /// Lower-case English name.
    pub const fn name(self) -> &'static str {
        match self {
            WebStep::Started => "started",
            WebStep::Connected => "connected",
            WebStep::FirstByte => "first byte",
            WebStep::Replied => "replied",
            WebStep::Closed => "closed",
            WebStep::TimedOut => "timed out",
            WebStep::Refused => "refused",
            WebStep::Reset => "reset",
            WebStep::NoDescriptor => "no descriptor",
            WebStep::NoPort => "no port",
        }
    }
}

/// Number of a record, and the meaning of its words. The actor is vcpu 0 of the guest. Where a
/// packet's place is told, word 0 is `flow | from << 24 | to << 28` with the lowest 24 bits of the
/// flow's number, and word 1 the actor of the driver domain's vcpu 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum NetRecord {
    /// Bytes of the flow in word 0 have reached their application, at either end: words 2 and 3 =
    /// how many.
    Delivered = 0,
    /// A ping of the flow in word 0 was answered: words 2 and 3 = ns of the round trip.
    Reply = 1,
    /// A packet goes from one [`NetPlace`] to another: words 2 and 3 = ns that it has been there
    /// already.
    Moved = 2,
    /// The guest has found the ring full into which the packet would go.
    RingFull = 3,
    /// The interface has used up its rate, and the packet, the first in the ring, has to wait:
    /// words 2 and 3 = for how many ns.
    Held = 4,
}

impl NetRecord {
    /// Number of the record of a [`WebStep`]: word 0 = the flow, word 1 = bytes of an answer that
    /// is complete, words 2 and 3 = the step's ns.
    pub const fn web(step: WebStep) -> u8 {
        16 + step as u8
    }
}

const FLOW: Field = Field::word("flow", 0, Unit::Number);
/// Fields of what reports a packet: flow, place, driver domain.
const PACKET: Field = Field::bits("flow", 0, 24, Unit::Number);
const PLACE: Field = Field::bits("place", 24, 4, Unit::Place);
const DRIVER: Field = Field::word("driver", 1, Unit::Actor);
/// Field 1 of what has a time.
const TIME: Field = Field::long("time", 2, Unit::Nanoseconds);

const fn web(
    step: WebStep,
    name: &'static str,
    fields: &'static [Field],
    tallies: &'static [Tally],
) -> Declared {
    Declared::new(NetRecord::web(step), name, fields).tallies(tallies)
}

/// Key of what a domain's network delivers.
pub const NET_RATE: &str = "net_mbps";
/// Key of the mean round trip of a domain's pings.
pub const PING_MEAN: &str = "ping_mean_ms";
/// Key of the answers of a domain's web servers.
pub const REPLIES: &str = "replies_per_s";

/// Bytes that reached an application, in the domain or at the other end; without headers.
pub const DELIVERED: Tally = Tally::new("net_delivered_bytes", Adds::Sum(1));
/// Round trips of the pings that were answered, each counted when its reply came.
pub const ROUND_TRIP: Tally = Tally::new("net_round_trip", Adds::Sample(1));

const TRIPS: &[FigureOf] = &[FigureOf::Tally(ROUND_TRIP.name)];

const fn trip(key: &'static str, title: &'static str, kind: FigureKind, felt: Felt) -> Figure {
    let figure = Figure::new((key, title, "ms"), kind, TRIPS).over(1_000_000);
    figure.better(Better::Lower, felt)
}

/// What a domain's network did, both directions together.
static TRAFFIC: FigureTable = FigureTable {
    title: "networks",
    nearness: 3,
    figures: &[
        // A byte in a nanosecond is 8,000 Mb/s.
        Figure::new(
            (NET_RATE, "delivered", "Mb/s"),
            FigureKind::Rate { times: 8_000 },
            &[FigureOf::Tally(DELIVERED.name)],
        )
        .only_some()
        .better(Better::Higher, Felt::Itself(STREAM_MBPS)),
        Figure::new(
            ("ping_replies", "pings answered", ""),
            FigureKind::Sum,
            TRIPS,
        )
        .only_some()
        .better(Better::Higher, Felt::Itself(ONE)),
        trip(
            PING_MEAN,
            "round trip, mean",
            FigureKind::Mean,
            Felt::Itself(TRIP_MS),
        ),
        trip(
            "ping_sd_ms",
            "round trip, sd",
            FigureKind::Deviation,
            Felt::Cause(TRIP_MS),
        ),
        trip(
            "ping_p50_ms",
            "round trip, p50",
            FigureKind::Quantile(50),
            Felt::Itself(TRIP_MS),
        ),
        trip(
            "ping_p95_ms",
            "round trip, p95",
            FigureKind::Quantile(95),
            Felt::Itself(TRIP_MS),
        ),
        trip(
            "ping_p99_ms",
            "round trip, p99",
            FigureKind::Quantile(99),
            Felt::Itself(TRIP_MS),
        ),
    ],
};

const fn per_second(key: &'static str, title: &'static str, of: &'static [FigureOf]) -> Figure {
    Figure::new((key, title, "1/s"), FigureKind::PER_SECOND, of)
}

/// Failures of connections, a second.
const fn failures(key: &'static str, title: &'static str, of: &'static [FigureOf]) -> Figure {
    per_second(key, title, of).better(Better::Lower, Felt::Itself(ONE))
}

const fn answer(
    key: &'static str,
    title: &'static str,
    kind: FigureKind,
    of: &'static [FigureOf],
) -> Figure {
    let figure = Figure::new((key, title, "ms"), kind, of).over(1_000_000);
    figure.better(Better::Lower, Felt::Itself(ANSWER_MS))
}

const RESPONSES: &[FigureOf] = &[FigureOf::Tally("web_response")];

/// What the clients of a domain's web servers saw, all servers together. Each step counts when it
/// happens.
static WEB: FigureTable = FigureTable {
    title: "web servers",
    nearness: 4,
    figures: &[
        per_second(
            "conns_per_s",
            "connections",
            &[FigureOf::Tally("web_started")],
        ),
        per_second(REPLIES, "replies", &[FigureOf::Tally("web_replied")])
            .better(Better::Higher, Felt::Itself(ONE)),
        per_second(
            "reply_bytes_per_s",
            "bytes of replies",
            &[FigureOf::Tally("web_reply_bytes")],
        )
        .detail(),
        per_second("closed_per_s", "closed", &[FigureOf::Tally("web_closed")]).detail(),
        failures(
            "timeouts_per_s",
            "timeouts",
            &[FigureOf::Tally("web_timed_out")],
        ),
        failures(
            "refused_per_s",
            "refused",
            &[FigureOf::Tally("web_refused")],
        ),
        failures("resets_per_s", "reset", &[FigureOf::Tally("web_reset")]),
        // For want of a file descriptor or of a port.
        failures(
            "unstarted_per_s",
            "not begun",
            &[
                FigureOf::Tally("web_no_descriptor"),
                FigureOf::Tally("web_no_port"),
            ],
        ),
        answer(
            "connect_p50_ms",
            "connect, p50",
            FigureKind::Quantile(50),
            &[FigureOf::Tally("web_connect")],
        ),
        answer(
            "first_byte_p50_ms",
            "first byte, p50",
            FigureKind::Quantile(50),
            &[FigureOf::Tally("web_first_byte")],
        ),
        answer("response_ms", "response, mean", FigureKind::Mean, RESPONSES),
        answer(
            "response_p50_ms",
            "response, p50",
            FigureKind::Quantile(50),
            RESPONSES,
        ),
        answer(
            "response_p95_ms",
            "response, p95",
            FigureKind::Quantile(95),
            RESPONSES,
        ),
        answer(
            "response_p99_ms",
            "response, p99",
            FigureKind::Quantile(99),
            RESPONSES,
        ),
    ],
};

/// The class of all networks of a host.
pub static RECORDS: Class = Class::new(
    "network",
    &[
        Declared::new(
            NetRecord::Delivered as u8,
            "delivered",
            &[FLOW, Field::long("bytes", 2, Unit::Bytes)],
        )
        .tallies(&[DELIVERED]),
        Declared::new(NetRecord::Reply as u8, "reply", &[FLOW, TIME]).tallies(&[ROUND_TRIP]),
        Declared::new(
            NetRecord::Moved as u8,
            "moved",
            &[
                PACKET,
                Field::bits("from", 24, 4, Unit::Place),
                Field::bits("to", 28, 4, Unit::Place),
                DRIVER,
                Field::long("ago", 2, Unit::Nanoseconds),
            ],
        )
        .says(Says::Moved {
            from: 1,
            to: 2,
            driver: 3,
            ago: 4,
        }),
        Declared::new(
            NetRecord::RingFull as u8,
            "ring-full",
            &[PACKET, PLACE, DRIVER],
        )
        .says(Says::Full {
            place: 1,
            driver: 2,
        }),
        Declared::new(
            NetRecord::Held as u8,
            "held",
            &[PACKET, PLACE, DRIVER, TIME],
        )
        .says(Says::Held {
            place: 1,
            driver: 2,
            time: 3,
        }),
        web(
            WebStep::Started,
            "web-started",
            &[FLOW],
            &[Tally::new("web_started", Adds::One)],
        ),
        web(
            WebStep::Connected,
            "web-connected",
            &[FLOW, TIME],
            &[Tally::new("web_connect", Adds::Sample(1))],
        ),
        web(
            WebStep::FirstByte,
            "web-first-byte",
            &[FLOW, TIME],
            &[Tally::new("web_first_byte", Adds::Sample(1))],
        ),
        web(
            WebStep::Replied,
            "web-replied",
            &[FLOW, TIME, Field::word("bytes", 1, Unit::Bytes)],
            &[
                Tally::new("web_replied", Adds::One),
                Tally::new("web_response", Adds::Sample(1)),
                Tally::new("web_reply_bytes", Adds::Sum(2)),
            ],
        ),
        web(
            WebStep::Closed,
            "web-closed",
            &[FLOW, TIME],
            &[Tally::new("web_closed", Adds::One)],
        ),
        web(
            WebStep::TimedOut,
            "web-timed-out",
            &[FLOW, TIME],
            &[Tally::new("web_timed_out", Adds::One)],
        ),
        web(
            WebStep::Refused,
            "web-refused",
            &[FLOW, TIME],
            &[Tally::new("web_refused", Adds::One)],
        ),
        web(
            WebStep::Reset,
            "web-reset",
            &[FLOW, TIME],
            &[Tally::new("web_reset", Adds::One)],
        ),
        web(
            WebStep::NoDescriptor,
            "web-no-descriptor",
            &[FLOW],
            &[Tally::new("web_no_descriptor", Adds::One)],
        ),
        web(
            WebStep::NoPort,
            "web-no-port",
            &[FLOW],
            &[Tally::new("web_no_port", Adds::One)],
        ),
    ],
)
.with_places("packets", &PLACES)
.with_tables(&[&TRAFFIC, &WEB]);

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::vec::Vec;

    /// The places in the order of the enum, and all records by ascending number.
    #[test]
    fn numbers_are_those_of_the_enums() {
        let names = [
            (NetPlace::Outside, "outside"),
            (NetPlace::Card, "card"),
            (NetPlace::DriverIn, "driver, in"),
            (NetPlace::RxRing, "rx ring"),
            (NetPlace::GuestIn, "guest, in"),
            (NetPlace::GuestOut, "guest, out"),
            (NetPlace::TxRing, "tx ring"),
            (NetPlace::DriverOut, "driver, out"),
        ];
        assert_eq!(names.len(), RECORDS.places.len());
        for (place, name) in names {
            assert_eq!(RECORDS.places[place as usize].name, name);
        }
        let numbers: Vec<u8> = RECORDS.records.iter().map(|r| r.number).collect();
        assert!(numbers.is_sorted(), "{numbers:?}");
        assert_eq!(numbers.len(), 5 + WebStep::COUNT);
    }

    #[test]
    fn a_web_step_is_called_as_its_record() {
        for step in [WebStep::Started, WebStep::FirstByte, WebStep::NoPort] {
            let declared = RECORDS.declared(NetRecord::web(step)).expect("declared");
            assert_eq!(
                declared.name,
                format!("web-{}", step.name().replace(' ', "-"))
            );
        }
    }
}
