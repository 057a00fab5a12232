//! The network: `[network]`, `[domain.vif]`, and the keys of network workloads.

use super::Need::{self, Optional, Required};
use super::costs::{NETWORK_CARD, NETWORK_COSTS, NETWORK_WRITERS};
use super::{Key, Kind, Section, Variant, Words, key, plain, variant};
use domio_net::host::{StreamConfig, VifConfig};
use domio_net::packet::MESSAGE_BYTES_MAX;

/// Slowest line that can be asked for (bit/s): a full packet takes 12 s there.
const LINE_RATE_MIN: u64 = 1_000;

/// Fastest line (bit/s): what `domio_net::link::Rate` takes.
const LINE_RATE_MAX: u64 = 400_000_000_000;

/// Largest socket buffer, in bytes.
const BUFFER_MAX: i64 = 1 << 30;

/// Most datagrams a second: more than 10 Gigabit Ethernet carries of the smallest ones.
const DATAGRAMS_MAX: i64 = 20_000_000;

pub(crate) static NETWORK: Section = plain(
    "[network]",
    "The card in the driver domain, the line behind it, and how drivers on both sides of Xen work. \
     A host has a network when a domain has a vif; without this table it is the default one. \
     Several are `[[network]]` tables, each with a card, a line, a remote host and a driver domain \
     of its own. What the work costs is the hardware profile's.",
    &[
        key(
            "driver",
            Kind::DomainName,
            Optional("the domain with id 0"),
            "The driver domain, with the card, the bridge and the backends: one domain, which is \
             created before those with a vif, stays to the end, and has no vif itself.",
        ),
        key(
            "name",
            Kind::Name,
            Optional("none, so that no vif can name it"),
            "Name, unique among the networks, by which vifs and network workloads choose it.",
        ),
        key(
            "nic",
            Kind::Word(Words::Of(NICS)),
            Need::Word("plain"),
            "The network card.",
        ),
        key(
            "nic_bus",
            Kind::LineRate {
                min: LINE_RATE_MIN,
                max: LINE_RATE_MAX,
            },
            Optional("a bus that nobody has to wait for"),
            "How fast the card moves packets to and from memory, both directions together.",
        ),
        key(
            "rx_target",
            Kind::Int { min: 64, max: 256 },
            Need::Int(VifConfig::RX_TARGET as i64),
            "Receive buffers that a guest wants posted at first; one that is new has \
             128. A refill that finds under a quarter doubles them, up to 256; a poll that leaves \
             over three quarters takes one, down to 64.",
        ),
        key(
            "rate",
            Kind::LineRate {
                min: LINE_RATE_MIN,
                max: LINE_RATE_MAX,
            },
            Need::Word("1G"),
            "How fast the line sends, each way.",
        ),
        key(
            "latency",
            Kind::Time {
                unit: "us",
                min_ns: 0,
            },
            Need::TimeNs(20_000),
            "How long each bit travels, one way.",
        ),
        key(
            "remote_gap",
            Kind::Time {
                unit: "us",
                min_ns: 0,
            },
            Need::TimeNs(0),
            "Least time between two interrupts of the remote host's card: packets that come \
             meanwhile wait for the next. 125 us with an e1000 of 2006.",
        ),
        key(
            "remote_tick",
            Kind::Time {
                unit: "ms",
                min_ns: 0,
            },
            Need::TimeNs(0),
            "From one timer tick of the remote host's kernel to the next: the waits of a flood of \
             pings end with one. 0 for a host whose timers are exact; 4 ms with Linux of 2006.",
        ),
        key(
            "remote_tick_phase",
            Kind::Time {
                unit: "us",
                min_ns: 0,
            },
            Need::TimeNs(0),
            "When one of these ticks comes.",
        ),
        key(
            "remote_irq_latency",
            Kind::Time {
                unit: "us",
                min_ns: 0,
            },
            Need::TimeNs(0),
            "What the remote host takes at most from an interrupt of its card until it has the \
             packets: each time another one, evenly distributed from zero on.",
        ),
        key(
            "queue",
            Kind::Int {
                min: 1,
                max: 1 << 20,
            },
            Need::Int(1000),
            "Packets that may wait for the line at each end (`txqueuelen`).",
        ),
        key(
            "evtchn",
            Kind::Word(Words::Of(ABIS)),
            Optional("`fifo` since Xen 4.4, `two-level-64` before"),
            "Event channels of the driver domain and of all domains with a vif.",
        ),
        key(
            "scan",
            Kind::Word(Words::Of(SCANS)),
            Optional("`restart` under Xen 3, `resume-mainline` later"),
            "How their kernels look for pending ports, with two-level event channels.",
        ),
        key(
            "rx",
            Kind::Word(Words::Of(RX_MODES)),
            Optional("`flip` under Xen 3, `copy` later"),
            "How netback hands packets to guests.",
        ),
        key(
            "boot_ports",
            Kind::Int { min: 0, max: 200 },
            Need::Int(0),
            "Event channels of the driver domain that others have bound when it has booted, after \
             the card's.",
        ),
        key(
            "guest_ports",
            Kind::Int { min: 0, max: 16 },
            Need::Int(0),
            "Event channels of the driver domain for each guest before the interface's: console, \
             store and disks. With the width of words these decide which guests share a word, and \
             so how the scan treats them.",
        ),
        key(
            "card",
            Kind::Section(&NETWORK_CARD),
            Optional("what `nic` says"),
            "How the card is set up.",
        ),
        key(
            "costs",
            Kind::Section(&NETWORK_COSTS),
            Optional("the profile's"),
            "What the work on packets costs.",
        ),
        key(
            "writers",
            Kind::Section(&NETWORK_WRITERS),
            Optional("the profile's"),
            "What the remote host's processes take.",
        ),
    ],
);

