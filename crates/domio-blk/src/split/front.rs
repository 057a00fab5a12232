//! Blkfront and the guest's request layer above the ring.
//!
//! Whoever runs the queue (a process that submits, `kblockd`, the interrupt of blkfront) puts the
//! requests that the queue starts into the ring, shows them to the back-end, and notifies the
//! back-end if this asked for that: [`Pushing`].

use super::bio::{Origin, Piece, Pieces};
use super::class::{DiskPlace, Ends};
use super::config::SplitCosts;
use super::layer::Layer;
use crate::elevator::{Bio, IoWay, RequestId, Submitter};
use crate::fs::contract::{FsStep, QueueCongestion};
use crate::queue::Submitted;
use alloc::vec::Vec;
use domio_core::Duration;
use domio_vmm::bus::{Io, KernelIo, KernelLock, Owner, Passed, Progress};
use domio_vmm::evtchn::Port;
use domio_vmm::ring::Ring;

/// A request in the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// The guest's request, which the response names.
    pub id: RequestId,
    /// First sector of the guest's disk.
    pub sector: u64,
    pub sectors: u32,
    pub writes: bool,
}

/// Where somebody is who has run the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pushing {
    /// So many requests were put into the ring, and are to be paid for.
    Put(u32),
    /// They are paid for.
    Paid,
    /// The hypercall that notifies the back-end is paid for.
    Notified,
}

/// Where the handler of blkfront's port is.
#[derive(Clone, Copy, Debug)]
enum Handler {
    Idle,
    Entered,
    /// So many responses are being taken.
    Ending(u32),
    Pushing(Pushing),
}

/// Somebody who submits: a process in a call, or a thread of the kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub submitter: Submitter,
    step: TaskStep,
    /// Waits for a request.
    asleep: bool,
    /// May try to get one again.
    pub woken: bool,
}

#[derive(Clone, Copy, Debug)]
enum TaskStep {
    Next,
    Submitting(Bio),
    Pushing(Pushing),
}

impl Task {
    /// Somebody who has not begun.
    pub fn new(submitter: Submitter) -> Self {
        Task {
            submitter,
            step: TaskStep::Next,
            asleep: false,
            woken: false,
        }
    }
}

/// What a task does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Doing {
    /// Executes.
    Run(Duration),
    /// Waits to be woken.
    Block,
    /// Is through, with this value.
    Done(u64),
}

/// The guest's part of a disk.
pub(super) struct Front {
    pub ends: Ends,
    /// Index of the disk.
    number: usize,
    costs: SplitCosts,
    /// One vcpu at a time is at the queue and the ring (`blkif_io_lock`, which is the lock of the
    /// queue, too).
    lock: KernelLock,
    pub layer: Layer,
    pub ring: Ring<Entry, RequestId>,
    pub port: Option<Port>,
    handler: Handler,
    kblockd: Option<Pushing>,
    pub pieces: Pieces,
    pub passed: Passed,
    tags: Vec<u64>,
    /// Pieces that are over, for whoever waits for them.
    pub over: Vec<Piece>,
}

impl Front {
    /// The front-end of disk `number`, which is idle.
    pub fn new(
        (number, ends): (usize, Ends),
        layer: Layer,
        (entries, lock): (u32, KernelLock),
        costs: SplitCosts,
    ) -> Self {
        Front {
            ends,
            number,
            costs,
            lock,
            layer,
            ring: Ring::new(entries),
            port: None,
            handler: Handler::Idle,
            kblockd: None,
            pieces: Pieces::default(),
            passed: Passed::default(),
            tags: Vec::new(),
            over: Vec::new(),
        }
    }

    /// What a file system sees of the queue.
    pub fn congestion(&self) -> QueueCongestion {
        QueueCongestion {
            read: self.layer.queue.is_congested(IoWay::Read),
            write: self.layer.queue.is_congested(IoWay::Write),
        }
    }

    /// Carries out what the queue asked for. What it started goes into the ring, which has room for
    /// as much as the queue may start.
    fn act(&mut self, kernel: &mut KernelIo<'_, '_>) -> Pushing {
        self.layer.act(kernel);
        let mut put = 0;
        while let Some(id) = self.layer.started.pop_front() {
            let rq = &self.layer.queue.requests()[id];
            let entry = Entry {
                id,
                sector: rq.sector,
                sectors: rq.sectors,
                writes: rq.way == IoWay::Write,
            };
            let fits = self.ring.put_request(entry);
            fits.expect("the queue starts no more than the ring holds");
            self.moved(id, DiskPlace::GuestQueue, DiskPlace::Ring, kernel.io);
            put += 1;
        }
        Pushing::Put(put)
    }

    /// Says that the pieces of a request go from one place to another.
    pub fn moved(&self, id: RequestId, from: DiskPlace, to: DiskPlace, io: &mut Io<'_>) {
        if io.stages() {
            for tag in self.layer.queue.requests().tags(id) {
                self.ends.moved(io, self.pieces.get(tag), from, to);
            }
        }
    }

    /// The next piece of work on the way to the back-end, if there is one.
    fn push(&mut self, at: &mut Pushing, kernel: &mut KernelIo<'_, '_>) -> Option<Duration> {
        match *at {
            Pushing::Put(0) => None,
            Pushing::Put(requests) => {
                *at = Pushing::Paid;
                let time = self.costs.request * u64::from(requests);
                kernel.under(self.lock, time);
                Some(time)
            }
            Pushing::Paid => {
                let asked = self.ring.push_requests();
                *at = Pushing::Notified;
                (asked && self.port.is_some()).then_some(self.costs.send_event)
            }
            Pushing::Notified => {
                if let Some(port) = self.port {
                    kernel.send(port);
                }
                *at = Pushing::Put(0);
                None
            }
        }
    }

