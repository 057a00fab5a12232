//! Who answers at an address: the neighbour table of a host (ARP, RFC 826, and the states of
//! RFC 4861 7.3.2 that Linux keeps for IPv4 as well).
//!
//! A [`Neighbor`] is one entry. A host that has heard nothing that proves the neighbour alive for
//! its [reachable time](Timing::reachable) continues sending for a while, then asks it, and gives
//! up when there is no answer: packets are lost from then on until one comes. Replies to a ping
//! prove nothing, as Linux counts only what upper protocols vouch for, of which TCP does.

use alloc::collections::VecDeque;

use domio_core::{Duration, Instant};
use domio_sim::RandomStream;

use crate::packet::Packet;
use crate::queue::{Accounted, DropPlace, Ledger};

/// Times and numbers of a neighbour table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Base of the time for which a proof holds; each entry's is drawn from half of it to one and a
    /// half (`base_reachable_time`).
    pub reachable: Duration,
    /// How long a host waits for a proof after that before it asks (`delay_first_probe_time`).
    pub delay: Duration,
    /// Between two questions (`retrans_time`).
    pub retry: Duration,
    /// Questions before it gives up (`ucast_solicit`, `mcast_solicit`).
    pub probes: u32,
    /// Packets that wait for the answer to the first question (`unres_qlen`).
    pub queue: usize,
}

impl Timing {
    /// Linux's (`net/ipv4/arp.c`), since 2.2.
    pub const LINUX: Timing = Timing {
        reachable: Duration::from_secs(30),
        delay: Duration::from_secs(5),
        retry: Duration::from_secs(1),
        probes: 3,
        queue: 3,
    };
}

/// What is known of the neighbour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NeighborState {
    /// Nothing: the first question is out, asked so many times.
    Incomplete(u32),
    /// It was proven alive.
    Reachable,
    /// The proof is old, a packet was sent, and asking waits.
    Delay,
    /// It was asked so many times, in vain so far.
    Probe(u32),
    /// It does not answer.
    Failed,
}

/// What follows from an event. Questions come before packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// Nothing to ask.
    No,
    /// Ask the neighbour itself.
    Unicast,
    /// Ask everybody.
    Broadcast,
}

/// An entry of a neighbour table.
#[derive(Clone, Debug)]
pub struct Neighbor {
    timing: Timing,
    /// How long a proof holds for this entry.
    reachable: Duration,
    state: NeighborState,
    confirmed: Instant,
    timer: Option<Instant>,
    waiting: VecDeque<Packet>,
    lost: u64,
}

impl Neighbor {
    /// Where packets end whose receiver does not answer.
    pub const UNREACHABLE: DropPlace = DropPlace("neighbour, no answer");

    /// An entry that knows its neighbour, proven at `now`.
    pub fn new(timing: Timing, now: Instant, random: &mut RandomStream) -> Self {
        let (low, high) = (
            timing.reachable / 2,
            timing.reachable + timing.reachable / 2,
        );
        Neighbor {
            timing,
            reachable: random.duration_uniform(low, high),
            state: NeighborState::Reachable,
            confirmed: now,
            timer: None,
            waiting: VecDeque::new(),
            lost: 0,
        }
    }

    /// What is known of the neighbour.
    #[inline]
    pub fn state(&self) -> NeighborState {
        self.state
    }

    /// When [`Neighbor::expire`] wants to be called.
    #[inline]
    pub fn timer(&self) -> Option<Instant> {
        self.timer
    }

    /// A packet is to be sent: it is given back when it may go, with what to ask first.
    pub fn send(&mut self, now: Instant, packet: Packet) -> (Option<Packet>, Ask) {
        match self.state {
            NeighborState::Reachable => {
                if now > self.confirmed + self.reachable {
                    self.state = NeighborState::Delay;
                    self.timer = Some(now + self.timing.delay);
                }
                (Some(packet), Ask::No)
            }
            NeighborState::Delay | NeighborState::Probe(_) => (Some(packet), Ask::No),
            NeighborState::Incomplete(_) => {
                self.wait(packet);
                (None, Ask::No)
            }
            NeighborState::Failed => {
                self.state = NeighborState::Incomplete(1);
                self.timer = Some(now + self.timing.retry);
                self.wait(packet);
                (None, Ask::Broadcast)
            }
        }
    }

    /// The newest packets wait; older ones are lost.
    fn wait(&mut self, packet: Packet) {
        self.waiting.push_back(packet);
        if self.waiting.len() > self.timing.queue {
            self.waiting.pop_front();
            self.lost += 1;
        }
    }

    /// Something has proven that the neighbour hears: an answer, or progress of a TCP connection.
    pub fn confirm(&mut self, now: Instant) {
        self.confirmed = now;
        if matches!(self.state, NeighborState::Delay | NeighborState::Probe(_)) {
            self.state = NeighborState::Reachable;
            self.timer = None;
        }
    }

