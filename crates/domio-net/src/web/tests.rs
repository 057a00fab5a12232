//! A client and a listening kernel on a line of 100 us each way, segment by segment.

use super::*;
use crate::class::WebStep;
use crate::packet::{Body, Packet, Station};
use crate::tcp::TcpConfig;
use alloc::borrow::ToOwned;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;
use domio_core::{Duration, Instant};
use domio_sim::RandomStream;
use domio_vmm::process::Pid;
use domio_vmm::process::programs::WebCosts;

const LATENCY: Duration = Duration::from_micros(100);
const WORKER: Pid = Pid { vcpu: 0, index: 0 };

/// The line each way, and what has been said.
#[derive(Default)]
struct Line {
    now: Instant,
    there: VecDeque<(Instant, Packet)>,
    back: VecDeque<(Instant, Packet)>,
    woken: bool,
    said: String,
}

impl Line {
    fn say(&mut self, what: &str) {
        let us = self.now.as_nanos() / 1_000;
        let _ = writeln!(self.said, "{us:>8} us  {what}");
    }

    fn tell_of(&mut self, way: char, packet: &Packet) {
        let Body::Tcp(segment) = packet.body else {
            unreachable!("only segments are sent")
        };
        let flags = format!("{:?}", segment.flags).replace(['[', ']', '"', ','], "");
        let mut text = format!("{way} {flags} seq {}", segment.seq);
        if segment.flags.contains(crate::packet::Flags::ACK) {
            let _ = write!(text, " ack {}", segment.ack);
        }
        if segment.len > 0 {
            let _ = write!(text, ", {} bytes", segment.len);
        }
        self.say(&text);
    }
}

impl ClientActions for Line {
    fn send(&mut self, packet: Packet) {
        self.tell_of('>', &packet);
        self.there.push_back((self.now + LATENCY, packet));
    }

    fn tell(&mut self, step: WebStep, bytes: u32, ns: u64) {
        let name = step.name();
        let text = match step {
            WebStep::Replied => format!("client: {name}, {bytes} bytes after {} us", ns / 1_000),
            _ => format!("client: {name} after {} us", ns / 1_000),
        };
        self.say(&text);
    }

    fn received(&mut self, _: u64) {}
}

impl ListenerActions for Line {
    fn send(&mut self, packet: Packet) {
        self.tell_of('<', &packet);
        self.back.push_back((self.now + LATENCY, packet));
    }

    fn wake(&mut self, _: Pid) {
        self.woken = true;
    }
}

/// The first packet that has arrived.
fn due(line: &mut VecDeque<(Instant, Packet)>, now: Instant) -> Option<(Instant, Packet)> {
    let arrived = line.front().is_some_and(|(at, _)| *at <= now);
    arrived.then(|| line.pop_front()).flatten()
}

fn config(bytes: u32) -> WebConfig {
    WebConfig {
        tcp: TcpConfig {
            nodelay: true,
            ..TcpConfig::default()
        },
        client: ClientConfig {
            rate: 10,
            gaps: Gaps::Even,
            calls: 1,
            request: 80,
            files: Files::new(&[(bytes, 1)]),
            timeout: None,
            descriptors: 10,
            ports: 10,
            time_wait: Duration::ZERO,
        },
        server: ServerConfig {
            workers: 1,
            backlog: 1,
            abort_on_overflow: false,
            costs: WebCosts {
                request: Duration::ZERO,
                kib: Duration::ZERO,
            },
        },
    }
}

/// What a process of the server is at.
#[derive(Clone, Copy)]
enum Worker {
    Accepts,
    Reads(u16),
    Writes(u16),
    Gone,
}

struct Pair {
    client: Client,
    listener: Listener,
    line: Line,
    worker: Worker,
    /// When the answer is computed.
    computed: Option<Instant>,
}

