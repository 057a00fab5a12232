//! `NetRx` in the driver domain: polls the card and the backlog, and takes packets through the
//! bridge.

use domio_core::{Duration, Instant};
use domio_vmm::bus::{KernelIo, Owner, Progress};
use domio_vmm::config::HostSoftirqs;

use super::local::Local;
use super::record;
use super::site::CARD;
use super::softnet::{Polled, Softnet};
use super::vif::{addressee, payer, receiver, shared_by};
use super::ways::{Origin, Ways};
use crate::bridge::Forward;
use crate::class::NetPlace::{Card as InCard, DriverIn, Outside};
use crate::packet::Packet;
use crate::queue::{Accounted, Ledger};

/// Packets that a device may bring in one turn (Linux 2.6.18: `weight`).
const WEIGHT: u32 = 64;
/// Packets of all devices in one run of the softirq (`netdev_budget`).
const BUDGET: u32 = 300;

/// Jiffies after which a run of the softirq makes way on a host with KVM
/// (`netdev_budget_usecs`: 2 s / `HZ`).
const POLL_TICKS: u64 = 2;

/// A piece of work whose time is being spent.
#[derive(Clone, Copy, Debug)]
enum Piece {
    /// Freeing so many packets that were sent by a queue of the card.
    Reap { queue: u16, sent: u16 },
    /// Freeing a packet whose guest is sent nothing.
    TurnAway(Buffers),
    /// Taking a packet from the card, or from the guest of an interface, through the bridge.
    Forward {
        origin: Origin,
        buffers: Buffers,
        packet: Packet,
        to: Forward,
    },
}

/// Receive buffers of the card that a packet had.
#[derive(Clone, Copy, Debug)]
struct Buffers {
    /// The queue whose ring they are in.
    queue: u16,
    count: u16,
}

impl Buffers {
    /// Those of a packet that has not come by the card.
    const NONE: Buffers = Buffers { queue: 0, count: 0 };

    /// They are empty again.
    fn post(self, ways: &mut Ways<'_>) {
        if self.count > 0 {
            ways.card.nic(self.queue).post(self.count);
        }
    }
}

/// What a vcpu of a driver domain has in addition to netback: what waits to be polled, and how far
/// it is.
pub(super) struct Driver {
    pub softnet: Softnet,
    quota: u32,
    budget: u32,
    /// The poll under way has looked for packets that were sent (`tg3_poll` does so once).
    reaped: bool,
    piece: Option<Piece>,
    /// On a host with KVM: how its softirqs make way, and when that of the run under way does.
    host: Option<(HostSoftirqs, Instant)>,
}

impl Driver {
    /// A vcpu that has nothing to do, of a host whose softirqs make way as `rules` say.
    pub fn new(softnet: Softnet, rules: Option<HostSoftirqs>) -> Self {
        Driver {
            softnet,
            host: rules.map(|rules| (rules, Instant::ZERO)),
            quota: WEIGHT,
            budget: 0,
            reaped: false,
            piece: None,
        }
    }

    /// Packets of guests that wait for the bridge, and any that is on its way there.
    pub fn at_hand(&self) -> usize {
        let under_way = matches!(self.piece, Some(Piece::Forward { .. }));
        self.softnet.backlog.len() + usize::from(under_way)
    }

    /// `net_rx_action` in the driver domain.
    pub fn driver_rx(&mut self, ways: &mut Ways<'_>, kernel: &mut KernelIo<'_, '_>) -> Progress {
        match self.piece.take() {
            Some(Piece::Reap { queue, sent }) => {
                ways.card.reap((queue, sent), ways.backs, ways.vifs, kernel);
            }
            Some(Piece::TurnAway(buffers)) => buffers.post(ways),
            Some(Piece::Forward {
                origin,
                buffers,
                packet,
                to,
            }) => {
                buffers.post(ways);
                ways.forward((origin, packet, to), kernel);
                if ways.local.as_ref().is_some_and(|own| !own.queue.is_empty()) {
                    self.softnet.poll_local(kernel);
                }
            }
            // The softirq begins.
            None => {
                self.budget = BUDGET;
                self.quota = WEIGHT;
                if let Some((rules, until)) = &mut self.host {
                    *until = rules.ticks_after(kernel.now(), POLL_TICKS);
                }
            }
        }
        while let Some(polled) = self.softnet.poll.front().copied() {
            if self.is_over(kernel.now()) {
                self.softnet.raise(kernel);
                return Progress::Done;
            }
            if self.quota == 0 {
                self.next_device();
                continue;
            }
            let next = match polled {
                Polled::Card(queue) => self.poll_card(queue, ways, kernel),
                Polled::Backlog => self.poll_packet(ways, kernel),
                Polled::Local => self.poll_local(ways, kernel),
            };
            if let Some(piece) = next {
                return piece;
            }
            if let Polled::Card(queue) = polled
                && ways.card.nic(queue).has_sent(kernel.now())
            {
                // There is work: it is polled again, after the others.
                self.next_device();
                continue;
            }
            self.quota = WEIGHT;
            self.reaped = false;
            self.softnet.poll.pop_front();
            if let Polled::Card(queue) = polled {
                ways.card.nic(queue).unmask();
                ways.card.listen(ways.vifs, kernel.io);
            }
        }
        Progress::Done
    }

