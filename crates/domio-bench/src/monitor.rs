//! Samples of a trace as `domio mon` makes them, and the reading that they cannot do without.

use crate::hosts;
use domio_core::{Duration, Sink};
use domio_meter::Sampler;
use domio_trace::{ReadOptions, TraceReader};
use std::sync::OnceLock;

/// Seconds that the trace is of.
const SECONDS: u64 = 600;

/// A trace of [`hosts::host`] in domio's own format, made once.
fn trace() -> &'static [u8] {
    static TRACE: OnceLock<Vec<u8>> = OnceLock::new();
    TRACE.get_or_init(|| hosts::trace(&hosts::host(8), SECONDS))
}

fn reader() -> TraceReader<&'static [u8]> {
    let options = ReadOptions {
        classes: domio_scenario::Parts::from(domio_sched::policies()).classes(),
        ..ReadOptions::default()
    };
    TraceReader::new(trace(), &options).expect("our own trace")
}

/// Reads the trace; how many records it has.
pub fn read() -> u64 {
    let mut reader = reader();
    let mut records = 0;
    while let Some(record) = reader.next_record().expect("a whole trace") {
        std::hint::black_box(record);
        records += 1;
    }
    records
}

/// Reads the trace and makes samples of 100 ms; how many records it has.
pub fn sampled() -> u64 {
    let mut reader = reader();
    let mut sampler = Sampler::new(Duration::from_millis(100));
    let mut records = 0;
    while let Some(record) = reader.next_record().expect("a whole trace") {
        sampler.record(reader.names(), &record);
        while let Some(sample) = sampler.take() {
            std::hint::black_box(sample);
        }
        records += 1;
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_see_the_same_trace() {
        assert_eq!(read(), sampled());
        assert!(read() > 100_000);
    }
}
