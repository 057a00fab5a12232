//! The workloads `stream`, `ping`, `udp`, `server` and `rr`: traffic between a guest and the remote
//! host.

use super::flows::{BEGIN, END, Flows, ON_NETWORK, Serving, Traffic, When, message};
use super::web::{self, Web};
use crate::host::{FlowConfig, FlowKind, RequestConfig, StreamConfig};
use crate::icmp::{Pace, PingConfig};
use crate::packet::MESSAGE_BYTES_MAX;
use crate::tcp::{Control, TcpConfig};
use crate::udp::UdpConfig;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use domio_core::Duration;
use domio_core::keys::{
    Code, KeyReader, Keys, Need, Slot, Typed, WordOf, flag, int, name, time, word,
};

/// Largest socket buffer, in bytes.
const BUFFER_MAX: i64 = 1 << 30;

/// Most datagrams a second: more than 10 Gigabit Ethernet carries of the smallest ones.
const DATAGRAMS_MAX: i64 = 20_000_000;

/// Most requests of a workload: each has a connection of its own.
const REQUESTS_MAX: i64 = 1_000;

/// Most bytes of a request or of an answer.
const MESSAGE_MAX: u64 = 1 << 30;

/// The network workloads that scenarios can name.
pub static TRAFFIC: [WordOf<Traffic>; 6] = [
    WordOf::with_keys(
        "stream",
        stream,
        "A TCP connection with the remote host that carries data as fast as it goes.",
        Stream::KEYS,
    ),
    WordOf::with_keys(
        "ping",
        ping,
        "The remote host pings the guest, or with `to` the guest another one. A reply counts with \
         its full round trip however late it is.",
        PingKeys::KEYS,
    ),
    WordOf::with_keys(
        "udp",
        udp,
        "Datagrams of one size at a fixed rate.",
        Udp::KEYS,
    ),
    WordOf::with_keys(
        "server",
        server,
        "A server that answers requests of the remote host, one after the other, each by a \
         connection of its own. Each is a job, from when the server begins to read it to the end \
         of writing.",
        ServerKeys::KEYS,
    ),
    WordOf::with_keys(
        "rr",
        rr,
        "Request and response by one connection, as netperf's test TCP_RR: the remote host asks, \
         and asks again as soon as it has its answer. Each is a job of the guest's process, from \
         the first bytes that it reads to the end of writing. The remote host's process takes no \
         time.",
        Turns::KEYS,
    ),
    WordOf::with_keys("web", web::web, web::DOC, Web::KEYS),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    In,
    Out,
}

static DIRECTIONS: [WordOf<Direction>; 2] = [
    WordOf::new("in", Direction::In, "From the remote host to the guest."),
    WordOf::new("out", Direction::Out, "From the guest to the remote host."),
];

const DIRECTION: &str = "`in` is from the remote host to the guest, `out` from the guest.";

static CONTROLS: [WordOf<Control>; 2] = [
    WordOf::new("reno", Control::Reno, "A segment in each round trip; half."),
    WordOf::new(
        "bic",
        Control::Bic,
        "Fast to where the last loss was; a fifth. The default of Linux from 2.6.8 to 2.6.18.",
    ),
];

static SACK: [WordOf<bool>; 2] = [
    WordOf::new("on", true, "RFC 2018."),
    WordOf::new(
        "off",
        false,
        "One loss is found in each round trip (NewReno).",
    ),
];

const fn buffer(max: i64) -> Typed<u32> {
    int(1, max)
}

const BUFFER: Need = Need::Int(256 * 1024);

