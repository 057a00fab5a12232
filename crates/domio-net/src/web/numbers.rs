//! Numbers of the connections of web workloads: flows, and sockets of the guest.

use crate::packet::FlowId;
use alloc::vec::Vec;

/// First of the numbers of connections: other flows have smaller ones.
const FIRST: u32 = 1 << 31;
/// Most web workloads of a network, so that their connections have numbers.
pub const WORKLOADS_MAX: usize = 1 << 14;

/// The flow of the connection by which the client of workload `web` uses `port`, or, as a file,
/// the socket in that place.
pub(crate) fn flow(web: u16, port: u16) -> FlowId {
    FlowId(FIRST | u32::from(web) << 16 | u32::from(port))
}

/// Workload and port of a connection's flow; none for other flows.
#[inline]
pub(crate) fn connection_of(flow: FlowId) -> Option<(u16, u16)> {
    let web = (flow.0 >> 16) as u16 & 0x7fff;
    (flow.0 >= FIRST && usize::from(web) < WORKLOADS_MAX).then_some((web, flow.0 as u16))
}

/// Place of a value by port, in a table that grows as ports are used.
pub(super) fn by_port<T: Copy + Default>(table: &mut Vec<T>, port: u16) -> &mut T {
    let port = usize::from(port);
    if port >= table.len() {
        table.resize((port + 1).next_power_of_two(), T::default());
    }
    &mut table[port]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Station;
    use crate::peer::asks_for;

    #[test]
    fn connections_have_numbers_of_their_own() {
        for (web, port) in [(0, 0), (3, 65_535), (WORKLOADS_MAX as u16 - 1, 1)] {
            assert_eq!(connection_of(flow(web, port)), Some((web, port)));
        }
        assert_eq!(connection_of(FlowId(0)), None);
        assert_eq!(connection_of(FlowId(FIRST - 1)), None);
        assert_eq!(connection_of(asks_for(Station(0))), None);
        assert_eq!(connection_of(asks_for(Station(u16::MAX))), None);
    }
}
