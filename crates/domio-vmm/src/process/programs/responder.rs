//! The answering end of request and response over one connection, as netperf's server has in its
//! tests TCP_RR.

use crate::process::{Context, FileId, Op, Program, What};
use domio_core::{Duration, Instant};

/// Reads a request of a fixed size, answers with as many bytes, and begins again. Each request is
/// reported as a job, from when its first bytes were read to the end of writing.
#[derive(Clone, Debug)]
pub struct Responder {
    socket: FileId,
    /// Bytes of a request, and of an answer.
    bytes: u64,
    /// Bytes of the request under way that were read.
    got: u64,
    since: Instant,
    step: Step,
}

/// What the process does.
#[derive(Clone, Copy, Debug)]
enum Step {
    Begin,
    Reading,
    Writing,
    Reporting,
}

impl Responder {
    /// Answers requests of `bytes` that come by `socket`.
    ///
    /// # Panics
    /// When `bytes` is zero.
    #[track_caller]
    pub fn new(socket: FileId, bytes: u64) -> Self {
        assert!(bytes > 0, "a request has at least a byte");
        Responder {
            socket,
            bytes,
            got: 0,
            since: Instant::ZERO,
            step: Step::Begin,
        }
    }

    fn read(&mut self) -> Op {
        self.step = Step::Reading;
        let (offset, bytes) = (0, self.bytes - self.got);
        self.socket.does(What::Read { offset, bytes })
    }
}

impl Program for Responder {
    fn name(&self) -> &'static str {
        "rr"
    }

    fn next(&mut self, cx: &Context) -> Op {
        match self.step {
            Step::Begin | Step::Reporting => {
                self.got = 0;
                self.read()
            }
            Step::Reading => {
                if self.got == 0 {
                    self.since = cx.now;
                }
                self.got += cx.returned;
                if self.got < self.bytes {
                    return self.read();
                }
                self.step = Step::Writing;
                let (offset, bytes) = (0, self.bytes);
                self.socket.does(What::Write { offset, bytes })
            }
            Step::Writing => {
                self.step = Step::Reporting;
                Op::Report {
                    released: self.since,
                    work: Duration::ZERO,
                }
            }
        }
    }
}
