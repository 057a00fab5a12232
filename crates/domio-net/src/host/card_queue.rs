//! A queue of the card: its rings, the timer and the handler of its interrupt, and the packets that
//! wait for room in front of it.

use alloc::collections::VecDeque;

use domio_core::{Duration, Instant};
use domio_sim::TimerId;
use domio_vmm::bus::{Io, KernelIo, KernelLock, Owner, Progress, Token};
use domio_vmm::evtchn::Port;

use super::handler::Handler;
use super::site::Site;
use super::softnet::{Polled, Softnet};
use super::vif::{Page, Vif, shared_by};
use crate::nic::{Nic, NicConfig};
use crate::packet::Packet;
use crate::queue::{Accounted, DropPlace, Ledger, Queue};

/// Packets that wait for a queue of the card (`txqueuelen`; `mq` has a queue of packets for each).
const TX_QUEUE: usize = 1_000;

/// A queue of the card.
pub(super) struct CardQueue {
    pub nic: Nic,
    /// Its place among the card's.
    number: u16,
    /// The driver domain's vcpu that has its interrupt and polls it, counted from the first one
    /// with work of the network.
    pub driver: u16,
    /// Its interrupt.
    pirq: u16,
    /// One vcpu at a time gives it packets (`xmit_lock`).
    pub xmit_lock: KernelLock,
    /// The interrupt's handler.
    handler: Handler,
    /// The interrupt's port, once the driver domain is up.
    port: Option<Port>,
    /// Fires when the card raises the interrupt.
    timer: TimerId,
    /// The interrupt was raised and not handled.
    raised: bool,
    /// Whom the packets in the ring belong to, in order.
    pub owners: VecDeque<Option<Page>>,
    /// Packets that wait for room in that ring.
    pub waiting: Queue<(Option<Page>, Packet)>,
}

impl CardQueue {
    /// Where packets end that the card does not get to.
    pub const QUEUE: DropPlace = DropPlace("driver domain, queue to the NIC");

    /// Queue `number` of a card, with interrupt `pirq`, which `timer` raises, for vcpu `driver` of
    /// those with work of the network. Who gives it packets holds `xmit_lock`.
    pub fn new(
        config: NicConfig,
        (number, driver): (u16, u16),
        (pirq, timer): (u16, TimerId),
        xmit_lock: KernelLock,
    ) -> Self {
        CardQueue {
            nic: Nic::new(config),
            number,
            driver,
            pirq,
            xmit_lock,
            handler: Handler::Idle,
            port: None,
            timer,
            raised: false,
            owners: VecDeque::new(),
            waiting: Queue::new(Self::QUEUE, TX_QUEUE),
        }
    }

    /// The driver domain comes up: binds the interrupt, with `token`.
    pub fn plug(&mut self, token: Token, config: &Site, io: &mut Io<'_>) {
        let vcpu = config.vcpu + self.driver;
        let port = io.bind_pirq(config.driver, self.pirq, vcpu, token);
        let port = port.expect("a driver domain that boots has free ports");
        self.port = Some(port);
    }

    /// Packets in the ring of which the driver knows: it polls, or the interrupt is there.
    pub fn at_hand(&self) -> usize {
        if self.is_told() { self.nic.filled() } else { 0 }
    }

    /// The driver polls, or is about to: no timer is needed to tell it of packets.
    #[inline]
    pub fn is_told(&self) -> bool {
        self.raised || self.nic.is_masked()
    }

    /// Sets the timer of the interrupt.
    pub fn listen(&self, io: &mut Io<'_>) {
        let at = match self.is_told() {
            true => None,
            false => self.nic.interrupt_at(io.now),
        };
        match at {
            Some(at) => io.arm(self.timer, at),
            None => io.disarm(self.timer),
        }
    }

    /// The card raises the interrupt, for all packets that the queue has taken; whether there is a
    /// driver.
    pub fn raise_interrupt(&mut self, config: &Site, io: &mut Io<'_>) -> bool {
        self.nic.interrupt(io.now);
        let Some(port) = self.port else {
            return false;
        };
        self.raised = true;
        io.raise_pirq(config.driver, port);
        true
    }

    /// The interrupt: switches it off, and asks to be polled. It is for those whose packets the
    /// queue has.
    pub fn irq(
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
            softnet.poll.push_back(Polled::Card(self.number));
        }
        softnet.raise(kernel);
        Progress::Done
    }

    /// A packet comes in from the line at `at`, over a bus that is free at `bus`; whether there was
    /// a buffer for it.
    pub fn receive(&mut self, at: Instant, packet: Packet, bus: &mut Instant) -> bool {
        self.nic.share_bus(bus);
        let taken = self.nic.receive(at, packet);
        self.nic.share_bus(bus);
        taken
    }
}

impl Accounted for CardQueue {
    fn account(&self, ledger: &mut Ledger) {
        ledger.add(&self.nic).add(&self.waiting);
    }
}