impl Pair {
    fn new(config: &WebConfig) -> Self {
        let (far, near) = (Station(0), Station(1));
        let random = RandomStream::new(1, 0, "client");
        let mut pair = Pair {
            client: Client::new(0, config, (far, near), random),
            listener: Listener::new(0, config, (near, far)),
            line: Line::default(),
            worker: Worker::Accepts,
            computed: None,
        };
        pair.client.start(Instant::ZERO, None);
        pair
    }

    /// Everything that happens until `us`.
    fn run(&mut self, us: u64) {
        let end = Instant::ZERO + Duration::from_micros(us);
        loop {
            let times = [
                self.client.wants(),
                self.listener.next_deadline(),
                self.line.there.front().map(|(at, _)| *at),
                self.line.back.front().map(|(at, _)| *at),
                self.computed,
            ];
            let Some(now) = times.into_iter().flatten().min().filter(|at| *at <= end) else {
                break;
            };
            self.line.now = now;
            if let Some((_, packet)) = due(&mut self.line.there, now)
                && let (Some((_, port)), Body::Tcp(segment)) =
                    (connection_of(packet.flow), packet.body)
            {
                self.listener.receive(now, port, &segment, &mut self.line);
            }
            if let Some((_, packet)) = due(&mut self.line.back, now)
                && let (Some((_, port)), Body::Tcp(segment)) =
                    (connection_of(packet.flow), packet.body)
            {
                self.client.receive(now, port, &segment, &mut self.line);
            }
            if self.listener.next_deadline().is_some_and(|at| at <= now) {
                self.listener.timers(now, &mut self.line);
            }
            if self.client.wants().is_some_and(|at| at <= now) {
                self.client.timer(now, &mut self.line);
            }
            self.work(now);
        }
    }

    /// A process that computes for a millisecond.
    fn work(&mut self, now: Instant) {
        match self.worker {
            Worker::Accepts => {
                if let Some(place) = self.listener.accept(WORKER) {
                    self.line.say("server: accepts");
                    self.worker = Worker::Reads(place);
                    self.work(now);
                }
            }
            Worker::Reads(place) => match self.listener.readable(place, Some(WORKER)) {
                Offer::Wait => {}
                Offer::End => {
                    self.line.say("server: closes");
                    self.listener.close(now, place, &mut self.line);
                    self.worker = Worker::Accepts;
                    self.work(now);
                }
                Offer::Bytes(bytes) => {
                    let got = self.listener.read(now, place, bytes, &mut self.line);
                    self.line.say(&format!("server: reads {got} bytes"));
                    self.computed = Some(now + Duration::from_millis(1));
                    self.worker = Worker::Writes(place);
                }
            },
            Worker::Writes(place) if self.computed.is_some_and(|at| at <= now) => {
                self.computed = None;
                let port = self.listener.port(place).expect("it is open");
                let bytes = self.client.asked(port);
                match self.listener.writable(place, bytes, Some(WORKER)) {
                    Offer::Bytes(room) => {
                        assert_eq!(room, bytes, "the buffer has room for all");
                        self.line.say(&format!("server: writes {bytes} bytes"));
                        self.listener.write(now, place, bytes, &mut self.line);
                        let done = self.listener.writable(place, bytes, Some(WORKER));
                        assert_eq!(done, Offer::Bytes(0));
                    }
                    other => self.line.say(&format!("server: cannot write: {other:?}")),
                }
                self.worker = Worker::Reads(place);
                self.work(now);
            }
            Worker::Writes(_) | Worker::Gone => {}
        }
    }
}

#[test]
#[should_panic(expected = "1 to 8 classes")]
fn a_client_asks_for_something() {
    let _ = Files::new(&[]);
}

fn compare(said: &str, expected: &str) {
    let lines = |text: &str| {
        let lines = text.lines().map(|line| line.trim().to_owned());
        lines.filter(|line| !line.is_empty()).collect::<Vec<_>>()
    };
    assert_eq!(lines(said), lines(expected), "\n{said}");
}

