//! Completions on a host with KVM, and the threads of QEMU.
//!
//! ```text
//!  drive ─▶ interrupt, on the pcpu of the thread that submitted ─▶ thread woken ─▶ response, irqfd
//!           └─ ends the command, hands the next ones to the drive
//! ```
//!
//! The handler takes its time from whatever executes on that pcpu: the multi-queue layer has a
//! completion queue and an interrupt for each processor, and commands come back where they were
//! submitted.

use super::Split;
use super::class::DiskPlace;
use super::disk::{Completes, Hard};
use super::layer::Site;
use super::lines::OfPort;
use domio_core::{DomainId, VcpuName};
use domio_vmm::bus::{Io, TokenKind};

impl Split {
    /// The time of the drive of `disk` has come.
    pub(super) fn drive_event(&mut self, disk: usize, io: &mut Io<'_>) {
        self.disks[disk].event(io);
        if self.disks[disk].hard == Hard::Quiet {
            self.hard_next(disk, true, io);
        }
    }

    /// The handler of the interrupt of `disk` begins with the next finished command, if there is
    /// one; `enters` is whether the interrupt has just come.
    fn hard_next(&mut self, disk: usize, enters: bool, io: &mut Io<'_>) {
        let Completes::OnHost { timer } = self.disks[disk].completes else {
            return;
        };
        let Some(&(id, _)) = self.disks[disk].finished.front() else {
            self.disks[disk].hard = Hard::Quiet;
            return;
        };
        let mut time = self.costs.end;
        if enters {
            time += self.costs.irq;
        }
        if let Some(at) = self.submitted_at(disk, id) {
            io.interrupt(at, time);
        }
        self.disks[disk].hard = Hard::Ending;
        io.arm(timer, io.now + time);
    }

    /// The thread that has submitted a request of a disk's queue, while it is there.
    fn submitted_at(&self, disk: usize, id: crate::elevator::RequestId) -> Option<VcpuName> {
        self.vbds[self.vbd_of(disk, id)?].at()
    }

    /// The handler has ended a command.
    pub(super) fn hard_done(&mut self, disk: usize, io: &mut Io<'_>) {
        let first = self.disks[disk].finished.pop_front();
        let (id, command) = first.expect("the handler ends what is finished");
        let at = self.submitted_at(disk, id);
        if let Some(vbd) = self.vbd_of(disk, id) {
            self.vbds[vbd].front.ends.served(io, &command.spent);
        }
        self.moved(disk, id, DiskPlace::Drive, DiskPlace::Answering, io);
        let mut tags = core::mem::take(&mut self.tags);
        tags.extend(self.disks[disk].layer.queue.requests().tags(id));
        for tag in tags.drain(..) {
            let number = tag as u32;
            let thread = &mut self.threads[self.backlog.get(number).thread];
            thread.over.push_back(number);
            if let Some(at) = self.vbds[thread.vbd].at() {
                Site::queue_work(io, at, thread.item);
            }
        }
        self.tags = tags;
        let layer = &mut self.disks[disk].layer;
        let now = layer.jiffies(io.now);
        layer.queue.complete(now, id);
        let issuing = self.act(disk, io);
        if let (Some(at), true) = (at, issuing.0 > 0) {
            io.interrupt(at, self.costs.command * issuing.0 as u64);
        }
        self.issue(disk, issuing, io);
        self.hard_next(disk, false, io);
    }

    /// The threads of QEMU in `domain` are there: those of guests' disks look into the rings.
    pub(super) fn qemu_starts(&mut self, domain: DomainId, io: &mut Io<'_>) {
        for (i, vbd) in (0..).zip(&mut self.vbds) {
            let Some(thread) = vbd.config.back.qemu().filter(|own| own.domain == domain) else {
                continue;
            };
            let guest = vbd.config.domain;
            let front = io.offer(guest, domain, 0, OfPort::Front.token(i));
            let front = front.expect("a guest starts before its threads, with free ports");
            let back = io.connect(domain, guest, front, thread.index, OfPort::Back.token(i));
            vbd.front.port = Some(front);
            vbd.back_port = Some(back.expect("a thread that starts has free ports"));
            for thread in &mut self.threads[vbd.threads.clone()] {
                thread.wanted = true;
            }
            let item = self.threads[vbd.threads.start].item;
            io.queue_work(thread, item);
        }
    }

    /// The threads of QEMU in `domain` end: commands that they were handing on go to the drive, and
    /// nothing waits for them in the queues.
    pub(super) fn qemu_ends(&mut self, domain: DomainId, io: &mut Io<'_>) {
        for vbd in 0..self.vbds.len() {
            let own = &mut self.vbds[vbd];
            if own.config.back.qemu().is_none_or(|at| at.domain != domain) {
                continue;
            }
            (own.front.port, own.back_port) = (None, None);
            let (disk, threads) = (own.config.disk, own.threads.clone());
            for t in threads {
                if let Some(issuing) = self.threads[t].end() {
                    self.issue(disk, issuing, io);
                }
            }
            let layer = &mut self.disks[disk].layer;
            let now = layer.jiffies(io.now);
            layer.queue.unplug(now);
            let issuing = self.act(disk, io);
            self.issue(disk, issuing, io);
        }
    }
}
