//! A request layer in a kernel: its clock, timers, and the work that `kblockd` does for it.

use crate::elevator::{Jiffies, QueueAction, QueueTimer, QueueWork, RequestId, Submitter};
use crate::queue::{DiskQueue, Ticks};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use domio_core::{Instant, VcpuName};
use domio_vmm::bus::{Attach, Io, KernelIo, KernelTimer, Token, WorkItem};

/// Where a queue is run: in the kernel of a vcpu, or in an interrupt of the host's own kernel.
pub(super) trait Site {
    /// The time.
    fn now(&self) -> Instant;

    /// Sets `timer` of the kernel of `vcpu`.
    fn set_timer(&mut self, vcpu: VcpuName, timer: KernelTimer, at: Option<Instant>);

    /// Has a thread of `vcpu` do `item`.
    fn queue_work(&mut self, vcpu: VcpuName, item: WorkItem);

    /// Has `kblockd` of `vcpu` do `item`.
    fn queue_kblockd(&mut self, vcpu: VcpuName, item: WorkItem);
}

impl Site for KernelIo<'_, '_> {
    fn now(&self) -> Instant {
        KernelIo::now(self)
    }

    fn set_timer(&mut self, vcpu: VcpuName, timer: KernelTimer, at: Option<Instant>) {
        match vcpu.domain == self.vcpu.domain {
            true => KernelIo::set_timer(self, timer, vcpu.index, at),
            false => self.io.set_timer_on(vcpu, timer, at),
        }
    }

    fn queue_work(&mut self, vcpu: VcpuName, item: WorkItem) {
        match vcpu == self.vcpu {
            true => KernelIo::queue_work(self, item),
            false => self.io.queue_work(vcpu, item),
        }
    }

    fn queue_kblockd(&mut self, vcpu: VcpuName, item: WorkItem) {
        self.io.queue_work(vcpu, item);
    }
}

impl Site for Io<'_> {
    fn now(&self) -> Instant {
        self.now
    }

    fn set_timer(&mut self, vcpu: VcpuName, timer: KernelTimer, at: Option<Instant>) {
        self.set_timer_on(vcpu, timer, at);
    }

    fn queue_work(&mut self, vcpu: VcpuName, item: WorkItem) {
        Io::queue_work(self, vcpu, item);
    }

    fn queue_kblockd(&mut self, vcpu: VcpuName, item: WorkItem) {
        Io::queue_work(self, vcpu, item);
    }
}

/// A request layer and its place in a kernel, on one vcpu.
pub(super) struct Layer {
    pub queue: DiskQueue,
    ticks: Ticks,
    vcpu: VcpuName,
    timers: [KernelTimer; 3],
    /// When each timer is due.
    due: [Option<Jiffies>; 3],
    kblockd: WorkItem,
    /// What `kblockd` is to do.
    work: VecDeque<QueueWork>,
    /// Requests that the layer has given to the driver, which has not taken them yet.
    pub started: VecDeque<RequestId>,
    /// Submitters that may continue.
    pub woken: Vec<Submitter>,
    /// Whether submitters empty their plugs of the multi-queue layer themselves, so that `kblockd`
    /// has nothing to do for them.
    pub unplugged_by_all: bool,
}

impl Layer {
    /// `queue` in the kernel of `vcpu`, whose clock has `hz` ticks a second. `timers` are the
    /// tokens of the three timers, `kblockd` that of the work.
    pub fn new(
        queue: DiskQueue,
        hz: i64,
        vcpu: VcpuName,
        attach: &mut Attach<'_>,
        (timers, kblockd): ([Token; 3], Token),
    ) -> Self {
        Layer {
            queue,
            ticks: Ticks { hz, first: 0 },
            vcpu,
            timers: timers.map(|token| attach.kernel_timer(token)),
            due: [None; 3],
            kblockd: attach.work(kblockd),
            work: VecDeque::new(),
            started: VecDeque::new(),
            woken: Vec::new(),
            unplugged_by_all: false,
        }
    }

    /// Gives the queue the time, and returns the ticks until then: to be called before the queue
    /// is.
    pub fn jiffies(&mut self, now: Instant) -> Jiffies {
        self.queue.tell_ns(now.as_nanos().cast_signed());
        self.ticks.at(now)
    }

    /// Carries out what the queue asks for: timers and work immediately; what is started or woken
    /// is left to the driver.
    pub fn act(&mut self, site: &mut impl Site) {
        while let Some(action) = self.queue.take_action() {
            match action {
                QueueAction::Arm(timer, jiffy) => {
                    self.due[timer as usize] = Some(jiffy);
                    let at = self.ticks.begin(jiffy);
                    site.set_timer(self.vcpu, self.timers[timer as usize], Some(at));
                }
                QueueAction::Cancel(timer) => {
                    self.due[timer as usize] = None;
                    site.set_timer(self.vcpu, self.timers[timer as usize], None);
                }
                QueueAction::Work(QueueWork::Unplug)
                    if self.unplugged_by_all && self.queue.is_multi() =>
                {
                    self.queue.needs_no_unplug();
                }
                QueueAction::Work(work) => {
                    self.work.push_back(work);
                    site.queue_kblockd(self.vcpu, self.kblockd);
                }
                QueueAction::Start(rq) => self.started.push_back(rq),
                QueueAction::Wake(submitter) => self.woken.push(submitter),
            }
        }
    }

    /// A timer of the kernel has expired. One that was moved meanwhile does nothing.
    pub fn timer(&mut self, number: usize, kernel: &mut KernelIo<'_, '_>) {
        let now = self.jiffies(kernel.now());
        if self.due[number].is_some_and(|due| due <= now) {
            self.due[number] = None;
            self.queue.timer(now, QueueTimer::ALL[number]);
            self.act(kernel);
        }
    }

    /// `kblockd` does what was asked for.
    pub fn kblockd(&mut self, kernel: &mut KernelIo<'_, '_>) {
        let now = self.jiffies(kernel.now());
        while let Some(work) = self.work.pop_front() {
            self.queue.work(now, work);
            self.act(kernel);
        }
    }
}
