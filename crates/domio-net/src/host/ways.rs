//! The ways of packets from the bridge of a driver domain: by the card, to guests, onward.

use domio_vmm::bus::KernelIo;

use super::card::{Card, leaves, release};
use super::guest::Guest;
use super::local::Local;
use super::netback::Netback;
use super::record;
use super::site::{CARD, Site};
use super::vif::{Page, Via, Vif, next_on_way};
use crate::bridge::{Bridge, BridgePort, Forward};
use crate::class::NetPlace::{DriverIn, GuestIn, Outside};
use crate::packet::Packet;

/// Where a packet came from that a bridge takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// The card.
    Card,
    /// The interface outward.
    Uplink,
    /// The guest of an interface.
    Guest(Via),
    /// The driver domain's own protocols.
    Local,
}

impl Origin {
    /// The interface of the guest that sent it, if one did.
    pub fn guest(self) -> Option<u16> {
        match self {
            Origin::Guest(via) => Some(via.vif),
            Origin::Card | Origin::Uplink | Origin::Local => None,
        }
    }

    /// The bridge's port by which it came to `site`.
    pub fn port(self, site: &Site) -> BridgePort {
        self.guest().map_or(CARD, |vif| site.port_of(vif))
    }
}

/// All that a packet may meet on its way through the bridge of a driver domain.
pub(super) struct Ways<'a> {
    pub site: &'a Site,
    pub bridge: &'a mut Bridge,
    pub card: &'a mut Card,
    pub backs: &'a mut [Netback],
    pub guests: &'a mut [Guest],
    pub vifs: &'a mut [Vif],
    /// The domain's own end of flows, where no remote host has it.
    pub local: Option<&'a mut Local>,
}

impl Ways<'_> {
    /// Takes `packet`, whose time is spent, to where the bridge has decided.
    pub fn forward(
        &mut self,
        (origin, packet, to): (Origin, Packet, Forward),
        kernel: &mut KernelIo<'_, '_>,
    ) {
        match to {
            Forward::To(CARD) => return self.send_outward(origin, packet, kernel),
            Forward::To(port) => self.send_inward(origin, port, packet, kernel),
            Forward::Flood => {
                for port in self.bridge.others(origin.port(self.site)) {
                    if port == CARD {
                        // A copy: nobody's page.
                        self.send_copy(packet, kernel);
                    } else {
                        self.begin_inward(port, packet, kernel);
                    }
                }
            }
            Forward::Drop => {}
        }
        // Netback has copied what goes to another guest, so the page is free.
        if let Origin::Guest(via) = origin {
            leaves(self.vifs, via.vif, &packet, kernel.io);
            self.release(Page::of(self.vifs, via, &packet), kernel);
        }
    }

    /// To the guest behind `port`.
    fn send_inward(
        &mut self,
        origin: Origin,
        port: BridgePort,
        packet: Packet,
        kernel: &mut KernelIo<'_, '_>,
    ) {
        if origin == Origin::Card {
            let vif = self.site.behind(port);
            return self.queue_to(vif, packet, kernel);
        }
        self.begin_inward(port, packet, kernel);
    }

    /// To the guest behind `port`, to which the packet was not on its way before.
    fn begin_inward(&mut self, port: BridgePort, packet: Packet, kernel: &mut KernelIo<'_, '_>) {
        let vif = self.site.behind(port);
        if let Some(vif) = vif {
            let ends = self.vifs[usize::from(vif)].ends;
            record::moved(kernel.io, ends, &packet, Outside, DriverIn);
        }
        self.queue_to(vif, packet, kernel);
    }

    fn queue_to(&mut self, vif: Option<u16>, packet: Packet, kernel: &mut KernelIo<'_, '_>) {
        if let Some(vif) = vif {
            let back = &mut self.backs[usize::from(self.vifs[usize::from(vif)].back)];
            back.rx.queue_to_guest(vif, packet, self.vifs, kernel);
        }
    }

    /// A copy of a packet outward.
    fn send_copy(&mut self, packet: Packet, kernel: &mut KernelIo<'_, '_>) {
        match self.site.uplink {
            None => self
                .card
                .transmit(None, packet, self.backs, self.vifs, kernel),
            Some(uplink) => self.send_on(uplink, packet, kernel),
        }
    }

    /// Outward: to the card, or to the netfront of the interface that leads there.
    fn send_outward(&mut self, origin: Origin, packet: Packet, kernel: &mut KernelIo<'_, '_>) {
        let page = match origin {
            Origin::Guest(via) => Some(Page::of(self.vifs, via, &packet)),
            Origin::Card | Origin::Uplink | Origin::Local => None,
        };
        if let Some(local) = self.local.as_deref_mut().filter(|_| Local::owns(&packet)) {
            local.deliver(&packet, kernel);
            if let Some(page) = page {
                leaves(self.vifs, page.vif, &packet, kernel.io);
                self.release(page, kernel);
            }
            return;
        }
        let Some(uplink) = self.site.uplink else {
            return self
                .card
                .transmit(page, packet, self.backs, self.vifs, kernel);
        };
        if let Some(page) = page {
            leaves(self.vifs, page.vif, &packet, kernel.io);
            self.release(page, kernel);
        }
        self.send_on(uplink, packet, kernel);
    }

    /// To the ring of the domain's own interface `uplink`.
    fn send_on(&mut self, uplink: u16, packet: Packet, kernel: &mut KernelIo<'_, '_>) {
        let ends = self.vifs[usize::from(uplink)].ends;
        self.guests[usize::from(uplink)].send_on(packet, ends, kernel);
    }

    /// `page` is free.
    fn release(&mut self, page: Page, kernel: &mut KernelIo<'_, '_>) {
        release(page, self.backs, self.vifs, kernel);
    }

    /// The domain's netfront has taken `packet`, which is for somebody behind the domain, from the
    /// ring of its interface `uplink`; the time of the bridge is spent too.
    pub fn pass_on(&mut self, uplink: u16, packet: Packet, kernel: &mut KernelIo<'_, '_>) {
        let ends = self.vifs[usize::from(uplink)].ends;
        record::moved(kernel.io, ends, &packet, GuestIn, Outside);
        if let Some(ends) = self.turns_away(&packet, kernel) {
            record::moved(kernel.io, ends, &packet, Outside, DriverIn);
            record::moved(kernel.io, ends, &packet, DriverIn, Outside);
            return;
        }
        let to = self.bridge.forward(CARD, &packet);
        self.forward((Origin::Uplink, packet, to), kernel);
    }

    /// The ends of the interface that `packet`, which has come from outside, goes to, if the gate
    /// of the interface does not let the packet pass.
    pub fn turns_away(
        &mut self,
        packet: &Packet,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Option<record::Ends> {
        if !self.backs.iter().any(Netback::any_gate) {
            return None;
        }
        let vif = next_on_way(self.vifs, packet, self.site.uplink)?;
        let back = usize::from(self.vifs[usize::from(vif)].back);
        self.backs[back].turns_away(vif, self.vifs, kernel)
    }
}
