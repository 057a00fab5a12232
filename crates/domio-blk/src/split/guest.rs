//! A guest's disk: the front-end, and the calls of processes.

use super::bio::{Origin, Piece};
use super::config::VbdConfig;
use super::files::{FileCall, Files, file_op};
use super::front::{Doing, Front, Task};
use super::raw::RawCall;
use crate::elevator::{IoWay, Submitter};
use crate::fs::contract::FIRST_PROCESS;
use alloc::vec::Vec;
use core::ops::Range;
use domio_core::VcpuName;
use domio_vmm::bus::{KernelIo, Owner, Progress};
use domio_vmm::evtchn::Port;
use domio_vmm::process::{Answer, Pid, What};

/// What a call goes to.
#[derive(Clone, Copy, Debug)]
enum To {
    /// The disk itself.
    Disk(RawCall),
    /// The file system.
    Files(FileCall),
}

/// A call under way.
#[derive(Clone, Copy, Debug)]
struct Ongoing {
    number: u64,
    by: Pid,
    task: Task,
    to: To,
}

/// The calls of a disk's processes.
#[derive(Default)]
pub(super) struct Calls {
    /// By place of the process.
    calls: Vec<Option<Ongoing>>,
    under_way: usize,
    made: u64,
    /// Places of the processes that have used the disk, from which the numbers of submitters
    /// follow: for each vcpu, by the process there. [`NO_PLACE`] for those that have not.
    places: Vec<(u16, Vec<u32>)>,
}

/// Of a process that has not used a disk.
const NO_PLACE: u32 = u32::MAX;

impl Calls {
    fn submitter(&mut self, by: Pid) -> Submitter {
        let vcpu = self.places.iter().position(|(vcpu, _)| *vcpu == by.vcpu);
        let vcpu = vcpu.unwrap_or_else(|| {
            self.places.push((by.vcpu, Vec::new()));
            self.places.len() - 1
        });
        let places = &mut self.places[vcpu].1;
        if places.len() <= by.index as usize {
            places.resize(by.index as usize + 1, NO_PLACE);
        }
        let place = &mut places[by.index as usize];
        if *place == NO_PLACE {
            *place = self.calls.len() as u32;
            self.calls.push(None);
        }
        Submitter(FIRST_PROCESS.0 + *place)
    }

    /// The place of the process, if it is in a call.
    fn place(&self, by: Pid) -> Option<usize> {
        let (_, places) = self.places.iter().find(|(vcpu, _)| *vcpu == by.vcpu)?;
        let place = *places.get(by.index as usize)? as usize;
        self.calls.get(place)?.is_some().then_some(place)
    }

    fn begin(&mut self, by: Pid, submitter: Submitter, to: To) -> usize {
        self.made += 1;
        self.under_way += 1;
        let place = (submitter.0 - FIRST_PROCESS.0) as usize;
        self.calls[place] = Some(Ongoing {
            number: self.made,
            by,
            task: Task::new(submitter),
            to,
        });
        place
    }

    /// The call of the process at `place` is over.
    fn end(&mut self, place: usize) {
        self.calls[place] = None;
        self.under_way -= 1;
    }

    fn of(&mut self, submitter: Submitter) -> Option<&mut Ongoing> {
        let place = submitter.0.checked_sub(FIRST_PROCESS.0)?;
        self.calls.get_mut(place as usize)?.as_mut()
    }

    /// The queue has a request for `submitter`.
    pub fn has_request(&mut self, submitter: Submitter, kernel: &mut KernelIo<'_, '_>) {
        if let Some(call) = self.of(submitter) {
            call.task.woken = true;
            kernel.wake(call.by);
        }
    }

    /// The file system wakes `submitter`.
    pub fn woken(&mut self, submitter: Submitter, kernel: &mut KernelIo<'_, '_>) {
        if let Some(call) = self.of(submitter) {
            if let To::Files(own) = &mut call.to {
                own.sleeps = false;
            }
            kernel.wake(call.by);
        }
    }

    /// A piece of the call with this number, of the process at `place`, is over: the process
    /// continues after the last one.
    fn piece_over(&mut self, place: u32, number: u64, kernel: &mut KernelIo<'_, '_>) {
        let call = self.calls[place as usize].as_mut();
        if let Some(Ongoing {
            to: To::Disk(raw),
            by,
            ..
        }) = call.filter(|call| call.number == number)
        {
            raw.unanswered -= 1;
            if raw.unanswered == 0 {
                kernel.wake(*by);
            }
        }
    }
}

/// A disk of a guest.
pub(super) struct Vbd {
    /// Index of the disk.
    number: usize,
    pub config: VbdConfig,
    pub front: Front,
    pub files: Option<Files>,
    pub back_port: Option<Port>,
    /// Whether the handler of the back-end's port has been entered.
    pub back_entered: bool,
    /// Threads that serve the disk.
    pub threads: Range<usize>,
    /// Requests that the back-end has taken and not answered.
    pub taken: u32,
    pub(super) calls: Calls,
}

impl Vbd {
    /// The disk with this number, which nobody uses.
    pub fn new(
        number: usize,
        config: VbdConfig,
        front: Front,
        files: Option<Files>,
        threads: Range<usize>,
    ) -> Self {
        Vbd {
            number,
            config,
            front,
            files,
            back_port: None,
            back_entered: false,
            threads,
            taken: 0,
            calls: Calls::default(),
        }
    }

