//! The kernel of a guest whose processes serve a web client: the backlog, and the connections.
//!
//! Linux 2.6.18 decides twice whether there is room (`tcp_v4_conn_request`, `tcp_v4_syn_recv_sock`
//! in `net/ipv4/tcp_ipv4.c`). A SYN is dropped while too many connections wait for a process, and
//! the client sends the SYN again after 3 s, 6 s and so on. The acknowledgement that opens a
//! connection is ignored meanwhile, though the client takes the connection for open: the server
//! answers the SYN again later, and the client sends the request again. Or the connection is reset
//! ([`ServerConfig::abort_on_overflow`]).

use alloc::collections::VecDeque;
use domio_core::Instant;
use domio_vmm::process::Pid;

use super::config::{ServerConfig, WebConfig};
use super::connections::{Connections, Happened, Wrap};
use crate::packet::{Flags, Packet, Segment, Station};
use crate::queue::{Accounted, Ledger};
use crate::tcp::{Connection, State, TcpConfig, Timer};

/// Connections that are half open at most (`tcp_max_syn_backlog` with 128 MiB and more).
const HALF_OPEN_MAX: u32 = 1_024;
/// How often Linux answers a SYN again before the half-open connection has failed
/// (`tcp_synack_retries`).
const SYNACK_RETRIES: u64 = 5;
/// How often Linux sends again over a connection that its process has closed
/// (`tcp_orphan_retries`).
const ORPHAN_RETRIES: u64 = 8;
/// Timers of a connection.
const TIMERS: u32 = 2;

/// What a listener asks its owner for.
pub trait ListenerActions {
    /// Sends a packet, at this instant.
    fn send(&mut self, packet: Packet);

    /// Wakes a process.
    fn wake(&mut self, process: Pid);
}

/// What has become of connections in the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ListenerCounts {
    /// SYNs that were dropped, because too many connections waited for a process.
    pub syns_dropped: u64,
    /// Acknowledgements that would have opened a connection, and were ignored for that reason.
    pub opens_ignored: u64,
    /// Connections that a process has accepted.
    pub accepted: u64,
    /// Most connections that waited for a process.
    pub queue_max: usize,
}

/// Who has a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Holder {
    /// Nobody: the place is free.
    Nobody,
    /// The kernel, while the connection is being opened.
    HalfOpen,
    /// The queue of those that wait for a process.
    Queue,
    /// A process.
    Process,
    /// The kernel, since the process has closed.
    Kernel,
}

/// What a listener keeps of a connection.
#[derive(Clone, Debug)]
struct Served {
    holder: Holder,
    /// Bytes of the write under way that are in the buffer.
    written: u64,
    /// Whom to wake when there is something to read, and when there is room to write.
    reader: Option<Pid>,
    writer: Option<Pid>,
}

/// What a process can do with a connection now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offer {
    /// To read or write so many bytes.
    Bytes(u64),
    /// Nothing before it is woken.
    Wait,
    /// Nothing any more.
    End,
}

/// A socket that listens, and its connections.
#[derive(Clone, Debug)]
pub struct Listener {
    tcp: TcpConfig,
    config: ServerConfig,
    connections: Connections<Served, TIMERS>,
    queue: VecDeque<u16>,
    half_open: u32,
    /// Processes that wait for a connection.
    acceptors: VecDeque<Pid>,
    counts: ListenerCounts,
}

impl Listener {
    /// The socket of workload `web`, at the first of `stations`, whose client is at the second.
    pub fn new(web: u16, config: &WebConfig, stations: (Station, Station)) -> Self {
        Listener {
            tcp: config.tcp,
            config: config.server,
            connections: Connections::new(web, stations),
            queue: VecDeque::new(),
            half_open: 0,
            acceptors: VecDeque::new(),
            counts: ListenerCounts::default(),
        }
    }

    /// The guest is gone: so are all connections. What was counted stays.
    pub fn clear(&mut self) {
        self.connections.clear();
        self.queue.clear();
        self.half_open = 0;
        self.acceptors.clear();
    }

