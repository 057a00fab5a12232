//! Netfront: a guest's driver for its interface (xen-spec 6.2).

use alloc::vec;
use alloc::vec::Vec;
use domio_core::{DomainId, Duration};
use domio_vmm::bus::{KernelIo, KernelLock, KernelTimer, Owner, Progress, SoftirqLine, WorkItem};

use super::buffers::Buffers;
use super::config::VifConfig;
use super::costs::{NetCosts, RxMode};
use super::record;
use super::site::Site;
use super::vif::Vif;
use crate::class::NetPlace::{GuestIn, GuestOut, RxRing, TxRing};
use crate::offload::{slots_in, slots_out};
use crate::packet::{Packet, Station};
use crate::queue::{Accounted, DropPlace, Ledger, Queue};

/// Packets that a poll takes.
const WEIGHT: u32 = 64;
/// Packets of all polls in one run of the softirq (`netdev_budget`).
const BUDGET: u32 = 300;
/// No more packets are put into the ring from so many outstanding on: 256 less the slots of the
/// largest packet and two.
const TX_STOP: u32 = 256 - 18 - 2;
/// Packets that wait for the ring (`txqueuelen`).
const TX_QUEUE: usize = 1_000;

/// A piece of work whose time is being spent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Piece {
    None,
    /// Mapping the pages of all packets of a poll.
    Remap,
    /// Freeing so many packets that were answered.
    Reap(u32),
    /// Taking a packet through the stack.
    Deliver(Packet),
    /// Handing a packet to the process that waits at the socket at this place.
    Hand(Packet, u16),
    /// Taking a packet to the domain's own bridge and netback, for a guest behind.
    Pass(Packet),
    /// That packet is there.
    Passed,
    /// Putting packets into the ring.
    Transmit,
    /// Telling netback.
    Notify,
    /// Posting so many buffers.
    Refill(u32),
}

impl Piece {
    /// Whether a packet is inside.
    pub fn has_packet(&self) -> bool {
        matches!(self, Piece::Deliver(_) | Piece::Hand(..) | Piece::Pass(_))
    }
}

/// A piece of work that is next, its time, and for whom it is.
pub(super) type Next = (Piece, Duration, Owner);

/// Who takes a packet from the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Taker {
    /// The guest's protocols.
    Stack,
    /// The process that waits at the socket at this place.
    Process(u16),
    /// The guest's own bridge, with netback behind, which takes so long.
    Bridge(Duration),
}

/// How far a poll is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Poll {
    /// It has not looked at the ring.
    Begin,
    /// It has taken `taken` packets. Of those that were in the ring `slots` slots are left, and it
    /// takes `left` more packets at most.
    Packets { taken: u32, left: u32, slots: u32 },
    /// All of them have, and buffers were looked at.
    Refilled { taken: u32 },
}

/// What a guest's kernel is called by for an interface.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrontLines {
    /// Packets have come.
    pub rx: SoftirqLine,
    /// The ring has room again.
    pub tx: SoftirqLine,
    /// The stack's timers.
    pub timer: KernelTimer,
    /// Setting the interface up.
    pub boot: WorkItem,
    /// What sends and what is answered: one vcpu at a time is at the ring (`tx_lock`).
    pub tx_lock: KernelLock,
}

/// The driver's own state.
pub(super) struct Netfront {
    pub lines: FrontLines,
    /// The interface's address: packets from others are sent on for somebody behind.
    station: Station,
    /// All guests of the network by station from 1, where this one drives some of them.
    behind: Vec<DomainId>,
    /// Packets that wait for the ring.
    pub queue: Queue<Packet>,
    /// Netback wants to be told.
    tell: bool,
    /// The ring was found full, and nothing has been put there since.
    full: bool,
    polling: bool,
    poll: Poll,
    /// Packets that polls may take in this run of the softirq.
    budget: u32,
    buffers: Buffers,
    /// Buffers of taken slots that no packet has filled, since those were in the pool: they are
    /// posted again.
    kept: u32,
    hard: Piece,
    /// What softirqs are at, by vcpu: each has its own.
    soft: Vec<Piece>,
    /// The vcpu that takes packets from the queue to the ring, and how many of its contexts do: one
    /// that was interrupted, and what interrupts it (Linux: `__LINK_STATE_QDISC_RUNNING`).
    sending: Option<(u16, u16)>,
}

