//! Web servers of guests and their clients: how both act on the host.

use domio_core::{DomainId, Duration, Instant, WebStep};
use domio_sim::TimerId;
use domio_vmm::bus::{Io, KernelIo, Owner, Progress};
use domio_vmm::process::{Answer, Interest, Pid, What};

use domio_core::NetPlace::{GuestOut as Queued, Outside as Nowhere};

use super::netfront::Piece;
use super::outside::{Outside, RemoteOut};
use super::vif::Vif;
use super::{Network, record};
use crate::packet::{Body, FlowId, Packet, Segment};
use crate::peer::PeerActions;
use crate::queue::Queue;
use crate::web::{Client, ClientActions, Listener, ListenerActions, Offer, flow};

/// The client of a workload.
pub(super) struct WebClient {
    pub client: Client,
    /// The flow of the workload.
    pub flow: FlowId,
    pub guest: DomainId,
    pub timer: TimerId,
    /// What that is armed for.
    pub armed: Option<Instant>,
}

/// The server of a workload, in a guest.
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
enum Step {
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

impl WebServer {
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

    fn step(&mut self, place: u16) -> &mut Step {
        let place = usize::from(place);
        if place >= self.steps.len() {
            self.steps.resize(place + 1, Step::Enter);
        }
        &mut self.steps[place]
    }
}

/// What a client does.
pub(super) struct ClientOut<'a, 'b, 'c> {
    remote: &'a mut RemoteOut<'b, 'c>,
    flow: FlowId,
    guest: DomainId,
}

impl ClientActions for ClientOut<'_, '_, '_> {
    fn send(&mut self, packet: Packet) {
        self.remote.send(packet);
    }

    fn tell(&mut self, step: WebStep, bytes: u32, ns: u64) {
        let io = self.remote.io();
        let record = record::web(io, self.guest, self.flow, (step, bytes, ns));
        io.record(record);
    }

    fn received(&mut self, bytes: u64) {
        let io = self.remote.io();
        let record = record::delivered(io, self.guest, self.flow, bytes);
        io.record(record);
    }
}

impl Outside {
    /// The first connection of workload `web` begins at `at`, and none from `stop` on.
    pub fn begin_web(&mut self, web: u16, at: Instant, stop: Option<Instant>, io: &mut Io<'_>) {
        self.act_web(web, io, |client, _| client.start(at, stop));
    }

    /// A segment for the client of workload `web` has arrived.
    pub fn arrive_web(&mut self, (web, port): (u16, u16), segment: &Segment, io: &mut Io<'_>) {
        let now = io.now;
        self.act_web(web, io, |client, out| {
            client.receive(now, port, segment, out);
        });
    }

    /// The timer of workload `web` fires.
    pub fn web_timer(&mut self, web: u16, io: &mut Io<'_>) {
        let now = io.now;
        self.webs[usize::from(web)].armed = None;
        self.act_web(web, io, |client, out| client.timer(now, out));
    }

    /// Lets a client do something.
    fn act_web(
        &mut self,
        web: u16,
        io: &mut Io<'_>,
        act: impl FnOnce(&mut Client, &mut ClientOut<'_, '_, '_>),
    ) {
        let (webs, mut remote) = self.remote(io);
        let WebClient {
            client,
            flow,
            guest,
            timer,
            armed,
        } = &mut webs[usize::from(web)];
        let mut out = ClientOut {
            remote: &mut remote,
            flow: *flow,
            guest: *guest,
        };
        act(client, &mut out);
        let wants = client.wants();
        if wants == *armed {
            return;
        }
        *armed = wants;
        match wants {
            Some(at) => remote.io().arm(*timer, at),
            None => remote.io().disarm(*timer),
        }
    }
}

/// What the listening kernel of a guest does.
struct ServerOut<'a, 'b, 'c> {
    queue: &'a mut Queue<Packet>,
    ends: record::Ends,
    kernel: &'a mut KernelIo<'b, 'c>,
}

impl ListenerActions for ServerOut<'_, '_, '_> {
    fn send(&mut self, packet: Packet) {
        // Dropped when the queue is full: the queue counts it.
        if self.queue.push(packet) {
            record::moved(self.kernel.io, self.ends, &packet, Nowhere, Queued);
        }
    }

    fn wake(&mut self, process: Pid) {
        self.kernel.wake(process);
    }
}

