//! The simulated host, seen from outside: by its trace, its runstate sums and what it tells the
//! policy. Chapters are named after xen-spec, and tests say the paragraph that they hold the host
//! to.

mod common;
mod controllers;
mod cores;
mod costs;
mod faults;
mod golden;
mod guests;
mod invariants;
mod life;
mod neighbors;
mod pools;
mod probe;
mod random;
mod roaming;
mod siblings;
mod snapshot;
mod softirq_thread;
mod softirqs;
mod split;
mod ticks;
mod told;
mod upcalls;
