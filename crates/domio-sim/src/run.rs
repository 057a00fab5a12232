//! The run loop: hands events to a model until it ends, and says how it ended.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::fmt;

use domio_core::Instant;

use crate::queue::EventQueue;

/// What is simulated.
pub trait Model {
    /// A small value that says what happens; the queue copies it around.
    type Event: Copy;

    /// Handles one event. The time is `queue.now()`; whatever follows from the event is posted to
    /// `queue` or armed there.
    fn handle(&mut self, queue: &mut EventQueue<Self::Event>, event: Self::Event) -> Flow;
}

/// Whether a run continues after an event.
///
/// Boxed, as it is returned for each event and nearly always means to continue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Deliver the next event.
    Continue,
    /// End the run here.
    Stop(Box<StopCause>),
}

/// Why a model ends its run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StopCause {
    /// The model has reached an end of its own, such as the last job done.
    Halted {
        /// What ended it, for the reader of a report.
        reason: String,
    },
    /// A policy under test broke its contract.
    PolicyFault {
        /// What it did and what the contract asks for.
        fault: String,
    },
    /// Something that had to progress does not.
    Stalled {
        /// What does not progress, and since when.
        what: String,
    },
}

/// When to end a run that does not end by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Events up to and including this time are delivered; [`Instant::MAX`] for no time limit.
    pub until: Instant,
    /// Most events that one call of [`run()`] delivers; `None` for no such limit.
    pub max_events: Option<u64>,
    /// Most events at a single instant, over all calls. A model in which handling an event at one
    /// instant keeps causing the next at the same instant does not let time pass; this limit turns
    /// such a loop into [`Outcome::Stalled`] instead of a run that never returns.
    pub max_rounds_at_one_instant: u32,
}

impl Limits {
    /// Default of [`max_rounds_at_one_instant`](Self::max_rounds_at_one_instant). A host with 256
    /// pcpus whose ticks all coincide needs a few thousand events at one instant; this is well
    /// above that, and a loop reaches it within about ten milliseconds.
    pub const DEFAULT_MAX_ROUNDS: u32 = 100_000;

    /// Only a time limit, and the default bound on events at one instant.
    pub fn until(until: Instant) -> Self {
        Limits {
            until,
            max_events: None,
            max_rounds_at_one_instant: Self::DEFAULT_MAX_ROUNDS,
        }
    }
}

/// A limit other than time that ended a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// [`Limits::max_events`], which was this many.
    Events(u64),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Events(n) => write!(f, "{n} events"),
        }
    }
}

/// How a run ended. A run cannot fail; it ends in one of these ways.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "a run may have ended before its time"]
pub enum Outcome {
    /// Everything up to the time limit has happened.
    Completed {
        /// The time limit, or without one ([`Instant::MAX`]) the time of the last event.
        at: Instant,
    },
    /// The model ended the run.
    Halted {
        /// Time of the event that ended it.
        at: Instant,
        /// The model's reason.
        reason: String,
    },
    /// Time does not pass, or the model found something that does not progress.
    Stalled {
        /// The instant that the run did not get past.
        at: Instant,
        /// What does not progress.
        what: String,
    },
    /// A policy under test broke its contract.
    PolicyFault {
        /// Time of the offence.
        at: Instant,
        /// What the policy did.
        fault: String,
    },
    /// A limit other than time was reached, with events left to deliver before the time limit.
    LimitReached {
        /// Time of the last event delivered.
        at: Instant,
        /// Which limit.
        limit: Limit,
    },
}

impl Outcome {
    /// When the run ended.
    pub fn at(&self) -> Instant {
        match *self {
            Outcome::Completed { at }
            | Outcome::Halted { at, .. }
            | Outcome::Stalled { at, .. }
            | Outcome::PolicyFault { at, .. }
            | Outcome::LimitReached { at, .. } => at,
        }
    }

    /// Whether calling [`run()`] again, with wider limits, continues this run as if it had never
    /// been interrupted. After any other outcome the state of the model is as the last event left
    /// it, good for a look and not for continuing.
    pub fn is_resumable(&self) -> bool {
        matches!(
            self,
            Outcome::Completed { .. } | Outcome::LimitReached { .. }
        )
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Completed { at } => write!(f, "completed at {at}"),
            Outcome::Halted { at, reason } => write!(f, "halted at {at}: {reason}"),
            Outcome::Stalled { at, what } => write!(f, "stalled at {at}: {what}"),
            Outcome::PolicyFault { at, fault } => write!(f, "policy fault at {at}: {fault}"),
            Outcome::LimitReached { at, limit } => {
                write!(f, "stopped at {at}: limit of {limit} reached")
            }
        }
    }
}

/// Delivers events to `model` in order, until a limit is reached, no event is left or the model
/// stops.
///
/// Calling it again after a [resumable](Outcome::is_resumable) outcome continues the run: the
/// model sees exactly the events of one uninterrupted run.
pub fn run<M: Model>(model: &mut M, queue: &mut EventQueue<M::Event>, limits: &Limits) -> Outcome {
    let last_event = match limits.max_events {
        Some(n) => queue.popped().saturating_add(n),
        None => u64::MAX,
    };
    let max_rounds = u64::from(limits.max_rounds_at_one_instant);
    loop {
        if queue.popped() >= last_event && queue.peek_time().is_some_and(|t| t <= limits.until) {
            return Outcome::LimitReached {
                at: queue.now(),
                limit: Limit::Events(limits.max_events.unwrap_or(u64::MAX)),
            };
        }
        let Some((at, event)) = queue.pop(limits.until) else {
            let at = if limits.until == Instant::MAX {
                queue.now()
            } else {
                limits.until
            };
            return Outcome::Completed { at };
        };
        if queue.popped_now() > max_rounds {
            let what = format!("more than {max_rounds} events at one instant, time does not pass");
            return Outcome::Stalled { at, what };
        }
        if let Flow::Stop(stop) = model.handle(queue, event) {
            return match *stop {
                StopCause::Halted { reason } => Outcome::Halted { at, reason },
                StopCause::PolicyFault { fault } => Outcome::PolicyFault { at, fault },
                StopCause::Stalled { what } => Outcome::Stalled { at, what },
            };
        }
    }
}
