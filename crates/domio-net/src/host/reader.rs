//! A guest's process that reads what a flow brings.
//!
//! A process that waits in a read is handed packets as they are: it takes them through the stack
//! itself once it runs, and what it asked for goes past the socket's buffer (`tcp_prequeue` and
//! `ucopy` of Linux 2.6). What comes beyond that fills the buffer, and what comes while it is in no
//! read at all is the kernel's work.

use domio_vmm::device::{KernelIo, Progress};

use super::netfront::{Context, Piece};
use super::outside::GuestOut as Out;
use super::vif::Vif;
use super::{Network, record};
use crate::packet::{Body, FlowId, Packet};
use std::collections::VecDeque;

/// A process that reads a flow, a piece at a time.
pub(super) struct Reader {
    pub flow: FlowId,
    /// What it asks for (bytes).
    piece: u64,
    /// It runs, or is to run.
    awake: bool,
    /// It waits in a read, or has only been woken from that.
    waits: bool,
    /// Packets handed to it.
    handed: VecDeque<Packet>,
}

impl Reader {
    /// A process that has not run yet.
    pub fn new(flow: FlowId, piece: u32) -> Self {
        Reader {
            flow,
            piece: u64::from(piece),
            awake: false,
            waits: false,
            handed: VecDeque::new(),
        }
    }

    /// Packets handed to it that it has not begun with.
    pub fn held(&self) -> u64 {
        self.handed.len() as u64
    }

    /// Something has come. Whether it has to be woken for it.
    pub fn wakes(&mut self) -> bool {
        !std::mem::replace(&mut self.awake, true)
    }
}

impl Vif {
    /// The process to which `packet` is handed, by number of its service; none when the kernel
    /// takes it through the stack.
    pub fn handed_to(&self, packet: &Packet) -> Option<u8> {
        if !matches!(packet.body, Body::Tcp(segment) if segment.len > 0) {
            return None;
        }
        let takes = |r: &Reader| r.waits && r.flow == packet.flow;
        // There are seven flows at most.
        self.readers.iter().position(takes).map(|n| n as u8)
    }
}

impl Network {
    /// Hands `packet` to the process that is service `service` of the guest.
    pub(super) fn hand(
        &mut self,
        vif: u16,
        service: u8,
        packet: Packet,
        kernel: &mut KernelIo<'_, '_>,
    ) {
        let reader = &mut self.vifs[usize::from(vif)].readers[usize::from(service)];
        reader.handed.push_back(packet);
        if reader.wakes() {
            kernel.wake_service(service);
        }
    }

    /// The process that is service `service` of the guest.
    pub(super) fn reader(
        &mut self,
        vif: u16,
        service: u8,
        step: u32,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Progress {
        let costs = self.costs;
        if step == 0 {
            return Progress::Run(costs.wake_process);
        }
        self.finish_piece(vif, Context::Process, kernel);
        if let Some(progress) = self.flush(vif, Context::Process, kernel) {
            return progress;
        }
        let v = &mut self.vifs[usize::from(vif)];
        let reader = &mut v.readers[usize::from(service)];
        if let Some(packet) = reader.handed.pop_front() {
            v.front.process = Piece::Deliver(packet);
            return Progress::Run(costs.stack);
        }
        let bytes = v.stack.readable(reader.flow).min(reader.piece);
        reader.waits = bytes == 0;
        if bytes > 0 {
            v.front.process = Piece::Read(service);
            return Progress::Run(costs.read_call + costs.copy(bytes));
        }
        reader.awake = false;
        v.stack.wait(reader.flow, reader.piece);
        Progress::Done
    }

    /// A read of the process returns.
    pub(super) fn read(&mut self, vif: u16, service: u8, kernel: &mut KernelIo<'_, '_>) {
        let v = &mut self.vifs[usize::from(vif)];
        let reader = &v.readers[usize::from(service)];
        let (flow, piece, guest) = (reader.flow, reader.piece, v.domain);
        let (stack, mut out) = Out::new(v, kernel);
        let bytes = stack.read(out.now(), flow, piece, &mut out);
        out.finish();
        let record = record::delivered(kernel.io, guest, flow, bytes);
        kernel.io.record(record);
    }
}
