//! What is measured, against what, and how good it has to be.

use crate::{blocks, drive, hosts, monitor, plain, program, stream};
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
    /// Least speed that passes on any machine, for work that has such a limit.
    pub floor: Option<Floor>,
}

/// A speed (units a second) that passes on any machine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Floor {
    /// Of the work.
    Whole(f64),
    /// Of what the work takes beyond the baseline.
    Beyond(f64),
}

impl Floor {
    /// The rate, a second.
    pub fn rate(self) -> f64 {
        match self {
            Floor::Whole(rate) | Floor::Beyond(rate) => rate,
        }
    }
}

/// A million a second: a microsecond each.
const A_MICROSECOND_EACH: f64 = 1e6;

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

/// Seconds of its own time that a host runs.
const HOST_SECONDS: u64 = 600;
const BIG_SECONDS: u64 = 10;
const STREAM_SECONDS: u64 = 10;
const BLOCK_SECONDS: u64 = 600;
/// Commands of a disk in one sample.
const COMMANDS: u64 = 300_000;
/// As often is a trace read in one sample.
const MON_RUNS: u64 = 4;
/// Runs in one sample: a sample has to take long enough for a clock.
const HOST_RUNS: u64 = 4;
const PLAIN_RUNS: u64 = 12;

/// Every bench, in the order of the table.
pub const BENCHES: &[Bench] = &[
    Bench {
        name: "hold-1k",
        unit: "events",
        work: || moved(hold::engine(1_000, HOLD_OPS, 1)),
        baseline: || moved(hold::binary_heap(1_000, HOLD_OPS, 1)),
        at_least: 1.0,
        floor: None,
    },
    Bench {
        name: "hold-100k",
        unit: "events",
        work: || moved(hold::engine(100_000, HOLD_OPS, 1)),
        baseline: || moved(hold::binary_heap(100_000, HOLD_OPS, 1)),
        at_least: 1.5,
        floor: None,
    },
    Bench {
        name: "host-1cpu",
        unit: "decisions",
        work: || {
            times(HOST_RUNS, || {
                hosts::run_untraced(&hosts::host(1), HOST_SECONDS).decisions
            })
        },
        baseline: || times(PLAIN_RUNS, || plain(1)),
        at_least: 0.25,
        floor: None,
    },
    Bench {
        name: "host-8cpu",
        unit: "decisions",
        work: || {
            times(HOST_RUNS, || {
                hosts::run_untraced(&hosts::host(8), HOST_SECONDS).decisions
            })
        },
        baseline: || times(PLAIN_RUNS, || plain(8)),
        at_least: 0.25,
        floor: None,
    },
    // The two policies decide about different things, one more often than the other.
    Bench {
        name: "host-8cpu-credit2",
        unit: "decisions",
        work: || {
            times(HOST_RUNS, || {
                hosts::run_untraced_under("credit2", hosts::host(8), HOST_SECONDS).decisions
            })
        },
        baseline: || {
            times(HOST_RUNS, || {
                hosts::run_untraced(&hosts::host(8), HOST_SECONDS).decisions
            })
        },
        at_least: 0.7,
        floor: None,
    },
    // Events and not decisions: most ticks of EEVDF change nothing. Half of the time goes into
    // averages of load, which ticks keep on several pcpus; 0.5 is the aim.
    Bench {
        name: "host-8cpu-eevdf",
        unit: "events",
        work: || {
            times(HOST_RUNS, || {
                hosts::run_untraced_under("eevdf", hosts::host(8), HOST_SECONDS).events
            })
        },
        baseline: || {
            times(HOST_RUNS, || {
                hosts::run_untraced(&hosts::host(8), HOST_SECONDS).events
            })
        },
        at_least: 0.1,
        floor: None,
    },
    Bench {
        name: "host-traced",
        unit: "decisions",
        work: || {
            times(HOST_RUNS, || {
                hosts::run_traced(&hosts::host(8), HOST_SECONDS).decisions
            })
        },
        baseline: || {
            times(HOST_RUNS, || {
                hosts::run_untraced(&hosts::host(8), HOST_SECONDS).decisions
            })
        },
        at_least: 0.6,
        floor: None,
    },
    Bench {
        name: "host-big",
        unit: "events",
        work: || hosts::run_untraced(&hosts::big(), BIG_SECONDS).events,
        baseline: || {
            times(HOST_RUNS, || {
                hosts::run_untraced(&hosts::host(8), HOST_SECONDS).events
            })
        },
        at_least: 0.5,
        floor: None,
    },
    Bench {
        name: "stream-cell",
        unit: "events",
        work: || stream::run(STREAM_SECONDS).events,
        baseline: || moved(hold::engine(1_000, HOLD_OPS, 1)),
        at_least: 0.25,
        floor: None,
    },
    // What it costs to know for whom a driver domain works: 3 % at most, and as much again for a
    // machine that is not quiet.
    Bench {
        name: "stream-owners",
        unit: "events",
        work: || stream::run_traced::<true>(STREAM_SECONDS).events,
        baseline: || stream::run_traced::<false>(STREAM_SECONDS).events,
        at_least: 0.94,
        floor: None,
    },
    // Files in three guests, through both block layers to a disk.
    Bench {
        name: "blk-cell",
        unit: "events",
        work: || blocks::run(BLOCK_SECONDS).events,
        baseline: || moved(hold::engine(1_000, HOLD_OPS, 1)),
        at_least: 0.25,
        floor: Some(Floor::Whole(A_MICROSECOND_EACH)),
    },
    // Which of 31 commands is next, against a disk that holds one and has no choice: what the
    // choice takes is under a microsecond.
    Bench {
        name: "disk-choice",
        unit: "commands",
        work: || drive::chosen(drive::FULL, COMMANDS),
        baseline: || drive::chosen(1, COMMANDS),
        at_least: 0.1,
        floor: Some(Floor::Beyond(A_MICROSECOND_EACH)),
    },
    // `domio mon` on a trace, against reading the trace alone.
    Bench {
        name: "mon-trace",
        unit: "records",
        work: || times(MON_RUNS, monitor::sampled),
        baseline: || times(MON_RUNS, monitor::read),
        at_least: 0.25,
        floor: None,
    },
    // `domio trace summary` of the program that users get, against `b2sum` on the same bytes: a
    // gigabyte of xentrace in 9 times the processor time.
    Bench {
        name: "read-xentrace",
        unit: "bytes",
        work: program::read_xentrace,
        baseline: program::hash_xentrace,
        at_least: 1.0 / 9.0,
        floor: None,
    },
    Bench {
        name: "read-own",
        unit: "bytes",
        work: program::read_own,
        baseline: program::hash_own,
        at_least: 1.0 / 9.0,
        floor: None,
    },
    // Lines of text, of which each number is read.
    Bench {
        name: "read-block",
        unit: "bytes",
        work: program::read_block,
        baseline: program::hash_block,
        at_least: 1.0 / 20.0,
        floor: None,
    },
];