const NICS: &[Variant] = &[
    variant(
        "plain",
        "An interrupt for each packet; rings of 256; what finds no buffer is dropped.",
        &[],
    ),
    variant(
        "tg3",
        "Broadcom's, as Linux 2.6 sets it up: an interrupt 20 us after the last packet or after 5 \
         packets; flow control, so that the other end waits instead of losing packets.",
        &[],
    ),
    variant(
        "tg3-untagged",
        "The same with the chip 5700 or 5788: 50 us after the first packet or after 5 packets.",
        &[],
    ),
    variant(
        "e1000",
        "Intel's, as Linux 2.6 sets it up: 8000 interrupts a second at most; flow control.",
        &[],
    ),
];

const ABIS: &[Variant] = &[
    variant(
        "two-level-32",
        "Bitmaps of a 32-bit guest: 1024 ports.",
        &[],
    ),
    variant(
        "two-level-64",
        "Bitmaps of a 64-bit guest: 4096 ports.",
        &[],
    ),
    variant("fifo", "Queues, which Xen has since 4.4.", &[]),
];

const SCANS: &[Variant] = &[
    variant(
        "restart",
        "From the lowest port again after each handler, so that busy ports starve higher ones: \
         Linux 2.6.18 for Xen.",
        &[],
    ),
    variant(
        "round-robin",
        "From the port after the last one that was served: the first fix.",
        &[],
    ),
    variant(
        "resume",
        "One look at each word, from the port after the last one that was served: openSUSE.",
        &[],
    ),
    variant("resume-mainline", "The same in mainline Linux.", &[]),
];

const RX_MODES: &[Variant] = &[
    variant(
        "flip",
        "Netback copies a packet to a page of its own and transfers the page.",
        &[],
    ),
    variant(
        "copy",
        "Xen copies a packet to a page that the guest has granted.",
        &[],
    ),
];

pub(crate) static VIF: Section = plain(
    "[domain.vif]",
    "The virtual interface of a domain. A domain with a network workload has one anyway; with an \
     empty table (`vif = {}`) it has one that nothing goes through. All of its network's work is \
     done by vcpu 0, and costs of its kernel's timer are the hardware profile's, not the guest's. \
     Where there are several networks, `vif` may be a list, with one on each.",
    &[
        key(
            "network",
            Kind::Name,
            Optional("the first one"),
            "Name of the network that it is on.",
        ),
        key(
            "rate",
            Kind::VifRate,
            Optional("no limit"),
            "Limit on what the guest sends, in `xl`'s notation: `\"10Mb/s\"`, or `\"10Mb/s@20ms\"` \
         with the interval in which credit comes, which is 50 ms otherwise. `b` counts bits and \
         `B` bytes.",
        ),
    ],
);

