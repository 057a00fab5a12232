//! A second kind of disk, for tests alone: all that it takes is this folder and one line of the
//! registry.

mod keys;
mod test;

use domio_core::{DomainId, Duration};
use domio_vmm::bus::{Attach, Blueprint, Device, Io, KernelIo, Owner, Passed};
use domio_vmm::process::{Answer, Call, Pid, What};

/// Disks that answer after a while, without anybody's work.
#[derive(Clone, Debug)]
pub struct TinyConfig {
    driver: DomainId,
    disks: Vec<(DomainId, TinyDisk)>,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct TinyDisk {
    bytes: u64,
    /// What each call takes.
    seek: Duration,
}

/// The model of all of them.
pub struct Tiny {
    config: TinyConfig,
    /// Calls under way.
    seeking: Vec<Pid>,
    passed: Passed,
}

impl Blueprint for TinyConfig {
    type Model = Tiny;

    fn make(&self, _: &mut Attach<'_>, _: u64, _: u32) -> Tiny {
        Tiny {
            config: self.clone(),
            seeking: Vec::new(),
            passed: Passed::default(),
        }
    }
}

impl Device for Tiny {
    fn serves(&self, domain: DomainId) -> bool {
        let mut users = self.config.disks.iter();
        domain == self.config.driver || users.any(|(user, _)| *user == domain)
    }

    fn drives(&self, domain: DomainId) -> bool {
        domain == self.config.driver
    }

    fn plug(&mut self, _: DomainId, _: &mut Io<'_>) {}

    fn unplug(&mut self, _: DomainId, _: &mut Io<'_>) {}

    fn call(&mut self, call: Call, by: Pid, _: &mut KernelIo<'_, '_>) -> Answer {
        let (_, disk) = self.config.disks[call.file.file as usize];
        if let Some(place) = self.seeking.iter().position(|pid| *pid == by) {
            self.seeking.remove(place);
            return match call.what {
                What::Read { offset, bytes } => {
                    self.passed.requests_read += 1;
                    Answer::Return(bytes.min(disk.bytes.saturating_sub(offset)))
                }
                _ => Answer::Return(0),
            };
        }
        self.seeking.push(by);
        Answer::Run(disk.seek, Owner::Nobody)
    }

    fn passed(&self, _: DomainId) -> Passed {
        self.passed
    }
}
