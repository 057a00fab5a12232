//! Sockets of a guest: what its processes read from and write to.
//!
//! A process that waits in a read is handed packets as they are: it takes them through the stack
//! itself once it runs, and what it asked for goes past the socket's buffer (`tcp_prequeue` and
//! `ucopy` of Linux 2.6). What comes beyond that fills the buffer, and what comes while nobody is
//! in a read is the kernel's work.
//!
//! Sockets are numbered over the whole network. The socket of a flow has the flow's number
//! ([`NetworkConfig::socket`](super::NetworkConfig::socket)). Behind these comes one socket for
//! each interface, which listens ([`NetworkConfig::listening`](super::NetworkConfig::listening)). A
//! web server listens at the socket of its flow; the numbers of its connections are far above.

use domio_vmm::bus::{KernelIo, Owner, Progress};
use domio_vmm::process::{Answer, Interest, Pid, What};

use super::netfront::Piece;
use super::stack::GuestOut as Out;
use super::vif::Vif;
use super::{Network, record};
use crate::packet::{Body, FlowId, Packet};
use std::collections::VecDeque;

/// Where a call on a socket is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// It begins, or has been woken.
    Enter,
    /// A packet that was handed to the process goes through the stack.
    Stack(Packet),
    /// A piece of the driver's work is being done.
    Driver(Piece),
    /// What a read asked for is being copied.
    Reading(u64),
    /// So many bytes are being copied to the socket's buffer, or to a datagram.
    Writing(u64),
}

/// Whom a socket serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Serves {
    /// The kernel itself, which answers pings and counts datagrams.
    Kernel,
    /// A process that has the connection from the beginning.
    Process,
    /// A server that has to accept the connection.
    Server,
}

/// The socket of a flow.
pub(super) struct Socket {
    pub flow: FlowId,
    pub serves: Serves,
    step: Step,
    /// A process blocks in a read.
    waits: bool,
    /// Packets handed to that process.
    handed: VecDeque<Packet>,
    /// Bytes of the write under way that are in the buffer.
    written: u64,
    /// Whom to wake when there is something to read.
    reader: Option<Pid>,
    /// Whom to wake when there is room to write.
    writer: Option<Pid>,
    /// Somebody has connected, whom no process has accepted yet.
    pub connected: bool,
}

impl Socket {
    /// The socket of `flow`, which nobody uses yet.
    pub fn new(flow: FlowId, serves: Serves) -> Self {
        Socket {
            flow,
            serves,
            step: Step::Enter,
            waits: false,
            handed: VecDeque::new(),
            written: 0,
            reader: None,
            writer: None,
            connected: false,
        }
    }

    /// Packets handed to a process that it has not begun with, and the one that it is at.
    pub fn held(&self) -> u64 {
        let at = matches!(self.step, Step::Stack(_));
        self.handed.len() as u64 + u64::from(at)
    }

    /// There is something to read: who is to be woken for it.
    pub fn readable(&mut self) -> Option<Pid> {
        self.reader.take()
    }

    /// There is room to write: who is to be woken for it.
    pub fn writable(&mut self) -> Option<Pid> {
        self.writer.take()
    }
}

impl Vif {
    /// The socket whose process `packet` is handed to; none when the kernel takes it through the
    /// stack.
    pub fn handed_to(&self, packet: &Packet) -> Option<u16> {
        if !matches!(packet.body, Body::Tcp(segment) if segment.len > 0) {
            return None;
        }
        let place = self.socket(packet.flow)?;
        self.sockets[usize::from(place)].waits.then_some(place)
    }

    /// The place of the socket of `flow`. The flows of an interface follow one another.
    pub fn socket(&self, flow: FlowId) -> Option<u16> {
        let place = flow.0.checked_sub(self.sockets.first()?.flow.0)?;
        (place < self.sockets.len() as u32).then_some(place as u16)
    }
}

/// What the number of a socket means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum File {
    /// The socket at a place of an interface.
    Flow(u16, u16),
    /// The socket of an interface that listens.
    Listening(u16),
    /// The socket of a web workload that listens.
    Web(u16),
}

impl Network {
    /// Hands `packet` to the process that waits at the socket at `place`.
    pub(super) fn hand(
        &mut self,
        vif: u16,
        place: u16,
        packet: Packet,
        kernel: &mut KernelIo<'_, '_>,
    ) {
        let socket = &mut self.vifs[usize::from(vif)].sockets[usize::from(place)];
        socket.handed.push_back(packet);
        if let Some(reader) = socket.readable() {
            kernel.wake(reader);
        }
    }

