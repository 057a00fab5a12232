//! Scenarios from the outside: what is accepted, what is refused and how that is told.

mod common;
mod conflicts;
mod decisions;
mod errors;
mod limits;
mod mistakes;
mod network;
mod overrides;
mod properties;
mod shipped;
mod stories;