    /// Continues with `task`, whose next steps come from `next`. Each piece is for whom `origin`
    /// makes of it.
    pub fn go_on(
        &mut self,
        task: &mut Task,
        mut next: impl FnMut(&mut Front, &KernelIo<'_, '_>) -> FsStep,
        origin: impl Fn(&Bio) -> Origin,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Doing {
        loop {
            match &mut task.step {
                TaskStep::Next if task.asleep => {
                    if !core::mem::take(&mut task.woken) {
                        return Doing::Block;
                    }
                    let now = self.layer.jiffies(kernel.now());
                    let became = self.layer.queue.resume(now, task.submitter);
                    task.asleep = became == Submitted::Asleep;
                    task.step = TaskStep::Pushing(self.act(kernel));
                }
                TaskStep::Next => match next(self, kernel) {
                    FsStep::Run(time) => return Doing::Run(time),
                    FsStep::Submit(bio) => {
                        task.step = TaskStep::Submitting(bio);
                        kernel.under(self.lock, self.costs.submit);
                        return Doing::Run(self.costs.submit);
                    }
                    FsStep::Unplug => {
                        let now = self.layer.jiffies(kernel.now());
                        self.layer.queue.unplug(now);
                        task.step = TaskStep::Pushing(self.act(kernel));
                    }
                    FsStep::Sleep => return Doing::Block,
                    FsStep::Done(value) => return Doing::Done(value),
                },
                TaskStep::Submitting(bio) => {
                    let (bio, origin) = (*bio, origin(bio));
                    task.asleep = self.submit(bio, origin, kernel) == Submitted::Asleep;
                    task.step = TaskStep::Pushing(self.act(kernel));
                }
                TaskStep::Pushing(at) => match self.push(at, kernel) {
                    Some(time) => return Doing::Run(time),
                    None => task.step = TaskStep::Next,
                },
            }
        }
    }

    fn submit(&mut self, mut bio: Bio, origin: Origin, kernel: &mut KernelIo<'_, '_>) -> Submitted {
        bio.tag = self.pieces.make(origin, &bio, kernel.now());
        let piece = self.pieces.get(bio.tag);
        self.ends.submitted(kernel.io, self.number, piece);
        self.ends
            .moved(kernel.io, piece, DiskPlace::Outside, DiskPlace::GuestQueue);
        if self.ring.free() == 0 {
            self.ends.ring_full(kernel.io, piece);
        }
        let now = self.layer.jiffies(kernel.now());
        self.layer.queue.submit(now, &bio)
    }

    /// A timer of the guest's kernel has expired.
    pub fn timer(&mut self, number: usize, kernel: &mut KernelIo<'_, '_>) {
        self.layer.timer(number, kernel);
    }

    /// The guest's `kblockd` works for the queue.
    pub fn kblockd(&mut self, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let mut at = match self.kblockd.take() {
            Some(at) => at,
            None => {
                self.layer.kblockd(kernel);
                self.act(kernel)
            }
        };
        match self.push(&mut at, kernel) {
            Some(time) => {
                self.kblockd = Some(at);
                Progress::Run(time, Owner::Nobody)
            }
            None => Progress::Done,
        }
    }

    /// The handler of blkfront's port: ends all requests whose responses have come, then runs the
    /// queue.
    pub fn interrupt(&mut self, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let run = |time| Progress::Run(time, Owner::Nobody);
        loop {
            match &mut self.handler {
                Handler::Idle => {
                    self.handler = Handler::Entered;
                    return run(self.costs.irq);
                }
                Handler::Entered => {
                    if self.ring.responses() == 0 && !self.ring.final_check_for_responses() {
                        let now = self.layer.jiffies(kernel.now());
                        self.layer.queue.restart(now);
                        self.handler = Handler::Pushing(self.act(kernel));
                        continue;
                    }
                    let responses = self.ring.responses();
                    self.handler = Handler::Ending(responses);
                    let time = self.costs.complete * u64::from(responses);
                    kernel.under(self.lock, time);
                    return run(time);
                }
                Handler::Ending(responses) => {
                    for _ in 0..*responses {
                        let id = self.ring.take_response();
                        self.end(id.expect("there are responses"), kernel);
                    }
                    self.handler = Handler::Entered;
                }
                Handler::Pushing(at) => {
                    let mut at = *at;
                    let time = self.push(&mut at, kernel);
                    self.handler = Handler::Pushing(at);
                    match time {
                        Some(time) => return run(time),
                        None => {
                            self.handler = Handler::Idle;
                            return Progress::Done;
                        }
                    }
                }
            }
        }
    }

    /// A request is over, and all pieces in it.
    fn end(&mut self, id: RequestId, kernel: &mut KernelIo<'_, '_>) {
        let mut tags = core::mem::take(&mut self.tags);
        tags.extend(self.layer.queue.requests().tags(id));
        for tag in tags.drain(..) {
            let piece = self.pieces.end(tag);
            self.ends
                .moved(kernel.io, &piece, DiskPlace::Response, DiskPlace::Outside);
            self.ends.over(kernel.io, &piece);
            self.over.push(piece);
        }
        self.tags = tags;
        let now = self.layer.jiffies(kernel.now());
        self.layer.queue.finish(now, id);
        self.layer.act(kernel);
    }
}