pub(super) const BEGIN: Key = key(
    "begin",
    Kind::Time {
        unit: "ms",
        min_ns: 0,
    },
    Need::TimeNs(100_000_000),
    "When it begins, after the domain's start. What comes before the guest has booted is lost, and \
     TCP tries again after 3 s.",
);

pub(super) const END: Key = key(
    "end",
    Kind::Time {
        unit: "s",
        min_ns: 0,
    },
    Optional("the end of the run"),
    "When it ends, after the domain's start: from then on nothing new is written or begun. What is \
     under way arrives.",
);

pub(super) const ON_NETWORK: Key = key(
    "network",
    Kind::Name,
    Optional("that of the domain's vif; required where there are several"),
    "Name of the network that it goes through.",
);

const fn direction(default: &'static str) -> Key {
    key(
        "direction",
        Kind::Word(Words::Of(DIRECTIONS)),
        Need::Word(default),
        "`in` is from the remote host to the guest, `out` from the guest.",
    )
}

const fn buffer(name: &'static str, doc: &'static str) -> Key {
    key(
        name,
        Kind::Int {
            min: 1,
            max: BUFFER_MAX,
        },
        Need::Int(256 * 1024),
        doc,
    )
}

const DIRECTIONS: &[Variant] = &[
    variant("in", "From the remote host to the guest.", &[]),
    variant("out", "From the guest to the remote host.", &[]),
];

const CONTROLS: &[Variant] = &[
    variant("reno", "A segment in each round trip; half.", &[]),
    variant(
        "bic",
        "Fast to where the last loss was; a fifth. The default of Linux from 2.6.8 to 2.6.18.",
        &[],
    ),
];

const SACK: &[Variant] = &[
    variant("on", "RFC 2018.", &[]),
    variant(
        "off",
        "One loss is found in each round trip (NewReno).",
        &[],
    ),
];

const PACES: &[Variant] = &[
    variant("adaptive", "`ping -A`.", &[]),
    variant("flood", "`ping -f`.", &[]),
    variant("interval", "`ping -i`.", &[]),
];

pub(super) const STREAM: Variant = variant(
    "stream",
    "A TCP connection with the remote host that carries data as fast as it goes.",
    &[
        direction("in"),
        BEGIN,
        END,
        ON_NETWORK,
        buffer(
            "receive_buffer",
            "Receive buffer (bytes): what may be sent before the receiver has read it.",
        ),
        buffer(
            "send_buffer",
            "Send buffer (bytes): what may be written before the other end has acknowledged it.",
        ),
        key(
            "piece",
            Kind::Int {
                min: 1,
                max: BUFFER_MAX,
            },
            Need::Int(StreamConfig::PIECE as i64),
            "Bytes that the guest's program passes to a call, which reads or writes, and with \
             direction `in` the remote host's, too. 8192 is the default of `iperf` 2 and `ttcp`.",
        ),
        key(
            "initial_window",
            Kind::Int { min: 1, max: 1000 },
            Need::Int(3),
            "Initial congestion window (segments): 3 in Linux until 2.6.38, 10 later.",
        ),
        key(
            "congestion",
            Kind::Word(Words::Of(CONTROLS)),
            Need::Word("reno"),
            "How the congestion window grows, and what a loss takes away.",
        ),
        key(
            "sack",
            Kind::Word(Words::Of(SACK)),
            Need::Word("on"),
            "Whether what arrives before its turn is acknowledged too, so that all losses of a \
             window are sent again in one round trip (`net.ipv4.tcp_sack`).",
        ),
        key(
            "rto_min",
            Kind::Time {
                unit: "ms",
                min_ns: 1_000_000,
            },
            Need::TimeNs(200_000_000),
            "How far the retransmission timeout is above the round trip at least.",
        ),
        key(
            "ack_delay",
            Kind::Time {
                unit: "ms",
                min_ns: 0,
            },
            Need::TimeNs(40_000_000),
            "How long an acknowledgement waits for company; 0 for not at all.",
        ),
    ],
);

