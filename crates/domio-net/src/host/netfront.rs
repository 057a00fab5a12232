//! Netfront: a guest's driver for its interface (xen-spec 6.2).

use domio_core::Duration;
use domio_core::NetPlace::{GuestIn, GuestOut, RxRing, TxRing};
use domio_vmm::bus::{KernelIo, Owner, Progress};

use super::stack::GuestOut as Out;
use super::vif::Vif;
use super::{NetCosts, Network, RxMode, record};
use crate::packet::Packet;
use crate::queue::{Place, Queue};

/// Buffers that netfront wants to have posted at least and at most (`RX_MIN_TARGET`,
/// `RX_MAX_TARGET`).
///
/// What it wants doubles at a refill that finds fewer than a quarter of them unfilled, and falls by
/// one at the end of a poll that leaves more than three quarters unfilled. Netback leaves 19, so
/// that 64 to 79 never double.
const RX_TARGET: std::ops::RangeInclusive<u32> = 64..=256;
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
    /// Mapping the pages of so many packets.
    Remap(u32),
    /// Freeing so many packets that were answered.
    Reap(u32),
    /// Taking a packet through the stack.
    Deliver(Packet),
    /// Handing a packet to the process that waits at the socket at this place.
    Hand(Packet, u16),
    /// Putting packets into the ring.
    Transmit,
    /// Telling netback.
    Notify,
    /// Posting so many buffers.
    Refill(u32),
}

/// How far a guest's interface has come up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Boot {
    /// Nothing is done yet.
    Begin,
    /// Buffers are being posted.
    Posting,
    /// The stack listens; what it sends is on its way.
    Up,
}

/// How far a poll is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Poll {
    /// It has not looked at the ring.
    Begin,
    /// It has taken `taken` packets, of which `left` have not gone to the stack.
    Packets { taken: u32, left: u32 },
    /// All of them have, and buffers were looked at.
    Refilled { taken: u32 },
}

/// Work of the guest's own kernel.
fn own(time: Duration) -> Progress {
    Progress::Run(time, Owner::Nobody)
}

/// The driver's own state.
pub(super) struct Netfront {
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
    /// Buffers that are to be posted.
    target: u32,
    hard: Piece,
    /// What softirqs are at, by vcpu: each has its own.
    soft: Vec<Piece>,
    /// The vcpu that takes packets from the queue to the ring, and how many of its contexts do: one
    /// that was interrupted, and what interrupts it (Linux: `__LINK_STATE_QDISC_RUNNING`).
    sending: Option<(u16, u16)>,
    boot: Boot,
    /// What the thread that sets the interface up is at.
    thread: Piece,
}

impl Netfront {
    /// Where packets end that the ring does not get to.
    pub const QUEUE: Place = Place("netfront, queue");

    /// A driver that wants `target` buffers posted at first.
    pub fn new(target: u32) -> Self {
        Netfront {
            queue: Queue::new(Self::QUEUE, TX_QUEUE),
            tell: false,
            full: false,
            polling: false,
            poll: Poll::Begin,
            budget: 0,
            target: target.clamp(*RX_TARGET.start(), *RX_TARGET.end()),
            hard: Piece::None,
            soft: vec![Piece::None],
            sending: None,
            boot: Boot::Begin,
            thread: Piece::None,
        }
    }

    /// Packets inside, besides those in the ring and the queue.
    pub fn held(&self) -> u64 {
        let packet = |piece: &&Piece| matches!(piece, Piece::Deliver(_) | Piece::Hand(..));
        let all = self.soft.iter().chain([&self.thread]);
        all.filter(packet).count() as u64
    }

    /// What softirqs of `vcpu` are at.
    fn soft(&mut self, vcpu: u16) -> &mut Piece {
        let vcpu = usize::from(vcpu);
        if vcpu >= self.soft.len() {
            self.soft.resize(vcpu + 1, Piece::None);
        }
        &mut self.soft[vcpu]
    }

