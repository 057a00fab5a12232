//! A guest's file system on its disk: calls of processes, and the threads of the file system.
//!
//! Threads are work items of the guest's kernel: one that sleeps is queued again when the file
//! system wakes it.

use super::bio::Origin;
use super::front::{Doing, Front, Task};
use super::guest::Vbd;
use crate::elevator::Submitter;
use crate::fs::FileSystem;
use crate::fs::config::FsConfig;
use crate::fs::contract::{FIRST_PROCESS, FileOp, FsStep};
use alloc::vec::Vec;
use domio_core::{Duration, Instant, VcpuName};
use domio_vmm::bus::{Attach, Io, KernelIo, KernelTimer, Owner, Progress, Token, WorkItem};
use domio_vmm::process::{Prepare, What};

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
    pub fs: FileSystem,
    threads: Vec<FsThread>,
    timer: KernelTimer,
    /// When the timer is due.
    due: Option<Instant>,
    tick: Duration,
    /// What was there before, and the number of the first file of each.
    prepared: Vec<(Prepare, u32)>,
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
            fs: FileSystem::new(*config),
            threads,
            timer: attach.kernel_timer(timer),
            due: None,
            tick: Duration::from_nanos(1_000_000_000 / u64::from(config.hz)),
            prepared: Vec::new(),
        }
    }

    /// Number of the first of the files that `prepare` asks for. They are made the first time.
    pub fn prepared(&mut self, prepare: &Prepare) -> u32 {
        if let Some((_, first)) = self.prepared.iter().find(|(known, _)| known == prepare) {
            return *first;
        }
        let mut first = None;
        for place in 0..prepare.files {
            let directory = place % prepare.directories;
            let file = self.fs.populate(directory, prepare.size(place), place);
            let first = *first.get_or_insert(file);
            assert_eq!(file, first + place, "prepared files have numbers in a row");
        }
        let first = first.expect("there is a file to prepare");
        self.prepared.push((*prepare, first));
        first
    }

    /// The next step of the task `submitter`, which sleeps or does not.
    pub fn step(
        &mut self,
        submitter: Submitter,
        sleeps: &mut bool,
        front: &Front,
        kernel: &KernelIo<'_, '_>,
    ) -> FsStep {
        if *sleeps {
            return FsStep::Sleep;
        }
        let step = self.fs.step(kernel.now(), submitter, front.congestion());
        *sleeps = step == FsStep::Sleep;
        step
    }

    /// Notes that the file system wants `submitter` to go on. Returns the work item of a thread.
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

    /// When the timer is to be set for, if it is to be moved: a time that has passed is the next
    /// tick.
    fn rearm(&mut self, now: Instant) -> Option<Option<Instant>> {
        let next = self.fs.next_timer();
        let next = if next == Instant::MAX {
            None
        } else if next <= now {
            // Nobody is quicker than the kernel's clock.
            Some(self.due.filter(|due| *due > now).unwrap_or(now + self.tick))
        } else {
            Some(next)
        };
        (next != self.due).then(|| {
            self.due = next;
            next
        })
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
        What::Accept | What::Asked | What::Close | What::Prepare(_) => return None,
    })
}

impl Vbd {
    /// The guest boots: the threads of the file system begin.
    pub fn boot(&mut self, io: &mut Io<'_>) {
        let vcpu = VcpuName::new(self.config.domain, 0);
        let Some(files) = &mut self.files else { return };
        while let Some(submitter) = files.fs.take_woken() {
            if let Some(item) = files.wake(submitter) {
                io.queue_work(vcpu, item);
            }
        }
        if let Some(at) = files.rearm(io.now) {
            io.set_timer_on(vcpu, files.timer, at);
        }
    }

    /// A thread of the file system goes on.
    pub fn fs_thread(&mut self, thread: usize, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let Some(files) = &mut self.files else {
            return Progress::Done;
        };
        let submitter = files.threads[thread].task.submitter;
        let mut task = files.threads[thread].task;
        let mut sleeps = files.threads[thread].sleeps;
        let doing = self.front.go_on(
            &mut task,
            |front, kernel| files.step(submitter, &mut sleeps, front, kernel),
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
            files.due = None;
            files.fs.timer(kernel.now());
        }
        self.wake(kernel);
    }

    /// Those go on whom the file system wakes, or for whom the queue has a request.
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
        while let Some(submitter) = files.fs.take_woken() {
            match files.wake(submitter) {
                Some(item) => kernel.io.queue_work(vcpu, item),
                None => self.calls.woken(submitter, kernel),
            }
        }
        if let Some(at) = files.rearm(kernel.now()) {
            kernel.set_timer(files.timer, 0, at);
        }
    }
}
