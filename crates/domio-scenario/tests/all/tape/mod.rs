//! A device that is neither a network nor a disk, and does not ship: all that it takes is this
//! folder, and the program that adds the device to the parts.

mod keys;
mod test;

use domio_core::{DomainId, Duration};
use domio_scenario::DeviceEntry;
use domio_vmm::bus::{Attach, Blueprint, Device, Io, KernelIo, Owner, Passed};
use domio_vmm::process::{Answer, Call, Pid, What};

/// What scenarios can ask for.
pub static ENTRY: DeviceEntry = DeviceEntry {
    name: "tapes",
    records: None,
    kind: keys::tapes(),
};

/// Tapes that answer after they were wound, without anybody's work.
#[derive(Clone, Debug)]
pub struct TapeConfig {
    driver: DomainId,
    /// What winding takes.
    wind: Duration,
    /// Whose tapes there are, and how long each is.
    tapes: Vec<(DomainId, u64)>,
}

/// The model of all of them.
pub struct Tape {
    config: TapeConfig,
    /// Calls under way.
    winding: Vec<Pid>,
    passed: Passed,
}

impl Blueprint for TapeConfig {
    type Model = Tape;

    fn make(&self, _: &mut Attach<'_>, _: u64, _: u32) -> Tape {
        Tape {
            config: self.clone(),
            winding: Vec::new(),
            passed: Passed::default(),
        }
    }
}

impl Device for Tape {
    fn serves(&self, domain: DomainId) -> bool {
        let mut users = self.config.tapes.iter();
        domain == self.config.driver || users.any(|(user, _)| *user == domain)
    }

    fn drives(&self, domain: DomainId) -> bool {
        domain == self.config.driver
    }

    fn plug(&mut self, _: DomainId, _: &mut Io<'_>) {}

    fn unplug(&mut self, _: DomainId, _: &mut Io<'_>) {}

    fn call(&mut self, call: Call, by: Pid, _: &mut KernelIo<'_, '_>) -> Answer {
        let (_, length) = self.config.tapes[call.file.file as usize];
        if let Some(place) = self.winding.iter().position(|pid| *pid == by) {
            self.winding.remove(place);
            return match call.what {
                What::Read { offset, bytes } => {
                    self.passed.requests_read += 1;
                    Answer::Return(bytes.min(length.saturating_sub(offset)))
                }
                _ => Answer::Return(0),
            };
        }
        self.winding.push(by);
        Answer::Run(self.config.wind, Owner::Nobody)
    }

    fn passed(&self, _: DomainId) -> Passed {
        self.passed
    }
}