impl Netfront {
    /// Where packets end that the ring does not get to.
    pub const QUEUE: DropPlace = DropPlace("netfront, queue");

    /// The driver of the interface at `station` that `config` describes.
    pub fn new(config: &VifConfig, station: Station, lines: FrontLines) -> Self {
        Netfront {
            lines,
            station,
            behind: Vec::new(),
            queue: Queue::new(Self::QUEUE, TX_QUEUE),
            tell: false,
            full: false,
            polling: false,
            poll: Poll::Begin,
            budget: 0,
            buffers: Buffers::new(config.rx_target),
            kept: 0,
            hard: Piece::None,
            soft: vec![Piece::None],
            sending: None,
        }
    }

    /// The guest has a bridge; `all` are the network's guests, by station from 1.
    pub fn bridges(&mut self, all: Vec<DomainId>) {
        self.behind = all;
    }

    /// The packet whose way to the guest's own bridge is over on `vcpu`, if that is what is over.
    pub fn passed(&mut self, vcpu: u16) -> Option<Packet> {
        let soft = self.soft(vcpu);
        let Piece::Pass(packet) = *soft else {
            return None;
        };
        *soft = Piece::Passed;
        Some(packet)
    }

    /// What softirqs of `vcpu` are at.
    pub fn soft(&mut self, vcpu: u16) -> &mut Piece {
        let vcpu = usize::from(vcpu);
        if vcpu >= self.soft.len() {
            self.soft.resize(vcpu + 1, Piece::None);
        }
        &mut self.soft[vcpu]
    }

    /// Whether another vcpu than this one takes packets to the ring: it continues with those that
    /// come meanwhile.
    fn is_sent_by_another(&self, vcpu: u16) -> bool {
        self.sending.is_some_and(|(sender, _)| sender != vcpu)
    }

    /// If the stack has left packets in the queue, a softirq takes them to the ring: they were sent
    /// by what is charged elsewhere.
    pub fn send_queued(&self, kernel: &mut KernelIo<'_, '_>) {
        if !self.queue.is_empty() {
            kernel.raise(self.lines.tx);
        }
    }

    /// The buffers that the interface begins with: the piece of work that posts them, and its time.
    pub fn first_refill(&self, config: &Site) -> (Piece, Duration) {
        let n = self.buffers.target();
        (
            Piece::Refill(n),
            config.costs.refilling(n, 0, config.rx_mode),
        )
    }

