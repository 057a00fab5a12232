//! The list of elevators.

use super::contract::ElevatorInfo;
use super::{anticipatory, bfq, cfq, deadline, kyber, lease, mq_deadline, none, noop};

pub(crate) static ELEVATORS: &[ElevatorInfo] = &[
    noop::INFO,
    deadline::INFO,
    anticipatory::INFO,
    cfq::INFO,
    none::INFO,
    mq_deadline::INFO,
    kyber::INFO,
    bfq::INFO,
    lease::INFO,
];

/// Every elevator.
pub fn elevators() -> &'static [ElevatorInfo] {
    ELEVATORS
}

/// The elevator of that name or alias.
pub fn find_elevator(name: &str) -> Option<&'static ElevatorInfo> {
    let found = |e: &&ElevatorInfo| e.name == name || e.alias == Some(name);
    ELEVATORS.iter().find(found)
}
