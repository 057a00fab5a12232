//! The driver domain's card and its line: packets that arrive, the timers and the handler of its
//! interrupt, packets that leave and the queue of those that wait for the card.

use std::collections::VecDeque;

use domio_core::{Duration, Instant};
use domio_sim::TimerId;
use domio_vmm::bus::{Io, KernelIo, KernelLock, Owner, Progress, Token};
use domio_vmm::evtchn::Port;

use super::costs::NetCosts;
use super::handler::Handler;
use super::line::Line;
use super::netback::Netback;
use super::record;
use super::site::Site;
use super::softnet::{Polled, Softnet};
use super::vif::{Page, Vif, receiver, shared_by};
use crate::class::NetPlace::{Card as InCard, DriverOut, Outside};
use crate::nic::Nic;
use crate::packet::Packet;
use crate::queue::{Accounted, DropPlace, Ledger, Queue};

/// Packets that wait for the card (`txqueuelen`).
const TX_QUEUE: usize = 1_000;

/// The card, its driver and the line behind it.
pub(super) struct Card {
    pub nic: Nic,
    pub line: Line,
    /// The card's interrupt.
    pirq: u16,
    /// One vcpu at a time gives packets to the card (`xmit_lock`).
    pub xmit_lock: KernelLock,
    /// The interrupt's handler.
    handler: Handler,
    /// The card's port, once the driver domain is up.
    port: Option<Port>,
    /// Fires when the card raises its interrupt.
    interrupt: TimerId,
    /// The interrupt was raised and not handled.
    raised: bool,
    /// Whom the packets in the card's ring belong to, in order.
    owners: VecDeque<Option<Page>>,
    /// Packets that wait for room in that ring.
    queue: Queue<(Option<Page>, Packet)>,
}

impl Card {
    /// Where packets end that the card does not get to.
    pub const QUEUE: DropPlace = DropPlace("driver domain, queue to the NIC");

    /// A card with an interrupt of number `pirq`, which timer `interrupt` raises.
    pub fn new(
        nic: Nic,
        line: Line,
        (pirq, interrupt): (u16, TimerId),
        xmit_lock: KernelLock,
    ) -> Self {
        Card {
            nic,
            line,
            pirq,
            xmit_lock,
            handler: Handler::Idle,
            port: None,
            interrupt,
            raised: false,
            owners: VecDeque::new(),
            queue: Queue::new(Self::QUEUE, TX_QUEUE),
        }
    }

    /// The driver domain comes up: binds the card's interrupt, with `token`.
    pub fn plug(&mut self, token: Token, config: &Site, io: &mut Io<'_>) {
        let port = io.bind_pirq(config.driver, self.pirq, config.vcpu, token);
        let port = port.expect("a driver domain that boots has free ports");
        self.port = Some(port);
    }

    /// Packets in the card's ring of which the driver knows: it polls, or the interrupt is there.
    pub fn at_hand(&self) -> usize {
        let known = self.raised || self.nic.is_masked();
        if known { self.nic.filled() } else { 0 }
    }

    /// Packets that have arrived go to the card's ring.
    ///
    /// It is looked at when something asks for it: before the remote host sends more, so that a
    /// line that has to stop is stopped at the right place, and after each buffer that was posted.
    pub fn take_arrivals(&mut self, vifs: &[Vif], io: &mut Io<'_>) {
        let there = &mut self.line.link.there;
        // What came while the card had no buffer is in its memory, and gets one now.
        let since = if there.is_stopped() {
            io.now
        } else {
            Instant::ZERO
        };
        while self.nic.may_receive()
            && let Some(at) = there.next_arrival()
            && at <= io.now
        {
            let at = at.max(since);
            // Dropped when the ring has no buffer: the card counts it.
            if let Some(packet) = there.arrive(at)
                && self.nic.receive(at, packet)
                && let Some(ends) = receiver(vifs, &packet)
            {
                record::moved_at(io, at, ends, &packet, Outside, InCard);
            }
            if !self.nic.may_receive() {
                there.stop(at);
            }
        }
        if self.nic.may_receive() {
            there.go_on(io.now);
        }
    }

    /// Sets the timers of the card: while its interrupt is on, for the next packet and for the
    /// interrupt itself. Polled or raised, it needs none.
    pub fn listen(&mut self, vifs: &[Vif], io: &mut Io<'_>) {
        if self.nic.is_masked() || self.raised {
            io.disarm(self.interrupt);
            io.disarm(self.line.arrival_in);
            return;
        }
        self.take_arrivals(vifs, io);
        match self.nic.interrupt_at(io.now) {
            Some(at) => io.arm(self.interrupt, at),
            None => io.disarm(self.interrupt),
        }
        match self.line.link.there.next_arrival() {
            Some(at) if self.nic.may_receive() => io.arm(self.line.arrival_in, at),
            _ => io.disarm(self.line.arrival_in),
        }
    }

