//! What is measured, against what, and how good it has to be.

use crate::{hosts, plain};
use domio_sim::hold;

/// A piece of work whose speed is compared with a plain loop's.
pub struct Bench {
    /// Name on the command line.
    pub name: &'static str,
    /// What a unit of the work is, plural.
    pub unit: &'static str,
    /// The work; how many units it did.
    pub work: fn() -> u64,
    /// The same work by a plain loop; how many units it did.
    pub baseline: fn() -> u64,
    /// Least ratio of the two speeds that passes.
    pub at_least: f64,
}

/// A piece of work whose memory is limited.
pub struct MemoryCase {
    /// Name on the command line.
    pub name: &'static str,
    /// The work.
    pub work: fn(),
    /// Most resident bytes that pass.
    pub at_most: u64,
}

/// Events that one sample of the hold model moves.
const HOLD_OPS: u64 = 2_000_000;

/// Seconds of its own time that one sample of a host runs, and a plain loop of the same kind, which
/// is faster.
const HOST_SECONDS: u64 = 2_000;
const PLAIN_NS: u64 = 10_000_000_000_000;

/// A rack's largest machine, full.
const BIG_PCPUS: u16 = 256;
const BIG_GUESTS: u16 = 2_000;
const BIG_SECONDS: u64 = 50;
const BIG_PLAIN_NS: u64 = 200_000_000_000;

/// Every bench, in the order of the table.
pub const BENCHES: &[Bench] = &[
    Bench {
        name: "hold-1k",
        unit: "events",
        work: || moved(hold::engine(1_000, HOLD_OPS, 1)),
        baseline: || moved(hold::binary_heap(1_000, HOLD_OPS, 1)),
        at_least: 1.2,
    },
    Bench {
        name: "hold-100k",
        unit: "events",
        work: || moved(hold::engine(100_000, HOLD_OPS, 1)),
        baseline: || moved(hold::binary_heap(100_000, HOLD_OPS, 1)),
        at_least: 2.0,
    },
    Bench {
        name: "host-1cpu",
        unit: "passes",
        work: || hosts::run_untraced(&hosts::host(1, 8), HOST_SECONDS),
        baseline: || plain::round_robin(1, 8, PLAIN_NS).decisions,
        at_least: 0.05,
    },
    Bench {
        name: "host-8cpu",
        unit: "passes",
        work: || hosts::run_untraced(&hosts::host(8, 8), HOST_SECONDS),
        baseline: || plain::round_robin(8, 8, PLAIN_NS).decisions,
        at_least: 0.05,
    },
    Bench {
        name: "host-traced",
        unit: "passes",
        work: || hosts::run_traced(&hosts::host(1, 8), HOST_SECONDS),
        baseline: || plain::round_robin(1, 8, PLAIN_NS).decisions,
        at_least: 0.05,
    },
    Bench {
        name: "host-big",
        unit: "passes",
        work: || hosts::run_untraced(&hosts::host(BIG_PCPUS, BIG_GUESTS), BIG_SECONDS),
        baseline: || plain::round_robin(BIG_PCPUS, BIG_GUESTS, BIG_PLAIN_NS).decisions,
        at_least: 0.05,
    },
];

/// Every memory case, in the order of the table.
pub const MEMORY: &[MemoryCase] = &[
    MemoryCase {
        name: "memory-8cpu",
        work: || {
            hosts::run_untraced(&hosts::host(8, 8), HOST_SECONDS);
        },
        at_most: 20_000_000,
    },
    MemoryCase {
        name: "memory-big",
        work: || {
            hosts::run_untraced(&hosts::host(BIG_PCPUS, BIG_GUESTS), BIG_SECONDS);
        },
        at_most: 200_000_000,
    },
];

/// Names of everything that can be asked for.
pub fn named() -> impl Iterator<Item = &'static str> {
    let benches = BENCHES.iter().map(|bench| bench.name);
    benches.chain(MEMORY.iter().map(|case| case.name))
}

/// Uses up a checksum, so that the work behind it has to be done.
fn moved(checksum: u64) -> u64 {
    std::hint::black_box(checksum);
    HOLD_OPS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = named().collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), named().count());
    }

    #[test]
    fn both_sides_of_a_hold_do_the_same_work() {
        assert_eq!(
            hold::engine(100, 10_000, 7),
            hold::binary_heap(100, 10_000, 7)
        );
    }
}
