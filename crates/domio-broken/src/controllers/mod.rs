//! Controllers with one bug each, which the conformance suite must catch.
//!
//! Every one is the controller [`half::Half`] but for one mistake. Its documentation describes the
//! mistake, and [`Bug::CAUGHT_BY`] names the one checker that sees it; a test holds both to it.
//! None of them is in the registry.

pub mod answers;
pub mod half;
pub mod memory;

use core::fmt;
use domio_contract::control::{Answers, Controller, Descriptor, Observation};
use half::Half;

/// One mistake: what is done instead of [`Half::observe`].
pub trait Bug: Send + 'static {
    /// Name of the checker that must catch it, one of the suite's.
    const CAUGHT_BY: &'static str;

    /// The descriptor: that of the correct controller, unless a promise would see the mistake, too.
    const DESCRIPTOR: &'static Descriptor = &half::DESCRIPTOR;

    /// Answers one observation, wrongly, with the correct controller at hand.
    fn observe(&mut self, half: &mut Half, seen: &Observation<'_>, answers: &mut Answers);
}

/// The controller with a mistake.
pub struct Broken<B> {
    half: Half,
    bug: B,
}

impl<B: Bug> Broken<B> {
    /// The controller with `bug`.
    pub fn new(bug: B) -> Self {
        Broken {
            half: Half::default(),
            bug,
        }
    }
}

impl<B: Bug> Controller for Broken<B> {
    fn descriptor(&self) -> &'static Descriptor {
        B::DESCRIPTOR
    }

    fn observe(&mut self, seen: &Observation<'_>, answers: &mut Answers) {
        self.bug.observe(&mut self.half, seen, answers);
    }

    fn dump(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        writeln!(out, "{:?}", self.half.seen)
    }
}
