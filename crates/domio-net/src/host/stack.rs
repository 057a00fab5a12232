//! The stack of a guest: its protocols, sockets and web servers, and how it acts on the guest
//! (xen-spec 6.2).

use alloc::vec::Vec;
use domio_core::{Duration, Instant};
use domio_vmm::bus::{KernelIo, KernelTimer};
use domio_vmm::process::Pid;

use super::record::{self, Ends};
use super::socket::{Serves, Socket, place_of};
use super::web_server::{ServerOut, WebServer};
use crate::class::NetPlace::{GuestIn, GuestOut as Queued, Outside};
use crate::packet::{Body, FlowId, Packet};
use crate::peer::{Peer, PeerActions, PeerTimer, PeerTimerKind, Service};
use crate::queue::{Accounted, Ledger, Queue};
use crate::web::{Listener, connection_of};

/// The stack of a guest at one interface. What it sends goes to the queue of netfront, which each
/// call is given.
pub(super) struct Stack {
    /// The guest and the driver domain.
    ends: Ends,
    pub peer: Peer,
    /// Timers of the peer that are armed.
    timers: Vec<(PeerTimer, Instant)>,
    /// Sockets, one for each flow, in the order of their numbers.
    pub sockets: Vec<Socket>,
    /// Web servers.
    pub webs: Vec<WebServer>,
    /// Who waits for a connection.
    pub acceptor: Option<Pid>,
    /// The kernel's timer for all of them, and the vcpu that has it.
    timer: KernelTimer,
    vcpu: u16,
}

impl Stack {
    /// A stack without flows, at the interface between `ends`, that vcpu `vcpu` calls by `timer`.
    pub fn new(ends: Ends, peer: Peer, timer: KernelTimer, vcpu: u16) -> Self {
        Stack {
            ends,
            peer,
            timers: Vec::new(),
            sockets: Vec::new(),
            webs: Vec::new(),
            acceptor: None,
            timer,
            vcpu,
        }
    }

    /// The guest's end of `flow` begins at `at`, if it is the one who begins, and no process does
    /// that. A ping sends nothing from `stop` on; what processes begin, they end.
    pub fn begin(&mut self, flow: FlowId, at: Instant, stop: Option<Instant>) {
        if self.peer.begins(flow) && !self.peer.is_datagram_source(flow) {
            let kind = PeerTimerKind::Next;
            self.timers.push((PeerTimer { flow, kind }, at));
        }
        if let (Some(stop), Some(Service::Ping(_))) = (stop, self.peer.service(flow)) {
            self.peer.end_at(flow, stop);
        }
    }

    /// The web workload whose server has `flow`.
    pub fn web_of(&self, flow: FlowId) -> Option<u16> {
        let server = self.webs.iter().find(|server| server.flow == flow)?;
        Some(server.web)
    }

    /// The guest is gone.
    pub fn clear(&mut self) {
        self.timers.clear();
        self.webs.iter_mut().for_each(WebServer::clear);
    }

    /// The stack begins to listen. Flows that begin by themselves have their times already.
    pub fn listen(&mut self, queue: &mut Queue<Packet>, kernel: &mut KernelIo<'_, '_>) {
        self.act(queue, kernel, |peer, now, out| peer.listen(now, out));
        self.set_timer(kernel);
    }

    /// Takes `packet`, whose time has been spent, through the stack.
    pub fn deliver(
        &mut self,
        packet: &Packet,
        queue: &mut Queue<Packet>,
        kernel: &mut KernelIo<'_, '_>,
    ) {
        record::moved(kernel.io, self.ends, packet, GuestIn, Outside);
        let Some((web, port)) = connection_of(packet.flow) else {
            return self.act(queue, kernel, |peer, now, out| {
                peer.receive(now, packet, out)
            });
        };
        let server = self.webs.iter().position(|server| server.web == web);
        if let (Some(server), Body::Tcp(segment)) = (server, packet.body) {
            self.act_web(server, queue, kernel, |listener, now, out| {
                listener.receive(now, port, &segment, out);
            });
        }
    }

    /// What timers have to do. The kernel's softirq has let its own expire; it is set anew here.
    pub fn expire(&mut self, queue: &mut Queue<Packet>, kernel: &mut KernelIo<'_, '_>) {
        let now = kernel.now();
        while let Some(at) = self.timers.iter().position(|(_, due)| *due <= now) {
            let (timer, _) = self.timers.swap_remove(at);
            self.act(queue, kernel, |peer, now, out| peer.timer(now, timer, out));
        }
        for server in 0..self.webs.len() {
            let next = self.webs[server].listener.next_deadline();
            if next.is_some_and(|at| at <= now) {
                self.act_web(server, queue, kernel, |listener, now, out| {
                    listener.timers(now, out);
                });
            }
        }
        self.set_timer(kernel);
    }

