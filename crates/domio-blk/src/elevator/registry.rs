//! The list of elevators.

use super::contract::Elevator;
use super::request::Jiffies;
use super::tunables::{Tunable, Tuning};
use super::{anticipatory, cfq, deadline, noop};
use alloc::boxed::Box;

/// An elevator that can be asked for by name.
#[derive(Clone, Copy, Debug)]
pub struct ElevatorInfo {
    /// Name in `/sys/block/DISK/queue/scheduler` and on the command line.
    pub name: &'static str,
    /// A short form of the name, where there is one.
    pub alias: Option<&'static str>,
    /// One line.
    pub summary: &'static str,
    /// Where the rules come from.
    pub source: &'static str,
    /// What can be set, in the order of [`Tuning`].
    pub tunables: &'static [Tunable],
    /// Makes one, for a queue that is empty at the given time.
    pub make: fn(&Tuning, Jiffies) -> Box<dyn Elevator>,
}

static ELEVATORS: &[ElevatorInfo] = &[noop::INFO, deadline::INFO, anticipatory::INFO, cfq::INFO];

/// Every elevator.
pub fn elevators() -> &'static [ElevatorInfo] {
    ELEVATORS
}

/// The elevator of that name or alias.
pub fn find_elevator(name: &str) -> Option<&'static ElevatorInfo> {
    let found = |e: &&ElevatorInfo| e.name == name || e.alias == Some(name);
    ELEVATORS.iter().find(found)
}