    /// Whether another vcpu than this one takes packets to the ring: it goes on with those that
    /// come meanwhile.
    fn is_sent_by_another(&self, vcpu: u16) -> bool {
        self.sending.is_some_and(|(sender, _)| sender != vcpu)
    }
}

impl Netfront {
    /// A poll has left `unfilled` buffers: fewer may do.
    fn lower_target(&mut self, unfilled: u32) {
        if unfilled > self.target * 3 / 4 {
            self.target = (self.target - 1).max(*RX_TARGET.start());
        }
    }

    /// How many buffers to post while `outstanding` are not taken back, `unfilled` of them not
    /// filled; none where the batch is not worth its hypercall (`network_alloc_rx_buffers`).
    fn refill(&mut self, outstanding: u32, unfilled: u32) -> Option<u32> {
        let missing = self.target.saturating_sub(outstanding);
        if missing < self.target / 2 {
            return None;
        }
        if unfilled < self.target / 4 {
            self.target = (self.target * 2).min(*RX_TARGET.end());
        }
        Some(missing)
    }
}

impl Vif {
    /// Netfront takes the next packet of a poll from the ring: the piece of work with the packet,
    /// and its time.
    fn take_packet(
        &mut self,
        costs: &NetCosts,
        kernel: &mut KernelIo<'_, '_>,
    ) -> (Piece, Duration) {
        let packet = self.rx.take_response();
        let packet = packet.expect("a poll takes no more packets than it has seen");
        record::moved(kernel.io, self.ends, &packet, RxRing, GuestIn);
        // The process that reads pays for copying the rest of a packet, and if it waits for the
        // stack's work.
        let bytes = u64::from(packet.frame_bytes());
        let taken = costs.front_rx + costs.copy(bytes.min(256));
        self.passed.packets_in += 1;
        self.passed.bytes_in += bytes;
        match self.handed_to(&packet) {
            Some(place) => (Piece::Hand(packet, place), taken),
            None => (Piece::Deliver(packet), taken + costs.stack),
        }
    }

    /// Netfront takes `answered` of the answers to what it sent, and wants to be told of the next
    /// when half of what is under way is answered (`network_tx_buf_gc`).
    fn reap(&mut self, answered: u32) {
        for _ in 0..answered {
            self.tx.take_response();
        }
        self.tx.want_half_of_responses();
    }
}

impl Network {
    /// The interrupt from netback.
    pub(super) fn front_irq(&mut self, vif: u16, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let costs = self.costs;
        let v = &mut self.vifs[usize::from(vif)];
        let Piece::Reap(answered) = std::mem::replace(&mut v.front.hard, Piece::None) else {
            let answered = v.tx.responses();
            v.front.hard = Piece::Reap(answered);
            return own(costs.front_irq + costs.front_reap * u64::from(answered));
        };
        v.reap(answered);
        if v.tx.outstanding() < TX_STOP && !v.front.queue.is_empty() {
            kernel.raise(v.lines.tx);
        }
        if v.tx.responses() > 0 {
            // More came meanwhile; the handler looks again.
            let more = v.tx.responses();
            v.front.hard = Piece::Reap(more);
            return own(costs.front_reap * u64::from(more));
        }
        if v.rx.responses() > 0 {
            v.front.polling = true;
            kernel.raise(v.lines.rx);
        }
        Progress::Done
    }

