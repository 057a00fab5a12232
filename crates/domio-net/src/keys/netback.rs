//! Words for how netback is set up.

use crate::host::Assignment;
use domio_core::keys::WordOf;

/// Which pair of tasklets serves a vif.
pub(super) static ASSIGNMENTS: [WordOf<Assignment>; 2] = [
    WordOf::new(
        "round-robin",
        Assignment::RoundRobin,
        "Vifs take turns, in the order of their domains.",
    ),
    WordOf::new(
        "hash",
        Assignment::Hash,
        "By a hash of the vif's address, so that some pairs may have more vifs than others.",
    ),
];

/// Whether small packets from a guest go through a pool, and those to a guest.
pub(super) static SMALL_PACKETS: [WordOf<(bool, bool)>; 4] = [
    WordOf::new(
        "grants",
        (false, false),
        "Each has a grant of its own: netback maps and unmaps what a guest sends, and what it gets \
         is transferred or copied by Xen (`rx`).",
    ),
    WordOf::new(
        "pool",
        (true, true),
        "Through pages that are granted once. Who sends copies the packet there: netfront, and \
         netback the other way.",
    ),
    WordOf::new(
        "pool-out",
        (true, false),
        "Only what guests send goes through a pool, and netfront copies.",
    ),
    WordOf::new(
        "pool-in",
        (false, true),
        "Only what guests get goes through a pool, and netback copies.",
    ),
];