/// One request, segment by segment. The handshake takes a round trip of 200 us, the first bytes
/// come a round trip and the millisecond of computing after the request. The answer of 4,000 bytes
/// is two full segments of 1,448 and the rest, all within the initial window of three. The client
/// acknowledges each of the first segments, and closes when it has all.
#[test]
fn one_request_segment_by_segment() {
    let mut pair = Pair::new(&config(4_000));
    pair.run(50_000);
    let expected = "\
           0 us  client: started after 0 us
           0 us  > SYN SACK_PERMITTED seq 0
         100 us  < SYN ACK SACK_PERMITTED seq 0 ack 1
         200 us  > ACK seq 1 ack 1
         200 us  client: connected after 200 us
         200 us  > ACK seq 1 ack 1, 80 bytes
         300 us  server: accepts
         300 us  < ACK seq 1 ack 81
         300 us  server: reads 80 bytes
        1300 us  server: writes 4000 bytes
        1300 us  < ACK seq 1 ack 81, 1448 bytes
        1300 us  < ACK seq 1449 ack 81, 1448 bytes
        1300 us  < ACK seq 2897 ack 81, 1104 bytes
        1400 us  > ACK seq 81 ack 1449
        1400 us  client: first byte after 1200 us
        1400 us  > ACK seq 81 ack 2897
        1400 us  > ACK seq 81 ack 4001
        1400 us  client: replied, 4000 bytes after 1400 us
        1400 us  client: closed after 1400 us
        1400 us  > ACK FIN seq 81 ack 4001
        1500 us  < ACK seq 4001 ack 82
        1500 us  server: closes
        1500 us  < ACK FIN seq 4001 ack 82
        1600 us  > ACK seq 82 ack 4002
";
    compare(&pair.line.said, expected);
    let listener = pair.listener.counts();
    assert_eq!((listener.accepted, listener.queue_max), (1, 1));
    assert_eq!(pair.client.counts().open(), 0);
}

/// The client waits for 500 us, which is too short for the server: the client closes with a FIN,
/// and what the server writes then is answered with a RST.
#[test]
fn a_client_that_gives_up_resets_the_answer() {
    let mut config = config(4_000);
    config.client.timeout = Some(Duration::from_micros(500));
    let mut pair = Pair::new(&config);
    pair.run(50_000);
    let expected = "\
           0 us  client: started after 0 us
           0 us  > SYN SACK_PERMITTED seq 0
         100 us  < SYN ACK SACK_PERMITTED seq 0 ack 1
         200 us  > ACK seq 1 ack 1
         200 us  client: connected after 200 us
         200 us  > ACK seq 1 ack 1, 80 bytes
         300 us  server: accepts
         300 us  < ACK seq 1 ack 81
         300 us  server: reads 80 bytes
         700 us  client: timed out after 700 us
         700 us  > ACK FIN seq 81 ack 1
         800 us  < ACK seq 1 ack 82
        1300 us  server: writes 4000 bytes
        1300 us  < ACK seq 1 ack 82, 1448 bytes
        1300 us  < ACK seq 1449 ack 82, 1448 bytes
        1300 us  < ACK seq 2897 ack 82, 1104 bytes
        1300 us  server: closes
        1400 us  > ACK RST seq 82 ack 1
        1400 us  > RST seq 82
        1400 us  > RST seq 82
";
    compare(&pair.line.said, expected);
}

/// Nobody accepts, and the second connection that waits is one too many: the client takes the
/// connection for open, sends its request again and again, and the server its SYN.
#[test]
fn a_connection_that_is_one_too_many_opens_later() {
    let mut config = config(100);
    config.client.rate = 1_000;
    let mut pair = Pair::new(&config);
    pair.worker = Worker::Gone;
    pair.run(5_000);
    let counts = *pair.listener.counts();
    assert_eq!(counts.queue_max, 2, "the backlog, and one more");
    assert!(counts.opens_ignored > 0, "{counts:?}");
}