keys! {
    struct Stream {
        direction: Direction = word(&DIRECTIONS), Need::Word("in"), DIRECTION;
        begin: Duration = BEGIN.0, BEGIN.1, BEGIN.2;
        end: Duration = END.0, END.1, END.2;
        network: String = ON_NETWORK.0, ON_NETWORK.1, ON_NETWORK.2;
        nodelay: bool = flag(), Need::Int(0),
            "Whether each call's data are sent immediately (`TCP_NODELAY`, `netperf -D`): with \
             TSO a call is a frame then, while windows are open.";
        receive_buffer: u32 = buffer(BUFFER_MAX), BUFFER,
            "Receive buffer (bytes): what may be sent before the receiver has read it.";
        send_buffer: u32 = buffer(BUFFER_MAX), BUFFER,
            "Send buffer (bytes): what may be written before the other end has acknowledged it.";
        piece: u32 = buffer(BUFFER_MAX), Need::Int(StreamConfig::PIECE as i64),
            "Bytes that the guest's program passes to a call, which reads or writes, and with \
             direction `in` the remote host's, too. 8192 is the default of `iperf` 2 and `ttcp`.";
        initial_window: u32 = int(1, 1000), Need::Int(3),
            "Initial congestion window (segments): 3 in Linux until 2.6.38, 10 later.";
        congestion: Control = word(&CONTROLS), Need::Word("reno"),
            "How the congestion window grows, and what a loss takes away.";
        sack: bool = word(&SACK), Need::Word("on"),
            "Whether what arrives before its turn is acknowledged too, so that all losses of a \
             window are sent again in one round trip (`net.ipv4.tcp_sack`).";
        rto_min: Duration = time("ms", 1_000_000), Need::TimeNs(200_000_000),
            "How far the retransmission timeout is above the round trip at least.";
        ack_delay: Duration = time("ms", 0), Need::TimeNs(40_000_000),
            "How long an acknowledgement waits for company; 0 for not at all.";
        to: String = name(), Need::Optional("nobody: the remote host has the other end"),
            "The domain that a guest with direction `out` sends to, through the bridge of the \
             network that both have a vif on.";
    }
}

fn stream(table: &mut KeyReader<'_>) -> Option<Flows> {
    let keys = Stream::read(table);
    if keys.to.given && keys.direction.get() == Some(Direction::In) {
        let to = table
            .keys
            .texts(&keys.to)
            .pop()
            .map_or_else(String::new, |(_, to)| to);
        table.tell(table.keys.wrong(Code::Conflict, &keys.to, to).says(
            "a stream to another domain goes out of this one",
            "`direction = \"out\"` beside `to`",
            "for a stream into this domain, give the other domain the workload",
        ));
        return None;
    }
    let when = When::read(table, &keys.begin, &keys.end)?;
    Some(Flows {
        configs: keys.kind().and_then(|kind| when.one(kind)),
        by_kernel: false,
        serving: None,
        network: keys.network,
        to: Some(keys.to).filter(|to| to.given),
    })
}

