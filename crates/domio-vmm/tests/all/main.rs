//! The simulated host, seen from outside: by its trace, its runstate sums and what it tells the
//! policy. Chapters are named after xen-spec, and tests say the paragraph that they hold the host
//! to. Beside them are what the host is made of, alone: `bus`, `processes`, `hardware`.

mod bus;
mod common;
mod controllers;
mod cores;
mod costs;
mod faults;
mod golden;
mod guests;
mod halt_poll;
mod hardware;
mod host_softirqs;
mod invariants;
mod kvm_threads;
mod life;
mod neighbors;
mod pools;
mod probe;
mod processes;
mod random;
mod roaming;
mod sibling_speeds;
mod siblings;
mod snapshot;
mod softirq_thread;
mod softirqs;
mod split;
mod ticks;
mod told;
mod upcalls;