    /// When a timer of a connection expires.
    #[inline]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.connections.deadlines.next()
    }

    /// What has become of connections.
    pub fn counts(&self) -> &ListenerCounts {
        &self.counts
    }

    /// Places for connections: as many as there were at a time.
    pub fn places(&self) -> usize {
        self.connections.places()
    }

    /// The port of the connection in `place`.
    pub fn port(&self, place: u16) -> Option<u16> {
        Some(self.connections.get(place)?.port)
    }

    /// A packet from `port` has arrived.
    pub fn receive(
        &mut self,
        now: Instant,
        port: u16,
        segment: &Segment,
        out: &mut impl ListenerActions,
    ) {
        self.connections.count_arrival();
        let opens = segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK);
        let mut place = self.connections.find(port);
        if let Some(old) = place
            && opens
            && self.connections[old].own.holder != Holder::HalfOpen
        {
            // The client has forgotten that connection and begins another one.
            self.act(old, out, |connection, out| connection.forget(out));
            self.connections.free_port(port);
            self.settle(old, out);
            place = None;
        }
        let place = match place {
            Some(place) => place,
            None if opens => match self.admit(port) {
                Some(place) => place,
                None => {
                    self.counts.syns_dropped += 1;
                    return;
                }
            },
            None => {
                if let Some(answer) = self.connections.refuse(now, port, segment) {
                    out.send(answer);
                }
                return;
            }
        };
        if self.is_one_too_many(place, segment) {
            self.counts.opens_ignored += 1;
            if self.config.abort_on_overflow {
                self.act(place, out, |connection, out| connection.abort(now, out));
                self.settle(place, out);
            }
            return;
        }
        let happened = self.act(place, out, |connection, out| {
            connection.segment(now, segment, out);
        });
        if happened.opened {
            self.half_open -= 1;
            self.connections[place].own.holder = Holder::Queue;
            self.queue.push_back(place);
            self.counts.queue_max = self.counts.queue_max.max(self.queue.len());
            if let Some(process) = self.acceptors.pop_front() {
                out.wake(process);
            }
        }
        self.settle(place, out);
    }

    /// A timer has expired.
    pub fn timers(&mut self, now: Instant, out: &mut impl ListenerActions) {
        while let Some((place, timer)) = self.connections.expired(now) {
            let slot = &self.connections[place];
            let tired = match slot.own.holder {
                Holder::HalfOpen => slot.connection.syn_retries() >= SYNACK_RETRIES,
                Holder::Kernel => slot.connection.statistics().timeouts >= ORPHAN_RETRIES,
                _ => false,
            };
            self.act(place, out, |connection, out| match timer {
                0 if tired => connection.forget(out),
                0 => connection.timer(now, Timer::Retransmit, out),
                _ => connection.timer(now, Timer::DelayedAck, out),
            });
            self.settle(place, out);
        }
    }

    /// A process accepts: the place of the connection, or nothing before it is woken.
    pub fn accept(&mut self, by: Pid) -> Option<u16> {
        let Some(place) = self.queue.pop_front() else {
            if !self.acceptors.contains(&by) {
                self.acceptors.push_back(by);
            }
            return None;
        };
        self.counts.accepted += 1;
        self.connections[place].own.holder = Holder::Process;
        Some(place)
    }

    /// Whether a process that accepts would not block; `wake` is woken when that is so.
    pub fn acceptable(&mut self, wake: Option<Pid>) -> bool {
        if let Some(process) = wake
            && !self.acceptors.contains(&process)
        {
            self.acceptors.push_back(process);
        }
        !self.queue.is_empty()
    }

    /// What a process can read from the connection in `place`; `wake` is woken when there is more.
    pub fn readable(&mut self, place: u16, wake: Option<Pid>) -> Offer {
        let Some(slot) = self.connections.get_mut(place) else {
            return Offer::End;
        };
        slot.own.reader = None;
        match slot.connection.readable() {
            0 if slot.connection.at_end() => Offer::End,
            0 => {
                slot.own.reader = wake;
                Offer::Wait
            }
            bytes => Offer::Bytes(bytes),
        }
    }

    /// A process reads up to `bytes`. Returns how many there were.
    pub fn read(
        &mut self,
        now: Instant,
        place: u16,
        bytes: u64,
        out: &mut impl ListenerActions,
    ) -> u64 {
        let mut taken = 0;
        self.act(place, out, |connection, out| {
            taken = connection.read(now, bytes, out);
        });
        taken
    }

    /// What a process can write of `bytes` to the connection in `place`, which may be less than
    /// all; `wake` is woken when there is room. [`Offer::Bytes`] with 0 when all is written.
    pub fn writable(&mut self, place: u16, bytes: u64, wake: Option<Pid>) -> Offer {
        let Some(slot) = self.connections.get_mut(place) else {
            return Offer::End;
        };
        slot.own.writer = None;
        let left = bytes.saturating_sub(slot.own.written);
        if left == 0 {
            slot.own.written = 0;
            return Offer::Bytes(0);
        }
        if slot.connection.state() != State::Established {
            slot.own.written = 0;
            return Offer::End;
        }
        match slot.connection.room().min(left) {
            0 => {
                slot.own.writer = wake;
                Offer::Wait
            }
            bytes => Offer::Bytes(bytes),
        }
    }

    /// Whether the write under way has begun already.
    pub fn has_begun_writing(&self, place: u16) -> bool {
        self.connections
            .get(place)
            .is_some_and(|slot| slot.own.written > 0)
    }

    /// A process has copied `bytes` of its write.
    pub fn write(&mut self, now: Instant, place: u16, bytes: u64, out: &mut impl ListenerActions) {
        self.connections[place].own.written += bytes;
        self.act(place, out, |connection, out| {
            // What a connection that was reset meanwhile does not take is lost with it.
            connection.write(now, bytes, out);
        });
    }

    /// The process closes the connection in `place`.
    pub fn close(&mut self, now: Instant, place: u16, out: &mut impl ListenerActions) {
        let slot = &mut self.connections[place];
        slot.own.holder = Holder::Kernel;
        (slot.own.reader, slot.own.writer) = (None, None);
        self.act(place, out, |connection, out| connection.close(now, out));
        self.settle(place, out);
    }

    /// Whether one more connection may be half open: its place, if so.
    fn admit(&mut self, port: u16) -> Option<u16> {
        let young = self.half_open > 1;
        if self.half_open >= HALF_OPEN_MAX || self.is_full() && young {
            return None;
        }
        let mut connection = Connection::new(&self.tcp);
        connection.listen();
        let own = Served {
            holder: Holder::HalfOpen,
            written: 0,
            reader: None,
            writer: None,
        };
        self.half_open += 1;
        Some(self.connections.insert(connection, port, own))
    }

    /// Whether more connections wait for a process than were to (`sk_acceptq_is_full`).
    fn is_full(&self) -> bool {
        self.queue.len() > usize::from(self.config.backlog)
    }

    /// Whether `segment` would open the connection in `place`, and there is no room for that.
    fn is_one_too_many(&self, place: u16, segment: &Segment) -> bool {
        let slot = &self.connections[place];
        let opens = slot.own.holder == Holder::HalfOpen
            && segment.flags.contains(Flags::ACK)
            && !segment.flags.contains(Flags::RST);
        opens && self.is_full()
    }

    /// Lets something happen to a connection.
    fn act(
        &mut self,
        place: u16,
        out: &mut impl ListenerActions,
        act: impl FnOnce(&mut Connection, &mut Wrap<'_>),
    ) -> Happened {
        let mut send = |packet| out.send(packet);
        self.connections.act(place, &mut send, act)
    }

    /// Something has happened to a connection: who waits for that is woken, and a place that is
    /// needed no more is free.
    fn settle(&mut self, place: u16, out: &mut impl ListenerActions) {
        let slot = &mut self.connections[place];
        let connection = &slot.connection;
        let over = matches!(connection.state(), State::Finished | State::Reset);
        let reader = connection.readable() > 0 || connection.at_end();
        let writer = over || connection.room() * 2 >= connection.buffered();
        if reader && let Some(process) = slot.own.reader.take() {
            out.wake(process);
        }
        if writer && let Some(process) = slot.own.writer.take() {
            out.wake(process);
        }
        let kernels = matches!(slot.own.holder, Holder::HalfOpen | Holder::Kernel);
        if !(over && kernels) {
            return;
        }
        self.half_open -= u32::from(slot.own.holder == Holder::HalfOpen);
        slot.own.holder = Holder::Nobody;
        let port = slot.port;
        if self.connections.find(port) == Some(place) {
            self.connections.free_port(port);
        }
        self.connections.release(place);
    }
}

impl Accounted for Listener {
    fn account(&self, ledger: &mut Ledger) {
        ledger.add(&self.connections);
    }
}
