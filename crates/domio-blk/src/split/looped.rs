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
use domio_core::VcpuName;
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

    /// Those go on whom the file system of `disk` wakes.
    pub(super) fn wake_workers(&mut self, disk: usize, kernel: &mut KernelIo<'_, '_>) {
        let Some(images) = &mut self.images[disk] else {
            return;
        };
        while let Some(task) = images.mounted.fs.take_woken() {
            let worker = &mut self.workers[images.worker(task)];
            worker.sleeps = false;
            kernel.queue_work(worker.item);
        }
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
        front.moved(id, DiskPlace::Ring, DiskPlace::PageCache, kernel);
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
    fn loop_moves(&mut self, w: usize, to: DiskPlace, kernel: &mut KernelIo<'_, '_>) {
        let Some(looped) = &mut self.workers[w].looped else {
            return;
        };
        let from = core::mem::replace(&mut looped.place, to);
        if let Some(number) = looped.current.filter(|_| from != to) {
            let id = self.backlog.get(number).entry.id;
            self.vbds[looped.vbd].front.moved(id, from, to, kernel);
        }
    }

    /// The drive has a request of `disk`: pieces whose reads are in it are there.
    pub(super) fn files_started(
        &mut self,
        disk: usize,
        id: RequestId,
        kernel: &mut KernelIo<'_, '_>,
    ) {
        if self.images[disk].is_none() {
            return;
        }
        let mut tags = core::mem::take(&mut self.file_tags);
        tags.extend(self.disks[disk].layer.queue.requests().tags(id));
        for tag in tags.drain(..).filter_map(files_tag) {
            for w in 0..self.workers.len() {
                let own = self.workers[w].disk == disk;
                let looped = self.workers[w].looped.as_mut().filter(|_| own);
                if looped.is_some_and(|looped| looped.started(tag)) {
                    self.loop_moves(w, DiskPlace::Drive, kernel);
                }
            }
        }
        self.file_tags = tags;
    }

    /// A piece of the file system on `disk` is done.
    pub(super) fn files_done(&mut self, disk: usize, tag: u64, kernel: &mut KernelIo<'_, '_>) {
        for w in 0..self.workers.len() {
            let own = self.workers[w].disk == disk;
            let looped = self.workers[w].looped.as_mut().filter(|_| own);
            if looped.is_some_and(|looped| looped.read(tag)) {
                self.loop_moves(w, DiskPlace::PageCache, kernel);
            }
        }
        let congestion = self.files_congestion(disk);
        let images = self.images[disk].as_mut().expect(MOUNTED);
        let fs = &mut images.mounted.fs;
        fs.bio_done(kernel.now(), tag, congestion);
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
            let entry = self.backlog.get(number).entry;
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

    /// A worker goes on.
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
                    let layer = &mut self.disks[disk].layer;
                    let now = layer.jiffies(kernel.now());
                    let became = layer.queue.resume(now, self.workers[w].submitter);
                    self.workers[w].asleep = became == Submitted::Asleep;
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
                    let next = next.expect("a call goes on after it has executed");
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
                    self.issue(disk, issuing, kernel);
                }
                Working::Answering(number) => {
                    self.loop_moves(w, DiskPlace::Answering, kernel);
                    let looped = self.workers[w].looped.as_mut();
                    let looped = looped.expect("a loop thread answers");
                    looped.current = None;
                    looped.place = DiskPlace::PageCache;
                    looped.reads.clear();
                    looped.watched = None;
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
                let watched = worker.looped.as_mut().and_then(Loop::watch);
                if let Some(place) = watched {
                    self.loop_moves(w, place, kernel);
                }
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
        if let (Some(looped), IoWay::Read) = (&mut worker.looped, bio.way) {
            looped.reads.push((bio.tag, false));
        }
        bio.sector += self.images[worker.disk].as_ref().expect(MOUNTED).start;
        bio.submitter = worker.submitter;
        bio.tag = queue_tag(bio.tag);
        let layer = &mut self.disks[worker.disk].layer;
        let now = layer.jiffies(kernel.now());
        worker.asleep = layer.queue.submit(now, &bio) == Submitted::Asleep;
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
