//! A server: accepts connections, and answers the requests that come by them.

use crate::process::{Context, FileId, Interest, Op, Program, What};
use alloc::vec::Vec;
use domio_core::{Duration, Instant};

/// Answers requests of a fixed size, one after the other. The server waits until somebody connects
/// or a connection has something to read, computes for each request, and writes the answer. Each
/// request is reported as a job, from the moment in which the server began to read the request.
#[derive(Clone, Debug)]
pub struct Server {
    listening: FileId,
    /// Bytes of a request.
    request: u64,
    /// Bytes of an answer.
    answer: u64,
    /// Processor time of a request.
    work: Duration,
    connections: Vec<Connection>,
    step: Step,
}

/// A connection, and how much of its request has come.
#[derive(Clone, Copy, Debug)]
struct Connection {
    socket: FileId,
    got: u64,
    /// When the server began to read the request.
    since: Instant,
}

/// What the step under way is about.
#[derive(Clone, Copy, Debug)]
enum Step {
    Begin,
    Waiting,
    Accepting,
    Reading(usize),
    Computing(usize),
    Writing(usize),
    Reporting,
}

impl Server {
    /// A server at the socket `listening`. A request has `request` bytes, takes `work` of the
    /// processor, and is answered with `answer` bytes.
    ///
    /// # Panics
    /// When requests or answers have no bytes.
    #[track_caller]
    pub fn new(listening: FileId, request: u64, answer: u64, work: Duration) -> Self {
        let both = request > 0 && answer > 0;
        assert!(both, "requests and answers have at least a byte");
        Server {
            listening,
            request,
            answer,
            work,
            connections: Vec::new(),
            step: Step::Begin,
        }
    }

    fn wait(&mut self) -> Op {
        self.step = Step::Waiting;
        let sockets = self.connections.iter().map(|c| c.socket);
        let all = core::iter::once(self.listening).chain(sockets);
        Op::Wait {
            any: all.map(|socket| (socket, Interest::Readable)).collect(),
            until: Instant::MAX,
        }
    }
}

impl Program for Server {
    fn name(&self) -> &'static str {
        "server"
    }

    fn next(&mut self, cx: &Context) -> Op {
        match self.step {
            Step::Begin | Step::Reporting => self.wait(),
            Step::Waiting if cx.returned == 0 => {
                self.step = Step::Accepting;
                self.listening.does(What::Accept)
            }
            Step::Waiting => {
                let i = cx.returned as usize - 1;
                let connection = &mut self.connections[i];
                if connection.got == 0 {
                    connection.since = cx.now;
                }
                self.step = Step::Reading(i);
                let (offset, bytes) = (0, self.request - connection.got);
                connection.socket.does(What::Read { offset, bytes })
            }
            Step::Accepting => {
                let socket = FileId {
                    file: cx.returned as u32,
                    ..self.listening
                };
                self.connections.push(Connection {
                    socket,
                    got: 0,
                    since: cx.now,
                });
                self.wait()
            }
            Step::Reading(i) => {
                if cx.returned == 0 {
                    // The other end has closed.
                    self.connections.remove(i);
                    return self.wait();
                }
                self.connections[i].got += cx.returned;
                if self.connections[i].got < self.request {
                    return self.wait();
                }
                self.step = Step::Computing(i);
                Op::Compute(self.work)
            }
            Step::Computing(i) => {
                self.step = Step::Writing(i);
                let (offset, bytes) = (0, self.answer);
                self.connections[i]
                    .socket
                    .does(What::Write { offset, bytes })
            }
            Step::Writing(i) => {
                self.step = Step::Reporting;
                let connection = &mut self.connections[i];
                connection.got = 0;
                Op::Report {
                    released: connection.since,
                    work: self.work,
                }
            }
        }
    }
}
