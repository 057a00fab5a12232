//! The discrete-event engine: event queue, random streams, run loop.
//!
//! The engine knows nothing of what it simulates. A model implements [`Model`], puts its events
//! into an [`EventQueue`] and hands both to [`run()`]; every random draw comes from a
//! [`RandomStream`] that belongs to one named component.
//!
//! Time is whole nanoseconds, events at equal times are delivered in the order in which they were
//! posted or armed, and nothing here reads a clock, a file or a hash map: a run is a function of
//! its inputs.
//!
//! | module | holds |
//! |---|---|
//! | [`queue`] | [`EventQueue`]: what every model talks to, and how its three parts fit together |
//! | [`mod@run`] | the run loop, its limits and how a run ended |
//! | [`random`] | random streams that do not disturb each other, distributions of durations |
//! | [`hold`] | benchmark loops, the engine's and a plain binary heap's |
//!
//! ```
//! use domio_core::{Duration, Instant};
//! use domio_sim::{EventQueue, Flow, Limits, Model, run};
//!
//! /// Counts beats, one a millisecond.
//! struct Metronome {
//!     beats: u32,
//! }
//!
//! #[derive(Clone, Copy)]
//! struct Beat;
//!
//! impl Model for Metronome {
//!     type Event = Beat;
//!
//!     fn handle(&mut self, queue: &mut EventQueue<Beat>, beat: Beat) -> Flow {
//!         self.beats += 1;
//!         queue.post(queue.now() + Duration::from_millis(1), beat);
//!         Flow::Continue
//!     }
//! }
//!
//! let mut metronome = Metronome { beats: 0 };
//! let mut queue = EventQueue::new();
//! queue.post(Instant::ZERO, Beat);
//! let outcome = run(
//!     &mut metronome,
//!     &mut queue,
//!     &Limits::until(Instant::ZERO + Duration::from_millis(10)),
//! );
//! assert!(outcome.is_resumable());
//! assert_eq!(metronome.beats, 11);
//! ```
#![no_std]
#![cfg_attr(not(test), warn(clippy::float_arithmetic))]

extern crate alloc;

mod arrivals;
mod far;
pub mod hold;
mod near;
pub mod queue;
pub mod random;
pub mod run;
mod timers;
mod tournament;

pub use queue::{EventQueue, TimerId};
pub use random::RandomStream;
pub use run::{Flow, Limit, Limits, Model, Outcome, StopCause, run};
