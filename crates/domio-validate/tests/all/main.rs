//! Simulations of recordings, from outside.

mod credit2;
mod faults;
mod linux;
mod networks;
mod recordings;
