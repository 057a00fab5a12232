//! The driver domain's side: threads of back-ends, and the completions of the disks.

use super::Split;
use super::back::{Pending, Serving, bio};
use super::class::DiskPlace;
use super::config::BackKind;
use super::disk::{Completes, Ending, Issuing};
use super::image::files_tag;
use super::layer::Site;
use crate::elevator::RequestId;
use crate::queue::Submitted;
use domio_core::{Duration, VcpuName};
use domio_vmm::bus::{Io, KernelIo, Owner, Progress};

impl Split {
    /// The virtual disk that a request of a disk's queue is for; none for what the driver domain's
    /// file system does for itself.
    pub(super) fn vbd_of(&self, disk: usize, id: RequestId) -> Option<usize> {
        let rq = &self.disks[disk].layer.queue.requests()[id];
        match self.threads.get(rq.submitter.index()) {
            Some(thread) => Some(thread.vbd),
            None => self.vbd_of_files(disk, rq.sector, rq.submitter),
        }
    }

    /// Whom work for a virtual disk is done for.
    pub(super) fn owner_of(&self, vbd: Option<usize>) -> Owner {
        vbd.map_or(Owner::Nobody, |vbd| self.owner(vbd))
    }

    pub(super) fn owner(&self, vbd: usize) -> Owner {
        Owner::Domain(self.vbds[vbd].config.domain)
    }

    /// Somebody says that there are requests in the ring of `vbd`.
    pub(super) fn want(&mut self, vbd: usize, kernel: &mut KernelIo<'_, '_>) {
        for thread in &mut self.threads[self.vbds[vbd].threads.clone()] {
            thread.wanted = true;
            kernel.queue_work(thread.item);
        }
    }

    /// The queue of `disk` was run: timers and wake-ups, and the commands that are to be paid for.
    pub(super) fn act(&mut self, disk: usize, site: &mut impl Site) -> Issuing {
        let disk = &mut self.disks[disk];
        disk.layer.act(site);
        let mut next = 0;
        while let Some(&submitter) = disk.layer.woken.get(next) {
            next += 1;
            let own = submitter.index();
            let (woken, item, at) = match self.threads.get_mut(own) {
                Some(thread) => (&mut thread.woken, thread.item, self.vbds[thread.vbd].at()),
                None => {
                    let worker = &mut self.workers[own - self.threads.len()];
                    let at = Some(VcpuName::new(self.driver, 0));
                    (&mut worker.woken, worker.item, at)
                }
            };
            match at {
                Some(at) => {
                    *woken = true;
                    site.queue_work(at, item);
                }
                // The thread has ended, and what it waited for is of no use.
                None => {
                    let now = disk.layer.jiffies(site.now());
                    disk.layer.queue.resume(now, submitter);
                    disk.layer.queue.unplug(now);
                    disk.layer.act(site);
                }
            }
        }
        disk.layer.woken.clear();
        disk.begin_paying()
    }

