//! A virtual interface: what netback and netfront share, and whose packets go through it.

use domio_core::{DomainId, Duration, VcpuName};
use domio_vmm::bus::{Counted, KernelIo, Owner, Passed, Progress, WorkItem};
use domio_vmm::evtchn::Port;
use domio_vmm::ring::{NET_RX, NET_TX, Ring};

use super::costs::NetCosts;
use super::pairs::SmallPackets;
use super::pool::Lending;
use super::record::Ends;
use crate::offload::{slots_in, slots_out};
use crate::packet::{Packet, Station};

/// An interface. That of number `i` has station `i + 1`, and the bridge's port of that number.
pub(super) struct Vif {
    /// The guest and the driver domain.
    pub ends: Ends,
    /// Number of the driver domain among the network's.
    pub site: u16,
    /// Number of the backend that serves it, among those of all driver domains.
    pub back: u16,
    /// The interface by which the driver domain reaches the outside, where that has no card.
    pub uplink: Option<u16>,
    /// Packets from the guest.
    /// Further slots of a packet follow the first.
    pub tx: Ring<Option<Packet>, ()>,
    /// Packets to the guest, in buffers that it posts; likewise.
    pub rx: Ring<(), Option<Packet>>,
    /// Pages for small packets from the guest, and to the guest.
    pub out: Lending,
    pub inward: Lending,
    /// Packets in both rings.
    in_rings: u64,
    /// Netback has seen the guest come up and not go.
    pub up: bool,
    /// Netback's port, in the driver domain, while the guest is up.
    pub back_port: Option<Port>,
    /// Netfront's port, in the guest.
    pub front_port: Option<Port>,
    /// What interrupts the guest in place of netback itself, if something does.
    pub injector: Option<Injector>,
    /// Packets that netback took from the guest and put into its ring.
    pub counted: Counted,
    /// Packets that have reached the guest, and that netback has taken from it.
    pub passed: Passed,
}

impl Vif {
    /// An interface between `ends`, not plugged in, of driver domain `site` with an `uplink`,
    /// served by backend `back`, whose small packets go as `small` says.
    pub fn new(
        ends: Ends,
        (site, uplink): (u16, Option<u16>),
        back: u16,
        small: &SmallPackets,
    ) -> Self {
        let (out, inward) = Lending::both(small);
        Vif {
            out,
            inward,
            ends,
            site,
            back,
            uplink,
            tx: Ring::new(NET_TX),
            rx: Ring::new(NET_RX),
            in_rings: 0,
            up: false,
            back_port: None,
            front_port: None,
            injector: None,
            counted: Counted::default(),
            passed: Passed::default(),
        }
    }

    /// Packets that are in the rings and were not taken.
    pub fn in_rings(&self) -> u64 {
        self.in_rings
    }

    /// Netfront puts `packet` into the ring, which has room for the packet's slots.
    pub fn put_sent(&mut self, packet: Packet) {
        self.in_rings += 1;
        let pooled = self.out.take(&packet);
        self.out.put(slots_out(&packet), pooled);
        let more = core::iter::repeat_n(None, usize::from(slots_out(&packet)) - 1);
        for slot in core::iter::once(Some(packet)).chain(more) {
            let put = self.tx.put_request(slot);
            put.expect("it has room below the stop");
        }
    }

    /// The packet that netback takes next, which stays.
    pub fn next_sent(&self) -> Option<&Packet> {
        self.tx.peek_request()?.as_ref()
    }

    /// Netback takes the next packet, with all of its slots; and whether it is in the pool.
    pub fn take_sent(&mut self) -> Option<(Packet, bool)> {
        let packet = self.tx.take_request()??;
        self.in_rings -= 1;
        for _ in 1..slots_out(&packet) {
            self.tx.take_request();
        }
        Some((packet, self.out.leave()))
    }

    /// Netback puts `packet` into buffers that were taken for it, or into a page of the pool.
    pub fn put_received(&mut self, packet: Packet, pooled: bool) {
        self.in_rings += 1;
        self.inward.put(slots_in(&packet), pooled);
        let more = core::iter::repeat_n(None, usize::from(slots_in(&packet)) - 1);
        for slot in core::iter::once(Some(packet)).chain(more) {
            let put = self.rx.put_response(slot);
            put.expect("its requests were taken");
        }
    }

    /// Netfront takes the next packet, with all of its slots, and whether it was in the pool, whose
    /// page is free again.
    pub fn take_received(&mut self) -> Option<(Packet, bool)> {
        let packet = self.rx.take_response()??;
        self.in_rings -= 1;
        for _ in 1..slots_in(&packet) {
            self.rx.take_response();
        }
        let pooled = self.inward.leave();
        self.inward.give_back(pooled);
        Some((packet, pooled))
    }

    /// The hypercall with which netback sends the event to the guest.
    pub fn sending(&self, costs: &NetCosts) -> Progress {
        Progress::Run(costs.send_event, Owner::Domain(self.ends.guest))
    }

    /// Netback sends the event to the guest, or has it sent.
    pub fn notify_front(&self, kernel: &mut KernelIo<'_, '_>) {
        match &self.injector {
            None => self.interrupt(kernel),
            Some(injector) => {
                let worker = injector.first + kernel.io.on.0;
                let worker = VcpuName::new(self.ends.driver, worker);
                kernel.io.queue_work(worker, injector.work);
            }
        }
    }

    /// The event goes to the guest.
    fn interrupt(&self, kernel: &mut KernelIo<'_, '_>) {
        if let Some(port) = self.back_port {
            kernel.send(port);
        }
    }