    /// Whether the softirq makes way at `now`. Linux since 2.6.30 finishes the poll of a device
    /// first, and looks at the time as well (`net_rx_action`).
    fn is_over(&self, now: Instant) -> bool {
        match self.host {
            None => self.budget == 0,
            Some((_, until)) => self.quota == WEIGHT && (self.budget == 0 || now >= until),
        }
    }

    /// The turn of the device that is polled is over, and it waits for the next.
    fn next_device(&mut self) {
        self.softnet.poll.rotate_left(1);
        self.quota = WEIGHT;
        self.reaped = false;
    }

    /// The next piece of work with the rings of queue `queue` of the card.
    fn poll_card(
        &mut self,
        queue: u16,
        ways: &mut Ways<'_>,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Option<Progress> {
        let now = kernel.now();
        ways.card.take_arrivals(ways.vifs, kernel.io);
        let sent = match core::mem::replace(&mut self.reaped, true) {
            true => 0,
            false => ways.card.nic(queue).reap(now),
        };
        if sent > 0 {
            self.piece = Some(Piece::Reap { queue, sent });
            let time = ways.card.reap_cost((queue, sent), &ways.site.costs, kernel);
            return Some(Progress::Run(time, Owner::Shared));
        }
        let most = match self.host {
            None => self.quota.min(self.budget),
            Some(_) => self.quota,
        } as u16;
        let (packet, count) = ways.card.nic(queue).take_frame(now, most)?;
        let buffers = Buffers { queue, count };
        if let Some(ends) = receiver(ways.vifs, &packet) {
            // Those that were joined to the first are no packets of their own any more.
            for _ in 1..count {
                record::moved(kernel.io, ends, &packet, InCard, Outside);
            }
            record::moved(kernel.io, ends, &packet, InCard, DriverIn);
        }
        self.budget = self.budget.saturating_sub(u32::from(count));
        self.quota -= u32::from(count);
        let rx = ways.site.costs.nic_rx * u64::from(count);
        if let Some(ends) = ways.turns_away(&packet, kernel) {
            record::moved(kernel.io, ends, &packet, DriverIn, Outside);
            self.piece = Some(Piece::TurnAway(buffers));
            return Some(Progress::Run(rx, Owner::Domain(ends.guest)));
        }
        Some(self.begin_forward((Origin::Card, packet), (buffers, rx), ways, kernel))
    }

    /// The next packet of the backlog.
    fn poll_packet(
        &mut self,
        ways: &mut Ways<'_>,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Option<Progress> {
        let (via, packet) = self.softnet.backlog.pop()?;
        self.budget = self.budget.saturating_sub(1);
        self.quota -= 1;
        let taken = (Buffers::NONE, Duration::ZERO);
        Some(self.begin_forward((Origin::Guest(via), packet), taken, ways, kernel))
    }

    /// The next packet of the domain's own protocols.
    fn poll_local(
        &mut self,
        ways: &mut Ways<'_>,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Option<Progress> {
        let packet = ways.local.as_deref_mut()?.queue.pop()?;
        self.budget = self.budget.saturating_sub(1);
        self.quota -= 1;
        let sent = match packet.has_data() {
            true => ways.site.costs.stack_send,
            false => Duration::ZERO,
        };
        let taken = (Buffers::NONE, sent);
        Some(self.begin_forward((Origin::Local, packet), taken, ways, kernel))
    }

    /// Begins to take a packet of a guest's interface, or of the card, through the bridge, after it
    /// was taken from where it was, which costs `taken` and leaves `buffers` empty. The way
    /// through the bridge is for who sends, where that is a guest, and what follows for who gets
    /// the packet, where that is one.
    fn begin_forward(
        &mut self,
        (origin, packet): (Origin, Packet),
        (buffers, taken): (Buffers, Duration),
        ways: &mut Ways<'_>,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Progress {
        let site = ways.site;
        let to = ways.bridge.forward(origin.port(site), &packet);
        self.piece = Some(Piece::Forward {
            origin,
            buffers,
            packet,
            to,
        });
        let out = match to {
            Forward::To(CARD) if ways.local.is_some() && Local::owns(&packet) => {
                Local::cost(&packet, site)
            }
            Forward::To(CARD) => {
                let out = site.outward_cost(&packet);
                if site.uplink.is_none() {
                    kernel.under(ways.card.xmit_lock(kernel.vcpu.index), out);
                }
                out
            }
            Forward::To(_) => site.queue_cost(&packet),
            Forward::Flood | Forward::Drop => Duration::ZERO,
        };
        let time = taken + site.costs.bridge + out;
        if !kernel.owners() {
            return Progress::Run(time, Owner::Nobody);
        }
        let sender = origin.guest().map(|vif| payer(ways.vifs, vif, &packet));
        let for_whom = match (sender, to) {
            (Some(sender), Forward::To(CARD) | Forward::Drop) => Owner::Domain(sender),
            (None, _) => match addressee(ways.vifs, &packet) {
                Some(guest) => Owner::Domain(guest),
                None => Owner::Nobody,
            },
            (Some(sender), _) => {
                kernel.share(sender, taken + site.costs.bridge);
                shared_by(ways.vifs, &packet, out, Owner::Shared, kernel)
            }
        };
        Progress::Run(time, for_whom)
    }
}

impl Accounted for Driver {
    fn account(&self, ledger: &mut Ledger) {
        ledger.add(&self.softnet.backlog);
        ledger.holds(u64::from(matches!(self.piece, Some(Piece::Forward { .. }))));
    }
}
