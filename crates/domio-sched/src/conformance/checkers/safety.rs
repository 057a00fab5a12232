//! Checkers that every policy must pass in every script: its decisions can be carried out.

use super::checker::Checker;
use crate::conformance::log::{Fault, LogEntry, Occurrence};
use crate::conformance::world::{VcpuState, World};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use domio_contract::Pause;
use domio_core::Instant;

pub(super) fn all() -> Vec<Box<dyn Checker>> {
    let mut all: Vec<Box<dyn Checker>> = REFUSALS
        .iter()
        .map(|(name, is_mine)| {
            let refusals = Refusals {
                name,
                is_mine: *is_mine,
            };
            Box::new(refusals) as Box<dyn Checker>
        })
        .collect();
    all.push(Box::new(SleepersStop));
    all
}

/// Which refusal of the host belongs to which checker.
type Refusal = (&'static str, fn(&Fault) -> bool);

const REFUSALS: &[Refusal] = &[
    ("one-pcpu-per-vcpu", |f| {
        matches!(f, Fault::RunsElsewhere(..))
    }),
    ("only-runnable-picked", |f| {
        matches!(f, Fault::NotRunnable(..))
    }),
    ("affinity-respected", |f| matches!(f, Fault::NotAllowed(..))),
    ("quiet-after-removal", |f| matches!(f, Fault::NoSuchVcpu(_))),
    ("slice-positive", |f| matches!(f, Fault::ZeroSlice(_))),
    ("bounded-rounds", |f| matches!(f, Fault::Endless(_))),
    ("survives-hotplug", |f| matches!(f, Fault::NotOnline(_))),
];

/// Reports what the host refused.
struct Refusals {
    name: &'static str,
    is_mine: fn(&Fault) -> bool,
}

impl Checker for Refusals {
    fn name(&self) -> &'static str {
        self.name
    }

    fn entry(&mut self, _: &World, entry: &LogEntry) -> Option<String> {
        match entry.what {
            Occurrence::Fault(fault) if (self.is_mine)(&fault) => Some(fault.to_string()),
            _ => None,
        }
    }
}

/// On a host without costs, a vcpu that stops being runnable is gone within the same instant.
struct SleepersStop;

impl Checker for SleepersStop {
    fn name(&self) -> &'static str {
        "sleepers-stop"
    }

    fn lasting(&mut self, world: &World, _: Instant, _: Instant) -> Option<String> {
        let late = |v: &VcpuState| v.on.is_some() && v.pause != Pause::NONE;
        let vcpu = world.vcpus.iter().position(late)?;
        let pcpu = world.vcpus[vcpu].on?;
        Some(alloc::format!(
            "v{vcpu} is not runnable since {} and still runs on {pcpu}: \
             `sleep` and `Cx::park` of a current vcpu must tickle its pcpu",
            world.vcpus[vcpu].since
        ))
    }
}
