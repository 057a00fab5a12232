//! What a checker is.

use crate::conformance::log::LogEntry;
use crate::conformance::world::World;
use alloc::string::String;
use domio_core::Instant;

/// An observer of one run.
///
/// A checker says what it found, once; it is not asked again in that run.
pub(super) trait Checker {
    /// One of [`CHECKERS`](super::CHECKERS).
    fn name(&self) -> &'static str;

    /// `entry` is next; `world` is the state before it.
    fn entry(&mut self, world: &World, entry: &LogEntry) -> Option<String> {
        let _ = (world, entry);
        None
    }

    /// The host was as `world` says from `from` to `to`, and `to` is later.
    fn lasting(&mut self, world: &World, from: Instant, to: Instant) -> Option<String> {
        let _ = (world, from, to);
        None
    }

    /// The run ended at `at`, not by a fault.
    fn end(&mut self, at: Instant) -> Option<String> {
        let _ = at;
        None
    }
}
