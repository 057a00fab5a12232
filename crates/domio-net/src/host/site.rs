//! A driver domain of a network: what it is made of, and what its work on a packet costs.
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

use alloc::vec::Vec;
use domio_core::{DomainId, Duration};
use domio_vmm::bus::{KernelIo, KernelLock};

use super::config::{NetworkConfig, OtherPorts};
use super::costs::{NetCosts, RxMode};
use super::pairs::NetbackConfig;
use super::vif::is_to_all;
use crate::bridge::BridgePort;
use crate::packet::{Body, Packet};

/// The bridge's port with the card behind it, or with what leads to the domain that has it.
pub(super) const CARD: BridgePort = BridgePort(0);

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
    /// Xen's lock of the domain, which a call about grants holds from its begin to its end
    /// (`do_grant_table_op` up to 4.1); nobody's since 4.2.
    pub grant_lock: Option<KernelLock>,
    /// Netback copies small packets from guests.
    pub copies_small: bool,
    /// The domain has ends of flows, whose packets are in no page of its own.
    has_ends: bool,
    /// What the process that pings takes for a reply, at either end of the domain's interfaces: it
    /// polls, reads and asks again. Zero where kernels ping.
    pub ping: Duration,
    pub other_ports: OtherPorts,
    /// Its interface outward, where it has no card.
    pub uplink: Option<u16>,
    /// The interfaces of its bridge, by port from 1.
    pub ports: Vec<u16>,
    /// The interfaces whose packets come by one of these: they are in pages of a guest.
    inside: Vec<u16>,
}

impl Site {
    /// Whether netback copies a packet from a guest instead of mapping its pages; `small` says
    /// whether the packet is small.
    pub fn copies_out(&self, small: bool) -> bool {
        self.netback.form.vhost || (self.copies_small && small)
    }

    /// The last `grants` of the next piece of work are a call about grants.
    pub fn under_grant_lock(&self, grants: Duration, kernel: &mut KernelIo<'_, '_>) {
        if let Some(lock) = self.grant_lock
            && !grants.is_zero()
        {
            kernel.under(lock, grants);
        }
    }

    /// All driver domains of `config`, that with the card first.
    pub fn all(config: &NetworkConfig) -> Vec<Site> {
        let ports = |behind: Option<u16>| -> Vec<u16> {
            let all = (0..).zip(&config.vifs);
            all.filter(|(_, vif)| vif.behind == behind)
                .map(|(vif, _)| vif)
                .collect()
        };
        let inside = |behind: Option<u16>| -> Vec<u16> {
            let is_inside = |vif: &u16| {
                let mut at = config.vifs[usize::from(*vif)].behind;
                loop {
                    match at {
                        at if at == behind => return true,
                        Some(place) => {
                            let uplink = config.behind[usize::from(place)].uplink;
                            at = config.vifs[usize::from(uplink)].behind;
                        }
                        None => return false,
                    }
                }
            };
            (0..config.vifs.len() as u16).filter(is_inside).collect()
        };
        let first = Site {
            driver: config.driver,
            vcpu: config.vcpu,
            netback: config.netback,
            costs: config.costs,
            rx_mode: config.rx_mode,
            grant_lock: None,
            copies_small: config.is_of_linux_6(),
            has_ends: config.local.is_some(),
            ping: config.local.map_or(Duration::ZERO, |local| {
                let calls = config.costs.read_call * 2 + config.costs.write_call;
                calls + local.ping_switch
            }),
            other_ports: config.other_ports,
            uplink: None,
            ports: ports(None),
            inside: inside(None),
        };
        let behind = (0..).zip(&config.behind).map(|(place, behind)| Site {
            driver: behind.driver,
            vcpu: config.vifs[usize::from(behind.uplink)].vcpu,
            netback: behind.netback,
            costs: behind.costs,
            rx_mode: behind.rx_mode,
            grant_lock: None,
            copies_small: false,
            has_ends: false,
            ping: Duration::ZERO,
            other_ports: behind.other_ports,
            uplink: Some(behind.uplink),
            ports: ports(Some(place)),
            inside: inside(Some(place)),
        });
        core::iter::once(first).chain(behind).collect()
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
            false => self.queue_cost(packet),
        };
        self.costs.bridge + queue
    }

    /// What handing `packet` to the guest of an interface costs: netback's start of a transmission.
    /// It copies, where the page is to be given away and is not the domain's own to give.
    pub fn queue_cost(&self, packet: &Packet) -> Duration {
        let copies = self.netback.form.copies_all || self.is_foreign(packet);
        let copy = match self.rx_mode {
            RxMode::Flip if copies => self.costs.copy(u64::from(packet.frame_bytes())),
            RxMode::Flip | RxMode::Copy => Duration::ZERO,
        };
        self.costs.back_queue + copy
    }

    /// Whether `packet` is in no buffer of a card's driver, or of a netfront of the domain: a guest
    /// of the domain has sent it, or the domain itself.
    fn is_foreign(&self, packet: &Packet) -> bool {
        match packet.from.0.checked_sub(1) {
            Some(vif) => self.inside.contains(&vif),
            None => self.has_ends,
        }
    }

    /// What taking `packet` through the protocols costs at the end that gets it.
    pub fn stack_cost(&self, packet: &Packet) -> Duration {
        match packet.body {
            Body::EchoReply(_) => self.costs.stack + self.ping,
            _ => self.costs.stack,
        }
    }

    /// What netback copies of `packet` to the pool in its tasklet, if that is where the packet
    /// goes. Where packets are transferred otherwise, their copy is part of
    /// [`queue_cost`](Self::queue_cost).
    pub fn pool_cost(&self, packet: &Packet, pooled: bool) -> Duration {
        match (self.rx_mode, pooled) {
            (RxMode::Copy, true) => self.costs.copy(u64::from(packet.frame_bytes())),
            _ => Duration::ZERO,
        }
    }
}
