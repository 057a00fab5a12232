//! A host whose guests stream: test 1 of Ongaro et al. 2008 with everything on (`tbs`), seven TCP
//! streams through a driver domain.

use crate::cell;
use domio_core::{Names, NullSink, Record, Sink};
use domio_scenario::DeviceModel;

/// The cell.
const CELL: &str = "papers/ongaro2008/test1-tbs";

/// What a run did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Streamed {
    /// Events that were delivered.
    pub events: u64,
    /// Segments with data that reached their guests' applications, at least: their bytes in full
    /// segments.
    pub packets: u64,
}

/// A sink that takes the records that every trace has, and those of [`Sink::OWNERS`] if asked to.
/// It drops all of them, so that only their making is measured.
struct Dropped<const OWNERS: bool>;

impl<const OWNERS: bool> Sink for Dropped<OWNERS> {
    const STAGES: bool = false;
    const OWNERS: bool = OWNERS;

    #[inline]
    fn record(&mut self, _: &Names, record: &Record) {
        std::hint::black_box(record);
    }
}

/// Runs the cell for so many seconds of its time, without a trace.
pub fn run(seconds: u64) -> Streamed {
    run_into(seconds, NullSink)
}

/// Runs the cell with a trace, which says for whom the driver domain works if `OWNERS` is true.
pub fn run_traced<const OWNERS: bool>(seconds: u64) -> Streamed {
    run_into(seconds, Dropped::<OWNERS>)
}

fn run_into(seconds: u64, sink: impl Sink) -> Streamed {
    cell::run(CELL, seconds, sink, |run| {
        let [DeviceModel::Network(network)] = run.devices() else {
            unreachable!("the cell has one network and no disk");
        };
        Streamed {
            events: run.events(),
            packets: network.bytes_streamed() / u64::from(domio_net::packet::MSS),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivered_packet_takes_at_most_12_events() {
        let done = run(2);
        assert!(done.packets > 50_000, "{done:?}");
        assert!(done.events <= 12 * done.packets, "{done:?}");
    }

    #[test]
    fn owners_change_nothing_but_the_trace() {
        assert_eq!(run_traced::<true>(1), run_traced::<false>(1));
        assert_eq!(run_traced::<true>(1), run(1));
    }
}
