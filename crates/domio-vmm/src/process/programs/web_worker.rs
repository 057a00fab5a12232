//! One process of a web server that has several, as Apache's prefork: each serves a connection at a
//! time.

use crate::process::{Context, FileId, Op, Program, What};
use domio_core::{Duration, Instant};

/// Accepts a connection, answers the requests that come by it one after the other, closes when the
/// other end has closed, and accepts the next. What a request asks for is what
/// [`What::Asked`] returns. Each request is reported as a job, from the moment in which the
/// process began to read it to the end of writing.
#[derive(Clone, Debug)]
pub struct WebWorker {
    listening: FileId,
    /// Bytes of a request.
    request: u64,
    costs: WebCosts,
    /// The connection that is served.
    socket: FileId,
    /// Bytes of the request that have come.
    got: u64,
    /// When the process began to read the request.
    since: Instant,
    /// Bytes of the answer.
    answer: u64,
    step: Step,
}

/// Processor time of the server's own code, in addition to system calls and what the kernel does in
/// and for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WebCosts {
    /// A request, whatever it asks for: to read it, to find the file, to write the log.
    pub request: Duration,
    /// A KiB of the answer, in addition to copying and sending.
    pub kib: Duration,
}

impl WebCosts {
    /// What a request for `bytes` costs.
    pub fn of(&self, bytes: u64) -> Duration {
        let kib = self.kib.as_nanos() as u128 * u128::from(bytes) / 1024;
        let kib = u64::try_from(kib).unwrap_or(u64::MAX);
        self.request.saturating_add(Duration::from_nanos(kib))
    }
}

/// What the step under way is about.
#[derive(Clone, Copy, Debug)]
enum Step {
    Begin,
    Accepting,
    Reading,
    Asking,
    /// Whoever has answers on a disk reads them between this step and the next.
    Computing,
    Writing,
    Reporting,
    Closing,
}

impl WebWorker {
    /// A process at the socket `listening`, whose requests have `request` bytes each.
    ///
    /// # Panics
    /// When requests have no bytes.
    #[track_caller]
    pub fn new(listening: FileId, request: u64, costs: WebCosts) -> Self {
        assert!(request > 0, "requests have at least a byte");
        WebWorker {
            listening,
            request,
            costs,
            socket: listening,
            got: 0,
            since: Instant::ZERO,
            answer: 0,
            step: Step::Begin,
        }
    }

    fn accept(&mut self) -> Op {
        self.step = Step::Accepting;
        self.listening.does(What::Accept)
    }

    fn read(&mut self) -> Op {
        self.step = Step::Reading;
        let (offset, bytes) = (0, self.request - self.got);
        self.socket.does(What::Read { offset, bytes })
    }

    fn close(&mut self) -> Op {
        self.step = Step::Closing;
        self.socket.does(What::Close)
    }
}

impl Program for WebWorker {
    fn name(&self) -> &'static str {
        "web"
    }

    fn next(&mut self, cx: &Context) -> Op {
        match self.step {
            Step::Begin | Step::Closing => self.accept(),
            Step::Accepting => {
                self.socket.file = cx.returned as u32;
                self.got = 0;
                self.since = cx.now;
                self.read()
            }
            // The other end has closed, or the connection is reset.
            Step::Reading if cx.returned == 0 => self.close(),
            Step::Reading => {
                if self.got == 0 {
                    self.since = cx.now;
                }
                self.got += cx.returned;
                if self.got < self.request {
                    return self.read();
                }
                self.step = Step::Asking;
                self.socket.does(What::Asked)
            }
            // Nobody knows any more.
            Step::Asking if cx.returned == 0 => self.close(),
            Step::Asking => {
                self.answer = cx.returned;
                self.step = Step::Computing;
                Op::Compute(self.costs.of(self.answer))
            }
            Step::Computing => {
                self.step = Step::Writing;
                let (offset, bytes) = (0, self.answer);
                self.socket.does(What::Write { offset, bytes })
            }
            // Nobody is there any more.
            Step::Writing if cx.returned == 0 => self.close(),
            Step::Writing => {
                self.step = Step::Reporting;
                Op::Report {
                    released: self.since,
                    work: self.costs.of(self.answer),
                }
            }
            Step::Reporting => {
                self.got = 0;
                self.read()
            }
        }
    }
}
