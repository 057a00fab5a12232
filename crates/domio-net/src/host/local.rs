//! The driver domain's own end of flows, where no remote host has it
//! ([`NetworkConfig::local`](super::NetworkConfig::local)): its protocols, its processes' sockets,
//! and how packets get from there to the bridge and back.
//!
//! What the domain's protocols send waits here for the domain's `NetRx`, which takes each packet
//! through the bridge to netback. What the bridge has for the domain itself goes through the
//! protocols at once: pages of guests are copied on the way, since no socket may keep them (Linux:
//! `skb_orphan_frags_rx`), and are free then.

use alloc::vec::Vec;

use domio_core::{Duration, Instant};
use domio_vmm::bus::{KernelIo, KernelTimer, Owner};
use domio_vmm::process::{Answer, Interest, Pid, What};

use super::costs::NetCosts;
use super::neighbors::REMOTE;
use super::record::{self, Ends};
use super::site::Site;
use super::socket::{Serves, Socket, Step};
use super::stack::arm;
use crate::packet::{FlowId, Packet};
use crate::peer::{Peer, PeerActions, PeerTimer, PeerTimerKind, Service};
use crate::queue::{Accounted, DropPlace, Ledger, Queue};

/// Packets that wait for the bridge: the limit of `fq_codel`, in packets.
const QUEUE: usize = 10_240;

/// The driver domain's own protocols and sockets.
pub(super) struct Local {
    pub peer: Peer,
    /// Packets on their way to the bridge.
    pub queue: Queue<Packet>,
    timers: Vec<(PeerTimer, Instant)>,
    /// One for each flow, by number.
    sockets: Vec<Socket>,
    /// The interface of each flow.
    flows: Vec<Ends>,
    timer: KernelTimer,
    vcpu: u16,
}

impl Local {
    /// Where packets end that the bridge does not get to.
    pub const QUEUE: DropPlace = DropPlace("driver domain, queue to the bridge");

    /// The protocols of `peer`, whose flow of each number uses the interface in that place of
    /// `flows`. Vcpu `vcpu` calls them by `timer`.
    pub fn new(peer: Peer, flows: Vec<Ends>, timer: KernelTimer, vcpu: u16) -> Self {
        let serves = |flow| match peer.service(flow) {
            Some(Service::Tcp(_)) => Serves::Process,
            _ => Serves::Kernel,
        };
        let flow_numbers = (0..flows.len() as u32).map(FlowId);
        let sockets: Vec<Socket> = flow_numbers
            .map(|flow| Socket::new(flow, serves(flow)))
            .collect();
        Local {
            peer,
            queue: Queue::new(Self::QUEUE, QUEUE),
            timers: Vec::new(),
            sockets,
            flows,
            timer,
            vcpu,
        }
    }

    /// The domain's end of `flow` begins at `at`, and nothing new after `stop`. What processes
    /// begin, they end.
    pub fn begin(&mut self, flow: FlowId, (at, stop): (Instant, Option<Instant>)) {
        if self.peer.begins(flow) && !self.peer.is_datagram_source(flow) {
            let kind = PeerTimerKind::Next;
            self.timers.push((PeerTimer { flow, kind }, at));
        }
        if let (Some(stop), Some(Service::Ping(_))) = (stop, self.peer.service(flow)) {
            self.peer.end_at(flow, stop);
        }
    }

    /// When the protocols want to be called first.
    pub fn first_timer(&self) -> Option<Instant> {
        self.timers.iter().map(|(_, due)| *due).min()
    }

    /// The timer by which they are called, and the vcpu that has it.
    pub fn timer(&self) -> (KernelTimer, u16) {
        (self.timer, self.vcpu)
    }

    /// Begins all flows in which the guest sends the first packet.
    pub fn listen(&mut self, flow: FlowId) {
        if !self.peer.begins(flow) {
            // A server's start makes no packet and sets no timer.
            self.peer.start_flow(Instant::ZERO, flow, &mut Nothing);
        }
    }

    /// What taking `packet` through the protocols of `site` costs, with copying it out of the
    /// guest's pages.
    pub fn cost(packet: &Packet, site: &Site) -> Duration {
        site.costs.copy(u64::from(packet.frame_bytes())) + site.stack_cost(packet)
    }

    /// Takes `packet`, whose time is spent, through the protocols.
    pub fn deliver(&mut self, packet: &Packet, kernel: &mut KernelIo<'_, '_>) {
        self.act(kernel, |peer, now, out| peer.receive(now, packet, out));
    }

    /// What timers have to do.
    pub fn expire(&mut self, kernel: &mut KernelIo<'_, '_>) {
        let now = kernel.now();
        while let Some(at) = self.timers.iter().position(|(_, due)| *due <= now) {
            let (timer, _) = self.timers.swap_remove(at);
            self.act(kernel, |peer, now, out| peer.timer(now, timer, out));
        }
        kernel.set_timer(self.timer, self.vcpu, self.first_timer());
    }

