//! Simulations of recordings, from outside.

mod credit2;
mod faults;
mod networks;
mod recordings;