impl Stream {
    fn kind(&self) -> Option<FlowKind> {
        let tcp = TcpConfig {
            initial_window: self.initial_window.get()?,
            nodelay: self.nodelay.get()?,
            control: self.congestion.get()?,
            selective: self.sack.get()?,
            send_buffer: self.send_buffer.get()?,
            receive_buffer: self.receive_buffer.get()?,
            // What surrounds the data does not count.
            window: self.receive_buffer.get()?,
            rto_min: self.rto_min.get()?,
            ack_delay: self.ack_delay.get()?,
            ..TcpConfig::default()
        };
        let piece = self.piece.get()?;
        let stream = StreamConfig { tcp, piece };
        Some(match self.direction.get()? {
            Direction::In => FlowKind::StreamIn(stream),
            Direction::Out => FlowKind::StreamOut(stream),
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pacing {
    Adaptive,
    Flood,
    Interval,
}

static PACES: [WordOf<Pacing>; 3] = [
    WordOf::new("adaptive", Pacing::Adaptive, "`ping -A`."),
    WordOf::new("flood", Pacing::Flood, "`ping -f`."),
    WordOf::new("interval", Pacing::Interval, "`ping -i`."),
];

keys! {
    struct PingKeys {
        pace: Pacing = word(&PACES), Need::Word("adaptive"),
            "When the next request is sent: `adaptive`, after the mean round trip so far (`ping \
             -A`); `flood`, upon the reply or after `timeout` (`ping -f`); `interval`, by the \
             clock (`ping -i`).";
        timeout: Duration = time("ms", 1_000), Need::Optional("10 ms when it floods"),
            "How long a flood waits for a reply. The other paces have none.";
        interval: Duration = time("ms", 1_000), Need::Optional("1 s with this pace"),
            "Time between two requests that go by the clock. The other paces have none.";
        bytes: u16 = int(0, MESSAGE_BYTES_MAX as i64), Need::Int(56),
            "Bytes of each request, behind the ICMP header (`ping -s`).";
        to: String = name(), Need::Optional("nobody: the remote host pings the guest"),
            "The domain that the guest pings, through the bridge of the network that both have a \
             vif on. Round trips are the pinging guest's.";
        begin: Duration = BEGIN.0, BEGIN.1, BEGIN.2;
        end: Duration = END.0, END.1, END.2;
        network: String = ON_NETWORK.0, ON_NETWORK.1, ON_NETWORK.2;
    }
}

fn ping(table: &mut KeyReader<'_>) -> Option<Flows> {
    let keys = PingKeys::read(table);
    let when = When::read(table, &keys.begin, &keys.end)?;
    let config = keys.config(table);
    Some(Flows {
        configs: config.and_then(|config| when.one(FlowKind::Ping(config))),
        by_kernel: true,
        serving: None,
        network: keys.network,
        to: Some(keys.to).filter(|to| to.given),
    })
}

impl PingKeys {
    fn config(&self, table: &mut KeyReader<'_>) -> Option<PingConfig> {
        let pacing = self.pace.get()?;
        let alone = [
            belongs_to_pace(table, pacing, &self.timeout, Pacing::Flood),
            belongs_to_pace(table, pacing, &self.interval, Pacing::Interval),
        ];
        if alone.contains(&false) {
            return None;
        }
        let pace = match pacing {
            Pacing::Flood => Pace::Flood(self.timeout.or(Pace::FLOOD_TIMEOUT)?),
            Pacing::Interval => Pace::Every(self.interval.or(Pace::INTERVAL)?),
            Pacing::Adaptive => Pace::Adaptive,
        };
        Some(PingConfig {
            bytes: self.bytes.get()?,
            pace,
            ticks: None,
        })
    }
}

/// Reports a time that a ping of this pace does not have; whether there is none.
fn belongs_to_pace(
    table: &mut KeyReader<'_>,
    pacing: Pacing,
    slot: &Slot<Duration>,
    of: Pacing,
) -> bool {
    if pacing == of || !slot.given {
        return true;
    }
    let called = |pacing| {
        let word = PACES.iter().find(|word| word.is == pacing);
        word.map_or("", |word| word.variant.word)
    };
    let (word, pace, key) = (called(pacing), called(of), slot.name);
    table.tell(table.keys.misplaced(slot).says(
        format!("a ping of pace \"{word}\" has no {key}"),
        format!("`pace = \"{pace}\"` with it"),
        format!("set `pace = \"{pace}\"`, or remove the {key}"),
    ));
    false
}

keys! {
    struct ServerKeys {
        requests: u32 = int(1, REQUESTS_MAX), Need::Required, "How many there are.";
        interval: Duration = time("ms", 1_000), Need::Required, "From one request to the next.";
        request: u64 = message(MESSAGE_MAX), Need::Word("512"), "Bytes of a request.";
        answer: u64 = message(MESSAGE_MAX), Need::Word("16K"), "Bytes of an answer.";
        work: Duration = time("us", 0), Need::TimeNs(0),
            "Processor time of each, in addition to its packets'.";
        begin: Duration = BEGIN.0, BEGIN.1, BEGIN.2;
        network: String = ON_NETWORK.0, ON_NETWORK.1, ON_NETWORK.2;
    }
}

fn server(table: &mut KeyReader<'_>) -> Option<Flows> {
    let keys = ServerKeys::read(table);
    let serving = keys.serving();
    Some(Flows {
        configs: keys.flows().filter(|_| serving.is_some()),
        by_kernel: false,
        serving,
        network: keys.network,
        to: None,
    })
}

impl ServerKeys {
    fn serving(&self) -> Option<Serving> {
        Some(Serving {
            request: self.request.get()?,
            answer: self.answer.get()?,
            work: self.work.get()?,
        })
    }

    /// The requests, the first one at the begin.
    fn flows(&self) -> Option<Vec<FlowConfig>> {
        let (begin, interval) = (self.begin.get()?, self.interval.get()?);
        let kind = FlowKind::Request(RequestConfig {
            tcp: TcpConfig::default(),
            bytes: self.request.get()?,
        });
        let flow = |i| FlowConfig {
            kind,
            start: begin + interval * u64::from(i),
            stop: None,
        };
        Some((0..self.requests.get()?).map(flow).collect())
    }
}

keys! {
    struct Turns {
        bytes: u64 = message(MESSAGE_MAX), Need::Word("1"),
            "Bytes of a request, and of an answer (`netperf -r`).";
        begin: Duration = BEGIN.0, BEGIN.1, BEGIN.2;
        end: Duration = END.0, END.1, END.2;
        network: String = ON_NETWORK.0, ON_NETWORK.1, ON_NETWORK.2;
    }
}

fn rr(table: &mut KeyReader<'_>) -> Option<Flows> {
    let keys = Turns::read(table);
    let when = When::read(table, &keys.begin, &keys.end)?;
    // Linux holds a small segment back only behind another small one that is not acknowledged
    // (`tcp_minshall_check`). Here an answer has acknowledged all before.
    let tcp = TcpConfig {
        nodelay: true,
        ..TcpConfig::default()
    };
    let kind = keys
        .bytes
        .get()
        .map(|bytes| FlowKind::Turns(RequestConfig { tcp, bytes }));
    Some(Flows {
        configs: kind.and_then(|kind| when.one(kind)),
        by_kernel: false,
        serving: None,
        network: keys.network,
        to: None,
    })
}

keys! {
    struct Udp {
        direction: Direction = word(&DIRECTIONS), Need::Word("in"), DIRECTION;
        pps: u32 = int(1, DATAGRAMS_MAX), Need::Required, "Datagrams a second.";
        bytes: u16 = int(0, MESSAGE_BYTES_MAX as i64), Need::Int(MESSAGE_BYTES_MAX as i64),
            "Bytes of each, behind the UDP header; not 0 for those from the guest.";
        wake: Duration = time("ms", 0), Need::TimeNs(0),
            "From one wake-up of the sender to the next: what falls due in between is sent \
             then, as by a program whose sleeps end with its kernel's tick. 0 sends each at \
             its time.";
        jitter: Duration = time("us", 0), Need::TimeNs(0),
            "How late each wake-up is at most: each time another time, evenly distributed from \
             zero on, the same in all replications. A program that paces itself by a clock is \
             never exact.";
        begin: Duration = BEGIN.0, BEGIN.1, BEGIN.2;
        end: Duration = END.0, END.1, END.2;
        network: String = ON_NETWORK.0, ON_NETWORK.1, ON_NETWORK.2;
    }
}

fn udp(table: &mut KeyReader<'_>) -> Option<Flows> {
    let keys = Udp::read(table);
    let when = When::read(table, &keys.begin, &keys.end)?;
    let configs = keys.kind(table).and_then(|kind| when.one(kind));
    let first = configs.as_ref().and_then(|all| all.first());
    Some(Flows {
        by_kernel: first.is_some_and(|flow| matches!(flow.kind, FlowKind::UdpIn(_))),
        configs,
        serving: None,
        network: keys.network,
        to: None,
    })
}

impl Udp {
    fn kind(&self, table: &mut KeyReader<'_>) -> Option<FlowKind> {
        let config = UdpConfig {
            bytes: self.bytes.get()?,
            rate: self.pps.get()?,
            wake: self.wake.get()?,
            jitter: self.jitter.get()?,
        };
        if self.direction.get()? == Direction::In {
            return Some(FlowKind::UdpIn(config));
        }
        if config.bytes == 0 {
            table.tell(table.keys.wrong(Code::Conflict, &self.bytes, "0").says(
                "a process of the guest writes at least a byte at a time",
                "1 or more with `direction = \"out\"`",
                "datagrams to the guest may be empty; those from it may not",
            ));
            return None;
        }
        Some(FlowKind::UdpOut(config))
    }
}