    /// The work item of the injector begins or continues.
    pub fn inject(&mut self, costs: &NetCosts, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let Some(injector) = &mut self.injector else {
            return Progress::Done;
        };
        injector.under_way = !injector.under_way;
        if injector.under_way {
            return self.sending(costs);
        }
        self.interrupt(kernel);
        Progress::Done
    }
}

/// A work item of the host's kernel that interrupts the guest, on the pcpu on which vhost asks for
/// it (`irqfd_inject`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Injector {
    pub work: WorkItem,
    /// The kworker of pcpu 0, as a vcpu of the driver domain; those of the others follow.
    pub first: u16,
    /// The item's time is being spent.
    pub under_way: bool,
}

/// By which interface a packet comes from a guest, or goes to one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Via {
    pub vif: u16,
    /// The packet is in a page of the pool.
    pub pooled: bool,
}

/// The pages of a packet that a guest sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Page {
    /// The interface by which they came, whose guest has granted them.
    pub vif: u16,
    /// For whom the driver domain has them.
    pub payer: DomainId,
    /// Slots of the ring that the packet took and that are not answered.
    pub slots: u16,
    /// It is one of the pool, and is not mapped.
    pub pooled: bool,
    /// The packet is so small that a netback which copies such packets has not mapped it.
    pub small: bool,
}

impl Page {
    /// Those of `packet`, which came as `via` says.
    pub fn of(vifs: &[Vif], via: Via, packet: &Packet) -> Page {
        Page {
            vif: via.vif,
            payer: payer(vifs, via.vif, packet),
            slots: slots_out(packet),
            pooled: via.pooled,
            small: is_small(packet),
        }
    }
}

/// Whether Linux since 3.15 copies `packet` from its guest instead of mapping the page
/// (`XEN_NETBACK_TX_COPY_LEN`).
pub(super) fn is_small(packet: &Packet) -> bool {
    packet.frame_bytes() <= 128
}

/// For whom a driver domain works on `packet` from the guest of `vif`: the guest that sent it,
/// however many driver domains there are between.
pub(super) fn payer(vifs: &[Vif], vif: u16, packet: &Packet) -> DomainId {
    let sender = usize::from(packet.from.0).checked_sub(1);
    let sender = sender.filter(|sender| *sender < vifs.len());
    vifs[sender.unwrap_or(usize::from(vif))].ends.guest
}

/// For whom a driver domain works on `packet` to the guest of `vif`: the one that gets it at last.
pub(super) fn payee(vifs: &[Vif], vif: u16, packet: &Packet) -> DomainId {
    let receiver = usize::from(packet.to.0).checked_sub(1);
    let receiver = receiver.filter(|receiver| *receiver < vifs.len());
    vifs[receiver.unwrap_or(usize::from(vif))].ends.guest
}

/// The interface that a packet that the card has brought is for, in the card's driver domain; none
/// for one to everybody.
pub(super) fn receiver(vifs: &[Vif], packet: &Packet) -> Option<Ends> {
    let vif = usize::from(packet.to.0).checked_sub(1)?;
    let vif = (vif < vifs.len()).then_some(vif as u16)?;
    let next = towards(vifs, vif, None)?;
    Some(vifs[usize::from(next)].ends)
}

/// The interface that leads to `vif` from the driver domain whose uplink is `from`.
fn towards(vifs: &[Vif], vif: u16, from: Option<u16>) -> Option<u16> {
    let mut next = vif;
    while vifs[usize::from(next)].uplink != from {
        next = vifs[usize::from(next)].uplink?;
    }
    Some(next)
}

/// The interface by which `packet` from outside leaves the driver domain whose uplink is `from`.
pub(super) fn next_on_way(vifs: &[Vif], packet: &Packet, from: Option<u16>) -> Option<u16> {
    towards(vifs, addressed(vifs, packet)?, from)
}

/// Whether `packet` is to everybody.
pub(super) fn is_to_all(packet: &Packet) -> bool {
    packet.to == Station::EVERYBODY
}

/// The interface that a packet from outside is for, or whose address it asks for.
fn addressed(vifs: &[Vif], packet: &Packet) -> Option<u16> {
    let vif = match usize::from(packet.to.0).checked_sub(1) {
        Some(vif) if vif < vifs.len() => vif,
        _ => asked_for(vifs, packet)?,
    };
    u16::try_from(vif).ok()
}

/// The interface whose address a broadcast asks for.
fn asked_for(vifs: &[Vif], packet: &Packet) -> Option<usize> {
    let station = u32::MAX - packet.flow.0;
    let vif = usize::try_from(station).ok()?.checked_sub(1)?;
    (packet.to == Station::EVERYBODY && vif < vifs.len()).then_some(vif)
}

/// The guest of the interface that is [`addressed`].
pub(super) fn addressee(vifs: &[Vif], packet: &Packet) -> Option<DomainId> {
    addressed(vifs, packet).map(|vif| vifs[usize::from(vif)].ends.guest)
}

/// Gives the guest that a packet from outside is for a share of the next piece of work, which has
/// been `owner`'s so far.
pub(super) fn shared_by(
    vifs: &[Vif],
    packet: &Packet,
    weight: Duration,
    owner: Owner,
    kernel: &mut KernelIo<'_, '_>,
) -> Owner {
    match addressee(vifs, packet) {
        Some(guest) => {
            kernel.share(guest, weight);
            Owner::Shared
        }
        None => owner,
    }
}
