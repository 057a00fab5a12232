//! The remote host's neighbours, the guests: who is asked for before a packet goes on the line.

use alloc::vec::Vec;
use domio_core::Instant;
use domio_sim::TimerId;
use domio_vmm::bus::Io;

use super::line::Line;
use crate::neighbor::{Ask, Neighbor};
use crate::packet::{Body, Packet, Station};
use crate::peer::asks_for;
use crate::queue::{Accounted, Ledger};

/// Number of the guests' stations: that of interface `i` is `i + 1`.
pub(super) const REMOTE: Station = Station(0);

/// The remote host's neighbour table.
pub(super) struct Neighbors {
    /// By station, from 1.
    entries: Vec<(Neighbor, TimerId)>,
    /// Questions sent, and answers received.
    asked: u64,
    answers: u64,
}

impl Neighbors {
    /// A table with these entries, by station, with their timers.
    pub fn new(entries: Vec<(Neighbor, TimerId)>) -> Self {
        Neighbors {
            entries,
            asked: 0,
            answers: 0,
        }
    }

    fn entry(&mut self, station: Station) -> &mut (Neighbor, TimerId) {
        &mut self.entries[usize::from(station.0) - 1]
    }

    /// The remote host sends `packet` to a guest, once it knows where that is.
    pub fn send(&mut self, packet: Packet, line: &mut Line, io: &mut Io<'_>) {
        let (packet_now, ask) = self.entry(packet.to).0.send(io.now, packet);
        self.ask(packet.to, ask, line, io);
        if let Some(packet) = packet_now {
            line.send_in(io.now, packet);
        }
    }

    /// Sends the question, and sets the entry's timer.
    fn ask(&mut self, station: Station, ask: Ask, line: &mut Line, io: &mut Io<'_>) {
        let (entry, timer) = self.entry(station);
        match entry.timer() {
            Some(at) => io.arm(*timer, at),
            None => io.disarm(*timer),
        }
        let to = match ask {
            Ask::No => return,
            Ask::Unicast => station,
            Ask::Broadcast => Station::EVERYBODY,
        };
        self.asked += 1;
        let question = Packet {
            from: REMOTE,
            to,
            flow: asks_for(station),
            body: Body::ArpRequest,
        };
        line.send_in(io.now, question);
    }

    /// Something from `station` proves that it is alive.
    pub fn confirm(&mut self, station: Station, now: Instant) {
        self.entry(station).0.confirm(now);
    }

    /// `station` has answered: what waited for that is sent.
    pub fn answered(&mut self, station: Station, line: &mut Line, io: &mut Io<'_>) {
        self.answers += 1;
        let (entry, timer) = self.entry(station);
        for packet in entry.answered(io.now) {
            line.send_in(io.now, packet);
        }
        io.disarm(*timer);
    }

    /// The timer of the entry for `station` fires.
    pub fn expire(&mut self, station: Station, line: &mut Line, io: &mut Io<'_>) {
        let ask = self.entry(station).0.expire(io.now);
        self.ask(station, ask, line, io);
    }
}

impl Accounted for Neighbors {
    fn account(&self, ledger: &mut Ledger) {
        for (neighbor, _) in &self.entries {
            ledger.add(neighbor);
        }
        ledger.sent(self.asked);
        ledger.delivered(self.answers);
    }
}
