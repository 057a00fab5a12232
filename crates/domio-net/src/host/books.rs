//! Where all packets of a network are, and statistics of its parts.

use super::Network;
use crate::packet::FlowId;
use crate::peer::{Peer, Service};
use crate::queue::{Accounted, Ledger};
use crate::web::{Client, Listener};

impl Network {
    /// Bytes of all TCP streams to guests that their kernels have acknowledged.
    pub fn bytes_streamed(&self) -> u64 {
        let acknowledged = |flow| match self.outside.peer.service(FlowId(flow)) {
            Some(Service::Tcp(end)) => end.connection().statistics().acknowledged,
            _ => 0,
        };
        (0..self.outside.flows.len() as u32).map(acknowledged).sum()
    }

    /// The remote host, for its statistics.
    pub fn remote(&self) -> &Peer {
        &self.outside.peer
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
        for (driver, back) in self.drivers.iter().zip(&self.backs) {
            ledger.add(driver).add(back);
        }
        for (vif, guest) in self.vifs.iter().zip(&self.guests) {
            ledger.add(guest);
            ledger.holds(vif.in_rings());
        }
    }
}