pub(super) const PING: Variant = variant(
    "ping",
    "The remote host pings the guest. A reply counts with its full round trip however late it is.",
    &[
        key(
            "pace",
            Kind::Word(Words::Of(PACES)),
            Need::Word("adaptive"),
            "When the next request is sent: `adaptive`, after the mean round trip so far (`ping \
             -A`); `flood`, upon the reply or after `timeout` (`ping -f`); `interval`, by the \
             clock (`ping -i`).",
        ),
        key(
            "timeout",
            Kind::Time {
                unit: "ms",
                min_ns: 1_000,
            },
            Optional("10 ms when it floods"),
            "How long a flood waits for a reply. The other paces have none.",
        ),
        key(
            "interval",
            Kind::Time {
                unit: "ms",
                min_ns: 1_000,
            },
            Optional("1 s with this pace"),
            "Time between two requests that go by the clock. The other paces have none.",
        ),
        key(
            "bytes",
            Kind::Int {
                min: 0,
                max: MESSAGE_BYTES_MAX as i64,
            },
            Need::Int(56),
            "Bytes of each request, behind the ICMP header (`ping -s`).",
        ),
        BEGIN,
        END,
        ON_NETWORK,
    ],
);

/// Most requests of a workload: each has a connection of its own.
const REQUESTS_MAX: i64 = 1_000;

/// Most bytes of a request or of an answer.
const MESSAGE_MAX: u64 = 1 << 30;

/// A number of bytes from 1 to `max`.
pub(super) const fn message(name: &'static str, need: Need, max: u64, doc: &'static str) -> Key {
    let min = 1;
    key(name, Kind::Bytes { min, max }, need, doc)
}

pub(super) const SERVER: Variant = variant(
    "server",
    "A server that answers requests of the remote host, one after the other, each by a connection \
     of its own. Each is a job, from when the server begins to read it to the end of writing.",
    &[
        key(
            "requests",
            Kind::Int {
                min: 1,
                max: REQUESTS_MAX,
            },
            Required,
            "How many there are.",
        ),
        key(
            "interval",
            Kind::Time {
                unit: "ms",
                min_ns: 1_000,
            },
            Required,
            "From one request to the next.",
        ),
        message(
            "request",
            Need::Word("512"),
            MESSAGE_MAX,
            "Bytes of a request.",
        ),
        message(
            "answer",
            Need::Word("16K"),
            MESSAGE_MAX,
            "Bytes of an answer.",
        ),
        key(
            "work",
            Kind::Time {
                unit: "us",
                min_ns: 0,
            },
            Need::TimeNs(0),
            "Processor time of each, besides what its packets take.",
        ),
        BEGIN,
        ON_NETWORK,
    ],
);

pub(super) const UDP: Variant = variant(
    "udp",
    "Datagrams of one size at a fixed rate.",
    &[
        direction("in"),
        key(
            "pps",
            Kind::Int {
                min: 1,
                max: DATAGRAMS_MAX,
            },
            Required,
            "Datagrams a second.",
        ),
        key(
            "bytes",
            Kind::Int {
                min: 0,
                max: MESSAGE_BYTES_MAX as i64,
            },
            Need::Int(MESSAGE_BYTES_MAX as i64),
            "Bytes of each, behind the UDP header; not 0 for those from the guest.",
        ),
        key(
            "wake",
            Kind::Time {
                unit: "ms",
                min_ns: 0,
            },
            Need::TimeNs(0),
            "From one wake-up of the sender to the next: what falls due in between is sent \
             then, as by a program whose sleeps end with its kernel's tick. 0 sends each at \
             its time.",
        ),
        BEGIN,
        END,
        ON_NETWORK,
    ],
);
