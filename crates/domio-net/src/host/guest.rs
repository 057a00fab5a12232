//! A guest at its interface: what its kernel does with netfront and the stack.

use alloc::vec::Vec;
use domio_core::{DomainId, Duration, Instant, VcpuName};
use domio_vmm::bus::{Io, KernelIo, Progress, Token};
use domio_vmm::evtchn::Port;

use super::netfront::{Netfront, Next, Piece, Taker, own};
use super::record::{self, Ends};
use super::site::Site;
use super::stack::Stack;
use super::vif::Vif;
use crate::class::NetPlace::{GuestOut, Outside};
use crate::packet::{FlowId, Packet, Station};
use crate::peer::asks_for;
use crate::queue::{Accounted, Ledger};

/// How far the interface has come up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Boot {
    /// Nothing is done yet.
    Begin,
    /// Buffers are being posted.
    Posting,
    /// The stack listens; what it sends is on its way.
    Up,
}

/// When a flow begins and ends, after the guest's start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Start {
    pub flow: FlowId,
    pub start: Duration,
    pub stop: Option<Duration>,
}

/// The bridge of a guest that is a driver domain itself, behind the interface.
pub(super) struct OwnBridge {
    /// What it is made of, and its number.
    pub site: Site,
    pub number: u16,
    /// The guest's own address.
    station: Station,
}

impl OwnBridge {
    /// Whether `packet` is for the guest itself.
    fn keeps(&self, packet: &Packet) -> bool {
        match packet.to {
            Station::EVERYBODY => packet.flow == asks_for(self.station),
            to => to == self.station,
        }
    }
}

/// The guest's driver and stack.
pub(super) struct Guest {
    pub front: Netfront,
    pub stack: Stack,
    /// Where packets go that come by the interface and are for others.
    pub bridge: Option<OwnBridge>,
    /// Its flows.
    pub starts: Vec<Start>,
    /// The vcpu that does the kernel's work.
    vcpu: u16,
    boot: Boot,
    /// What the thread that sets the interface up is at.
    thread: Piece,
}

impl Guest {
    /// A guest that is not up, whose vcpu `vcpu` does the kernel's work.
    pub fn new(front: Netfront, stack: Stack, vcpu: u16) -> Self {
        Guest {
            front,
            stack,
            bridge: None,
            starts: Vec::new(),
            vcpu,
            boot: Boot::Begin,
            thread: Piece::None,
        }
    }

    /// The guest at `station` is driver domain `number` too, which `site` describes, for `all`
    /// guests of the network, by station from 1, as far as they are behind it.
    pub fn bridges(&mut self, (number, site): (u16, Site), station: Station, all: Vec<DomainId>) {
        self.front.bridges(all);
        self.bridge = Some(OwnBridge {
            site,
            number,
            station,
        });
    }

    /// The guest's bridge sends `packet` outward, by the interface.
    pub fn send_on(&mut self, packet: Packet, ends: Ends, kernel: &mut KernelIo<'_, '_>) {
        // Dropped when the queue is full: the queue counts it.
        if self.front.queue.push(packet) {
            record::moved(kernel.io, ends, &packet, Outside, GuestOut);
        }
        self.front.send_queued(kernel);
    }

    /// The guest comes up: offers a port to netback, whose handler has `token`.
    pub fn offer(&self, ends: Ends, token: Token, io: &mut Io<'_>) -> Port {
        let port = io.offer(ends.guest, ends.driver, self.vcpu, token);
        port.expect("a guest that boots has free ports")
    }

    /// Has a thread set the interface up.
    pub fn begin_boot(&self, ends: Ends, io: &mut Io<'_>) {
        io.queue_work(VcpuName::new(ends.guest, self.vcpu), self.front.lines.boot);
    }

    /// The guest's end of `flow` begins at `at`, and ends at `stop`.
    pub fn begin(&mut self, flow: FlowId, (at, stop): (Instant, Option<Instant>)) {
        self.stack.begin(flow, at, stop);
    }

    /// `net_rx_action`: netfront's polls.
    pub fn front_rx(
        &mut self,
        config: &Site,
        vif: &mut Vif,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Progress {
        let vcpu = kernel.vcpu.index;
        match core::mem::replace(self.front.soft(vcpu), Piece::None) {
            // The softirq begins.
            Piece::None => self.front.begin_polls(),
            piece => self.finish_piece(piece, vif, kernel),
        }
        let Guest {
            front,
            stack,
            bridge,
            ..
        } = self;
        let bridge = bridge.as_ref();
        let next = front.flush(vif, &config.costs, kernel).or_else(|| {
            let taker = |packet: &_| match (bridge, stack.handed_to(packet)) {
                (Some(bridge), _) if !bridge.keeps(packet) => {
                    Taker::Bridge(bridge.site.inward_cost(packet))
                }
                (_, Some(place)) => Taker::Process(place),
                (_, None) => Taker::Stack,
            };
            front.poll(vif, config, taker, kernel)
        });
        self.softirq_goes_on(vcpu, next)
    }

    /// `net_tx_action`: the ring has room again.
    pub fn front_tx(
        &mut self,
        config: &Site,
        vif: &mut Vif,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Progress {
        let vcpu = kernel.vcpu.index;
        let piece = core::mem::replace(self.front.soft(vcpu), Piece::None);
        self.finish_piece(piece, vif, kernel);
        let next = self.front.flush(vif, &config.costs, kernel);
        self.softirq_goes_on(vcpu, next)
    }

    /// The softirq on `vcpu` continues with a piece of work, or is done.
    fn softirq_goes_on(&mut self, vcpu: u16, next: Option<Next>) -> Progress {
        match next {
            Some((piece, time, owner)) => {
                *self.front.soft(vcpu) = piece;
                Progress::Run(time, owner)
            }
            None => Progress::Done,
        }
    }

    /// The guest has booted: posts its buffers, and its stack begins.
    pub fn boot(
        &mut self,
        config: &Site,
        vif: &mut Vif,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Progress {
        let piece = core::mem::replace(&mut self.thread, Piece::None);
        self.finish_piece(piece, vif, kernel);
        match self.boot {
            Boot::Begin => {
                self.boot = Boot::Posting;
                let (piece, time) = self.front.first_refill(config);
                self.thread = piece;
                return own(time);
            }
            Boot::Posting => {
                self.boot = Boot::Up;
                self.stack.listen(&mut self.front.queue, kernel);
            }
            Boot::Up => {}
        }
        let Some((piece, time, owner)) = self.front.flush(vif, &config.costs, kernel) else {
            return Progress::Done;
        };
        self.thread = piece;
        Progress::Run(time, owner)
    }

    /// What a timer of the stack has to do.
    pub fn stack_timers(&mut self, kernel: &mut KernelIo<'_, '_>) {
        self.stack.expire(&mut self.front.queue, kernel);
        // Sent from the timer softirq: charged in the next one.
        self.front.send_queued(kernel);
    }

    /// The time of a piece of work is spent: does it.
    pub fn finish_piece(&mut self, piece: Piece, vif: &mut Vif, kernel: &mut KernelIo<'_, '_>) {
        match piece {
            Piece::Hand(packet, place) => self.stack.hand(place, packet, kernel),
            Piece::Deliver(packet) => {
                self.stack.deliver(&packet, &mut self.front.queue, kernel);
            }
            piece => self.front.finish(piece, vif, kernel),
        }
    }
}

impl Accounted for Guest {
    fn account(&self, ledger: &mut Ledger) {
        ledger.add(&self.front).add(&self.stack);
    }
}