    fn act<R>(
        &mut self,
        kernel: &mut KernelIo<'_, '_>,
        act: impl FnOnce(&mut Peer, Instant, &mut LocalOut<'_, '_, '_>) -> R,
    ) -> R {
        let now = kernel.now();
        let mut out = LocalOut {
            queue: &mut self.queue,
            timers: &mut self.timers,
            sockets: &mut self.sockets,
            flows: &self.flows,
            timers_changed: false,
            kernel,
        };
        let result = act(&mut self.peer, now, &mut out);
        if out.timers_changed {
            kernel.set_timer(self.timer, self.vcpu, self.first_timer());
        }
        result
    }

    /// A process of the domain makes a call on the socket of `flow`, or goes on with it.
    pub fn call(
        &mut self,
        flow: u32,
        (what, by): (What, Pid),
        costs: &NetCosts,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Answer {
        let place = flow as usize;
        match core::mem::replace(&mut self.sockets[place].step, Step::Enter) {
            Step::Reading(asked) => {
                let flow = FlowId(flow);
                let bytes = self.act(kernel, |peer, now, out| peer.read(now, flow, asked, out));
                record::delivered(kernel.io, self.flows[place], flow, bytes);
                return Answer::Return(bytes);
            }
            Step::Writing(bytes) => {
                self.sockets[place].written += bytes;
                self.act(kernel, |peer, now, out| {
                    peer.write(now, FlowId(flow), bytes, out);
                });
            }
            // Packets neither are handed to processes here, nor have a driver of their own.
            Step::Enter | Step::Stack(_) | Step::Driver(_) => {}
        }
        match what {
            What::Write { bytes, .. } => self.write(place, bytes, by, costs),
            What::Read { bytes, .. } => self.begin_read(place, bytes, by, costs),
            // As from a socket that is not connected.
            _ => Answer::Return(0),
        }
    }

    fn begin_read(&mut self, place: usize, asked: u64, by: Pid, costs: &NetCosts) -> Answer {
        let socket = &mut self.sockets[place];
        let bytes = self.peer.readable(socket.flow).min(asked);
        if bytes > 0 {
            socket.step = Step::Reading(asked);
            return Answer::Run(costs.read_call + costs.copy(bytes), Owner::Nobody);
        }
        socket.reader = Some(by);
        self.peer.wait(socket.flow, asked);
        Answer::Block
    }

    fn write(&mut self, place: usize, bytes: u64, by: Pid, costs: &NetCosts) -> Answer {
        let socket = &mut self.sockets[place];
        let left = bytes - socket.written;
        if left == 0 {
            socket.written = 0;
            return Answer::Return(bytes);
        }
        let some = self.peer.writable(socket.flow).min(left);
        if some == 0 {
            socket.writer = Some(by);
            return Answer::Block;
        }
        let call = match socket.written {
            0 => costs.write_call,
            _ => Duration::ZERO,
        };
        socket.step = Step::Writing(some);
        Answer::Run(call + costs.copy(some), Owner::Nobody)
    }

    /// Whether the socket of `flow` is ready for `interest`; `wake` is woken when it is, where it
    /// is not.
    pub fn poll(&mut self, flow: u32, interest: Interest, wake: Option<Pid>) -> bool {
        let socket = &mut self.sockets[flow as usize];
        match interest {
            Interest::Readable => {
                socket.reader = wake;
                self.peer.readable(socket.flow) > 0
            }
            Interest::Writable => {
                socket.writer = wake;
                self.peer.writable(socket.flow) > 0
            }
        }
    }

    /// The station of the domain's own protocols is that of the remote host, which is not there.
    pub fn owns(packet: &Packet) -> bool {
        packet.to == REMOTE
    }
}

/// For what makes no packet and sets no timer.
struct Nothing;

impl PeerActions for Nothing {
    fn send(&mut self, _: Packet) {}

    fn arm(&mut self, _: PeerTimer, _: Instant) {}

    fn disarm(&mut self, _: PeerTimer) {}

    fn received(&mut self, _: FlowId, _: u64) {}

    fn replied(&mut self, _: FlowId, _: Duration) {}
}

/// What the protocols do.
struct LocalOut<'a, 'b, 'c> {
    queue: &'a mut Queue<Packet>,
    timers: &'a mut Vec<(PeerTimer, Instant)>,
    sockets: &'a mut [Socket],
    flows: &'a [Ends],
    timers_changed: bool,
    kernel: &'a mut KernelIo<'b, 'c>,
}

impl LocalOut<'_, '_, '_> {
    fn socket(&mut self, flow: FlowId) -> &mut Socket {
        &mut self.sockets[flow.0 as usize]
    }
}

impl PeerActions for LocalOut<'_, '_, '_> {
    fn send(&mut self, packet: Packet) {
        if !self.queue.push(packet) {
            // The queue has counted it.
        }
    }

    fn arm(&mut self, timer: PeerTimer, at: Instant) {
        self.timers_changed = true;
        arm(self.timers, timer, at);
    }

    fn disarm(&mut self, timer: PeerTimer) {
        self.timers_changed = true;
        self.timers.retain(|(t, _)| *t != timer);
    }

    fn received(&mut self, flow: FlowId, bytes: u64) {
        let ends = self.flows[flow.0 as usize];
        let socket = self.socket(flow);
        match socket.serves {
            Serves::Kernel => record::delivered(self.kernel.io, ends, flow, bytes),
            Serves::Process | Serves::Server => {
                if let Some(reader) = socket.readable() {
                    self.kernel.wake(reader);
                }
            }
        }
    }

    fn writable(&mut self, flow: FlowId) {
        if let Some(writer) = self.socket(flow).writable() {
            self.kernel.wake(writer);
        }
    }

    fn replied(&mut self, flow: FlowId, rtt: Duration) {
        let ends = self.flows[flow.0 as usize];
        record::replied(self.kernel.io, ends, flow, rtt);
    }

    fn opened(&mut self, flow: FlowId) {
        self.writable(flow);
    }
}

impl Accounted for Local {
    fn account(&self, ledger: &mut Ledger) {
        ledger.add(&self.peer).add(&self.queue);
    }
}