    /// The card raises its interrupt, for all packets that have been taken.
    pub fn raise_interrupt(&mut self, config: &Site, vifs: &[Vif], io: &mut Io<'_>) {
        self.nic.interrupt(io.now);
        let Some(port) = self.port else {
            return;
        };
        self.raised = true;
        io.raise_pirq(config.driver, port);
        self.listen(vifs, io);
    }

    /// The card's interrupt: switches it off, and asks to be polled. It is for those whose packets
    /// the card has.
    pub fn card_irq(
        &mut self,
        softnet: &mut Softnet,
        config: &Site,
        vifs: &[Vif],
        kernel: &mut KernelIo<'_, '_>,
    ) -> Progress {
        if self.handler.enter() {
            let mut owner = Owner::Nobody;
            if kernel.owners() {
                for packet in self.nic.waiting() {
                    owner = shared_by(vifs, packet, Duration::from_nanos(1), owner, kernel);
                }
            }
            return Progress::Run(config.costs.nic_irq, owner);
        }
        self.raised = false;
        if !self.nic.is_masked() {
            self.nic.mask();
            softnet.poll.push_back(Polled::Card);
        }
        softnet.raise(kernel);
        Progress::Done
    }

    /// Takes a packet to the card, or to the queue in front of it; the pages of those from guests
    /// are `from`'s.
    pub fn transmit(
        &mut self,
        page: Option<Page>,
        packet: Packet,
        backs: &mut [Netback],
        vifs: &[Vif],
        kernel: &mut KernelIo<'_, '_>,
    ) {
        if self.queue.is_empty() && self.nic.tx_free() > 0 {
            self.hand_over(page, packet, vifs, kernel.io);
        } else if !self.queue.push((page, packet))
            && let Some(page) = page
        {
            leaves(vifs, page.vif, &packet, kernel.io);
            release(page, backs, vifs, kernel);
        }
    }

    fn hand_over(&mut self, page: Option<Page>, packet: Packet, vifs: &[Vif], io: &mut Io<'_>) {
        // Packets on the bus keep their order.
        if self.nic.has_bus() {
            self.take_arrivals(vifs, io);
        }
        let line = &mut self.line.link.back;
        let taken = self.nic.transmit(io.now, packet, line);
        assert!(taken.is_ok(), "the ring has room");
        self.owners.push_back(page);
        if let Some(page) = page {
            leaves(vifs, page.vif, &packet, io);
        }
        self.line.expect_arrival(io);
        self.listen(vifs, io);
    }

    /// What freeing the first `n` packets of the ring, which have left, costs; each guest has part
    /// in it by its packets.
    pub fn reap_cost(&self, n: u16, costs: &NetCosts, kernel: &mut KernelIo<'_, '_>) -> Duration {
        if kernel.owners() {
            for page in self.owners.iter().take(usize::from(n)).flatten() {
                kernel.share(page.payer, costs.nic_reap);
            }
        }
        costs.nic_reap * u64::from(n)
    }

    /// `n` packets have left: their pages are free, and the queue goes on.
    pub fn reap(
        &mut self,
        n: u16,
        backs: &mut [Netback],
        vifs: &[Vif],
        kernel: &mut KernelIo<'_, '_>,
    ) {
        for _ in 0..n {
            let page = self.owners.pop_front();
            if let Some(page) = page.expect("each packet in the ring has an entry") {
                release(page, backs, vifs, kernel);
            }
        }
        while self.nic.tx_free() > 0
            && let Some((page, packet)) = self.queue.pop()
        {
            self.hand_over(page, packet, vifs, kernel.io);
        }
    }
}

/// The packet of `page` has left, or was dropped: the backend that has the page gives it back.
pub(super) fn release(
    page: Page,
    backs: &mut [Netback],
    vifs: &[Vif],
    kernel: &mut KernelIo<'_, '_>,
) {
    let back = usize::from(vifs[usize::from(page.vif)].back);
    backs[back].tx.release(page, kernel);
}

/// A packet from the guest of `vif` has left the driver domain, or was dropped there.
pub(super) fn leaves(vifs: &[Vif], vif: u16, packet: &Packet, io: &mut Io<'_>) {
    let ends = vifs[usize::from(vif)].ends;
    record::moved(io, ends, packet, DriverOut, Outside);
}

impl Accounted for Card {
    fn account(&self, ledger: &mut Ledger) {
        ledger.add(&self.line.link).add(&self.nic).add(&self.queue);
    }
}
