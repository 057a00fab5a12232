//! Virtual disks whose contents are in the driver domain's memory, as `xl block-attach` with a file
//! of a memory file system has them. Each guest has one disk at most.
//!
//! ```text
//!  process ─call─▶ blkfront ══ring══▶ port ─▶ blkback's thread: map, copy, unmap ─▶ response
//!     ▲                                                                                 │
//!     └──────────── last answer of the call ◀── Block softirq ◀── port ◀────────────────┘
//! ```
//!
//! A call is split into requests of 44 KiB (11 pages, `BLKIF_MAX_SEGMENTS_PER_REQUEST`), which
//! share a ring of 32 with other calls. The thread of the backend copies what a request asks for,
//! on behalf of its guest.
//!
//! This is also the example of a device model: everything is asked for in [`Loopback::new`] or
//! bound in `plug`, each driver's place between two pieces of work is an enum, and each piece says
//! for whom it is done.

pub(crate) mod keys;

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use domio_core::{DomainId, Duration};
use domio_vmm::bus::{
    Attach, Blueprint, Device, Io, KernelIo, Owner, Passed, Progress, Softirq, SoftirqLine, Token,
    TokenKind, WorkItem,
};
use domio_vmm::evtchn::Port;
use domio_vmm::process::{Answer, Call, Interest, Pid, What};
use domio_vmm::ring::{BLOCK, Ring};

/// Most bytes of a request: eleven segments of a page (xen-spec 6.5).
const REQUEST_BYTES: u64 = 11 * 4096;

/// Loop-back disks of a host.
#[derive(Clone, Debug)]
pub struct LoopbackConfig {
    /// The domain that has the contents.
    pub driver: DomainId,
    /// What the work costs.
    pub costs: LoopbackCosts,
    /// The disks, of different guests; a disk's place here is the number of its file.
    pub disks: Vec<DiskConfig>,
}

/// A guest's disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiskConfig {
    /// The guest, which is not the driver domain.
    pub domain: DomainId,
    /// How large the disk is (bytes).
    pub bytes: u64,
}

/// What the work on requests costs, in processor time of the domain that does it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoopbackCosts {
    /// Guest: making a request, from the system call on.
    pub submit: Duration,
    /// Guest: taking a response.
    pub complete: Duration,
    /// Either domain: the handler of a port.
    pub irq: Duration,
    /// Driver domain: a request, without its bytes: mapping and unmapping pages, the ring.
    pub serve: Duration,
    /// Driver domain: copying a KiB.
    pub copy_kib: Duration,
    /// Either domain: the hypercall that sends an event.
    pub send_event: Duration,
}

impl LoopbackCosts {
    /// No cost anywhere.
    pub const FREE: LoopbackCosts = LoopbackCosts {
        submit: Duration::ZERO,
        complete: Duration::ZERO,
        irq: Duration::ZERO,
        serve: Duration::ZERO,
        copy_kib: Duration::ZERO,
        send_event: Duration::ZERO,
    };
}

/// A request, or its answer.
#[derive(Clone, Copy, Debug)]
struct Request {
    call: u64,
    writes: bool,
    bytes: u64,
}

/// Where a handler of a port is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Handler {
    Idle,
    Entered,
}

impl Handler {
    /// The handler is called: whether that enters it, or its time is spent.
    fn enter(&mut self) -> bool {
        *self = match self {
            Handler::Idle => Handler::Entered,
            Handler::Entered => Handler::Idle,
        };
        *self == Handler::Entered
    }
}

/// Where a process's call is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// The next requests are being made, so many of them.
    Submitting(u64),
    /// The backend is being told.
    Notifying,
    /// Answers, or room in the ring, are waited for.
    Waiting,
}

/// A call under way.
#[derive(Clone, Copy, Debug)]
struct Ongoing {
    number: u64,
    by: Pid,
    step: Step,
    writes: bool,
    bytes: u64,
    /// Bytes that are in no request yet.
    unasked: u64,
    /// Requests that are not answered.
    unanswered: u64,
}

/// Where blkfront's softirq is.
#[derive(Clone, Copy, Debug)]
enum Completing {
    Idle,
    One(Request),
}

/// Where blkback's thread is.
#[derive(Clone, Copy, Debug)]
enum Serving {
    /// Looking for the next request.
    Next,
    /// Copying what it asks for.
    Copying(Request),
    /// Notifying the guest.
    Notifying,
}

