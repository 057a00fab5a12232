//! Where all packets of a network are, and statistics of its parts.

use super::{ByPath, Network};
use crate::packet::FlowId;
use crate::peer::{Peer, Service};
use crate::queue::{Accounted, Ledger};
use crate::web::{Client, Listener};
use domio_core::DomainId;

impl Network {
    /// Bytes of all TCP streams to guests that their kernels have acknowledged.
    pub fn bytes_streamed(&self) -> u64 {
        let far = self
            .local
            .as_ref()
            .map_or(&self.outside.peer, |own| &own.peer);
        let acknowledged = |flow| match far.service(FlowId(flow)) {
            Some(Service::Tcp(end)) => end.connection().statistics().acknowledged,
            _ => 0,
        };
        (0..self.outside.flows.len() as u32).map(acknowledged).sum()
    }

    /// How packets from `domain`, and to it, went by its interfaces, in directions that have pools
    /// for small ones.
    pub fn by_path(&self, domain: DomainId) -> (Option<ByPath>, Option<ByPath>) {
        let own = self.vifs.iter().filter(|v| v.ends.guest == domain);
        let both = |a: Option<ByPath>, b: Option<ByPath>| match (a, b) {
            (Some(a), Some(b)) => Some(a.plus(b)),
            (a, b) => a.or(b),
        };
        own.fold((None, None), |(out, inward), v| {
            let (more_out, more_inward) = (v.out.counted(), v.inward.counted());
            (both(out, more_out), both(inward, more_inward))
        })
    }

    /// Pages of pools that are in use, from guests and to guests, of all interfaces.
    pub fn pool_pages_used(&self) -> (u32, u32) {
        let all = self.vifs.iter();
        all.fold((0, 0), |(out, inward), v| {
            (out + v.out.used(), inward + v.inward.used())
        })
    }

    /// The remote host, for its statistics.
    pub fn remote(&self) -> &Peer {
        &self.outside.peer
    }

    /// The protocols of the guest of the interface in place `vif` of
    /// [`NetworkConfig::vifs`](super::NetworkConfig::vifs), for their statistics.
    ///
    /// # Panics
    /// When there is no such interface.
    pub fn guest(&self, vif: usize) -> &Peer {
        &self.guests[vif].stack.peer
    }

    /// The client of the web server that is flow `flow`, for its statistics.
    pub fn web_client(&self, flow: FlowId) -> Option<&Client> {
        let mut webs = self.outside.webs.iter();
        webs.find(|web| web.flow == flow).map(|web| &web.client)
    }

    /// The listening socket of the web server that is flow `flow`, for its statistics.
    pub fn web_listener(&self, flow: FlowId) -> Option<&Listener> {
        let mut servers = self.guests.iter().flat_map(|guest| &guest.stack.webs);
        let server = servers.find(|server| server.flow == flow)?;
        Some(&server.listener)
    }
}

impl Accounted for Network {
    fn account(&self, ledger: &mut Ledger) {
        ledger.add(&self.outside).add(&self.card);
        self.bridges.iter().for_each(|bridge| {
            ledger.add(bridge);
        });
        if let Some(local) = &self.local {
            ledger.add(local);
        }
        for driver in &self.drivers {
            ledger.add(driver);
        }
        for back in &self.backs {
            ledger.add(back);
        }
        for (vif, guest) in self.vifs.iter().zip(&self.guests) {
            ledger.add(guest);
            ledger.holds(vif.in_rings());
        }
    }
}
