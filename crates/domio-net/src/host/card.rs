//! The driver domain's card and its line: packets that arrive, queues that take them, and packets
//! that leave.
//!
//! A card has as many queues as its driver asks for ([`NicConfig::queues`]). Each has its rings,
//! and an interrupt that is one vcpu's of the driver domain: queues take turns among the vcpus, as
//! `irqbalance` and the drivers' hints deal them out. A packet from the line goes to the queue of
//! its flow ([`receive_queue`]); one to send to the queue of the vcpu that sends it (Linux: XPS).
//!
//! [`NicConfig::queues`]: crate::nic::NicConfig::queues

use alloc::vec::Vec;
use domio_core::{Duration, Instant};
use domio_vmm::bus::{Io, KernelIo, KernelLock, Progress, TokenKind};

use super::card_queue::CardQueue;
use super::costs::NetCosts;
use super::line::Line;
use super::lines::OfPort;
use super::netback::Netback;
use super::record;
use super::site::Site;
use super::softnet::Softnet;
use super::vif::{Page, Vif, receiver};
use crate::class::NetPlace::{Card as InCard, DriverOut, Outside};
use crate::nic::{Nic, receive_queue};
use crate::packet::Packet;
use crate::queue::{Accounted, Ledger};

/// The card, its driver and the line behind it.
pub(super) struct Card {
    /// At least one.
    queues: Vec<CardQueue>,
    pub line: Line,
    /// The driver domain's first vcpu with work of the network.
    first_vcpu: u16,
    /// When the bus is free, which all queues share.
    bus_free: Instant,
}

impl Card {
    /// A card with these queues, at least one, in the driver domain whose work begins at vcpu
    /// `first_vcpu`.
    pub fn new(queues: Vec<CardQueue>, line: Line, first_vcpu: u16) -> Self {
        Card {
            queues,
            line,
            first_vcpu,
            bus_free: Instant::ZERO,
        }
    }

    /// The driver domain comes up: binds the interrupts.
    pub fn plug(&mut self, config: &Site, io: &mut Io<'_>) {
        for (number, queue) in (0..).zip(&mut self.queues) {
            queue.plug(OfPort::Card.token(number), config, io);
        }
    }

    /// The rings of queue `queue`.
    #[inline]
    pub fn nic(&mut self, queue: u16) -> &mut Nic {
        &mut self.queues[usize::from(queue)].nic
    }

    /// The vcpu that has the interrupt of queue `queue`, by its number among those of the driver
    /// domain with work of the network.
    #[inline]
    pub fn driver_of(&self, queue: u16) -> u16 {
        self.queues[usize::from(queue)].driver
    }

    /// The queue that takes packets from vcpu `vcpu` of the driver domain.
    #[inline]
    fn queue_of(&self, vcpu: u16) -> u16 {
        (vcpu - self.first_vcpu) % self.queues.len() as u16
    }

    /// One vcpu at a time gives packets to the queue that takes those of vcpu `vcpu` (`xmit_lock`).
    #[inline]
    pub fn xmit_lock(&self, vcpu: u16) -> KernelLock {
        self.queues[usize::from(self.queue_of(vcpu))].xmit_lock
    }

    /// Packets in rings of which vcpu number `driver` knows: it polls, or the interrupt is there.
    pub fn at_hand(&self, driver: u16) -> usize {
        let own = self.queues.iter().filter(|queue| queue.driver == driver);
        own.map(CardQueue::at_hand).sum()
    }

    /// Packets that have arrived go to the rings of their queues.
    ///
    /// It is looked at when something asks for it: before the remote host sends more, so that a
    /// line that has to stop is stopped at the right place, and after each buffer that was posted.
    pub fn take_arrivals(&mut self, vifs: &[Vif], io: &mut Io<'_>) {
        let Card {
            queues,
            line,
            bus_free,
            ..
        } = self;
        let there = &mut line.link.there;
        // What came while the card had no buffer is in its memory, and gets one now.
        let since = if there.is_stopped() {
            io.now
        } else {
            Instant::ZERO
        };
        while may_receive(queues)
            && let Some(at) = there.next_arrival()
            && at <= io.now
        {
            let at = at.max(since);
            // Dropped when the ring has no buffer: the card counts it.
            if let Some(packet) = there.arrive(at) {
                let number = receive_queue(&packet, queues.len() as u16);
                let queue = &mut queues[usize::from(number)];
                if queue.receive(at, packet, bus_free)
                    && let Some(ends) = receiver(vifs, &packet)
                {
                    record::moved_at(io, at, ends, &packet, Outside, InCard);
                }
            }
            if !may_receive(queues) {
                there.stop(at);
            }
        }
        if may_receive(queues) {
            there.go_on(io.now);
        }
    }

