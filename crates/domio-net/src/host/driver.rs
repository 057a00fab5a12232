//! `NetRx` in the driver domain: polls the card and the backlog, and takes packets through the
//! bridge.

use domio_core::Duration;
use domio_vmm::bus::{Io, KernelIo, Owner, Progress};

use super::card::{Card, leaves};
use super::config::NetworkConfig;
use super::netback::{Netback, queue_cost};
use super::record;
use super::softnet::{Polled, Softnet};
use super::vif::{Vif, addressee, receiver, shared_by};
use crate::bridge::{Bridge, BridgePort, Forward};
use crate::class::NetPlace::{Card as InCard, DriverIn, Outside};
use crate::packet::Packet;
use crate::queue::{Accounted, Ledger};

/// Packets that a device may bring in one turn (Linux 2.6.18: `weight`).
const WEIGHT: u32 = 64;
/// Packets of all devices in one run of the softirq (`netdev_budget`).
const BUDGET: u32 = 300;
/// The bridge's port with the card behind it.
pub(super) const CARD: BridgePort = BridgePort(0);

/// A piece of work whose time is being spent.
#[derive(Clone, Copy, Debug)]
enum Piece {
    /// Freeing so many packets that were sent.
    Reap(u16),
    /// Freeing a packet whose guest is sent nothing.
    TurnAway,
    /// Taking a packet from the card, or from the guest of an interface, through the bridge.
    Forward {
        owner: Option<u16>,
        packet: Packet,
        to: Forward,
    },
}

/// What the driver domain has besides netback: the card, what waits to be polled, the bridge.
pub(super) struct Driver {
    pub card: Card,
    pub softnet: Softnet,
    bridge: Bridge,
    quota: u32,
    budget: u32,
    /// The poll under way has looked for packets that were sent (`tg3_poll` does so once).
    reaped: bool,
    piece: Option<Piece>,
}

impl Driver {
    /// A driver domain that has nothing to do.
    pub fn new(card: Card, softnet: Softnet, bridge: Bridge) -> Self {
        Driver {
            card,
            softnet,
            bridge,
            quota: WEIGHT,
            budget: 0,
            reaped: false,
            piece: None,
        }
    }

    /// `net_rx_action` in the driver domain.
    pub fn driver_rx(
        &mut self,
        back: &mut Netback,
        config: &NetworkConfig,
        vifs: &mut [Vif],
        kernel: &mut KernelIo<'_, '_>,
    ) -> Progress {
        match self.piece.take() {
            Some(Piece::Reap(n)) => self.card.reap(n, &mut back.tx, vifs, kernel),
            Some(Piece::TurnAway) => {
                self.card.nic.post(1);
            }
            Some(Piece::Forward { owner, packet, to }) => {
                if owner.is_none() {
                    self.card.nic.post(1);
                }
                self.forward((owner, packet, to), back, vifs, kernel);
            }
            // The softirq begins.
            None => {
                self.budget = BUDGET;
                self.quota = WEIGHT;
            }
        }
        while let Some(polled) = self.softnet.poll.front().copied() {
            if self.budget == 0 {
                self.softnet.raise(kernel);
                return Progress::Done;
            }
            if self.quota == 0 {
                self.next_device();
                continue;
            }
            let next = match polled {
                Polled::Card => self.poll_card(back, config, vifs, kernel),
                Polled::Backlog => self.poll_packet(config, vifs, kernel),
            };
            if let Some(piece) = next {
                return piece;
            }
            if polled == Polled::Card && self.card.nic.has_sent(kernel.now()) {
                // There is work: it is polled again, after the others.
                self.next_device();
                continue;
            }
            self.quota = WEIGHT;
            self.reaped = false;
            self.softnet.poll.pop_front();
            if polled == Polled::Card {
                self.card.nic.unmask();
                self.card.listen(vifs, kernel.io);
            }
        }
        Progress::Done
    }

    /// The turn of the device that is polled is over, and it waits for the next.
    fn next_device(&mut self) {
        self.softnet.poll.rotate_left(1);
        self.quota = WEIGHT;
        self.reaped = false;
    }

    /// The next piece of work with the card's rings.
    fn poll_card(
        &mut self,
        back: &mut Netback,
        config: &NetworkConfig,
        vifs: &mut [Vif],
        kernel: &mut KernelIo<'_, '_>,
    ) -> Option<Progress> {
        let now = kernel.now();
        self.card.take_arrivals(vifs, kernel.io);
        let sent = match std::mem::replace(&mut self.reaped, true) {
            true => 0,
            false => self.card.nic.reap(now),
        };
        if sent > 0 {
            self.piece = Some(Piece::Reap(sent));
            let time = self.card.reap_cost(sent, config, vifs, kernel);
            return Some(Progress::Run(time, Owner::Shared));
        }
        let packet = self.card.nic.take(now)?;
        if let Some(ends) = receiver(vifs, &packet) {
            record::moved(kernel.io, ends, &packet, InCard, DriverIn);
        }
        let rx = config.costs.nic_rx;
        if let Some(ends) = back.turns_away(&packet, vifs, kernel) {
            record::moved(kernel.io, ends, &packet, DriverIn, Outside);
            self.budget -= 1;
            self.quota -= 1;
            self.piece = Some(Piece::TurnAway);
            return Some(Progress::Run(rx, Owner::Domain(ends.guest)));
        }
        Some(self.begin_forward((None, packet), rx, config, vifs, kernel))
    }