impl Vif {
    /// When the stack wants to be called next.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        let flows = self.timers.iter().map(|(_, due)| *due).min();
        flows.into_iter().chain(self.next_web_timer()).min()
    }

    /// When a timer of a web server's connections expires.
    pub(super) fn next_web_timer(&self) -> Option<Instant> {
        let webs = self.webs.iter();
        webs.filter_map(|web| web.listener.next_deadline()).min()
    }

    /// Lets something happen to a web server's connections.
    fn act_web<R>(
        &mut self,
        server: usize,
        kernel: &mut KernelIo<'_, '_>,
        act: impl FnOnce(&mut Listener, Instant, &mut ServerOut<'_, '_, '_>) -> R,
    ) -> R {
        let listener = &mut self.webs[server].listener;
        let (before, now) = (listener.next_deadline(), kernel.now());
        let mut out = ServerOut {
            queue: &mut self.front.queue,
            ends: self.ends,
            kernel,
        };
        let result = act(listener, now, &mut out);
        if listener.next_deadline() != before {
            let next = self.next_timer();
            kernel.set_timer(self.lines.timer, self.vcpu, next);
        }
        result
    }

    /// Takes a packet for workload `web` from `port` through the stack.
    pub(super) fn deliver_web(
        &mut self,
        (web, port): (u16, u16),
        packet: &Packet,
        kernel: &mut KernelIo<'_, '_>,
    ) {
        let server = self.webs.iter().position(|server| server.web == web);
        if let (Some(server), Body::Tcp(segment)) = (server, packet.body) {
            self.act_web(server, kernel, |listener, now, out| {
                listener.receive(now, port, &segment, out);
            });
        }
    }

    /// What timers of web servers have to do.
    pub(super) fn web_timers(&mut self, kernel: &mut KernelIo<'_, '_>) {
        for server in 0..self.webs.len() {
            let next = self.webs[server].listener.next_deadline();
            if next.is_some_and(|at| at <= kernel.now()) {
                self.act_web(server, kernel, |listener, now, out| {
                    listener.timers(now, out);
                });
            }
        }
    }
}

impl Network {
    /// A process makes a call on the socket of workload `web` that listens, or goes on with it.
    pub(super) fn web_accept(&mut self, web: u16, what: What, by: Pid) -> Answer {
        let (vif, server) = self.webs[usize::from(web)];
        let call = self.costs.read_call;
        let server = &mut self.vifs[usize::from(vif)].webs[usize::from(server)];
        if what != What::Accept {
            return Answer::Return(0);
        }
        if let Some(paid) = server.accepting.iter().position(|(pid, _)| *pid == by) {
            let (_, place) = server.accepting.swap_remove(paid);
            return Answer::Return(u64::from(flow(web, place).0));
        }
        match server.listener.accept(by) {
            Some(place) => {
                server.accepting.push((by, place));
                Answer::Run(call, Owner::Nobody)
            }
            None => Answer::Block,
        }
    }

