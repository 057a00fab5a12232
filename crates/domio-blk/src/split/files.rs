//! A guest's file system on its disk: calls of processes, and the threads of the file system.
//!
//! Threads are work items of the guest's kernel: one that sleeps is queued again when the file
//! system wakes it.

use super::bio::Origin;
use super::front::{Doing, Task};
use super::guest::Vbd;
use super::mounted::Mounted;
use crate::elevator::Submitter;
use crate::fs::config::FsConfig;
use crate::fs::contract::{FIRST_PROCESS, FileOp};
use alloc::vec::Vec;
use domio_core::VcpuName;
use domio_vmm::bus::{Attach, Io, KernelIo, Owner, Progress, Token, WorkItem};
use domio_vmm::process::What;

/// Threads of a file system.
pub(super) const THREADS: usize = FIRST_PROCESS.0 as usize;

/// A thread of the file system.
struct FsThread {
    task: Task,
    sleeps: bool,
    item: WorkItem,
}

/// A call on a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileCall {
    /// The file system has the process sleep.
    pub sleeps: bool,
    /// The call returns the number of a new file.
    pub creates: bool,
}

/// The file system of a disk.
pub(super) struct Files {
    pub mounted: Mounted,
    threads: Vec<FsThread>,
}

impl Files {
    /// An empty file system. `threads` are the tokens of its threads, `timer` that of its timer.
    pub fn new(
        config: &FsConfig,
        attach: &mut Attach<'_>,
        threads: [Token; THREADS],
        timer: Token,
    ) -> Self {
        let thread = |(i, token): (u32, Token)| FsThread {
            task: Task::new(Submitter(i)),
            sleeps: true,
            item: attach.work(token),
        };
        let threads = (0..).zip(threads).map(thread).collect();
        Files {
            mounted: Mounted::new(config, attach, timer),
            threads,
        }
    }

    /// Notes that the file system wants `submitter` to continue. Returns the work item of a thread.
    fn wake(&mut self, submitter: Submitter) -> Option<WorkItem> {
        let thread = self.threads.get_mut(submitter.index())?;
        thread.sleeps = false;
        Some(thread.item)
    }

    /// Notes that there is a request for `submitter`. Returns the work item of a thread.
    fn has_request(&mut self, submitter: Submitter) -> Option<WorkItem> {
        let thread = self.threads.get_mut(submitter.index())?;
        thread.task.woken = true;
        Some(thread.item)
    }
}

/// What the file system is asked for by `what` on `file`; none where there is nothing to do.
pub(super) fn file_op(what: What, file: u32) -> Option<FileOp> {
    Some(match what {
        What::Create { directory } => FileOp::Create { directory },
        What::SyncAll => FileOp::Sync,
        // The disk itself has no more to be asked.
        _ if file == 0 => return None,
        What::Remove => FileOp::Remove { file },
        What::Read { offset, bytes } => FileOp::Read {
            file,
            offset,
            bytes,
        },
        What::Write { offset, bytes } => FileOp::Write {
            file,
            offset,
            bytes,
        },
        What::Sync => FileOp::Flush { file },
        What::Size => FileOp::Size { file },
        What::Accept
        | What::Asked
        | What::Close
        | What::Prepare(_)
        | What::Choose { .. }
        | What::Release { .. }
        | What::Enlist { .. } => return None,
    })
}

impl Vbd {
    /// The guest boots: the threads of the file system begin.
    pub fn boot(&mut self, io: &mut Io<'_>) {
        let vcpu = VcpuName::new(self.config.domain, 0);
        let Some(files) = &mut self.files else { return };
        while let Some(submitter) = files.mounted.fs.take_woken() {
            if let Some(item) = files.wake(submitter) {
                io.queue_work(vcpu, item);
            }
        }
        if let Some(at) = files.mounted.rearm(io.now) {
            io.set_timer_on(vcpu, files.mounted.timer, at);
        }
    }

    /// A thread of the file system continues.
    pub fn fs_thread(&mut self, thread: usize, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let Some(files) = &mut self.files else {
            return Progress::Done;
        };
        let submitter = files.threads[thread].task.submitter;
        let mut task = files.threads[thread].task;
        let mut sleeps = files.threads[thread].sleeps;
        let doing = self.front.go_on(
            &mut task,
            |front, kernel| {
                let (congestion, now) = (front.congestion(), kernel.now());
                files.mounted.step(submitter, &mut sleeps, congestion, now)
            },
            |bio| Origin::Files(bio.tag),
            kernel,
        );
        files.threads[thread].task = task;
        files.threads[thread].sleeps = sleeps;
        self.wake(kernel);
        match doing {
            Doing::Run(time) => Progress::Run(time, Owner::Nobody),
            Doing::Block | Doing::Done(_) => Progress::Done,
        }
    }

    /// The timer of the file system has expired.
    pub fn fs_timer(&mut self, kernel: &mut KernelIo<'_, '_>) {
        if let Some(files) = &mut self.files {
            files.mounted.expired(kernel.now());
        }
        self.wake(kernel);
    }

    /// Those continue whom the file system wakes, or for whom the queue has a request.
    pub(super) fn wake(&mut self, kernel: &mut KernelIo<'_, '_>) {
        let vcpu = VcpuName::new(self.config.domain, 0);
        for submitter in self.front.layer.woken.drain(..) {
            let files = self.files.as_mut();
            if let Some(item) = files.and_then(|files| files.has_request(submitter)) {
                kernel.io.queue_work(vcpu, item);
            } else {
                self.calls.has_request(submitter, kernel);
            }
        }
        let Some(files) = &mut self.files else { return };
        while let Some(submitter) = files.mounted.fs.take_woken() {
            match files.wake(submitter) {
                Some(item) => kernel.io.queue_work(vcpu, item),
                None => self.calls.woken(submitter, kernel),
            }
        }
        if let Some(at) = files.mounted.rearm(kernel.now()) {
            kernel.set_timer(files.mounted.timer, 0, at);
        }
    }
}
