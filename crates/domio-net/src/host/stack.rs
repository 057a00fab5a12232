//! The stack of a guest: what it is called for, and how it acts on the guest (xen-spec 6.2).

use domio_core::Instant;
use domio_core::NetPlace::{GuestIn, GuestOut as Queued, Outside};
use domio_vmm::bus::{KernelIo, KernelTimer};
use domio_vmm::process::Pid;

use super::socket::{Serves, Socket};
use super::vif::Vif;
use super::{Network, record};
use crate::packet::{FlowId, Packet};
use crate::peer::{Peer, PeerActions, PeerTimer};
use crate::web::connection_of;

impl Vif {
    /// Takes `packet`, whose time has been spent, through the stack.
    pub(super) fn deliver(&mut self, packet: &Packet, kernel: &mut KernelIo<'_, '_>) {
        record::moved(kernel.io, self.ends, packet, GuestIn, Outside);
        if let Some(connection) = connection_of(packet.flow) {
            return self.deliver_web(connection, packet, kernel);
        }
        let (stack, mut out) = GuestOut::new(self, kernel);
        stack.receive(out.now(), packet, &mut out);
        out.finish();
    }
}

impl Network {
    /// What a timer of the stack has to do.
    pub(super) fn stack_timers(&mut self, vif: u16, kernel: &mut KernelIo<'_, '_>) {
        let v = &mut self.vifs[usize::from(vif)];
        let now = kernel.now();
        // The kernel's softirq has let the timer expire; it is set anew below.
        while let Some(at) = v.timers.iter().position(|(_, due)| *due <= now) {
            let (timer, _) = v.timers.swap_remove(at);
            let (stack, mut out) = GuestOut::new(v, kernel);
            stack.timer(now, timer, &mut out);
            out.finish();
        }
        v.web_timers(kernel);
        if !v.front.queue.is_empty() {
            // Sent from the timer softirq: charged in the next one.
            kernel.raise(v.lines.tx);
        }
        let next = v.next_timer();
        kernel.set_timer(v.lines.timer, v.vcpu, next);
    }
}

/// What the stack of a guest does.
pub(super) struct GuestOut<'a, 'b, 'c> {
    queue: &'a mut crate::queue::Queue<Packet>,
    timers: &'a mut Vec<(PeerTimer, Instant)>,
    sockets: &'a mut [Socket],
    acceptor: &'a mut Option<Pid>,
    timer: KernelTimer,
    /// When a timer of a web server's connections expires.
    web_timer: Option<Instant>,
    /// The times at which the stack wants to be called have changed.
    timers_changed: bool,
    vcpu: u16,
    ends: record::Ends,
    kernel: &'a mut KernelIo<'b, 'c>,
}

impl<'a, 'b, 'c> GuestOut<'a, 'b, 'c> {
    /// The stack of `vif`, and what it acts on.
    pub fn new(vif: &'a mut Vif, kernel: &'a mut KernelIo<'b, 'c>) -> (&'a mut Peer, Self) {
        let web_timer = vif.next_web_timer();
        let out = GuestOut {
            web_timer,
            queue: &mut vif.front.queue,
            timers: &mut vif.timers,
            sockets: &mut vif.sockets,
            acceptor: &mut vif.acceptor,
            timer: vif.lines.timer,
            timers_changed: false,
            vcpu: vif.vcpu,
            ends: vif.ends,
            kernel,
        };
        (&mut vif.stack, out)
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.kernel.now()
    }

    /// The stack is done for now: the guest's timer agrees with what the stack wants.
    pub fn finish(self) {
        if self.timers_changed {
            self.set_timer();
        }
    }

    /// Sets the guest's timer to the earliest time at which the stack wants to be called.
    pub fn set_timer(self) {
        let next = self.timers.iter().map(|(_, due)| *due);
        let next = next.chain(self.web_timer).min();
        self.kernel.set_timer(self.timer, self.vcpu, next);
    }

    /// The socket of `flow`. The flows of an interface follow one another.
    fn socket(&mut self, flow: FlowId) -> Option<&mut Socket> {
        let place = flow.0.checked_sub(self.sockets.first()?.flow.0)?;
        self.sockets.get_mut(place as usize)
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
        match self.timers.iter_mut().find(|(t, _)| *t == timer) {
            Some((_, due)) => *due = at,
            None => self.timers.push((timer, at)),
        }
    }

    fn disarm(&mut self, timer: PeerTimer) {
        self.timers_changed = true;
        self.timers.retain(|(t, _)| *t != timer);
    }

    fn received(&mut self, flow: FlowId, bytes: u64) {
        match self.socket(flow) {
            // A process reads it when it runs.
            Some(socket) if socket.serves != Serves::Kernel => {
                if let Some(reader) = socket.readable() {
                    self.kernel.wake(reader);
                }
            }
            _ => {
                let record = record::delivered(self.kernel.io, self.ends.guest, flow, bytes);
                self.kernel.io.record(record);
            }
        }
    }

    fn writable(&mut self, flow: FlowId) {
        if let Some(writer) = self.socket(flow).and_then(Socket::writable) {
            self.kernel.wake(writer);
        }
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
