//! The line between the driver domain's card and the remote host's.

use domio_core::Instant;
use domio_sim::TimerId;
use domio_vmm::bus::Io;

use super::remote_card::RemoteCard;
use crate::link::Link;
use crate::packet::Packet;

/// The line, and when each end hears of what arrives.
pub(super) struct Line {
    /// `there` is to the host, `back` from it.
    pub link: Link,
    /// The remote host's card.
    remote: RemoteCard,
    /// Fires when a packet reaches the driver domain's card.
    pub arrival_in: TimerId,
    /// Fires when a packet reaches the remote host.
    arrival_out: TimerId,
}

impl Line {
    /// A line on which nothing is under way, with the timers of arrivals in and out.
    pub fn new(
        link: Link,
        remote: RemoteCard,
        (arrival_in, arrival_out): (TimerId, TimerId),
    ) -> Self {
        Line {
            link,
            remote,
            arrival_in,
            arrival_out,
        }
    }

    /// The remote host sends. The link counts what it drops.
    pub fn send_in(&mut self, now: Instant, packet: Packet) {
        let _ = self.link.there.send(now, packet);
    }

    /// Sets the timer for when the remote host has the next packet.
    pub fn expect_arrival(&mut self, io: &mut Io<'_>) {
        if let Some(at) = self.link.back.next_arrival() {
            io.arm(self.arrival_out, self.remote.handled(at));
        }
    }

    /// The remote host handles its card's interrupt at `now`.
    pub fn handle_remote(&mut self, now: Instant) {
        self.remote.handle(now);
    }

    /// The next packet that has reached the remote host by `now` and was not spoiled.
    pub fn arrived_out(&mut self, now: Instant) -> Option<Packet> {
        while self.link.back.next_arrival().is_some_and(|at| at <= now) {
            if let Some(packet) = self.link.back.arrive(now) {
                return Some(packet);
            }
        }
        None
    }
}
