//! A host whose guests read and write files: FFSB in three guests of Boutcher and Chandra 2009, cfq
//! above cfq, 128 threads each.

use crate::cell;
use domio_core::{DomainId, NullSink};
use domio_vmm::bus::Device;

/// The cell.
const CELL: &str = "papers/boutcher2009/ffsb-x3-cfq-cfq";

/// Ids of the guests, one after the other.
const GUESTS: core::ops::RangeInclusive<u16> = 1..=3;

/// What a run did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moved {
    /// Events that were delivered.
    pub events: u64,
    /// Requests that went through a ring and were answered.
    pub requests: u64,
}

/// Runs the cell for so many seconds of its time, without a trace.
pub fn run(seconds: u64) -> Moved {
    cell::run(CELL, seconds, NullSink, |run| {
        let passed = run
            .devices()
            .iter()
            .flat_map(|device| GUESTS.map(|guest| device.passed(DomainId(guest))));
        Moved {
            events: run.events(),
            requests: passed.map(|p| p.requests_read + p.requests_written).sum(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_guests_read_and_write() {
        let done = run(5);
        assert!(done.requests > 500, "{done:?}");
        assert!(done.events > 10 * done.requests, "{done:?}");
    }
}
