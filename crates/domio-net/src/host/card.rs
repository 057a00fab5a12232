//! The driver domain's card: packets that arrive, the timers and the handler of its interrupt.

use domio_core::NetPlace::{Card, Outside};
use domio_core::{Duration, Instant};
use domio_vmm::bus::{Io, KernelIo, Owner, Progress};

use super::driver::Polled;
use super::record::Ends;
use super::{Network, record};
use crate::packet::Packet;

impl Network {
    /// Packets that have arrived go to the card's ring.
    ///
    /// It is looked at when something asks for it: before the remote host sends more, so that a
    /// line that has to stop is stopped at the right place, and after each buffer that was posted.
    pub(super) fn take_arrivals(&mut self, io: &mut Io<'_>) {
        // What came while the card had no buffer is in its memory, and gets one now.
        let since = if self.outside.link.there.is_stopped() {
            io.now
        } else {
            Instant::ZERO
        };
        while self.driver.nic.may_receive()
            && let Some(at) = self.outside.link.there.next_arrival()
            && at <= io.now
        {
            let at = at.max(since);
            // Dropped when the ring has no buffer: the card counts it.
            if let Some(packet) = self.outside.link.there.arrive(at)
                && self.driver.nic.receive(at, packet)
                && let Some(ends) = self.receiver(&packet)
            {
                record::moved_at(io, at, ends, &packet, Outside, Card);
            }
            if !self.driver.nic.may_receive() {
                self.outside.link.there.stop(at);
            }
        }
        if self.driver.nic.may_receive() {
            self.outside.link.there.go_on(io.now);
        }
    }

    /// The interface that a packet from outside is for; none for one to everybody.
    pub(super) fn receiver(&self, packet: &Packet) -> Option<Ends> {
        let vif = usize::from(packet.to.0).checked_sub(1)?;
        self.vifs.get(vif).map(|v| v.ends)
    }

    /// Sets the timers of the card: while its interrupt is on, for the next packet and for the
    /// interrupt itself. Polled or raised, it needs none.
    pub(super) fn listen(&mut self, io: &mut Io<'_>) {
        if self.driver.nic.is_masked() || self.driver.raised {
            io.disarm(self.driver.interrupt);
            io.disarm(self.outside.arrival_in);
            return;
        }
        self.take_arrivals(io);
        match self.driver.nic.interrupt_at(io.now) {
            Some(at) => io.arm(self.driver.interrupt, at),
            None => io.disarm(self.driver.interrupt),
        }
        match self.outside.link.there.next_arrival() {
            Some(at) if self.driver.nic.may_receive() => io.arm(self.outside.arrival_in, at),
            _ => io.disarm(self.outside.arrival_in),
        }
    }

    /// The card raises its interrupt, for all packets that have been taken.
    pub(super) fn raise_interrupt(&mut self, io: &mut Io<'_>) {
        self.driver.nic.interrupt(io.now);
        let Some(port) = self.driver.port else {
            return;
        };
        self.driver.raised = true;
        io.raise_pirq(self.config.driver, port);
        self.listen(io);
    }

    /// The card's interrupt: switches it off, and asks to be polled. It is for those whose packets
    /// the card has.
    pub(super) fn card_irq(&mut self, kernel: &mut KernelIo<'_, '_>) -> Progress {
        if self.driver.handler.enter() {
            let mut owner = Owner::Nobody;
            if kernel.owners() {
                for packet in self.driver.nic.waiting() {
                    owner = self.shared_by(packet, Duration::from_nanos(1), owner, kernel);
                }
            }
            return Progress::Run(self.costs.nic_irq, owner);
        }
        self.driver.raised = false;
        if !self.driver.nic.is_masked() {
            self.driver.nic.mask();
            self.driver.poll.push_back(Polled::Card);
        }
        kernel.raise(self.driver.lines.rx);
        Progress::Done
    }
}
