//! Scenarios from the outside: what is accepted, what is refused and how that is told.

mod common;
mod errors;
mod overrides;
mod properties;
mod shipped;
mod stories;