    /// A process makes a call on `file`, or goes on with it.
    pub(super) fn socket_call(
        &mut self,
        file: File,
        what: What,
        by: Pid,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Answer {
        let (vif, place) = match (file, what) {
            (File::Listening(vif), What::Accept) => return self.accept(vif, by),
            (File::Web(web), _) => return self.web_accept(web, what, by),
            // Nothing comes of it, as from a socket that is not connected.
            (File::Listening(_), _)
            | (File::Flow(..), What::Accept | What::Sync | What::Asked | What::Close) => {
                return Answer::Return(0);
            }
            (File::Flow(vif, place), _) => (vif, place),
        };
        let socket = &mut self.vifs[usize::from(vif)].sockets[usize::from(place)];
        match std::mem::replace(&mut socket.step, Step::Enter) {
            Step::Enter => {}
            Step::Stack(packet) => self.vifs[usize::from(vif)].deliver(&packet, kernel),
            Step::Driver(piece) => self.finish_piece(vif, piece, kernel),
            Step::Reading(bytes) => {
                return Answer::Return(self.read(vif, place, bytes, kernel));
            }
            Step::Writing(bytes) => self.written(vif, place, bytes, kernel),
        }
        if let Some((piece, progress)) = self.flush(vif, kernel) {
            return self.run(vif, place, Step::Driver(piece), progress);
        }
        match what {
            What::Write { bytes, .. } => self.write(vif, place, bytes, by),
            _ => self.begin_read(vif, place, what, by),
        }
    }

    /// The call on a socket executes as `progress` says, and goes on with `step` then.
    fn run(&mut self, vif: u16, place: u16, step: Step, progress: Progress) -> Answer {
        self.vifs[usize::from(vif)].sockets[usize::from(place)].step = step;
        match progress {
            Progress::Run(time, owner) => Answer::Run(time, owner),
            Progress::Done => unreachable!("a step of a call takes its time"),
        }
    }

    fn begin_read(&mut self, vif: u16, place: u16, what: What, by: Pid) -> Answer {
        let asked = match what {
            What::Read { bytes, .. } => bytes,
            _ => 0,
        };
        let costs = self.costs;
        let v = &mut self.vifs[usize::from(vif)];
        let socket = &mut v.sockets[usize::from(place)];
        if let Some(packet) = socket.handed.pop_front() {
            socket.step = Step::Stack(packet);
            return Answer::Run(costs.stack, Owner::Nobody);
        }
        let bytes = v.stack.readable(socket.flow).min(asked);
        socket.waits = bytes == 0;
        if bytes > 0 {
            socket.step = Step::Reading(asked);
            return Answer::Run(costs.read_call + costs.copy(bytes), Owner::Nobody);
        }
        socket.reader = Some(by);
        v.stack.wait(socket.flow, asked);
        Answer::Block
    }

    /// A read of up to `asked` bytes returns; how many there were.
    fn read(&mut self, vif: u16, place: u16, asked: u64, kernel: &mut KernelIo<'_, '_>) -> u64 {
        let v = &mut self.vifs[usize::from(vif)];
        let (flow, guest) = (v.sockets[usize::from(place)].flow, v.domain);
        let (stack, mut out) = Out::new(v, kernel);
        let bytes = stack.read(out.now(), flow, asked, &mut out);
        out.finish();
        let record = record::delivered(kernel.io, guest, flow, bytes);
        kernel.io.record(record);
        bytes
    }

    /// Goes on with a write of `bytes`: as much as there is room for, and then it waits for more.
    fn write(&mut self, vif: u16, place: u16, bytes: u64, by: Pid) -> Answer {
        let costs = self.costs;
        let v = &mut self.vifs[usize::from(vif)];
        let socket = &mut v.sockets[usize::from(place)];
        let left = bytes - socket.written;
        if left == 0 {
            socket.written = 0;
            return Answer::Return(bytes);
        }
        let some = v.stack.writable(socket.flow).min(left);
        if some == 0 {
            socket.writer = Some(by);
            return Answer::Block;
        }
        // The call itself is paid for once.
        let call = match socket.written {
            0 => costs.write_call,
            _ => domio_core::Duration::ZERO,
        };
        socket.step = Step::Writing(some);
        Answer::Run(call + costs.copy(some), Owner::Nobody)
    }

    /// `bytes` of a write are in the socket's buffer.
    fn written(&mut self, vif: u16, place: u16, bytes: u64, kernel: &mut KernelIo<'_, '_>) {
        let v = &mut self.vifs[usize::from(vif)];
        let socket = &mut v.sockets[usize::from(place)];
        socket.written += bytes;
        let flow = socket.flow;
        let (stack, mut out) = Out::new(v, kernel);
        stack.write(out.now(), flow, bytes, &mut out);
        out.finish();
    }

    /// Accepts a connection to the guest of `vif`, or waits for one.
    fn accept(&mut self, vif: u16, by: Pid) -> Answer {
        let v = &mut self.vifs[usize::from(vif)];
        match v.sockets.iter_mut().find(|socket| socket.connected) {
            Some(socket) => {
                socket.connected = false;
                Answer::Return(u64::from(socket.flow.0))
            }
            None => {
                v.acceptor = Some(by);
                Answer::Block
            }
        }
    }

    /// Whether `file` is ready for `interest`; `wake` is woken when it is, where it is not.
    pub(super) fn socket_poll(
        &mut self,
        file: File,
        interest: Interest,
        wake: Option<Pid>,
    ) -> bool {
        let (vif, place) = match file {
            File::Flow(vif, place) => (vif, place),
            File::Web(web) => return self.web_acceptable(web, wake),
            File::Listening(vif) => {
                let v = &mut self.vifs[usize::from(vif)];
                v.acceptor = wake;
                return v.sockets.iter().any(|socket| socket.connected);
            }
        };
        let v = &mut self.vifs[usize::from(vif)];
        let socket = &mut v.sockets[usize::from(place)];
        match interest {
            Interest::Readable => {
                socket.reader = wake;
                !socket.handed.is_empty() || v.stack.readable(socket.flow) > 0
            }
            Interest::Writable => {
                socket.writer = wake;
                v.stack.writable(socket.flow) > 0
            }
        }
    }
}
