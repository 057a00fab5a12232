//! Work of the driver domain on its files: loop threads, `kjournald` and `pdflush`.
//!
//! A loop thread takes one piece of I/O of its disk after the other, reads and writes the file
//! through the page cache, and answers the guest as soon as the call on the file returns: after a
//! read when the pages are there, after a write when they are dirty in the driver domain's memory.

use super::Split;
use super::class::DiskPlace;
use super::image::{Loop, Working, files_tag, queue_tag};
use crate::elevator::{Bio, IoWay, RequestId, Submitter};
use crate::fs::contract::{FileOp, FsStep, QueueCongestion};
use crate::queue::Submitted;
use domio_core::{Instant, VcpuName};
use domio_vmm::bus::{Io, KernelIo, Owner, Progress};

/// What exists where a worker does.
const MOUNTED: &str = "a worker has a file system";

impl Split {
    /// The driver domain boots: the threads of its file systems begin.
    pub(super) fn boot_files(&mut self, io: &mut Io<'_>) {
        let vcpu = VcpuName::new(self.driver, 0);
        for images in self.images.iter_mut().flatten() {
            while let Some(task) = images.mounted.fs.take_woken() {
                let worker = &mut self.workers[images.worker(task)];
                worker.sleeps = false;
                io.queue_work(vcpu, worker.item);
            }
            if let Some(at) = images.mounted.rearm(io.now) {
                io.set_timer_on(vcpu, images.mounted.timer, at);
            }
        }
    }

    /// The timer of the file system on `disk` has expired.
    pub(super) fn files_timer(&mut self, disk: usize, kernel: &mut KernelIo<'_, '_>) {
        if let Some(images) = &mut self.images[disk] {
            images.mounted.expired(kernel.now());
        }
        self.wake_workers(disk, kernel);
    }

    /// Those continue whom the file system of `disk` wakes.
    pub(super) fn wake_workers(&mut self, disk: usize, kernel: &mut KernelIo<'_, '_>) {
        while let Some(images) = &mut self.images[disk]
            && let Some(task) = images.mounted.fs.take_woken()
        {
            let w = images.worker(task);
            let worker = &mut self.workers[w];
            worker.sleeps = false;
            kernel.queue_work(worker.item);
            self.loop_moves(w, DiskPlace::Looping, kernel.io);
        }
        let Some(images) = &mut self.images[disk] else {
            return;
        };
        if let Some(at) = images.mounted.rearm(kernel.now()) {
            kernel.set_timer(images.mounted.timer, 0, at);
        }
    }

    /// The virtual disk that a request of the file system on `disk` is for: the one in whose file
    /// the sector is, or the one whose loop thread looks for the way to its file.
    pub(super) fn vbd_of_files(&self, disk: usize, sector: u64, by: Submitter) -> Option<usize> {
        let images = self.images[disk].as_ref()?;
        let looped = || {
            self.workers[by.index() - self.threads.len()]
                .looped
                .as_ref()
        };
        images.vbd_at(sector).or_else(|| Some(looped()?.vbd))
    }

    /// The loop thread of `vbd` gets the request with this number.
    pub(super) fn loop_takes(&mut self, vbd: usize, number: u32, kernel: &mut KernelIo<'_, '_>) {
        let id = self.backlog.get(number).entry.id;
        let front = &self.vbds[vbd].front;
        front.moved(id, DiskPlace::Ring, DiskPlace::Loop, kernel.io);
        let of = |looped: &Loop| looped.vbd == vbd;
        let mut workers = self.workers.iter_mut();
        let worker = workers.find(|worker| worker.looped.as_ref().is_some_and(of));
        let worker = worker.expect("a disk that is a file has a loop thread");
        if let Some(looped) = &mut worker.looped {
            looped.queue.push_back(number);
        }
        kernel.queue_work(worker.item);
    }

    /// What the file system on `disk` sees of the queue.
    fn files_congestion(&self, disk: usize) -> QueueCongestion {
        let queue = &self.disks[disk].layer.queue;
        QueueCongestion {
            read: queue.is_congested(IoWay::Read),
            write: queue.is_congested(IoWay::Write),
        }
    }

    /// The piece of a loop thread goes from where it is to `to`.
    fn loop_moves(&mut self, w: usize, to: DiskPlace, io: &mut Io<'_>) {
        let Some(looped) = &mut self.workers[w].looped else {
            return;
        };
        looped.watched = looped.watched.filter(|_| to == DiskPlace::HostQueue);
        let from = core::mem::replace(&mut looped.place, to);
        if let Some(number) = looped.current.filter(|_| from != to) {
            let id = self.backlog.get(number).entry.id;
            self.vbds[looped.vbd].front.moved(id, from, to, io);
        }
    }

    /// A loop thread goes to sleep in its file system: for a read that is under way, or for room.
    fn loop_sleeps(&mut self, w: usize, kernel: &mut KernelIo<'_, '_>) {
        let worker = &self.workers[w];
        // Nothing but records comes of it.
        if worker.looped.is_none() || !kernel.io.stages() {
            return;
        }
        let images = self.images[worker.disk].as_ref().expect(MOUNTED);
        match images.awaited(worker.task) {
            Some((tag, place)) => {
                self.loop_moves(w, place, kernel.io);
                if let Some(looped) = &mut self.workers[w].looped {
                    looped.watched = (place == DiskPlace::HostQueue).then_some(tag);
                }
            }
            None => self.loop_stands(w, kernel),
        }
    }

