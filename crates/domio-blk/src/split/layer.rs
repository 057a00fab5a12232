//! A request layer in a kernel: its clock, timers, and the work that `kblockd` does for it.

use crate::elevator::{Jiffies, QueueAction, QueueTimer, QueueWork, RequestId, Submitter};
use crate::queue::{DiskQueue, Ticks};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use domio_core::{Instant, VcpuName};
use domio_vmm::bus::{Attach, KernelIo, KernelTimer, Token, WorkItem};

/// A request layer and its place in a kernel, on vcpu 0.
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
    pub fn act(&mut self, kernel: &mut KernelIo<'_, '_>) {
        while let Some(action) = self.queue.take_action() {
            match action {
                QueueAction::Arm(timer, jiffy) => {
                    self.due[timer as usize] = Some(jiffy);
                    let at = self.ticks.begin(jiffy);
                    kernel.set_timer(self.timers[timer as usize], 0, Some(at));
                }
                QueueAction::Cancel(timer) => {
                    self.due[timer as usize] = None;
                    kernel.set_timer(self.timers[timer as usize], 0, None);
                }
                QueueAction::Work(work) => {
                    self.work.push_back(work);
                    kernel.io.queue_work(self.vcpu, self.kblockd);
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
