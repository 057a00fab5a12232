//! A driver domain of a network: what it is made of, and how packets leave it.
//!
//! The domain with the card is the first. Others reach it through an interface of their own, so
//! that a packet passes a bridge, a netback and a netfront in each:
//!
//! ```text
//!  line ══ card ── bridge ── netback ══rings══ netfront ── bridge ── netback ══rings══ netfront
//!        └──── network domain ────┘          └───── firewall domain ─────┘           └─ guest ─
//! ```
//!
//! The domain in the middle is a guest of the first and a driver domain of the second, and does the
//! work of both on its own vcpus. Addresses are bridged: each station is known by the port that
//! leads to it. Pages are not passed on. Xen lets nobody grant a page that is mapped from another
//! domain, so that a packet outward is copied to a page of the domain in the middle, and the
//! guest's page is free at once (Linux: `skb_orphan_frags_rx`).

use domio_core::{DomainId, Duration};
use domio_vmm::bus::{KernelIo, Tasklet};

use super::card::{Card, leaves, release};
use super::config::{NetworkConfig, OtherPorts};
use super::costs::{NetCosts, RxMode};
use super::driver::CARD;
use super::guest::Guest;
use super::netback::{Netback, queue_cost};
use super::pairs::NetbackConfig;
use super::record;
use super::vif::{Page, Via, Vif, is_to_all, next_on_way};
use crate::bridge::{Bridge, BridgePort, Forward};
use crate::class::NetPlace::{DriverIn, GuestIn, Outside};
use crate::packet::Packet;

/// What a driver domain is made of.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub driver: DomainId,
    /// Its first vcpu with work of the network.
    pub vcpu: u16,
    /// Its tasklets.
    pub netback: NetbackConfig,
    pub costs: NetCosts,
    pub rx_mode: RxMode,
    pub other_ports: OtherPorts,
    /// Its interface outward, where it has no card.
    pub uplink: Option<u16>,
    /// The interfaces of its bridge, by port from 1.
    pub ports: Vec<u16>,
}

impl Site {
    /// All driver domains of `config`, that with the card first.
    pub fn all(config: &NetworkConfig) -> Vec<Site> {
        let ports = |behind: Option<u16>| -> Vec<u16> {
            let all = (0..).zip(&config.vifs);
            all.filter(|(_, vif)| vif.behind == behind)
                .map(|(vif, _)| vif)
                .collect()
        };
        let first = Site {
            driver: config.driver,
            vcpu: config.vcpu,
            netback: config.netback,
            costs: config.costs,
            rx_mode: config.rx_mode,
            other_ports: config.other_ports,
            uplink: None,
            ports: ports(None),
        };
        let behind = (0..).zip(&config.behind).map(|(place, behind)| Site {
            driver: behind.driver,
            vcpu: config.vifs[usize::from(behind.uplink)].vcpu,
            netback: behind.netback,
            costs: behind.costs,
            rx_mode: behind.rx_mode,
            other_ports: behind.other_ports,
            uplink: Some(behind.uplink),
            ports: ports(Some(place)),
        });
        std::iter::once(first).chain(behind).collect()
    }

    /// The bridge's port of interface `vif`.
    pub fn port_of(&self, vif: u16) -> BridgePort {
        let place = self.ports.iter().position(|v| *v == vif);
        let place = place.expect("an interface is on the bridge of its driver domain");
        BridgePort(place as u16 + 1)
    }

    /// The interface behind `port`, none for what leads outward.
    pub fn behind(&self, port: BridgePort) -> Option<u16> {
        let place = usize::from(port.0).checked_sub(1)?;
        self.ports.get(place).copied()
    }

    /// What sending a packet outward costs, before the driver of what leads there has it: giving it
    /// to the card, or copying it to a page that may be granted.
    pub fn outward_cost(&self, packet: &Packet) -> Duration {
        match self.uplink {
            None => self.costs.nic_tx,
            Some(_) => self.costs.copy(u64::from(packet.frame_bytes())),
        }
    }

    /// What the way of `packet`, which has come by the uplink, through the bridge to netback costs.
    pub fn inward_cost(&self, packet: &Packet) -> Duration {
        let queue = match is_to_all(packet) {
            true => Duration::ZERO,
            false => queue_cost(self, packet),
        };
        self.costs.bridge + queue
    }
}

/// Schedules `tasklet` of vcpu `vcpu` of the domain that executes.
pub(super) fn schedule(kernel: &mut KernelIo<'_, '_>, vcpu: u16, tasklet: Tasklet) {
    kernel.schedule_on(vcpu, tasklet);
}

/// Where a packet came from that a bridge takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// The card.
    Card,
    /// The interface outward.
    Uplink,
    /// The guest of an interface.
    Guest(Via),
}

impl Origin {
    /// The interface of the guest that sent it, if one did.
    pub fn guest(self) -> Option<u16> {
        match self {
            Origin::Guest(via) => Some(via.vif),
            Origin::Card | Origin::Uplink => None,
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
            Origin::Card | Origin::Uplink => None,
        };
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