/// Every memory case, in the order of the table.
pub const MEMORY: &[MemoryCase] = &[
    MemoryCase {
        name: "memory-8cpu",
        work: || {
            hosts::run_untraced(&hosts::host(8), HOST_SECONDS);
        },
        at_most: 20_000_000,
    },
    MemoryCase {
        name: "memory-big",
        work: || {
            hosts::run_untraced(&hosts::big(), BIG_SECONDS);
        },
        at_most: 200_000_000,
    },
    // Samples of many more records than fit.
    MemoryCase {
        name: "memory-mon",
        work: || {
            hosts::run_sampled(&hosts::host(8), 10 * HOST_SECONDS);
        },
        at_most: 20_000_000,
    },
];

/// Decisions of the plain loop on the load of [`hosts::host`]. Like a host it learns its size when
/// it runs: a loop that was compiled for one pcpu is another program.
fn plain(pcpus: u16) -> u64 {
    let [pcpus, burning] = std::hint::black_box([pcpus, hosts::BURNING]);
    plain::round_robin(pcpus, burning, HOST_SECONDS * 1_000_000_000).decisions
}

/// Does `work` so many times; the sum of its units.
fn times(runs: u64, work: impl Fn() -> u64) -> u64 {
    (0..runs).map(|_| work()).sum()
}

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
