//! Trace records of the network.

use domio_core::{DomainId, Duration, Kind, Record, VcpuName};
use domio_vmm::device::Io;

use crate::packet::FlowId;

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