    /// `net_rx_action` in a guest: netfront's polls, until one finds the ring empty or the budget
    /// is spent.
    pub(super) fn front_rx(&mut self, vif: u16, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let vcpu = kernel.vcpu.index;
        let front = &mut self.vifs[usize::from(vif)].front;
        match std::mem::replace(front.soft(vcpu), Piece::None) {
            // The softirq begins.
            Piece::None => front.budget = BUDGET,
            piece => self.finish_piece(vif, piece, kernel),
        }
        if let Some((piece, progress)) = self.flush(vif, kernel) {
            *self.vifs[usize::from(vif)].front.soft(vcpu) = piece;
            return progress;
        }
        let (costs, mode) = (self.costs, self.config.rx_mode);
        let v = &mut self.vifs[usize::from(vif)];
        while v.front.polling {
            match v.front.poll {
                Poll::Begin => {
                    if v.front.budget == 0 {
                        kernel.raise(v.lines.rx);
                        return Progress::Done;
                    }
                    // What is in the ring now; what comes from now on is for another poll.
                    let n = v.rx.responses().min(WEIGHT).min(v.front.budget);
                    v.front.budget -= n;
                    v.front.poll = Poll::Packets { taken: n, left: n };
                    if mode == RxMode::Flip && n > 0 {
                        *v.front.soft(vcpu) = Piece::Remap(n);
                        return own(costs.remapping(n));
                    }
                }
                Poll::Packets { taken, left: 0 } => {
                    v.front.poll = Poll::Refilled { taken };
                    v.front.lower_target(v.rx.unfilled());
                    if let Some(n) = v.front.refill(v.rx.outstanding(), v.rx.unfilled()) {
                        *v.front.soft(vcpu) = Piece::Refill(n);
                        return own(costs.refilling(n, mode));
                    }
                }
                Poll::Packets { taken, left } => {
                    let left = left - 1;
                    v.front.poll = Poll::Packets { taken, left };
                    let (piece, time) = v.take_packet(&costs, kernel);
                    *v.front.soft(vcpu) = piece;
                    return own(time);
                }
                Poll::Refilled { taken } => {
                    v.front.poll = Poll::Begin;
                    if taken < WEIGHT && !v.rx.final_check_for_responses() {
                        v.front.polling = false;
                    }
                }
            }
        }
        Progress::Done
    }

    /// `net_tx_action` in a guest: the ring has room again.
    pub(super) fn front_tx(&mut self, vif: u16, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let vcpu = kernel.vcpu.index;
        let front = &mut self.vifs[usize::from(vif)].front;
        let piece = std::mem::replace(front.soft(vcpu), Piece::None);
        self.finish_piece(vif, piece, kernel);
        let Some((piece, progress)) = self.flush(vif, kernel) else {
            return Progress::Done;
        };
        *self.vifs[usize::from(vif)].front.soft(vcpu) = piece;
        progress
    }

    /// The guest has booted: posts its buffers, and its stack begins.
    pub(super) fn boot(&mut self, vif: u16, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let front = &mut self.vifs[usize::from(vif)].front;
        let piece = std::mem::replace(&mut front.thread, Piece::None);
        self.finish_piece(vif, piece, kernel);
        let v = &mut self.vifs[usize::from(vif)];
        match v.front.boot {
            Boot::Begin => {
                v.front.boot = Boot::Posting;
                let n = v.front.target;
                v.front.thread = Piece::Refill(n);
                return own(self.costs.refilling(n, self.config.rx_mode));
            }
            Boot::Posting => {
                v.front.boot = Boot::Up;
                let (stack, mut out) = Out::new(v, kernel);
                stack.listen(out.now(), &mut out);
                // Flows that begin by themselves have their times already.
                out.set_timer();
            }
            Boot::Up => {}
        }
        let Some((piece, progress)) = self.flush(vif, kernel) else {
            return Progress::Done;
        };
        self.vifs[usize::from(vif)].front.thread = piece;
        progress
    }