    /// The next packet of the backlog.
    fn poll_packet(
        &mut self,
        config: &NetworkConfig,
        vifs: &[Vif],
        kernel: &mut KernelIo<'_, '_>,
    ) -> Option<Progress> {
        let (vif, packet) = self.softnet.backlog.pop()?;
        Some(self.begin_forward((Some(vif), packet), Duration::ZERO, config, vifs, kernel))
    }

    /// Begins to take a packet of a guest's interface, or of the card, through the bridge, after it
    /// was taken from where it was, which costs `taken`. The way through the bridge is for who
    /// sends, where that is a guest, and what follows for who gets the packet, where that is one.
    fn begin_forward(
        &mut self,
        (owner, packet): (Option<u16>, Packet),
        taken: Duration,
        config: &NetworkConfig,
        vifs: &[Vif],
        kernel: &mut KernelIo<'_, '_>,
    ) -> Progress {
        self.budget -= 1;
        self.quota -= 1;
        let to = self.bridge.forward(port_of(owner), &packet);
        self.piece = Some(Piece::Forward { owner, packet, to });
        let out = match to {
            Forward::To(CARD) => config.costs.nic_tx,
            Forward::To(_) => queue_cost(config, &packet),
            Forward::Flood | Forward::Drop => Duration::ZERO,
        };
        let time = taken + config.costs.bridge + out;
        if !kernel.owners() {
            return Progress::Run(time, Owner::Nobody);
        }
        let sender = owner.map(|vif| vifs[usize::from(vif)].ends.guest);
        let for_whom = match (sender, to) {
            (Some(sender), Forward::To(CARD) | Forward::Drop) => Owner::Domain(sender),
            (None, _) => match addressee(vifs, &packet) {
                Some(guest) => Owner::Domain(guest),
                None => Owner::Nobody,
            },
            (Some(sender), _) => {
                kernel.share(sender, taken + config.costs.bridge);
                shared_by(vifs, &packet, out, Owner::Shared, kernel)
            }
        };
        Progress::Run(time, for_whom)
    }

    /// Sends a packet out by the port that the bridge has chosen.
    fn forward(
        &mut self,
        (owner, packet, to): (Option<u16>, Packet, Forward),
        back: &mut Netback,
        vifs: &mut [Vif],
        kernel: &mut KernelIo<'_, '_>,
    ) {
        match to {
            Forward::To(CARD) => {
                return self
                    .card
                    .transmit(owner, packet, &mut back.tx, vifs, kernel);
            }
            Forward::To(port) => {
                if owner.is_some() {
                    begins(vifs, port, &packet, kernel.io);
                }
                back.rx.queue_to_guest(port.0 - 1, packet, vifs, kernel);
            }
            Forward::Flood => {
                for port in self.bridge.others(port_of(owner)) {
                    if port == CARD {
                        self.card.transmit(None, packet, &mut back.tx, vifs, kernel);
                    } else {
                        begins(vifs, port, &packet, kernel.io);
                        back.rx.queue_to_guest(port.0 - 1, packet, vifs, kernel);
                    }
                }
            }
            Forward::Drop => {}
        }
        // Netback has copied what goes to another guest, so the page is free.
        if let Some(vif) = owner {
            leaves(vifs, vif, &packet, kernel.io);
            back.tx.release(vif, kernel);
        }
    }
}

/// The bridge's port by which a packet of the guest of an interface comes, or one of the card.
fn port_of(owner: Option<u16>) -> BridgePort {
    owner.map_or(CARD, |vif| BridgePort(vif + 1))
}

/// The driver domain has a packet for the guest behind `port` that did not come to it by the card,
/// or to everybody.
fn begins(vifs: &[Vif], port: BridgePort, packet: &Packet, io: &mut Io<'_>) {
    let ends = vifs[usize::from(port.0 - 1)].ends;
    record::moved(io, ends, packet, Outside, DriverIn);
}

impl Accounted for Driver {
    fn account(&self, ledger: &mut Ledger) {
        ledger
            .add(&self.card)
            .add(&self.bridge)
            .add(&self.softnet.backlog);
        ledger.holds(u64::from(matches!(self.piece, Some(Piece::Forward { .. }))));
    }
}
