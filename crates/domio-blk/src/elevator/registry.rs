//! The list of elevators.

use super::contract::ElevatorInfo;
use super::{anticipatory, bfq, cfq, deadline, kyber, lease, mq_deadline, none, noop};

static ELEVATORS: &[&ElevatorInfo] = &[
    &noop::INFO,
    &deadline::INFO,
    &anticipatory::INFO,
    &cfq::INFO,
    &none::INFO,
    &mq_deadline::INFO,
    &kyber::INFO,
    &bfq::INFO,
    &lease::INFO,
];

/// Every elevator that ships.
pub const fn elevators() -> &'static [&'static ElevatorInfo] {
    ELEVATORS
}

/// The elevator of that name or alias among `elevators`.
pub fn find_elevator(
    elevators: &[&'static ElevatorInfo],
    name: &str,
) -> Option<&'static ElevatorInfo> {
    let mut all = elevators.iter().copied();
    all.find(|e| e.name == name || e.alias == Some(name))
}