    /// The vcpu whose threads serve the disk; none for a thread of QEMU while the guest is not
    /// there.
    pub fn at(&self) -> Option<VcpuName> {
        let stays = self.config.back.qemu().is_none();
        (stays || self.back_port.is_some()).then_some(self.front.ends.driver)
    }

    /// A process calls the file `inode`, or continues with a call.
    pub fn call(
        &mut self,
        what: What,
        inode: u32,
        by: Pid,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Answer {
        if let Some(answer) = self.listed(what, inode) {
            return answer;
        }
        let place = self.calls.place(by);
        let Some(place) = place.or_else(|| self.begin(what, inode, by, kernel)) else {
            return Answer::Return(0);
        };
        let call = self.calls.calls[place].as_mut().expect("a call under way");
        let (number, submitter) = (call.number, call.task.submitter);
        let (is_raw, creates) = match call.to {
            To::Disk(_) => (true, false),
            To::Files(own) => (false, own.creates),
        };
        let files = &mut self.files;
        let Ongoing { task, to, .. } = call;
        let doing = self.front.go_on(
            task,
            |front, kernel| match to {
                To::Disk(raw) => raw.step(),
                To::Files(own) => {
                    let files = files.as_mut().expect("a file is in a file system");
                    let (congestion, now) = (front.congestion(), kernel.now());
                    let mounted = &mut files.mounted;
                    mounted.step(submitter, &mut own.sleeps, congestion, now)
                }
            },
            |bio| match is_raw {
                true => Origin::Call(place as u32, number),
                false => Origin::Files(bio.tag),
            },
            kernel,
        );
        if matches!(doing, Doing::Done(_)) {
            self.calls.end(place);
        }
        self.wake(kernel);
        match doing {
            Doing::Run(time) => Answer::Run(time, Owner::Nobody),
            Doing::Block => Answer::Block,
            Doing::Done(file) if creates => {
                Answer::Return((self.number as u64) << super::INODE | file)
            }
            Doing::Done(value) => Answer::Return(value),
        }
    }

    /// What a process asks of the files that were there before, and of their lists: the answer
    /// takes no time.
    fn listed(&mut self, what: What, inode: u32) -> Option<Answer> {
        let number = (self.number as u64) << super::INODE;
        let fs = self.files.as_mut().map(|files| &mut files.mounted);
        let own = |file: u32| file & ((1 << super::INODE) - 1);
        let file = match (what, fs) {
            (What::Prepare(prepare), Some(files)) => files.prepared(&prepare),
            (What::Choose { alone, draw }, Some(files)) => files.fs.choose(inode, alone, draw),
            (What::Release { first }, Some(files)) => {
                files.fs.leave(own(first), inode);
                return Some(Answer::Return(0));
            }
            (What::Enlist { first }, Some(files)) => {
                files.fs.enlist(own(first), inode);
                return Some(Answer::Return(0));
            }
            (
                What::Prepare(_) | What::Choose { .. } | What::Release { .. } | What::Enlist { .. },
                None,
            ) => return Some(Answer::Return(0)),
            _ => return None,
        };
        Some(Answer::Return(number | u64::from(file)))
    }

    /// Begins a call; none for what there is nothing to do for.
    fn begin(
        &mut self,
        what: What,
        inode: u32,
        by: Pid,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Option<usize> {
        if let Some(op) = file_op(what, inode) {
            let files = self.files.as_mut()?;
            let submitter = self.calls.submitter(by);
            files.mounted.fs.begin(kernel.now(), submitter, op);
            let to = To::Files(FileCall {
                sleeps: false,
                creates: matches!(what, What::Create { .. }),
            });
            return Some(self.calls.begin(by, submitter, to));
        }
        let (way, part) = match what {
            What::Read { offset, bytes } => (IoWay::Read, (offset, bytes)),
            What::Write { offset, bytes } => (IoWay::Write, (offset, bytes)),
            _ => return None,
        };
        let submitter = self.calls.submitter(by);
        let (most, _) = self.config.back.request_limits();
        let raw = RawCall::new(way, submitter, part, (self.config.sectors, most));
        Some(self.calls.begin(by, submitter, To::Disk(raw)))
    }

    /// The handler of blkfront's port.
    pub fn interrupt(&mut self, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let progress = self.front.interrupt(kernel);
        let mut over = core::mem::take(&mut self.front.over);
        for piece in over.drain(..) {
            self.over(&piece, kernel);
        }
        self.front.over = over;
        self.wake(kernel);
        progress
    }

    /// The guest's `kblockd`.
    pub fn kblockd(&mut self, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let progress = self.front.kblockd(kernel);
        self.wake(kernel);
        progress
    }

    /// A piece is over: whoever waits continues.
    fn over(&mut self, piece: &Piece, kernel: &mut KernelIo<'_, '_>) {
        match piece.origin {
            Origin::Call(place, number) => self.calls.piece_over(place, number, kernel),
            Origin::Files(tag) => {
                let files = self.files.as_mut().expect("a file is in a file system");
                let congestion = self.front.congestion();
                files.mounted.fs.bio_done(kernel.now(), tag, congestion);
            }
        }
    }

    /// Whether nothing of the disk is under way in the guest.
    pub fn is_idle(&self) -> bool {
        self.calls.under_way == 0 && self.front.pieces.len() == 0
    }
}
