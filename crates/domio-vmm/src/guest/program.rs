//! The program of the process that executes continues.

use super::pending::Pending;
use super::{Guest, Job, Level};
use crate::bus::device::Device;
use crate::bus::io::{Io, KernelIo};
use crate::process::run::Next;
use alloc::vec::Vec;
use domio_core::VcpuName;

impl Guest {
    /// Continues with the program that [`Step::Program`](super::Step::Program) was about, on vcpu
    /// `vcpu` of its domain. The answer is what follows in addition to looking at what the guest
    /// does next. A finished job is appended to `jobs`.
    pub(crate) fn advance<D: Device>(
        &mut self,
        vcpu: VcpuName,
        devices: &mut [D],
        io: &mut Io<'_>,
        jobs: &mut Vec<Job>,
    ) -> Next {
        let Level::Task(index) = self.level else {
            return Next::GoOn;
        };
        let pid = self.pid(vcpu.index, index);
        // Without devices nothing is left for later: a program computes and sleeps.
        let mut alone = None;
        let mut kernel = KernelIo {
            vcpu,
            io,
            pending: match &mut self.kernel {
                Some(kernel) => &mut kernel.pending,
                None => alone.get_or_insert_with(Pending::default),
            },
        };
        let mut task = self.tasks.edit(index as usize);
        let next = task.advance(pid, self.switch, devices, &mut kernel);
        drop(task);
        if let Next::Report(finished) = next {
            let task = index as u8;
            jobs.push(Job::Report { task, finished });
        }
        let asked = kernel.has_asked();
        self.find_task_wake();
        if next == Next::GoOn
            && !asked
            && let Some(left) = self.goes_on(io.now)
            && !left.is_zero()
        {
            return Next::Run(left);
        }
        next
    }

    /// The process that executes makes a hypercall, which returns `value`.
    pub(crate) fn hypercall_returned(&mut self, value: u64) {
        if let Level::Task(index) = self.level {
            self.tasks.edit(index as usize).returned(value);
        }
    }

    /// Name of the program that executes, for a complaint.
    pub(crate) fn program(&mut self) -> &'static str {
        match self.level {
            Level::Task(index) => self.tasks.edit(index as usize).program(),
            _ => "",
        }
    }
}