    /// A loop thread goes to sleep, not for a read: says whose pages fill the memory.
    fn loop_stands(&mut self, w: usize, kernel: &mut KernelIo<'_, '_>) {
        if self.workers[w].looped.is_none() || !kernel.io.stages() {
            return;
        }
        let disk = self.workers[w].disk;
        let images = self.images[disk].as_mut().expect(MOUNTED);
        for at in 0..images.files.len() {
            let domain = |vbd: usize| self.vbds[vbd].config.domain;
            let (vbd, _, told) = images.files[at];
            let is_own = |other: &&(usize, u32, u32)| domain(other.0) == domain(vbd);
            if images.files[..at].iter().any(|other| is_own(&other)) {
                continue;
            }
            let own = images.files.iter().filter(is_own);
            let pages = own
                .map(|(_, file, _)| images.mounted.fs.to_write(*file))
                .sum();
            if pages != told {
                images.files[at].2 = pages;
                self.vbds[vbd].front.ends.fills(kernel.io, pages);
            }
        }
        self.loop_moves(w, DiskPlace::PageCache, kernel.io);
    }

    /// The drive has a request of `disk`: pieces whose reads are in it are there.
    pub(super) fn files_started(&mut self, disk: usize, id: RequestId, io: &mut Io<'_>) {
        let Some(images) = &mut self.images[disk] else {
            return;
        };
        let mut tags = core::mem::take(&mut self.file_tags);
        tags.extend(self.disks[disk].layer.queue.requests().tags(id));
        for tag in tags.iter().copied().filter_map(files_tag) {
            if let Some(read) = images.reads.iter_mut().find(|(own, _)| *own == tag) {
                read.1 = true;
            }
        }
        for tag in tags.drain(..).filter_map(files_tag) {
            for w in 0..self.workers.len() {
                let own = self.workers[w].disk == disk;
                let looped = self.workers[w].looped.as_ref().filter(|_| own);
                if looped.is_some_and(|looped| looped.watched == Some(tag)) {
                    self.loop_moves(w, DiskPlace::Drive, io);
                }
            }
        }
        self.file_tags = tags;
    }

    /// A piece of the file system on `disk` is done.
    pub(super) fn files_done(&mut self, disk: usize, tag: u64, now: Instant) {
        let congestion = self.files_congestion(disk);
        let images = self.images[disk].as_mut().expect(MOUNTED);
        images.reads.retain(|(own, _)| *own != tag);
        images.mounted.fs.bio_done(now, tag, congestion);
    }

    /// The next step of a worker; none when it has nothing to do.
    fn worker_step(&mut self, w: usize, kernel: &mut KernelIo<'_, '_>) -> Option<FsStep> {
        let now = kernel.now();
        let disk = self.workers[w].disk;
        let congestion = self.files_congestion(disk);
        let worker = &mut self.workers[w];
        let mounted = &mut self.images[disk].as_mut().expect(MOUNTED).mounted;
        if let Some(looped) = &mut worker.looped
            && looped.current.is_none()
        {
            let number = looped.queue.pop_front()?;
            looped.current = Some(number);
            looped.place = DiskPlace::Looping;
            let entry = self.backlog.get(number).entry;
            let front = &self.vbds[looped.vbd].front;
            front.moved(entry.id, DiskPlace::Loop, DiskPlace::Looping, kernel.io);
            let (file, offset) = (looped.file, entry.sector * 512);
            let bytes = u64::from(entry.sectors) * 512;
            let op = match entry.writes {
                true => FileOp::Write {
                    file,
                    offset,
                    bytes,
                },
                false => FileOp::Read {
                    file,
                    offset,
                    bytes,
                },
            };
            mounted.fs.begin(now, worker.task, op);
        }
        Some(mounted.step(worker.task, &mut worker.sleeps, congestion, now))
    }

    /// For whom a worker does a step.
    fn step_owner(&self, w: usize, step: FsStep) -> Owner {
        let worker = &self.workers[w];
        let vbd = match (&worker.looped, step) {
            (Some(looped), _) => Some(looped.vbd),
            (None, FsStep::Submit(bio)) => {
                let images = self.images[worker.disk].as_ref().expect(MOUNTED);
                images.vbd_at(images.start + bio.sector)
            }
            (None, _) => None,
        };
        self.owner_of(vbd)
    }

    /// A worker continues.
    pub(super) fn worker(&mut self, w: usize, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let progress = self.work_on(w, kernel);
        self.wake_workers(self.workers[w].disk, kernel);
        progress
    }

