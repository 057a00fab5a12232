//! Keys of web servers and their clients.

use super::Need::{self, Optional, Required};
use super::network::{BEGIN, END, ON_NETWORK, message};
use super::{Key, Kind, Section, Variant, Words, key, plain, variant};
use domio_net::web::{ClientConfig, ServerConfig};

/// Most connections that a client begins in a second.
const RATE_MAX: i64 = 1_000_000;

/// Most processes of a server.
const WORKERS_MAX: i64 = 10_000;

/// Largest share of a class of files.
const SHARE_MAX: i64 = 1_000_000;

/// Largest request and file.
const REQUEST_MAX: u64 = 64 << 10;
const FILE_MAX: u64 = 1 << 30;

const GAPS: &[Variant] = &[
    variant("even", "Always the same, as `httperf --rate`.", &[]),
    variant(
        "exponential",
        "Connections begin independently of each other, as `httperf --period=e`.",
        &[],
    ),
];

const OVERFLOWS: &[Variant] = &[
    variant(
        "ignore",
        "The last step of opening is ignored and comes again: Linux, unless told otherwise.",
        &[],
    ),
    variant(
        "reset",
        "The connection is reset (`net.ipv4.tcp_abort_on_overflow`).",
        &[],
    ),
];

pub(crate) static WEB_FILES: Section = plain(
    "files = [{ ... }]",
    "Files that a web client asks for, where they are of several sizes: up to 8 tables.",
    &[
        message("bytes", Required, FILE_MAX, "Bytes of the file."),
        key(
            "share",
            Kind::Int {
                min: 1,
                max: SHARE_MAX,
            },
            Need::Int(1),
            "How many of all calls are for such a file, in proportion to the shares of the others.",
        ),
    ],
);

pub(super) const WEB: &str = "A web server with several processes, and a client on the remote host \
     that begins connections at a rate, whatever becomes of those before (`httperf`). The client \
     closes. `domio run` tells replies, times and errors.";

pub(super) static WEB_KEYS: &[Key] = &[
    key(
        "rate",
        Kind::Int {
            min: 1,
            max: RATE_MAX,
        },
        Required,
        "Connections that begin in a second (`--rate`).",
    ),
    key(
        "gaps",
        Kind::Word(Words::Of(GAPS)),
        Need::Word("even"),
        "What lies between the begins of two connections.",
    ),
    key(
        "calls",
        Kind::Int {
            min: 1,
            max: 1_000_000,
        },
        Need::Int(1),
        "Calls of each connection, one after the other (`--num-calls`).",
    ),
    message(
        "request",
        Need::Word("80"),
        REQUEST_MAX,
        "Bytes of a request.",
    ),
    message(
        "file",
        Optional("10K, unless there are `files`"),
        FILE_MAX,
        "Bytes of the file that the client asks for, headers included.",
    ),
    key(
        "files",
        Kind::OneOrMore(&WEB_FILES),
        Optional("`file` alone"),
        "Files of several sizes, in the place of `file`.",
    ),
    key(
        "timeout",
        Kind::Time {
            unit: "ms",
            min_ns: 1_000,
        },
        Optional("for ever"),
        "How long the client waits for the next progress of a connection: that it opens, that \
             the first bytes of the answer come, that more come (`--timeout`). Then it closes and \
             counts a timeout.",
    ),
    key(
        "descriptors",
        Kind::Int {
            min: 1,
            max: 60_000,
        },
        Need::Int(ClientConfig::DESCRIPTORS as i64),
        "Connections that the client may have open: its file descriptors. Where there is none \
             left, no connection begins (`fd-unavail`).",
    ),
    key(
        "ports",
        Kind::Int {
            min: 1,
            max: ClientConfig::PORTS as i64,
        },
        Need::Int(ClientConfig::PORTS as i64),
        "Ports that the client may use, in turn.",
    ),
    key(
        "time_wait",
        Kind::Time {
            unit: "s",
            min_ns: 0,
        },
        Need::TimeNs(0),
        "How long the client does not use a port again after its connection: 60 s in Linux, 0 \
             on a client that is set up for load.",
    ),
    key(
        "workers",
        Kind::Int {
            min: 1,
            max: WORKERS_MAX,
        },
        Need::Int(150),
        "Processes of the server, each of which serves a connection at a time. 150 is \
             `MaxClients` as Apache 2.0 ships.",
    ),
    key(
        "backlog",
        Kind::Int {
            min: 1,
            max: 65_535,
        },
        Need::Int(ServerConfig::BACKLOG as i64),
        "Connections that are open and wait for a process: what the server asks `listen` for, \
             at most `net.core.somaxconn`.",
    ),
    key(
        "overflow",
        Kind::Word(Words::Of(OVERFLOWS)),
        Need::Word("ignore"),
        "What becomes of a connection that would be one too many.",
    ),
    key(
        "work",
        Kind::Time {
            unit: "us",
            min_ns: 0,
        },
        Required,
        "Processor time of the server's code for each request, besides system calls and what \
             the kernel does for its packets.",
    ),
    key(
        "work_kib",
        Kind::Time {
            unit: "us",
            min_ns: 0,
        },
        Need::TimeNs(0),
        "The same for each KiB of the file.",
    ),
    key(
        "initial_window",
        Kind::Int { min: 1, max: 1000 },
        Need::Int(3),
        "Initial congestion window (segments): 3 in Linux until 2.6.38, 10 later.",
    ),
    key(
        "send_buffer",
        Kind::Int {
            min: REQUEST_MAX as i64,
            max: 1 << 30,
        },
        Need::Int(256 * 1024),
        "Send buffer of each end (bytes): a process of the server waits while its answer does \
             not fit.",
    ),
    BEGIN,
    END,
    ON_NETWORK,
];
