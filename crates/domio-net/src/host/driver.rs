//! The driver domain's bridge and the queue to its card: what its softirqs do with packets.

use std::collections::VecDeque;

use domio_core::NetPlace::{Card, DriverIn, DriverOut, Outside};
use domio_core::{DomainId, Duration};
use domio_sim::TimerId;
use domio_vmm::bus::{Io, KernelIo, KernelTimer, Owner, Progress, SoftirqLine, Tasklet};
use domio_vmm::evtchn::Port;

use super::vif::Vif;
use super::{Handler, Network, record};
use crate::bridge::{self, Forward};
use crate::nic::Nic;
use crate::packet::{Packet, Station};
use crate::queue::{Place, Queue};

/// Packets that a device may bring in one turn (Linux 2.6.18: `weight`).
const WEIGHT: u32 = 64;
/// Packets of all devices in one run of the softirq (`netdev_budget`).
const BUDGET: u32 = 300;
/// Packets that wait for the card (`txqueuelen`).
const TX_QUEUE: usize = 1_000;
/// The bridge's port with the card behind it.
pub(super) const CARD: bridge::BridgePort = bridge::BridgePort(0);

/// A device that wants to be polled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Polled {
    Card,
    Backlog,
}

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

/// What the driver domain's kernel is called by, and the card's interrupt.
#[derive(Clone, Copy, Debug)]
pub(super) struct DriverLines {
    /// Devices are to be polled.
    pub rx: SoftirqLine,
    /// Queues to guests go on.
    pub tx: SoftirqLine,
    /// Netback, to the guests.
    pub rx_tasklet: Tasklet,
    /// Netback, from the guests.
    pub tx_tasklet: Tasklet,
    /// Rate limits of interfaces.
    pub credit: KernelTimer,
    /// Queues that have stood still for too long.
    pub queues: KernelTimer,
    /// The card's interrupt.
    pub pirq: u16,
}

/// The card and its driver.
pub(super) struct Driver {
    pub nic: Nic,
    pub lines: DriverLines,
    /// The handler of the card's interrupt.
    pub handler: Handler,
    /// The card's port, once the driver domain is up.
    pub port: Option<Port>,
    /// Fires when the card raises its interrupt.
    pub interrupt: TimerId,
    /// The interrupt was raised and not handled.
    pub raised: bool,
    /// Whom the packets in the card's ring belong to, in order.
    owners: VecDeque<Option<u16>>,
    /// Packets that wait for room in that ring.
    queue: Queue<(Option<u16>, Packet)>,
    /// Devices to poll, in turn.
    pub poll: VecDeque<Polled>,
    quota: u32,
    budget: u32,
    /// The poll under way has looked for packets that were sent (`tg3_poll` does so once).
    reaped: bool,
    piece: Option<Piece>,
    /// An interface whose queue goes on, and its packet under way.
    restarting: Option<(u16, Packet)>,
}

impl Driver {
    /// Where packets end that the card does not get to.
    pub const QUEUE: Place = Place("driver domain, queue to the NIC");

    pub fn new(nic: Nic, interrupt: TimerId, lines: DriverLines) -> Self {
        Driver {
            nic,
            lines,
            handler: Handler::Idle,
            port: None,
            interrupt,
            raised: false,
            owners: VecDeque::new(),
            queue: Queue::new(Self::QUEUE, TX_QUEUE),
            poll: VecDeque::new(),
            quota: WEIGHT,
            budget: 0,
            reaped: false,
            piece: None,
            restarting: None,
        }
    }

    /// Packets inside, besides those in the card's rings and the queue to it.
    pub fn held(&self) -> u64 {
        u64::from(matches!(self.piece, Some(Piece::Forward { .. })))
            + u64::from(self.restarting.is_some())
    }

    /// Whether a packet from the queue of `vif`, which goes on, is under way.
    pub fn is_restarting(&self, vif: u16) -> bool {
        self.restarting.is_some_and(|(first, _)| first == vif)
    }

