//! The [`Controller`] trait: what a controller implements and what it may rely on.
//!
//! # Life of a controller
//!
//! ```text
//! set_domain(d)             parameters of the domain, just before the first observation that shows
//!                           it, and whenever an operator changes them
//! observe(seen, answers)    once an interval: figures of the interval, and what is set
//!                           ... the answers are carried out, in their order, some time later
//! observe(seen, answers)    `since` is `now` of the observation before
//! ```
//!
//! # What an answer is worth
//!
//! Reading figures, deciding and setting take time: an answer is carried out after the instant that
//! its observation shows, and the figures of the next interval are partly from before. An answer
//! may be refused (the domain is gone by then), an operator may set something else, and a value may
//! be rounded by the host. A controller therefore believes [`DomainSeen::set`] and not its own
//! memory of what it answered.
//!
//! A charge ([`Change::Charge`](super::Change::Charge)) is no setting but an increment: so much was
//! done on a domain's behalf. Figures count from the observation before, however long ago that was,
//! so that a controller that charges for each interval what the interval shows charges for
//! everything once. What is lost on the way to the host is not charged.
//!
//! What an operator wants for a domain (a ceiling, a share with all that is done on its behalf) is
//! a parameter of the domain. It cannot be read off the settings once a controller changes them.
//!
//! # Who is there
//!
//! Domains come and go between observations. One that an observation does not show is gone, and its
//! state goes too: an id that shows up again later belongs to another domain.
//!
//! # What a controller may not do
//!
//! See a clock, draw random numbers, compute in floating point or panic on figures that make no
//! sense. The same calls give the same answers.
//!
//! [`DomainSeen::set`]: super::DomainSeen::set

use super::change::{Answers, Kinds};
use super::seen::Observation;
use alloc::boxed::Box;
use core::fmt;
pub use domio_core::Conflict;
use domio_core::{DomainId, ParamSpec, ParamValues};

/// How many observations with the same figures a controller that [settles](Promises::settles) may
/// answer. What it remembers with a weight of a half is gone by then: half a number of 64 bits, 64
/// times, is nothing.
pub const SETTLES_WITHIN: usize = 64;

/// What a controller promises. The conformance suite holds it to these.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Promises {
    /// While figures stay the same and answers are carried out, it comes to an end of answering,
    /// but for charges, within [64 observations](SETTLES_WITHIN) with the
    /// default parameters.
    pub settles: bool,
}

/// Everything that is to be known about a controller without running it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Descriptor {
    /// Name in scenarios and on the command line.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Where the rules come from.
    pub source: &'static str,
    /// How long an interval is, made by [`interval_ms`].
    pub interval: ParamSpec,
    /// Parameters of the controller as a whole.
    pub params: &'static [ParamSpec],
    /// Parameters of each domain.
    pub domain_params: &'static [ParamSpec],
    /// What it may answer with. It does what it can where a host has not all of these
    /// [abilities](Observation::abilities).
    pub answers: Kinds,
    /// What it promises.
    pub promises: Promises,
}

/// The declaration of [`Descriptor::interval`], in milliseconds.
pub const fn interval_ms(default: i64, min: i64, max: i64) -> ParamSpec {
    let doc = "Time from one observation to the next.";
    ParamSpec::int("interval_ms", "ms", (min, max), default, doc)
}

/// A controller. See the [module page](self) for the order of calls.
///
/// It owns its view of the domains, touches only itself and the answers, and keeps its state by
/// domain id.
pub trait Controller: Send {
    /// What this controller is.
    fn descriptor(&self) -> &'static Descriptor;

    /// `domain` has these parameters from now on (values of [`Descriptor::domain_params`]).
    /// Default: nothing, for controllers that declare none.
    fn set_domain(&mut self, domain: DomainId, params: &ParamValues) {
        let _ = (domain, params);
    }

    /// An interval is over. What is to be set goes to `answers`, which is empty.
    ///
    /// A valid answer is of a kind that the descriptor names, [can be carried
    /// out](Observation::refuses) as things were at [`Observation::now`], and sets nothing that
    /// another answer to this observation sets.
    fn observe(&mut self, seen: &Observation<'_>, answers: &mut Answers);

    /// Writes the controller's state for people.
    ///
    /// # Errors
    /// Only those of `out`.
    fn dump(&self, out: &mut dyn fmt::Write) -> fmt::Result;
}

/// A controller that can be asked for by name: what its module hands to the registry.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What it is.
    pub descriptor: &'static Descriptor,
    /// Makes one, from values of [`Descriptor::params`].
    pub make: fn(&ParamValues) -> Box<dyn Controller>,
    /// Checks what no single range of [`Descriptor::params`] can say: whether the values go
    /// together.
    pub validate: fn(&ParamValues) -> Result<(), Conflict>,
    /// Likewise for the values of [`Descriptor::domain_params`] of a domain, the third argument,
    /// under values of [`Descriptor::params`], the first one. [`Controller::set_domain`] copes with
    /// whatever this refuses.
    pub validate_domain: fn(&ParamValues, DomainId, &ParamValues) -> Result<(), Conflict>,
}