    /// A process makes a call on the connection in `place` of workload `web`, or goes on with it.
    pub(super) fn web_call(
        &mut self,
        (web, place): (u16, u16),
        what: What,
        by: Pid,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Answer {
        let Some(&(vif, server)) = self.webs.get(usize::from(web)) else {
            // As from a socket that is not connected.
            return Answer::Return(0);
        };
        let server = usize::from(server);
        let v = &mut self.vifs[usize::from(vif)];
        let step = std::mem::replace(v.webs[server].step(place), Step::Enter);
        match step {
            Step::Enter => {}
            Step::Driver(piece) => self.finish_piece(vif, piece, kernel),
            Step::Reading(asked) => {
                let bytes = v.act_web(server, kernel, |listener, now, out| {
                    listener.read(now, place, asked, out)
                });
                let flow = v.webs[server].flow;
                let record = record::delivered(kernel.io, v.domain, flow, bytes);
                kernel.io.record(record);
                return Answer::Return(bytes);
            }
            Step::Writing(bytes) => v.act_web(server, kernel, |listener, now, out| {
                listener.write(now, place, bytes, out);
            }),
            Step::Closing => {
                v.act_web(server, kernel, |listener, now, out| {
                    listener.close(now, place, out);
                });
                // The place may be another connection's before the driver has done its part, so
                // that is the softirq's.
                if !v.front.queue.is_empty() {
                    kernel.raise(v.lines.tx);
                }
                return Answer::Return(0);
            }
        }
        if let Some((piece, progress)) = self.flush(vif, kernel) {
            let step = Step::Driver(piece);
            return self.web_run(vif, server, place, step, progress);
        }
        let costs = self.costs;
        let listener = &mut self.vifs[usize::from(vif)].webs[server].listener;
        let own = |time| Progress::Run(time, Owner::Nobody);
        let (step, time) = match what {
            What::Read { bytes, .. } => match listener.readable(place, Some(by)) {
                Offer::Wait => return Answer::Block,
                Offer::End => return Answer::Return(0),
                Offer::Bytes(there) => {
                    let time = costs.read_call + costs.copy(there.min(bytes));
                    (Step::Reading(bytes), time)
                }
            },
            What::Write { bytes, .. } => {
                // The call itself is paid for once.
                let call = match listener.has_begun_writing(place) {
                    true => Duration::ZERO,
                    false => costs.write_call,
                };
                match listener.writable(place, bytes, Some(by)) {
                    Offer::Wait => return Answer::Block,
                    Offer::End => return Answer::Return(0),
                    Offer::Bytes(0) => return Answer::Return(bytes),
                    Offer::Bytes(some) => (Step::Writing(some), call + costs.copy(some)),
                }
            }
            What::Close => (Step::Closing, costs.write_call),
            What::Asked => {
                let client = &self.outside.webs[usize::from(web)].client;
                let port = listener.port(place);
                return Answer::Return(port.map_or(0, |port| client.asked(port)));
            }
            What::Accept | What::Sync => return Answer::Return(0),
        };
        self.web_run(vif, server, place, step, own(time))
    }

    /// The call on a connection executes as `progress` says, and goes on with `step` then.
    fn web_run(
        &mut self,
        vif: u16,
        server: usize,
        place: u16,
        step: Step,
        progress: Progress,
    ) -> Answer {
        *self.vifs[usize::from(vif)].webs[server].step(place) = step;
        match progress {
            Progress::Run(time, owner) => Answer::Run(time, owner),
            Progress::Done => unreachable!("a step of a call takes its time"),
        }
    }

    /// Whether a process that accepts at the socket of workload `web` would not block.
    pub(super) fn web_acceptable(&mut self, web: u16, wake: Option<Pid>) -> bool {
        let (vif, server) = self.webs[usize::from(web)];
        let v = &mut self.vifs[usize::from(vif)];
        v.webs[usize::from(server)].listener.acceptable(wake)
    }

    /// Whether the connection in `place` of workload `web` is ready for `interest`.
    pub(super) fn web_poll(
        &mut self,
        (web, place): (u16, u16),
        interest: Interest,
        wake: Option<Pid>,
    ) -> bool {
        let Some(&(vif, server)) = self.webs.get(usize::from(web)) else {
            return false;
        };
        let v = &mut self.vifs[usize::from(vif)];
        let listener = &mut v.webs[usize::from(server)].listener;
        let offer = match interest {
            Interest::Readable => listener.readable(place, wake),
            Interest::Writable => listener.writable(place, 1, wake),
        };
        offer != Offer::Wait
    }

    /// The client of the web server that is flow `flow`, for its statistics.
    pub fn web_client(&self, flow: FlowId) -> Option<&Client> {
        let webs = self.outside.webs.iter();
        webs.filter(|web| web.flow == flow)
            .map(|web| &web.client)
            .next()
    }

    /// The listening socket of the web server that is flow `flow`, for its statistics.
    pub fn web_listener(&self, flow: FlowId) -> Option<&Listener> {
        let servers = self.vifs.iter().flat_map(|v| &v.webs);
        servers
            .filter(|server| server.flow == flow)
            .map(|server| &server.listener)
            .next()
    }
}