    /// The time of a piece of work is spent: does it.
    pub(super) fn finish_piece(&mut self, vif: u16, piece: Piece, kernel: &mut KernelIo<'_, '_>) {
        let v = &mut self.vifs[usize::from(vif)];
        match piece {
            Piece::None | Piece::Reap(_) | Piece::Remap(_) => {}
            Piece::Hand(packet, place) => self.hand(vif, place, packet, kernel),
            Piece::Deliver(packet) => v.deliver(&packet, kernel),
            Piece::Transmit => {
                v.front.sending = match v.front.sending {
                    Some((sender, contexts)) if contexts > 1 => Some((sender, contexts - 1)),
                    _ => None,
                };
                v.front.full = false;
                while v.tx.outstanding() < TX_STOP
                    && let Some(packet) = v.front.queue.pop()
                {
                    record::moved(kernel.io, v.ends, &packet, GuestOut, TxRing);
                    v.tx.put_request(packet)
                        .expect("it has room below the stop");
                }
                v.front.tell |= v.tx.push_requests();
                // It reaps whenever it has sent (`network_start_xmit`), so that netback seldom has
                // to tell a guest that goes on sending.
                v.reap(v.tx.responses());
            }
            Piece::Notify => {
                if let Some(port) = v.front_port {
                    kernel.send(port);
                }
            }
            Piece::Refill(n) => {
                for _ in 0..n {
                    v.rx.put_request(())
                        .expect("the ring has room for all of them");
                }
                v.front.tell |= v.rx.push_requests();
            }
        }
    }

    /// Packets that the stack wants to send go to the ring, and netback is told: the piece of work
    /// that is next for it, and its time.
    pub(super) fn flush(
        &mut self,
        vif: u16,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Option<(Piece, Progress)> {
        let v = &mut self.vifs[usize::from(vif)];
        let vcpu = kernel.vcpu.index;
        if v.front.is_sent_by_another(vcpu) {
            return None;
        }
        let room = TX_STOP.saturating_sub(v.tx.outstanding());
        let n = (v.front.queue.len() as u32).min(room);
        if n > 0 {
            let contexts = v.front.sending.map_or(0, |(_, contexts)| contexts);
            v.front.sending = Some((vcpu, contexts + 1));
            let with_data = v
                .front
                .queue
                .iter()
                .take(n as usize)
                .filter(|p| p.has_data());
            let protocols = self.costs.stack_send * with_data.count() as u64;
            let sending = self.costs.front_tx * u64::from(n) + protocols;
            let reaping = self.costs.front_reap * u64::from(v.tx.responses());
            return Some((Piece::Transmit, own(sending + reaping)));
        }
        if let Some(first) = v.front.queue.front()
            && !std::mem::replace(&mut v.front.full, true)
        {
            record::moved(kernel.io, v.ends, first, GuestOut, GuestOut);
        }
        std::mem::take(&mut v.front.tell).then(|| (Piece::Notify, own(self.costs.send_event)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring of 128 posted, as of an interface that has just come up, from which single packets
    /// are taken: 64 polls later 64 are wanted, and the ring has come down with that.
    #[test]
    fn polls_that_find_little_bring_the_target_down() {
        let mut front = Netfront::new(128);
        let mut outstanding = 128;
        for _ in 0..64 {
            outstanding -= 1;
            front.lower_target(outstanding);
            assert_eq!(front.refill(outstanding, outstanding), None);
        }
        assert_eq!((front.target, outstanding), (64, 64));
        front.lower_target(64);
        assert_eq!(front.target, 64, "never less");
    }

    /// Netback leaves 19: not under a quarter of 64 to 79, but of 80.
    #[test]
    fn a_ring_that_is_drained_doubles_a_target_of_80() {
        for (target, expected) in [(64, 64), (79, 79), (80, 160), (128, 256), (200, 256)] {
            let mut front = Netfront::new(target);
            // All is taken but what netback left; the batch is what was missing before.
            assert_eq!(front.refill(19, 19), Some(target - 19));
            assert_eq!(front.target, expected);
        }
    }

    #[test]
    fn half_of_the_target_is_worth_a_refill() {
        let mut front = Netfront::new(64);
        assert_eq!(front.refill(33, 33), None);
        assert_eq!(front.refill(32, 32), Some(32));
        // More is posted than wanted.
        assert_eq!(front.refill(100, 90), None);
    }
}