    /// The queue to the card.
    pub fn queue(&self) -> &Queue<(Option<u16>, Packet)> {
        &self.queue
    }
}

impl Network {
    /// Gives the guest that a packet from outside is for a share of the next piece of work, which
    /// has been `owner`'s so far.
    pub(super) fn shared_by(
        &self,
        packet: &Packet,
        weight: Duration,
        owner: Owner,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Owner {
        match self.addressee(packet) {
            Some(guest) => {
                kernel.share(guest, weight);
                Owner::Shared
            }
            None => owner,
        }
    }

    /// The guest that a packet from outside is for, or whose address it asks for.
    fn addressee(&self, packet: &Packet) -> Option<DomainId> {
        self.addressed(packet).map(|v| v.domain)
    }

    /// The same guest's interface.
    fn addressed(&self, packet: &Packet) -> Option<&Vif> {
        self.vifs.get(usize::from(self.addressed_vif(packet)?))
    }

    fn addressed_vif(&self, packet: &Packet) -> Option<u16> {
        let vif = match usize::from(packet.to.0).checked_sub(1) {
            Some(vif) if vif < self.vifs.len() => vif,
            _ => self.asked_for(packet)?,
        };
        u16::try_from(vif).ok()
    }

    /// Whether a packet for the guest of `vif` does not pass the gate.
    fn turns_away(&mut self, vif: u16, kernel: &mut KernelIo<'_, '_>) -> bool {
        self.open_if_over(vif, kernel);
        let now = kernel.now();
        !self.vifs[usize::from(vif)].gate.pass_in(now)
    }

    /// The interface whose address a broadcast asks for.
    fn asked_for(&self, packet: &Packet) -> Option<usize> {
        let station = u32::MAX - packet.flow.0;
        let vif = usize::try_from(station).ok()?.checked_sub(1)?;
        (packet.to == Station::EVERYBODY && vif < self.vifs.len()).then_some(vif)
    }

    /// Packets of guests wait in the backlog.
    pub(super) fn poll_backlog(&mut self) {
        if !self.driver.poll.contains(&Polled::Backlog) {
            self.driver.poll.push_back(Polled::Backlog);
        }
    }

    /// `net_rx_action` in the driver domain.
    pub(super) fn driver_rx(&mut self, kernel: &mut KernelIo<'_, '_>) -> Progress {
        match self.driver.piece.take() {
            Some(Piece::Reap(n)) => self.reap(n, kernel),
            Some(Piece::TurnAway) => {
                self.driver.nic.post(1);
            }
            Some(Piece::Forward { owner, packet, to }) => {
                if owner.is_none() {
                    self.driver.nic.post(1);
                }
                self.forward(owner, packet, to, kernel);
            }
            // The softirq begins.
            None => {
                self.driver.budget = BUDGET;
                self.driver.quota = WEIGHT;
            }
        }
        while let Some(polled) = self.driver.poll.front().copied() {
            if self.driver.budget == 0 {
                kernel.raise(self.driver.lines.rx);
                return Progress::Done;
            }
            if self.driver.quota == 0 {
                self.driver.poll.rotate_left(1);
                self.driver.quota = WEIGHT;
                self.driver.reaped = false;
                continue;
            }
            let next = match polled {
                Polled::Card => self.poll_card(kernel),
                Polled::Backlog => self.poll_packet(kernel),
            };
            if let Some(piece) = next {
                return piece;
            }
            self.driver.quota = WEIGHT;
            self.driver.reaped = false;
            if polled == Polled::Card && self.driver.nic.has_sent(kernel.now()) {
                // There is work: it is polled again, after the others.
                self.driver.poll.rotate_left(1);
                continue;
            }
            self.driver.poll.pop_front();
            if polled == Polled::Card {
                self.driver.nic.unmask();
                self.listen(kernel.io);
            }
        }
        Progress::Done
    }

    /// The next piece of work with the card's rings.
    fn poll_card(&mut self, kernel: &mut KernelIo<'_, '_>) -> Option<Progress> {
        let now = kernel.now();
        self.take_arrivals(kernel.io);
        let sent = match std::mem::replace(&mut self.driver.reaped, true) {
            true => 0,
            false => self.driver.nic.reap(now),
        };
        if sent > 0 {
            self.driver.piece = Some(Piece::Reap(sent));
            if kernel.owners() {
                let owners = self.driver.owners.iter().take(usize::from(sent));
                for vif in owners.copied().flatten() {
                    let guest = self.vifs[usize::from(vif)].domain;
                    kernel.share(guest, self.costs.nic_reap);
                }
            }
            let time = self.costs.nic_reap * u64::from(sent);
            return Some(Progress::Run(time, Owner::Shared));
        }
        let packet = self.driver.nic.take(now)?;
        if let Some(ends) = self.receiver(&packet) {
            record::moved(kernel.io, ends, &packet, Card, DriverIn);
        }
        let rx = self.costs.nic_rx;
        if self.back.gated_vifs > 0
            && let Some(vif) = self.addressed_vif(&packet)
            && self.turns_away(vif, kernel)
        {
            let v = &self.vifs[usize::from(vif)];
            let (ends, guest) = (v.ends, v.domain);
            record::moved(kernel.io, ends, &packet, DriverIn, Outside);
            self.driver.budget -= 1;
            self.driver.quota -= 1;
            self.back.turned_away += 1;
            self.driver.piece = Some(Piece::TurnAway);
            return Some(Progress::Run(rx, Owner::Domain(guest)));
        }
        Some(self.begin_forward(None, CARD, packet, rx, kernel))
    }

    /// The next packet of the backlog.
    fn poll_packet(&mut self, kernel: &mut KernelIo<'_, '_>) -> Option<Progress> {
        let (vif, packet) = self.back.backlog.pop()?;
        let (port, taken) = (bridge::BridgePort(vif + 1), Duration::ZERO);
        Some(self.begin_forward(Some(vif), port, packet, taken, kernel))
    }

    /// Begins to take `packet` through the bridge, after it was taken from where it was, which
    /// costs `taken`. The way through the bridge is for who sends, where that is a guest, and what
    /// follows for who gets the packet, where that is one.
    fn begin_forward(
        &mut self,
        owner: Option<u16>,
        from: bridge::BridgePort,
        packet: Packet,
        taken: Duration,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Progress {
        self.driver.budget -= 1;
        self.driver.quota -= 1;
        let to = self.bridge.forward(from, &packet);
        self.driver.piece = Some(Piece::Forward { owner, packet, to });
        let out = match to {
            Forward::To(CARD) => self.costs.nic_tx,
            Forward::To(_) => self.queue_cost(&packet),
            Forward::Flood | Forward::Drop => Duration::ZERO,
        };
        let time = taken + self.costs.bridge + out;
        if !kernel.owners() {
            return Progress::Run(time, Owner::Nobody);
        }
        let sender = owner.map(|vif| self.vifs[usize::from(vif)].domain);
        let for_whom = match (sender, to) {
            (Some(sender), Forward::To(CARD) | Forward::Drop) => Owner::Domain(sender),
            (None, _) => match self.addressee(&packet) {
                Some(guest) => Owner::Domain(guest),
                None => Owner::Nobody,
            },
            (Some(sender), _) => {
                kernel.share(sender, taken + self.costs.bridge);
                self.shared_by(&packet, out, Owner::Shared, kernel)
            }
        };
        Progress::Run(time, for_whom)
    }

    /// Sends a packet out by the port that the bridge has chosen.
    fn forward(
        &mut self,
        owner: Option<u16>,
        packet: Packet,
        to: Forward,
        kernel: &mut KernelIo<'_, '_>,
    ) {
        match to {
            Forward::To(CARD) => return self.transmit(owner, packet, kernel),
            Forward::To(port) => {
                if owner.is_some() {
                    self.begins(port.0 - 1, &packet, kernel);
                }
                self.queue_to_guest(port.0 - 1, packet, kernel);
            }
            Forward::Flood => {
                let from = owner.map_or(CARD, |vif| bridge::BridgePort(vif + 1));
                for port in self.bridge.others(from) {
                    if port == CARD {
                        self.transmit(None, packet, kernel);
                    } else {
                        self.begins(port.0 - 1, &packet, kernel);
                        self.queue_to_guest(port.0 - 1, packet, kernel);
                    }
                }
            }
            Forward::Drop => {}
        }
        // Netback has copied what goes to another guest, so the page is free.
        if let Some(vif) = owner {
            self.ends(vif, &packet, kernel.io);
            self.back.release(vif);
            kernel.schedule(self.driver.lines.tx_tasklet);
        }
    }

    /// The driver domain has a packet for the guest of `vif` that did not come to it by the card,
    /// or to everybody.
    fn begins(&self, vif: u16, packet: &Packet, kernel: &mut KernelIo<'_, '_>) {
        let ends = self.vifs[usize::from(vif)].ends;
        record::moved(kernel.io, ends, packet, Outside, DriverIn);
    }

    /// A packet from the guest of `vif` has left the driver domain, or was dropped there.
    fn ends(&self, vif: u16, packet: &Packet, io: &mut Io<'_>) {
        let ends = self.vifs[usize::from(vif)].ends;
        record::moved(io, ends, packet, DriverOut, Outside);
    }

    /// Gives a packet to the card, or to the queue in front of it.
    fn transmit(&mut self, owner: Option<u16>, packet: Packet, kernel: &mut KernelIo<'_, '_>) {
        if self.driver.queue.is_empty() && self.driver.nic.tx_free() > 0 {
            self.hand_over(owner, packet, kernel.io);
        } else if !self.driver.queue.push((owner, packet))
            && let Some(vif) = owner
        {
            self.ends(vif, &packet, kernel.io);
            self.back.release(vif);
            kernel.schedule(self.driver.lines.tx_tasklet);
        }
    }

    fn hand_over(&mut self, owner: Option<u16>, packet: Packet, io: &mut Io<'_>) {
        // Packets on the bus keep their order.
        if self.driver.nic.has_bus() {
            self.take_arrivals(io);
        }
        let line = &mut self.outside.link.back;
        let taken = self.driver.nic.transmit(io.now, packet, line);
        assert!(taken.is_ok(), "the ring has room");
        self.driver.owners.push_back(owner);
        if let Some(vif) = owner {
            self.ends(vif, &packet, io);
        }
        self.outside.expect_arrival(io);
        self.listen(io);
    }

    /// `n` packets have left: their pages are free, and the queue goes on.
    fn reap(&mut self, n: u16, kernel: &mut KernelIo<'_, '_>) {
        for _ in 0..n {
            let owner = self.driver.owners.pop_front();
            if let Some(vif) = owner.expect("each packet in the ring has an entry") {
                self.back.release(vif);
                kernel.schedule(self.driver.lines.tx_tasklet);
            }
        }
        while self.driver.nic.tx_free() > 0
            && let Some((owner, packet)) = self.driver.queue.pop()
        {
            self.hand_over(owner, packet, kernel.io);
        }
    }

    /// `net_tx_action` in the driver domain: queues to guests that go on.
    pub(super) fn driver_tx(&mut self, kernel: &mut KernelIo<'_, '_>) -> Progress {
        if let Some((vif, packet)) = self.driver.restarting.take() {
            self.send_to_guest(vif, packet, kernel);
        }
        while let Some(&vif) = self.back.restart.front() {
            let v = &mut self.vifs[usize::from(vif)];
            if !v.rx_stopped
                && let Some(packet) = v.rx_queue.pop()
            {
                let owner = Owner::Domain(v.domain);
                self.driver.restarting = Some((vif, packet));
                return Progress::Run(self.queue_cost(&packet), owner);
            }
            self.back.restart.pop_front();
        }
        Progress::Done
    }
}
