//! Trace records of the network.

use domio_core::{DomainId, Duration, Instant, Kind, NetPlace, Record, VcpuName};
use domio_vmm::device::Io;

use crate::packet::{FlowId, Packet};

/// The ends of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ends {
    pub guest: DomainId,
    pub driver: DomainId,
}

/// `packet`, which uses the interface between `ends`, goes from one place to another.
#[inline]
pub(super) fn moved(io: &mut Io<'_>, ends: Ends, packet: &Packet, old: NetPlace, new: NetPlace) {
    moved_at(io, io.now, ends, packet, old, new);
}

/// The same, told now of a move at `at`.
pub(super) fn moved_at(
    io: &mut Io<'_>,
    at: Instant,
    ends: Ends,
    packet: &Packet,
    old: NetPlace,
    new: NetPlace,
) {
    if !io.stages() {
        return;
    }
    let ago = io.now.saturating_since(at).as_nanos();
    let mut record = of(io, Kind::NetMove, ends.guest, packet.flow, ago);
    record.detail = (old as u8) << 4 | new as u8;
    record.data[1] = VcpuName::new(ends.driver, 0).word();
    io.record(record);
}

/// `bytes` of `flow`, which is `guest`'s, have reached their application.
pub(super) fn delivered(io: &Io<'_>, guest: DomainId, flow: FlowId, bytes: u64) -> Record {
    of(io, Kind::NetDelivered, guest, flow, bytes)
}

/// A reply to a ping of `guest` has come back after `rtt`.
pub(super) fn replied(io: &Io<'_>, guest: DomainId, flow: FlowId, rtt: Duration) -> Record {
    of(io, Kind::NetReply, guest, flow, rtt.as_nanos())
}

fn of(io: &Io<'_>, kind: Kind, guest: DomainId, flow: FlowId, value: u64) -> Record {
    let mut record = Record::new(io.now, io.on, kind, VcpuName::new(guest, 0));
    record.data = [flow.0, 0, value as u32, (value >> 32) as u32];
    record
}