    /// The time that it takes to hand commands on, which are the last that `disk` has started.
    pub(super) fn paying(
        &self,
        disk: usize,
        issuing: Issuing,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Progress {
        let layer = &self.disks[disk].layer;
        let commands = layer.started.iter().rev().take(issuing.0);
        // What is nobody's goes along with the others.
        let vbds = commands.filter_map(|id| self.vbd_of(disk, *id));
        let guests = vbds.map(|vbd| self.vbds[vbd].config.domain);
        let first = guests.clone().next();
        let owner = match first {
            None => Owner::Nobody,
            Some(first) if guests.clone().all(|guest| guest == first) => Owner::Domain(first),
            Some(_) => {
                for guest in guests {
                    kernel.share(guest, self.costs.command);
                }
                Owner::Shared
            }
        };
        Progress::Run(self.costs.command * issuing.0 as u64, owner)
    }

    /// Hands commands on that are paid for.
    pub(super) fn issue(&mut self, disk: usize, issuing: Issuing, io: &mut Io<'_>) {
        for _ in 0..issuing.0 {
            let (id, depth) = self.disks[disk].issue(io);
            let requests = self.disks[disk].layer.queue.requests();
            let (sector, sectors) = (requests[id].sector, requests[id].sectors);
            if let Some(vbd) = self.vbd_of(disk, id) {
                let ends = self.vbds[vbd].front.ends;
                ends.started(io, depth, (sector, sectors));
            }
            self.files_started(disk, id, io);
            self.moved(disk, id, DiskPlace::HostQueue, DiskPlace::Drive, io);
        }
    }

    /// Says that all pieces in a request of a disk's queue go from one place to another.
    pub(super) fn moved(
        &self,
        disk: usize,
        id: RequestId,
        from: DiskPlace,
        to: DiskPlace,
        io: &mut Io<'_>,
    ) {
        if io.stages() {
            for tag in self.disks[disk].layer.queue.requests().tags(id) {
                if files_tag(tag).is_some() {
                    continue;
                }
                let pending = self.backlog.get(tag as u32);
                let front = &self.vbds[self.threads[pending.thread].vbd].front;
                front.moved(pending.entry.id, from, to, io);
            }
        }
    }

    /// A thread of a back-end continues.
    pub(super) fn thread(&mut self, t: usize, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let vbd = self.threads[t].vbd;
        let disk = self.vbds[vbd].config.disk;
        loop {
            match self.threads[t].at {
                Serving::Idle => match self.look(t) {
                    Some(time) => return Progress::Run(time, self.owner(vbd)),
                    None if matches!(self.threads[t].at, Serving::Idle) => return Progress::Done,
                    None => {}
                },
                Serving::Batch(left) if self.threads[t].asleep => {
                    if !core::mem::take(&mut self.threads[t].woken) {
                        return Progress::Done;
                    }
                    let layer = &mut self.disks[disk].layer;
                    let now = layer.jiffies(kernel.now());
                    let became = layer.queue.resume(now, self.threads[t].submitter);
                    self.threads[t].asleep = became == Submitted::Asleep;
                    if let Some(progress) = self.pay(t, disk, left, kernel) {
                        return progress;
                    }
                }
                Serving::Batch(left) => match self.take(t, left) {
                    Some(time) => return Progress::Run(time, self.owner(vbd)),
                    None => {
                        let layer = &mut self.disks[disk].layer;
                        let now = layer.jiffies(kernel.now());
                        layer.queue.unplug(now);
                        let issuing = self.act(disk, kernel);
                        self.threads[t].at = Serving::Last(issuing);
                        if issuing.0 > 0 {
                            return self.paying(disk, issuing, kernel);
                        }
                    }
                },
                Serving::Taking(number, left) => {
                    self.submit(t, number, kernel);
                    if let Some(progress) = self.pay(t, disk, left, kernel) {
                        return progress;
                    }
                }
                Serving::Issuing(issuing, left) => {
                    self.threads[t].at = Serving::Batch(left);
                    self.issue(disk, issuing, kernel.io);
                }
                Serving::Last(issuing) => {
                    self.threads[t].at = Serving::Idle;
                    self.issue(disk, issuing, kernel.io);
                    let vbd = &mut self.vbds[vbd];
                    if vbd.config.back.asks_after_batch() {
                        self.threads[t].wanted |= vbd.front.ring.final_check_for_requests();
                    }
                }
                Serving::Answering(number) => {
                    let notifies = self.respond(number, kernel);
                    self.threads[t].at = Serving::Idle;
                    self.threads[t].wanted = true;
                    if notifies {
                        self.threads[t].at = Serving::Notifying;
                        return Progress::Run(self.costs.send_event, self.owner(vbd));
                    }
                }
                Serving::Notifying => {
                    self.threads[t].at = Serving::Idle;
                    self.notify(vbd, kernel);
                }
            }
        }
    }

    /// An idle thread looks for something to do. Returns the time of what it begins.
    fn look(&mut self, t: usize) -> Option<Duration> {
        let thread = &mut self.threads[t];
        let vbd = &mut self.vbds[thread.vbd];
        if let Some(number) = thread.over.pop_front() {
            thread.at = Serving::Answering(number);
            return Some(self.costs.respond + self.costs.process);
        }
        let gone = vbd.back_port.is_none();
        let seen = vbd.front.ring.requests();
        if gone || !thread.wanted || seen == 0 {
            thread.wanted = false;
            return None;
        }
        if self.backlog.may_take(t, thread.has, vbd.config.back) {
            thread.wanted = false;
            thread.at = Serving::Batch(seen);
        }
        None
    }

    /// Begins with the next request of a batch. Returns the time that the request takes, unless the
    /// batch is over.
    fn take(&mut self, t: usize, left: u32) -> Option<Duration> {
        let thread = &mut self.threads[t];
        let vbd = &mut self.vbds[thread.vbd];
        let back = vbd.config.back;
        if left == 0 || vbd.back_port.is_none() {
            return None;
        }
        if !self.backlog.may_take(t, thread.has, back) {
            thread.wanted = true;
            return None;
        }
        // Where several threads serve a disk, others may have been quicker.
        let entry = vbd.front.ring.take_request()?;
        let number = self.backlog.begin(Pending { thread: t, entry }, back);
        thread.has += 1;
        thread.at = Serving::Taking(number, left - 1);
        vbd.taken += 1;
        let own = match back.own_limit() {
            None => Duration::ZERO,
            Some(_) => self.costs.process,
        };
        Some(self.costs.serve + own)
    }

    /// A thread hands its request to the disk's queue.
    fn submit(&mut self, t: usize, number: u32, kernel: &mut KernelIo<'_, '_>) {
        let thread = &mut self.threads[t];
        let vbd = &self.vbds[thread.vbd];
        let entry = self.backlog.get(number).entry;
        if vbd.config.back == BackKind::File {
            let vbd = thread.vbd;
            self.loop_takes(vbd, number, kernel);
            return;
        }
        let (from, to) = (DiskPlace::Ring, DiskPlace::HostQueue);
        vbd.front.moved(entry.id, from, to, kernel.io);
        let bio = bio(&entry, &vbd.config, thread.submitter, number);
        let layer = &mut self.disks[vbd.config.disk].layer;
        let now = layer.jiffies(kernel.now());
        thread.asleep = layer.queue.submit(now, &bio) == Submitted::Asleep;
    }

    /// A thread has run the disk's queue: pays for the commands, if there are any.
    fn pay(
        &mut self,
        t: usize,
        disk: usize,
        left: u32,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Option<Progress> {
        let issuing = self.act(disk, kernel);
        if issuing.0 == 0 {
            self.threads[t].at = Serving::Batch(left);
            return None;
        }
        self.threads[t].at = Serving::Issuing(issuing, left);
        Some(self.paying(disk, issuing, kernel))
    }

    /// The I/O of a request is over: its response goes into the ring. Returns whether the guest is
    /// to be notified.
    pub(super) fn respond(&mut self, number: u32, kernel: &mut KernelIo<'_, '_>) -> bool {
        let Pending { thread, entry } = self.backlog.get(number);
        let own = &mut self.threads[thread];
        own.has -= 1;
        let v = own.vbd;
        let vbd = &mut self.vbds[v];
        let (from, to) = (DiskPlace::Answering, DiskPlace::Response);
        vbd.front.moved(entry.id, from, to, kernel.io);
        let ring = &mut vbd.front.ring;
        let put = ring.put_response(entry.id);
        put.expect("its request was taken");
        vbd.taken -= 1;
        match entry.writes {
            true => vbd.front.passed.requests_written += 1,
            false => vbd.front.passed.requests_read += 1,
        }
        let notifies = ring.push_responses() && vbd.back_port.is_some();
        let more = match vbd.taken {
            _ if vbd.config.back.asks_after_batch() => false,
            0 => ring.final_check_for_requests(),
            _ => ring.requests() > 0,
        };
        for waiting in self.backlog.end(number, vbd.config.back) {
            self.threads[waiting].wanted = true;
            kernel.queue_work(self.threads[waiting].item);
        }
        if more {
            self.want(v, kernel);
        }
        notifies
    }

    pub(super) fn notify(&mut self, vbd: usize, kernel: &mut KernelIo<'_, '_>) {
        if let Some(port) = self.vbds[vbd].back_port {
            kernel.send(port);
        }
    }

    /// The interrupt of a disk.
    pub(super) fn disk_irq(&mut self, disk: usize, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let own = &mut self.disks[disk];
        own.entered = !own.entered;
        if !own.entered {
            if let Completes::InDomain { softirq, .. } = own.completes {
                kernel.raise(softirq);
            }
            return Progress::Done;
        }
        let first = own.finished.front().map(|(id, _)| *id);
        let vbd = first.and_then(|id| self.vbd_of(disk, id));
        Progress::Run(self.costs.irq, self.owner_of(vbd))
    }

    /// The block softirq ends the commands that a disk has finished.
    pub(super) fn disk_softirq(&mut self, disk: usize, kernel: &mut KernelIo<'_, '_>) -> Progress {
        loop {
            match self.disks[disk].ending {
                Ending::Next => {
                    let Some((id, command)) = self.disks[disk].finished.pop_front() else {
                        return Progress::Done;
                    };
                    self.disks[disk].ending = Ending::One(id);
                    let vbd = self.vbd_of(disk, id);
                    if let Some(vbd) = vbd {
                        self.vbds[vbd].front.ends.served(kernel.io, &command.spent);
                    }
                    let respond = self.costs.respond * self.answers_at_once(disk, id);
                    if !respond.is_zero() {
                        // The pages are unmapped.
                        kernel.flush_tlbs();
                    }
                    return Progress::Run(self.costs.end + respond, self.owner_of(vbd));
                }
                Ending::One(id) => {
                    self.over(disk, id, kernel);
                    self.disks[disk].ending = Ending::Answered(id);
                }
                Ending::Answered(id) => {
                    if let Some(vbd) = self.disks[disk].to_notify.pop_front() {
                        self.disks[disk].ending = Ending::Notifying(vbd, id);
                        return Progress::Run(self.costs.send_event, self.owner(vbd));
                    }
                    let layer = &mut self.disks[disk].layer;
                    let now = layer.jiffies(kernel.now());
                    layer.queue.complete(now, id);
                    let issuing = self.act(disk, kernel);
                    self.disks[disk].ending = Ending::Issuing(issuing);
                    if issuing.0 > 0 {
                        return self.paying(disk, issuing, kernel);
                    }
                }
                Ending::Notifying(vbd, id) => {
                    self.disks[disk].ending = Ending::Answered(id);
                    self.notify(vbd, kernel);
                }
                Ending::Issuing(issuing) => {
                    self.disks[disk].ending = Ending::Next;
                    self.issue(disk, issuing, kernel.io);
                }
            }
        }
    }

    /// How many requests of guests the softirq itself answers when a request of a disk's queue is
    /// over.
    fn answers_at_once(&self, disk: usize, id: RequestId) -> u64 {
        let requests = self.disks[disk].layer.queue.requests();
        let own = requests.tags(id).filter(|tag| files_tag(*tag).is_none());
        let vbds = own.map(|tag| self.threads[self.backlog.get(tag as u32).thread].vbd);
        let by_softirq = |vbd: &usize| self.vbds[*vbd].config.back.own_limit().is_none();
        vbds.filter(by_softirq).count() as u64
    }

    /// The I/O in a request of a disk's queue is over: blkback answers immediately, threads of
    /// processes when they execute.
    fn over(&mut self, disk: usize, id: RequestId, kernel: &mut KernelIo<'_, '_>) {
        self.moved(disk, id, DiskPlace::Drive, DiskPlace::Answering, kernel.io);
        let mut tags = core::mem::take(&mut self.tags);
        tags.extend(self.disks[disk].layer.queue.requests().tags(id));
        let mut of_files = false;
        for tag in tags.drain(..) {
            if let Some(tag) = files_tag(tag) {
                of_files = true;
                self.files_done(disk, tag, kernel.now());
                continue;
            }
            let number = tag as u32;
            let thread = &mut self.threads[self.backlog.get(number).thread];
            let vbd = thread.vbd;
            if self.vbds[vbd].config.back.own_limit().is_some() {
                thread.over.push_back(number);
                kernel.queue_work(thread.item);
            } else if self.respond(number, kernel) {
                let to_notify = &mut self.disks[disk].to_notify;
                if !to_notify.contains(&vbd) {
                    to_notify.push_back(vbd);
                }
            }
        }
        self.tags = tags;
        if of_files {
            self.wake_workers(disk, kernel);
        }
    }

    /// The driver domain's `kblockd` works for a disk.
    pub(super) fn disk_kblockd(&mut self, disk: usize, kernel: &mut KernelIo<'_, '_>) -> Progress {
        if let Some(issuing) = self.disks[disk].kblockd.take() {
            self.issue(disk, issuing, kernel.io);
            return Progress::Done;
        }
        self.disks[disk].layer.kblockd(kernel);
        let issuing = self.act(disk, kernel);
        if issuing.0 == 0 {
            return Progress::Done;
        }
        self.disks[disk].kblockd = Some(issuing);
        self.paying(disk, issuing, kernel)
    }
}
