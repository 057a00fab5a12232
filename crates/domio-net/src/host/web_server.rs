//! A web server of a guest: the listening kernel, and calls of processes on its connections.

use alloc::vec::Vec;
use domio_core::{Duration, Instant};
use domio_vmm::bus::{KernelIo, Owner};
use domio_vmm::process::{Answer, Interest, Pid, What};

use super::costs::NetCosts;
use super::netfront::Piece;
use super::record::{self, Ends};
use crate::class::NetPlace::{GuestOut, Outside};
use crate::packet::{FlowId, Packet};
use crate::queue::Queue;
use crate::web::{Client, Listener, ListenerActions, Offer, flow};

/// The server of a workload.
pub(super) struct WebServer {
    /// Number of the workload.
    pub web: u16,
    /// The flow of the workload.
    pub flow: FlowId,
    pub listener: Listener,
    /// By place of a connection: where the call on it is.
    steps: Vec<Step>,
    /// Processes whose call to accept is being paid for, and what they get.
    accepting: Vec<(Pid, u16)>,
}

/// Where the call on a connection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// It begins, or has been woken.
    Enter,
    /// A piece of the driver's work is being done.
    Driver(Piece),
    /// So many bytes at most are being copied to the process.
    Reading(u64),
    /// So many bytes are being copied to the socket's buffer.
    Writing(u64),
    /// The call to close is being paid for.
    Closing,
}

/// What the listening kernel does.
pub(super) struct ServerOut<'a, 'b, 'c> {
    queue: &'a mut Queue<Packet>,
    ends: Ends,
    kernel: &'a mut KernelIo<'b, 'c>,
}

impl ListenerActions for ServerOut<'_, '_, '_> {
    fn send(&mut self, packet: Packet) {
        // Dropped when the queue is full: the queue counts it.
        if self.queue.push(packet) {
            record::moved(self.kernel.io, self.ends, &packet, Outside, GuestOut);
        }
    }

    fn wake(&mut self, process: Pid) {
        self.kernel.wake(process);
    }
}

impl WebServer {
    /// The server of workload `web`, in `flow`.
    pub fn new(web: u16, flow: FlowId, listener: Listener) -> Self {
        WebServer {
            web,
            flow,
            listener,
            steps: Vec::new(),
            accepting: Vec::new(),
        }
    }

    /// The guest is gone.
    pub fn clear(&mut self) {
        self.listener.clear();
        self.steps.clear();
        self.accepting.clear();
    }

    /// Lets something happen to the connections; what comes of it, and whether another timer of
    /// theirs is the next.
    pub fn act<R>(
        &mut self,
        queue: &mut Queue<Packet>,
        ends: Ends,
        kernel: &mut KernelIo<'_, '_>,
        act: impl FnOnce(&mut Listener, Instant, &mut ServerOut<'_, '_, '_>) -> R,
    ) -> (R, bool) {
        let (before, now) = (self.listener.next_deadline(), kernel.now());
        let mut out = ServerOut {
            queue,
            ends,
            kernel,
        };
        let result = act(&mut self.listener, now, &mut out);
        (result, self.listener.next_deadline() != before)
    }

    /// Where the call on the connection in `place` is.
    pub fn step(&mut self, place: u16) -> &mut Step {
        let place = usize::from(place);
        if place >= self.steps.len() {
            self.steps.resize(place + 1, Step::Enter);
        }
        &mut self.steps[place]
    }

    /// A process makes a call on the socket that listens, or continues with it.
    pub fn web_accept(&mut self, what: What, by: Pid, costs: &NetCosts) -> Answer {
        if what != What::Accept {
            return Answer::Return(0);
        }
        if let Some(paid) = self.accepting.iter().position(|(pid, _)| *pid == by) {
            let (_, place) = self.accepting.swap_remove(paid);
            return Answer::Return(u64::from(flow(self.web, place).0));
        }
        match self.listener.accept(by) {
            Some(place) => {
                self.accepting.push((by, place));
                Answer::Run(costs.read_call, Owner::Nobody)
            }
            None => Answer::Block,
        }
    }

    /// A process begins a call on the connection in `place`, whose other end is `client`'s: the
    /// first step and its time, or an answer immediately.
    pub fn begin(
        &mut self,
        place: u16,
        (what, by): (What, Pid),
        client: &Client,
        costs: &NetCosts,
    ) -> Result<(Step, Duration), Answer> {
        let listener = &mut self.listener;
        match what {
            What::Read { bytes, .. } => match listener.readable(place, Some(by)) {
                Offer::Wait => Err(Answer::Block),
                Offer::End => Err(Answer::Return(0)),
                Offer::Bytes(there) => {
                    let time = costs.read_call + costs.copy(there.min(bytes));
                    Ok((Step::Reading(bytes), time))
                }
            },
            What::Write { bytes, .. } => {
                // The call itself is paid for once.
                let call = match listener.has_begun_writing(place) {
                    true => Duration::ZERO,
                    false => costs.write_call,
                };
                match listener.writable(place, bytes, Some(by)) {
                    Offer::Wait => Err(Answer::Block),
                    Offer::End => Err(Answer::Return(0)),
                    Offer::Bytes(0) => Err(Answer::Return(bytes)),
                    Offer::Bytes(some) => Ok((Step::Writing(some), call + costs.copy(some))),
                }
            }
            What::Close => Ok((Step::Closing, costs.write_call)),
            What::Asked => {
                let port = listener.port(place);
                Err(Answer::Return(port.map_or(0, |port| client.asked(port))))
            }
            What::Accept
            | What::Sync
            | What::Create { .. }
            | What::Prepare(_)
            | What::Choose { .. }
            | What::Release { .. }
            | What::Enlist { .. }
            | What::Remove
            | What::Size
            | What::SyncAll => Err(Answer::Return(0)),
        }
    }

    /// Whether the connection in `place` is ready for `interest`.
    pub fn web_poll(&mut self, place: u16, interest: Interest, wake: Option<Pid>) -> bool {
        let offer = match interest {
            Interest::Readable => self.listener.readable(place, wake),
            Interest::Writable => self.listener.writable(place, 1, wake),
        };
        offer != Offer::Wait
    }
}
