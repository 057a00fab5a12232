//! Trace records of the network.

use domio_core::{ClassId, DomainId, Duration, Instant, Record, VcpuName};
use domio_vmm::bus::Io;

use crate::class::{NetPlace, NetRecord, WebStep};
use crate::packet::{FlowId, Packet};

/// The ends of an interface, and the number of the class of its records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ends {
    pub guest: DomainId,
    pub driver: DomainId,
    pub class: ClassId,
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
    if io.stages() {
        let ago = io.now.saturating_since(at).as_nanos();
        let places = u32::from(old as u8) | u32::from(new as u8) << 4;
        step(io, ends, NetRecord::Moved, packet, (places, ago));
    }
}

/// `packet`, first in the queue of netfront, finds the ring full.
#[inline]
pub(super) fn full(io: &mut Io<'_>, ends: Ends, packet: &Packet) {
    if io.stages() {
        let place = NetPlace::GuestOut as u32;
        step(io, ends, NetRecord::RingFull, packet, (place, 0));
    }
}

/// `packet`, first in the ring from the guest, has to wait there until `until`: its interface has
/// used up its rate.
#[inline]
pub(super) fn held_back(io: &mut Io<'_>, ends: Ends, packet: &Packet, until: Instant) {
    if io.stages() {
        let left = until.saturating_since(io.now).as_nanos();
        let place = NetPlace::TxRing as u32;
        step(io, ends, NetRecord::Held, packet, (place, left));
    }
}

fn step(io: &mut Io<'_>, ends: Ends, what: NetRecord, packet: &Packet, (places, ns): (u32, u64)) {
    let word = packet.flow.0 & 0x00ff_ffff | places << 24;
    let driver = io.actor(VcpuName::new(ends.driver, 0));
    tell(io, ends, what as u8, [word, driver.0], ns);
}

/// `bytes` of `flow`, which is the guest's, have reached their application.
pub(super) fn delivered(io: &mut Io<'_>, ends: Ends, flow: FlowId, bytes: u64) {
    tell(io, ends, NetRecord::Delivered as u8, [flow.0, 0], bytes);
}

/// A reply to a ping of the guest has come back after `rtt`.
pub(super) fn replied(io: &mut Io<'_>, ends: Ends, flow: FlowId, rtt: Duration) {
    tell(
        io,
        ends,
        NetRecord::Reply as u8,
        [flow.0, 0],
        rtt.as_nanos(),
    );
}

/// A connection or a call of the web client in `flow`, whose server is in the guest, has got to a
/// step, with so many bytes and after so many ns.
pub(super) fn web(
    io: &mut Io<'_>,
    ends: Ends,
    flow: FlowId,
    (step, bytes, ns): (WebStep, u32, u64),
) {
    tell(io, ends, NetRecord::web(step), [flow.0, bytes], ns);
}

fn tell(io: &mut Io<'_>, ends: Ends, number: u8, [a, b]: [u32; 2], long: u64) {
    let actor = io.actor(VcpuName::new(ends.guest, 0));
    let words = [a, b, long as u32, (long >> 32) as u32];
    let what = (ends.class, number);
    io.record(Record::of(io.now, io.on, what, actor, words));
}