    fn work_on(&mut self, w: usize, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let disk = self.workers[w].disk;
        loop {
            match self.workers[w].at {
                Working::Next if self.workers[w].asleep => {
                    if !core::mem::take(&mut self.workers[w].woken) {
                        return Progress::Done;
                    }
                    self.loop_moves(w, DiskPlace::Looping, kernel.io);
                    let layer = &mut self.disks[disk].layer;
                    let now = layer.jiffies(kernel.now());
                    let became = layer.queue.resume(now, self.workers[w].submitter);
                    self.workers[w].asleep = became == Submitted::Asleep;
                    self.loop_asks(w, kernel);
                    if let Some(progress) = self.worker_pays(w, disk, kernel) {
                        return progress;
                    }
                }
                Working::Next => {
                    let Some(step) = self.worker_step(w, kernel) else {
                        return Progress::Done;
                    };
                    let FsStep::Run(time) = step else {
                        self.workers[w].at = Working::Holding(step);
                        continue;
                    };
                    // Time is spent for the piece of I/O that comes of it.
                    let next = self.worker_step(w, kernel);
                    let next = next.expect("a call continues after it has executed");
                    self.workers[w].at = Working::Holding(next);
                    return Progress::Run(time, self.step_owner(w, next));
                }
                Working::Holding(step) => {
                    if let Some(progress) = self.take_step(w, step, kernel) {
                        return progress;
                    }
                }
                Working::Submitting(bio) => {
                    self.submit_of_files(w, bio, kernel);
                    if let Some(progress) = self.worker_pays(w, disk, kernel) {
                        return progress;
                    }
                }
                Working::Issuing(issuing) => {
                    self.workers[w].at = Working::Next;
                    self.issue(disk, issuing, kernel.io);
                }
                Working::Answering(number) => {
                    self.loop_moves(w, DiskPlace::Answering, kernel.io);
                    let looped = self.workers[w].looped.as_mut();
                    let looped = looped.expect("a loop thread answers");
                    looped.current = None;
                    let vbd = looped.vbd;
                    self.workers[w].at = Working::Next;
                    if self.respond(number, kernel) {
                        self.workers[w].at = Working::Notifying;
                        return Progress::Run(self.costs.send_event, self.owner(vbd));
                    }
                }
                Working::Notifying => {
                    self.workers[w].at = Working::Next;
                    if let Some(looped) = &self.workers[w].looped {
                        let vbd = looped.vbd;
                        self.notify(vbd, kernel);
                    }
                }
            }
        }
    }

    /// A worker does what its file system says.
    fn take_step(
        &mut self,
        w: usize,
        step: FsStep,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Option<Progress> {
        let owner = self.step_owner(w, step);
        let disk = self.workers[w].disk;
        let worker = &mut self.workers[w];
        worker.at = Working::Next;
        match step {
            FsStep::Run(time) => Some(Progress::Run(time, owner)),
            FsStep::Submit(bio) => {
                worker.at = Working::Submitting(bio);
                Some(Progress::Run(self.costs.submit, owner))
            }
            FsStep::Unplug => {
                let layer = &mut self.disks[disk].layer;
                let now = layer.jiffies(kernel.now());
                layer.queue.unplug(now);
                self.worker_pays(w, disk, kernel)
            }
            // It may have been woken while it executed.
            FsStep::Sleep if !worker.sleeps => None,
            FsStep::Sleep => {
                self.loop_sleeps(w, kernel);
                Some(Progress::Done)
            }
            FsStep::Done(_) => {
                let looped = worker.looped.as_ref();
                let number = looped.and_then(|looped| looped.current);
                let number = number.expect("threads of a file system never end");
                worker.at = Working::Answering(number);
                Some(Progress::Run(self.costs.respond, owner))
            }
        }
    }

    /// A worker hands a piece of its file system to the disk's queue.
    fn submit_of_files(&mut self, w: usize, mut bio: Bio, kernel: &mut KernelIo<'_, '_>) {
        let worker = &mut self.workers[w];
        let images = self.images[worker.disk].as_mut().expect(MOUNTED);
        if bio.way == IoWay::Read {
            images.reads.push((bio.tag, false));
        }
        worker.asks = bio.way;
        bio.sector += images.start;
        bio.submitter = worker.submitter;
        bio.tag = queue_tag(bio.tag);
        let layer = &mut self.disks[worker.disk].layer;
        let now = layer.jiffies(kernel.now());
        worker.asleep = layer.queue.submit(now, &bio) == Submitted::Asleep;
        self.loop_asks(w, kernel);
    }

    /// A loop thread has asked the disk's queue for a request. If there is none, it sleeps.
    fn loop_asks(&mut self, w: usize, kernel: &mut KernelIo<'_, '_>) {
        match self.workers[w].asks {
            _ if !self.workers[w].asleep => {}
            IoWay::Read => self.loop_moves(w, DiskPlace::HostQueue, kernel.io),
            IoWay::Write => self.loop_stands(w, kernel),
        }
    }

    /// A worker has run the disk's queue: pays for the commands, if there are any.
    fn worker_pays(
        &mut self,
        w: usize,
        disk: usize,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Option<Progress> {
        let issuing = self.act(disk, kernel);
        self.workers[w].at = Working::Next;
        if issuing.0 == 0 {
            return None;
        }
        self.workers[w].at = Working::Issuing(issuing);
        Some(self.paying(disk, issuing, kernel))
    }
}
