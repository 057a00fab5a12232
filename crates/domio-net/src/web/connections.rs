//! The connections of a client or a listener: places, ports, timers, and what a connection asks
//! for.

use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

use domio_core::Instant;

use super::deadlines::Deadlines;
use super::numbers::{by_port, flow};
use crate::packet::{Body, Flags, FlowId, Packet, Sack, Segment, Station};
use crate::queue::{Accounted, Ledger};
use crate::tcp::{Actions, Connection, Timer};

/// A place for a connection, with what its owner keeps of it.
#[derive(Clone, Debug)]
pub(super) struct Slot<S> {
    pub connection: Connection,
    /// The client's port.
    pub port: u16,
    pub own: S,
}

/// Connections of workload `web`, each with `TIMERS` timers, of which the first two are TCP's.
#[derive(Clone, Debug)]
pub(super) struct Connections<S, const TIMERS: u32> {
    web: u16,
    from: Station,
    to: Station,
    slots: Vec<Slot<S>>,
    free: Vec<u16>,
    /// By port: place of the connection, counted from 1; 0 for a free port, [`RESTS`] for one that
    /// nobody has and that is not free.
    ports: Vec<u16>,
    pub deadlines: Deadlines,
    sent: u64,
    arrived: u64,
}

/// What [`Connections`] has for a port that rests.
const RESTS: u16 = u16::MAX;

/// What came of something that happened to a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Happened {
    /// It has opened.
    pub opened: bool,
    /// Bytes that came.
    pub delivered: u64,
}

impl<S, const TIMERS: u32> Connections<S, TIMERS> {
    /// None, of workload `web`, whose packets go from one station to the other.
    pub fn new(web: u16, (from, to): (Station, Station)) -> Self {
        Connections {
            web,
            from,
            to,
            slots: Vec::new(),
            free: Vec::new(),
            ports: Vec::new(),
            deadlines: Deadlines::default(),
            sent: 0,
            arrived: 0,
        }
    }

