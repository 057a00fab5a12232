//! An Ethernet bridge: which port a packet leaves by.
//!
//! As Linux's bridge (`net/bridge/br_fdb.c`, IEEE 802.1D) it learns the sender's port from every
//! packet, sends on to the port of the receiver, and to all others while that is unknown. The
//! bridge holds no packets: whoever owns the ports does what [`Bridge::forward`] says.

use crate::packet::{Packet, Station};
use crate::queue::{Accounted, Counts, DropPlace, Ledger};
use alloc::vec;
use alloc::vec::Vec;

/// A port of a bridge, numbered from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BridgePort(pub u16);

/// What to do with a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forward {
    /// Send it out by this port.
    To(BridgePort),
    /// Send a copy out by each port except the one it came in by: see [`Bridge::others`].
    Flood,
    /// Drop it: the receiver is on the side where it came from.
    Drop,
}

/// What the bridge knows of a station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Entry {
    Unknown,
    Learned(BridgePort),
    Static(BridgePort),
}

/// A bridge. Its table is indexed by station; nothing is allocated after [`Bridge::new`].
#[derive(Clone, Debug)]
pub struct Bridge {
    ports: u16,
    table: Vec<Entry>,
    counts: Counts,
    /// Packets that flooding made, beyond the one that came in.
    copies: u64,
}

impl Bridge {
    /// Where packets end whose receiver is where they came from.
    pub const SAME_PORT: DropPlace = DropPlace("bridge, same port");

    /// A bridge with ports 0 to `ports - 1` for stations 0 to `stations - 1`, which knows none yet.
    ///
    /// # Panics
    /// When there are fewer than two ports: nothing could be forwarded.
    #[track_caller]
    pub fn new(ports: u16, stations: u16) -> Self {
        assert!(ports >= 2, "a bridge has at least 2 ports, not {ports}");
        Bridge {
            ports,
            table: vec![Entry::Unknown; usize::from(stations)],
            counts: Counts::default(),
            copies: 0,
        }
    }

    /// Binds `station` to `port` for good: packets that say otherwise teach nothing.
    ///
    /// # Panics
    /// When the bridge has no such port or station.
    #[track_caller]
    pub fn bind(&mut self, station: Station, port: BridgePort) {
        self.check(port);
        *self.entry(station) = Entry::Static(port);
    }

    /// A packet came in by `port`: learns where its sender is and says where the packet goes.
    ///
    /// # Panics
    /// When the bridge has no such port, or was not made for the packet's stations.
    #[track_caller]
    pub fn forward(&mut self, port: BridgePort, packet: &Packet) -> Forward {
        self.check(port);
        self.counts.entered += 1;
        let sender = self.entry(packet.from);
        if !matches!(sender, Entry::Static(_)) {
            *sender = Entry::Learned(port);
        }
        if packet.to == Station::EVERYBODY {
            return self.flood();
        }
        match *self.entry(packet.to) {
            Entry::Learned(to) | Entry::Static(to) if to == port => {
                self.counts.dropped += 1;
                Forward::Drop
            }
            Entry::Learned(to) | Entry::Static(to) => {
                self.counts.left += 1;
                Forward::To(to)
            }
            Entry::Unknown => self.flood(),
        }
    }

    fn flood(&mut self) -> Forward {
        self.counts.left += 1;
        self.copies += u64::from(self.ports) - 2;
        Forward::Flood
    }

    /// All ports but `port`, in order.
    pub fn others(&self, port: BridgePort) -> impl Iterator<Item = BridgePort> + use<> {
        (0..self.ports)
            .map(BridgePort)
            .filter(move |other| *other != port)
    }

    /// Packets that came in, continued (a flooded one counts once) and were dropped.
    #[inline]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    #[track_caller]
    fn check(&self, port: BridgePort) {
        assert!(
            port.0 < self.ports,
            "a bridge with {} ports has no port {}",
            self.ports,
            port.0
        );
    }

    #[track_caller]
    fn entry(&mut self, station: Station) -> &mut Entry {
        let stations = self.table.len();
        match self.table.get_mut(usize::from(station.0)) {
            Some(entry) => entry,
            None => panic!(
                "the bridge was made for {stations} stations; make it for station {} too",
                station.0
            ),
        }
    }
}

impl Accounted for Bridge {
    /// The bridge makes packets when it floods.
    fn account(&self, ledger: &mut Ledger) {
        ledger.sent(self.copies);
        ledger.dropped(Self::SAME_PORT, self.counts.dropped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Body, FlowId, Numbered};

    fn packet(from: u16, to: u16) -> Packet {
        Packet {
            from: Station(from),
            to: Station(to),
            flow: FlowId(0),
            body: Body::Udp(Numbered { seq: 0, bytes: 1 }),
        }
    }

    #[test]
    fn who_has_spoken_is_known() {
        let mut bridge = Bridge::new(3, 4);
        assert_eq!(bridge.forward(BridgePort(0), &packet(0, 1)), Forward::Flood);
        assert_eq!(
            bridge.others(BridgePort(0)).collect::<Vec<_>>(),
            [BridgePort(1), BridgePort(2)]
        );
        assert_eq!(
            bridge.forward(BridgePort(2), &packet(1, 0)),
            Forward::To(BridgePort(0))
        );
        assert_eq!(
            bridge.forward(BridgePort(0), &packet(0, 1)),
            Forward::To(BridgePort(2))
        );
        // Station 1 moves to another port.
        assert_eq!(
            bridge.forward(BridgePort(1), &packet(1, 0)),
            Forward::To(BridgePort(0))
        );
        assert_eq!(
            bridge.forward(BridgePort(0), &packet(0, 1)),
            Forward::To(BridgePort(1))
        );
    }

    #[test]
    fn neighbours_on_one_port_need_no_bridge() {
        let mut bridge = Bridge::new(2, 2);
        bridge.bind(Station(1), BridgePort(0));
        assert_eq!(bridge.forward(BridgePort(0), &packet(0, 1)), Forward::Drop);
        let mut ledger = Ledger::new();
        ledger.add(&bridge).sent(1);
        assert_eq!(
            (ledger.dropped_at(Bridge::SAME_PORT), ledger.check()),
            (1, Ok(()))
        );
    }

    #[test]
    fn what_is_bound_is_not_learned_away() {
        let mut bridge = Bridge::new(3, 2);
        bridge.bind(Station(1), BridgePort(2));
        bridge.forward(BridgePort(1), &packet(1, 0));
        assert_eq!(
            bridge.forward(BridgePort(0), &packet(0, 1)),
            Forward::To(BridgePort(2))
        );
    }

    #[test]
    fn flooding_copies_are_counted() {
        let mut bridge = Bridge::new(5, 2);
        assert_eq!(bridge.forward(BridgePort(0), &packet(0, 1)), Forward::Flood);
        let mut ledger = Ledger::new();
        ledger.add(&bridge).sent(1);
        ledger.delivered(4);
        assert_eq!(ledger.check(), Ok(()));
    }

    #[test]
    #[should_panic(expected = "has no port 2")]
    fn a_port_that_is_not_there_is_refused() {
        Bridge::new(2, 1).bind(Station(0), BridgePort(2));
    }
}