    /// Sets the timers of the card: while the interrupt of a queue is on, for the next packet and
    /// for that interrupt. If all are polled or raised, it needs none.
    pub fn listen(&mut self, vifs: &[Vif], io: &mut Io<'_>) {
        if self.queues.iter().all(CardQueue::is_told) {
            self.queues.iter().for_each(|queue| queue.listen(io));
            io.disarm(self.line.arrival_in);
            return;
        }
        self.take_arrivals(vifs, io);
        self.queues.iter().for_each(|queue| queue.listen(io));
        match self.line.link.there.next_arrival() {
            Some(at) if may_receive(&self.queues) => io.arm(self.line.arrival_in, at),
            _ => io.disarm(self.line.arrival_in),
        }
    }

    /// The card raises the interrupt of queue `queue`.
    pub fn raise_interrupt(&mut self, queue: u16, config: &Site, vifs: &[Vif], io: &mut Io<'_>) {
        if self.queues[usize::from(queue)].raise_interrupt(config, io) {
            self.listen(vifs, io);
        }
    }

    /// The interrupt of queue `queue`, whose vcpu has `softnet`.
    pub fn card_irq(
        &mut self,
        queue: u16,
        softnet: &mut Softnet,
        config: &Site,
        vifs: &[Vif],
        kernel: &mut KernelIo<'_, '_>,
    ) -> Progress {
        self.queues[usize::from(queue)].irq(softnet, config, vifs, kernel)
    }

    /// Takes a packet to the card, or to the packets that wait for it, by the queue of the vcpu
    /// that executes; the pages of those from guests are `from`'s.
    pub fn transmit(
        &mut self,
        page: Option<Page>,
        packet: Packet,
        backs: &mut [Netback],
        vifs: &[Vif],
        kernel: &mut KernelIo<'_, '_>,
    ) {
        let number = self.queue_of(kernel.vcpu.index);
        let queue = &mut self.queues[usize::from(number)];
        if queue.waiting.is_empty() && queue.nic.tx_free() > 0 {
            self.hand_over(number, (page, packet), vifs, kernel.io);
        } else if !queue.waiting.push((page, packet))
            && let Some(page) = page
        {
            leaves(vifs, page.vif, &packet, kernel.io);
            release(page, backs, vifs, kernel);
        }
    }

    fn hand_over(
        &mut self,
        number: u16,
        (page, packet): (Option<Page>, Packet),
        vifs: &[Vif],
        io: &mut Io<'_>,
    ) {
        // Packets on the bus keep their order.
        if self.queues[usize::from(number)].nic.has_bus() {
            self.take_arrivals(vifs, io);
        }
        let queue = &mut self.queues[usize::from(number)];
        queue.nic.share_bus(&mut self.bus_free);
        let taken = queue.nic.transmit(io.now, packet, &mut self.line.link.back);
        queue.nic.share_bus(&mut self.bus_free);
        assert!(taken.is_ok(), "the ring has room");
        queue.owners.push_back(page);
        if let Some(page) = page {
            leaves(vifs, page.vif, &packet, io);
        }
        self.line.expect_arrival(io);
        self.listen(vifs, io);
    }

    /// What freeing the first `n` packets of the ring of `queue`, which have left, costs; each
    /// guest has part in it by its packets.
    pub fn reap_cost(
        &self,
        (queue, n): (u16, u16),
        costs: &NetCosts,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Duration {
        if kernel.owners() {
            let owners = &self.queues[usize::from(queue)].owners;
            for page in owners.iter().take(usize::from(n)).flatten() {
                kernel.share(page.payer, costs.nic_reap);
            }
        }
        costs.nic_reap * u64::from(n)
    }

    /// `n` packets of `queue` have left: their pages are free, and those that wait continue.
    pub fn reap(
        &mut self,
        (number, n): (u16, u16),
        backs: &mut [Netback],
        vifs: &[Vif],
        kernel: &mut KernelIo<'_, '_>,
    ) {
        for _ in 0..n {
            let page = self.queues[usize::from(number)].owners.pop_front();
            if let Some(page) = page.expect("each packet in the ring has an entry") {
                release(page, backs, vifs, kernel);
            }
        }
        loop {
            let queue = &mut self.queues[usize::from(number)];
            if queue.nic.tx_free() == 0 {
                return;
            }
            let Some(next) = queue.waiting.pop() else {
                return;
            };
            self.hand_over(number, next, vifs, kernel.io);
        }
    }
}

/// Whether the line may send: with flow control a queue without a buffer stops it for all.
#[inline]
fn may_receive(queues: &[CardQueue]) -> bool {
    queues.iter().all(|queue| queue.nic.may_receive())
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
        ledger.add(&self.line.link);
        for queue in &self.queues {
            ledger.add(queue);
        }
    }
}