    /// Lets the protocols do something; the guest's timer agrees with what they want then.
    pub fn act<R>(
        &mut self,
        queue: &mut Queue<Packet>,
        kernel: &mut KernelIo<'_, '_>,
        act: impl FnOnce(&mut Peer, Instant, &mut GuestOut<'_, '_, '_>) -> R,
    ) -> R {
        let now = kernel.now();
        let mut out = GuestOut {
            queue,
            timers: &mut self.timers,
            sockets: &mut self.sockets,
            acceptor: &mut self.acceptor,
            timers_changed: false,
            ends: self.ends,
            kernel,
        };
        let result = act(&mut self.peer, now, &mut out);
        if out.timers_changed {
            self.set_timer(kernel);
        }
        result
    }

    /// Lets something happen to a web server's connections; likewise.
    pub fn act_web<R>(
        &mut self,
        server: usize,
        queue: &mut Queue<Packet>,
        kernel: &mut KernelIo<'_, '_>,
        act: impl FnOnce(&mut Listener, Instant, &mut ServerOut<'_, '_, '_>) -> R,
    ) -> R {
        let (result, changed) = self.webs[server].act(queue, self.ends, kernel, act);
        if changed {
            self.set_timer(kernel);
        }
        result
    }

    /// Sets the guest's timer to the earliest time at which the stack wants to be called.
    fn set_timer(&self, kernel: &mut KernelIo<'_, '_>) {
        let flows = self.timers.iter().map(|(_, due)| *due);
        let webs = self.webs.iter();
        let webs = webs.filter_map(|web| web.listener.next_deadline());
        kernel.set_timer(self.timer, self.vcpu, flows.chain(webs).min());
    }

    /// The socket whose process `packet` is handed to; none when the kernel takes it through the
    /// stack.
    pub fn handed_to(&self, packet: &Packet) -> Option<u16> {
        if !matches!(packet.body, Body::Tcp(segment) if segment.len > 0) {
            return None;
        }
        let place = place_of(&self.sockets, packet.flow)?;
        self.sockets[usize::from(place)].waits.then_some(place)
    }

    /// Hands `packet` to the process that waits at the socket at `place`.
    pub fn hand(&mut self, place: u16, packet: Packet, kernel: &mut KernelIo<'_, '_>) {
        let socket = &mut self.sockets[usize::from(place)];
        socket.handed.push_back(packet);
        if let Some(reader) = socket.readable() {
            kernel.wake(reader);
        }
    }
}

/// What the stack of a guest does.
pub(super) struct GuestOut<'a, 'b, 'c> {
    queue: &'a mut Queue<Packet>,
    timers: &'a mut Vec<(PeerTimer, Instant)>,
    sockets: &'a mut [Socket],
    acceptor: &'a mut Option<Pid>,
    /// The times at which the stack wants to be called have changed.
    timers_changed: bool,
    ends: Ends,
    kernel: &'a mut KernelIo<'b, 'c>,
}

impl GuestOut<'_, '_, '_> {
    /// The socket of `flow`.
    fn socket(&mut self, flow: FlowId) -> Option<&mut Socket> {
        let place = place_of(self.sockets, flow)?;
        Some(&mut self.sockets[usize::from(place)])
    }
}

/// Adds `timer` to `timers`, due at `at`, or moves the timer that is there.
pub(super) fn arm(timers: &mut Vec<(PeerTimer, Instant)>, timer: PeerTimer, at: Instant) {
    match timers.iter_mut().find(|(t, _)| *t == timer) {
        Some((_, due)) => *due = at,
        None => timers.push((timer, at)),
    }
}

impl PeerActions for GuestOut<'_, '_, '_> {
    fn send(&mut self, packet: Packet) {
        // Dropped when the queue is full: the queue counts it.
        if self.queue.push(packet) {
            record::moved(self.kernel.io, self.ends, &packet, Outside, Queued);
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
        match self.socket(flow) {
            // A process reads it when it runs.
            Some(socket) if socket.serves != Serves::Kernel => {
                // Streams count what is readable themselves.
                socket.unread = (socket.unread.0 + 1, bytes);
                if let Some(reader) = socket.readable() {
                    self.kernel.wake(reader);
                }
            }
            _ => {
                record::delivered(self.kernel.io, self.ends, flow, bytes);
            }
        }
    }

    fn writable(&mut self, flow: FlowId) {
        if let Some(writer) = self.socket(flow).and_then(Socket::writable) {
            self.kernel.wake(writer);
        }
    }

    fn replied(&mut self, flow: FlowId, rtt: Duration) {
        record::replied(self.kernel.io, self.ends, flow, rtt);
    }

    fn opened(&mut self, flow: FlowId) {
        let Some(socket) = self.socket(flow) else {
            return;
        };
        let writer = socket.writable();
        let accepted = socket.serves == Serves::Server;
        socket.connected = accepted;
        if let Some(writer) = writer {
            self.kernel.wake(writer);
        }
        if accepted && let Some(acceptor) = self.acceptor.take() {
            self.kernel.wake(acceptor);
        }
    }
}

impl Accounted for Stack {
    fn account(&self, ledger: &mut Ledger) {
        ledger.add(&self.peer);
        for web in &self.webs {
            ledger.add(&web.listener);
        }
        ledger.holds(self.sockets.iter().map(Socket::held).sum());
    }
}
