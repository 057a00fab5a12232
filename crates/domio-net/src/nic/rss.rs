//! Receive-side scaling: which queue of a card takes a packet from the line.
//!
//! A card hashes addresses and ports, so that all packets of a connection come by one queue and
//! keep their order. The hash is Microsoft's Toeplitz with a random key; here another one that
//! mixes as well stands for it, and does not change from run to run. Linux fills the card's table
//! so that queues take turns (`ethtool_rxfh_indir_default`).

use crate::packet::{Body, Packet};
use domio_core::mixed;

/// The queue, of `queues`, that takes `packet`: by addresses and ports where there are ports (TCP
/// and UDP), by addresses where there are none (ICMP). The first takes what is no IP.
#[inline]
pub fn receive_queue(packet: &Packet, queues: u16) -> u16 {
    if queues <= 1 {
        return 0;
    }
    let ports = match packet.body {
        Body::ArpRequest | Body::ArpReply => return 0,
        Body::EchoRequest(_) | Body::EchoReply(_) => 0,
        // No flow is taken for one without ports: the highest numbers are those of ARP.
        Body::Udp(_) | Body::Tcp(_) => packet.flow.0.wrapping_add(1),
    };
    let addresses = u64::from(packet.from.0) << 48 | u64::from(packet.to.0) << 32;
    // A remainder below `queues` fits.
    (mixed(addresses | u64::from(ports)) % u64::from(queues)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{FlowId, Numbered, Station};
    use alloc::vec::Vec;

    const MESSAGE: Numbered = Numbered { seq: 0, bytes: 100 };

    fn packet(to: u16, flow: u32, body: Body) -> Packet {
        Packet {
            from: Station(0),
            to: Station(to),
            flow: FlowId(flow),
            body,
        }
    }

    /// All packets of a flow come by one queue, whatever their number, and flows of one guest by
    /// several.
    #[test]
    fn a_flow_is_one_queues() {
        for flow in 0..64 {
            let by = |seq| {
                let body = Body::Udp(Numbered { seq, ..MESSAGE });
                receive_queue(&packet(3, flow, body), 8)
            };
            assert!((0..100).all(|seq| by(seq) == by(0)));
        }
        let mut counts = [0; 8];
        for flow in 0..800 {
            let queue = receive_queue(&packet(3, flow, Body::Udp(MESSAGE)), 8);
            counts[usize::from(queue)] += 1;
        }
        assert!(counts.iter().all(|n| (60..=140).contains(n)), "{counts:?}");
    }

    #[test]
    fn what_has_no_ports_goes_by_addresses() {
        let ping = |to, flow| receive_queue(&packet(to, flow, Body::EchoRequest(MESSAGE)), 4);
        assert!((0..50).all(|flow| ping(1, flow) == ping(1, 0)));
        let mut queues: Vec<u16> = (1..50).map(|to| ping(to, 0)).collect();
        queues.sort_unstable();
        queues.dedup();
        assert_eq!(queues, [0, 1, 2, 3]);
        let arp = |to| receive_queue(&packet(to, u32::MAX, Body::ArpRequest), 4);
        assert!((1..50).all(|to| arp(to) == 0));
    }

    #[test]
    fn one_queue_takes_all() {
        let one = |flow| receive_queue(&packet(1, flow, Body::Udp(MESSAGE)), 1);
        assert!((0..50).all(|flow| one(flow) == 0));
    }
}
