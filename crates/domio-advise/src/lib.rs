//! Tools of an operator: each simulates many hosts and says what follows for one.
//!
//! | page | says |
//! |---|---|
//! | [`advice`] | which settings help the guest that is worst off, and who pays |
//! | [`alert`] | how far what a domain gets is from what it was allocated |
//! | [`dom0_share`] | how much of the processor dom0 should get for a mix |
//! | [`calibrate`] | what packets cost a driver domain |
//!
//! Who does the simulations, one after the other or on all cores, is the business of a
//! [`Replicator`](domio_run::Replicator).

pub mod advice;
pub mod alert;
pub mod calibrate;
pub mod dom0_share;
