//! System calls of a guest's processes on its sockets.

use domio_core::Duration;
use domio_vmm::bus::{KernelIo, Owner};
use domio_vmm::process::{Answer, Interest, Pid, What};

use super::costs::NetCosts;
use super::guest::Guest;
use super::record;
use super::socket::Step;
use super::vif::Vif;
use super::web_server::Step as WebStep;
use crate::web::Client;

/// A step of a call takes its time.
fn run(time: Duration) -> Answer {
    Answer::Run(time, Owner::Nobody)
}

impl Guest {
    /// A process makes a call on the socket at `place`, or continues with it.
    pub fn socket_call(
        &mut self,
        place: u16,
        (what, by): (What, Pid),
        costs: &NetCosts,
        vif: &mut Vif,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Answer {
        if !matches!(what, What::Read { .. } | What::Write { .. }) {
            // Nothing comes of it, as from a socket that is not connected.
            return Answer::Return(0);
        }
        let socket = &mut self.stack.sockets[usize::from(place)];
        match core::mem::replace(&mut socket.step, Step::Enter) {
            Step::Enter => {}
            Step::Stack(packet) => self.stack.deliver(&packet, &mut self.front.queue, kernel),
            Step::Driver(piece) => self.finish_piece(piece, vif, kernel),
            Step::Reading(bytes) => {
                return Answer::Return(self.read(place, bytes, vif, kernel));
            }
            Step::Writing(bytes) => self.written(place, bytes, kernel),
        }
        if let Some((piece, time, owner)) = self.front.flush(vif, costs, kernel) {
            self.stack.sockets[usize::from(place)].step = Step::Driver(piece);
            return Answer::Run(time, owner);
        }
        match what {
            What::Write { bytes, .. } => self.write(place, bytes, by, costs),
            What::Read { bytes, .. } => self.begin_read(place, bytes, by, costs),
            _ => unreachable!("answered above"),
        }
    }

    fn begin_read(&mut self, place: u16, asked: u64, by: Pid, costs: &NetCosts) -> Answer {
        let stack = &mut self.stack;
        let socket = &mut stack.sockets[usize::from(place)];
        if let Some(packet) = socket.handed.pop_front() {
            socket.step = Step::Stack(packet);
            return run(costs.stack);
        }
        let bytes = match stack.peer.is_datagram_sink(socket.flow) {
            true => socket.next_datagram(),
            false => stack.peer.readable(socket.flow).min(asked),
        };
        socket.waits = bytes == 0;
        if bytes > 0 {
            socket.step = Step::Reading(asked);
            return run(costs.read_call + costs.copy(bytes));
        }
        socket.reader = Some(by);
        stack.peer.wait(socket.flow, asked);
        Answer::Block
    }

    /// A read of up to `asked` bytes returns; how many there were.
    fn read(&mut self, place: u16, asked: u64, vif: &Vif, kernel: &mut KernelIo<'_, '_>) -> u64 {
        let Guest { stack, front, .. } = self;
        let socket = &mut stack.sockets[usize::from(place)];
        let flow = socket.flow;
        if stack.peer.is_datagram_sink(flow) {
            let bytes = socket.take_datagram();
            record::delivered(kernel.io, vif.ends, flow, bytes);
            return bytes;
        }
        let bytes = stack.act(&mut front.queue, kernel, |peer, now, out| {
            peer.read(now, flow, asked, out)
        });
        record::delivered(kernel.io, vif.ends, flow, bytes);
        bytes
    }

    /// Continues with a write of `bytes`: as much as there is room for, and then it waits for more.
    fn write(&mut self, place: u16, bytes: u64, by: Pid, costs: &NetCosts) -> Answer {
        let socket = &mut self.stack.sockets[usize::from(place)];
        let left = bytes - socket.written;
        if left == 0 {
            socket.written = 0;
            return Answer::Return(bytes);
        }
        let some = self.stack.peer.writable(socket.flow).min(left);
        if some == 0 {
            socket.writer = Some(by);
            return Answer::Block;
        }
        // The call itself is paid for once.
        let call = match socket.written {
            0 => costs.write_call,
            _ => Duration::ZERO,
        };
        socket.step = Step::Writing(some);
        run(call + costs.copy(some))
    }

    /// `bytes` of a write are in the socket's buffer.
    fn written(&mut self, place: u16, bytes: u64, kernel: &mut KernelIo<'_, '_>) {
        let Guest { stack, front, .. } = self;
        let socket = &mut stack.sockets[usize::from(place)];
        socket.written += bytes;
        let flow = socket.flow;
        stack.act(&mut front.queue, kernel, |peer, now, out| {
            peer.write(now, flow, bytes, out);
        });
    }

    /// Accepts a connection to the guest, or waits for one.
    pub fn accept(&mut self, by: Pid) -> Answer {
        let waiting = self.stack.sockets.iter_mut().find(|s| s.connected);
        match waiting {
            Some(socket) => {
                socket.connected = false;
                Answer::Return(u64::from(socket.flow.0))
            }
            None => {
                self.stack.acceptor = Some(by);
                Answer::Block
            }
        }
    }

    /// Whether a process that accepts would not block; `wake` is woken when that is so, where it is
    /// not.
    pub fn acceptable(&mut self, wake: Option<Pid>) -> bool {
        self.stack.acceptor = wake;
        self.stack.sockets.iter().any(|socket| socket.connected)
    }

    /// Whether the socket at `place` is ready for `interest`; likewise.
    pub fn socket_poll(&mut self, place: u16, interest: Interest, wake: Option<Pid>) -> bool {
        let socket = &mut self.stack.sockets[usize::from(place)];
        match interest {
            Interest::Readable => {
                socket.reader = wake;
                let datagrams = self.stack.peer.is_datagram_sink(socket.flow);
                !socket.handed.is_empty()
                    || self.stack.peer.readable(socket.flow) > 0
                    || (datagrams && socket.unread.0 > 0)
            }
            Interest::Writable => {
                socket.writer = wake;
                self.stack.peer.writable(socket.flow) > 0
            }
        }
    }

    /// A process makes a call on the connection in `place` of a web server, or continues with it.
    /// The other end is `client`'s.
    pub fn web_call(
        &mut self,
        (server, place): (usize, u16),
        call: (What, Pid),
        client: &Client,
        costs: &NetCosts,
        vif: &mut Vif,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Answer {
        let step = core::mem::replace(self.stack.webs[server].step(place), WebStep::Enter);
        let Guest { stack, front, .. } = self;
        match step {
            WebStep::Enter => {}
            WebStep::Driver(piece) => self.finish_piece(piece, vif, kernel),
            WebStep::Reading(asked) => {
                let bytes =
                    stack.act_web(server, &mut front.queue, kernel, |listener, now, out| {
                        listener.read(now, place, asked, out)
                    });
                let flow = stack.webs[server].flow;
                record::delivered(kernel.io, vif.ends, flow, bytes);
                return Answer::Return(bytes);
            }
            WebStep::Writing(bytes) => {
                stack.act_web(server, &mut front.queue, kernel, |listener, now, out| {
                    listener.write(now, place, bytes, out);
                });
            }
            WebStep::Closing => {
                stack.act_web(server, &mut front.queue, kernel, |listener, now, out| {
                    listener.close(now, place, out);
                });
                // The place may be another connection's before the driver has done its part, so
                // that is the softirq's.
                front.send_queued(kernel);
                return Answer::Return(0);
            }
        }
        let flushed = self.front.flush(vif, costs, kernel);
        let server = &mut self.stack.webs[server];
        if let Some((piece, time, owner)) = flushed {
            *server.step(place) = WebStep::Driver(piece);
            return Answer::Run(time, owner);
        }
        match server.begin(place, call, client, costs) {
            Ok((step, time)) => {
                *server.step(place) = step;
                run(time)
            }
            Err(answer) => answer,
        }
    }
}
