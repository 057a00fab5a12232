//! Netfront: a guest's driver for its interface (xen-spec 6.2).

use domio_core::Duration;
use domio_core::NetPlace::{GuestIn, GuestOut, RxRing, TxRing};
use domio_vmm::bus::{KernelIo, Owner, Progress};

use super::stack::GuestOut as Out;
use super::vif::Vif;
use super::{Network, record};
use crate::packet::Packet;
use crate::queue::{Place, Queue};

/// Buffers that a guest posts: the least of `RX_MIN_TARGET`.
///
/// Netfront would post twice as many, up to 256, when it finds fewer than a quarter unused; but
/// netback stops while 19 are left, which is more. Only when its interface comes up, with none
/// posted yet, does it double them to 128; each poll that finds more than three quarters unused
/// takes one away again, so that a guest that has booted, resolved names and let somebody log in
/// has 64, and keeps them. Guests here begin so.
const RX_BUFFERS: u32 = 64;
/// Packets that one turn of polling takes.
const WEIGHT: u32 = 64;
/// No more packets are put into the ring from so many outstanding on: 256 less the slots of the
/// largest packet and two.
const TX_STOP: u32 = 256 - 18 - 2;
/// Packets that wait for the ring (`txqueuelen`).
const TX_QUEUE: usize = 1_000;

/// A piece of work whose time is being spent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Piece {
    None,
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
    polled: u32,
    /// Buffers were looked at since the last packet was taken.
    refilled: bool,
    hard: Piece,
    soft: Piece,
    boot: Boot,
    /// What the thread that sets the interface up is at.
    thread: Piece,
}

impl Netfront {
    /// Where packets end that the ring does not get to.
    pub const QUEUE: Place = Place("netfront, queue");

    pub fn new() -> Self {
        Netfront {
            queue: Queue::new(Self::QUEUE, TX_QUEUE),
            tell: false,
            full: false,
            polling: false,
            polled: 0,
            refilled: false,
            hard: Piece::None,
            soft: Piece::None,
            boot: Boot::Begin,
            thread: Piece::None,
        }
    }

    /// Packets inside, besides those in the ring and the queue.
    pub fn held(&self) -> u64 {
        let packet = |piece| matches!(piece, Piece::Deliver(_) | Piece::Hand(..));
        u64::from(packet(self.soft)) + u64::from(packet(self.thread))
    }
}

impl Vif {
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

    /// `net_rx_action` in a guest: netfront's poll.
    pub(super) fn front_rx(&mut self, vif: u16, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let front = &mut self.vifs[usize::from(vif)].front;
        match std::mem::replace(&mut front.soft, Piece::None) {
            // The softirq begins.
            Piece::None => front.polled = 0,
            piece => self.finish_piece(vif, piece, kernel),
        }
        if let Some((piece, progress)) = self.flush(vif, kernel) {
            self.vifs[usize::from(vif)].front.soft = piece;
            return progress;
        }
        let costs = self.costs;
        let v = &mut self.vifs[usize::from(vif)];
        if !v.front.polling {
            return Progress::Done;
        }
        let is_full = v.front.polled == WEIGHT;
        if !is_full && let Some(packet) = v.rx.take_response() {
            record::moved(kernel.io, v.ends, &packet, RxRing, GuestIn);
            v.front.polled += 1;
            v.front.refilled = false;
            // The process that reads pays for copying the rest of a packet, and if it waits for the
            // stack's work.
            let bytes = u64::from(packet.frame_bytes()).min(256);
            let taken = costs.front_rx + costs.copy(bytes);
            v.passed.packets_in += 1;
            v.passed.bytes_in += u64::from(packet.frame_bytes());
            if let Some(place) = v.handed_to(&packet) {
                v.front.soft = Piece::Hand(packet, place);
                return own(taken);
            }
            v.front.soft = Piece::Deliver(packet);
            return own(taken + costs.stack);
        }
        if !v.front.refilled {
            v.front.refilled = true;
            let wanted = RX_BUFFERS - v.rx.outstanding();
            if wanted >= RX_BUFFERS / 2 {
                v.front.soft = Piece::Refill(wanted);
                return own(costs.front_refill * u64::from(wanted));
            }
        }
        if is_full {
            kernel.raise(v.lines.rx);
            return Progress::Done;
        }
        if !v.rx.final_check_for_responses() {
            v.front.polling = false;
            return Progress::Done;
        }
        kernel.raise(v.lines.rx);
        Progress::Done
    }

    /// `net_tx_action` in a guest: the ring has room again.
    pub(super) fn front_tx(&mut self, vif: u16, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let front = &mut self.vifs[usize::from(vif)].front;
        let piece = std::mem::replace(&mut front.soft, Piece::None);
        self.finish_piece(vif, piece, kernel);
        let Some((piece, progress)) = self.flush(vif, kernel) else {
            return Progress::Done;
        };
        self.vifs[usize::from(vif)].front.soft = piece;
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
                v.front.thread = Piece::Refill(RX_BUFFERS);
                return own(self.costs.front_refill * u64::from(RX_BUFFERS));
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
            Piece::None | Piece::Reap(_) => {}
            Piece::Hand(packet, place) => self.hand(vif, place, packet, kernel),
            Piece::Deliver(packet) => v.deliver(&packet, kernel),
            Piece::Transmit => {
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
        let room = TX_STOP.saturating_sub(v.tx.outstanding());
        let n = (v.front.queue.len() as u32).min(room);
        if n > 0 {
            let sending = self.costs.front_tx * u64::from(n);
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