    /// The neighbour has answered a question: packets that waited may go.
    pub fn answered(&mut self, now: Instant) -> impl Iterator<Item = Packet> + '_ {
        self.confirmed = now;
        self.state = NeighborState::Reachable;
        self.timer = None;
        self.waiting.drain(..)
    }

    /// The timer has fired.
    pub fn expire(&mut self, now: Instant) -> Ask {
        if self.timer.is_none_or(|at| at > now) {
            return Ask::No;
        }
        self.timer = Some(now + self.timing.retry);
        match self.state {
            NeighborState::Delay => {
                self.state = NeighborState::Probe(1);
                Ask::Unicast
            }
            NeighborState::Probe(n) if n < self.timing.probes => {
                self.state = NeighborState::Probe(n + 1);
                Ask::Unicast
            }
            NeighborState::Incomplete(n) if n < self.timing.probes => {
                self.state = NeighborState::Incomplete(n + 1);
                Ask::Broadcast
            }
            NeighborState::Probe(_) | NeighborState::Incomplete(_) => {
                self.state = NeighborState::Failed;
                self.timer = None;
                self.lost += self.waiting.drain(..).count() as u64;
                Ask::No
            }
            NeighborState::Reachable | NeighborState::Failed => {
                self.timer = None;
                Ask::No
            }
        }
    }
}

impl Accounted for Neighbor {
    fn account(&self, ledger: &mut Ledger) {
        ledger.holds(self.waiting.len() as u64);
        ledger.dropped(Self::UNREACHABLE, self.lost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Body, FlowId, Numbered, Station};
    use alloc::vec::Vec;

    fn packet(seq: u32) -> Packet {
        Packet {
            from: Station(0),
            to: Station(1),
            flow: FlowId(0),
            body: Body::EchoRequest(Numbered { seq, bytes: 56 }),
        }
    }

    fn secs(s: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(s)
    }

    fn neighbor() -> Neighbor {
        let mut random = RandomStream::new(1, 0, "neighbour");
        Neighbor::new(Timing::LINUX, Instant::ZERO, &mut random)
    }

    #[test]
    fn one_that_stays_silent_is_given_up() {
        let mut n = neighbor();
        assert!((15..=45).contains(&(n.reachable.as_nanos() / 1_000_000_000)));
        assert_eq!(n.send(secs(10), packet(0)), (Some(packet(0)), Ask::No));
        assert_eq!((n.state(), n.timer()), (NeighborState::Reachable, None));
        assert_eq!(n.send(secs(50), packet(1)), (Some(packet(1)), Ask::No));
        assert_eq!(
            (n.state(), n.timer()),
            (NeighborState::Delay, Some(secs(55)))
        );
        let asked: Vec<Ask> = (55..59).map(|s| n.expire(secs(s))).collect();
        assert_eq!(asked, [Ask::Unicast, Ask::Unicast, Ask::Unicast, Ask::No]);
        assert_eq!(n.state(), NeighborState::Failed);
        // From now on packets wait for an answer, the newest three of them.
        assert_eq!(n.send(secs(60), packet(2)), (None, Ask::Broadcast));
        for seq in 3..6 {
            assert_eq!(n.send(secs(60), packet(seq)), (None, Ask::No));
        }
        assert_eq!(n.expire(secs(61)), Ask::Broadcast);
        let go: Vec<Packet> = n.answered(secs(61)).collect();
        assert_eq!(go, [packet(3), packet(4), packet(5)]);
        let mut ledger = Ledger::new();
        ledger.add(&n).sent(1);
        assert_eq!(
            (ledger.dropped_at(Neighbor::UNREACHABLE), ledger.check()),
            (1, Ok(()))
        );
    }

    #[test]
    fn progress_keeps_it_alive() {
        let mut n = neighbor();
        let _ = n.send(secs(50), packet(0));
        n.confirm(secs(51));
        assert_eq!((n.state(), n.timer()), (NeighborState::Reachable, None));
        assert_eq!(n.expire(secs(55)), Ask::No);
    }

    #[test]
    fn who_never_answers_loses_what_waits() {
        let mut n = neighbor();
        let _ = n.send(secs(50), packet(0));
        (55..59).for_each(|s| assert!(n.expire(secs(s)) != Ask::Broadcast));
        let _ = n.send(secs(60), packet(1));
        let asked: Vec<Ask> = (61..64).map(|s| n.expire(secs(s))).collect();
        assert_eq!(asked, [Ask::Broadcast, Ask::Broadcast, Ask::No]);
        assert_eq!((n.state(), n.lost), (NeighborState::Failed, 1));
    }
}