/// One disk: both drivers, and the ring between them.
struct Disk {
    config: DiskConfig,
    ring: Ring<Request, Request>,
    front_port: Option<Port>,
    back_port: Option<Port>,
    front_handler: Handler,
    back_handler: Handler,
    completing: Completing,
    serving: Serving,
    calls: VecDeque<Ongoing>,
    calls_made: u64,
    passed: Passed,
    softirq: SoftirqLine,
    thread: WorkItem,
}

impl Disk {
    fn call_mut(&mut self, number: u64) -> Option<&mut Ongoing> {
        self.calls.iter_mut().find(|call| call.number == number)
    }
}

/// All loop-back disks of a driver domain.
pub struct Loopback {
    driver: DomainId,
    costs: LoopbackCosts,
    disks: Vec<Disk>,
}

/// What a port of a disk is: the other calls are of one kind each, whose tokens are the numbers of
/// the disks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// Blkfront's.
    Front,
    /// Blkback's.
    Back,
}

impl TokenKind for End {
    const ALL: &'static [End] = &[End::Front, End::Back];
}

impl Loopback {
    /// The disks that `config` describes, before any domain is up.
    ///
    /// # Panics
    /// When a disk is the driver domain's.
    #[track_caller]
    pub fn new(config: &LoopbackConfig, attach: &mut Attach<'_>) -> Self {
        let disk = |(i, disk): (Token, &DiskConfig)| {
            assert!(
                disk.domain != config.driver,
                "a driver domain has no loop-back disk"
            );
            Disk {
                config: *disk,
                ring: Ring::new(BLOCK),
                front_port: None,
                back_port: None,
                front_handler: Handler::Idle,
                back_handler: Handler::Idle,
                completing: Completing::Idle,
                serving: Serving::Next,
                calls: VecDeque::new(),
                calls_made: 0,
                passed: Passed::default(),
                softirq: attach.softirq(Softirq::Block, i),
                thread: attach.work(i),
            }
        };
        Loopback {
            driver: config.driver,
            costs: config.costs,
            disks: (0..).zip(&config.disks).map(disk).collect(),
        }
    }

    /// Work of a guest's own kernel.
    fn own(time: Duration) -> Progress {
        Progress::Run(time, Owner::Nobody)
    }
}

impl Blueprint for LoopbackConfig {
    type Model = Loopback;

    fn make(&self, attach: &mut Attach<'_>, _: u64, _: u32) -> Loopback {
        Loopback::new(self, attach)
    }
}

impl Device for Loopback {
    fn serves(&self, domain: DomainId) -> bool {
        domain == self.driver || self.disks.iter().any(|disk| disk.config.domain == domain)
    }

    fn drives(&self, domain: DomainId) -> bool {
        domain == self.driver
    }

    fn plug(&mut self, domain: DomainId, io: &mut Io<'_>) {
        for (i, disk) in (0..).zip(&mut self.disks) {
            if disk.config.domain == domain {
                let front = io.offer(domain, self.driver, 0, End::Front.token(i));
                let front = front.expect("a guest that boots has free ports");
                let back = io.connect(self.driver, domain, front, 0, End::Back.token(i));
                disk.front_port = Some(front);
                disk.back_port = Some(back.expect("the driver domain is up, with free ports"));
            }
        }
    }

    fn unplug(&mut self, domain: DomainId, io: &mut Io<'_>) {
        for disk in self.disks.iter_mut().filter(|d| d.config.domain == domain) {
            disk.front_port = None;
            if let Some(back) = disk.back_port.take() {
                let closed = io.close(self.driver, back);
                closed.expect("the port was bound when the guest came");
            }
        }
    }

    fn irq(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let (end, number) = End::of(token);
        let disk = &mut self.disks[usize::from(number)];
        match end {
            End::Front if disk.front_handler.enter() => return Self::own(self.costs.irq),
            End::Front => kernel.raise(disk.softirq),
            End::Back if disk.back_handler.enter() => {
                return Progress::Run(self.costs.irq, Owner::Domain(disk.config.domain));
            }
            End::Back => kernel.queue_work(disk.thread),
        }
        Progress::Done
    }

    /// Blkfront takes the answers, one after the other.
    fn softirq(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let disk = &mut self.disks[token as usize];
        if let Completing::One(answer) = disk.completing {
            disk.completing = Completing::Idle;
            if let Some(call) = disk.call_mut(answer.call) {
                call.unanswered -= 1;
                if call.unanswered == 0 && call.unasked == 0 {
                    kernel.wake(call.by);
                }
            }
            // An entry is free: whoever waits for one continues.
            if let Some(call) = disk.calls.iter().find(|call| call.unasked > 0) {
                kernel.wake(call.by);
            }
        }
        if disk.ring.responses() == 0 && !disk.ring.final_check_for_responses() {
            return Progress::Done;
        }
        let answer = disk.ring.take_response();
        disk.completing = Completing::One(answer.expect("there are responses"));
        Self::own(self.costs.complete)
    }