    /// The interrupt from netback.
    pub fn front_irq(
        &mut self,
        vif: &mut Vif,
        costs: &NetCosts,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Progress {
        let Piece::Reap(answered) = core::mem::replace(&mut self.hard, Piece::None) else {
            let answered = vif.tx.responses();
            self.hard = Piece::Reap(answered);
            kernel.under(self.lines.tx_lock, costs.front_reap * u64::from(answered));
            return own(costs.front_irq + costs.front_reap * u64::from(answered));
        };
        reap(vif, answered);
        if vif.tx.outstanding() < TX_STOP {
            self.send_queued(kernel);
        }
        if vif.tx.responses() > 0 {
            // More came meanwhile; the handler looks again.
            let more = vif.tx.responses();
            self.hard = Piece::Reap(more);
            let time = costs.front_reap * u64::from(more);
            kernel.under(self.lines.tx_lock, time);
            return own(time);
        }
        if vif.rx.responses() > 0 {
            self.polling = true;
            kernel.raise(self.lines.rx);
        }
        Progress::Done
    }

    /// The softirq that polls begins.
    pub fn begin_polls(&mut self) {
        self.budget = BUDGET;
    }

    /// Polls until one finds the ring empty or the budget is spent: the next piece of work, and its
    /// time. `taker` says who takes a packet.
    pub fn poll(
        &mut self,
        vif: &mut Vif,
        config: &Site,
        taker: impl Fn(&Packet) -> Taker,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Option<Next> {
        let (costs, mode) = (&config.costs, config.rx_mode);
        while self.polling {
            match self.poll {
                Poll::Begin => {
                    if self.budget == 0 {
                        kernel.raise(self.lines.rx);
                        return None;
                    }
                    // What is in the ring now; what comes from now on is for another poll.
                    let slots = vif.rx.responses();
                    let left = WEIGHT.min(self.budget);
                    let n = slots.min(left);
                    let n = n - vif.inward.pooled_ahead(n);
                    self.poll = Poll::Packets {
                        taken: 0,
                        left,
                        slots,
                    };
                    if mode == RxMode::Flip && n > 0 {
                        return Some((Piece::Remap, costs.remapping(n), Owner::Nobody));
                    }
                }
                Poll::Packets { taken, left: 0, .. }
                | Poll::Packets {
                    taken, slots: 0, ..
                } => {
                    self.poll = Poll::Refilled { taken };
                    self.buffers.lower_target(vif.rx.unfilled());
                    if let Some(n) = self.buffers.refill(vif.rx.outstanding(), vif.rx.unfilled()) {
                        let kept = core::mem::take(&mut self.kept).min(n);
                        let time = costs.refilling(n, kept, mode);
                        if mode == RxMode::Flip && n > kept {
                            kernel.flush_tlbs();
                        }
                        return Some((Piece::Refill(n), time, Owner::Nobody));
                    }
                }
                Poll::Packets { taken, left, slots } => {
                    self.budget -= 1;
                    let packet = vif.take_received();
                    let (packet, pooled) =
                        packet.expect("a poll takes no more packets than it has seen");
                    let slots_of_it = u32::from(slots_in(&packet));
                    if pooled {
                        self.kept += slots_of_it;
                    }
                    self.poll = Poll::Packets {
                        taken: taken + 1,
                        left: left - 1,
                        slots: slots - slots_of_it,
                    };
                    return Some(self.take_packet((packet, pooled), vif, config, taker, kernel));
                }
                Poll::Refilled { taken } => {
                    self.poll = Poll::Begin;
                    if taken < WEIGHT && !vif.rx.final_check_for_responses() {
                        self.polling = false;
                    }
                }
            }
        }
        None
    }

    /// The time of a piece of the driver's work with the rings is spent: does it.
    pub fn finish(&mut self, piece: Piece, vif: &mut Vif, kernel: &mut KernelIo<'_, '_>) {
        match piece {
            Piece::None | Piece::Reap(_) | Piece::Remap | Piece::Passed => {}
            Piece::Hand(..) | Piece::Deliver(_) | Piece::Pass(_) => {}
            Piece::Transmit => self.transmit(vif, kernel),
            Piece::Notify => {
                if let Some(port) = vif.front_port {
                    kernel.send(port);
                }
            }
            Piece::Refill(n) => {
                for _ in 0..n {
                    vif.rx
                        .put_request(())
                        .expect("the ring has room for all of them");
                }
                self.tell |= vif.rx.push_requests();
            }
        }
    }

    /// Packets go from the queue to the ring.
    fn transmit(&mut self, vif: &mut Vif, kernel: &mut KernelIo<'_, '_>) {
        self.sending = match self.sending {
            Some((sender, contexts)) if contexts > 1 => Some((sender, contexts - 1)),
            _ => None,
        };
        self.full = false;
        while vif.tx.outstanding() < TX_STOP
            && let Some(packet) = self.queue.pop()
        {
            record::moved(kernel.io, vif.ends, &packet, GuestOut, TxRing);
            vif.put_sent(packet);
        }
        self.tell |= vif.tx.push_requests();
        // It reaps whenever it has sent (`network_start_xmit`), so that netback seldom has to
        // notify a guest that continues sending.
        reap(vif, vif.tx.responses());
    }

    /// Packets that the stack wants to send go to the ring, and netback is told: the piece of work
    /// that is next for it, and its time.
    pub fn flush(
        &mut self,
        vif: &Vif,
        costs: &NetCosts,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Option<Next> {
        let vcpu = kernel.vcpu.index;
        if self.is_sent_by_another(vcpu) {
            return None;
        }
        let n = self.fitting(vif);
        if n > 0 {
            let contexts = self.sending.map_or(0, |(_, contexts)| contexts);
            self.sending = Some((vcpu, contexts + 1));
            let first = self.queue.iter().take(n);
            let own = first.filter(|p| p.from == self.station);
            let with_data = own.filter(|p| p.has_data()).count();
            let protocols = costs.stack_send * with_data as u64;
            let reaping = costs.front_reap * u64::from(vif.tx.responses());
            let at_ring = costs.front_tx * n as u64 + reaping;
            kernel.under(self.lines.tx_lock, at_ring);
            let copying = costs.copy(vif.out.bytes(self.queue.iter().take(n)));
            let owner = self.senders(n, kernel);
            return Some((Piece::Transmit, protocols + copying + at_ring, owner));
        }
        if let Some(first) = self.queue.front()
            && !core::mem::replace(&mut self.full, true)
        {
            record::full(kernel.io, vif.ends, first);
        }
        let tell = core::mem::take(&mut self.tell);
        tell.then_some((Piece::Notify, costs.send_event, Owner::Nobody))
    }

    /// How many packets of the queue the ring has room for.
    fn fitting(&self, vif: &Vif) -> usize {
        let mut used = vif.tx.outstanding();
        let fits = |packet: &&Packet| {
            let fits = used < TX_STOP;
            used += u32::from(slots_out(packet));
            fits
        };
        self.queue.iter().take_while(fits).count()
    }

    /// For whom the first `n` packets of the queue are sent: the guests behind whose packets are
    /// among them, each packet alike, or else the guest itself.
    fn senders(&self, n: usize, kernel: &mut KernelIo<'_, '_>) -> Owner {
        let mut owner = Owner::Nobody;
        if kernel.owners() && !self.behind.is_empty() {
            let first = self.queue.iter().take(n);
            for packet in first.filter(|p| p.from != self.station) {
                if let Some(sender) = self.guest_at(packet.from) {
                    kernel.share(sender, Duration::from_nanos(1));
                    owner = Owner::Shared;
                }
            }
        }
        owner
    }

    /// The guest at `station`, where this one has a bridge with guests behind.
    fn guest_at(&self, station: Station) -> Option<DomainId> {
        let place = usize::from(station.0).checked_sub(1)?;
        self.behind.get(place).copied()
    }

    /// A poll has taken `packet` from the ring: the piece of work with the packet, and its time.
    fn take_packet(
        &self,
        (packet, pooled): (Packet, bool),
        vif: &mut Vif,
        config: &Site,
        taker: impl Fn(&Packet) -> Taker,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Next {
        let costs = &config.costs;
        record::moved(kernel.io, vif.ends, &packet, RxRing, GuestIn);
        // The process that reads pays for copying the rest of a packet, and if it waits for the
        // stack's work. A page of the pool is not the stack's to keep.
        let bytes = u64::from(packet.frame_bytes());
        let copied = if pooled { bytes } else { bytes.min(256) };
        let taken = costs.front_rx + costs.copy(copied);
        vif.passed.packets_in += 1;
        vif.passed.bytes_in += bytes;
        match taker(&packet) {
            Taker::Process(place) => (Piece::Hand(packet, place), taken, Owner::Nobody),
            Taker::Stack => {
                let time = taken + config.stack_cost(&packet);
                (Piece::Deliver(packet), time, Owner::Nobody)
            }
            Taker::Bridge(time) => {
                let receiver = self.guest_at(packet.to);
                let owner = receiver.map_or(Owner::Nobody, Owner::Domain);
                (Piece::Pass(packet), taken + time, owner)
            }
        }
    }
}

/// Takes `answered` of the answers to what was sent, and wants to be notified of the next when half
/// of what is under way is answered (`network_tx_buf_gc`).
fn reap(vif: &mut Vif, answered: u32) {
    for _ in 0..answered {
        vif.tx.take_response();
    }
    vif.tx.want_half_of_responses();
}

/// A piece of work of the guest's own kernel.
pub(super) fn own(time: Duration) -> Progress {
    Progress::Run(time, Owner::Nobody)
}

impl Accounted for Netfront {
    fn account(&self, ledger: &mut Ledger) {
        ledger.add(&self.queue);
        ledger.holds(self.soft.iter().filter(|piece| piece.has_packet()).count() as u64);
    }
}