    /// Forgets all of them. What was counted stays.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.free.clear();
        self.ports.clear();
        self.deadlines = Deadlines::default();
    }

    /// Places: as many as there were connections at a time.
    pub fn places(&self) -> usize {
        self.slots.len()
    }

    /// Places that are in use.
    pub fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// What is in `place`, if anything ever was.
    pub fn get_mut(&mut self, place: u16) -> Option<&mut Slot<S>> {
        self.slots.get_mut(usize::from(place))
    }

    /// The same, to look at.
    pub fn get(&self, place: u16) -> Option<&Slot<S>> {
        self.slots.get(usize::from(place))
    }

    /// Keeps a connection by `port`: its place.
    pub fn insert(&mut self, connection: Connection, port: u16, own: S) -> u16 {
        let fresh = Slot {
            connection,
            port,
            own,
        };
        let place = match self.free.pop() {
            Some(place) => {
                self[place] = fresh;
                place
            }
            None => {
                self.slots.push(fresh);
                self.slots.len() as u16 - 1
            }
        };
        *by_port(&mut self.ports, port) = place + 1;
        place
    }

    /// The place of the connection by `port`.
    pub fn find(&self, port: u16) -> Option<u16> {
        let place = self.ports.get(usize::from(port))?.checked_sub(1)?;
        (usize::from(place) < self.slots.len()).then_some(place)
    }

    /// Whether `port` is free.
    pub fn is_free(&mut self, port: u16) -> bool {
        *by_port(&mut self.ports, port) == 0
    }

    /// `port` is free from now on.
    pub fn free_port(&mut self, port: u16) {
        *by_port(&mut self.ports, port) = 0;
    }

    /// `port` has no connection from now on, and is not free.
    pub fn rest_port(&mut self, port: u16) {
        *by_port(&mut self.ports, port) = RESTS;
    }

    /// The connection in `place` is over, and so are its timers. The port stays as it is.
    pub fn release(&mut self, place: u16) {
        for timer in 0..TIMERS {
            self.set_timer(place, timer, None);
        }
        self.free.push(place);
    }

    /// Sets a timer of the connection in `place`, or stops it.
    pub fn set_timer(&mut self, place: u16, timer: u32, at: Option<Instant>) {
        self.deadlines.set(u32::from(place) * TIMERS + timer, at);
    }

    /// Takes the first timer that has expired at `now`: of which place, and which of its timers.
    pub fn expired(&mut self, now: Instant) -> Option<(u16, u32)> {
        let timer = self.deadlines.expired(now)?;
        Some(((timer / TIMERS) as u16, timer % TIMERS))
    }

    /// A packet has arrived.
    pub fn count_arrival(&mut self) {
        self.arrived += 1;
    }

    /// The answer to a segment by `port` of a connection that nobody knows (RFC 9293 3.5.2); none
    /// to a RST.
    pub fn refuse(&mut self, now: Instant, port: u16, segment: &Segment) -> Option<Packet> {
        if segment.flags.contains(Flags::RST) {
            return None;
        }
        let (seq, ack, flags) = match segment.flags.contains(Flags::ACK) {
            true => (segment.ack, 0, Flags::RST),
            false => (0, segment.end(), Flags::RST.with(Flags::ACK)),
        };
        self.sent += 1;
        Some(Packet {
            from: self.from,
            to: self.to,
            flow: flow(self.web, port),
            body: Body::Tcp(Segment {
                seq,
                ack,
                window: 0,
                len: 0,
                flags,
                sent: now,
                echo: segment.sent,
                sack: Sack::NONE,
            }),
        })
    }

    /// Lets something happen to the connection in `place`; `send` sends packets, at this instant.
    pub fn act(
        &mut self,
        place: u16,
        send: &mut dyn FnMut(Packet),
        act: impl FnOnce(&mut Connection, &mut Wrap<'_>),
    ) -> Happened {
        let slot = &mut self.slots[usize::from(place)];
        let mut wrap = Wrap {
            packet: (self.from, self.to, flow(self.web, slot.port)),
            sent: &mut self.sent,
            deadlines: &mut self.deadlines,
            timers: u32::from(place) * TIMERS,
            happened: Happened {
                opened: false,
                delivered: 0,
            },
            send,
        };
        act(&mut slot.connection, &mut wrap);
        wrap.happened
    }
}

impl<S, const TIMERS: u32> Index<u16> for Connections<S, TIMERS> {
    type Output = Slot<S>;

    fn index(&self, place: u16) -> &Slot<S> {
        &self.slots[usize::from(place)]
    }
}

impl<S, const TIMERS: u32> IndexMut<u16> for Connections<S, TIMERS> {
    fn index_mut(&mut self, place: u16) -> &mut Slot<S> {
        &mut self.slots[usize::from(place)]
    }
}

impl<S, const TIMERS: u32> Accounted for Connections<S, TIMERS> {
    fn account(&self, ledger: &mut Ledger) {
        ledger.sent(self.sent);
        ledger.delivered(self.arrived);
    }
}

/// Carries out what one connection asks for.
pub(super) struct Wrap<'a> {
    /// From where and to where its packets go, and in which flow.
    packet: (Station, Station, FlowId),
    /// Packets that were sent.
    sent: &'a mut u64,
    deadlines: &'a mut Deadlines,
    /// Number of its first timer.
    timers: u32,
    happened: Happened,
    send: &'a mut dyn FnMut(Packet),
}

impl Actions for Wrap<'_> {
    fn send(&mut self, segment: Segment) {
        let (from, to, flow) = self.packet;
        *self.sent += 1;
        (self.send)(Packet {
            from,
            to,
            flow,
            body: Body::Tcp(segment),
        });
    }

    fn arm(&mut self, timer: Timer, at: Instant) {
        self.deadlines.set(self.timers + timer as u32, Some(at));
    }

    fn disarm(&mut self, timer: Timer) {
        self.deadlines.set(self.timers + timer as u32, None);
    }

    fn deliver(&mut self, bytes: u64) {
        self.happened.delivered += bytes;
    }

    fn freed(&mut self, _: u64) {}

    fn opened(&mut self) {
        self.happened.opened = true;
    }
}