    /// Blkback's thread serves the requests, and notifies the guest where it wants to be told.
    fn work(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let disk = &mut self.disks[token as usize];
        let owner = Owner::Domain(disk.config.domain);
        match disk.serving {
            Serving::Next => {}
            Serving::Copying(request) => {
                disk.serving = Serving::Next;
                let put = disk.ring.put_response(request);
                put.expect("its request was taken");
                match request.writes {
                    true => disk.passed.requests_written += 1,
                    false => disk.passed.requests_read += 1,
                }
                if disk.ring.push_responses() && disk.back_port.is_some() {
                    disk.serving = Serving::Notifying;
                    return Progress::Run(self.costs.send_event, owner);
                }
            }
            Serving::Notifying => {
                disk.serving = Serving::Next;
                if let Some(port) = disk.back_port {
                    kernel.send(port);
                }
            }
        }
        if disk.back_port.is_none() {
            // Its guest is gone: nobody waits for the rest.
            return Progress::Done;
        }
        if disk.ring.requests() == 0 && !disk.ring.final_check_for_requests() {
            return Progress::Done;
        }
        let request = disk.ring.take_request().expect("there are requests");
        disk.serving = Serving::Copying(request);
        let copy = self.costs.copy_kib.as_nanos() * request.bytes / 1024;
        Progress::Run(self.costs.serve + Duration::from_nanos(copy), owner)
    }

    fn call(&mut self, call: Call, by: Pid, kernel: &mut KernelIo<'_, '_>) -> Answer {
        let costs = self.costs;
        let Some(disk) = self.disks.get_mut(call.file.file as usize) else {
            return Answer::Return(0);
        };
        let place = match disk.calls.iter().position(|ongoing| ongoing.by == by) {
            Some(place) => place,
            None => {
                let (offset, bytes, writes) = match call.what {
                    What::Read { offset, bytes } => (offset, bytes, false),
                    What::Write { offset, bytes } => (offset, bytes, true),
                    // There is no cache to flush, no file system, and nobody to connect.
                    _ => return Answer::Return(0),
                };
                let bytes = bytes.min(disk.config.bytes.saturating_sub(offset));
                disk.calls_made += 1;
                disk.calls.push_back(Ongoing {
                    number: disk.calls_made,
                    by,
                    step: Step::Waiting,
                    writes,
                    bytes,
                    unasked: bytes,
                    unanswered: 0,
                });
                disk.calls.len() - 1
            }
        };
        let ongoing = &mut disk.calls[place];
        match ongoing.step {
            Step::Waiting => {}
            Step::Submitting(requests) => {
                for _ in 0..requests {
                    let bytes = ongoing.unasked.min(REQUEST_BYTES);
                    let (call, writes) = (ongoing.number, ongoing.writes);
                    let put = disk.ring.put_request(Request {
                        call,
                        writes,
                        bytes,
                    });
                    if put.is_err() {
                        // Others were quicker.
                        break;
                    }
                    ongoing.unasked -= bytes;
                    ongoing.unanswered += 1;
                }
                ongoing.step = Step::Waiting;
                if disk.ring.push_requests() {
                    ongoing.step = Step::Notifying;
                    return Answer::Run(costs.send_event, Owner::Nobody);
                }
            }
            Step::Notifying => {
                ongoing.step = Step::Waiting;
                if let Some(port) = disk.front_port {
                    kernel.send(port);
                }
            }
        }
        let wanted = ongoing.unasked.div_ceil(REQUEST_BYTES);
        let room = wanted.min(u64::from(disk.ring.free()));
        if room > 0 {
            ongoing.step = Step::Submitting(room);
            return Answer::Run(costs.submit * room, Owner::Nobody);
        }
        if ongoing.unasked > 0 || ongoing.unanswered > 0 {
            return Answer::Block;
        }
        let bytes = ongoing.bytes;
        disk.calls.remove(place);
        Answer::Return(bytes)
    }

    /// A file can always be read and written.
    fn poll(&mut self, _: u32, _: Interest, _: Option<Pid>) -> bool {
        true
    }

    fn passed(&self, domain: DomainId) -> Passed {
        let own = self.disks.iter().filter(|d| d.config.domain == domain);
        own.fold(Passed::default(), |sum, disk| sum.plus(disk.passed))
    }
}
