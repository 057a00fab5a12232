//! A disk of the host: the driver domain's request layer, the drive, and its interrupt.
//!
//! Requests that the queue starts wait in `started` until whoever ran the queue has paid for the
//! commands: [`Issuing`]. A command that the drive has finished raises the disk's interrupt, whose
//! handler raises the block softirq; the softirq ends one command after the other. On a host with
//! KVM the handler itself does that, in the time of the thread that the interrupt has hit.

use super::layer::Layer;
use crate::drive::{Command, Drive, FinishedCommand};
use crate::elevator::RequestId;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use domio_core::DomainId;
use domio_sim::TimerId;
use domio_vmm::bus::{Io, SoftirqLine};
use domio_vmm::evtchn::Port;

/// Commands whose cost is being paid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Issuing(pub usize);

/// Where the softirq of a disk is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ending {
    /// Looking for the next finished command.
    Next,
    /// Ending this request.
    One(RequestId),
    /// The pieces in this request are answered.
    Answered(RequestId),
    /// Notifying the guest of a virtual disk, before continuing with this request.
    Notifying(usize, RequestId),
    /// Handing commands on.
    Issuing(Issuing),
}

/// A disk of the host.
pub(super) struct HostDisk {
    pub layer: Layer,
    drive: Box<dyn Drive>,
    driver: DomainId,
    timer: TimerId,
    /// How completions reach the kernel.
    pub completes: Completes,
    pub port: Option<Port>,
    /// Whether the handler of the interrupt has been entered.
    pub entered: bool,
    pub ending: Ending,
    pub hard: Hard,
    /// Guests' disks whose guests are to be notified.
    pub to_notify: VecDeque<usize>,
    /// Where `kblockd` is.
    pub kblockd: Option<Issuing>,
    /// Requests in `started` whose cost is being paid.
    paying: usize,
    /// Commands by the request's place.
    commands: Vec<Option<RequestId>>,
    /// Commands in the drive.
    depth: u32,
    /// Finished, and not taken.
    pub finished: VecDeque<(RequestId, FinishedCommand)>,
    done: Vec<FinishedCommand>,
}

/// What a disk needs of the bus.
pub(super) struct DiskLines {
    pub driver: DomainId,
    pub timer: TimerId,
    pub completes: Completes,
}

/// How the completions of a disk reach the kernel that has the disk.
#[derive(Clone, Copy, Debug)]
pub(super) enum Completes {
    /// By an event channel to a driver domain, whose handler raises the softirq.
    InDomain { pirq: u16, softirq: SoftirqLine },
    /// By an interrupt of the host's own kernel ([`Hard`]), whose work is over when the timer
    /// fires.
    OnHost { timer: TimerId },
}

/// Where the interrupt of a disk is on a host with KVM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hard {
    /// There is none.
    Quiet,
    /// The handler ends the first of the finished commands.
    Ending,
}

impl HostDisk {
    /// An idle disk.
    pub fn new(layer: Layer, drive: Box<dyn Drive>, lines: DiskLines) -> Self {
        HostDisk {
            layer,
            drive,
            driver: lines.driver,
            timer: lines.timer,
            completes: lines.completes,
            port: None,
            entered: false,
            hard: Hard::Quiet,
            ending: Ending::Next,
            to_notify: VecDeque::new(),
            kblockd: None,
            paying: 0,
            commands: Vec::new(),
            depth: 0,
            finished: VecDeque::new(),
            done: Vec::new(),
        }
    }

    /// Requests that were started and that nobody pays for: whoever asks does from now on.
    pub fn begin_paying(&mut self) -> Issuing {
        let new = self.layer.started.len() - self.paying;
        self.paying += new;
        Issuing(new)
    }

    /// Hands the next started request, which is paid for, to the drive. Returns the request and the
    /// number of commands in the drive then.
    pub fn issue(&mut self, io: &mut Io<'_>) -> (RequestId, u32) {
        let id = self.layer.started.pop_front();
        let id = id.expect("what is paid for was started");
        self.paying -= 1;
        let rq = &self.layer.queue.requests()[id];
        let command = Command {
            tag: id.index() as u32,
            sector: rq.sector,
            sectors: rq.sectors,
            way: rq.way,
        };
        if self.commands.len() <= id.index() {
            self.commands.resize(id.index() + 1, None);
        }
        self.advance(io);
        self.commands[id.index()] = Some(id);
        self.depth += 1;
        self.drive.start(io.now, command);
        self.arm(io);
        (id, self.depth)
    }

    /// The drive's time has come.
    pub fn event(&mut self, io: &mut Io<'_>) {
        self.advance(io);
        self.arm(io);
    }

    fn arm(&mut self, io: &mut Io<'_>) {
        match self.drive.next() {
            Some(at) => io.arm(self.timer, at),
            None => io.disarm(self.timer),
        }
    }

    /// Takes what the drive has finished, and raises the interrupt.
    fn advance(&mut self, io: &mut Io<'_>) {
        self.drive.advance(io.now, &mut self.done);
        let any = !self.done.is_empty();
        for command in self.done.drain(..) {
            let id = self.commands[command.tag as usize].take();
            let id = id.expect("a drive finishes a command once");
            self.depth -= 1;
            self.finished.push_back((id, command));
        }
        if let (true, Some(port)) = (any, self.port) {
            io.raise_pirq(self.driver, port);
        }
    }
}
