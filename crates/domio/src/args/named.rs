//! What an argument names: a mark, from which the completions of shells find what there is.

use clap::builder::ArgExt;

/// What an argument names.
#[derive(Clone, Copy, Debug)]
pub enum Named {
    /// A policy, with values of parameters behind a colon.
    Policy,
    /// A controller.
    Controller,
    /// An elevator.
    Elevator,
    /// A drive.
    Drive,
    /// A scenario that ships, or a file.
    Scenario,
    /// A scenario that ships.
    Shipped,
    /// A claim, or its first words.
    Claim,
    /// A schema.
    Schema,
}

impl ArgExt for Named {}
