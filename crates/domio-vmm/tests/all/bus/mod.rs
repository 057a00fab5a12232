//! What the device bus is made of.

mod at_hand;
mod lines;
mod locks;
mod owner;
mod pending;
