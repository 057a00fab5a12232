//! Trace records of the network.

use domio_core::{DomainId, Duration, Instant, Kind, NetPlace, Record, VcpuName, WebStep};
use domio_vmm::bus::Io;

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
    step(io, ends, packet, (old, new), ago);
}

/// `packet`, first in the ring from the guest, has to wait there until `until`: its interface has
/// used up its rate.
#[inline]
pub(super) fn held_back(io: &mut Io<'_>, ends: Ends, packet: &Packet, until: Instant) {
    if !io.stages() {
        return;
    }
    let left = until.saturating_since(io.now).as_nanos();
    step(io, ends, packet, (NetPlace::TxRing, NetPlace::TxRing), left);
}

fn step(io: &mut Io<'_>, ends: Ends, packet: &Packet, places: (NetPlace, NetPlace), ns: u64) {
    let mut record = of(io, Kind::NetMove, ends.guest, packet.flow, ns);
    record.detail = (places.0 as u8) << 4 | places.1 as u8;
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

/// A connection or a call of the web client in `flow`, whose server is `guest`, has got to a step,
/// with so many bytes and after so many ns.
pub(super) fn web(
    io: &Io<'_>,
    guest: DomainId,
    flow: FlowId,
    (step, bytes, ns): (WebStep, u32, u64),
) -> Record {
    let mut record = of(io, Kind::Web, guest, flow, ns);
    record.detail = step as u8;
    record.data[1] = bytes;
    record
}

fn of(io: &Io<'_>, kind: Kind, guest: DomainId, flow: FlowId, value: u64) -> Record {
    let mut record = Record::new(io.now, io.on, kind, VcpuName::new(guest, 0));
    record.data = [flow.0, 0, value as u32, (value >> 32) as u32];
    record
}
